"""Names and values as whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.measures.codes import dense, distinct, encode, first_rows, numbered, positions


@given(st.lists(st.integers(-(10**12), 10**12) | st.integers(0, 20), max_size=30))
def test_dense_keeps_order_and_equality(codes: list[int]) -> None:
    renumbered, count = dense(np.array(codes, dtype=np.int64))
    assert count == len(set(codes))
    assert [sorted(set(codes))[number] for number in renumbered] == codes


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 5, None]), st.sampled_from([0.5, 1.5])),
        max_size=20,
    )
)
def test_encode_tells_rows_apart_exactly_where_they_differ(rows: list[tuple[Any, ...]]) -> None:
    schema = {"x": pl.String, "y": pl.UInt8, "z": pl.Float64}
    codes = encode(pl.DataFrame(rows, schema=schema, orient="row"), ["x", "y", "z"])
    for i, first in enumerate(rows):
        for j, second in enumerate(rows):
            assert (codes[i] == codes[j]) == (first == second)


@given(st.lists(st.text(max_size=3) | st.none(), min_size=1, max_size=40))
def test_the_first_row_with_the_same_name(names: list[str | None]) -> None:
    assert first_rows(pl.Series(names, dtype=pl.String)).tolist() == [names.index(name) for name in names]


def test_names_that_share_a_slot_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    names = pl.Series([f"name {i % 70}" for i in range(300)] + [None])
    expected = [i % 70 for i in range(300)] + [300]
    for hashes in (
        lambda s: s.str.len_bytes().fill_null(0).cast(pl.UInt64),
        lambda s: pl.Series([7] * len(s), dtype=pl.UInt64),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(pl.Series, "hash", hashes)
            assert first_rows(names).tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", "b"], dtype=pl.Enum(["a", "b"])),
        pl.Series([True, False, True]),
        pl.Series([2**63 + 5, 1, 2**63 + 5], dtype=pl.UInt64),
        pl.Series([float("nan"), 1.0, float("nan")]),
        pl.Series([None, 3, None], dtype=pl.Int64),
    ],
)
def test_columns_of_any_type_are_numbered(column: pl.Series) -> None:
    codes, count = numbered(column)
    assert count == 2
    assert codes[0] == codes[2] != codes[1]


def test_a_column_with_one_value_is_one_number() -> None:
    assert numbered(pl.Series(["x"] * 40))[1] == 1
    assert numbered(pl.Series(["x"] * 40 + ["y"]))[1] == 2
    assert numbered(pl.Series([], dtype=pl.String))[1] == 0


@given(
    st.lists(st.integers(-5, 200).map(float), max_size=30)
    | st.lists(st.integers(-5, 20).map(lambda n: n / 4 + 0.5), max_size=30)
    | st.lists(st.floats(-1e18, 1e18), max_size=30)
)
def test_values_are_found_among_the_different_ones(given_values: list[float]) -> None:
    value = np.array(given_values, dtype=np.float64)
    values = distinct(value)
    assert values.tolist() == sorted(set(given_values))
    assert np.array_equal(values[positions(value, values)], value)
