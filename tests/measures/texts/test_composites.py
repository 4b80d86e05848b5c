"""Scores made of several questions, means over runs, and the ends of a ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.texts.composites import (
    composites,
    expected_values,
    extremes,
    item_means,
    scores_by_run,
)

EXTENDED = Instrument.load("stereotype-content:extended")
TRAITS = ["friendly", "sociable", "trustworthy", "honest", "competent", "skilled", "confident", "assertive"]


def answers(values: list[float | None], **columns: Any) -> pl.DataFrame:
    given = {"item": "nurses", "rater": "m", "sample": 0, "condition": "", **columns}
    status = ["answered" if value is not None else "refused" for value in values]
    frame = pl.DataFrame({"question": TRAITS[: len(values)], "value": values, "status": status}, strict=False)
    return frame.with_columns(
        **{name: pl.lit(value) for name, value in given.items()}, value=pl.col("value").cast(pl.Float64)
    )


def value_of(frame: pl.DataFrame, score: str) -> tuple[float | None, str]:
    row = frame.filter(pl.col("question") == score).row(0, named=True)
    return row["value"], row["status"]


@settings(max_examples=15)
@given(st.lists(st.integers(1, 5), min_size=8, max_size=8))
def test_traits_make_facets_and_facets_make_dimensions(values: list[int]) -> None:
    found = composites(answers([float(v) for v in values]), EXTENDED)
    assert value_of(found, "warmth")[0] == pytest.approx(np.mean(values[:4]))
    assert value_of(found, "competence")[0] == pytest.approx(np.mean(values[4:]))
    assert value_of(found, "sociability")[0] == pytest.approx(np.mean(values[:2]))


def test_a_score_with_a_missing_member_is_missing_and_says_why() -> None:
    found = composites(answers([5, None, 3, 3, 1, 1, 1, 1]), EXTENDED)
    assert value_of(found, "sociability") == (None, "refused")
    assert value_of(found, "warmth") == (None, "refused")
    assert value_of(found, "competence") == (1.0, "answered")
    some = composites(answers([5, None, 3, 3, 1, 1, 1, 1]), EXTENDED, members="some")
    assert value_of(some, "warmth") == (4.0, "answered")


def test_a_score_whose_questions_were_not_asked_is_missing() -> None:
    assert value_of(composites(answers([5, 5, 5, 5]), EXTENDED), "competence") == (None, "missing")


def test_reversed_members_count_from_the_other_end() -> None:
    document = dict(EXTENDED.document)
    document["aggregates"] = [
        {
            "id": "coldness",
            "title": "Coldness",
            "mean_of": ["friendly", "sociable"],
            "reversed": ["friendly", "sociable"],
        }
    ]
    cold = Instrument.from_document(document)
    assert value_of(composites(answers([5, 4]), cold), "coldness")[0] == pytest.approx(1.5)


def test_an_instrument_without_scores_is_refused() -> None:
    with pytest.raises(InputError, match="declares no scores"):
        composites(answers([1]), Instrument.load("irony"))


def test_expected_values_stand_in_for_the_most_probable_answer() -> None:
    frame = pl.DataFrame({"value": [3.0, None], "expected": [2.5, None]})
    assert expected_values(frame)["value"].to_list() == [2.5, None]
    assert expected_values(frame.drop("expected"))["value"].to_list() == [3.0, None]


def test_means_variances_and_missing_runs() -> None:
    frame = pl.DataFrame({"item": ["a"] * 3, "rater": ["m"] * 3, "sample": [0, 1, 2], "value": [2.0, 4.0, None]})
    row = item_means(frame, by="rater").row(0, named=True)
    assert (row["mean"], row["variance"], row["runs"], row["missing"]) == (3.0, 2.0, 2, 1)
    assert row["cv"] == pytest.approx(np.sqrt(2) / 3)


def test_ties_at_the_end_of_a_list_are_told() -> None:
    frame = pl.DataFrame({"item": list("abcde"), "rater": ["m"] * 5, "value": [1.0, 1.0, 1.0, 4.0, 5.0]})
    found = extremes(item_means(frame, by="rater"), by="rater", count=2)
    assert found.filter(pl.col("end") == "lowest")["tied"].to_list() == [1, 1]
    assert found.filter(pl.col("end") == "highest").select("item", "tied").rows() == [("e", 0), ("d", 0)]
    with pytest.raises(InputError):
        extremes(item_means(frame, by="rater"), by="rater", count=0)


def test_scores_by_run_keeps_gaps_and_names_unknown_scores() -> None:
    one = composites(answers([4, 4, 4, 4, 2, 2, 2, 2]), EXTENDED)
    two = composites(answers([5, None, 4, 4, 2, 2, 2, 2], sample=1), EXTENDED)
    items, runs, cube = scores_by_run(pl.concat([one, two]), ["competence", "warmth"])
    assert (items, len(runs), cube.shape) == (["nurses"], 2, (1, 2, 2))
    assert cube[0, 0].tolist() == [2.0, 2.0]
    assert np.isnan(cube[0, 1, 1])
    with pytest.raises(InputError, match="warmth"):
        scores_by_run(one, ["warmht"])
