"""Unanimity against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import vantage
from vantage.measures.agreement.pairwise import unanimity
from vantage.scales import Band, Scale

N = float("nan")


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.float64]:
    shape = draw(st.integers(2, 4)), draw(st.integers(1, 7))
    elements = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, N])
    table: NDArray[np.float64] = draw(arrays(np.float64, shape, elements=elements))
    return table


@pytest.mark.parametrize("coarse", [False, "sign"])
@given(table=tables())
@settings(max_examples=40, deadline=None)
def test_equals_the_definition(coarse: Any, table: NDArray[np.float64]) -> None:
    compared = np.sign(table) if coarse else table
    items = [[v for v in column if not np.isnan(v)] for column in compared.T]
    items = [item for item in items if len(item) > 1]
    alike = [item[0] for item in items if len(set(item)) == 1]
    rows = {row["on"]: row for row in unanimity(table, coarse=coarse, ci="none").iter_rows(named=True)}
    assert rows["any"]["unanimous"] == len(alike)
    if not items:
        assert rows["any"]["reason"] == "no item has answers from two raters"
        return
    assert rows["any"]["estimate"] == pytest.approx(len(alike) / len(items))
    names = {"negative": -1.0, "zero": 0.0, "positive": 1.0}
    for name, row in rows.items():
        if name != "any":
            assert row["unanimous"] == alike.count(names[name] if coarse else float(name))
            assert row["share"] == (row["unanimous"] / len(alike) if alike else None)


def test_intervals_and_single_answers() -> None:
    votes: list[list[float]] = [[1, 1, 1, 2, 3, 1], [1, 1, 2, 2, 1, N]]
    first = unanimity(votes, resamples=500).row(0, named=True)
    assert first["estimate"] == pytest.approx(0.6)
    assert first["low"] < 0.6 < first["high"]
    assert first["left_out"] == {"unpaired": 1}
    assert (first["items"], first["judgments"]) == (5, 10)


class OneQuestion:
    """What the measure needs of a corpus."""

    def __init__(self, scale: Scale) -> None:
        self.id, self.scale, self.questions = "mood", scale, [self]

    def with_columns_of(self, by: Any) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "item": [1, 1, 2, 2],
                "rater": [*"abab"],
                "question": ["mood"] * 4,
                "value": [1.0, 2.0, 3.0, 3.0],
            }
        )


def test_answers_are_named_by_the_scale() -> None:
    bands = [Band("cold", below=3), Band("warm", at_least=3)]
    corpus: Any = OneQuestion(Scale.points(1, 3, anchors={1: "ice", 3: "fire"}, bands=bands))
    strict = unanimity(corpus, ci="none").select("on", "unanimous").rows()
    soft = unanimity(corpus, coarse=True, ci="none").select("on", "unanimous").rows()
    assert strict == [("any", 1), ("ice", 0), ("2", 0), ("fire", 1)]
    assert soft == [("any", 2), ("cold", 1), ("warm", 1)]


def test_none_of_many_items_is_not_known_to_be_none_of_all() -> None:
    votes = np.vstack([np.zeros(1500), np.ones(1500)])
    row = unanimity(votes).row(0, named=True)
    assert (row["estimate"], row["low"], row["over"]) == (0.0, 0.0, "items")
    assert row["high"] == pytest.approx(0.00255, abs=1e-4)
    full = unanimity(np.ones((2, 50))).row(0, named=True)
    assert (full["estimate"], full["high"]) == (1.0, 1.0)
    assert 0.9 < full["low"] < 0.95
    assert vantage.measures.pairwise(np.ones((2, 50)))["low"][0] == pytest.approx(full["low"])
    right = vantage.measures.accuracy(
        {"item": list(range(50)), "rater": ["m"] * 50, "value": [1] * 50},
        reference={"item": list(range(50)), "value": [1] * 50},
        metric="accuracy",
        labels=[0, 1],
    )
    assert right["low"][0] == pytest.approx(full["low"])
