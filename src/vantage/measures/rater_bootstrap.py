"""Intervals over raters, or over raters and items: weights on raters change every unit and not only its weight.

A resample draws raters with replacement. A rater drawn twice brings every answer twice, and the copies are
coders of their own, except that an answer is never paired with its own copy: the two would agree by
construction. A unit whose answers were drawn w₁, w₂ … times therefore has (Σw)² − Σw² pairs of coders in
either order, of which Σ_c W_c² − Σw² agree when value *c* was drawn W_c times. Intervals over both draw items and
leave out raters (see `rater_variance`).

W_c of all units is the product of a sparse table (who gave which value to which unit) and the numbers of
copies, for a whole block of resamples at a time. A coefficient supplies a *formula*: from such a block,
`Resamples`, to one estimate per resample. Time grows with answers × resamples, never with raters × items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
import polars as pl

from vantage.measures.counts import Counts
from vantage.measures.intervals import (
    ENOUGH_RATERS,
    JACKKNIFE,
    LIMITS,
    NOT_HELD,
    Bootstrap,
    Statistic,
    bca,
    blocks,
    moved,
    percentile,
    weights,
)
from vantage.measures.rater_variance import FEW_RATERS, RaterVariance, Weighted, leaving_out, left_out_together
from vantage.measures.ratings import (
    By,
    Floats,
    Ints,
    Judgments,
    Key,
    Named,
    by_columns,
    canonical,
    groups,
    judgments_query,
)
from vantage.measures.sources import AT_HAND, CountedGroup, Source, source_groups, source_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Interval: TypeAlias = dict[str, Any]
"""The bounds `low` and `high` of a result row, and the `reason` where raters cannot be resampled."""
Between: TypeAlias = Callable[[Ints, Ints], Floats]
"""From the columns of two values to an amount, such as their difference."""

How = TypeVar("How", bound=Bootstrap)

ONE_RATER: Final = "there is no other rater, so raters cannot be resampled"


@dataclass(frozen=True)
class Answers:
    """The answers of a group, ready to be weighted by how often raters and units are drawn.

    Copies of the first rater agree with the second as the first did; they are not pairs of their own.

    >>> from vantage.measures.ratings import judgments_frame
    >>> answers = Answers.of(judgments_frame([[1, 2, 2], [1, 2, 1]]))
    >>> twice_and_once = Resamples(answers, np.array([[2.0], [1.0]]), np.ones((3, 1)))
    >>> twice_and_once.pairs.ravel().tolist(), twice_and_once.agreeing().ravel().tolist()
    ([4.0, 4.0, 4.0], [4.0, 4.0, 0.0])
    """

    unit: Ints
    """The unit of each answer, in ascending order."""
    rater: Ints
    column: Ints
    """The value of each answer, as a position in `values`."""
    values: Floats
    units: int
    raters: int
    cluster: Ints
    """What is drawn with each unit: the unit itself, or its item."""

    @classmethod
    def of(cls, answered: pl.DataFrame) -> Answers:
        """Answers with units and raters in the order of their names."""
        named = canonical(answered)
        return cls.named(named, np.arange(named.ratings.units))

    @classmethod
    def named(cls, named: Named, cluster: Ints) -> Answers:
        """The answers in canonical order, whose units are drawn in clusters."""
        ratings = named.ratings
        values, column = np.unique(ratings.value, return_inverse=True)
        column = column.reshape(-1)
        return cls(ratings.unit, ratings.coder, column, values, ratings.units, ratings.coders, cluster)

    def merged(self, column: Ints, values: Floats) -> Answers:
        """The answers as other values: what stood in column *c* belongs to `column[c]`."""
        return replace(self, column=column[self.column], values=values)

    @cached_property
    def cell(self) -> Ints:
        """Which of the different (unit, value) each answer belongs to."""
        return self._cells[1]

    @cached_property
    def cell_unit(self) -> Ints:
        """The unit of each cell, in ascending order."""
        return self._cells[0] // len(self.values)

    @cached_property
    def cell_column(self) -> Ints:
        """The value of each cell."""
        return self._cells[0] % len(self.values)

    @cached_property
    def cell_pairs(self) -> list[tuple[Ints, Ints]]:
        """Every two cells of a unit; no list names a cell twice on the same side."""
        last = np.searchsorted(self.cell_unit, self.cell_unit, side="right")
        left = np.arange(len(last))
        pairs = []
        step = 1
        while len(left := left[left + step < last[left]]):
            pairs.append((left, left + step))
            step += 1
        return pairs

    @cached_property
    def givers(self) -> csr_array:
        """How often each rater gave the answer of each cell: once, but for repeated samples."""
        from scipy.sparse import coo_array

        shape = (len(self.cell_unit), self.raters)
        return coo_array((np.ones(len(self.cell)), (self.cell, self.rater)), shape).tocsr()

    @cached_property
    def by_cell(self) -> csr_array:
        """Adds up answers within cells."""
        return membership(self.cell, len(self.cell_unit))

    @cached_property
    def by_unit(self) -> csr_array:
        """Adds up cells within units."""
        return membership(self.cell_unit, self.units)

    @cached_property
    def by_column(self) -> csr_array:
        """Adds up cells that have the same value."""
        return membership(self.cell_column, len(self.values))

    def interval(
        self,
        formula: Formula,
        bootstrap: Bootstrap,
        *,
        limits: tuple[float, float] = LIMITS,
        centred: bool = False,
        share: bool = False,
        over_items: Callable[[], Floats] | None = None,
    ) -> Interval:
        """The interval of a coefficient over raters, or over raters and what is drawn with units."""
        clusters = int(self.cluster.max(initial=-1)) + 1

        def statistic(copies: Floats, drawn: Floats) -> Floats:
            return formula(Resamples(self, copies, drawn[self.cluster]))

        return rater_interval(
            statistic,
            bootstrap,
            raters=self.raters,
            units=clusters,
            width=len(self.unit),
            limits=limits,
            centred=centred,
            share=share,
            over_items=over_items,
        )

    @cached_property
    def _cells(self) -> tuple[Ints, Ints]:
        codes, cell = np.unique(self.unit * len(self.values) + self.column, return_inverse=True)
        return codes, cell.reshape(-1)


@dataclass(frozen=True)
class Resamples:
    """A block of resamples, one column each, and the sums that coefficients are made of."""

    answers: Answers
    copies: Floats
    """How often each rater was drawn."""
    drawn: Floats
    """How often each unit was drawn; of either, a single column where it is the same in every resample."""

    @cached_property
    def cells(self) -> Floats:
        """How many answers each (unit, value) has, copies counted."""
        return np.asarray(self.answers.givers @ self.copies)

    @cached_property
    def size(self) -> Floats:
        """How many answers each unit has, copies counted."""
        return self.per_unit(self.cells)

    @cached_property
    def copied(self) -> Floats:
        """Pairs of an answer and itself or its own copy, in each unit: Σw²."""
        return self.per_unit(np.asarray(self.answers.givers @ np.square(self.copies)))

    @cached_property
    def pairs(self) -> Floats:
        """Pairs of different answers in each unit, in either order."""
        return np.asarray(np.square(self.size) - self.copied)

    def agreeing(self, weight: Floats | None = None) -> Floats:
        """Pairs of different answers with the same value, in either order; or all pairs × their weight."""
        same = self.per_unit(np.square(self.cells)) - self.copied
        if weight is None:
            return same
        return same + self.apart(lambda first, second: weight[first, second])

    def apart(self, between: Between) -> Floats:
        """An amount that two values have between them, added up over the pairs of each unit in either order."""
        return self.per_unit(self.cells * self.field(between))

    def field(self, between: Between) -> Floats:
        """For each cell, an amount between its value and another, added up over the unit's other answers."""
        column, cells = self.answers.cell_column, self.cells
        field = np.zeros_like(cells)
        for left, right in self.answers.cell_pairs:
            amount = between(column[left], column[right])[:, None]
            field[left] += amount * cells[right]
            field[right] += amount * cells[left]
        return field

    def per_unit(self, amount: Floats) -> Floats:
        """An amount per cell, added up within units."""
        return np.asarray(self.answers.by_unit @ amount)

    def mean(self, amount: Floats, number: Floats) -> Floats:
        """The quotient of two amounts per unit, each added up over the units drawn; NaN where it is empty."""
        above, below = (np.sum(self.drawn * part, axis=0) for part in (amount, number))
        return quotient(above, below)

    def mean_of_units(self, amount: Floats, number: Floats) -> Floats:
        """The mean, over the units drawn, of the quotient of two amounts per unit where it exists."""
        return self.mean(quotient(amount, number, empty=0), (number > 0).astype(np.float64))


Formula: TypeAlias = Callable[[Resamples], Floats]
"""A coefficient as a function of resamples: one estimate for each, NaN where it is undefined."""


def rater_interval(
    statistic: Weighted,
    bootstrap: Bootstrap,
    *,
    raters: int,
    units: int,
    width: int,
    limits: tuple[float, float] = LIMITS,
    centred: bool = False,
    share: bool = False,
    over_items: Callable[[], Floats] | None = None,
) -> Interval:
    """The interval of a statistic of how often raters and units are drawn, null where raters are too few.

    `width` is how many numbers it holds per resample, and `limits` what it never exceeds. `centred` moves the
    replicates so that their mean is the estimate, for a statistic that copies push to one side. For a
    `share` of units that have something or not, copies make no sense at all, and raters are left out instead.
    `over_items` gives the replicates of a bootstrap over items, where there is a faster way to them.
    """
    if raters < 2:
        return {"low": None, "high": None, "reason": ONE_RATER}
    everyone, every = np.ones((raters, 1)), np.ones((units, 1))
    estimate = float(statistic(everyone, every)[0])
    if bootstrap.ci == "both" or share:
        over_raters = RaterVariance.of(statistic, raters=raters, units=units, width=width, seed=bootstrap.seed)
        if over_raters is None:
            return {"low": None, "high": None, "reason": FEW_RATERS}
        if bootstrap.ci == "raters":
            return bootstrap.stated(over_raters.around(estimate, bootstrap.confidence, limits))
        replicates = over_items() if over_items is not None else _over_items(statistic, bootstrap, raters, units, width)
        if centred:
            replicates = moved(replicates, estimate)
        bounds = over_raters.widened(replicates, estimate, units, bootstrap.confidence, limits)
        return bootstrap.stated(bounds)
    rng = np.random.default_rng(bootstrap.seed)
    drawn = []
    for count in blocks(width, bootstrap.resamples):
        times = np.empty((raters, count))
        for index in range(count):
            times[:, index] = np.bincount(rng.integers(0, raters, raters), minlength=raters)
        drawn.append(statistic(times, every))
    replicates = np.concatenate(drawn)
    if centred:
        replicates = moved(replicates, estimate)
    if bootstrap.interval == "percentile":
        return bootstrap.stated(percentile(replicates, bootstrap.confidence, raters))
    group = left_out_together(raters, rng, JACKKNIFE)
    jackknife = np.concatenate([statistic(kept, every) for kept in leaving_out(group, width)])
    return bootstrap.stated(bca(estimate, replicates, jackknife, bootstrap.confidence))


def _over_items(statistic: Weighted, bootstrap: Bootstrap, raters: int, units: int, width: int) -> Floats:
    """The statistic of every resample of units, with all raters."""
    everyone, drawn = np.ones((raters, 1)), []
    for block in weights(units, bootstrap.resamples, bootstrap.seed):
        first = 0
        for count in blocks(width, len(block)):
            drawn.append(statistic(everyone, np.ascontiguousarray(block[first : first + count].T)))
            first += count
    return np.concatenate(drawn)


def either_interval(
    bootstrap: Bootstrap,
    counts: Counts,
    statistic: Statistic,
    answers: Answers | None,
    formula: Formula,
    *,
    limits: tuple[float, float] = LIMITS,
    centred: bool = False,
    share: bool = False,
) -> Interval:
    """The interval over raters where there are answers to resample, otherwise that over items."""
    if answers is not None:
        over_items = partial(bootstrap.replicates, statistic, counts.multiplicity)
        return answers.interval(formula, bootstrap, limits=limits, centred=centred, share=share, over_items=over_items)
    return bootstrap.stated(bootstrap.bounds(statistic, counts.multiplicity, limits, centred=centred))


def counted_answers(
    data: Judgments, by: By, bootstrap: Bootstrap, *, paired: bool = False, source: Source | None = None
) -> Iterator[tuple[CountedGroup[Counts], Answers | None, Bootstrap]]:
    """The counts of each group (see `source_groups`), its answers where raters are resampled, and how."""
    source = source or source_of(data, by)
    counted = source_groups(source, source.counts(), paired=paired)
    chosen = Choice.of(data, by, bootstrap)
    if not chosen.any_raters:
        yield from ((group, None, chosen[group.key]) for group in counted)
        return
    for group, rows in zip(counted, groups(data, by), strict=True):
        how = chosen[group.key]
        yield group, Answers.of(rows.frame) if how.ci in ("raters", "both") else None, how


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


def membership(codes: Ints, count: int) -> csr_array:
    """A matrix that adds up rows with the same code: row *k* of its product is the sum of those with code *k*.

    >>> (membership(np.array([1, 0, 1]), 2) @ np.array([[1.0], [2.0], [4.0]])).tolist()
    [[2.0], [5.0]]
    """
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), (count, len(codes))).tocsr()


def quotient(above: Floats, below: Floats, empty: float = np.nan) -> Floats:
    """A quotient that is `empty` where nothing is divided by."""
    return np.asarray(np.divide(above, below, out=np.full(below.shape, float(empty)), where=below > 0))
