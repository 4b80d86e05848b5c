"""Intervals over posts: the fast form against drawing rows, and p values that know that texts share posts."""

from __future__ import annotations

import numpy as np
import pytest

from vantage.measures.intervals import percentile, weights
from vantage.measures.ratings import Floats
from vantage.measures.resampling import Resampling
from vantage.studies.appraisals.coding import Along, Method, correlation, delta
from vantage.studies.appraisals.intervals import clustered, correlation_interval, mean_interval

HOW = Resampling(resamples=40, seed=3)


def two_raters() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    one = rng.integers(1, 10, (15, 4)).astype(np.float64)
    two = np.clip(one + rng.integers(-3, 4, one.shape), 1, 9)
    one[rng.random(one.shape) < 0.1] = np.nan
    return one, two


def drawn_rows() -> list[list[int]]:
    """The same resamples as lists of rows."""
    blocks = np.concatenate(list(weights(15, HOW.resamples, HOW.seed)))
    return [np.repeat(np.arange(15), row.astype(int)).tolist() for row in blocks]


@pytest.mark.parametrize(
    ("along", "method"),
    [("questions", "pearson"), ("questions", "spearman"), ("posts", "pearson"), ("all", "pearson")],
)
def test_correlations_are_those_of_drawn_rows(along: Along, method: Method) -> None:
    one, two = two_raters()
    told = [correlation(one[rows], two[rows], along, method).r for rows in drawn_rows()]
    expected = percentile(np.array(told, dtype=np.float64))
    assert correlation_interval([one], two, along, HOW, method) == pytest.approx(expected)


def test_differences_are_those_of_drawn_rows() -> None:
    one, two = two_raters()
    told = [delta(one[rows], two[rows]) for rows in drawn_rows()]
    assert mean_interval(np.abs(one - two), HOW) == pytest.approx(percentile(np.array(told, dtype=np.float64)))


def test_without_resamples_or_with_one_post_there_is_no_interval() -> None:
    one, two = two_raters()
    assert mean_interval(one, Resampling("none")) == (None, None)
    assert correlation_interval([one[:1]], two[:1], "all", HOW) == (None, None)
    assert clustered(np.arange(4.0), np.arange(4.0), np.arange(4), Resampling("none")) == ((None, None), None)


def test_p_values_know_that_texts_share_posts() -> None:
    # Every text counts five times: as single texts they would be five times the evidence, as posts they are not.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=30), rng.normal(size=30)
    y += 0.3 * x
    how = Resampling(resamples=400)
    bounds, p = clustered(x, y, np.arange(30), how)
    again, repeated = clustered(np.repeat(x, 5), np.repeat(y, 5), np.repeat(np.arange(30), 5), how)
    assert again == pytest.approx(bounds)
    assert repeated == pytest.approx(p)
    assert p is not None
    assert 0.0 < p < 1.0


def test_p_values_of_noise_that_posts_share_are_uniform_enough() -> None:
    rng = np.random.default_rng(2)
    posts = np.repeat(np.arange(40), 4)
    small = []
    for _ in range(100):
        x, y = (np.repeat(rng.normal(size=40), 4) + 0.5 * rng.normal(size=160) for _ in range(2))
        small.append((clustered(x, y, posts, Resampling(resamples=100))[1] or 0.0) < 0.05)
    # Tests that take texts for independent find more than a fifth of such noise clear.
    assert np.mean(small) < 0.13
