"""Resampling weights and the intervals that are read off them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

import vantage
from vantage.errors import InputError
from vantage.measures.intervals import BLOCK_BYTES, SKEWED, Bootstrap, bca, jackknife, percentile, weights

VALUES = np.random.default_rng(0).exponential(1, 300)


def mean(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weight @ VALUES / weight.sum(axis=1))


@pytest.mark.parametrize("multiplicity", [None, np.array([500, 400, 100]), np.array([2, 1, 1])])
def test_weights_are_resamples(multiplicity: Any) -> None:
    n = 3
    drawn = np.concatenate(list(weights(n, 4000, seed=1, multiplicity=multiplicity)))
    share = np.ones(n) if multiplicity is None else multiplicity
    total = share.sum()
    assert (drawn.sum(axis=1) == total).all()
    assert drawn.mean(axis=0) == pytest.approx(share, rel=0.05)
    binomial = total * (share / total) * (1 - share / total)
    assert drawn.var(axis=0) == pytest.approx(binomial, rel=0.1)


def test_the_same_seed_gives_the_same_weights() -> None:
    first, again, other = (np.concatenate(list(weights(50, 20, seed=s))) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_blocks_stay_small() -> None:
    found = list(weights(1_000_000, 5, seed=0))
    assert sum(len(block) for block in found) == 5
    assert max(block.nbytes for block in found) <= BLOCK_BYTES


def test_intervals_equal_the_peer() -> None:
    one_each = np.ones(len(VALUES), dtype=np.int64)
    for method, theirs in (("percentile", "percentile"), ("bca", "BCa")):
        low, high = Bootstrap(method=method, resamples=20_000).interval(mean, one_each)  # type: ignore[arg-type]
        peer = stats.bootstrap(
            (VALUES,),
            np.mean,
            n_resamples=20_000,
            method=theirs,
            vectorized=True,
            rng=np.random.default_rng(1),
        )
        assert low == pytest.approx(peer.confidence_interval.low, abs=0.01)
        assert high == pytest.approx(peer.confidence_interval.high, abs=0.01)


def test_kinds_give_the_interval_of_their_units() -> None:
    kinds, multiplicity = np.array([0.0, 1.0]), np.array([700, 300])
    bounds = Bootstrap(resamples=20_000).interval(lambda w: w @ kinds / w.sum(axis=1), multiplicity)
    expected = stats.binom.ppf([0.025, 0.975], 1000, 0.3) / 1000
    assert bounds == pytest.approx(expected, abs=0.003)


def test_jackknife_of_units_and_of_groups() -> None:
    few = jackknife(mean, np.ones(len(VALUES), dtype=np.int64))
    assert few == pytest.approx((VALUES.sum() - VALUES) / (len(VALUES) - 1))
    many = np.random.default_rng(1).exponential(1, 5000)
    groups = jackknife(lambda w: w @ many / w.sum(axis=1), np.ones(5000, dtype=np.int64))
    assert len(groups) == 1000
    assert groups.mean() == pytest.approx(many.mean(), abs=1e-3)


def test_undefined_replicates_are_left_aside() -> None:
    nothing = np.full(3, np.nan)
    assert percentile(nothing) == bca(1.0, nothing, nothing) == (None, None)
    assert percentile(np.array([1.0, np.nan, 3.0]), 0.5) == (1.5, 2.5)
    assert Bootstrap().interval(mean, np.array([1])) == (None, None)
    assert Bootstrap(ci="none").interval(mean, np.ones(300, dtype=np.int64)) == (None, None)


@pytest.mark.parametrize(
    "options", [{"ci": "people"}, {"method": "t"}, {"resamples": 0}, {"confidence": 0.0}, {"confidence": 1.0}]
)
def test_options_that_mean_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Bootstrap(**options)


@pytest.mark.parametrize("name", ["components", "icc", "needed_raters", "split_half", "d_study"])
def test_what_rests_on_the_variance_of_skewed_items_says_that_its_interval_covers_less(name: str) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.5, (12, 80))
    measure = getattr(vantage.measures, name)
    for items, doubt in ((rng.normal(size=80), False), (rng.exponential(size=80), True)):
        rows = measure(np.clip(np.round(items + noise), -3, 3))
        rows = rows.filter(pl.col("low").is_not_null())
        if name == "components":
            rows = rows.filter(component="item")
        assert len(rows) > 0
        assert (rows["reason"] == SKEWED).fill_null(value=False).to_list() == [doubt] * len(rows)
