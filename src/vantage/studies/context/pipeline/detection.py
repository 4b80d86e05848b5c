"""How well methods find what people find ambiguous: thresholds, whole curves, and one row per method with its cost.

A threshold that is chosen and judged on the same votes flatters the method, so thresholds are chosen by folds, and
every figure stands beside that of as many random flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, rel_entr

from vantage.errors import InputError
from vantage.measures import (
    CORRELATIONS,
    Floats,
    Resampling,
    midranks,
    named,
    several_with_intervals,
    weighted_correlation,
    wilson,
)
from vantage.measures.multiplicity import Flags
from vantage.scales import Scale
from vantage.studies.context.pipeline.ambiguity import FOLDS, counted, fitted_dirichlet, shares_of, with_doubt
from vantage.studies.context.pipeline.controls import COST
from vantage.studies.context.pipeline.simulation import Cost, Detected

Criterion = Literal["youden", "budget"]
LEAST: Final = 10
"""With fewer items than this, a threshold would be chosen by accident."""
IMAGINED: Final = 1000
DRAWN: Final = 200
"""How many items, and votes on each of them, are drawn to see what the best of methods could reach."""
ONE_KIND: Final = "people find all of the items ambiguous, or none"


@dataclass(frozen=True)
class Judging:
    """How detection is judged.

    Args:
        target: What makes an item ambiguous: people's `doubt`, `entropy` or `ambiguity`.
        mark: From which value on; a doubt of 0.4 is two of five readers.
        criterion: How thresholds are chosen (see `choose`).
        budget: The share of items for which context can be afforded.
        resamples: For intervals, items are left out in at most this many groups.
        seed: Random seed.
    """

    target: Literal["doubt", "entropy", "ambiguity"] = "doubt"
    mark: float = 0.4
    criterion: Criterion = "youden"
    budget: float = 0.25
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.mark <= 1:
            raise InputError(f"the mark {self.mark:g} is not above 0 and at most 1", remedy="use for example 0.4")
        if not 0 < self.budget < 1:
            raise InputError(
                f"the budget {self.budget:g} is not a share between 0 and 1", remedy="use for example 0.25"
            )

    def marked(self, votes: pl.DataFrame) -> pl.Series:
        """Whether people find each item ambiguous."""
        if len(votes) and not votes[self.target].count():
            raise InputError("the scale has no answer 'ambiguous'", remedy="use the target doubt or entropy")
        # A hair below the mark: 1 − 3/5 is not 0.4 to a computer.
        return votes[self.target] >= self.mark - 1e-9

    def joined(self, detected: Detected, votes: pl.DataFrame) -> pl.DataFrame:
        """The items that have votes: `item`, `score` (null where there is none), `degree` and `ambiguous`."""
        marks = votes.select("item", self.marked(votes).alias("ambiguous"), pl.col(self.target).alias("degree"))
        return detected.table.select("item", "score").join(marks, on="item", maintain_order="left")

    def flags(self, detected: Detected, votes: pl.DataFrame) -> tuple[list[str], str]:
        """The items that a method flags with thresholds chosen on others, or why there are no thresholds."""
        return held_out(self.joined(detected, votes), self.criterion, self.budget, self.seed)


def choose(score: Floats, ambiguous: Flags, criterion: Criterion = "youden", budget: float = 0.25) -> float:
    """The threshold above which items are flagged, chosen on these very items.

    `youden` has the highest J = sensitivity + specificity − 1 (Youden 1950), and `budget` flags the share of items
    nearest to the budget. Of equals the highest is taken, which flags least.

    >>> choose(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, True, False, False]))
    0.55
    """
    levels = np.unique(score)[::-1]
    cuts = np.append((levels[:-1] + levels[1:]) / 2, levels[-1] - 1.0)
    above = score > cuts[:, None]
    if criterion == "budget":
        worth = -np.abs(above.mean(axis=1) - budget)
    else:
        worth = above[:, ambiguous].mean(axis=1) - above[:, ~ambiguous].mean(axis=1)
    return float(cuts[int(np.argmax(worth))])


def held_out(
    table: pl.DataFrame, criterion: Criterion = "youden", budget: float = 0.25, seed: int = 0
) -> tuple[list[str], str]:
    """The items that are flagged with thresholds chosen on others, by folds, or the reason why there are none.

    >>> votes = pl.DataFrame({"item": [str(n) for n in range(20)], "score": [n // 10 + n / 99 for n in range(20)],
    ...                       "degree": [0.0] * 10 + [0.4] * 10, "ambiguous": [False] * 10 + [True] * 10})
    >>> held_out(votes) == (votes.filter("ambiguous")["item"].to_list(), "")
    True
    """
    known = table.drop_nulls("score")
    if len(known) < LEAST:
        return [], f"{len(known)} items with votes and a score are too few for a threshold; at least {LEAST} are needed"
    fold = np.empty(len(known), dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(len(known))] = np.arange(len(known)) % FOLDS
    score, ambiguous = known["score"].to_numpy(), known["ambiguous"].to_numpy()
    flagged = np.zeros(len(known), dtype=np.bool_)
    for one in range(FOLDS):
        others = fold != one
        if criterion != "budget" and len(np.unique(ambiguous[others])) < 2:
            return [], ONE_KIND
        flagged[~others] = score[~others] > choose(score[others], ambiguous[others], criterion, budget)
    return known["item"].filter(pl.Series(flagged)).to_list(), ""


def curve(table: pl.DataFrame, *, draws: int = 1000, seed: int = 0) -> pl.DataFrame:
    """What flagging the highest 1, 2, … items reaches, beside as many flags at random.

    One row per number of `flagged` items: `precision` and `recall` of ambiguous items, `captured` (their share of all
    human doubt), and what random flags capture with the middle 95 % of it. Items without a score come last; inside a
    tie, figures are expected values.

    >>> some = pl.DataFrame({"item": ["a", "b"], "score": [1.0, 0.0], "degree": [0.4, 0.0], "ambiguous": [True, False]})
    >>> curve(some).select("flagged", "precision", "recall", "captured", "random").rows()
    [(1, 1.0, 1.0, 1.0, 0.5), (2, 0.5, 1.0, 1.0, 1.0)]
    """
    degree, n = table["degree"].to_numpy(), len(table)
    # Inside a tie, running sums are what they are on average over all orders of it.
    tied = table.select("score", pl.col("ambiguous", "degree").cast(pl.Float64).mean().over("score"))
    ordered = tied.sort("score", descending=True, nulls_last=True)
    hits, caught = (ordered[name].cum_sum().to_numpy() for name in ("ambiguous", "degree"))
    flagged, rng = np.arange(1, n + 1), np.random.default_rng(seed)
    drawn = np.cumsum(np.stack([degree[rng.permutation(n)] for _ in range(draws)]), axis=1)
    # Without any ambiguous item, or any doubt, there is nothing to find: 0 / 0.
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0) / caught[-1]
        columns = {
            "flagged": flagged,
            "share": flagged / n,
            "precision": hits / flagged,
            "recall": hits / hits[-1],
            "captured": caught / caught[-1],
            "random": flagged / n * (caught[-1] / caught[-1]),
            "random_low": low,
            "random_high": high,
        }
    return pl.DataFrame(columns).fill_nan(None)


def compare(
    methods: Sequence[Detected], votes: pl.DataFrame, scale: Scale, judging: Judging | None = None
) -> pl.DataFrame:
    """Methods side by side, each judged on the items that it gave a score and people gave votes.

    Columns, each with `_low` and `_high` where it has an interval over items:

    * `auc`: how often an ambiguous item has the higher score of two (Hanley and McNeil 1982); 0.5 is chance. Its
      interval is Newcombe's (2006), which does not shrink to nothing where few items happen to be told apart
      perfectly, and `p` is that of the Mann-Whitney test, with which it agrees at chance;
    * `rho`: Spearman's correlation of scores with the entropy of people's votes;
    * `rho_shares`: the same of simulated with human shares, over items and answers;
    * `jsd`: mean Jensen–Shannon divergence (Lin 1991) of simulated from human shares, in nats;
    * `precision` and `recall` of flags by thresholds that were chosen on other items, and how many were `flagged`;
    * `at_budget`: precision of the highest items, as many as the budget allows; that of random flags is `base`;
    * `relevant`: to how many personas an item was relevant on average, where they were asked;
    * `calls`, `prompt_tokens`, `completion_tokens`.

    What a method cannot have is null; `reason` says why.
    """
    how = judging or Judging()
    opted = bool(len(votes)) and bool(shares_of(votes)[:, len(scale.options) :].sum() > 0)
    rows = [_row(one, votes, scale, how, opted) for one in methods]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


_SCHEMA: Final[dict[str, Any]] = {
    "method": pl.String,
    **dict.fromkeys(("items", "unscored", "flagged", *COST), pl.Int64),
    **dict.fromkeys(("base", "p", "at_budget", "relevant"), pl.Float64),
    **{
        f"{name}{end}": pl.Float64
        for name in ("auc", "rho", "rho_shares", "jsd", "precision", "recall")
        for end in ("", "_low", "_high")
    },
    "reason": pl.String,
}


def _row(detected: Detected, votes: pl.DataFrame, scale: Scale, how: Judging, opted: bool) -> dict[str, Any]:
    marked = how.joined(detected, votes)
    known = marked.drop_nulls("score").join(votes.select("item", "entropy"), on="item", maintain_order="left")
    row: dict[str, Any] = {
        "method": detected.method,
        "items": len(known),
        "unscored": len(marked) - len(known),
        "base": int(marked["ambiguous"].sum()) / len(marked) if len(marked) else None,
        "relevant": detected.table["relevant"].mean() if "relevant" in detected.table.columns else None,
        **(detected.cost or Cost())._asdict(),
    }
    if len(known) < 2:
        return {**row, "reason": "no item has both votes and a score"}
    boot = Resampling("items", how.resamples, 0.95, how.seed)
    score, spread = known["score"].to_numpy(), known["entropy"].to_numpy()
    row |= _auc(score, known["ambiguous"].to_numpy())

    def ranked(weight: Floats) -> Floats:
        return weighted_correlation(score, spread, weight, "spearman")[:, None]

    row |= several_with_intervals(["rho"], len(known), ranked, boot, [CORRELATIONS])
    row |= _of_shares(detected, votes, scale, opted, boot) | _of_flags(marked, *how.flags(detected, votes), boot)
    wanted = min(max(round(how.budget * len(marked)), 1), len(marked))
    return {**row, "at_budget": curve(marked, draws=1)["precision"][wanted - 1]}


def ceiling(votes: pl.DataFrame, scale: Scale, how: Judging) -> dict[str, float]:
    """What a method that knew the chances of every answer would reach: `ceiling` (AUC) and `ceiling_at_budget`.

    Of two items with the same chances, a few votes may divide people about one only. Chances come from the Dirichlet
    distribution that fits the votes best; the method orders items by how often votes drawn from them would make them
    ambiguous. Nothing where all items are ambiguous to people, or none.
    """
    number = votes["votes"].to_numpy()
    counts = np.rint(shares_of(votes) * number[:, None])
    answers = np.flatnonzero(counts.sum(axis=0))
    if len(answers) < 2:
        return {}
    rng = np.random.default_rng(how.seed)
    chances = rng.dirichlet(fitted_dirichlet(counts[:, answers]), IMAGINED)
    drawn = rng.multinomial(rng.choice(number, IMAGINED), chances, size=(2 * DRAWN, IMAGINED)).reshape(-1, len(answers))
    shares = np.zeros((len(drawn), counts.shape[1]))
    shares[:, answers] = drawn / drawn.sum(axis=1, keepdims=True)
    marks = how.marked(pl.DataFrame(with_doubt(shares, scale))).to_numpy().reshape(2, DRAWN, IMAGINED)
    # One half of the draws says in which order items come, the other how often they are ambiguous.
    score, often = marks.mean(axis=1)
    if not 0 < often.mean() < 1:
        return {}
    won = float(often @ np.sign(score[:, None] - score) @ (1 - often) / (often.sum() * (1 - often).sum()))
    first = np.argsort(-score, kind="stable")[: max(round(how.budget * IMAGINED), 1)]
    return {"ceiling": 0.5 + won / 2, "ceiling_at_budget": float(often[first].mean())}


def _of_shares(detected: Detected, votes: pl.DataFrame, scale: Scale, opted: bool, boot: Resampling) -> dict[str, Any]:
    """What compares simulated with human shares of the same items, opt-outs in both or in neither."""
    theirs = votes.select("item", pl.col("shares").alias("theirs"))
    joined = detected.table.select("item", "shares").drop_nulls().join(theirs, on="item", how="left")
    if joined.is_empty():
        return {"reason": "the method gives no distribution of answers"}
    one, two = (counted(shares_of(joined, name), scale, opt_outs=opted) for name in ("shares", "theirs"))
    both = ~(np.isnan(one).any(axis=1) | np.isnan(two).any(axis=1))
    one, two = one[both], two[both]
    middle = (one + two) / 2
    divergence = np.maximum((rel_entr(one, middle) + rel_entr(two, middle)).sum(axis=1) / 2, 0.0)

    def statistics(weight: Floats) -> Floats:
        wide = np.repeat(weight, one.shape[1], axis=1)
        rho = weighted_correlation(one.ravel(), two.ravel(), wide, "spearman")
        return np.column_stack([rho, weight @ divergence / weight.sum(axis=1)])

    return several_with_intervals(["rho_shares", "jsd"], len(one), statistics, boot, [CORRELATIONS, (0.0, np.inf)])


def _of_flags(marked: pl.DataFrame, items: list[str], reason: str, boot: Resampling) -> dict[str, Any]:
    if reason:
        return {"reason": reason}
    flagged, ambiguous = marked["item"].is_in(items), marked["ambiguous"]
    row: dict[str, Any] = {"flagged": len(items)}
    for name, those in (("precision", flagged), ("recall", ambiguous)):
        hits, n = int((flagged & ambiguous).sum()), int(those.sum())
        low, high = wilson(hits, n, boot.confidence) if n else (None, None)
        row |= named(name, {"estimate": hits / n if n else None, "low": low, "high": high})
    return row


def _auc(score: Floats, ambiguous: Flags) -> dict[str, float]:
    """The area under the ROC curve with its interval and p value; nothing where all items are of one kind."""
    positive, negative = int(ambiguous.sum()), int((~ambiguous).sum())
    if not positive or not negative:
        return {}
    ranks = midranks(score, np.ones((1, len(score))))[0]
    auc = float(ranks[ambiguous].sum() - positive * (positive + 1) / 2) / (positive * negative)
    low, high = auc_interval(auc, positive, negative)
    p = 2 * float(ndtr(-abs(auc - 0.5) / _auc_error(0.5, positive, negative)))
    return {"auc": auc, "auc_low": low, "auc_high": high, "p": p}


def auc_interval(auc: float, positive: int, negative: int) -> tuple[float, float]:
    """The 95 % interval of an area under the ROC curve: all values from which it is not too far (Newcombe 2006).

    >>> [round(end, 2) for end in auc_interval(1.0, 3, 5)], [round(end, 3) for end in auc_interval(0.5, 200, 200)]
    ([0.57, 1.0], [0.444, 0.556])
    """
    z = float(ndtri(0.975))

    def beyond(value: float) -> float:
        return abs(auc - value) - z * _auc_error(value, positive, negative)

    low = brentq(beyond, 0.0, auc - 1e-9) if auc > 1e-9 else 0.0
    high = brentq(beyond, auc + 1e-9, 1.0) if auc < 1 - 1e-9 else 1.0
    return float(low), float(high)


def _auc_error(auc: float, positive: int, negative: int) -> float:
    """The standard error of an area (Hanley and McNeil 1982, in the form of Newcombe's method 5)."""
    extra = (positive + negative) / 2 - 1
    inside = 1 + extra * ((1 - auc) / (2 - auc) + auc / (1 + auc))
    return float((auc * (1 - auc) * inside / (positive * negative)) ** 0.5)
