from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage import InputError
from vantage.measures.intervals import Spread, interval
from vantage.measures.variance.one_rater import stepped_up
from vantage.measures.variance.reliability import raters_for, reliability

SHROUT_FLEISS_1979 = np.array([[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]])
"""Table 2 of Shrout and Fleiss (1979): four judges (rows) and six targets."""


def random_matrix(seed: int, raters: int = 6, items: int = 60, noise: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    matrix = np.rint(3 + rng.normal(0, 1, items) + rng.normal(0, noise, (raters, items)))
    matrix[rng.random(matrix.shape) < 0.3] = np.nan
    return matrix


def nested(matrix: Any) -> pl.DataFrame:
    """The same answers, each by somebody who judged nothing else, so that raters cannot be told apart."""
    rater, item = np.nonzero(np.isfinite(np.asarray(matrix, dtype=float)))
    names = [f"{r}-{i}" for r, i in zip(rater, item, strict=True)]
    return pl.DataFrame({"item": item, "rater": names, "value": np.asarray(matrix, dtype=float)[rater, item]})


def one_way(answers: list[list[float]]) -> float:
    """ICC(1) by its definition, for lists of answers of any length."""
    n = np.array([len(a) for a in answers])
    grand = np.concatenate([np.asarray(a) for a in answers]).mean()
    between = sum(len(a) * (np.mean(a) - grand) ** 2 for a in answers) / (len(answers) - 1)
    within = sum(np.sum((np.asarray(a) - np.mean(a)) ** 2) for a in answers) / (n.sum() - len(answers))
    size = (n.sum() - (n**2).sum() / n.sum()) / (len(answers) - 1)
    return float((between - within) / (between + (size - 1) * within))


def first(frame: pl.DataFrame, k: int = 1) -> dict[str, Any]:
    return frame.filter(pl.col("k") == k).row(0, named=True)


def test_the_example_of_shrout_and_fleiss() -> None:
    found = reliability(nested(SHROUT_FLEISS_1979), up_to=4)
    # Published as ICC(1,1) = .17 and ICC(1,4) = .44.
    assert first(found)["estimate"] == pytest.approx(0.17, abs=0.005)
    assert first(found, 4)["estimate"] == pytest.approx(0.44, abs=0.005)
    assert found["k"].to_list() == [1, 2, 3, 4]


def test_pingouin_gives_the_same_reliability() -> None:
    matrix = np.random.default_rng(0).integers(1, 6, (4, 25)) + np.linspace(0, 3, 25)
    raters, items = np.indices(matrix.shape)
    long = pd.DataFrame({"item": items.ravel(), "rater": raters.ravel(), "value": matrix.ravel()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = import_module("pingouin").intraclass_corr(long, "item", "rater", "value")
    icc = table["ICC"].to_numpy()
    found = reliability(nested(matrix), up_to=4)
    assert first(found)["estimate"] == pytest.approx(icc[0], abs=1e-9)
    assert first(found, 4)["estimate"] == pytest.approx(icc[3], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_unequal_numbers_of_answers_follow_the_definition(seed: int) -> None:
    matrix = random_matrix(seed)
    answers = [column[np.isfinite(column)].tolist() for column in matrix.T]
    expected = one_way([a for a in answers if len(a) > 1])
    found = first(reliability(nested(matrix)))
    assert found["estimate"] == pytest.approx(expected, abs=1e-9)
    assert found["low"] < expected < found["high"]
    assert found["left_out"].get("unpaired", 0) == sum(len(a) == 1 for a in answers)


def test_the_interval_is_that_of_items_left_out_by_hand() -> None:
    matrix = random_matrix(7)
    answers = [a for a in (c[np.isfinite(c)].tolist() for c in matrix.T) if len(a) > 1]
    without = np.array([one_way([*answers[:i], *answers[i + 1 :]]) for i in range(len(answers))])
    found = first(reliability(nested(matrix)))
    assert found["over"] == "items"
    limits = (-1.0, 1.0)
    expected = interval(one_way(answers), Spread.without(without, limits), 0.95, limits)
    assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-6)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_the_needed_number_is_the_smallest(target: float, reliability: float) -> None:
    k = raters_for(target, reliability)
    assert k is not None
    assert stepped_up(reliability, k) >= target - 1e-7
    assert k == 1 or stepped_up(reliability, k - 1) < target


def test_prophecy_and_need_agree_in_the_table() -> None:
    found = reliability(random_matrix(1), target=0.7, up_to=30)
    reached = found.filter(pl.col("estimate") >= 0.7)["k"].min()
    assert found["needed"].unique().to_list() == [reached]
    row = first(found)
    assert row["needed_low"] <= row["needed"] <= row["needed_high"]
    assert found["estimate"].is_sorted()


def test_bounds_below_zero_are_no_pole_of_the_prophecy() -> None:
    few: list[list[float]] = [[3, 1, 5, 4], [2, 1, 4, 2], [float("nan"), 2, float("nan"), 3]]
    curve = reliability(nested(few), up_to=10)
    assert curve["low"][0] == 0.0, "the interval of one rater's reliability begins below zero"
    for low, estimate, high in curve.select("low", "estimate", "high").iter_rows():
        assert 0 <= low <= estimate <= high <= 1


def test_the_order_of_rows_makes_no_difference() -> None:
    matrix = random_matrix(4)
    rater, item = np.nonzero(np.isfinite(matrix))
    frame = pl.DataFrame(
        {"item": [f"i{i}" for i in item], "rater": [f"r{r}" for r in rater], "value": matrix[rater, item]}
    )
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    options: Any = {}
    assert reliability(frame, **options).equals(reliability(shuffled, **options))
    moved = reliability(frame.with_columns(3 * pl.col("value") - 50), **options)
    assert moved["estimate"].to_list() == pytest.approx(reliability(frame, **options)["estimate"].to_list())


def test_what_is_undefined_is_null_with_a_reason() -> None:
    same = reliability(np.full((3, 5), 0.1), up_to=1)
    assert same["estimate"].to_list() == [None]
    assert "vary" in same["reason"][0]
    one = reliability(np.ones((1, 5)), up_to=2)
    assert one["reason"].to_list() == ["no item has answers from two raters"] * 2
    assert one["needed"].to_list() == [None, None]
    nothing = pl.DataFrame({"item": ["a"], "rater": ["x"], "value": pl.Series([None], dtype=pl.Float64)})
    assert reliability(nothing)["estimate"].null_count() == 10


def test_items_that_differ_less_than_raters_have_no_reliability() -> None:
    matrix = np.array([[1.0, 5.0, 1.0, 5.0], [5.0, 1.0, 5.0, 1.0]])
    found = reliability(matrix, up_to=3)
    assert found["estimate"].to_list() == [0.0, 0.0, 0.0]
    assert found["needed"].to_list() == [None, None, None]
    assert found.schema["needed"] == pl.Int64


@pytest.mark.parametrize("options", [{"target": 1.0}, {"up_to": 0}, {"confidence": 0.0}, {"resamples": 0}])
def test_unknown_options_are_refused(options: Any) -> None:
    with pytest.raises(InputError):
        reliability(np.ones((2, 4)), **options)


def test_bias_is_apart_from_error_and_the_need_has_an_interval() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.normal(0, 1, 120) + rng.normal(0, 0.7, (15, 1)) + rng.normal(0, 1, (15, 120))
    row = first(reliability(matrix, target=0.8))
    item, rater, error = reliability(matrix, show="components", ci="none")["variance"].to_list()
    assert row["over"] == "both"
    assert row["rater_share"] == pytest.approx(rater / (item + rater + error))
    assert row["consistent"] == pytest.approx(item / (item + error))
    assert row["needed_consistent"] == raters_for(0.8, item / (item + error))
    assert row["needed_low"] <= row["needed"] <= row["needed_high"]
    assert row["needed_consistent"] < row["needed"]
    assert row["low"] < 1 / 2.49 < row["high"]
    assert row["estimate"] == pytest.approx(item / (item + rater + error))
    over_items = first(reliability(matrix, target=0.8, ci="items"))
    assert over_items["needed_high"] - over_items["needed_low"] < row["needed_high"] - row["needed_low"]
    assert first(reliability(matrix, ci="none"))["needed_low"] is None


def test_the_decision_study_follows_from_the_components() -> None:
    rng = np.random.default_rng(2)
    item, rater, sample = (grid.ravel() for grid in np.indices((50, 6, 3)))
    value = rng.normal(size=50)[item] + 0.6 * rng.normal(size=6)[rater]
    value += 0.5 * rng.normal(size=(50, 6))[item, rater] + 0.8 * rng.normal(size=len(item))
    data = pl.DataFrame({"item": item, "rater": rater, "sample": sample, "value": value})
    i, r, cell, noise = reliability(data, show="components", ci="none")["variance"].to_list()
    for m in (1, 2):
        found = reliability(data, up_to=4, samples=m)
        for k, absolute, relative in found.select("k", "estimate", "consistent").rows():
            assert relative == pytest.approx(i / (i + cell / k + noise / (k * m)))
            assert absolute == pytest.approx(i / (i + r / k + cell / k + noise / (k * m)))
        for name in ("", "consistent_"):
            estimate = found[name.removesuffix("_") or "estimate"]
            assert (found[f"{name}low"] <= estimate).all()
            assert (estimate <= found[f"{name}high"]).all()
    once = reliability(data.filter(sample=0), samples=2, up_to=1).row(0, named=True)
    assert once["estimate"] is None
    assert "answered twice" in once["reason"]
    for options in ({"up_to": 0}, {"samples": 0}, {"show": "pairs"}):
        with pytest.raises(InputError):
            reliability(data, **options)


def test_seats_have_a_reliability_and_no_components() -> None:
    matrix = random_matrix(3)
    rater, item = np.nonzero(np.isfinite(matrix))
    frame = pl.DataFrame({"item": item, "rater": rater, "kind": "slot", "value": matrix[rater, item]})
    assert first(reliability(frame))["estimate"] == pytest.approx(first(reliability(nested(matrix)))["estimate"])
    rows = reliability(frame, show="components")
    assert rows["estimate"].null_count() == len(rows)
    weighted = first(reliability(frame.drop("kind").with_columns(w=2.0), weights="w"))
    assert weighted["estimate"] == pytest.approx(first(reliability(nested(matrix)))["estimate"])
