"""Answers that are missing where they would be high are recognised; those that are missing at random are not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage.measures import alpha, mean, prevalence
from vantage.measures.missing import gaps


def judged(seed: int, *, selective: bool) -> pl.DataFrame:
    """Forty items and twelve raters, a quarter of whose answers are refused."""
    rng = np.random.default_rng(seed)
    item, rater = (grid.ravel() for grid in np.indices((40, 12)))
    value = np.clip(np.rint(3 + rng.normal(size=40)[item] + 0.7 * rng.normal(size=480)), 1, 5)
    refused = rng.random(480) < (np.where(value >= 4, 0.6, 0.05) if selective else 0.25)
    return pl.DataFrame(
        {
            "item": item,
            "rater": rater,
            "full": value,
            "value": [None if lost else v for v, lost in zip(value, refused, strict=True)],
            "status": np.where(refused, "refused", "answered"),
        }
    )


def test_refusals_that_go_with_the_answer_are_said_and_bounded() -> None:
    frame = judged(0, selective=True)
    row = mean(frame).row(0, named=True)
    assert "answers are missing, more of them on items with high answers" in row["reason"]
    low, high = (float(word) for word in row["reason"].split("between ")[1].split(" and "))
    assert low < frame["full"].mean() < high  # type: ignore[operator]
    assert low < row["estimate"] < high
    assert "missing" in prevalence(frame, value=5)["reason"][0]
    assert "missing" in alpha(frame, level="ordinal")["reason"][0]


def test_refusals_at_random_are_not() -> None:
    said = [mean(judged(seed, selective=False), ci="none")["reason"][0] is not None for seed in range(60)]
    assert sum(said) <= 1
    assert mean(judged(0, selective=False).drop_nulls("value"))["reason"].to_list() == [None]


def test_the_bounds_are_those_of_the_worst_cases_written_out() -> None:
    frame = judged(1, selective=True)
    frame = frame.filter(pl.col("value").count().over("item") > 0)
    gap = gaps(frame, ())[()]
    for end, bound in zip((1.0, 5.0), gap.bounds((1.0, 5.0)), strict=True):
        worst = frame.with_columns(pl.col("value").fill_null(end), status=pl.lit("answered"))
        assert bound == pytest.approx(mean(worst, ci="none")["estimate"][0])
