"""Pairwise comparisons and best–worst scaling: a score for every member of the tuples, and how reliable it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.comparisons.comparisons import Comparisons, Scoring, compared, scores
from vantage.measures.intervals import OVER, Bounds, Over, percentile
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import FEW_RATERS, LEFT_OUT_TABLES, RaterVariance, several_items
from vantage.measures.ratings import By, Floats, Ints, Judgments, by_columns
from vantage.measures.reliability.split_half import Correlation, pearson_rows, whole_test
from vantage.measures.resampling import Resampling, leave_out

UNLINKED: Final = "the comparisons fall into {parts} parts that no tuple links, so their strengths cannot be compared"

VIEW: Final = View(
    "Scores from comparisons",
    columns={"estimate": Column("score", digits=2), "member": Column("text")},
    show=("member", "estimate", "appearances", "best", "worst"),
    chart="points",
    notes=(
        "Counts: the share of wins in pairs, and the share of best less that of worst in larger tuples. "
        "Bradley–Terry: strengths on the logit scale, with mean 0.",
    ),
    says=(
        Extremes(
            most="The highest score has {rows}",
            least="The lowest score has {rows}",
            value="estimate",
            among=("question",),
            label="{member}",
        ),
    ),
    method="Texts were scored from comparisons: by counts, or by the strengths of a Bradley–Terry model.",
    sources=("louviere2015", "bradley1952"),
)


@measure("scaling", "scaling", view=VIEW)
def scaling(
    data: Judgments,
    *,
    by: By = (),
    method: Scoring = "counts",
    worst: str = "worst",
    prior: float = 0.5,
    ci: Over = "auto",
    resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The score of every member of the judged tuples: by counts, or as its Bradley–Terry strength.

    An item is a tuple whose members are named in the columns `item_1`, `item_2` …; a value is the place of the chosen
    member. Where an instrument asks for the worst with `unlike`, best and worst belong together; in a plain table the
    question called `worst` asks for it. Judgments of which one of the two is missing are left out as `incomplete`.

    `method="counts"` is the share of wins in pairs, and (best − worst) / appearances otherwise. `"bradley-terry"` fits
    strengths with Choix (pip install 'vantage[scaling]') to the comparisons that the answers imply; `prior` gives every
    text so many wins and losses against all others together, which keeps strengths finite. Intervals over tuples,
    raters or both.

    >>> duels = {"item": [*"xyz"], "rater": [*"aaa"], "value": [1, 2, 1],
    ...          "item_1": ["p", "q", "p"], "item_2": ["q", "r", "r"]}
    >>> scaling(duels, ci="none").select("member", "best", "estimate").rows()
    [('p', 2, 1.0), ('r', 1, 0.5), ('q', 0, 0.0)]
    """
    _check(prior)
    bootstrap = Resampling(ci, "percentile", resamples, confidence, seed, OVER)
    rows: list[dict[str, Any]] = []
    for row, made in compared(data, by, worst):
        if not made.names:
            rows.append({**row, "member": None, "reason": "no tuple was judged"})
            continue
        if method == "bradley-terry" and (unlinked := made.parts) > 1:
            rows.append({**row, "member": None, "reason": UNLINKED.format(parts=unlinked)})
            continue
        how = bootstrap.chosen(several_items(pl.DataFrame({"rater": made.rater, "item": made.unit})))
        statistics = made.statistics(method, prior)
        bounds = how.intervals(made.units, statistics, partial(made.without, method, prior, seed))
        estimates = scores(method, prior)(made)
        counted = zip(made.appearances, made.chosen(made.best), made.chosen(made.worst), strict=True)
        scored: list[dict[str, Any]] = [
            {"member": name, "appearances": int(n), "best": int(best), "worst": int(worse), "estimate": float(estimate)}
            | how.stated(interval)
            | ({"reason": FEW_RATERS} if how.ci in ("raters", "both") and interval[0] is None else {})
            for name, (n, best, worse), estimate, interval in zip(made.names, counted, estimates, bounds, strict=True)
        ]
        rows += [{**row, **one} for one in sorted(scored, key=lambda one: (-one["estimate"], one["member"]))]
    return table(rows, [*_grouping(by), "question", "member"])


RELIABILITY_VIEW: Final = View(
    "Split-half reliability of scores from comparisons",
    symbol="r",
    columns={"estimate": Column("split-half reliability", digits=2), "sd": Column(digits=3)},
    show=("estimate", "members", "items", "raters"),
    notes=("How well the scores from one half of the judgments of each tuple predict those from the other half.",),
    method="The judgments of each tuple were split at random into halves, and the scores of both were correlated.",
    sources=("kiritchenko2017",),
)


@measure("scaling-split-half", "scaling", view=RELIABILITY_VIEW)
def scaling_split_half(
    data: Judgments,
    *,
    by: By = (),
    method: Scoring = "counts",
    worst: str = "worst",
    prior: float = 0.5,
    correlation: Correlation = "pearson",
    spearman_brown: bool = False,
    splits: int = 100,
    ci: Over = "auto",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Split-half reliability of scores from comparisons (Kiritchenko & Mohammad 2017).

    The judgments of each tuple are split at random into two halves, members are scored in each, and the scores are
    correlated. `estimate` is the mean over the splits and `split_low`…`split_high` holds 95 % of them: it shows the
    luck of the split, not the sample's. `low`…`high` is the confidence interval for other tuples of these members,
    other raters or both: tuples and raters are left out in turn, and correlations taken as Fisher's z. Tuples that
    were judged once are in one half.

    >>> duels = {"item": [*"xxyyzz"], "rater": [*"ababab"], "value": [1, 1, 2, 2, 1, 1],
    ...          "item_1": [*"ppqqpp"], "item_2": [*"qqrrrr"]}
    >>> scaling_split_half(duels, splits=5)["estimate"][0]
    1.0
    """
    _check(prior)
    if splits < 1:
        raise InputError(f"{splits} splits cannot be drawn", remedy="ask for at least one")
    bootstrap = Resampling(ci, confidence=confidence, seed=seed, over=OVER)
    rows = []
    for row, made in compared(data, by, worst):
        row |= {"members": len(made.names), "estimate": None}
        if np.bincount(made.unit, minlength=1).max() < 2:
            rows.append({**row, "reason": "no tuple was judged twice"})
            continue
        rng = np.random.default_rng(seed)
        halves = [_halves(made, rng) for _ in range(splits)]
        split = SplitScores(made, method, prior, correlation, halves)
        drawn = split.correlations(np.ones((1, made.units)))[0]
        drawn = drawn[np.isfinite(drawn)]
        if not len(drawn):
            rows.append({**row, "reason": "the scores of the halves do not vary"})
            continue
        how = bootstrap.chosen(several_items(pl.DataFrame({"rater": made.rater, "item": made.unit})))
        bounds = replace(split, halves=halves[:LEFT_OUT_SPLITS]).interval(float(drawn.mean()), how)
        if spearman_brown:
            drawn = _stepped_up(drawn)
            low, high = (None if bound is None else float(_stepped_up(np.array([bound]))[0]) for bound in bounds)
            bounds = low, high
        split_low, split_high = percentile(drawn)
        sd = float(drawn.std(ddof=1)) if len(drawn) > 1 else None
        row |= {"estimate": float(drawn.mean()), "sd": sd, "split_low": split_low, "split_high": split_high}
        few = how.ci in ("raters", "both") and bounds[0] is None
        reason = FEW_RATERS if few else LONG if bounds[0] is not None else None
        rows.append({**row, **how.stated(bounds), "reason": reason})
    return table(rows, [*_grouping(by), "question"])


def _stepped_up(half: Floats) -> Floats:
    return whole_test(half, np.full(len(half), 0.25))


LONG: Final = (
    "leaving out tuples and raters takes away answers that others would give, so that the interval may be too long"
)
LEFT_OUT_SPLITS: Final = 10
"""In how many of the splits tuples and raters are left out."""


@dataclass(frozen=True, slots=True)
class SplitScores:
    """Scores of members from two halves of the judgments, in several splits."""

    made: Comparisons
    method: Scoring
    prior: float
    correlation: Correlation
    halves: list[Ints]

    def correlations(self, weight: Floats) -> Floats:
        """The correlation of the two halves, one row for each row of weights of tuples and one column per split."""
        columns = []
        for half in self.halves:
            sides = [self.made.kept(half == side).statistics(self.method, self.prior)(weight) for side in (0, 1)]
            both = np.asarray(np.isfinite(sides).all(axis=0))
            if self.correlation == "spearman":
                from scipy.stats import rankdata

                sides = [rankdata(np.where(both, side, np.nan), axis=1, nan_policy="omit") for side in sides]
            first, second = (np.where(both, side, 0.0) for side in sides)
            values = pearson_rows(first, second, 1e-24, both.astype(np.float64))
            columns.append(np.where(both.sum(axis=1) > 2, values, np.nan))
        return np.column_stack(columns)

    def mean(self, weight: Floats) -> Floats:
        """Fisher's z of their mean over the splits, as a column."""
        mean = np.clip(np.nanmean(self.correlations(weight), axis=1), -1 + 1e-12, 1 - 1e-12)
        return np.asarray(np.arctanh(mean))[:, None]

    def kept(self, mask: Any) -> SplitScores:
        """The same splits of some of the judgments."""
        return replace(self, made=self.made.kept(mask), halves=[half[mask] for half in self.halves])

    def interval(self, estimate: float, how: Resampling) -> Bounds:
        """The interval of the mean correlation, from tuples and raters that are left out in turn."""
        if how.ci == "none" or self.made.units < 3:
            return None, None
        left_out = np.concatenate([self.mean(w) for w in leave_out(self.made.units, how.seed, LEFT_OUT_TABLES)])
        tuples = RaterVariance.from_estimates(np.tile(left_out.T, (2, 1)))
        group = self.made.left_out_together(how.seed)
        without = (
            [self.kept(group != number).mean for number in range(int(group.max()) + 1)] if how.ci != "items" else []
        )
        raters = RaterVariance.of_tables(without, self.made.units, how.seed)[0] if len(without) > 2 else None
        used = {"items": tuples, "raters": raters}.get(how.ci) if how.ci != "both" else tuples and tuples.plus(raters)
        if used is None:
            return None, None
        z = float(np.arctanh(np.clip(estimate, -1 + 1e-12, 1 - 1e-12)))
        low, high = used.around(z, how.confidence)
        return (None, None) if low is None or high is None else (float(np.tanh(low)), float(np.tanh(high)))


def _halves(made: Comparisons, rng: np.random.Generator) -> Ints:
    """The half of each judgment: those of a tuple take turns in a random order, beginning with either half."""
    order = np.lexsort((rng.random(len(made.unit)), made.unit))
    unit = made.unit[order]
    start = np.flatnonzero(np.diff(unit, prepend=-1))
    rank = np.arange(len(unit)) - np.repeat(start, np.diff(np.append(start, len(unit))))
    half = np.empty(len(unit), dtype=np.int64)
    half[order] = (rank + rng.integers(0, 2, made.units)[unit]) % 2
    return half


def _grouping(by: By) -> list[str]:
    return [column for column in by_columns(by) if column != "question"]


def _check(prior: float) -> None:
    if prior <= 0:
        raise InputError(f"prior {prior} is not above 0", remedy="use 0.5")
