"""Resampling weights and the intervals that are read off them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

import vantage
from vantage.errors import InputError
from vantage.measures.agreement.alpha import alpha
from vantage.measures.intervals import (
    BLOCK_BYTES,
    NOT_HELD,
    NOT_KNOWN,
    SHARES,
    SKEWED,
    TOO_FEW_RATERS,
    Bootstrap,
    Spread,
    bootstrap_interval,
    interval,
    percentile,
    weights,
    wilson,
)
from vantage.measures.resampling import Resampling

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
    drawn = np.concatenate([mean(block) for block in weights(len(VALUES), 20_000, 0)])
    peer = stats.bootstrap((VALUES,), np.mean, n_resamples=20_000, method="percentile", vectorized=True,
                           rng=np.random.default_rng(1))  # fmt: skip
    assert percentile(drawn) == pytest.approx(peer.confidence_interval, abs=0.01)


def test_kinds_give_the_spread_of_their_units() -> None:
    values = np.array([0.0, 1.0, 1.0, 4.0])
    single = Spread.without((values.sum() - values) / 3)
    kinds = np.array([0.0, 1.0, 4.0])
    assert Spread.without((values.sum() - kinds) / 3, times=np.array([1, 2, 1])) == single
    assert single is not None
    assert single.variance == pytest.approx(values.var(ddof=1) / 4)


def test_undefined_replicates_are_left_aside() -> None:
    nothing = np.full(3, np.nan)
    assert percentile(nothing) == (None, None)
    assert percentile(np.array([1.0, np.nan, 3.0]), 0.5) == (1.5, 2.5)
    assert interval(0.5, Spread.without(np.array([0.5, np.nan])), 0.95) == (None, None)


@pytest.mark.parametrize("options", [{"ci": "people"}, {"resamples": 0}, {"confidence": 0.0}, {"confidence": 1.0}])
def test_options_that_mean_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Bootstrap(**options)


@pytest.mark.parametrize("name", ["components", "icc", "reliability", "split_half"])
def test_what_rests_on_the_variance_of_skewed_items_says_that_its_interval_covers_less(name: str) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.5, (12, 80))
    shown = {"components": partial(vantage.measures.reliability, show="components")}
    measure = shown.get(name) or getattr(vantage.measures, name)
    for items, doubt in ((rng.normal(size=80), False), (rng.exponential(size=80), True)):
        rows = measure(np.clip(np.round(items + noise), -3, 3))
        rows = rows.filter(pl.col("low").is_not_null())
        if name == "components":
            rows = rows.filter(component="item")
        assert len(rows) > 0
        assert (rows["reason"] == SKEWED).fill_null(value=False).to_list() == [doubt] * len(rows)


@pytest.mark.parametrize("units", [6, 20, 200])
def test_intervals_of_means_are_as_long_as_those_of_student(units: int) -> None:
    values = np.random.default_rng(units).normal(size=units)
    sums = np.column_stack([values, np.ones(units)])
    low, high = Resampling().of_sums(sums, lambda sums: sums[:, 0] / sums[:, 1])
    expected = stats.t.interval(0.95, units - 1, values.mean(), values.std(ddof=1) / units**0.5)
    assert low is not None
    assert high is not None
    # A few values are skewed by chance, which the interval allows for.
    assert high - low == pytest.approx(expected[1] - expected[0], rel=0.05 if units > 6 else 0.15)


def test_intervals_reach_farther_to_the_side_to_which_the_estimate_strays() -> None:
    even, skewed = (interval(0.8, Spread(0.01, 30, third, 31), 0.95) for third in (0.0, 0.0002))
    assert even == pytest.approx((0.8 - 0.204, 0.8 + 0.204), abs=0.001)
    # An estimate that strays upwards is rarely far below the value: the interval reaches farther up than down.
    assert skewed[0] is not None
    assert skewed[1] is not None
    assert (skewed[0] > 0.596, skewed[1] > 1.005) == (True, True)
    assert interval(0.8, Spread(0.01, 30, 0.0002, 31), 0.95, (-1.0, 0.9)) == (skewed[0], 0.9)
    # However skewed, an interval has an end.
    low, high = interval(0.8, Spread(0.01, 30, 5.0, 31), 0.95)
    assert low is not None
    assert high is not None
    assert 0.5 < low < 0.8 < high < 2.0


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_few_units_that_decide_make_the_interval_long(confidence: float) -> None:
    alike, outlier = np.repeat([-1.0, 1.0], 10), np.append(np.zeros(19), 1.0)
    spreads = [Spread.without(values) for values in (alike, outlier)]
    assert [spread.freedom for spread in spreads if spread] == [19.0, 3.0]
    # Kinds of units are counted as often as there are units of them.
    assert Spread.without(np.array([-1.0, 1.0]), times=np.array([10, 10])) == spreads[0]


def test_the_interval_of_a_share_is_that_of_as_many_units_as_have_its_variance() -> None:
    replicates = np.random.default_rng(0).normal(0.1, 0.03, 200_000)  # the variance of a share of 100 units
    assert bootstrap_interval(replicates, 0.1, 10**6, 0.95, SHARES) == pytest.approx(wilson(10, 100, 0.95), abs=1e-3)
    assert bootstrap_interval(np.zeros(9), 0.0, 1500, 0.95, SHARES) == wilson(0, 1500, 0.95)


def test_the_row_says_why_its_interval_is_over_items() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (10, 20)).astype(float)
    three, four = (alpha(table[:raters], level="nominal", resamples=50).row(0, named=True) for raters in (3, 4))
    assert (three["over"], three["reason"]) == ("items", TOO_FEW_RATERS)
    assert (four["over"], four["reason"]) == ("both", None)
    asked = alpha(table[:3], level="nominal", resamples=50, ci="items").row(0, named=True)
    assert (asked["over"], asked["reason"]) == ("items", None)
    rater, item = (grid.ravel() for grid in np.indices(table.shape))
    rows = pl.DataFrame({"item": item, "rater": rater, "value": table.ravel()})
    streamed = alpha(rows.lazy(), level="nominal", resamples=50).row(0, named=True)
    assert (streamed["over"], streamed["reason"]) == ("items", NOT_HELD)


@pytest.mark.parametrize("name", ["alpha", "mean", "entropy", "fleiss", "pairwise"])
def test_one_item_has_no_interval_and_says_so(name: str) -> None:
    rows = pl.DataFrame({"item": "i", "rater": list("abcd"), "value": [1.0, 2.0, 2.0, 4.0]})
    measure = getattr(vantage.measures, name)
    row = measure(rows, **({"level": "ordinal"} if name == "alpha" else {})).row(0, named=True)
    assert (row["low"], row["reason"]) == (None, NOT_KNOWN)
    unasked = measure(rows, ci="none", **({"level": "ordinal"} if name == "alpha" else {})).row(0, named=True)
    assert (unasked["low"], unasked["reason"]) == (None, None)
