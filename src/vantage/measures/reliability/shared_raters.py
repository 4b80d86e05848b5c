"""How many independent items a correlation of item scores rests on, when items share their raters.

A strict rater lowers every item that the rater judged. Two questions answered by the same people therefore have scores
whose errors are alike from item to item in both, and correlate by chance more often than independent items would
(as neighbouring places do on a map). The variance of such a correlation is tr(PVₓPVᵧ) / (tr PVₓ · tr PVᵧ), with the
covariances V of the scores and the centring P, and the number of independent items with the same variance is its
inverse plus one (Dutilleul 1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vantage.measures.ratings import Floats
from vantage.measures.reliability.variance_design import VarianceDesign

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True)
class Covariance:
    """The covariance of item scores: a diagonal, and what each rater adds to all items that the rater judged."""

    diagonal: Floats
    raters: csr_array
    """Items × raters: the rater's share of the item's answers, times the standard deviation of raters."""

    @classmethod
    def of(cls, answers: pl.DataFrame, units: pl.DataFrame, raters: pl.DataFrame) -> Covariance | None:
        """Of the scores of these units on one question; null where its variances cannot be estimated."""
        from scipy.sparse import coo_array

        design = VarianceDesign.of(answers)
        if design.problem() is not None:
            return None
        item, rater = np.clip(design.variances[:2], 0, None).tolist()
        error = float(np.clip(design.variances[2:], 0, None).sum())
        placed = answers.join(units, on=["item", "condition"]).join(raters, on="rater")
        unit, who = placed["__unit"].to_numpy(), placed["__rater"].to_numpy()
        size = np.bincount(unit, minlength=len(units)).astype(np.float64)
        share = np.sqrt(rater) / size[unit]
        return cls(item + error / size, coo_array((share, (unit, who)), (len(units), len(raters))).tocsr())

    def times(self, vector: Floats) -> Floats:
        """The product with a vector."""
        return np.asarray(self.diagonal * vector + self.raters @ (self.raters.T @ vector))

    def trace(self) -> float:
        """The trace after centring."""
        whole = float(self.diagonal.sum() + self.raters.multiply(self.raters).sum())
        return whole - float(self.times(np.ones(len(self.diagonal))).sum()) / len(self.diagonal)


def independent_items(x: Covariance, y: Covariance) -> float:
    """The number of independent items whose correlation would vary as much; at most as many as there are."""
    n = len(x.diagonal)
    squares = x.diagonal @ y.diagonal + (x.raters.T @ y.raters).power(2).sum()
    squares += x.diagonal @ np.asarray(y.raters.multiply(y.raters).sum(axis=1)).ravel()
    squares += y.diagonal @ np.asarray(x.raters.multiply(x.raters).sum(axis=1)).ravel()
    ones = np.ones(n)
    left, right = x.times(ones), y.times(ones)
    centred = float(squares) - 2 / n * float(left @ right) + float(left.sum() * right.sum()) / n**2
    both = x.trace() * y.trace()
    return float(np.clip(1 + both / centred, 3.0, n)) if centred > 0 and both > 0 else float(n)
