"""Scores where raters and items are crossed: of raters who judged different items, and of items that share raters.

Where raters judged different items, a rater's plain mean says as much about the items as about the rater. The score
is therefore the rater's effect in the crossed model *answer = rater + item + error*, raters fixed and items random
(generalised least squares; Searle, Casella and McCulloch 1992, chapter 7). It lies between the plain mean, which it is
where items hardly differ, and least squares within items, which it is where they differ much; unlike deviations from
item means it is not shrunk by the rater's own part of those means, and it uses what separate batches of items say.
Where all raters judged the same items, it is the plain mean.

A strict rater lowers every item that the rater judged. Two questions answered by the same people therefore have scores
whose errors are alike from item to item in both, and correlate by chance more often than independent items would
(as neighbouring places do on a map). The variance of such a correlation is tr(PVₓPVᵧ) / (tr PVₓ · tr PVᵧ), with the
covariances V of the scores and the centring P, and the number of independent items with the same variance is its
inverse plus one (Dutilleul 1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from vantage.measures.codes import dense, encode
from vantage.measures.ratings import UNIT, Floats, Ints
from vantage.measures.reliability.variance_design import VarianceDesign

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SMALLEST: Final = 1e-6
"""The least ratio of error to item variance; nothing is gained below, and the equations stay well-posed."""


def rater_scores(answered: pl.DataFrame, aggregate: str = "mean") -> pl.DataFrame:
    """The columns `rater` and `score`: what each rater would answer, on average, to the same items.

    The second rater was given the two items that everyone rates higher, and is in fact the stricter one.

    >>> answers = pl.DataFrame({"item": [1, 2, 3, 3, 4, 5, 1, 2, 3, 4, 5], "rater": [*"aaabbbccccc"],
    ...     "value": [1.0, 2, 4, 3, 4, 6, 1, 2, 4, 5, 7], "question": "", "condition": "", "sample": 0})
    >>> rater_scores(answers).with_columns(pl.col("score").round(1)).rows()
    [('a', 3.8), ('b', 2.8), ('c', 3.8)]
    """
    centre = pl.col("value").mean() if aggregate == "mean" else pl.col("value").median()
    if not is_complete(answered):
        answered = answered.with_columns(pl.Series("value", _without_items(answered)))
    return answered.group_by("rater").agg(centre.alias("score")).sort("rater")


def is_complete(answered: pl.DataFrame) -> bool:
    """Whether every rater answered every unit equally often, so that plain means can be compared."""
    sizes = answered.group_by([*UNIT, "rater"]).len()
    cells = answered.select(UNIT).unique().height * answered["rater"].n_unique()
    return len(sizes) == cells and sizes["len"].n_unique() <= 1


def _without_items(answered: pl.DataFrame) -> Floats:
    """The answers less the predicted effects of their items, around their own mean."""
    unit, units = dense(encode(answered, UNIT))
    rater, raters = dense(encode(answered, ["rater"]))
    value = answered["value"].to_numpy()
    middle = value.mean()
    ratio = _error_to_item(answered)
    if not np.isfinite(ratio):
        return value
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import cg

    met = coo_array((np.ones(len(unit)), (unit, rater)), (units, raters)).tocsr()
    weight = 1 / (np.bincount(unit, minlength=units) + ratio)
    given = np.bincount(rater, minlength=raters).astype(np.float64)
    # Items are eliminated; what is left has one equation per rater.
    left = diags_array(given) - met.T @ (diags_array(weight) @ met)
    right = _sums(rater, value - middle, raters) - met.T @ (weight * _sums(unit, value - middle, units))
    effect, _ = cg(left, right, rtol=1e-10, maxiter=10 * raters + 100, M=diags_array(1 / left.diagonal()))
    item = weight * _sums(unit, value - middle - effect[rater], units)
    return np.asarray(value - item[unit], dtype=np.float64)


def _error_to_item(answered: pl.DataFrame) -> float:
    """The error variance in units of the variance between items; infinite where items do not differ."""
    design = VarianceDesign.of(answered)
    if design.problem() is not None or design.variances[0] <= 0:
        return float("inf")
    return max(float(np.clip(design.variances[2:], 0, None).sum() / design.variances[0]), SMALLEST)


def _sums(code: Ints, values: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(code, weights=values, minlength=count), dtype=np.float64)


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
