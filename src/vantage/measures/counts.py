"""How often each value was given to each unit: all that most agreement coefficients need to know.

Units with the same counts are kept as one *kind* with a multiplicity, which is what makes a thousand
resamples cheap (see `intervals`). Counts of separate units add up by putting their rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vantage.errors import InputError
from vantage.measures.ratings import Floats, Ints
from vantage.scales import Scale

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEW: Final = 16
"""With at most this many different values, units with equal counts are one kind; otherwise each is its own."""


@dataclass(frozen=True)
class Counts:
    """`table[k, c]` raters gave `values[c]` to each of the `multiplicity[k]` units of kind *k*.

    >>> counts = Counts(np.array([0.0, 1.0]), np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([5, 1]))
    >>> counts.size.tolist(), counts.total, counts.paired().units
    ([3.0, 1.0], 16, 5)
    """

    values: Floats
    """The different values, in ascending order."""
    table: Floats | csr_array
    """One row per kind of unit; sparse where there are many values."""
    multiplicity: Ints
    """How many units there are of each kind."""
    people: Floats | None = None
    """How many answers a unit has, where those in `table` are effective ones of raters with weights."""

    @classmethod
    def weighted(cls, values: Floats, sums: Floats, squares: Floats, people: Floats) -> Counts:
        """Units from sums of weights, one column per value, the sums of squared weights, and the number of answers.

        A unit's answers are scaled to their effective number, (Σw)²/Σw² (Kish 1965). Then Σw² is Σw, and what counts
        pairs of raters by n(n − 1) counts pairs of different raters by their weights.

        >>> counts = Counts.weighted(np.array([0.0, 1.0]), np.array([[3.0, 1.0]]), np.array([6.0]), np.array([3.0]))
        >>> counts.size.round(2).tolist(), counts.total
        ([2.67], 3)
        """
        total = sums @ np.ones(sums.shape[1])
        scale = np.divide(total, squares, out=np.zeros_like(total), where=squares > 1e-300)
        return cls(values, sums * scale[:, None], np.ones(len(sums), dtype=np.int64), people)

    @classmethod
    def of_units(cls, unit: Ints, column: Ints, values: Floats, units: int, *, many: bool) -> Counts:
        """Every unit as a kind of its own; sparse where there are `many` values."""
        multiplicity = np.ones(units, dtype=np.int64)
        if not many:
            table = np.bincount(unit * len(values) + column, minlength=units * len(values))
            return cls(values, table.reshape(units, len(values)).astype(np.float64), multiplicity)
        from scipy.sparse import csr_array

        place = unit.astype(np.int32), column.astype(np.int32)
        return cls(values, csr_array((np.ones(len(column)), place), shape=(units, len(values))), multiplicity)

    @cached_property
    def size(self) -> Floats:
        """How many answers a unit of each kind has."""
        return self.table @ np.ones(len(self.values))  # faster than the sum of short rows

    @property
    def dense(self) -> Floats:
        """The table with its zeros."""
        return self.table if isinstance(self.table, np.ndarray) else self.table.toarray()

    @property
    def answers(self) -> Floats:
        """How many answers a unit of each kind has, whatever their weights."""
        return self.size if self.people is None else self.people

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.multiplicity.sum())

    @property
    def total(self) -> int:
        """How many answers there are."""
        return int((self.multiplicity * self.answers).sum())

    def paired(self) -> Counts:
        """The units with at least two answers."""
        several = self.answers >= 2
        return self if several.all() else self.rows(several)

    def merged(self, column: Ints, values: Floats) -> Counts:
        """The counts of coarser values: column *c* of the table is added to `column[c]`."""
        membership = np.zeros((len(self.values), len(values)))
        membership[np.arange(len(self.values)), column] = 1
        table = np.asarray(self.table @ membership)
        if self.people is not None:
            return Counts(values, table, self.multiplicity, self.people)
        kinds, kind = np.unique(table, axis=0, return_inverse=True)
        multiplicity = np.bincount(kind.ravel(), weights=self.multiplicity, minlength=len(kinds))
        return Counts(values, kinds, multiplicity.astype(np.int64))

    def moments(self, middle: float | None = None) -> Moments:
        """What interval coefficients need: number, sum and sum of squares of the answers of each kind.

        Values are counted from the `middle`, or from one in their midst.
        """
        x = self.values - (centre(self.values) if middle is None else middle)
        first: Floats = np.asarray(self.table @ x)
        second: Floats = np.asarray(self.table @ np.square(x))
        return Moments(self.size, first, second, np.square(first), self.multiplicity)

    def scaled(self, factor: Floats) -> Floats | csr_array:
        """The table with each row multiplied by a factor."""
        if isinstance(self.table, np.ndarray):
            return self.table * factor[:, None]
        return self._with(self.table.data * np.repeat(factor, np.diff(self.table.indptr)))

    def mapped(self, cell: Callable[[Floats], Floats]) -> Floats:
        """The sum of `cell(count)` over the values, per kind of unit; `cell(0)` must be 0."""
        if isinstance(self.table, np.ndarray):
            return np.asarray(cell(self.table) @ np.ones(len(self.values)))
        return np.asarray(self._with(cell(self.table.data)) @ np.ones(len(self.values)))

    def cells(self) -> tuple[Ints, Ints, Floats]:
        """The entries of the table that are not zero, row by row: kind, column and count."""
        if isinstance(self.table, np.ndarray):
            kind, column = np.nonzero(self.table)
            return kind, column, self.table[kind, column]
        kind = np.repeat(np.arange(self.table.shape[0]), np.diff(self.table.indptr))
        return kind, self.table.indices, self.table.data

    def pairs(self) -> Iterator[tuple[Ints, Ints, Ints, Floats]]:
        """Every two different values of a unit: kind, the two columns, and the product of their counts."""
        kind, column, count = self.cells()
        last = np.searchsorted(kind, kind, side="right")
        left = np.arange(len(kind))
        step = 1
        while len(left := left[left + step < last[left]]):
            right = left + step
            yield kind[left], column[left], column[right], count[left] * count[right]
            step += 1

    def _with(self, data: Floats) -> csr_array:
        """The sparse table with other entries at the same places."""
        table: Any = self.table
        return type(table)((data, table.indices, table.indptr), shape=table.shape)

    def rows(self, chosen: Any) -> Counts:
        """Some kinds of units, by a mask or by their places."""
        people = None if self.people is None else self.people[chosen]
        return Counts(self.values, self.table[chosen], self.multiplicity[chosen], people)


@dataclass(frozen=True)
class Moments:
    """Number, sum and sum of squares of the answers of each kind of unit; the values may be shifted."""

    size: Floats
    first: Floats
    second: Floats
    squared: Floats
    """The square of the sum; where a kind is the average of units of one size, the average of squares."""
    multiplicity: Ints

    @property
    def answers(self) -> Floats:
        """How many answers a unit of each kind has."""
        return self.size

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.multiplicity.sum())

    @property
    def total(self) -> int:
        """How many answers there are."""
        return int((self.multiplicity * self.size).sum())

    def paired(self) -> Moments:
        """The units with at least two answers."""
        several = self.size >= 2
        return Moments(*(getattr(self, field.name)[several] for field in fields(self)))


def coarse_columns(
    values: Floats, how: bool | str, scale: Scale | None, questions: Sequence[str]
) -> tuple[list[str], Ints]:
    """The names of the coarse values, from low to high, and which of them each value belongs to.

    >>> coarse_columns(np.array([-2.0, 0.0, 3.0]), "sign", None, [])
    (['negative', 'zero', 'positive'], array([0, 1, 2]))
    """
    if how == "sign":
        return ["negative", "zero", "positive"], np.sign(values).astype(np.int64) + 1
    if how is not True:
        raise InputError(f"answers cannot be coarsened by '{how}'", remedy="use true (bands) or 'sign'")
    if scale is None:
        raise InputError("a plain table does not say its coarse bands", remedy="use coarse='sign'")
    if not scale.bands:
        raise InputError(
            f"the scale of question {', '.join(f'{q!r}' for q in questions)} has no bands",
            remedy="add bands to the instrument or use coarse='sign'",
        )
    names = [band.name for band in scale.bands]
    return names, np.array([names.index(scale.band(value) or "") for value in values], dtype=np.int64)


def centre(values: Floats) -> float:
    """A value from the middle, to count from: small numbers keep sums of squares exact."""
    return float(values[len(values) // 2]) if len(values) else 0.0


def quotient(above: Floats, below: Floats, empty: float = np.nan) -> Floats:
    """A quotient that is `empty` where nothing is divided by."""
    return np.asarray(np.divide(above, below, out=np.full(below.shape, float(empty)), where=below > 0))
