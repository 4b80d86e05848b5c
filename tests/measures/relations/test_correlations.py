"""The three correlation coefficients, plain and under weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vantage.measures.relations import correlations
from vantage.measures.relations.correlations import (
    CORRELATIONS,
    coefficient,
    p_value,
    pearson_of_sums,
    pearson_rows,
    weighted_correlation,
)

PEERS: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}

columns = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=12)


@given(columns, st.sampled_from(CORRELATIONS))
def test_coefficients_and_p_values_agree_with_scipy(rows: list[tuple[int, int]], method: Any) -> None:
    x, y = np.array(rows, dtype=float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(coefficient(x, y, method))
        assert p_value(x, y, method) is None
        return
    peer = PEERS[method](x, y)
    assert coefficient(x, y, method) == pytest.approx(peer[0], abs=1e-9)
    perfect = method == "spearman" or (method == "pearson" and abs(peer[0]) > 1 - 1e-12)
    least = 2 / math.factorial(len(x)) if perfect else 0.0  # of all orders, two are perfect
    assert p_value(x, y, method) == pytest.approx(max(peer[1], least), abs=1e-6)


@settings(max_examples=30)
@given(columns, st.sampled_from(CORRELATIONS), st.integers(0, 5))
def test_weights_mean_repeated_rows(rows: list[tuple[int, int]], method: Any, seed: int) -> None:
    x, y = np.array(rows, dtype=float).T
    weight = np.random.default_rng(seed).integers(0, 3, (4, len(x))).astype(float)
    weight[:, 0] += 1
    found = weighted_correlation(x, y, weight, method)
    for row, estimate in zip(weight.astype(int), found, strict=True):
        repeated = coefficient(np.repeat(x, row), np.repeat(y, row), method)
        assert estimate == pytest.approx(repeated, abs=1e-9, nan_ok=True)


def test_kendall_of_many_distinct_pairs_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    weight = rng.integers(1, 3, (3, 30)).astype(float)
    few = weighted_correlation(x, y, weight, "kendall")
    monkeypatch.setattr(correlations, "_CELLS", 5)
    assert weighted_correlation(x, y, weight, "kendall") == pytest.approx(few)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_a_column_that_does_not_vary_has_no_correlation(method: Any) -> None:
    for constant in (0.1, 1e6 + 0.1, -3.3):
        assert np.isnan(coefficient(np.full(3, constant), np.array([1.0, 2.0, 4.0]), method))
    assert np.isclose(coefficient(1e6 + np.array([0.0, 0.01, 0.03]), np.array([0.0, 1.0, 3.0]), method), 1.0)


def test_sums_give_the_same_correlation_as_rows() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4, 9))
    sums = [side.sum(axis=1) for side in (x, y, x * x, y * y, x * y)]
    assert pearson_of_sums(9, *sums) == pytest.approx(pearson_rows(x, y, (0.0, 0.0)), abs=1e-12)
    assert pearson_rows(x, y, (0.0, 0.0))[0] == pytest.approx(stats.pearsonr(x[0], y[0]).statistic, abs=1e-12)
    # Each side must vary by more than what is negligible for it.
    for negligible, known in (((0.5, 0.5), True), ((2.0, 0.5), False), ((0.5, 2.0), False)):
        given = pearson_rows(x[:1] / x[:1].std(), y[:1] / y[:1].std(), negligible)
        assert np.isfinite(given).tolist() == [known]
