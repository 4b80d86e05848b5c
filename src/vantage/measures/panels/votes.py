"""Error correlations of a panel, and how many independent votes its members are worth.

With error correlations R, a mean of votes with weights w has the variance wᵀRw of a single vote. The best weights that
are not negative give votes = 1 / min wᵀRw: a copy of a member adds 0, a member whose errors are unrelated to the
others' adds 1, and m members with the same correlation ρ have Kish's m / (1 + (m − 1) ρ) (Kish 1965, section 8.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vantage.measures.panels.answers import PanelAnswers
from vantage.measures.ratings import Floats


def effective_votes(correlation: Floats) -> float:
    """The effective number of votes of members whose errors correlate like this.

    >>> copy = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> round(effective_votes(np.eye(3)), 6), round(effective_votes(copy), 6)
    (3.0, 2.0)
    >>> round(effective_votes(np.full((4, 4), 0.5) + np.eye(4) / 2), 6)  # 4 / (1 + 3 × 0.5)
    1.6
    """
    from scipy.optimize import nnls

    if not np.isfinite(correlation).all():
        return float("nan")
    # max 1ᵀu − uᵀRu/2 over u ≥ 0 is a least-squares problem in a root of R; its solution adds up to the votes.
    d, axes = np.linalg.eigh(correlation)
    root = np.sqrt(np.maximum(d, 1e-9))
    weights, _ = nnls(root[:, None] * axes.T, axes.sum(axis=0) / root)
    return float(weights.sum())


def equal_votes(correlation: Floats) -> float:
    """The same where all members have the same weight: Kish's m² / Σ R.

    >>> equal_votes(np.eye(3))
    3.0
    """
    return float(len(correlation) ** 2 / correlation.sum())


@dataclass(frozen=True, slots=True)
class ErrorMoments:
    """Per-item sums from which the error correlations of any resample of items follow."""

    sums: Floats
    """One row per item: how many units, the sums of products of errors, of noise, and of errors."""
    members: int

    @classmethod
    def of(cls, answers: PanelAnswers) -> ErrorMoments:
        """The sums of a panel's answers."""
        m, units, _ = answers.errors.shape
        products = np.einsum("muc,nuc->umn", answers.errors, answers.errors).reshape(units, -1)
        errors = answers.errors.transpose(1, 0, 2).reshape(units, -1)
        columns = np.column_stack([np.ones(units), answers.noise, products, errors])
        sums = np.zeros((int(answers.item.max()) + 1, columns.shape[1]))
        np.add.at(sums, answers.item, columns)
        return cls(sums, m)

    def correlations(self, weight: Floats) -> Floats:
        """Error correlations for each row of item weights; NaN where a member's errors are not above people's noise."""
        m = self.members
        sums = weight @ self.sums
        n = sums[:, 0]
        products = (sums[:, 2 : 2 + m * m] / n[:, None]).reshape(-1, m, m)
        mean = (sums[:, 2 + m * m :] / n[:, None]).reshape(len(n), m, -1)
        covariance = (products - np.einsum("bmc,bnc->bmn", mean, mean)) * (n / (n - 1))[:, None, None]
        covariance -= (sums[:, 1] / n)[:, None, None]
        variance = np.einsum("bmm->bm", covariance)
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = np.sqrt(np.where(variance > 1e-12, variance, np.nan))
            matrix = covariance / (scale[:, :, None] * scale[:, None, :])
        # Sampling may push the correlation of two members that err alike beyond one.
        return np.asarray(np.clip(matrix, -1.0, 1.0))

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.sums)
