"""Whole numbers in place of names and values, by which sums over units are taken.

Names are numbered by their hashes: rows in one slot of a table are compared with the first of them, and the few that
differ are grouped on their own. That is much faster than sorting, and names with equal hashes are never confused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

RANGE: Final = 2**20
"""Whole values that lie no further apart are looked up, others searched for."""


def dense(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Whole numbers renumbered without gaps, their order kept, and how many differ.

    >>> dense(np.array([7, 3, 7]))
    (array([1, 0, 1]), 2)
    """
    if len(codes) == 0:
        return codes.astype(np.int64), 0
    low, high = int(codes.min()), int(codes.max())
    if high - low > 8 * len(codes) + 1024:
        present, renumbered = np.unique(codes, return_inverse=True)
        return renumbered.astype(np.int64), len(present)
    codes = codes - low if low else codes
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[codes] = True
    numbers = np.cumsum(seen) - 1
    return numbers[codes], int(numbers[-1]) + 1


def encode(frame: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """One whole number per row, 0, 1, 2 …, that is equal exactly where all the columns are equal.

    >>> encode(pl.DataFrame({"x": ["b", "a", "b"], "y": [1, 1, 2]}), ["x", "y"])
    array([0, 2, 1])
    """
    combined, total = np.zeros(len(frame), dtype=np.int64), 1
    for column in columns:
        codes, count = numbered(frame[column])
        if total == 1:
            combined, total = codes, count
        elif count > 1:
            combined, total = dense(combined * count + codes)
    return combined


def numbered(series: pl.Series) -> tuple[NDArray[np.int64], int]:
    """The values of a column as 0, 1, 2 …, and how many differ; whole numbers keep their order.

    >>> numbered(pl.Series(["b", None, "a", "b"]))
    (array([0, 1, 2, 0]), 3)
    """
    # The first rows show of most columns that they have several values.
    if len(series) == 0 or (series[:32].n_unique() == 1 and series.eq_missing(series[0]).all()):
        return np.zeros(len(series), dtype=np.int64), min(len(series), 1)
    if series.dtype.is_integer() and series.dtype != pl.UInt64 and not series.null_count():
        return dense(series.to_numpy().astype(np.int64))
    if series.dtype.is_float():
        return dense(series.rank("dense").fill_null(0).to_numpy().astype(np.int64))
    first = first_rows(series)
    firsts = np.flatnonzero(first == np.arange(len(first), dtype=np.int32))
    number = np.empty(len(first), dtype=np.int64)
    number[firsts] = np.arange(len(firsts))
    return number.take(first), len(firsts)


def first_rows(series: pl.Series) -> NDArray[np.int32]:
    """For each row, the first row that holds the same value; nulls are one value.

    >>> first_rows(pl.Series(["b", "a", "b", "a"]))
    array([0, 1, 0, 1], dtype=int32)
    """
    rows = len(series)
    bits = rows.bit_length() + 2
    slot = (series.hash().to_numpy() >> np.uint64(64 - bits)).view(np.int64)
    first_in_slot = np.empty(1 << bits, dtype=np.int32)
    first_in_slot[slot[::-1]] = np.arange(rows - 1, -1, -1, dtype=np.int32)  # the last to be written stays
    first = first_in_slot.take(slot)
    # All rows of a value share a slot, so either all of them equal the slot's first row or none does.
    firsts = series[first]
    differs = series.ne_missing(firsts) if series.null_count() else series != firsts
    rest = np.flatnonzero(differs.to_numpy())
    if len(rest):
        seen: dict[Any, int] = {}
        others = zip(series[rest].to_list(), rest.tolist(), strict=True)
        first[rest] = [seen.setdefault(value, row) for value, row in others]
    return first


def any_twice(codes: NDArray[np.int64]) -> bool:
    """Whether one of these whole numbers, none of which is below 0, occurs more than once.

    >>> any_twice(np.array([3, 0, 3])), any_twice(np.array([3, 0, 1]))
    (True, False)
    """
    # Half as many bytes are sorted in half the time.
    ordered = np.sort(codes.astype(np.uint32) if codes.max(initial=0) < 2**32 else codes)
    return bool((ordered[1:] == ordered[:-1]).any())


def distinct(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """The different values, all of them finite, in ascending order.

    >>> distinct(np.array([3.0, -1.0, 3.0]))
    array([-1.,  3.])
    """
    if len(value) == 0 or (whole := _whole(value)) is None:
        return np.unique(value)
    codes, low = whole
    return np.flatnonzero(np.bincount(codes)).astype(np.float64) + low


def positions(value: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Where each value stands among the different values, which are in ascending order and known to hold it.

    >>> positions(np.array([3.0, -1.0, 3.0]), np.array([-1.0, 3.0]))
    array([1, 0, 1])
    """
    if len(value) == 0 or (whole := _whole(values)) is None:
        return np.searchsorted(values, value)
    codes, low = whole
    if codes[-1] == len(codes) - 1:
        return (value - low).astype(np.int64)  # a scale all of whose points occur
    lookup = np.zeros(codes[-1] + 1, dtype=np.int64)
    lookup[codes] = np.arange(len(codes))
    return lookup[(value - low).astype(np.int64)]


def _whole(value: NDArray[np.float64]) -> tuple[NDArray[np.int64], float] | None:
    """Whole values counted from the lowest, and the lowest; none where they are not whole or far apart."""
    low = float(value.min())
    if value.max() - low >= RANGE or low % 1:
        return None
    codes = (value - low).astype(np.int64)
    return (codes, low) if np.array_equal(codes + low, value) else None
