"""What the members of a panel and people answered, how the members' errors correlate, and how many votes that makes.

An answer is a row of indicators: one per option on a nominal scale, "at most this code" on an ordered one. The mean
row of people is their distribution. Half the squared distance between rows is then the Brier score, or the ranked
probability score as a share of the scale's range (Brier 1950; Epstein 1969), from 0 to 1. People are a sample: the
squared error of their mean row, Σ s²/n, is in every distance from it, and is taken out.

With error correlations R, a mean of votes with weights w has the variance wᵀRw of a single vote. The best weights that
are not negative give votes = 1 / min wᵀRw: a copy of a member adds 0, a member whose errors are unrelated to the
others' adds 1, and m members with the same correlation ρ have Kish's m / (1 + (m − 1) ρ) (Kish 1965, section 8.2).

A member that does not read has no vote. Its distance from people would be the same if its answers were dealt to other
items; that of a reader grows, by twice the covariance of its rows and the mean rows of people (see `scoring.floors`).
Members are counted whose covariance is above 0 with 99.9 % certainty over items.

A panel answers with the mean row of its members; its loss is the squared distance of that from the distribution of
people. On the same items, every further look makes the best of many panels look better than it is, so that a panel
is chosen on nine tenths of the items and scored on the last, ten times over (Stone 1974). Sufficient is a panel whose
loss is within one standard error of the lowest (the one-standard-error rule of Breiman et al. 1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import PEOPLE
from vantage.errors import InputError
from vantage.measures.intervals import student_interval
from vantage.measures.parts import Part
from vantage.measures.ratings import UNIT, Floats, Ints, level_of
from vantage.measures.resampling import item_codes
from vantage.measures.scoring.floors import CERTAIN
from vantage.measures.scoring.references import sides_of
from vantage.scales import Level

FOLDS: Final = 10
ALL_SUBSETS: Final = 12
"""Up to so many members every panel is looked at; of more, those that grow by the best next member."""

Members = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PanelAnswers:
    """The units that every member and at least two people answered."""

    raters: list[str]
    errors: Floats
    """Members × units × indicators: the member's row less the mean row of people, weighted."""
    values: Floats
    """Members × units: the mean answer less that of people; NaN on nominal scales of more than two options."""
    gain: Floats
    """Members × units: how much closer to people the member is than if its answers were dealt to other units."""
    noise: Floats
    """Units: the squared error of the people's mean row."""
    spread: Floats
    """Units: the squared distance of one person from the distribution of people."""
    item: Ints
    units: pl.DataFrame
    people: int
    left_out: dict[str, int]

    @classmethod
    def of(
        cls, part: Part, raters: Sequence[str] | None, people: Sequence[str] | None, level: Level | None
    ) -> PanelAnswers:
        """The answers of one group; problems are an `InputError`."""
        answered = part.answered.with_columns(pl.col("rater").cast(pl.String))
        judges, members = sides_of(answered, raters, people, PEOPLE)
        names = members["rater"].unique().sort().to_list()
        if len(names) < 2:
            raise InputError(
                f"a panel needs at least two models, and there {'is one' if names else 'are none'} with answers",
                remedy="rate the items with another model, or name raters with the option raters",
            )
        keys = list(UNIT)
        enough = judges.group_by(keys).agg(pl.len().alias("n")).filter(pl.col("n") > 1)
        both = members.join(enough, on=keys, how="semi")
        complete = both.group_by(keys).agg(pl.col("rater").n_unique().alias("n")).filter(pl.col("n") == len(names))
        units = complete.select(keys).sort(keys).with_row_index("unit")
        if len(units) < 3:
            raise _no_overlap(names, both, judges, enough, len(units))
        used = [frame.join(units, on=keys) for frame in (members, judges)]
        scale = part.scale()
        nominal = level_of(scale, level, part.frame["question"].unique().sort().to_list()) == "nominal"
        listed = scale.codes if scale is not None else ()
        codes = np.array(sorted({*used[0]["value"], *used[1]["value"], *listed}))
        if len(codes) < 2:
            raise InputError("all answers are the same, so there are no errors", remedy="choose another question")
        tallies = [_tally(used[0].filter(rater=name), codes, len(units)) for name in names]
        tallies.append(_tally(used[1], codes, len(units)))
        n = tallies[-1].sum(axis=1)
        # Mean rows of indicators: shares of the options, or of answers up to each code but the last.
        rows = [tally / tally.sum(axis=1, keepdims=True) for tally in tallies]
        rows = rows if nominal else [np.cumsum(row, axis=1)[:, :-1] for row in rows]
        weight = np.full(len(codes), 0.5) if nominal else np.diff(codes) / np.ptp(codes)
        shares = rows[-1]
        spread = (shares * (1 - shares)) @ weight * n / (n - 1)
        means = [tally @ codes / tally.sum(axis=1) for tally in tallies]
        known = not nominal or len(codes) == 2
        apart = (shares - shares.mean(axis=0)) * weight
        return cls(
            names,
            (np.stack(rows[:-1]) - shares) * np.sqrt(weight),
            np.stack(means[:-1]) - means[-1] if known else np.full((len(names), len(units)), np.nan),
            2 * np.stack([((row - row.mean(axis=0)) * apart).sum(axis=1) for row in rows[:-1]]),
            spread / n,
            spread,
            item_codes(units["item"])[0],
            units,
            used[1]["rater"].n_unique(),
            {"unmatched": len(members) - len(used[0])} if len(members) > len(used[0]) else {},
        )

    @property
    def readers(self) -> list[int]:
        """The members that tell items apart as people do, beyond chance."""
        items = int(self.item.max()) + 1
        gains = np.stack([np.bincount(self.item, gain, minlength=items) for gain in self.gain])
        lows = [student_interval(gain, CERTAIN)[0] for gain in gains]
        return [member for member, low in enumerate(lows) if low is not None and low > 1e-12]

    def of_members(self, members: Sequence[int]) -> PanelAnswers:
        """The same with some of the members."""
        some = list(members)
        names = [self.raters[member] for member in some]
        return replace(self, raters=names, errors=self.errors[some], values=self.values[some], gain=self.gain[some])

    @property
    def products(self) -> Floats:
        """Units × members × members: products of errors, freed from the sampling error of people's distribution."""
        return np.asarray(np.einsum("muc,nuc->umn", self.errors, self.errors) - self.noise[:, None, None])

    @property
    def counts(self) -> dict[str, Any]:
        """What a result rests on."""
        return {
            "items": int(self.item.max()) + 1,
            "raters": len(self.raters) + self.people,
            "judgments": self.errors.shape[0] * self.errors.shape[1],
            "left_out": self.left_out,
        }


def _no_overlap(
    names: list[str], both: pl.DataFrame, judges: pl.DataFrame, enough: pl.DataFrame, left: int
) -> InputError:
    if judges.is_empty():
        return InputError("no people answered, so there is no distribution to compare with", remedy="collect judgments")
    if enough.is_empty():
        return InputError("no item has answers from two people", remedy="ask a second person about some of the items")
    shared = dict(both.group_by("rater").agg(pl.struct(UNIT).n_unique()).iter_rows())
    fewest = min(names, key=lambda name: shared.get(name, 0))
    return InputError(
        f"{left} items were answered by all of {', '.join(names)} and by two people or more, and three are needed: "
        f"'{fewest}' answered {shared.get(fewest, 0)} of those that people did",
        remedy="let the models rate the items that people judged, or leave a model out with the option raters",
    )


def _tally(frame: pl.DataFrame, codes: Floats, units: int) -> Floats:
    cell = frame["unit"].to_numpy().astype(np.int64) * len(codes) + np.searchsorted(codes, frame["value"].to_numpy())
    return np.bincount(cell, minlength=units * len(codes)).reshape(units, -1).astype(np.float64)


def effective_votes(correlation: Floats) -> float:
    """The effective number of votes of members whose errors correlate like this.

    >>> copy = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> round(effective_votes(np.eye(3)), 6), round(effective_votes(copy), 6)
    (3.0, 2.0)
    >>> round(effective_votes(np.full((4, 4), 0.5) + np.eye(4) / 2), 6)  # 4 / (1 + 3 × 0.5)
    1.6
    """
    from scipy.optimize import nnls

    if not np.isfinite(correlation).all():
        return float("nan")
    # max 1ᵀu − uᵀRu/2 over u ≥ 0 is a least-squares problem in a root of R; its solution adds up to the votes.
    d, axes = np.linalg.eigh(correlation)
    root = np.sqrt(np.maximum(d, 1e-9))
    weights, _ = nnls(root[:, None] * axes.T, axes.sum(axis=0) / root)
    return float(weights.sum())


def equal_votes(correlation: Floats) -> float:
    """The same where all members have the same weight: Kish's m² / Σ R.

    >>> equal_votes(np.eye(3))
    3.0
    """
    return float(len(correlation) ** 2 / correlation.sum())


@dataclass(frozen=True, slots=True)
class ErrorMoments:
    """Per-item sums from which the error correlations of any resample of items follow."""

    sums: Floats
    """One row per item: how many units, the sums of products of errors, of noise, and of errors."""
    members: int

    @classmethod
    def of(cls, answers: PanelAnswers) -> ErrorMoments:
        """The sums of a panel's answers."""
        m, units, _ = answers.errors.shape
        products = np.einsum("muc,nuc->umn", answers.errors, answers.errors).reshape(units, -1)
        errors = answers.errors.transpose(1, 0, 2).reshape(units, -1)
        columns = np.column_stack([np.ones(units), answers.noise, products, errors])
        sums = np.zeros((int(answers.item.max()) + 1, columns.shape[1]))
        np.add.at(sums, answers.item, columns)
        return cls(sums, m)

    def correlations(self, weight: Floats) -> Floats:
        """Error correlations for each row of item weights; NaN where a member's errors are not above people's noise."""
        m = self.members
        sums = weight @ self.sums
        n = sums[:, 0]
        products = (sums[:, 2 : 2 + m * m] / n[:, None]).reshape(-1, m, m)
        mean = (sums[:, 2 + m * m :] / n[:, None]).reshape(len(n), m, -1)
        covariance = (products - np.einsum("bmc,bnc->bmn", mean, mean)) * (n / (n - 1))[:, None, None]
        covariance -= (sums[:, 1] / n)[:, None, None]
        variance = np.einsum("bmm->bm", covariance)
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = np.sqrt(np.where(variance > 1e-12, variance, np.nan))
            matrix = covariance / (scale[:, :, None] * scale[:, None, :])
        # Sampling may push the correlation of two members that err alike beyond one.
        return np.asarray(np.clip(matrix, -1.0, 1.0))

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.sums)

    @property
    def observed(self) -> Floats:
        """The error correlations of the items as they are."""
        return np.asarray(self.correlations(np.ones((1, self.items)))[0])


@dataclass(frozen=True, slots=True)
class PanelChoice:
    """The chosen panel, and the losses on items that had no part in the choosing."""

    chosen: Members
    order: Members
    """All members, the best first, each next one the best addition."""
    by_rule: Floats
    """Per unit: the loss of the panel that the rule chose without this unit's item."""
    by_size: Floats
    """Sizes × units: the same for the best panel of each size."""


def choose(answers: PanelAnswers, prices: Sequence[float], seed: int) -> PanelChoice:
    """The cheapest sufficient panel and its cross-validated loss."""
    products = answers.products
    m, units = len(answers.raters), len(products)
    items = int(answers.item.max()) + 1
    fold = np.random.default_rng(seed).permutation(items)[answers.item] % min(FOLDS, items)
    by_rule, by_size = np.empty(units), np.empty((m, units))
    for number in range(min(FOLDS, items)):
        out = fold == number
        best = _best_of_size(products[~out].mean(axis=0))
        for size, panel in enumerate(best):
            by_size[size, out] = losses(products[out], panel)
        by_rule[out] = losses(products[out], _sufficient(products[~out], prices))
    path = _grown(products.mean(axis=0))
    return PanelChoice(_sufficient(products, prices), path[-1], by_rule, by_size)


def losses(products: Floats, panel: Members) -> Floats:
    """The loss of a panel on each unit: the mean product of its members' errors."""
    return np.asarray(products[:, panel][:, :, panel].mean(axis=(1, 2)))


def _sufficient(products: Floats, prices: Sequence[float]) -> Members:
    """The cheapest panel whose loss is within one standard error of the lowest."""
    mean = products.mean(axis=0)
    candidates = _panels(mean)
    loss = np.array([mean[np.ix_(panel, panel)].mean() for panel in candidates])
    cost = np.array([sum(prices[member] for member in panel) for panel in candidates])
    best = candidates[int(loss.argmin())]
    lowest = losses(products, best)
    order = np.lexsort((loss, cost))
    dearer, good = np.inf, []
    for place in order:  # only panels that no cheaper one beats are worth a look
        if loss[place] < dearer:
            dearer = loss[place]
            good.append(candidates[int(place)])
    for panel in good:
        apart = losses(products, panel) - lowest
        if apart.mean() <= apart.std(ddof=1) / np.sqrt(len(apart)):
            return panel
    return best


def _panels(mean: Floats) -> list[Members]:
    m = len(mean)
    if m <= ALL_SUBSETS:
        return [panel for size in range(1, m + 1) for panel in combinations(range(m), size)]
    return [*((member,) for member in range(m)), *(tuple(panel) for panel in _grown(mean))]


def _best_of_size(mean: Floats) -> list[Members]:
    best: dict[int, tuple[float, Members]] = {}
    for panel in _panels(mean):
        loss = float(mean[np.ix_(panel, panel)].mean())
        if len(panel) not in best or loss < best[len(panel)][0]:
            best[len(panel)] = (loss, panel)
    return [best[size][1] for size in sorted(best)]


def _grown(mean: Floats) -> list[Members]:
    """Panels of one, two … members, each with the best next member added."""
    path: list[Members] = []
    members: Members = ()
    while len(members) < len(mean):
        rest = [member for member in range(len(mean)) if member not in members]
        with_each = [float(mean[np.ix_((*members, one), (*members, one))].mean()) for one in rest]
        members = (*members, rest[int(np.argmin(with_each))])
        path.append(members)
    return path
