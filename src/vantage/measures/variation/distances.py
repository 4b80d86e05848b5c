"""Distances between the answer distributions of two groups of raters, item by item.

The two groups are the two values of any column: a trait, people against models, two conditions, two
rater sets. Everything is computed on the answers that occur, so a slider costs no more than a yes/no.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.measures.base import measure
from vantage.measures.codes import dense, encode
from vantage.measures.intervals import OVER, IntervalOptions
from vantage.measures.multiplicity import dealt_anew, share_beyond
from vantage.measures.parts import (
    check_level,
    counts,
    names,
    parts,
    stacked,
    two_values,
    unit_table,
)
from vantage.measures.presentation import Column, View
from vantage.measures.rater_variance import raters_together, several_items
from vantage.measures.ratings import OPTED_OUT, By, Floats, Ints, Judgments, drawn_raters, judgments_frame
from vantage.measures.resampling import Resampling, UnitValues, item_codes, mean_with_interval, named
from vantage.measures.variation.spread import CATEGORY, Per, categories

Distance: TypeAlias = Literal["jsd", "js_distance", "kl", "cross_entropy", "manhattan", "euclidean", "wasserstein"]

Bools: TypeAlias = NDArray[np.bool_]

_UNBOUNDED: Final = {"kl", "cross_entropy"}


VIEW: Final = View(
    "Distance between the answers of two groups to the same item",
    columns={"estimate": Column("distance", digits=3), "chance": Column("by chance", digits=3)},
    show=("first", "second", "metric", "estimate", "chance", "items", "reason"),
    method="The distance between two groups' answers to an item is the {metric}.",
)


@measure("distance", "variation", view=VIEW, interval=("raters", "sources"))
def distance(
    data: Judgments,
    *,
    by: By = (),
    between: str,
    values: Sequence[object] | None = None,
    metric: Distance | Sequence[Distance] = "jsd",
    base: Literal["nats", "bits"] = "nats",
    normalise: bool = False,
    opt_outs: bool = False,
    smoothing: float = 0.0,
    match: By = ("item", "question"),
    per: Per = "mean",
    relabellings: int = 100,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """How far apart two groups' answers to the same item are, on average over items.

    Between the shares p of the first group and q of the second, `metric` is one or several of `jsd` (the divergence of
    Lin 1991; at most log 2), `js_distance` (its square root), `kl` Σ p log(p / q), `cross_entropy` −Σ p log q,
    `manhattan` Σ |p − q|, `euclidean` √Σ (p − q)², and `wasserstein` (the area between the cumulative shares; ordered
    scales only). `normalise` divides by the largest possible value. Opt-outs are left out, or categories of their own
    with `opt_outs`. The answers of a group to an item are pooled over everything that `match` does not name; items that
    only one group answered are left out.

    `kl` and `cross_entropy` need q > 0 wherever p > 0, or a group has no estimate; `smoothing` adds that many
    pseudo-answers to each category of q: the options of the scale (with its opt-outs, where they are in), or the
    distinct answers of the whole table.

    Few answers make any two groups differ. Where raters belong to one group each, `chance` is what the same people
    give when they are dealt at random into groups of these sizes, on average over `relabellings`; `excess` is the
    distance beyond it, with its interval over items, and `p` the share of the dealings (these groups among them) that
    are as far apart: a permutation test over raters. Left out with `ci="none"`.

    >>> votes = {"item": ["a"] * 4, "rater": [1, 2, 3, 4], "value": [0, 0, 0, 1],
    ...          "age": ["old", "old", "young", "young"]}
    >>> distance(votes, between="age", metric=["manhattan", "wasserstein"])["estimate"].to_list()
    [1.0, 0.5]
    """
    metrics = [metric] if isinstance(metric, str) else list(metric)
    _check(metrics, smoothing, normalise, opt_outs)
    bootstrap = Resampling(**resampling, over=OVER)
    keys = [column for column in names(match) if column != between]
    first, second = two_values(judgments_frame(data, [between]), between, values)
    possible = categories(data, opt_outs)
    rows, frames = [], []
    for part in parts(data, by, extra=[between, *keys]):
        if "wasserstein" in metrics:
            check_level(part.scale(), part.frame, "a Wasserstein distance")
        used = pl.col("value").is_not_null()
        if opt_outs:
            used |= OPTED_OUT
        used &= pl.col(between).is_in([first, second])
        mine = part.frame.filter(used)
        cells = Cells.of(mine, keys, between, first)
        how = bootstrap.chosen(several_items(mine, bootstrap.groups))
        scale = part.scale()
        low, high = scale.ends if scale is not None else part.ends
        for name in metrics:
            about = {"first": str(first), "second": str(second), "metric": name}
            if scale is not None and scale.range is not None and name != "wasserstein":
                reason = "the scale is continuous, so answers do not fall into categories; use wasserstein"
                rows.append({**part.key, **about, **counts(mine, part.frame), "reason": reason})
                continue
            unit = _scale(name, base, normalise, high - low)
            metric_of = DistanceMetric(name, unit, smoothing, possible[part.frame["question"][0]])
            units = cells.distances(metric_of)
            if per == "item":
                infinite = "an answer of the first group never occurs in the second; pass smoothing"
                frame = cells.units.with_columns(
                    pl.Series("estimate", units).replace(np.inf, None),
                    pl.when(pl.Series(np.isinf(units))).then(pl.lit(infinite)).alias("reason"),
                    *(pl.lit(value).alias(key) for key, value in about.items()),
                )
                frames.append(unit_table(frame.filter(~np.isnan(units)), part, by, keys, list(about), used))
            else:
                unused = part.frame.filter(~used & pl.col("value").is_null())
                row = _average(cells, units, metric_of, mine, unused, how)
                if relabellings > 0 and how.ci != "none" and row.get("estimate") is not None and between != "rater":
                    row |= _beyond(cells, units, metric_of, relabellings, mine, replace(how, ci="items"))
                rows.append({**part.key, **about, **row})
    return stacked(rows, frames, by)


@dataclass(frozen=True, slots=True)
class DistanceMetric:
    """A distance, what it is divided by, and how the second group is smoothed."""

    name: str
    unit: float
    smoothing: float
    categories: int


@dataclass(frozen=True, slots=True)
class Cells:
    """The judgments of two groups, and the cells that they are counted in: the answers that occur in each unit."""

    units: pl.DataFrame
    """The keys of each unit."""
    unit: Ints
    """The unit of each cell; cells are in the order of units and, within them, of values."""
    value: Floats
    cell: Ints
    """The cell of each judgment."""
    first: Bools
    """Whether a judgment belongs to the first group."""
    rater: Ints
    """The rater of each judgment, in the order of their names."""

    @classmethod
    def of(cls, used: pl.DataFrame, keys: Sequence[str], between: str, first: Any) -> Cells:
        """The cells of a group's judgments."""
        unit = item_codes(used.select(pl.struct(keys).rank("dense").alias("unit"))["unit"])[0]
        answer, answers = dense(encode(used.select(CATEGORY.alias("answer")), ["answer"]))
        codes, cell = np.unique(unit * max(answers, 1) + answer, return_inverse=True)
        value = np.full(len(codes), np.nan)
        value[cell.reshape(-1)] = used["value"].fill_null(np.nan).to_numpy()
        places = used.select(keys).unique().sort(keys)
        in_first = (used[between] == first).to_numpy()
        return cls(places, codes // max(answers, 1), value, cell.reshape(-1), in_first, item_codes(used["rater"])[0])

    @property
    def items(self) -> pl.Series:
        """What is drawn with each unit: its item, or itself where `match` does not name items."""
        return self.units["item"] if "item" in self.units.columns else pl.Series(range(len(self.units)))

    def sides(self) -> Bools | None:
        """Whether each rater belongs to the first group; null where raters are in both."""
        side = np.zeros(int(self.rater.max(initial=-1)) + 1, dtype=np.bool_)
        side[self.rater] = self.first
        return side if np.array_equal(side[self.rater], self.first) else None

    def distances(self, metric: DistanceMetric, first: Bools | None = None, kept: Bools | None = None) -> Floats:
        """The distance of every unit, NaN where one group has no answer, infinite where shares do not allow it.

        `first` puts the judgments into other groups; `kept` leaves some out.
        """
        first = self.first if first is None else first
        weights = [side if kept is None else side & kept for side in (first, ~first)]
        a, b = (np.bincount(self.cell, weights=side, minlength=len(self.unit)) for side in weights)
        sizes = [np.bincount(self.unit, weights=side, minlength=len(self.units)) for side in (a, b)]
        both = (sizes[0] > 0) & (sizes[1] > 0)
        mine = both[self.unit]
        p, q = (
            np.divide(side, size[self.unit], out=np.zeros(len(side)), where=mine)
            for side, size in zip((a, b), sizes, strict=True)
        )
        smoothed = p
        if metric.name in _UNBOUNDED:
            pseudo = metric.smoothing
            below = sizes[1][self.unit] + pseudo * metric.categories
            smoothed = np.divide(b + pseudo, below, out=np.ones(len(b)), where=mine)
        terms = _terms(metric.name, p, q, smoothed, np.append(np.diff(self.value), 0.0))
        total = np.bincount(self.unit, weights=terms, minlength=len(self.units))
        if metric.name in ("js_distance", "euclidean"):
            total = np.sqrt(np.maximum(total, 0.0))
        elif metric.name == "jsd":
            total = np.maximum(total, 0.0)  # rounding may leave a negative zero for equal distributions
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(both, total / metric.unit, np.nan)


def _terms(name: str, p: Floats, q: Floats, smoothed: Floats, gap: Floats) -> Floats:
    """What each cell adds to the distance of its unit; `gap` is how far the next value lies."""
    from scipy.special import rel_entr, xlogy

    if name == "wasserstein":
        # The shares of a unit add up to the same on both sides, so that every unit begins at zero again.
        apart = np.cumsum(p - q)
        return np.where(np.abs(apart) > 1e-9, np.abs(apart) * gap, 0.0)
    if name == "manhattan":
        return np.abs(p - q)
    if name == "euclidean":
        return np.square(p - q)
    if name == "kl":
        return np.asarray(rel_entr(p, smoothed))
    if name == "cross_entropy":
        return np.where(p > 0, -xlogy(p, smoothed), 0.0)
    m = (p + q) / 2
    return np.asarray(rel_entr(p, m) + rel_entr(q, m)) / 2


def _beyond(
    cells: Cells, units: Floats, metric: DistanceMetric, relabellings: int, mine: pl.DataFrame, how: Resampling
) -> dict[str, Any]:
    """How far a distance lies beyond chance: what chance gives, the excess over it, and a permutation test.

    Nothing where raters are in both groups, or are too few to be dealt in another way.
    """
    sides = cells.sides()
    if sides is None or len(sides) < 3:
        return {}
    rng = np.random.default_rng(how.seed)
    drawn = drawn_raters(mine["rater"].unique().sort(), how.groups)
    again = [sides[dealt_anew(sides, drawn, rng)][cells.rater] for _ in range(relabellings)]
    dealt = np.stack([cells.distances(metric, one) for one in again])
    dealt[np.isinf(dealt)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where all are undefined
        means, floor = np.nanmean(dealt, axis=1), np.nanmean(dealt, axis=0)
    means = means[np.isfinite(means)]
    known = np.isfinite(units) & np.isfinite(floor)
    if not len(means) or not known.any():
        return {}
    excess = mean_with_interval(cells.items.filter(known), (units - floor)[known], how)
    observed = float(units[np.isfinite(units)].mean())
    return {
        "chance": float(means.mean()),
        **named("excess", excess),
        "excess_over": excess["over"],
        "p": share_beyond(means >= observed - 1e-12),
    }


def _check(metrics: Sequence[str], smoothing: float, normalise: bool, opt_outs: bool) -> None:
    for name in metrics:
        if normalise and name in _UNBOUNDED:
            raise InputError(f"{name} has no largest value to divide by", remedy="leave normalise out")
        if opt_outs and name == "wasserstein":
            raise InputError(
                "an opt-out has no place on the scale, so wasserstein cannot count it",
                remedy="leave opt_outs out",
            )
    if smoothing < 0:
        raise InputError(f"smoothing {smoothing} is negative", remedy="use for example 0.5")


def _scale(metric: str, base: str, normalise: bool, length: float) -> float:
    """What a distance in nats, or in codes, is divided by."""
    if normalise:
        largest = {
            "jsd": np.log(2),
            "js_distance": np.sqrt(np.log(2)),
            "manhattan": 2.0,
            "euclidean": np.sqrt(2),
        }
        return float(largest.get(metric, length))
    if base == "bits" and metric in {"jsd", "kl", "cross_entropy", "js_distance"}:
        return float(np.sqrt(np.log(2)) if metric == "js_distance" else np.log(2))
    return 1.0


def _average(
    cells: Cells, units: Floats, metric: DistanceMetric, mine: pl.DataFrame, unused: pl.DataFrame, how: Resampling
) -> dict[str, Any]:
    """The row of a group: the mean over its units with an interval, or why there is none."""
    both = ~np.isnan(units)
    used = mine.filter(both[cells.unit][cells.cell])
    row = counts(used, unused, one_sided=len(mine) - len(used))
    if not both.any():
        return {**row, "reason": "no item was answered by both groups"}
    if infinite := int(np.isinf(units).sum()):
        if metric.unit == 0:
            return {**row, "reason": "the scale has no length"}
        return {**row, "reason": f"{infinite} items have an answer that the second group never gave; pass smoothing"}

    def without() -> Iterator[UnitValues]:
        group = raters_together(mine["rater"].unique().sort(), how)[cells.rater]
        for number in range(int(group.max()) + 1):
            left = cells.distances(metric, kept=group != number)
            known = np.isfinite(left)
            yield cells.items.filter(known), left[known]

    return {**row, **mean_with_interval(cells.items.filter(both), units[both], how, without=without)}
