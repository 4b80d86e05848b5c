"""Draws of variance components: they lie around the components, and do not depend on the unit of the answers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage.measures.ratings import judgments_frame
from vantage.measures.variance.variances import (
    CrossedTable,
    RaterHeterogeneity,
    VarianceDesign,
    _solved,
    _within_items,
    variance_draws,
)


def repeated(seed: int = 0, *, items: int = 40, raters: int = 15, samples: int = 3) -> pl.DataFrame:
    """Everyone answers every item several times; the variances are 1, 0.25, 0.49 and 0.36."""
    rng = np.random.default_rng(seed)
    item, rater, sample = (grid.ravel() for grid in np.indices((items, raters, samples)))
    value = rng.normal(size=items)[item] + 0.5 * rng.normal(size=raters)[rater]
    value += 0.7 * rng.normal(size=(items, raters))[item, rater] + 0.6 * rng.normal(size=len(item))
    return pl.DataFrame({"item": item, "rater": rater, "sample": sample, "value": value})


@pytest.mark.parametrize("over", ["both", "items", "raters"])
def test_draws_lie_around_the_components_of_repeated_answers(over: str) -> None:
    design = VarianceDesign.of(judgments_frame(repeated()))
    assert design.names == ["item", "rater", "item × rater", "residual"]
    middle = np.median(variance_draws(design, over), axis=0)
    assert middle == pytest.approx(design.variances, rel=0.1)


def test_what_stays_as_it_is_varies_less() -> None:
    design = VarianceDesign.of(judgments_frame(repeated(1)))
    width = {over: np.ptp(variance_draws(design, over), axis=0) for over in ("both", "items", "raters")}
    assert width["items"][1] < 0.3 * width["both"][1]
    assert width["raters"][0] < 0.6 * width["both"][0]


def test_raters_differ_alike_in_any_unit() -> None:
    rng = np.random.default_rng(0)
    item, rater = (grid.ravel() for grid in np.indices((60, 20)))
    careless = rater < 4
    value = np.where(careless, rng.normal(0, 1.5, 1200), rng.normal(size=60)[item] + rng.normal(0, 0.7, 1200))
    means, size = np.bincount(item, value) / 20, np.full(60, 20.0)
    points, shares = (RaterHeterogeneity.of(value * u, means * u, size, item, rater) for u in (1.0, 0.01))
    assert shares.error == pytest.approx(points.error)
    assert shares.discrimination == pytest.approx(points.discrimination, rel=0.05, abs=0.02)
    assert points.discrimination[:4].max() < 0.6
    assert points.discrimination[4:].min() > 0.9


def test_what_groups_differ_by_within_items_has_the_weight_of_their_answers() -> None:
    # Twenty items, three groups of two answers each: a unit of variance of item × group adds 20 · 2 · (3 − 1).
    item, group, _ = (grid.ravel() for grid in np.indices((20, 3, 2)))
    apart = np.random.default_rng(0).normal(size=(20, 3))
    squares, degrees, weight = _within_items(apart[item, group] + item, item, item * 3 + group)
    assert degrees == 40
    assert weight == pytest.approx(80)
    assert squares == pytest.approx(2 * np.square(apart - apart.mean(axis=1, keepdims=True)).sum())


def test_raters_who_differ_by_their_groups_alone_do_not_vary_within_them() -> None:
    rng = np.random.default_rng(0)
    item, rater = (grid.ravel() for grid in np.indices((30, 12)))
    value = rng.normal(size=30)[item] + 3.0 * (rater % 2) + 0.1 * rng.normal(size=360)
    table = CrossedTable.of(item, rater, value, 30, 12)
    noise = np.array([0.01])
    assert table.rater_variance(noise, [np.arange(12) % 2], None)[0] < 0.01
    assert table.rater_variance(noise, [], None)[0] > 2


@pytest.mark.parametrize("target", [0.5, 3.0])
def test_a_variance_is_solved_for_at_any_target(target: float) -> None:
    squares, sizes = np.array([4.0, 9.0]), np.array([2.0, 3.0])
    (variance,) = _solved(squares, sizes, np.array([1.0]), np.array([target]))
    assert (squares / (sizes * variance + 1.0)).sum() == pytest.approx(target)
