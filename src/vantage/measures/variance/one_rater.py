"""How reliable one rater is: the ground of split halves, and of means whose raters cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.intervals import Bootstrap, Limits, Spread, interval
from vantage.measures.ratings import Floats, Named, canonical
from vantage.measures.resampling import per_item
from vantage.measures.variance.variances import VarianceDesign, interval_of, shares, variance_draws

BELOW_ONE: Final[Limits] = (-np.inf, 1.0)


@dataclass(frozen=True, slots=True)
class OneRater:
    """The reliability of one rater's answers, by a one-way analysis of variance, with its interval."""

    reliability: float
    """ICC(1) of Shrout and Fleiss (1979), at least 0; NaN where the answers do not vary."""
    low: float | None
    high: float | None
    how: Bootstrap
    """What the interval is over in the end."""
    consistent: float | None
    """The reliability where everything is judged by the same raters, so that bias does not matter."""

    @classmethod
    def of(cls, answered: pl.DataFrame, how: Bootstrap, *, same_raters: bool = False) -> OneRater:
        """Over items by leaving them out, over raters or both from draws of the variance components.

        With `same_raters` the interval is that of the reliability without raters' bias.
        """
        sums = _item_sums(canonical(answered))
        one = float(np.maximum(one_way_reliability(sums.sum(axis=0)[None])[0], 0.0))
        design = VarianceDesign.of(answered)
        variances, consistent = design.variances, None
        if apart := bool(np.isfinite(variances).all()) and np.isfinite(one):
            item, _, *error = variances.tolist()
            consistent = item / max(item + sum(error), 1e-300)
        if apart and how.ci in ("raters", "both"):
            drawn = variance_draws(design, how.ci, seed=how.seed)
            if same_raters:
                drawn = np.delete(drawn, 1, axis=1)
            low, high = interval_of(shares(drawn)[:, 0], (consistent or 0.0) if same_raters else one, how.confidence)
            return cls(one, low, high, how, consistent)
        how = replace(how, ci="none" if how.ci == "none" or not np.isfinite(one) else "items")
        spread = None
        if how.ci == "items":
            kinds, times = np.unique(sums, axis=0, return_counts=True)
            rest = one_way_reliability(sums.sum(axis=0) - kinds)
            spread = Spread.without(np.maximum(rest, 0), BELOW_ONE, times)
        low, high = interval(one, spread, how.confidence, BELOW_ONE)
        return cls(one, low, high, how, consistent)

    def carried(self, estimate: float, *, same_raters: bool = False) -> dict[str, Any]:
        """The interval of another coefficient of the same answers, such as that of their halves.

        The coefficient is taken for the reliability of as many raters as make it out of that of one; the same number
        makes its bounds out of the bounds. Where one of the two is not positive there is none.
        """
        one = self.consistent if same_raters and self.how.ci in ("raters", "both") else self.reliability
        if one is None or self.low is None or self.high is None or not (0 < one < 1 and 0 < estimate < 1):
            return {"low": None, "high": None}
        raters = estimate * (1 - one) / (one * (1 - estimate))
        return self.how.stated((stepped_up(min(self.low, one), raters), stepped_up(max(self.high, one), raters)))


def stepped_up(reliability: float, k: float) -> float:
    """The reliability of the mean of k raters, each as reliable as one (Spearman 1910; Brown 1910).

    >>> stepped_up(0.5, 3)
    0.75
    """
    return k * reliability / (1 + (k - 1) * reliability)


def _item_sums(named: Named) -> Floats:
    """Per item the sums over its units that the variance components are made of."""
    unit, units = named.ratings.unit, named.ratings.units
    value = named.ratings.value - named.ratings.value.mean()
    value[np.abs(value) < 1e-12 * np.abs(named.ratings.value).max()] = 0.0  # rounding is not variance
    n = np.bincount(unit, minlength=units).astype(np.float64)
    total = np.bincount(unit, value, minlength=units)
    squares = np.bincount(unit, value * value, minlength=units)
    columns = np.column_stack([np.ones(units), n, n * n, total, total * total / n, squares])
    return per_item(named.units["item"], columns)


def one_way_reliability(sums: Floats) -> Floats:
    """ICC(1) with Donner's (1986) mean group size, of each row of sums over units; NaN where the answers do not vary.

    The sums are of ones, of the number of answers to a unit and its square, of their total and its square over their
    number, and of their squares.
    """
    units, n, n_squared, total, between, squares = sums.T
    defined = (units > 1) & (n > units)
    units, within_df = np.where(defined, units, 2), np.where(defined, n - units, 1)
    between_ms = (between - total * total / n) / (units - 1)
    within_ms = np.maximum(squares - between, 0) / within_df
    size = (n - n_squared / n) / (units - 1)
    variance = between_ms + (size - 1) * within_ms
    defined &= variance > 1e-12 * squares / n
    undefined = np.full(len(sums), np.nan)
    reliability: Floats = np.divide(between_ms - within_ms, variance, out=undefined, where=defined)
    return reliability
