from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from vantage.measures.parts import parts
from vantage.measures.ratings import canonical, judgments_frame

ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz"), st.integers(-2, 2)), min_size=1, max_size=20
)


def frame(rows: list[tuple[str, str, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference(rows: list[tuple[str, str, int]], random: object) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (canonical(judgments_frame(frame(r))) for r in (rows, shuffled))
    for name in ("unit", "coder", "value"):
        np.testing.assert_array_equal(getattr(first.ratings, name), getattr(second.ratings, name))
    assert first.units.equals(second.units)
    assert first.raters.equals(second.raters)


@given(ROWS)
def test_numbers_lead_back_to_the_rows(rows: list[tuple[str, str, int]]) -> None:
    named = canonical(judgments_frame(frame(rows)))
    items, raters = named.units["item"].to_list(), named.raters.to_list()
    back = [
        (items[u], raters[r], int(v))
        for u, r, v in zip(named.ratings.unit, named.ratings.coder, named.ratings.value, strict=True)
    ]
    assert back == sorted(rows)


def test_samples_of_one_rater_are_one_rater() -> None:
    table = {"item": ["a", "a", "a"], "rater": ["m", "m", "n"], "sample": [0, 1, 0], "value": [1, 2, 3]}
    named = canonical(judgments_frame(table))
    assert named.ratings.coders == 2
    assert named.raters.to_list() == ["m", "n"]


def test_paired_counts_the_single_answers_and_keeps_the_rest() -> None:
    table = {"item": ["a", "a", "b", "c"], "rater": [1, 2, 1, 1], "value": [1.0, 2.0, 3.0, None]}
    part = next(parts(table)).paired()
    assert part.answered["item"].to_list() == ["a", "a"]
    assert part.counts["left_out"] == {"missing": 1, "unpaired": 1}
