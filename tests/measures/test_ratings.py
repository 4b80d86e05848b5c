"""From corpora, frames and arrays to ratings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.parts import parts
from vantage.measures.ratings import canonical, judgments_frame, level_of
from vantage.scales import Scale


def test_all_doors_lead_to_the_same_ratings() -> None:
    matrix = np.array([[1.0, np.nan, 3.0], [2.0, 2.0, np.nan]])
    columns = {"item": [0, 2, 0, 1], "rater": [0, 0, 1, 1], "value": [1, 3, 2, 2]}
    frame = pl.DataFrame(columns)
    for data in (matrix, matrix.tolist(), columns, frame, frame.lazy()):
        (part,) = parts(data)
        ratings = canonical(part.answered).ratings
        assert ratings.value.tolist() == [1, 2, 2, 3]
        assert ratings.unit.tolist() == [0, 0, 1, 2]
        assert ratings.coder.tolist() == [0, 1, 1, 0]
        assert part.counts == {"items": 3, "raters": 2, "judgments": 4, "left_out": {}}


def test_units_and_coders() -> None:
    frame = pl.DataFrame(
        {
            "item": ["x"] * 4,
            "question": ["p", "p", "q", "q"],
            "rater": ["m"] * 4,
            "sample": [0, 1, 0, 1],
            "value": [1, 2, 3, None],
        }
    )
    (part,) = parts(frame)
    assert canonical(part.answered).ratings.units == 2
    assert part.counts["raters"] == 1
    assert part.counts["left_out"] == {"missing": 1}


def test_groups_come_in_the_order_of_their_keys() -> None:
    frame = pl.DataFrame({"item": [1, 2, 3], "rater": [1, 1, 1], "value": [1, 1, 1], "side": ["b", None, "a"]})
    assert [part.key["side"] for part in parts(frame, "side")] == ["a", "b", None]


def test_a_frame_gets_the_columns_it_lacks() -> None:
    frame = judgments_frame({"item": [1], "rater": [2], "value": [True]}, by=["condition"])
    assert frame.row(0, named=True) == {
        "condition": "",
        "item": 1,
        "question": "",
        "rater": 2,
        "sample": 0,
        "value": 1.0,
        "status": "answered",
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"item": [1], "value": [2]}, "no column 'rater'; it has item, value"),
        ({"item": [1], "rater": [1], "value": ["good"]}, "column 'value' holds words, not numbers; make a corpus"),
        (
            {"item": [1, 1], "rater": [1, 2], "value": [2.0, float("nan")]},
            "row 2, column 'value': the value is nan",
        ),
        ({"item": [1, 1], "rater": [1, 2], "value": [float("-inf"), 1.0]}, "row 1, column 'value'"),
        (np.zeros(3), "an array of 1 dimensions"),
    ],
)
def test_bad_tables(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(parts(data))


def test_a_column_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="did you mean 'side'"):
        list(parts({"item": [1], "rater": [1], "value": [1], "side": ["a"]}, by="sides"))


class Questions:
    """What `parts` needs of a corpus."""

    def __init__(self, **scales: Scale) -> None:
        self.questions = [SimpleNamespace(id=name, scale=scale) for name, scale in scales.items()]

    def with_columns_of(self, by: Any) -> pl.DataFrame:
        names = [question.id for question in self.questions]
        return pl.DataFrame({"item": names, "rater": names, "question": names, "value": [1.0] * len(names)})


def test_scales_of_a_group() -> None:
    same: Any = Questions(p=Scale.points(1, 5), q=Scale.points(1, 5, anchors={1: "low"}))
    (part,) = parts(same)
    assert part.scale() == Scale.points(1, 5)
    assert part.level(None) == "ordinal"
    assert part.level("interval") == "interval"
    mixed: Any = Questions(p=Scale.points(1, 5), q=Scale.points(1, 7))
    with pytest.raises(InputError, match=r"questions 'p' .* and 'q' .* cannot be pooled; add question to by"):
        next(parts(mixed)).scale()
    assert [scale.ends for part in parts(mixed, by="question") if (scale := part.scale())] == [(1, 5), (1, 7)]


def test_level_of_a_nominal_scale() -> None:
    scale = Scale.labels("no", "unclear", "yes")
    assert level_of(scale, None, ["p"]) == level_of(Scale.labels("no", "yes"), None, ["p"]) == "nominal"
    assert level_of(Scale.labels("no", "yes"), "interval", ["p"]) == "interval"
    with pytest.raises(InputError, match="question 'p' has a nominal scale"):
        level_of(scale, "interval", ["p"])
