"""What a measure is made of, and how far it varies: the estimate and the interval of a group, from one function.

A measure says what the answers to one unit add (`Statistic.rows`) and what follows from the sums over units
(`Statistic.of`). Its value without a unit, a source of items, or a rater then follows from sums: nothing is counted
again. Over raters and items an estimate varies by V_items + V_raters − V_answers, since each of the first two holds the
noise of single answers (Owen 2007; Cameron, Gelbach and Miller 2011); the last is that of leaving out what one rater
said of one item. `intervals` makes the interval of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vantage.corpora import effective
from vantage.measures.codes import any_twice, dense
from vantage.measures.counts import FEW, Counts, Moments, quotient
from vantage.measures.intervals import LIMITS, Bootstrap, Limits, Spread, interval, on_scale
from vantage.measures.rater_variance import FEW_RATERS
from vantage.measures.ratings import Floats, Ints, RaterWeights

Table: TypeAlias = Counts | Moments
"""The answers to units, as most of them are needed: how often each value was given, or their moments."""
FEW_SOURCES: Final = "no interval: the items come from one source"
CELLS: Final = 30_000_000
"""Where the answers to units with all the others to the same unit are more than that, raters are left out in groups."""
GROUPS: Final = 100


def mean(sums: Floats) -> Floats:
    """The first column over the last: the mean of units."""
    return quotient(sums[:, 0], sums[:, -1])


@dataclass(frozen=True, slots=True)
class Statistic:
    """A measure of a group: what each unit adds, from its own answers alone, and the function of the sums.

    >>> table = Counts(np.array([0.0, 1.0]), np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([3, 1]))
    >>> Statistic(lambda table: table.table[:, 1] / table.size).estimate(table)
    0.125
    """

    rows: Callable[[Any], NDArray[Any]]
    """From a table to a value for each of its rows, or to several columns."""
    of: Callable[[Floats], Floats] = mean
    """From sums of columns, one row of them per estimate, to estimates; values become a column of their own and one of
    ones."""
    limits: Limits = LIMITS
    least: int = 1
    """Units with fewer answers add nothing."""

    def columns(self, table: Table) -> Floats:
        """What each row of a table adds."""
        enough = table.answers >= self.least
        with np.errstate(divide="ignore", invalid="ignore"):  # a row without an answer is not used
            rows = np.asarray(self.rows(table), dtype=np.float64)
        if rows.ndim == 1:
            rows = np.column_stack([rows, np.ones(len(rows))])
        return rows if enough.all() else np.where(enough[:, None], rows, 0.0)

    def estimate(self, table: Table) -> float:
        """Its value for a table; not a number where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.of(table.multiplicity.astype(np.float64)[None, :] @ self.columns(table))[0])


@dataclass(frozen=True)
class Answers:
    """The answers by rater and unit; units that the jackknife leaves out together share a number."""

    unit: Ints
    rater: Ints
    """Who gave each answer; raters who were drawn in a group share a number."""
    column: Ints
    """The value of each answer, as a position among `values`."""
    values: Floats
    cluster: Ints | None = None
    """The item, or the source of items, of each answer; none where the units are the items."""
    ranks: Floats | None = None
    """Numbers in place of values, of which moments are taken where the values are many."""
    weight: Floats | None = None
    """The weight of each answer, where raters have weights."""
    weights: RaterWeights | None = None
    """Where these come from."""
    who: Ints | None = None
    """The place of each answer's rater among those."""

    def of_units(self, least: int) -> Answers:
        """The answers to units with enough of them."""
        kept = np.bincount(self.unit)[self.unit] >= least
        if kept.all():
            return self
        cluster = None if self.cluster is None else dense(self.cluster[kept])[0]
        unit, rater = (dense(codes[kept])[0] for codes in (self.unit, self.rater))
        weight = None if self.weight is None else self.weight[kept]
        who = None if self.who is None else self.who[kept]
        return replace(self, unit=unit, rater=rater, column=self.column[kept], cluster=cluster, weight=weight, who=who)

    def merged(self, column: Ints, values: Floats) -> Answers:
        """The answers as other values: what stood at *c* stands at `column[c]`."""
        return replace(self, column=column[self.column], values=values)

    @cached_property
    def units(self) -> int:
        """How many units there are."""
        return int(self.unit.max(initial=-1)) + 1

    @cached_property
    def raters(self) -> int:
        """How many raters there are, or groups of them."""
        return int(self.rater.max(initial=-1)) + 1

    @property
    def drawn_weight(self) -> Floats:
        """The weight of each rater, or of all in each group of raters."""
        assert self.weight is not None  # noqa: S101
        assert self.who is not None  # noqa: S101
        first = np.unique(self.who, return_index=True)[1]
        return np.asarray(np.bincount(self.rater[first], self.weight[first]), dtype=np.float64)

    @cached_property
    def kinds(self) -> tuple[Table, Ints]:
        """The different rows of answers, and which of them each unit has."""
        if self.weight is not None:
            sums = self._sums(self.unit, self.column, self.weight, self.units)
            return Counts.weighted(self.values, *sums), np.arange(self.units)
        if self.ranks is not None:
            return self._moments(self.unit, self.column, self.units), np.arange(self.units)
        if len(self.values) > FEW:
            table = Counts.of_units(self.unit, self.column, self.values, self.units, many=True)
            return table, np.arange(self.units)
        many = len(self.values)
        rows = np.bincount(self.unit * many + self.column, minlength=self.units * many).reshape(self.units, many)
        base = int(rows.max(initial=0)) + 1
        if base**many < 2**62:
            # A row of counts is one number, whose digits to a large enough base are the counts.
            keys = rows @ (base ** np.arange(many - 1, -1, -1, dtype=np.int64))
            _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
            rows = rows[first]
        else:
            rows, kind = np.unique(rows, axis=0, return_inverse=True)
        kind = kind.ravel()
        return Counts(self.values, rows.astype(np.float64), np.bincount(kind, minlength=len(rows))), kind

    def _sums(self, unit: Ints, column: Ints, weight: Floats, units: int) -> tuple[Floats, Floats, Floats]:
        """Of each unit the weights of its answers by value, the sum of their squares, and how many have one."""
        many = len(self.values)
        sums: Floats = np.bincount(unit * many + column, weight, units * many).astype(np.float64, copy=False)
        squares: Floats = np.bincount(unit, weight**2, units).astype(np.float64, copy=False)
        people: Floats = np.bincount(unit, (weight > 0) * 1.0, units).astype(np.float64, copy=False)
        return sums.reshape(units, many), squares, people

    def _moments(self, unit: Ints, column: Ints, units: int) -> Moments:
        assert self.ranks is not None  # noqa: S101
        x = self.ranks[column]
        ones = np.ones(len(x))
        size, first, second = (
            np.bincount(unit, weights=w, minlength=units).astype(np.float64) for w in (ones, x, x * x)
        )
        return Moments(size, first, second, np.square(first), np.ones(units, dtype=np.int64))

    @cached_property
    def said(self) -> tuple[Ints, Ints, Ints]:
        """What one rater said of one unit: the unit, the rater, and for each answer which of these it belongs to.

        Raters are taken together in a hundred groups where single ones would take too much time and memory.
        """
        rater, size = self.rater, np.bincount(self.unit)
        if self.raters > GROUPS and len(self.values) > FEW and self.ranks is None and float(size @ size) > CELLS:
            rater = np.random.default_rng(0).permutation(self.raters)[rater] % GROUPS
        number = int(rater.max(initial=-1)) + 1
        cell = self.unit * number + rater
        if not any_twice(cell):
            return self.unit, rater, np.arange(len(cell))
        cells, place = np.unique(cell, return_inverse=True)
        return cells // number, cells % number, place

    def changes(self, statistic: Statistic, columns: Floats) -> tuple[Floats, Ints]:
        """By how much a unit's columns change without what one rater said of it, and which change each of these is."""
        less: Table
        table, kind = self.kinds
        unit, _, place = self.said
        if self.weight is not None:
            whole = self._sums(self.unit, self.column, self.weight, self.units)
            own = self._sums(place, self.column, self.weight, len(unit))
            sums, squares, people = (all_[unit] - one for all_, one in zip(whole, own, strict=True))
            # What rounding leaves of a value, or of a unit, is nothing.
            sums, squares = (np.where(x > 1e-9 * self.weight.max(), x, 0.0) for x in (sums, squares))
            less = Counts.weighted(self.values, sums, squares, people)
            return statistic.columns(less) - columns[unit], np.arange(len(unit))
        alone = len(unit) == len(self.unit)
        if alone and isinstance(table, Counts) and isinstance(table.table, np.ndarray):
            # One answer less of a kind of unit is the same change, whoever gave it.
            many = len(self.values)
            combination, which = np.unique(kind[unit] * many + self.column, return_inverse=True)
            of, value = np.divmod(combination, many)
            fewer = table.table[of]
            fewer[np.arange(len(fewer)), value] -= 1
            less = Counts(self.values, fewer, np.ones(len(fewer), dtype=np.int64))
            return statistic.columns(less) - columns[of], which.ravel()
        if isinstance(table, Moments):
            removed = self._moments(place, self.column, len(unit))
            first = table.first[unit] - removed.first
            second = table.second[unit] - removed.second
            less = Moments(table.size[unit] - removed.size, first, second, np.square(first), removed.multiplicity)
        else:
            sparse = len(self.values) > FEW
            removed_counts = Counts.of_units(place, self.column, self.values, len(unit), many=sparse)
            rows: Any = table.table[kind[unit]] - removed_counts.table
            if sparse:
                rows.eliminate_zeros()
            less = Counts(self.values, rows, removed_counts.multiplicity)
        return statistic.columns(less) - columns[kind[unit]], np.arange(len(unit))


def _summed(number: Ints, which: Ints, changes: Floats, count: int) -> Floats:
    """Changes added up by a number; in an order that does not depend on that of the answers."""
    pair, times = np.unique(number * len(changes) + which, return_counts=True)
    number, which = np.divmod(pair, max(len(changes), 1))
    amounts = changes[which] * times[:, None]
    return np.column_stack([np.bincount(number, weights=column, minlength=count) for column in amounts.T])


def spread_of(statistic: Statistic, answers: Answers, over: str) -> Spread | None:
    """How far a statistic varies over items (or sources), raters (or groups), or both; null where units are too few.

    >>> votes = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1]])
    >>> unit, rater = (codes.ravel() for codes in np.indices(votes.shape))
    >>> answers = Answers(unit, rater, votes.ravel(), np.array([0.0, 1.0]))
    >>> share = Statistic(lambda table: table.table[:, 1] / table.size)
    >>> [round(spread_of(share, answers, over).variance, 4) for over in ("items", "raters", "both")]
    [0.0289, 0.0044, 0.0289]
    """
    answers = answers.of_units(statistic.least)
    if not answers.units:
        return None
    table, _ = answers.kinds
    columns = statistic.columns(table)
    total = table.multiplicity.astype(np.float64) @ columns
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = None
        clusters = answers.unit if answers.cluster is None else answers.cluster
        if over != "raters":
            spread = _over_items(statistic, answers, columns, total)
            if over == "items" or spread is None:
                return spread
        changes, which = answers.changes(statistic, columns)
        unit, rater, place = answers.said
        number = int(rater.max(initial=-1)) + 1
        if answers.weights is not None and answers.weights.raking is not None:
            raters = Spread.without_raters(_reweighted(statistic, answers), statistic.limits)
        else:
            without = total + _summed(rater, which, changes, number)
            raters = Spread.without_raters(statistic.of(without), statistic.limits)
        if raters is None:
            return None
        if answers.weight is not None:
            # A sum of squares of unequal size has the degrees of freedom of Satterthwaite (1946).
            of_rater = answers.drawn_weight
            raters = replace(raters, freedom=max(effective(np.square(of_rater)) - 1, 2.0))
        if spread is None:
            return raters
        estimate = statistic.of(total[None, :])
        if answers.cluster is None:
            times = np.bincount(which, minlength=len(changes)).astype(np.float64)
        else:
            cluster = np.empty(len(unit), dtype=np.int64)
            cluster[place] = clusters
            cells, cell = np.unique(cluster * number + rater, return_inverse=True)
            changes, times = _summed(cell.ravel(), which, changes, len(cells)), np.ones(len(cells))
        noise = _noise(statistic, total, changes, times, float(estimate[0]))
    shrinkage = (raters.units - 1) / raters.units * (spread.units - 1) / spread.units
    return spread.plus(replace(raters, noise=noise * shrinkage))


def _reweighted(statistic: Statistic, answers: Answers) -> Floats:
    """The estimates without each rater, or group of raters, whose weights are raked again (Rao and Shao 1999)."""
    assert answers.weights is not None  # noqa: S101
    without = (replace(answers, weight=weight[answers.who]) for weight in answers.weights.replicates)
    return np.array([statistic.estimate(given.kinds[0]) for given in without])


def _over_items(statistic: Statistic, answers: Answers, columns: Floats, total: Floats) -> Spread | None:
    """How far it varies over units, or over the items or sources to which units belong."""
    table, kind = answers.kinds
    if answers.cluster is None:
        return Spread.without(
            statistic.of(total - columns), statistic.limits, table.multiplicity if len(kind) else None
        )
    cluster = np.empty(answers.units, dtype=np.int64)
    cluster[answers.unit] = answers.cluster
    together = _summed(cluster, kind, columns, int(cluster.max()) + 1)
    return Spread.without(statistic.of(total - together), statistic.limits)


def _noise(statistic: Statistic, total: Floats, changes: Floats, times: Floats, estimate: float) -> float:
    """The mean square of what single answers add."""
    without = on_scale(statistic.of(total + changes), statistic.limits)
    away = np.square(without - float(on_scale(np.asarray(estimate), statistic.limits)))
    known = np.isfinite(away)
    order = np.argsort(away[known], kind="stable")
    return float(times[known][order] @ away[known][order])


def bounds(statistic: Statistic, table: Table, answers: Answers | None, how: Bootstrap) -> dict[str, Any]:
    """The interval of a statistic as the columns of a result row.

    `answers` are needed where the interval is over raters, or over items that have several units.
    """
    if how.ci == "none" or (how.ci != "raters" and table.units < 2):
        return how.stated((None, None))
    if how.ci == "items" and (answers is None or answers.cluster is None):
        columns = statistic.columns(table)
        total = table.multiplicity.astype(np.float64) @ columns
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = Spread.without(statistic.of(total - columns), statistic.limits, table.multiplicity)
    else:
        assert answers is not None  # noqa: S101
        spread = spread_of(statistic, answers, how.ci)
        if spread is None:
            return {"low": None, "high": None, "reason": FEW_RATERS if how.ci != "items" else FEW_SOURCES}
    return how.stated(interval(statistic.estimate(table), spread, how.confidence, statistic.limits))
