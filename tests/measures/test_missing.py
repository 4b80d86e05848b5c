"""Answers that are missing where they would be high are recognised; those that are missing at random are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.measures import ac1, alpha, fleiss, mean, pairwise, prevalence, randolph
from vantage.measures.counts import FEW
from vantage.measures.missing import gaps
from vantage.scales import Level


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


@pytest.mark.parametrize("level", ["interval", "ordinal"])
def test_refusals_that_go_with_the_answer_are_said_of_sliders_too(level: Level) -> None:
    slider = judged(0, selective=True).with_columns(value=10 * pl.col("value") + pl.col("rater") / 4)
    assert slider["value"].n_unique() > FEW
    for data in (slider, slider.lazy()):
        assert (
            "answers are missing, more of them on items with high" in alpha(data, level=level, ci="none")["reason"][0]
        )


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


def given(seed: int, severity: float = 0.6, *, by: float = 0.0) -> dict[str, Any]:
    """Four of twenty raters judge each of eighty items; `by` says how far lenient raters get the high items."""
    rng = np.random.default_rng(seed)
    level, high = rng.normal(size=80), severity * rng.normal(size=20)
    wish = rng.random((80, 20)) - by * np.multiply.outer(level, high / max(severity, 0.1))
    rater = np.argsort(wish, axis=1)[:, :4].ravel()
    item = np.repeat(np.arange(80), 4)
    value = np.clip(np.round(level[item] + high[rater] + 0.8 * rng.normal(size=320)), -2, 2)
    return {"item": item, "rater": rater, "value": value}


def test_items_that_went_to_raters_by_what_they_would_say_are_told() -> None:
    told = [alpha(given(seed, by=2.0), level="ordinal")["reason"][0] or "" for seed in range(12)]
    assert sum("raters who answer higher judged items with higher answers" in one for one in told) >= 10
    opposite = [pairwise(given(seed, by=-2.0))["reason"][0] or "" for seed in range(12)]
    assert sum("raters who answer higher judged items with lower answers" in one for one in opposite) >= 10
    for measure in (fleiss, ac1, randolph):
        assert "judged items with higher answers" in measure(given(0, by=2.0))["reason"][0]


@pytest.mark.parametrize("severity", [0.0, 0.6])
def test_items_that_raters_got_by_chance_raise_no_alarm(severity: float) -> None:
    told = [alpha(given(seed, severity), level="ordinal")["reason"][0] for seed in range(40)]
    assert sum(one is not None for one in told) <= 1
    # A mean does not depend on who agrees with whom.
    assert mean(given(0, by=2.0))["reason"][0] is None


def thinned_out(seed: int, *, selective: bool) -> pl.DataFrame:
    """The same without a trace of what was refused."""
    return judged(seed, selective=selective).drop_nulls("value").drop("status")


def test_high_answers_that_are_missing_without_a_trace_are_suspected() -> None:
    row = mean(thinned_out(0, selective=True)).row(0, named=True)
    assert "items with high answers have fewer answers (r = -0." in row["reason"]
    assert row["reason"].endswith("if high answers are missing, the estimate is too low")
    turned = thinned_out(0, selective=True).with_columns(value=6 - pl.col("value"))
    assert "items with low answers have fewer answers (r = 0." in mean(turned)["reason"][0]
    assert "fewer answers" in prevalence(thinned_out(0, selective=True), value=5)["reason"][0]


def test_answers_that_are_missing_at_random_without_a_trace_are_not() -> None:
    said = [mean(thinned_out(seed, selective=False), ci="none")["reason"][0] is not None for seed in range(200)]
    assert sum(said) <= 4
    # As many answers for every item, or too few items, show nothing.
    whole = judged(0, selective=True).with_columns(value=pl.col("full")).drop("status")
    assert mean(whole)["reason"].to_list() == [None]
    assert mean(thinned_out(0, selective=True).filter(pl.col("item") < 9))["reason"].to_list() == [None]
