"""The answers as a mean plus crossed random effects, their variances, and what they do to correlations.

By Henderson's Method I sums of squares by factor are set equal to their expectations, which are linear in the variances
also when the design is unbalanced (Henderson 1953; Searle, Casella and McCulloch 1992, section 5.3). The work is linear
in the answers.

A strict rater lowers every item that the rater judged. Two questions answered by the same people therefore have scores
whose errors are alike from item to item in both, and correlate by chance more often than independent items would
(as neighbouring places do on a map). The variance of such a correlation is tr(PVₓPVᵧ) / (tr PVₓ · tr PVᵧ), with the
covariances V of the scores and the centring P, and the number of independent items with the same variance is its
inverse plus one (Dutilleul 1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from vantage.measures.codes import dense
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.gaussian import Gaussian
from vantage.measures.ratings import UNIT, By, Floats, Ints
from vantage.measures.resampling import item_codes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MANY: Final = 200_000
"""From more answers than this on the method of moments is precise enough, and quicker."""
FITS: Final = 64
"""The variances of so many tables are kept, since a report asks for the same ones several times."""
_FITTED: Final[dict[bytes, Floats]] = {}


@dataclass(frozen=True, slots=True)
class Factor:
    """A random effect: which of its levels each answer has, and whether a level belongs to one item."""

    name: str
    code: Ints
    levels: int
    in_item: bool

    @classmethod
    def of(cls, name: str, code: Ints, in_item: bool) -> Factor:
        """A factor with its levels renumbered."""
        code, levels = dense(code)
        return cls(name, code, levels, in_item)


@dataclass(frozen=True)
class VarianceDesign:
    """The answers, in the order of units, raters and samples, with their level of every factor."""

    value: Floats
    factors: list[Factor]

    @classmethod
    def of(cls, used: pl.DataFrame, traits: list[str] | None = None, interaction: bool = False) -> VarianceDesign:
        """The factors that a table of answers has."""
        used = used.sort([*UNIT, "rater", "sample"])
        unit = _code(used, UNIT)
        rater = _code(used, ["rater"])
        factors = [Factor.of("item", unit, True), Factor.of("rater", rater, False)]
        for name in traits or ():
            code = _code(used, [name])
            factors.append(Factor.of(name, code, False))
            if interaction:
                factors.append(Factor.of(f"item × {name}", crossed_codes(unit, code), True))
        pairs = Factor.of("item × rater", crossed_codes(unit, rater), True)
        if pairs.levels < len(used):
            factors.append(pairs)
        value = used["value"].to_numpy()
        return cls(value - value.mean() if len(value) else value, factors)

    @property
    def names(self) -> list[str]:
        """The components, the residual last."""
        return [*(factor.name for factor in self.factors), "residual"]

    def problem(self) -> str | None:
        """Why the components cannot be estimated, if so."""
        for factor in self.factors:
            if factor.levels < 2:
                return f"there are fewer than two levels of {factor.name}"
        return None if np.isfinite(self.variances).all() else "the design cannot tell the components apart"

    @cached_property
    def variances(self) -> Floats:
        """One variance per component, unbiased and therefore negative at times; NaN where they cannot be told apart."""
        n = len(self.value)
        count = len(self.factors)
        # Rows: the sum of squares of each factor, then of the single answers; columns: each variance.
        left, right = np.full((count + 1, count + 1), float(n)), np.empty(count + 1)
        sizes = [np.bincount(factor.code, minlength=factor.levels).astype(np.float64) for factor in self.factors]
        for row, factor in enumerate(self.factors):
            totals = np.bincount(factor.code, weights=self.value, minlength=factor.levels)
            right[row], left[row, -1] = (totals**2 / sizes[row]).sum(), factor.levels
            for column, other in enumerate(self.factors):
                level, shared = _cells(factor.code, other.code)
                left[row, column] = (shared**2 / sizes[row][level]).sum()
        right[-1] = (self.value**2).sum()
        left[:, :-1] -= [float((size**2).sum()) / n for size in sizes]
        left[:, -1] -= 1.0
        right -= self.value.sum() ** 2 / n
        if np.linalg.cond(left / np.abs(left).max()) >= 1e10:
            return np.full(count + 1, np.nan)
        return np.asarray(np.linalg.solve(left, right))

    @property
    def complete(self) -> bool:
        """Whether every rater answered every item equally often."""
        item, rater = self.factors[:2]
        sizes = np.unique(crossed_codes(item.code, rater.code), return_counts=True)[1]
        return len(sizes) == item.levels * rater.levels and int(sizes.min()) == int(sizes.max())

    def best(self) -> Floats:
        """Restricted maximum likelihood where the table has gaps; moments where it has none, or very many answers.

        Without gaps the two are the same but for negative variances; with very many answers both are precise.
        """
        moments = self.variances
        if not np.isfinite(moments).all() or np.ptp(self.value) == 0 or len(self.value) > MANY or self.complete:
            return moments
        return self.likeliest()

    def likeliest(self) -> Floats:
        """The variances of restricted maximum likelihood, none below zero; the same answers are fitted once."""
        digest = blake2b(self.value.tobytes(), digest_size=16)
        for factor in self.factors:
            digest.update(factor.code.tobytes())
        key = digest.digest()
        if (known := _FITTED.get(key)) is None:
            known = _FITTED[key] = self._fitted()
            for old in list(_FITTED)[:-FITS]:
                _FITTED.pop(old, None)
        return known.copy()

    def _fitted(self) -> Floats:
        start = np.nan_to_num(self.variances, nan=float(self.value.var()))
        ratio = np.clip(start[:-1], 0, None) / max(start[-1], 1e-3 * start.max(), 1e-12)
        design = Crossed([factor.code for factor in self.factors])
        return Gaussian(self.value, np.ones((len(self.value), 1)), design).fit(np.sqrt(ratio)).variances


def shares(variances: Floats) -> Floats:
    """Each component's share of the total, one row per row of variances; negative ones count as zero."""
    positive = np.clip(variances, 0, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _cells(code: Ints, other: Ints) -> tuple[Ints, Floats]:
    """Each pair of levels that occurs: its level of the first factor, and its size."""
    pair = crossed_codes(code, other)
    codes, size = np.unique(pair, return_counts=True)
    return codes // (int(other.max(initial=0)) + 1), size.astype(np.float64)


def _code(used: pl.DataFrame, columns: By) -> Ints:
    """Codes in the order of the values, whatever the order of the rows."""
    return item_codes(used.select(pl.struct(list(columns)).rank("dense").alias("code"))["code"])[0]


def crossed_codes(first: Ints, second: Ints) -> Ints:
    """One code for each pair of codes."""
    return first * (int(second.max(initial=0)) + 1) + second


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
