"""The linear algebra of crossed random effects, against the matrices written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vantage.measures.models import crossed
from vantage.measures.models.crossed import Crossed, Factored
from vantage.measures.models.gaussian import Gaussian, GaussianFit, _newton
from vantage.measures.ratings import Floats, Ints


def designs() -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    n = 120
    item, rater = rng.integers(0, 15, n), rng.integers(0, 8, n)
    group = rater % 2
    within = np.unique(item * 2 + group, return_inverse=True)[1]
    pair = np.unique(item * 8 + rater, return_inverse=True)[1]
    return {
        "two factors": [item, rater],
        "item × group": [item, within, rater],
        "a chain of three": [item, within, pair, rater, group],
        "two raters without an effect": [item, np.where(rater < 2, -1, rater - 2)],
        "more raters than items": [item, rng.integers(0, 40, n)],
    }


@pytest.fixture(autouse=True)
def chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small designs have chains too."""
    monkeypatch.setattr(crossed, "FEW_COLUMNS", 0)


def dense(codes: list[Any], theta: Any, weight: Any) -> tuple[Any, list[Any]]:
    """V and the indicator matrices."""
    indicators = [np.where(code[:, None] >= 0, code[:, None] == np.arange(code.max() + 1), 0.0) for code in codes]
    covariance = np.diag(1 / weight) + sum(t**2 * z @ z.T for t, z in zip(theta, indicators, strict=True))
    return covariance, indicators


@pytest.mark.parametrize("name", designs())
def test_everything_equals_the_matrices_written_out(name: str) -> None:
    codes, rng = designs()[name], np.random.default_rng(1)
    n = len(codes[0])
    theta, weight, residual = rng.uniform(0.3, 1.5, len(codes)), rng.uniform(0.3, 2, n), rng.normal(size=n)
    covariance, indicators = dense(codes, theta, weight)
    inverse = np.linalg.inv(covariance)
    design = Crossed(codes)
    found = Factored(design, theta, weight)
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(covariance)[1] + np.log(weight).sum())
    sides = rng.normal(size=(n, 3))
    weighted = weight[:, None] * sides
    sums = design.sums(design.chain[0], weighted), design.rest_sums(weighted), sides.T @ weighted
    np.testing.assert_allclose(found.quadratic(*sums), sides.T @ inverse @ sides, atol=1e-10)
    random = covariance - np.diag(1 / weight)
    np.testing.assert_allclose(found.predictor_variance(), np.diagonal(random - random @ inverse @ random), atol=1e-10)
    for k, (t, z) in enumerate(zip(theta, indicators, strict=True)):
        np.testing.assert_allclose(
            found.effects(residual)[k][: z.shape[1]], t**2 * z.T @ inverse @ residual, atol=1e-10
        )
        expected = t**2 - t**4 * np.diagonal(z.T @ inverse @ z)
        np.testing.assert_allclose(found.level_variance(k)[: z.shape[1]], expected, atol=1e-10)


@pytest.mark.parametrize("name", designs())
def test_designs_too_large_to_factorise_are_solved_by_iteration(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = designs()[name]
    theta, weight = np.full(len(codes), 0.7), np.ones(len(codes[0]))
    exact = Factored(Crossed(codes), theta)
    residual = np.random.default_rng(2).normal(size=len(weight))
    effects = exact.effects(residual)
    monkeypatch.setattr(crossed, "DENSE", 0)
    monkeypatch.setattr(crossed, "PROBES", 400)
    found = Factored(Crossed(codes), theta)
    assert found.log_determinant == pytest.approx(exact.log_determinant, abs=0.1)
    for one, other in zip(found.effects(residual), effects, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_separate_parts_of_a_design_are_found() -> None:
    assert Crossed([np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])]).components().tolist() == [0, 0, 0, 1]


def test_newton_steps_find_the_same_minimum_as_the_search() -> None:
    rng = np.random.default_rng(2)
    item, rater = (grid.ravel() for grid in np.indices((60, 12)))
    value = rng.normal(size=60)[item] + 0.6 * rng.normal(size=12)[rater] + rng.normal(size=720)
    model = Gaussian(value, np.ones((720, 1)), Crossed([item, rater]))

    def deviance(theta: Floats) -> float:
        return GaussianFit(model, theta, np.arange(1)).deviance

    assert _newton(deviance, np.array([0.4, 2.0])) == pytest.approx(model.fit(np.ones(2)).theta, rel=1e-4)
    flat = Gaussian(rng.normal(size=720), np.ones((720, 1)), Crossed([item, rater]))
    tends_to_zero = _newton(lambda theta: GaussianFit(flat, theta, np.arange(1)).deviance, np.ones(2))
    assert tends_to_zero is None or tends_to_zero.min() > 0.01


@pytest.mark.parametrize("strata", [None, {1: np.arange(40) % 2}], ids=["one spread", "spreads by group"])
@pytest.mark.parametrize("groups", [1, 2, 4], ids=["items", "items by two groups", "items by four groups"])
def test_a_design_in_sums_of_products_is_the_design_itself(groups: int, strata: dict[int, Ints] | None) -> None:
    rng = np.random.default_rng(groups)
    item = np.repeat(np.arange(250), rng.integers(1, 6, 250))
    rater = rng.integers(0, 40, len(item))
    codes = (
        [item, rater]
        if groups == 1
        else [item, rater, np.unique(item * groups + rater % groups, return_inverse=True)[1]]
    )
    design = Crossed(codes, strata)
    assert len(design.chain) == (1 if groups == 1 else 2)
    value = rng.normal(size=250)[item] + rng.normal(size=len(item))
    model = Gaussian(value, np.column_stack([np.ones(len(item)), rater % 2]), design)
    theta = rng.uniform(0.2, 1.0, design.parameters)
    assert model._grams is not None
    factored = Factored(design, theta)
    log_determinant, products = model.profiled(theta)
    assert log_determinant == pytest.approx(factored.log_determinant, rel=1e-12)
    assert products == pytest.approx(factored.quadratic(model._first, model._rest, model._inner), rel=1e-9, abs=1e-9)
    kept = np.arange(2)
    deviance, slope = model.descent(theta, kept)
    assert deviance == pytest.approx(GaussianFit(model, theta, kept).deviance, rel=1e-12)
    steps = np.eye(len(theta)) * 1e-6
    by_steps = [model.descent(theta + s, kept)[0] - model.descent(theta - s, kept)[0] for s in steps]
    assert slope == pytest.approx(np.array(by_steps) / 2e-6, rel=1e-5, abs=1e-4)
