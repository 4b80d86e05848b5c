"""The variance that raters add: where it is known, it is found; intervals follow the distributions they claim."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vantage.measures.rater_variance import RaterVariance, left_out_together

Table = NDArray[np.float64]


def variance_of_mean(answers: Table, seed: int = 0) -> RaterVariance:
    group = left_out_together(len(answers), np.random.default_rng(seed))
    tables = [answers[group != number].mean(axis=0) for number in range(group.max() + 1)]
    means = [lambda weight, x=x: (weight @ x / weight.sum(axis=1))[:, None] for x in tables]
    variance = RaterVariance.of_tables(means, answers.shape[1], seed)[0]
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
    added = np.mean([one.total - one.noise for one in found])
    assert noise == pytest.approx(1 / (60 * raters), rel=0.1)
    assert added == pytest.approx(spread**2 / raters, rel=0.25, abs=0.2 * float(noise))
    assert found[0].freedom == min(raters, 30) - 1


def test_widened_intervals_are_those_of_items_with_the_variance_of_raters_added() -> None:
    replicates = np.random.default_rng(0).normal(5.0, 1.0, 100_000)
    alone = RaterVariance(total=0.5, noise=0.7, freedom=9).widened(replicates, 5.0, 10**6, 0.95)
    assert alone == pytest.approx((5 - 1.96, 5 + 1.96), abs=0.02)
    many = RaterVariance(total=3.5, noise=0.5, freedom=10**6).widened(replicates, 5.0, 10**6, 0.95)
    assert many == pytest.approx((5 - 2 * 1.96, 5 + 2 * 1.96), abs=0.04)
    few = RaterVariance(total=1e6, noise=0.0, freedom=4).widened(replicates, 5.0, 10**6, 0.95)
    assert few == pytest.approx((5 - 2776, 5 + 2776), abs=30)  # Student's t with four degrees of freedom
    noisy = RaterVariance(total=3.0, noise=2.99, freedom=11).widened(replicates, 5.0, 10**6, 0.95)
    assert noisy == pytest.approx((5 - 2.51, 5 + 2.51), abs=0.03)  # five and a half degrees of freedom at least
    limited = RaterVariance(total=1e6, noise=0.0, freedom=4).widened(replicates, 5.0, 10**6, 0.95, (0.0, 10.0))
    assert limited == (0.0, 10.0)


def test_nothing_varies_or_nothing_is_known() -> None:
    still = np.full(50, 2.0)
    assert RaterVariance(0.0, 0.0, 5).widened(still, 2.0, 8, 0.95) == (2.0, 2.0)
    low, high = RaterVariance(1.0, 0.0, 5).widened(still, 2.0, 8, 0.95)
    assert low is not None
    assert high is not None
    assert (high - 2.0, 2.0 - low) == pytest.approx((2.571, 2.571), abs=0.01)
    assert RaterVariance(1.0, 0.0, 5).widened(np.full(3, np.nan), 2.0, 8, 0.95) == (None, None)
    assert RaterVariance.from_estimates(np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])) is None
    assert RaterVariance(4.0, 1.0, 10**6).around(0.5, 0.95) == pytest.approx((0.5 - 3.92, 0.5 + 3.92), abs=0.01)


def test_many_raters_are_left_out_in_groups_of_about_the_same_size() -> None:
    group = left_out_together(250, np.random.default_rng(0))
    assert sorted(set(np.bincount(group).tolist())) == [8, 9]
    assert len(np.bincount(group)) == 30
    assert left_out_together(90, np.random.default_rng(0), one_by_one=100).tolist() == list(range(90))
