"""How well methods find what people find ambiguous: one row per method, quality and cost side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from vantage.errors import InputError
from vantage.measures.ratings import Floats
from vantage.measures.relations.correlations import midranks, weighted_correlation
from vantage.measures.resampling import Resampling
from vantage.scales import Scale
from vantage.studies.context.pipeline.ambiguity import Detected, counted, entropy, shares_of
from vantage.studies.context.pipeline.controls import COST
from vantage.studies.context.pipeline.simulation import Cost
from vantage.studies.context.pipeline.thresholds import Criterion, Flags, HeldOut, Target, curve, held_out

NO_SCORES: Final = "no item has both votes and a score"
BINS: Final = 10


@dataclass(frozen=True)
class Judging:
    """How detection is judged.

    Args:
        target: Which items people find ambiguous.
        criterion: How thresholds are chosen.
        budget: The share of items for which context can be afforded.
        folds: How many parts of the items take turns in being held out.
        resamples: How often items are resampled for intervals.
        seed: The seed of folds and resamples.
    """

    target: Target = field(default_factory=Target)
    criterion: Criterion = "youden"
    budget: float = 0.25
    folds: int = 5
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.budget < 1:
            raise InputError(f"the budget {self.budget:g} is no share between 0 and 1", remedy="use for example 0.25")
        if self.folds < 2:
            raise InputError(f"{self.folds} folds hold nothing out", remedy="use 2 to 10 folds")

    def flags(self, detected: Detected, votes: pl.DataFrame) -> HeldOut:
        """The items of a method, flagged with thresholds that were chosen on others, or the reason why none are."""
        marked = self.target.joined(detected, votes)
        how: dict[str, Any] = {"criterion": self.criterion, "budget": self.budget, "seed": self.seed}
        try:
            return held_out(marked, folds=self.folds, **how)
        except InputError as error:
            return HeldOut(marked, reason=str(error))

    def curve(self, detected: Detected, votes: pl.DataFrame) -> pl.DataFrame:
        """The whole curve of a method (see `vantage.studies.context.pipeline.thresholds.curve`)."""
        return curve(self.target.joined(detected, votes), seed=self.seed)


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
    * `calibration`: the mean distance, over bins, of simulated from human shares (Naeini et al. 2015);
    * `precision`, `recall`, `f1` of flags by thresholds that were chosen on other items, and how many were `flagged`;
    * `at_budget` and `recall_at_budget`: precision and recall of the highest items, as many as the budget allows;
      random flags have the precision `base` and the budget's share as recall;
    * `calls`, `prompt_tokens`, `completion_tokens`.

    What a method cannot have is null; `reason` says why.
    """
    how = judging or Judging()
    opted = _opted(votes, scale)
    rows = [_row(one, votes, scale, how, opted) for one in methods]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def calibration(detected: Detected, votes: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Simulated against human shares in ten bins of equal width: `simulated`, `human` and how many `shares` are in it.

    The votes of few people say little about one item, but their mean over a bin is right on average.
    """
    pair = _pair(detected, votes, scale, _opted(votes, scale))
    if pair is None:
        return pl.DataFrame(schema={"simulated": pl.Float64, "human": pl.Float64, "shares": pl.UInt32})
    mine, theirs = pair[0].ravel(), pair[1].ravel()
    place = np.minimum((mine * BINS).astype(np.int64), BINS - 1)
    frame = pl.DataFrame({"bin": place, "simulated": mine, "human": theirs})
    return (
        frame.group_by("bin")
        .agg(pl.col("simulated").mean(), pl.col("human").mean(), pl.len().alias("shares"))
        .sort("bin")
        .drop("bin")
    )


def ceiling(votes: pl.DataFrame, scale: Scale, *, draws: int = 100, seed: int = 0) -> float | None:
    """How well half of the readers foretell the entropy of the other half: what few votes allow at most.

    Spearman's correlation over items, averaged over random halves; null where there are too few votes to halve.
    """
    counts = np.rint(shares_of(votes) * votes["votes"].to_numpy()[:, None]).astype(np.int64) if len(votes) else None
    if counts is None or counts.sum(axis=1).min() < 4:
        return None
    rng = np.random.default_rng(seed)
    shares = []
    for _ in range(draws):
        half = np.array([rng.multivariate_hypergeometric(row, row.sum() // 2) for row in counts])
        one, two = (entropy(part / part.sum(axis=1, keepdims=True)) for part in (half, counts - half))
        shares.append(float(weighted_correlation(one, two, np.ones((1, len(one))), "spearman")[0]))
    mean = float(np.mean(shares))
    return mean if np.isfinite(mean) else None


def _row(detected: Detected, votes: pl.DataFrame, scale: Scale, how: Judging, opted: bool) -> dict[str, Any]:
    marked = how.target.joined(detected, votes)
    known = marked.drop_nulls("score").join(votes.select("item", "entropy"), on="item", maintain_order="left")
    row: dict[str, Any] = {
        "method": detected.method,
        "items": len(known),
        "unscored": len(marked) - len(known),
        "base": int(marked["ambiguous"].sum()) / len(marked) if len(marked) else None,
        **(detected.cost or Cost()).counted,
    }
    if len(known) < 2:
        return {**row, "reason": NO_SCORES}
    boot = Resampling("items", "percentile", how.resamples, 0.95, how.seed)
    score, ambiguous = known["score"].to_numpy(), known["ambiguous"].to_numpy().astype(np.float64)
    spread = known["entropy"].to_numpy()

    row |= _auc(score, ambiguous == 1)
    row |= _filled(("rho",), lambda w: weighted_correlation(score, spread, w, "spearman")[:, None], len(known), boot)
    row |= _of_shares(_pair(detected, votes, scale, opted), boot)
    return row | _of_flags(detected, votes, how, boot) | _at_budget(marked, how.budget)


def _of_shares(pair: tuple[Floats, Floats] | None, boot: Resampling) -> dict[str, Any]:
    """What compares distributions; nothing for a method that has none."""
    if pair is None:
        return {"reason": "the method gives no distribution of answers"}
    mine, theirs = pair
    divergence = jensen_shannon(mine, theirs)
    place = np.minimum((mine * BINS).astype(np.int64), BINS - 1)

    def statistics(weight: Floats) -> Floats:
        wide = np.repeat(weight, mine.shape[1], axis=1)
        rho = weighted_correlation(mine.ravel(), theirs.ravel(), wide, "spearman")
        jsd = weight @ divergence / weight.sum(axis=1)
        gaps = np.zeros(len(weight))
        for one in np.unique(place):
            gaps += np.abs(weight @ ((mine - theirs) * (place == one)).sum(axis=1))
        return np.column_stack([rho, jsd, gaps / wide.sum(axis=1)])

    return _filled(("rho_shares", "jsd", "calibration"), statistics, len(mine), boot)


def _of_flags(detected: Detected, votes: pl.DataFrame, how: Judging, boot: Resampling) -> dict[str, Any]:
    flags = how.flags(detected, votes)
    if flags.reason:
        return {"reason": flags.reason}
    flagged = flags.table["flagged"].to_numpy().astype(np.float64)
    ambiguous = flags.table["ambiguous"].to_numpy().astype(np.float64)
    sums = np.column_stack([flagged * ambiguous, flagged, ambiguous])

    def statistics(weight: Floats) -> Floats:
        hit, said, true = (weight @ sums).T
        return np.column_stack([hit / said, hit / true, 2 * hit / (said + true)])

    scores = _filled(("precision", "recall", "f1"), statistics, len(sums), boot)
    return {**scores, "flagged": int(flagged.sum()), "threshold": float(np.mean(flags.thresholds))}


def _at_budget(marked: pl.DataFrame, budget: float) -> dict[str, Any]:
    """Precision and recall of the highest items."""
    wanted = min(max(round(budget * len(marked)), 1), len(marked))
    row = curve(marked, draws=1).row(wanted - 1, named=True)
    return {"at_budget": row["precision"], "recall_at_budget": row["recall"], "budget": wanted}


def _pair(detected: Detected, votes: pl.DataFrame, scale: Scale, opted: bool) -> tuple[Floats, Floats] | None:
    """Simulated and human shares of the same items, opt-outs in both or in neither."""
    joined = (
        detected.table.select("item", "shares")
        .drop_nulls("shares")
        .join(votes.select("item", pl.col("shares").alias("theirs")), on="item", maintain_order="left")
    )
    if joined.is_empty():
        return None
    mine = counted(shares_of(joined), scale, opt_outs=opted)
    theirs = counted(shares_of(joined.select(pl.col("theirs").alias("shares"))), scale, opt_outs=opted)
    both = ~(np.isnan(mine).any(axis=1) | np.isnan(theirs).any(axis=1))
    return (mine[both], theirs[both]) if both.any() else None


def _opted(votes: pl.DataFrame, scale: Scale) -> bool:
    return bool(len(votes)) and bool(shares_of(votes)[:, len(scale.options) :].sum() > 0)


def jensen_shannon(one: Floats, other: Floats) -> Floats:
    """The Jensen–Shannon divergence of every pair of rows, in nats (Lin 1991).

    >>> jensen_shannon(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])).round(4).tolist()
    [0.6931]
    """
    return np.maximum(entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2, 0.0)


def _auc(score: Floats, ambiguous: Flags) -> dict[str, float | None]:
    """The area under the ROC curve with its interval and p value; null where all items are of one kind."""
    positive, negative = int(ambiguous.sum()), int((~ambiguous).sum())
    if not positive or not negative:
        return dict.fromkeys(("auc", "auc_low", "auc_high", "p"))
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


def _filled(
    names: Sequence[str], statistics: Callable[[Floats], Floats], units: int, boot: Resampling
) -> dict[str, float | None]:
    """Estimates of statistics of weighted units with their intervals, null where they are not defined."""
    row: dict[str, float | None] = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        values, bounds = statistics(np.ones((1, units)))[0], boot.intervals(units, statistics)
    for name, value, (low, high) in zip(names, values, bounds, strict=True):
        row |= dict.fromkeys((name, f"{name}_low", f"{name}_high"))
        if np.isfinite(value):
            row |= {name: float(value), f"{name}_low": low, f"{name}_high": high}
    return row


_INTERVALS: Final = ("auc", "rho", "rho_shares", "jsd", "calibration", "precision", "recall", "f1")
_SCHEMA: Final[dict[str, Any]] = {
    "method": pl.String,
    "items": pl.Int64,
    "unscored": pl.Int64,
    "base": pl.Float64,
    **{f"{name}{end}": pl.Float64 for name in _INTERVALS for end in ("", "_low", "_high")},
    "p": pl.Float64,
    "flagged": pl.Int64,
    "threshold": pl.Float64,
    "budget": pl.Int64,
    "at_budget": pl.Float64,
    "recall_at_budget": pl.Float64,
    **dict.fromkeys(COST, pl.Int64),
    "reason": pl.String,
}
