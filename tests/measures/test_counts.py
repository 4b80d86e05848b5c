"""Counts of values per unit, dense and sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vantage.measures.counts import Counts

COUNTS = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(4)), elements=st.integers(0, 3).map(float))


def both(table: NDArray[np.float64]) -> tuple[Counts, Any]:
    values, ones = np.array([-1.0, 0.0, 2.0, 5.0]), np.ones(len(table), dtype=np.int64)
    return Counts(values, table, ones), Counts(values, csr_array(table), ones)


@given(COUNTS)
def test_dense_and_sparse_counts_tell_the_same(table: NDArray[np.float64]) -> None:
    table = table[table.any(axis=1)]
    dense, sparse = both(table)
    assert dense.total == sparse.total == table.sum()
    assert np.array_equal(dense.size, sparse.size)
    assert np.array_equal(dense.mapped(np.square), sparse.mapped(np.square))
    assert np.array_equal(dense.scaled(dense.size), sparse.scaled(dense.size).toarray())
    assert np.array_equal(dense.paired().table, sparse.paired().table.toarray())
    for first, second in zip(dense.pairs(), sparse.pairs(), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    one, other = dense.moments(), sparse.moments()
    assert np.array_equal(one.second, other.second)
    assert np.array_equal(one.paired().first, other.paired().first)


def test_merged_values() -> None:
    counts = Counts(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 3]]), np.array([4, 5, 6]))
    merged = counts.merged(np.array([0, 0, 1]), np.array([0.0, 1.0]))
    assert merged.table.tolist() == [[0, 3], [3, 0]]
    assert merged.multiplicity.tolist() == [6, 9]
    assert merged.units == counts.units == 15


def test_pairs_are_all_pairs_of_different_values() -> None:
    counts = Counts(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 1, 3]]), np.array([1]))
    total = sum(float(product.sum()) for *_, product in counts.pairs())
    assert total == pytest.approx(2 * 1 + 2 * 3 + 1 * 3)
