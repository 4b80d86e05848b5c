"""Intervals over items from per-item sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.intervals import percentile
from vantage.measures.rater_variance import FEW_RATERS
from vantage.measures.resampling import (
    Resampling,
    difference_with_interval,
    leave_out,
    mean_with_interval,
    per_item,
    ratio,
)


def test_the_interval_of_a_mean_is_close_to_the_normal_one() -> None:
    values = np.random.default_rng(0).exponential(size=400)
    items = pl.Series([f"i{i}" for i in range(400)])
    error = 1.96 * values.std() / 20
    for method in ("percentile", "bca"):
        row = mean_with_interval(items, values, Resampling(interval=method))
        assert row["estimate"] == pytest.approx(values.mean())
        assert (row["low"], row["high"]) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.02)


def test_units_of_one_item_are_drawn_together() -> None:
    items = pl.Series(["a", "a", "b"])
    sums = per_item(items, np.array([[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]]))
    assert sums.tolist() == [[4.0, 2.0], [5.0, 1.0]]
    low, high = Resampling(resamples=100).of_sums(sums, ratio)
    assert (low, high) == (2.0, 5.0)


def test_no_interval_without_items_or_when_not_asked() -> None:
    one = np.array([[1.0, 1.0]])
    assert Resampling().of_sums(one, ratio) == (None, None)
    two = np.array([[1.0, 1.0], [2.0, 1.0]])
    assert Resampling(ci="none").of_sums(two, ratio) == (None, None)


@pytest.mark.parametrize(("raters", "why"), [(2, FEW_RATERS), (6, None)])
def test_a_mean_over_two_raters_has_no_interval_and_says_why(raters: int, why: str | None) -> None:
    items = pl.Series(["a", "b", "c", "d"])
    values = np.arange(4.0)
    row = mean_with_interval(
        items,
        values,
        Resampling(ci="both", over=("auto", "items", "both", "none")),
        without=lambda: [(items, values + i) for i in range(raters)],
    )
    assert (row.get("reason"), row["low"] is None) == (why, why is not None)
    assert "reason" not in mean_with_interval(items, values, Resampling(ci="none"), without=lambda: [(items, values)])


def test_the_same_seed_gives_the_same_interval() -> None:
    sums = np.column_stack([np.random.default_rng(1).normal(size=30), np.ones(30)])
    assert Resampling(seed=5).of_sums(sums, ratio) == Resampling(seed=5).of_sums(sums, ratio)
    assert Resampling(seed=5).of_sums(sums, ratio) != Resampling(seed=6).of_sums(sums, ratio)


def test_every_unit_is_left_out_once_also_in_groups() -> None:
    weight = np.concatenate(list(leave_out(25, seed=0, groups=10)))
    assert weight.shape == (10, 25)
    assert (weight == 0).sum(axis=0).tolist() == [1] * 25


@pytest.mark.parametrize("options", [{"ci": "raters"}, {"confidence": 1.0}, {"resamples": 0}, {"interval": "basic"}])
def test_bad_options_are_told_in_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Resampling(**options)


def test_the_interval_of_a_difference_is_that_of_drawn_items() -> None:
    rng = np.random.default_rng(0)
    items = rng.integers(0, 12, 60)
    values, first = rng.normal(size=60), rng.integers(0, 2, 60).astype(np.float64)
    how = Resampling(resamples=50, seed=2)
    told = []
    for weight in np.concatenate(list(how.draws(12))):
        drawn = np.repeat(np.arange(60), weight[items].astype(int))
        told.append(values[drawn][first[drawn] == 1].mean() - values[drawn][first[drawn] == 0].mean())
    found = difference_with_interval(pl.Series(items), values, first, how)
    assert found["estimate"] == pytest.approx(values[first == 1].mean() - values[first == 0].mean())
    assert (found["low"], found["high"]) == pytest.approx(percentile(np.array(told), units=12))
