"""Comparisons in mixed models: equal to lmerTest, and right about how often they err in ordinary designs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.measures.models.reference_tables import tables
from vantage.measures.models.comparison import Comparison, parts_of_range

GOLDEN: dict[str, dict[str, float]] = json.loads((Path(__file__).parent / "comparison_golden.json").read_text("utf-8"))
TWO = np.array([-1.0, 1.0])


def comparison(table: dict[str, Any]) -> Comparison:
    units: dict[str, Any] = {
        name: table[name].astype(np.int64) for name in ("source", "item", "rater") if name in table
    }
    if "number" in table:
        return Comparison(table["value"], parts_of_range(table["number"]), units, number=table["number"])
    return Comparison(table["value"], table["level"].astype(np.int64), units)


@pytest.mark.parametrize("name", GOLDEN)
def test_random_slopes_sources_and_unequal_variances_are_those_of_lmertest(name: str) -> None:
    """Values made by `tools/comparison_golden.R`; the first table has the same fit with random slopes of ±½."""
    golden, made = GOLDEN[name], comparison(tables()[name])
    difference = made.between(np.array([0.0, 1.0]) if name == "number" else TWO)
    assert made.fit.deviance == pytest.approx(golden["deviance"], abs=1e-5)
    assert difference.estimate == pytest.approx(golden["estimate"], abs=1e-7)
    assert difference.error == pytest.approx(golden["error"], rel=1e-4)
    assert difference.freedom == pytest.approx(golden["freedom"], rel=1e-3)
    assert difference.p == pytest.approx(golden["p"], rel=1e-3)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_derivative_of_the_deviance_is_that_of_differences(name: str) -> None:
    fit = comparison(tables()[name]).fit
    theta = np.random.default_rng(0).uniform(0.2, 1, len(fit.theta))
    value, slope = fit.model.descent(theta, fit.columns)
    at = type(fit)(fit.model, theta, fit.columns)
    assert value == pytest.approx(at.deviance)
    steps = np.eye(len(theta)) * 1e-5
    apart = [(type(fit)(fit.model, theta + e, fit.columns).deviance,
              type(fit)(fit.model, theta - e, fit.columns).deviance) for e in steps]  # fmt: skip
    assert slope == pytest.approx([(ahead - back) / 2e-5 for ahead, back in apart], abs=1e-5)


def test_two_groups_with_one_answer_each_are_compared_as_by_welch_and_pairs_as_by_student() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(0, 1, 8), rng.normal(0.5, 3, 13)
    item = np.arange(21)
    two = Comparison(np.r_[x, y], np.repeat([0, 1], [8, 13]), {"item": item, "rater": np.zeros(21, dtype=np.int64)})
    expected = stats.ttest_ind(y, x, equal_var=False)
    difference = two.between(TWO)
    assert (difference.freedom, difference.p) == pytest.approx((expected.df, expected.pvalue))
    z = x + rng.normal(1, 1, 8)
    units = {"item": np.tile(np.arange(8), 2), "rater": np.zeros(16, dtype=np.int64)}
    pairs = Comparison(np.r_[x, z], np.repeat([0, 1], 8), units).between(TWO)
    paired = stats.ttest_rel(z, x)
    assert (pairs.freedom, pairs.p) == pytest.approx((7, paired.pvalue), rel=1e-4)


def test_a_whole_table_of_two_groups_of_raters_is_compared_as_by_welch() -> None:
    rng = np.random.default_rng(4)
    item, rater = (grid.ravel() for grid in np.indices((40, 21)))
    spread = np.where(np.arange(21) < 6, 2.0, 0.6)
    value = rng.normal(size=40)[item] + (rng.normal(size=21) * spread)[rater] + rng.normal(0, 0.5, len(item))
    level = (rater < 6).astype(np.int64)
    means = np.array([value[rater == n].mean() for n in range(21)])
    expected = stats.ttest_ind(means[:6], means[6:], equal_var=False)
    difference = Comparison(value, level, {"item": item, "rater": rater}).between(TWO)
    assert difference.estimate == pytest.approx(means[:6].mean() - means[6:].mean())
    assert difference.p == pytest.approx(expected.pvalue, rel=0.02)
    assert difference.freedom == pytest.approx(expected.df, rel=0.02)


def within(rng: np.random.Generator) -> dict[str, Any]:
    item, rater, level = (grid.ravel() for grid in np.indices((12, 16, 2)))
    value = rng.normal(size=12)[item] + rng.normal(0, 0.5, 16)[rater] + rng.normal(0, 0.5, 16)[rater] * level
    return {"value": value + rng.normal(size=len(item)), "level": level, "item": item, "rater": rater}


def in_sources(rng: np.random.Generator) -> dict[str, Any]:
    item, rater = (grid.ravel() for grid in np.indices((60, 5)))
    source = (np.arange(60) // 5)[item]
    value = rng.normal(0, 0.8, 12)[source] + rng.normal(0, 0.6, 60)[item] + rng.normal(0, 0.5, 5)[rater]
    level = (rng.permutation(12) < 6)[source].astype(np.int64)
    return {"value": value + rng.normal(size=300), "level": level, "source": source, "item": item, "rater": rater}


def slopes(rng: np.random.Generator) -> dict[str, Any]:
    item, rater = (grid.ravel() for grid in np.indices((40, 12)))
    level = item % 2
    value = rng.normal(0, 0.6, 40)[item] + rng.normal(0, 0.5, 12)[rater] + rng.normal(0, 0.6, 12)[rater] * level
    return {"value": value + rng.normal(size=480), "level": level, "item": item, "rater": rater}


def unequal(rng: np.random.Generator) -> dict[str, Any]:
    item, rater = (grid.ravel() for grid in np.indices((20, 36)))
    kept = rng.random(720) < 0.5
    item, rater = item[kept], rater[kept]
    spread = np.where(rater < 6, 1.5, 0.4)
    value = rng.normal(size=20)[item] + rng.normal(size=36)[rater] * spread + rng.normal(size=len(item))
    return {"value": value, "level": (rater < 6).astype(np.int64), "item": item, "rater": rater}


@pytest.mark.slow
@pytest.mark.parametrize("design", [within, in_sources, slopes, unequal])
def test_where_nothing_differs_one_test_in_twenty_finds_something(design: Any) -> None:
    """Before the design was in the model: 47, 34, 11 and 22 %."""
    p = [comparison(design(np.random.default_rng(seed))).between(TWO).p for seed in range(200)]
    assert 0.01 <= np.mean([one < 0.05 for one in p if one is not None]) <= 0.085
