"""The variance that raters add: where it is known, it is found; intervals follow the distributions they claim."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vantage.measures.intervals import Spread
from vantage.measures.rater_variance import left_out_together, over_raters, spread_and_noise

Table = NDArray[np.float64]


def variance_of_mean(answers: Table, seed: int = 0) -> Spread:
    group = left_out_together(len(answers), np.random.default_rng(seed))
    tables = [answers[group != number].mean(axis=0) for number in range(group.max() + 1)]
    means = [lambda weight, x=x: (weight @ x / weight.sum(axis=1))[:, None] for x in tables]
    variance = over_raters(means, answers.shape[1], seed)[0]
    assert variance is not None
    return variance


@pytest.mark.parametrize(("raters", "spread"), [(20, 0.0), (20, 1.0), (250, 0.5)])
def test_noise_is_told_from_raters(raters: int, spread: float) -> None:
    rng = np.random.default_rng(0)
    found = [
        variance_of_mean(spread * rng.normal(size=(raters, 1)) + rng.normal(size=(raters, 60)), seed)
        for seed in range(60)
    ]
    noise = np.mean([one.noise for one in found])
    added = np.mean([one.variance - one.noise for one in found])
    assert noise == pytest.approx(1 / (60 * raters), rel=0.1)
    assert added == pytest.approx(spread**2 / raters, rel=0.25, abs=0.2 * float(noise))
    assert found[0].units == min(raters, 30)


def test_draws_in_which_an_estimate_is_undefined_are_dropped_and_not_raters() -> None:
    drawn = np.array([[1.0, 2.0, 3.0, 2.0], [1.0, np.nan, 3.0, 2.0], [1.5, 2.0, 3.5, 2.0]])
    variance = spread_and_noise(drawn)
    assert variance is not None
    assert variance.units == 4
    assert variance == spread_and_noise(drawn[[0, 2]])
    assert spread_and_noise(np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])) is None


def test_many_raters_are_left_out_in_groups_of_about_the_same_size() -> None:
    group = left_out_together(250, np.random.default_rng(0))
    assert sorted(set(np.bincount(group).tolist())) == [8, 9]
    assert len(np.bincount(group)) == 30
    assert left_out_together(90, np.random.default_rng(0), 100).tolist() == list(range(90))
