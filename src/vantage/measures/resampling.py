"""How a measure makes its interval: resamples of items, as weights × per-item sums.

A measure hands over one row of sums per item and a function from sums to statistics; the replicates of
all resamples come from matrix products (see `intervals`). Over raters it hands over the same without each
rater in turn (see `rater_variance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
import polars as pl

from vantage.measures.counts import Counts
from vantage.measures.intervals import (
    ENOUGH_RATERS,
    JACKKNIFE,
    LIMITS,
    NOT_HELD,
    SHARES,
    Bootstrap,
    Bounds,
    Statistic,
    bca,
    blocks,
    bootstrap_interval,
    moved,
    percentile,
    weights,
    wilson,
)
from vantage.measures.rater_variance import FEW_RATERS, Coefficient, LeftOut, RaterVariance, left_out_together
from vantage.measures.ratings import (
    By,
    Floats,
    Group,
    Ints,
    Judgments,
    Key,
    by_columns,
    canonical,
    groups,
    judgments_query,
)
from vantage.measures.sources import AT_HAND, CountedGroup, Source, source_groups, source_of

How = TypeVar("How", bound=Bootstrap)
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
        limits: Sequence[tuple[float, float]] | None = None,
    ) -> list[Bounds]:
        """The intervals of several statistics of weighted units; over raters from the same `without` each of them.

        `limits` are what each statistic never exceeds.
        """
        estimates = statistics(np.ones((1, units)))[0].tolist()
        within = limits or [LIMITS] * len(estimates)
        tables = without() if without is not None and self.ci in ("raters", "both") else []
        drawn = [statistics(block) for block in self.draws(units)]
        if len(tables) < 3 if self.ci in ("raters", "both") else not drawn:
            return [(None, None)] * len(estimates)
        columns = list(np.concatenate(drawn).T) if drawn else [np.empty(0)] * len(estimates)
        if self.ci in ("raters", "both"):
            over_raters = RaterVariance.of_tables(tables, units, self.seed)
            return [
                (None, None)
                if variance is None or not np.isfinite(estimate)
                else variance.around(estimate, self.confidence, limit)
                if self.ci == "raters"
                else variance.widened(column, estimate, units, self.confidence, limit)
                for estimate, column, variance, limit in zip(estimates, columns, over_raters, within, strict=True)
            ]
        if self.interval == "percentile":
            # A mean or a share reaches as far as Student's t says, which resamples of few units cannot show.
            means = (SHARES, LIMITS) if limits is not None else ()
            return [
                bootstrap_interval(column, estimate, units, self.confidence, limit)
                if limit in means
                else percentile(column, self.confidence, units)
                for estimate, column, limit in zip(estimates, columns, within, strict=True)
            ]
        left_out = np.concatenate([statistics(block) for block in leave_out(units, self.seed)])
        return [
            bca(estimate, column, jackknife, self.confidence) if np.isfinite(estimate) else (None, None)
            for estimate, column, jackknife in zip(estimates, columns, left_out.T, strict=True)
        ]


def several_with_intervals(
    names: Sequence[str],
    units: int,
    statistics: Statistics,
    how: Resampling,
    limits: Sequence[tuple[float, float]] | None = None,
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
    limits: tuple[float, float] = LIMITS,
    *,
    without: Callable[[], Iterable[UnitValues]] | None = None,
) -> dict[str, Any]:
    """The mean of unit values and its interval, as the columns of a result row.

    A mean of values between 0 and 1 has Wilson's interval: the bootstrap of none would be a point.
    `without` gives the units and their values in the table without each rater in turn.
    """
    number, mean = items.n_unique(), float(values.mean())
    counted = limits == SHARES and number == len(values) and bool(np.isin(values, (0.0, 1.0)).all())
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

    bounds = how.intervals(len(names), statistic(items, values), tables, [limits])[0]
    few = without is not None and bounds[0] is None and (how.ci == "raters" or (how.ci == "both" and number > 1))
    return {"estimate": mean, **how.stated(bounds), **({"reason": FEW_RATERS} if few else {})}


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
    first = 0
    for count in blocks(units, int(group.max(initial=-1)) + 1):
        yield (np.arange(first, first + count)[:, None] != group).astype(np.float64)
        first += count


def coefficient_interval(
    how: Bootstrap,
    statistic: Statistic,
    multiplicity: Ints,
    over_raters: Callable[[], RaterVariance | None],
    limits: tuple[float, float] = LIMITS,
    *,
    centred: bool = False,
) -> dict[str, Any]:
    """The interval of a statistic of weights on kinds of units, as the columns of a result row.

    `over_raters` gives its variance over raters, where it matters. `centred` moves the resamples of items so that their
    mean is the estimate.
    """
    if how.ci not in ("raters", "both"):
        return how.stated(how.bounds(statistic, multiplicity, limits, centred=centred))
    variance = over_raters()
    if variance is None:
        return {"low": None, "high": None, "reason": FEW_RATERS}
    estimate = float(statistic(multiplicity[None, :].astype(np.float64))[0])
    if how.ci == "raters":
        return how.stated(variance.around(estimate, how.confidence, limits))
    replicates = how.replicates(statistic, multiplicity)
    if centred:
        replicates = moved(replicates, estimate)
    return how.stated(variance.widened(replicates, estimate, int(multiplicity.sum()), how.confidence, limits))


def counts_interval(
    how: Bootstrap, group: CountedGroup[Counts], coefficient: Coefficient, limits: tuple[float, float] = LIMITS
) -> dict[str, Any]:
    """The interval of a coefficient of counts: over items, over raters who are left out in turn, or over both."""
    return coefficient_interval(
        how,
        coefficient(group.counts),
        group.counts.multiplicity,
        lambda: None if group.without is None else group.without.variance(coefficient),
        limits,
    )


def counted_groups(
    data: Judgments, by: By, bootstrap: Bootstrap, *, paired: bool = False, source: Source | None = None
) -> Iterator[tuple[CountedGroup[Counts], Bootstrap]]:
    """The counts of each group (see `source_groups`) with its bootstrap, and without each rater if over raters."""
    source = source or source_of(data, by)
    counted = source_groups(source, source.counts(), paired=paired)
    chosen = Choice.of(data, by, bootstrap)
    rows: Iterable[Group | None] = groups(data, by) if chosen.any_raters else repeat(None)
    for group, part in zip(counted, rows, strict=chosen.any_raters):
        how = chosen[group.key]
        counts = group.counts if how.ci == "none" else group.counts.canonical()
        without = None
        if part is not None and how.ci in ("raters", "both"):
            without = LeftOut.of(canonical(part.frame).ratings, counts.values, how.seed, 2 if paired else 1)
        yield replace(group, counts=counts, without=without), how


@dataclass(frozen=True, slots=True)
class Choice(Generic[How]):
    """The bootstrap of each group: over what was asked for or, left to itself, over what the group has enough of.

    >>> from vantage.measures.intervals import OVER
    >>> table = {"item": [1, 2] * 10, "rater": sorted([*range(10)] * 2), "value": [0, 1] * 10}
    >>> Choice.of(table, (), Bootstrap(over=OVER))[{}].ci
    'both'
    """

    bootstrap: How
    several: dict[Key, int]
    """How many raters of each group judged several items."""

    @classmethod
    def of(cls, data: Judgments, by: By, bootstrap: How) -> Choice[How]:
        """Counts raters where the choice depends on it.

        Rows that are streamed are not held, so that such a table is resampled over items.
        """
        columns = by_columns(by)
        unseen = replace(bootstrap, ci="items", because=NOT_HELD)
        if bootstrap.ci != "auto" or isinstance(data, pl.LazyFrame):
            return cls(bootstrap if bootstrap.ci != "auto" else unseen, {})
        item = pl.col("item").filter(pl.col("value").is_not_null())
        query = judgments_query(data, columns).with_columns(pl.lit(0).alias("__all"))
        raters = query.group_by(list(dict.fromkeys(["__all", *columns, "rater"]))).agg(
            (item.min() != item.max()).alias("several"), pl.len().alias("rows")
        )
        sizes = raters.group_by(["__all", *columns]).agg(pl.col("several", "rows").sum()).collect()
        if sizes["rows"].sum() > AT_HAND:
            return cls(unseen, {})
        return cls(bootstrap, {tuple(key): int(n) for _, *key, n, _ in sizes.iter_rows()})

    def __getitem__(self, key: Mapping[str, Any]) -> How:
        return self.bootstrap.chosen(self.several.get(tuple(key.values()), 0))

    @property
    def any_raters(self) -> bool:
        """Whether raters are resampled in any group."""
        if self.bootstrap.ci == "auto":
            return max(self.several.values(), default=0) >= ENOUGH_RATERS
        return self.bootstrap.ci in ("raters", "both")
