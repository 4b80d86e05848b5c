"""What a rule would do: collection simulated on items whose answers are known, beside an oracle and an even allocation.

An oracle knows every item's distribution and gives it exactly the ratings that it needs; an even allocation gives all
items as many as the neediest. For the mean error of distributions the oracle follows n ∝ s^⅔ with s the sum over
options of √(p(1 − p)), and for the mean of all items Neyman's n ∝ √v with v the variance of an item's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from vantage.adaptive.until import Distributions, Until, error, needed
from vantage.measures import UNIT, Column, Fact, Floats, Ints, View

WORTH: Final = 0.1
"""A saving below this share is not worth an adaptive study."""
STEPS: Final = 5
"""In how many steps the ratings beyond the core are given out where the rule is about all items together."""
RULES: Final = (Until("width", 0.3), Until("error", 0.1))
MOST_ITEMS: Final = 400
"""How many items of a pilot are simulated at most."""
MOST_OPTIONS: Final = 25

VIEW: Final = View(
    "What adapting would save",
    columns={
        "even": Column("ratings per item, even", digits=1),
        "adaptive": Column("adaptive", digits=1),
        "oracle": Column("oracle", digits=1),
        "saved": Column(percent=True, digits=0),
        "oracle_saved": Column("an oracle saves", percent=True, digits=0),
    },
    says=(Fact("{sentence}", each=True),),
    sources=("wilson1927", "neyman1934"),
)


def followed(draws: Ints, until: Until, least: int, options: int) -> Ints:
    """How many ratings each item gets under a rule; `draws` holds the answers that each would get, in this order."""
    items, most = draws.shape
    given = np.full(items, min(least, most))
    steps = np.cumsum(np.eye(options)[draws], axis=1)
    rows = np.arange(items)
    while True:
        known = [Distributions(steps[rows, given - 1])]
        wanted = until.open(known) & (given < most)
        if not wanted.any():
            return given
        if until.goal == "error":
            gain = np.where(wanted, until.gain(known), -1.0)
            chosen = np.argsort(-gain, kind="stable")[: max(items // STEPS, 1)]
            wanted = np.isin(rows, chosen) & wanted
        given = given + wanted


def oracle_ratings(shares: Floats, target: float) -> Ints:
    """The ratings that each item needs for its widest interval to have a width."""
    middle = np.where(shares < 0.5, shares, 1 - shares).max(axis=1)
    known = {share: needed(target, share) for share in np.unique(middle).tolist()}
    return np.array([known[share] for share in middle.tolist()])


def error_saved(shares: Floats) -> float:
    """The share of ratings that an oracle saves for the mean error of distributions."""
    s = np.sqrt(shares * (1 - shares)).sum(axis=1)
    return float(1 - (s ** (2 / 3)).mean() ** 3 / s.mean() ** 2) if s.any() else 0.0


def drawn_shares(counts: Floats, rng: np.random.Generator) -> Floats:
    """Distributions that the items may have, given their ratings: as different from each other as they are."""
    mean, strength = Distributions(counts).prior
    drawn = rng.standard_gamma(counts + max(strength, 0.5) * mean[None, :] + 1e-9)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Savings:
    """Ratings per item for the same result: an even allocation, the rule, and an oracle."""

    until: Until
    even: float
    adaptive: float
    oracle: float

    @property
    def saved(self) -> float:
        """The share of ratings that the rule saves."""
        return 1 - self.adaptive / self.even

    @property
    def oracle_saved(self) -> float:
        """The share of ratings that an oracle saves."""
        return 1 - self.oracle / self.even

    @property
    def worth(self) -> bool:
        """Whether it is worth the trouble."""
        return self.saved >= WORTH


def savings(shares: Floats, draws: Ints, until: Until, least: int = 3) -> Savings:
    """What a rule saves on items with these distributions and answers."""
    options = shares.shape[1]
    given = followed(draws, until, least, options)
    adaptive = float(given.mean())
    if until.goal == "width":
        most = draws.shape[1]
        exact = np.clip(oracle_ratings(shares, until.target), least, most)
        return Savings(until, float(exact.max()), adaptive, float(exact.mean()))
    reached = float(error(shares, given[:, None].astype(np.float64)).sum(axis=1).mean() / 2)
    once = float(error(shares, np.ones(1)).sum(axis=1).mean() / 2)
    even = (once / reached) ** 2 if reached else adaptive  # nobody disagrees about anything
    return Savings(until, even, adaptive, even * (1 - error_saved(shares)))


def worth(counts: Floats, rules: Sequence[Until], *, most: int = 400, seed: int = 0) -> pl.DataFrame:
    """What each rule would save on items like those of a pilot, one row per rule, and whether that is worth it.

    >>> votes = np.array([[10.0, 0.0], [9.0, 1.0], [5.0, 5.0], [0.0, 10.0]] * 20)
    >>> worth(votes, [Until("width", 0.4)]).select("even", "worth").row(0)
    (21.0, True)
    """
    rng = np.random.default_rng(seed)
    shares = drawn_shares(counts, rng)
    ends = np.cumsum(shares, axis=1)[:, :-1]
    draws = (rng.random((len(shares), most, 1)) > ends[:, None, :]).sum(axis=2)
    rows = []
    for until in rules:
        gained = savings(shares, draws, until)
        verdict = "Adapting is worth it" if gained.worth else "Adapting is not worth it"
        rows.append(
            {
                "until": str(until),
                **{name: getattr(gained, name) for name in ("even", "adaptive", "oracle", "saved", "oracle_saved")},
                "worth": gained.worth,
                "sentence": f"{verdict} for '{until}': {gained.adaptive:.1f} ratings per item instead of "
                f"{gained.even:.1f} ({100 * gained.saved:.0f} % saved; an oracle that knows every distribution "
                f"saves {100 * gained.oracle_saved:.0f} %).",
            }
        )
    return pl.DataFrame(rows)


def worth_on(answers: pl.DataFrame, codes: Floats, rules: Sequence[Until] = RULES) -> pl.DataFrame:
    """What each rule would save on items with these answers, one row per rule; none where answers have no shares.

    `answers` has the columns `item`, `question`, `condition` and `value`, which is one of the `codes`, in order.
    """
    if not 2 <= len(codes) <= MOST_OPTIONS:
        return pl.DataFrame()
    unit = answers.select(pl.struct(UNIT).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    counts = np.zeros((unit.max() + 1, len(codes)))
    np.add.at(counts, (unit, np.searchsorted(codes, answers["value"].to_numpy())), 1)
    counts = counts[counts.sum(axis=1) >= 2]
    if len(counts) > MOST_ITEMS:
        counts = np.random.default_rng(0).permutation(counts)[:MOST_ITEMS]
    return worth(counts, rules) if len(counts) else pl.DataFrame()
