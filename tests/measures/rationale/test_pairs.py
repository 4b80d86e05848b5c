"""Which texts are compared, and what chance draws."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.errors import InputError
from vantage.measures.rationale.agreement import (
    SAME_ITEM,
    SAME_QUESTION,
    Writer,
    chance_pairs,
    model_pairs,
    peer_pairs,
    texts_of,
)


def written() -> pl.DataFrame:
    rows = [
        {"item": item, "question": question, "rater": rater, "rationale": f"{rater} on {question} of {item}"}
        for item in ("a", "b", "c")
        for question in ("p", "q")
        for rater in ("x", "y")
    ]
    return pl.DataFrame(rows)


def test_two_raters_make_a_pair_in_each_direction() -> None:
    assert len(peer_pairs(written())) == 12
    ordered = peer_pairs(written(), "ordered")
    assert len(ordered) == 6
    assert all(pair.writer == "y" and pair.authors == ("x",) for pair in ordered)


def test_missing_and_blank_rationales_are_no_pairs() -> None:
    table = written().with_columns(pl.when(pl.col("item") == "a").then(pl.lit("  ")).otherwise("rationale").alias("r"))
    assert {p.item for p in peer_pairs(table.drop("rationale").rename({"r": "rationale"}))} == {"b", "c"}


def test_a_model_is_compared_with_all_people() -> None:
    model = pl.DataFrame({"item": ["a", "z"], "question": ["p", "p"], "rater": ["m", "m"], "rationale": ["so", "no"]})
    (pair,) = model_pairs(model, written())
    assert pair.references == ("x on p of a", "y on p of a")
    assert texts_of([pair]) == [("so", pair.references)]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 99), st.sampled_from(["alike", "any", "same", "other"]), st.integers(1, 4))
def test_chance_never_draws_the_actual_text(seed: int, writer: Writer, draws: int) -> None:
    actual = peer_pairs(written())
    for kind in (SAME_QUESTION, SAME_ITEM):
        drawn = chance_pairs(actual, written(), kind, draws=draws, writer=writer, seed=seed)
        assert drawn
        for pair in drawn:
            who, _, question, _, item = pair.candidate.split(" ")
            assert (question == pair.question) == (kind == SAME_QUESTION)
            assert (item == pair.item) == (kind == SAME_ITEM)
            assert {"same": who in pair.authors, "other": who not in pair.authors}.get(writer, True)


def test_draws_depend_on_the_seed_and_not_on_the_order_of_rows() -> None:
    actual = peer_pairs(written(), "ordered")
    first = chance_pairs(actual, written(), SAME_QUESTION, draws=1, seed=1)
    assert first == chance_pairs(actual, written().reverse(), SAME_QUESTION, draws=1, seed=1)
    assert first != chance_pairs(actual, written(), SAME_QUESTION, draws=1, seed=2)


def test_the_reference_itself_is_drawn_only_where_that_is_asked_for() -> None:
    actual = peer_pairs(written(), "ordered")
    leaking = chance_pairs(actual, written(), SAME_ITEM, draws=4, writer="any", with_itself=True)
    assert sum(pair.candidate in pair.references for pair in leaking) == len(actual)


def test_what_cannot_be_drawn_is_named() -> None:
    with pytest.raises(InputError, match="no baseline 'other'"):
        chance_pairs([], written(), "other")
    with pytest.raises(InputError, match="0 candidates"):
        chance_pairs([], written(), SAME_ITEM, draws=0)
