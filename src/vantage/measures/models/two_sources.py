"""Regression with two sources of answers: people's to some items, a model's to all, in one loss.

The loss is people's, plus λ times the model's on the other items less the model's on people's items (PPI++;
Angelopoulos, Duchi and Zrnic 2023). With λ = 0 it is the plain regression. Variances are sandwiches over items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from vantage.measures.powered.prediction import power_tuned_along
from vantage.measures.ratings import Floats

STEPS: Final = 100
"""How many steps of Newton's method are made at most."""
FARTHEST: Final = 30.0
"""A logistic coefficient beyond this has no limit."""


@dataclass(frozen=True, eq=False)
class Loss:
    """People's items with columns `x`, answers `y` and weights, and the model's answers to them and to others."""

    x: Floats
    y: Floats
    weight: Floats
    logistic: bool
    said: Floats | None = None
    other_x: Floats | None = None
    other_said: Floats | None = None

    def solved(self, lam: float) -> Floats:
        """The coefficients at which the loss is smallest; NaN where there is no single minimum."""
        if not self.logistic:
            return np.asarray(np.sum([_least_squares(*part) for part in self._linear(lam)], axis=0))
        sides = self._sides(lam)
        theta = np.zeros(self.x.shape[1]) if lam == 0 else self.solved(0.0)
        for _ in range(STEPS):
            gradient, hessian = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
            for x, y, w, scale in sides:
                mean = expit(x @ theta)
                gradient += scale * x.T @ (w * (mean - y)) / len(y)
                hessian += scale * (x.T * (w * mean * (1 - mean))) @ x / len(y)
            try:
                step = np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                return np.full(len(theta), np.nan)
            theta = theta - step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
            if np.abs(step).max() < 1e-12:
                return theta if np.abs(theta).max() < FARTHEST else np.full(len(theta), np.nan)
        return np.full(len(theta), np.nan)

    def fit(self, lam: float | None = None) -> Fit:
        """Coefficients and their variances, with the λ given or the best one."""
        if self.said is None or self.other_x is None:
            lam = 0.0
        if lam is None:
            starts = [theta for theta in (self.solved(1.0), self.solved(0.0)) if np.isfinite(theta).all()]
            lam = self._parts(starts[0], use=True).lam if starts else 0.0
        theta = self.solved(lam)
        if not np.isfinite(theta).all():
            return Fit(theta, np.full((len(theta), len(theta)), np.nan), lam)
        return Fit(theta, self._parts(theta, use=lam > 0).covariance(lam), lam)

    def _sides(self, lam: float) -> list[tuple[Floats, Floats, Floats, float]]:
        """Columns, answers, weights and sign of each part of the loss."""
        sides = [(self.x, self.y, self.weight, 1.0)]
        if lam and self.said is not None and self.other_x is not None and self.other_said is not None:
            sides.append((self.x, self.said, self.weight, -lam))
            sides.append((self.other_x, self.other_said, np.ones(len(self.other_x)), lam))
        return sides

    def _linear(self, lam: float) -> list[tuple[Floats, Floats, Floats]]:
        """Columns, answers and weights of the regressions whose coefficients add up."""
        if not lam or self.said is None or self.other_x is None or self.other_said is None:
            return [(self.x, self.y, self.weight)]
        others = (self.other_x, lam * self.other_said, np.ones(len(self.other_x)))
        return [(self.x, self.y - lam * self.said, self.weight), others]

    def _parts(self, theta: Floats, *, use: bool) -> _Gradients:
        """The gradients of every item's loss, and the inverse of the mean curvature."""

        def mean(x: Floats) -> Floats:
            return np.asarray(expit(x @ theta) if self.logistic else x @ theta)

        def curvature(x: Floats, w: Floats) -> Floats:
            m = mean(x)
            return np.asarray((x.T * (w * (m * (1 - m) if self.logistic else 1.0))) @ x)

        hessian, n, middle = curvature(self.x, self.weight), len(self.x), mean(self.x)
        # Items that draw the fit to themselves have small residuals (HC3; MacKinnon and White 1985).
        drawn = np.einsum("ij,jk,ik->i", self.x, _inverse(hessian), self.x) * self.weight
        drawn *= middle * (1 - middle) if self.logistic else 1.0
        larger = 1 / np.maximum(1 - drawn, 1 / n)
        own = self.weight[:, None] * self.x * (middle - self.y)[:, None]
        if not use or self.said is None or self.other_x is None or self.other_said is None:
            return _Gradients(own, np.zeros_like(own), np.zeros((2, own.shape[1])), _inverse(hessian / n), larger)
        hessian = hessian + curvature(self.other_x, np.ones(len(self.other_x)))
        said = self.weight[:, None] * self.x * (middle - self.said)[:, None]
        other = self.other_x * (mean(self.other_x) - self.other_said)[:, None]
        return _Gradients(own, said, other, _inverse(hessian / (n + len(other))), larger)


@dataclass(frozen=True, eq=False)
class _Gradients:
    """The gradients of people's answers, of the model's to the same items, and of the model's to the others."""

    own: Floats
    said: Floats
    other: Floats
    inverse: Floats
    larger: Floats
    """What the gradients of people's items are multiplied by in variances."""

    @property
    def lam(self) -> float:
        """The weight of the model for which the variances of the coefficients have the smallest sum."""
        return power_tuned_along(self.own, self.said, self.other, self.inverse)

    def covariance(self, lam: float) -> Floats:
        """The variances and covariances of the coefficients over items."""
        n, others = len(self.own), len(self.other)
        mine = (self.own - lam * self.said) * self.larger[:, None]
        middle = np.cov(mine, rowvar=False) + n / others * np.cov(lam * self.other, rowvar=False)
        return np.asarray(self.inverse @ np.atleast_2d(middle) @ self.inverse / n)


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, their covariance over items, and the weight of the model."""

    coefficients: Floats
    covariance: Floats
    lam: float


def _least_squares(x: Floats, y: Floats, w: Floats) -> Floats:
    """Weighted least squares; NaN where columns depend on each other."""
    root = np.sqrt(w)[:, None]
    if np.linalg.matrix_rank(root * x) < x.shape[1]:
        return np.full(x.shape[1], np.nan)
    return np.asarray(np.linalg.lstsq(root * x, root[:, 0] * y, rcond=None)[0])


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
