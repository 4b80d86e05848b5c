"""Intervals of statistics that are functions of weights on items: any measure that `kernel` does not make from counts.

A measure hands over a function from weights of items to statistics, most often of weights × per-item sums; leaving out
an item is a weight of zero. Over raters it hands over the same without each rater in turn (see `rater_variance`). The
interval that follows is that of the one policy (`intervals`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.intervals import (
    JACKKNIFE,
    LIMITS,
    Bootstrap,
    Bounds,
    Jumping,
    Limits,
    Spread,
    Statistic,
    blocks,
    interval,
    percentile,
    weights,
)
from vantage.measures.rater_variance import FEW_RATERS, left_out_together, over_raters
from vantage.measures.ratings import Floats, Ints

Statistics: TypeAlias = Callable[[Floats], Floats]
"""From weights of items, one row per resample, to one column per statistic."""


@dataclass(frozen=True, slots=True)
class Resampling(Bootstrap):
    """How the intervals of statistics of weighted items are made, several at a time.

    >>> sums = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    >>> [round(end, 2) for end in Resampling().of_sums(sums, lambda s: s[:, 0] / s[:, 1], (0.0, 1.0))]
    [0.3, 0.95]
    """

    def draws(self, units: int, items: pl.Series | None = None) -> Iterator[Floats]:
        """Blocks of resampling weights over `units`; those of `items` from one source are drawn together."""
        if self.item_sources is None or items is None:
            yield from weights(units, self.resamples, self.seed)
            return
        source = self.item_sources.codes(items)
        for block in weights(int(source.max(initial=-1)) + 1, self.resamples, self.seed):
            yield block[:, source]

    def of_sums(
        self, sums: Floats, statistic: Statistic, limits: Limits = LIMITS, items: pl.Series | None = None
    ) -> Bounds:
        """The interval of one statistic of per-item sums (one row per item)."""

        def statistics(weight: Floats) -> Floats:
            return statistic(weight @ sums)[:, None]

        return self.intervals(len(sums), statistics, limits=[limits], items=items)[0]

    def intervals(
        self,
        units: int,
        statistics: Statistics,
        without: Callable[[], list[Statistics]] | None = None,
        limits: Sequence[Limits] | None = None,
        items: pl.Series | None = None,
    ) -> list[Bounds]:
        """The intervals of several statistics of weighted units; over raters from the same `without` each of them.

        `limits` are what each statistic never exceeds; `items` names the units, whose sources may be left out whole.
        """
        estimates = statistics(np.ones((1, units)))[0].tolist()
        within = limits or [LIMITS] * len(estimates)
        none: list[Bounds] = [(None, None)] * len(estimates)
        if self.ci == "none" or (self.ci != "raters" and units < 2):
            return none
        spreads: list[Spread | None] = []
        if self.ci != "raters":
            if any(isinstance(limit, Jumping) for limit in within):
                drawn = np.concatenate([statistics(block) for block in self.draws(units, items)])
                return [
                    percentile(column, self.confidence) if np.isfinite(estimate) else (None, None)
                    for estimate, column in zip(estimates, drawn.T, strict=True)
                ]
            sources = self.item_sources
            together = None if sources is None or items is None else sources.codes(items)
            rest = leave_out(units, self.seed, min(JACKKNIFE, self.resamples), together)
            left_out = np.concatenate([statistics(block) for block in rest])
            spreads = [Spread.without(column, limit) for column, limit in zip(left_out.T, within, strict=True)]
        if self.ci in ("raters", "both"):
            tables = without() if without is not None else []
            if len(tables) < 3:
                return none
            of_raters = over_raters(tables, units, self.seed, within)
            both = zip(spreads, of_raters, strict=True) if spreads else ()
            spreads = [spread and spread.plus(other) for spread, other in both] or of_raters
        return [
            interval(estimate, spread, self.confidence, limit)
            for estimate, spread, limit in zip(estimates, spreads, within, strict=True)
        ]


def several_with_intervals(
    names: Sequence[str],
    units: int,
    statistics: Statistics,
    how: Resampling,
    limits: Sequence[Limits] | None = None,
) -> dict[str, float | None]:
    """Several statistics of weighted units by name, each with the ends of its interval under `_low` and `_high`.

    What is not defined is null, and so are its ends. `limits` are what each statistic never exceeds.

    >>> values = np.array([1.0, 2.0, 3.0])
    >>> several_with_intervals(["mean"], 3, lambda w: (w @ values / w.sum(axis=1))[:, None], Resampling("none"))
    {'mean': 2.0, 'mean_low': None, 'mean_high': None}
    """
    row: dict[str, float | None] = dict.fromkeys(f"{name}{end}" for name in names for end in ("", "_low", "_high"))
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = statistics(np.ones((1, units)))[0].tolist() if units else []
        bounds = how.intervals(units, statistics, limits=limits) if units else []
    for name, estimate, (low, high) in zip(names if units else (), estimates, bounds, strict=True):
        if np.isfinite(estimate):
            row |= named(name, {"estimate": estimate, "low": low, "high": high})
    return row


def per_item(items: pl.Series, columns: Floats) -> Floats:
    """Rows added up within each item, in the order of the items' names, whatever the order of the rows.

    >>> per_item(pl.Series(["b", "a", "b"]), np.array([[1.0], [2.0], [3.0]])).tolist()
    [[2.0], [4.0]]
    """
    codes, count = item_codes(items)
    return np.column_stack([np.bincount(codes, weights=column, minlength=count) for column in columns.T])


def item_codes(items: pl.Series) -> tuple[Ints, int]:
    """A number for each row's item, in the order of the items' names, and how many items there are."""
    codes = items.rank("dense").to_numpy().astype(np.int64) - 1
    return codes, int(codes.max()) + 1 if len(codes) else 0


def ratio(sums: Floats) -> Floats:
    """First column over second, undefined where the second is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1])


def named(name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """An estimate and its interval under the name of a column.

    >>> named("gain", {"estimate": 0.2, "low": 0.1, "high": 0.3, "items": 40})
    {'gain': 0.2, 'gain_low': 0.1, 'gain_high': 0.3}
    """
    return {name: result["estimate"], f"{name}_low": result["low"], f"{name}_high": result["high"]}


UnitValues: TypeAlias = tuple[pl.Series, Floats]
"""The item and the value of each unit."""


def mean_with_interval(
    items: pl.Series,
    values: Floats,
    how: Resampling,
    limits: Limits = LIMITS,
    *,
    without: Callable[[], Iterable[UnitValues]] | None = None,
) -> dict[str, Any]:
    """The mean of unit values and its interval, as the columns of a result row.

    `without` gives the units and their values in the table without each rater in turn.
    """
    number, mean = items.n_unique(), float(values.mean())
    names = items.unique().sort().to_list()
    position = dict(zip(names, range(len(names)), strict=True))

    def statistic(items: pl.Series, values: Floats) -> Statistics:
        code = np.array([position[item] for item in items.to_list()], dtype=np.int64)
        sums = [np.bincount(code, weights=column, minlength=len(names)) for column in (values, np.ones(len(values)))]
        return lambda weight: ratio(weight @ np.column_stack(sums))[:, None]

    def tables() -> list[Statistics]:
        return [statistic(*units) for units in without()] if without is not None else []

    bounds = how.intervals(len(names), statistic(items, values), tables, [limits], pl.Series(names))[0]
    few = without is not None and bounds[0] is None and (how.ci == "raters" or (how.ci == "both" and number > 1))
    return {"estimate": mean, **how.stated(bounds), **({"reason": FEW_RATERS} if few else {})}


def difference_with_interval(
    items: pl.Series, values: Floats, first: Floats, how: Resampling, limits: Limits = LIMITS
) -> dict[str, Any]:
    """The mean of the units marked in `first` less that of the others, with its interval over items within limits.

    >>> items, values = pl.Series(["a", "a", "b", "b"]), np.array([3.0, 1.0, 4.0, 2.0])
    >>> difference_with_interval(items, values, np.array([1.0, 0.0, 1.0, 0.0]), Resampling(resamples=20))
    {'estimate': 2.0, 'low': 2.0, 'high': 2.0}
    """
    sums = per_item(items, np.column_stack([values * first, first, values * (1 - first), 1 - first]))

    def apart(of: Floats) -> Floats:
        return ratio(of[:, :2]) - ratio(of[:, 2:])

    low, high = how.of_sums(sums, apart, limits, items.unique().sort())
    return {"estimate": float(apart(sums.sum(axis=0, keepdims=True))[0]), "low": low, "high": high}


def leave_out(units: int, seed: int, groups: int = JACKKNIFE, together: Ints | None = None) -> Iterator[Floats]:
    """Weights that leave out one unit each, or one random group of units where there are more than `groups`.

    `together` gives the number of the source of each unit, where whole sources are left out.

    >>> [block.tolist() for block in leave_out(3, seed=0)]
    [[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]
    """
    group = left_out_together(units, np.random.default_rng(seed), groups) if together is None else together
    first = 0
    for count in blocks(units, int(group.max(initial=-1)) + 1):
        yield (np.arange(first, first + count)[:, None] != group).astype(np.float64)
        first += count
