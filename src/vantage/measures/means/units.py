"""The means of units in whole numbers: of one group or of two that are compared, with everybody or without some raters.

Items, units, raters and the groups that are compared are numbered once for a whole table, so that hundreds of small
groups of it, and the table without each of its raters, take sums over plain arrays and no look at a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from vantage.measures.codes import dense, encode, numbered
from vantage.measures.parts import pair_of
from vantage.measures.rater_variance import left_out_together
from vantage.measures.ratings import UNIT, Floats, Ints


def ranked(series: pl.Series) -> tuple[Ints, pl.Series]:
    """The values of a column as 0, 1, 2 … in their own order, nulls first, and the values.

    >>> [made.to_list() for made in map(pl.Series, ranked(pl.Series(["b", "a", "b"])))]
    [[1, 0, 1], ['a', 'b']]
    """
    codes, count = numbered(series)
    first = np.empty(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    values = series[first]
    order = values.arg_sort().to_numpy()
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    return np.asarray(place[codes]), values[order]


@dataclass(frozen=True, eq=False)
class NumberedJudgments:
    """Judgments with numbers for their items, units, questions, raters and groups that are compared."""

    between: str | None
    items: pl.Series
    sides: list[Any]
    """The groups, in their order."""
    questions: list[str]
    item: Ints
    unit: Ints
    question: Ints
    rater: Ints
    side: Ints
    value: Floats
    """NaN where there is no answer."""

    @classmethod
    def of(cls, frame: pl.DataFrame, between: str | None) -> NumberedJudgments:
        """The judgments of a frame, in its order."""
        (item, items), (question, questions) = ranked(frame["item"]), ranked(frame["question"])
        rest = encode(frame, UNIT[1:])
        unit = item * (int(rest.max(initial=0)) + 1) + rest
        side, sides = ranked(frame[between]) if between is not None else (np.zeros_like(item), pl.Series([""]))
        value = frame["value"].fill_null(np.nan).to_numpy()
        rater = ranked(frame["rater"])[0]
        return cls(between, items, sides.to_list(), questions.to_list(), item, unit, question, rater, side, value)

    def asked(self, rows: Ints) -> list[str]:
        """The questions of some judgments."""
        return [self.questions[code] for code in np.flatnonzero(np.bincount(self.question[rows]))]

    def units(self, rows: Ints, code: float | None, values: Sequence[Any] | None) -> UnitMeans:
        """The means of the units of some judgments, or of the answers that have a code."""
        item, unit, side, value = self.item[rows], self.unit[rows], self.side[rows], self.value[rows]
        there, (rater, raters) = ~np.isnan(value), dense(self.rater[rows])
        used = {"items": dense(item[there])[1], "raters": dense(rater[there])[1], "judgments": int(there.sum())}
        compared, of_raters, kept = None, False, np.flatnonzero(there)
        if self.between is not None:
            known = [self.sides[one] for one in np.flatnonzero(np.bincount(side[there]))]
            compared = pair_of([one for one in known if one is not None], self.between, values)
            of_raters = bool(len(kept)) and dense((rater * len(self.sides) + side)[there])[1] == used["raters"]
            place = np.full(len(self.sides), -1, dtype=np.int64)
            place[[self.sides.index(one) for one in compared]] = 0, 1
            side = place[side]
            kept = np.flatnonzero(there & (side >= 0))
        unit, units = dense(unit[kept])
        of_unit = np.empty(units, dtype=np.int64)
        of_unit[unit] = item[kept]
        present = np.flatnonzero(np.bincount(of_unit)).astype(np.int64)
        answer = value[kept] if code is None else (value[kept] == code).astype(np.float64)
        cell = side[kept] * units + unit
        return UnitMeans(self.items, present, compared, used, of_raters, dense(of_unit)[0], cell, answer,
                         rater[kept], raters)  # fmt: skip


@dataclass(frozen=True, eq=False)
class UnitMeans:
    """What the means of units add up to in each item, for each group that is compared.

    >>> frame = pl.DataFrame({"item": ["a", "a", "b"], "question": "", "condition": "", "rater": [1, 2, 1],
    ...                       "value": [1.0, 3.0, 4.0], "era": ["new", "old", "old"]})
    >>> NumberedJudgments.of(frame, "era").units(np.arange(3), None, None).sums.tolist()
    [[1.0, 1.0, 3.0, 1.0], [0.0, 0.0, 4.0, 1.0]]
    """

    known: pl.Series
    """The items of the table, in the order of their names."""
    present: Ints
    """Which of them count."""
    compared: tuple[Any, Any] | None
    """The two groups."""
    answered: dict[str, int]
    """How many items, raters and judgments have answers, whether compared or not."""
    of_raters: bool
    """Whether each rater is in one group only."""
    item: Ints
    """The item of each unit."""
    cell: Ints
    """The group and the unit of each answer."""
    answer: Floats
    rater: Ints
    """The rater of each answer."""
    raters: int
    """How many there are, those without an answer included."""

    @cached_property
    def items(self) -> pl.Series:
        """The items that count."""
        return self.known[self.present]

    @property
    def complete(self) -> bool:
        """Whether every group has an answer."""
        return len(self.present) > 0 and bool((self.sums[:, 1::2].sum(axis=0) > 0).all())

    @property
    def share_items(self) -> bool:
        """Whether both groups judged a unit, so that they can be told from what they judged."""
        return bool((self._size.reshape(2, -1) > 0).all(axis=0).any())

    @cached_property
    def sums(self) -> Floats:
        """For each item and group the sum of its units' means, and how many units these are."""
        return self._per_item(self._total, self._size)

    def without_raters(self, seed: int) -> Iterator[Floats]:
        """The same sums without each rater in turn, or without each of thirty groups of raters."""
        group = left_out_together(self.raters, np.random.default_rng(seed))
        mine = group[self.rater]
        order = np.argsort(mine, kind="stable")
        cell, answer = self.cell[order], self.answer[order]
        ends = np.searchsorted(mine[order], np.arange(int(group.max(initial=-1)) + 2))
        for begin, end in pairwise(ends):
            gone, cells = cell[begin:end], len(self._size)
            total = self._total - np.bincount(gone, weights=answer[begin:end], minlength=cells)
            yield self._per_item(total, self._size - np.bincount(gone, minlength=cells))

    @cached_property
    def _total(self) -> Floats:
        return np.bincount(self.cell, weights=self.answer, minlength=self._cells).astype(np.float64)

    @cached_property
    def _size(self) -> Ints:
        return np.bincount(self.cell, minlength=self._cells)

    @property
    def _cells(self) -> int:
        return len(self.item) * (1 if self.compared is None else 2)

    def _per_item(self, total: Floats, size: Ints) -> Floats:
        units, there = len(self.item), size > 0
        means = np.where(there, total / np.maximum(size, 1), 0.0).reshape(-1, units)
        columns = [column for pair in zip(means, there.reshape(-1, units), strict=True) for column in pair]
        return np.column_stack([np.bincount(self.item, weights=one, minlength=len(self.present)) for one in columns])
