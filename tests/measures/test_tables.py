"""Counts and moments of groups, from a table in memory and by streamed aggregation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.errors import InputError
from vantage.measures.agreement.alpha import Difference, alpha, coefficient
from vantage.measures.counts import FEW, Counts
from vantage.measures.ratings import Judgments
from vantage.measures.streamed import Streamed
from vantage.measures.tables import NO_COUNTS, CountedGroup, Encoded, source_groups, source_of
from vantage.scales import Level

ROWS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["x", "y"]), st.integers(0, 3) | st.none()), max_size=25)


def counted(data: Judgments, by: str | tuple[str, ...] = (), *, paired: bool = False) -> list[CountedGroup[Counts]]:
    source = source_of(data, by)
    return list(source_groups(source, source.counts(), NO_COUNTS, paired=paired))


def frame_of(rows: list[tuple[int, str, int | None]]) -> pl.DataFrame:
    schema = {"item": pl.Int64, "side": pl.String, "value": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_row_index("rater")


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_counts_equal_a_plain_count(rows: list[tuple[int, str, int | None]]) -> None:
    for group in counted(frame_of(rows), by="side"):
        mine = [(item, value) for item, side, value in rows if side == group.key["side"] and value is not None]
        units: dict[int, list[int]] = {}
        for item, value in mine:
            units.setdefault(item, []).append(value)
        expected = sorted([unit.count(int(v)) for v in group.counts.values] for unit in units.values())
        table = np.asarray(group.counts.table)
        assert sorted(np.repeat(table, group.counts.multiplicity, axis=0).tolist()) == expected
        assert (group.items, group.raters) == (len(units), len(mine))
        assert sum(group.left_out.values()) == sum(s == group.key["side"] and v is None for _, s, v in rows)


@given(ROWS, st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_a_table_split_by_items_adds_up(rows: list[tuple[int, str, int | None]], split: int) -> None:
    frame = frame_of([row for row in rows if row[2] is not None])
    whole = counted(frame, paired=True)[0].counts
    halves = frame.filter(pl.col("item") < split), frame.filter(pl.col("item") >= split)
    parts = [counted(half, paired=True)[0].counts for half in halves]
    if not whole.units:
        assert all(not part.units for part in parts)
        return
    values = np.array([0.0, 1.0, 2.0, 3.0])
    tables = []
    for part in parts:
        table = np.zeros((len(part.multiplicity), 4))
        table[:, np.searchsorted(values, part.values)] = part.table
        tables.append(table)
    together = Counts(values, np.vstack(tables), np.concatenate([part.multiplicity for part in parts]))
    for level in ("nominal", "ordinal", "interval"):
        one, other = (coefficient(c, Difference(level)).estimate(c) for c in (whole, together))
        assert one == pytest.approx(other, nan_ok=True)


@pytest.mark.parametrize("ordinal", [False, True])
@pytest.mark.parametrize("kinds", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
def test_moments_add_up_to_those_of_the_counts(ordinal: bool, kinds: bool, lazy: bool) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "item": rng.integers(0, 90, 400),
            "rater": np.arange(400),
            "side": rng.choice(["a", "b"], 400),
            "value": rng.integers(0, FEW + 20, 400),
        }
    )
    source = source_of(frame.lazy() if lazy else frame, "side")
    assert len(source.values) > FEW
    moments = source.moments(ordinal=ordinal, kinds=kinds)
    for key, counts in source.counts().items():
        paired = counts.paired()
        values = paired.values
        if ordinal:
            marginal = paired.multiplicity @ paired.table
            values = np.cumsum(marginal) - marginal / 2 - marginal.sum() / 2
        expected = Counts(values, paired.table, paired.multiplicity)
        found = moments[key].paired()
        assert (found.units, found.total) == (expected.units, expected.total)
        x = values if ordinal else values - source.values[len(source.values) // 2]
        sums = np.asarray(paired.table @ x)
        assert found.multiplicity @ found.first == pytest.approx(sums.sum())
        assert found.multiplicity @ found.second == pytest.approx(np.asarray(paired.table @ x**2).sum())
        assert found.multiplicity @ (found.squared / (found.size - 1)) == pytest.approx(
            (sums**2 / (paired.size - 1)).sum()
        )


@pytest.mark.parametrize("points", [FEW // 2, 3 * FEW])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_long_table_is_read_in_passes(monkeypatch: pytest.MonkeyPatch, points: int, level: Level) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "item": rng.integers(0, 120, 400),
            "rater": np.arange(400),
            "side": rng.choice(["a", "b"], 400),
            "value": rng.integers(0, points, 400),
        }
    )
    in_one = alpha(frame, by="side", level=level, ci="none")
    monkeypatch.setattr("vantage.measures.streamed.AT_ONCE", 90)
    monkeypatch.setattr("vantage.measures.tables.AT_HAND", 90)
    source = source_of(frame)
    assert isinstance(source, Streamed)
    assert source.passes == 5
    in_five = alpha(frame, by="side", level=level, ci="none")
    assert in_five["estimate"].to_list() == pytest.approx(in_one["estimate"].to_list(), abs=1e-12)
    assert in_five.drop("estimate").equals(in_one.drop("estimate"))


def units(rows: dict[str, Any], by: tuple[str, ...] = ()) -> list[str]:
    source = source_of(pl.LazyFrame(rows), by)
    assert isinstance(source, Streamed)
    return source.unit


def test_constant_columns_tell_no_units_apart() -> None:
    rows = {"item": [1, 1], "question": ["p", "p"], "condition": ["", ""], "rater": [1, 2], "value": [1, 2]}
    assert units(rows) == ["item"]
    assert units({**rows, "condition": ["", "c"]}) == ["item", "condition"]
    assert units({**rows, "condition": ["", None]}) == ["item", "condition"]
    assert units(rows, by=("item", "question")) == []


TABLE = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from(["", "c", None]),
        st.sampled_from(["r", "s", "t"]),
        st.sampled_from(["x", "y", None]),
        st.integers(0, 2) | st.integers(0, 40) | st.none(),
    ),
    max_size=40,
)


def _in_order(counts: Counts) -> list[tuple[list[float], int]]:
    """How often there is which row of counts, in the order of the rows."""
    table = counts.table if isinstance(counts.table, np.ndarray) else counts.table.toarray()
    return sorted(zip(table.tolist(), counts.multiplicity.tolist(), strict=True))


@pytest.mark.slow
@given(TABLE, st.sampled_from([(), ("side",), ("side", "condition"), ("item",)]), st.sampled_from([2, FEW]))
@settings(max_examples=60, deadline=None)
def test_both_ways_lead_to_the_same(rows: list[tuple[Any, ...]], by: tuple[str, ...], few: int) -> None:
    schema = dict.fromkeys(("item", "condition", "rater", "side"), pl.String) | {"value": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vantage.measures.tables.FEW", few)
        patch.setattr("vantage.measures.streamed.FEW", few)
        held, streamed = source_of(frame, by), source_of(frame.lazy(), by)
        assert isinstance(held, Encoded)
        assert isinstance(streamed, Streamed)
        assert held.values.tolist() == streamed.values.tolist()
        assert held.unanswered == streamed.unanswered
        one, other = held.counts(), streamed.counts()
        assert one.keys() == other.keys()
        for key, counts in one.items():
            assert counts.values.tolist() == other[key].values.tolist()
            assert _in_order(counts) == _in_order(other[key])
        for paired in (False, True):
            found = [list(source_groups(s, s.counts(), NO_COUNTS, paired=paired)) for s in (held, streamed)]
            # Rows that are not held tell repeats by their sample only, and there is none here.
            assert [{**group.row, "note": None} for group in found[0]] == [group.row for group in found[1]]
        for ordinal, kinds in product([False, True], repeat=2):
            first, second = (s.moments(ordinal=ordinal, kinds=kinds) for s in (held, streamed))
            assert first.keys() == second.keys()
            for key, moments in first.items():
                for name in ("size", "first", "second", "squared", "multiplicity"):
                    expected = getattr(second[key], name)
                    assert getattr(moments, name) == pytest.approx(expected, abs=1e-9), name


def test_counts_that_do_not_fit_one_number() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"item": [0] * 3000 + [1] * 3000, "rater": np.arange(6000), "value": rng.integers(0, 9, 6000)})
    (group,) = counted(frame)
    expected = sorted(np.bincount(frame["value"].to_numpy()[i : i + 3000]).tolist() for i in (0, 3000))
    assert np.asarray(group.counts.table).tolist() == expected


def test_grouping_by_item() -> None:
    rows = {"item": [1, 1, 2], "rater": [1, 2, 1], "value": [1, 2, 1]}
    found = list(counted(rows, by="item"))
    assert [(group.key["item"], group.items, group.counts.total) for group in found] == [(1, 1, 2), (2, 1, 1)]


def test_groups_without_answers_are_kept() -> None:
    rows = {"item": [1, 2], "rater": [1, 1], "value": [1, None], "side": ["a", "b"]}
    first, second = counted(rows, by="side", paired=True)
    assert (first.counts.units, first.left_out) == (0, {"unpaired": 1})
    assert (second.counts.units, second.left_out) == (0, {"missing": 1})
    for empty in (pl.DataFrame, pl.LazyFrame):
        source = source_of(empty({"item": [], "rater": [], "value": []}))
        assert [group.counts.units for group in source_groups(source, source.counts(), NO_COUNTS, paired=True)] == [0]


def test_values_must_be_finite() -> None:
    with pytest.raises(InputError, match="row 2, column 'value': the value is inf"):
        source_of({"item": [1, 1], "rater": [1, 2], "value": [1.0, float("inf")]})
    with pytest.raises(InputError, match="row 2, column 'value': the value is inf"):
        source_of(pl.LazyFrame({"item": [1, 1], "rater": [1, 2], "value": [1.0, float("inf")]}))
