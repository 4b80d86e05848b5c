"""Closed forms: intervals of means, power of differences, and reliability, for items crossed with raters.

N items with K answers each by R raters: the mean of all answers varies by σ²ᵢ/N + σ²ᵣ/R + σ²ₑ/NK, a difference between
two halves of the raters by 4σ²ᵣ/R + 4σ²ₑ/NK and one between two halves of the items by 4σ²ᵢ/N + 4σ²ₑ/NK, where raters
of both groups judge the same items, and raters judge items of both groups (Westfall, Kenny and Judd 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from scipy.special import nctdtr, stdtrit

from vantage.measures.intervals import degrees_of_freedom
from vantage.measures.ratings import Floats

FEWEST: Final = 10
"""No plan has fewer items."""


@dataclass(frozen=True, slots=True)
class StudyLayout:
    """So many items, answers to each, and raters, who all give the same number of answers."""

    items: int
    per_item: int
    raters: int

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return self.items * self.per_item


def fewest_items(
    reached: Callable[[StudyLayout], bool], made: Callable[[int], StudyLayout], most: int
) -> StudyLayout | None:
    """The layout with the fewest items that reaches something; null where `most` are not enough.

    >>> fewest_items(lambda layout: layout.answers >= 100, lambda items: StudyLayout(items, 3, 10), 1000)
    StudyLayout(items=34, per_item=3, raters=10)
    """
    low, high = FEWEST, most
    if not reached(made(high)):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(made(middle)) else (middle + 1, high)
    return made(low)


def mean_variance(variances: Floats, layout: StudyLayout, *, saved: float = 0.0) -> tuple[Floats, Floats]:
    """The variance of the mean and its degrees of freedom, for rows of variances: item, rater, residual.

    `saved` is what a model that judges all items takes off the variance of items (see `powered`).
    """
    item, rater, residual = variances.T
    noise = residual / layout.answers
    items = np.maximum(item - saved, 0.0) / layout.items + noise
    raters = rater / layout.raters + noise
    total = items + raters - noise
    return total, degrees_of_freedom(total, (raters, max(layout.raters - 1, 1)), (items, max(layout.items - 1, 1)))


def mean_width(
    variances: Floats, layout: StudyLayout, confidence: float, *, share: float | None = None, saved: float = 0.0
) -> Floats:
    """The width of the interval of the mean over items and raters; of a share, that of Wilson (1927).

    >>> width = mean_width(np.array([[0.0, 0.0, 0.21]]), StudyLayout(400, 1, 400), 0.95, share=0.3)
    >>> from vantage.measures.intervals import wilson
    >>> low, high = wilson(120, 400, 0.95)
    >>> abs(float(width[0]) - (high - low)) < 1e-12
    True
    """
    total, freedom = mean_variance(variances, layout, saved=saved)
    if share is None:
        return np.asarray(2 * stdtrit(np.minimum(freedom, 1e9), (1 + confidence) / 2) * np.sqrt(total))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    n = share * (1 - share) / np.maximum(total, 1e-300)  # as many independent answers as would vary like this
    return np.asarray(2 * z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))


def difference_power(
    variances: Floats, layout: StudyLayout, delta: float, confidence: float, *, between: str
) -> Floats:
    """The power to find a difference between two halves of the `raters` or of the `items`."""
    item, rater, residual = variances.T
    within, units = (rater, layout.raters) if between == "raters" else (item, layout.items)
    variance = 4 * within / units + 4 * residual / layout.answers
    return power(delta, variance, np.full(len(variances), max(units - 2, 1), dtype=np.float64), confidence)


def power(delta: float, variance: Floats, freedom: Floats, confidence: float) -> Floats:
    """The power of a two-sided t test.

    >>> round(float(power(0.5, np.array([2 / 64]), np.array([126.0]), 0.95)[0]), 3)  # two groups of 64, d = 0.5
    0.801
    """
    away = abs(delta) / np.sqrt(np.maximum(variance, 1e-300))
    reach = stdtrit(freedom, (1 + confidence) / 2)
    chance = nctdtr(freedom, away, -reach) + 1 - nctdtr(freedom, away, reach)
    return np.where((away > 30) | ~np.isfinite(chance), 1.0, np.clip(chance, 0.0, 1.0))


def reliability(variances: Floats, layout: StudyLayout) -> Floats:
    """How reliable the mean of an item's answers is, where raters differ from item to item (see `d_study`)."""
    item, rater, residual = variances.T
    return np.asarray(item / np.maximum(item + (rater + residual) / layout.per_item, 1e-300))
