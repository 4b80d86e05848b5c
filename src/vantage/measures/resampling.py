"""How a measure makes its interval: resamples of items, as weights × per-item sums.

A measure hands over one row of sums per item and a function from sums to statistics; the replicates of
all resamples come from matrix products (see `intervals`). Over raters it hands over the same without each
rater in turn (see `rater_variance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.intervals import (
    JACKKNIFE,
    LIMITS,
    SHARES,
    Bootstrap,
    Bounds,
    Statistic,
    bca,
    bootstrap_interval,
    percentile,
    weights,
    wilson,
)
from vantage.measures.rater_variance import FEW_RATERS, RaterVariance, leaving_out, left_out_together
from vantage.measures.ratings import Floats, Ints

Statistics: TypeAlias = Callable[[Floats], Floats]
"""From weights of items, one row per resample, to one column per statistic."""
KEPT: Final = 2**20
"""Draws of as many weights are kept for the next statistic of as many units."""


@lru_cache(maxsize=4)
def _kept(units: int, resamples: int, seed: int) -> tuple[Floats, ...]:
    drawn = tuple(weights(units, resamples, seed))
    for block in drawn:
        block.setflags(write=False)
    return drawn


@dataclass(frozen=True, slots=True)
class Resampling(Bootstrap):
    """A bootstrap over items whose statistics are read off weights × per-item sums, several at a time.

    >>> sums = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    >>> Resampling(resamples=200).of_sums(sums, lambda s: s[:, 0] / s[:, 1])
    (0.0, 1.0)
    """

    def draws(self, units: int) -> Iterator[Floats]:
        """Blocks of resampling weights over `units`; nothing where no interval over items can or should be made."""
        if self.ci in ("items", "both") and units > 1:
            few = units * self.resamples <= KEPT
            yield from (_kept if few else weights)(units, self.resamples, self.seed)

    def of_sums(self, sums: Floats, statistic: Statistic) -> Bounds:
        """The interval of one statistic of per-item sums (one row per item)."""
        return self.intervals(len(sums), lambda weight: statistic(weight @ sums)[:, None])[0]

    def intervals(
        self,
        units: int,
        statistics: Statistics,
        without: Callable[[], list[Statistics]] | None = None,
        limits: tuple[float, float] = LIMITS,
    ) -> list[Bounds]:
        """The intervals of several statistics of weighted units; over raters from the same `without` each of them."""
        estimates = statistics(np.ones((1, units)))[0]
        nothing: list[Bounds] = [(None, None)] * len(estimates)
        if self.ci in ("raters", "both"):
            tables = [] if without is None or units < 2 else without()
            if self.interval == "bca" and tables:
                raise InputError("this measure has a BCa interval over items only", remedy="use percentile")
            if len(tables) < 3:
                return nothing
            over_raters = RaterVariance.of_tables(tables, units, self.seed)
            drawn = [statistics(block) for block in self.draws(units)]
            columns = np.concatenate(drawn).T if drawn else [np.empty(0)] * len(estimates)
            return [
                (None, None)
                if variance is None or not np.isfinite(estimate)
                else variance.around(float(estimate), self.confidence, limits)
                if self.ci == "raters"
                else variance.widened(column, float(estimate), units, self.confidence, limits)
                for estimate, column, variance in zip(estimates, columns, over_raters, strict=True)
            ]
        drawn = [statistics(block) for block in self.draws(units)]
        if not drawn:
            return nothing
        replicates = np.concatenate(drawn)
        if self.interval == "percentile" and limits == SHARES:
            alike = zip(replicates.T, estimates.tolist(), strict=True)
            return [bootstrap_interval(column, one, units, self.confidence, limits) for column, one in alike]
        if self.interval == "percentile":
            return [percentile(column, self.confidence, units) for column in replicates.T]
        left_out = np.concatenate([statistics(block) for block in leave_out(units, self.seed)])
        return [
            bca(float(estimate), column, jackknife, self.confidence) if np.isfinite(estimate) else (None, None)
            for estimate, column, jackknife in zip(estimates, replicates.T, left_out.T, strict=True)
        ]


def several_with_intervals(
    names: Sequence[str], units: int, statistics: Statistics, how: Resampling
) -> dict[str, float | None]:
    """Several statistics of weighted units by name, each with the ends of its interval under `_low` and `_high`.

    What is not defined is null, and so are its ends.

    >>> values = np.array([1.0, 2.0, 3.0])
    >>> several_with_intervals(["mean"], 3, lambda w: (w @ values / w.sum(axis=1))[:, None], Resampling("none"))
    {'mean': 2.0, 'mean_low': None, 'mean_high': None}
    """
    row: dict[str, float | None] = dict.fromkeys(f"{name}{end}" for name in names for end in ("", "_low", "_high"))
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = statistics(np.ones((1, units)))[0].tolist() if units else []
        bounds = how.intervals(units, statistics) if units else []
    for name, estimate, (low, high) in zip(names if units else (), estimates, bounds, strict=True):
        if np.isfinite(estimate):
            row |= named(name, {"estimate": estimate, "low": low, "high": high})
            if low is not None and high is not None:
                # The percentiles of a handful of resamples can miss the estimate itself.
                row |= {f"{name}_low": min(low, estimate), f"{name}_high": max(high, estimate)}
    return row


def per_item(items: pl.Series, columns: Floats) -> Floats:
    """Rows added up within each item, in the order of the items' names, whatever the order of the rows.

    >>> per_item(pl.Series(["b", "a", "b"]), np.array([[1.0], [2.0], [3.0]])).tolist()
    [[2.0], [4.0]]
    """
    codes, count = item_codes(items)
    sums = np.zeros((count, columns.shape[1]))
    for column in range(columns.shape[1]):
        sums[:, column] = np.bincount(codes, weights=columns[:, column], minlength=count)
    return sums


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
    *,
    share: bool = False,
    without: Callable[[], Iterable[UnitValues]] | None = None,
) -> dict[str, Any]:
    """The mean of unit values and its interval, as the columns of a result row.

    A `share`, a mean of values between 0 and 1, has Wilson's interval: the bootstrap of none would be a point.
    `without` gives the units and their values in the table without each rater in turn.
    """
    number, mean = items.n_unique(), float(values.mean())
    counted = share and number == len(values) and bool(np.isin(values, (0.0, 1.0)).all())
    if counted and how.ci == "items" and how.interval == "percentile" and number > 1:
        return {"estimate": mean, **how.stated(wilson(mean * number, number, how.confidence))}
    names = items.unique().sort().to_list()
    position = dict(zip(names, range(len(names)), strict=True))

    def statistic(items: pl.Series, values: Floats) -> Statistics:
        code = np.array([position[item] for item in items.to_list()], dtype=np.int64)
        sums = [np.bincount(code, weights=column, minlength=len(names)) for column in (values, np.ones(len(values)))]
        return lambda weight: ratio(weight @ np.column_stack(sums))[:, None]

    def tables() -> list[Statistics]:
        return [statistic(*units) for units in without()] if without is not None else []

    bounds = how.intervals(len(names), statistic(items, values), tables, SHARES if share else LIMITS)[0]
    reason = (
        {"reason": FEW_RATERS} if without is not None and how.ci in ("raters", "both") and bounds[0] is None else {}
    )
    return {"estimate": mean, **how.stated(bounds), **reason}


def difference_with_interval(items: pl.Series, values: Floats, first: Floats, how: Resampling) -> dict[str, Any]:
    """The mean of the units marked in `first` less that of the others, with its interval over items.

    >>> items, values = pl.Series(["a", "a", "b", "b"]), np.array([3.0, 1.0, 4.0, 2.0])
    >>> difference_with_interval(items, values, np.array([1.0, 0.0, 1.0, 0.0]), Resampling(resamples=20))
    {'estimate': 2.0, 'low': 2.0, 'high': 2.0}
    """
    sums = per_item(items, np.column_stack([values * first, first, values * (1 - first), 1 - first]))

    def apart(of: Floats) -> Floats:
        return ratio(of[:, :2]) - ratio(of[:, 2:])

    low, high = how.of_sums(sums, apart)
    estimate = float(apart(sums.sum(axis=0, keepdims=True))[0])
    if low is None or high is None or np.isnan(estimate):
        return {"estimate": estimate, "low": low, "high": high}
    # The percentiles of a handful of resamples can miss the estimate itself.
    return {"estimate": estimate, "low": min(low, estimate), "high": max(high, estimate)}


def leave_out(units: int, seed: int, groups: int = JACKKNIFE) -> Iterator[Floats]:
    """Weights that leave out one unit each, or one random group of units where there are more than `groups`.

    >>> [block.tolist() for block in leave_out(3, seed=0)]
    [[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]
    """
    group = left_out_together(units, np.random.default_rng(seed), groups)
    yield from (kept.T for kept in leaving_out(group, units))
