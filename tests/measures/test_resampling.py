"""Intervals over items from per-item sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.intervals import LIMITS, RANKS, Spread, interval
from vantage.measures.rater_variance import FEW_RATERS
from vantage.measures.ratings import ItemSources
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
    for limits in (LIMITS, RANKS):
        row = mean_with_interval(items, values, Resampling(), limits)
        assert row["estimate"] == pytest.approx(values.mean())
        assert (row["low"], row["high"]) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.025)


def test_units_of_one_item_are_drawn_together() -> None:
    items = pl.Series(["a", "a", "b"])
    sums = per_item(items, np.array([[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]]))
    assert sums.tolist() == [[4.0, 2.0], [5.0, 1.0]]
    low, high = Resampling(resamples=100).of_sums(sums, ratio, RANKS)
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
    drawn = [Resampling(seed=seed).of_sums(sums, ratio, RANKS) for seed in (5, 5, 6)]
    assert drawn[0] == drawn[1] != drawn[2]
    # Nothing is drawn where every item can be left out.
    assert Resampling(seed=5).of_sums(sums, ratio) == Resampling(seed=6).of_sums(sums, ratio)


def test_every_unit_is_left_out_once_also_in_groups() -> None:
    weight = np.concatenate(list(leave_out(25, seed=0, groups=10)))
    assert weight.shape == (10, 25)
    assert (weight == 0).sum(axis=0).tolist() == [1] * 25


@pytest.mark.parametrize("options", [{"ci": "raters"}, {"confidence": 1.0}, {"resamples": 0}])
def test_bad_options_are_told_in_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Resampling(**options)


def test_the_interval_of_a_difference_is_that_of_items_left_out() -> None:
    rng = np.random.default_rng(0)
    items = rng.integers(0, 12, 60)
    values, first = rng.normal(size=60), rng.integers(0, 2, 60).astype(np.float64)

    def apart(kept: Any) -> float:
        return float(values[kept & (first == 1)].mean() - values[kept & (first == 0)].mean())

    without = np.array([apart(items != item) for item in range(12)])
    row = difference_with_interval(pl.Series(items), values, first, Resampling())
    assert row["estimate"] == pytest.approx(apart(items >= 0))
    assert (row["low"], row["high"]) == pytest.approx(interval(apart(items >= 0), Spread.without(without), 0.95))


def test_sources_are_left_out_whole() -> None:
    rng = np.random.default_rng(0)
    names = [f"i{item:02}" for item in range(24)]
    values = rng.normal(size=24)
    frame = pl.DataFrame({"item": names, "rater": "x", "value": values, "author": [i % 6 for i in range(24)]})
    how = Resampling(sources=ItemSources.of(frame, "author"))
    row = mean_with_interval(pl.Series(names), values, how)
    without = np.array([values[np.arange(24) % 6 != author].mean() for author in range(6)])
    assert (row["low"], row["high"]) == pytest.approx(interval(values.mean(), Spread.without(without), 0.95))
    assert row["over"] == "sources"
