"""Intervals from raters left out in turn, against the measures themselves on tables without each rater."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import vantage
from vantage.measures.intervals import wilson

Estimate = Callable[..., pl.DataFrame]


def crowd(seed: int = 0) -> pl.DataFrame:
    """Ten people of two ages and two models on 25 items and two questions."""
    rng = np.random.default_rng(seed)
    question, rater, item = (grid.ravel() for grid in np.indices((2, 12, 25)))
    shift = rng.normal(0, 0.7, 12)
    value = np.clip(np.rint(rng.normal(size=(2, 25))[question, item] + shift[rater] + rng.normal(size=600)), -2, 2)
    frame = pl.DataFrame(
        {
            "item": item,
            "rater": pl.Series(rater).cast(pl.String).str.zfill(2),
            "question": pl.Series(question).cast(pl.String),
            "value": value,
            "age": np.where(rater % 2 == 0, "old", "young"),
            "kind": np.where(rater < 10, "person", "model"),
        }
    )
    return frame.filter(pl.Series(rng.random(600) < 0.8))


def one(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(question="0", kind="person")


GOLD = {"item": list(range(25)), "value": [float(n % 3) for n in range(25)]}
CASES: dict[str, tuple[Estimate, pl.DataFrame, dict[str, Any], int]] = {
    "unanimity": (vantage.measures.unanimity, one(crowd()), {"coarse": "sign"}, 0),
    "unanimity on one value": (vantage.measures.unanimity, one(crowd()), {"coarse": "sign"}, 3),
    "split items": (vantage.measures.split_items, one(crowd()), {}, 0),
    "opposed items": (vantage.measures.opposed_items, crowd().filter(kind="person"), {}, 0),
    "distance": (vantage.measures.distance, one(crowd()), {"between": "age", "relabellings": 0}, 0),
    "accuracy": (vantage.measures.accuracy, one(crowd()), {"reference": GOLD, "metric": "accuracy"}, 0),
    "accuracy, people": (
        vantage.measures.accuracy,
        crowd().filter(question="0"),
        {"reference": "majority", "metric": ["f1_macro", "mae"]},
        1,
    ),
    "accuracy, each": (
        vantage.measures.accuracy,
        crowd().filter(question="0"),
        {"reference": "each", "metric": "mae"},
        0,
    ),
    "alternative annotator test": (
        vantage.measures.alt_test,
        crowd().filter(question="0"),
        {"alignment": "mae", "min_items": 5},
        0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_over_raters_equals_the_jackknife_of_the_measure(name: str) -> None:
    function, frame, options, row = CASES[name]
    column = "advantage" if function is vantage.measures.alt_test else "estimate"
    low, high = ("low", "high") if column == "estimate" else ("advantage_low", "advantage_high")
    found = function(frame, ci="raters", **options).row(row, named=True)
    people = frame.filter(kind="person")["rater"].unique().sort()
    estimates = np.array(
        [
            function(frame.filter(pl.col("rater") != p), ci="none", **options).row(row, named=True)[column]
            for p in people
        ]
    )
    n = len(people)
    error = ((n - 1) / n * np.square(estimates - estimates.mean()).sum()) ** 0.5
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    assert error > 0
    expected = found[column] - reach, found[column] + reach
    if "accuracy" not in name and name != "distance":  # a share has Wilson's interval of as many units as fit its error
        units = found[column] * (1 - found[column]) * (stats.norm.ppf(0.975) / reach) ** 2
        expected = wilson(found[column] * units, units, 0.95)
    assert (found[low], found[high]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_over_both_is_not_shorter_than_over_items_and_auto_says_what_it_took(name: str) -> None:
    function, frame, options, row = CASES[name]
    of = "advantage_" if function is vantage.measures.alt_test else ""
    rows = {
        ci: function(frame, ci=ci, resamples=200, **options).row(row, named=True) for ci in ("items", "both", "auto")
    }
    width = {ci: found[f"{of}high"] - found[f"{of}low"] for ci, found in rows.items()}
    assert width["both"] >= 0.9 * width["items"]
    assert [rows[ci][f"{of}over"] for ci in ("items", "both")] == ["items", "both"]
    assert rows["auto"][f"{of}over"] == "both"


def test_two_raters_have_no_interval_over_raters_and_say_so() -> None:
    frame = one(crowd()).filter(pl.col("rater").is_in(["00", "01"]))
    for found in (
        vantage.measures.split_items(frame, ci="both"),
        vantage.measures.distance(frame, between="age", ci="raters"),
        vantage.measures.accuracy(frame, reference=GOLD, metric="accuracy", ci="both"),
    ):
        assert found["low"].to_list() == [None]
        assert "fewer than three raters" in found["reason"][0]
