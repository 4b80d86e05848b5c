"""Votes: one value per unit from its answers, with a named rule for ties.

Each function returns two arrays, the units' values and the shares of answers that agree with them, with NaN
where a rule leaves a unit without a value.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from vantage.measures.ratings import Floats, Ratings

Ties: TypeAlias = Literal["none", "neutral", "random", "lowest"]
"""No value, the neutral point, one of the tied answers after a seed, or the lowest of them."""


def majority(ratings: Ratings, *, strict: bool, ties: Ties, neutral: float, seed: int) -> tuple[Floats, Floats]:
    """The most frequent answer of each unit.

    It is a tie when several answers are equally frequent; with `strict`, when none has more than half.

    >>> unit, rater = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1])
    >>> ratings = Ratings.of(unit, rater, np.array([2.0, 2, 3, 2, 3]))
    >>> majority(ratings, strict=False, ties="lowest", neutral=0.0, seed=0)
    (array([2., 2.]), array([0.66666667, 0.5       ]))
    """
    classes, code = np.unique(ratings.value, return_inverse=True)
    cells, count = np.unique(ratings.unit * len(classes) + code.reshape(-1), return_counts=True)
    unit, answer = cells // len(classes), classes[cells % len(classes)]
    begin = np.searchsorted(unit, np.arange(ratings.units))
    most, n = np.maximum.reduceat(count, begin), np.add.reduceat(count, begin)
    leads = np.flatnonzero(count == most[unit])
    leaders = np.bincount(unit[leads], minlength=ratings.units)
    tied = 2 * most <= n if strict else leaders > 1
    lead = np.cumsum(leaders) - leaders
    if ties == "random":
        lead = lead + np.random.default_rng(seed).integers(0, leaders)
    value, agreeing = answer[leads[lead]], most.astype(np.float64)
    if ties == "none":
        value[tied] = agreeing[tied] = np.nan
    elif ties == "neutral":
        value[tied] = neutral
        agreeing[tied] = np.bincount(unit, count * (answer == neutral), minlength=ratings.units)[tied]
    return value, agreeing / n


def signs(ratings: Ratings, *, ties: Ties, seed: int) -> tuple[Floats, Floats]:
    """The sign of (positive answers − negative answers) of each unit; zeros have no say.

    It is a tie when there are as many positive as negative answers, and some; a unit of zeros is zero.

    >>> unit, rater = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1])
    >>> ratings = Ratings.of(unit, rater, np.array([0.0, 0, 3, -1, 1]))
    >>> signs(ratings, ties="neutral", seed=0)
    (array([1., 0.]), array([0.33333333, 0.        ]))
    """
    above = np.bincount(ratings.unit, ratings.value > 0, minlength=ratings.units)
    below = np.bincount(ratings.unit, ratings.value < 0, minlength=ratings.units)
    n = np.bincount(ratings.unit, minlength=ratings.units)
    value = np.sign(above - below)
    tied = (value == 0) & (above > 0)
    if ties == "none":
        value[tied] = np.nan
    elif ties == "lowest":
        value[tied] = -1.0
    elif ties == "random":
        value[tied] = 2.0 * np.random.default_rng(seed).integers(0, 2, ratings.units)[tied] - 1.0
    agreeing = np.where(value > 0, above, np.where(value < 0, below, n - above - below))
    return value, np.where(np.isnan(value), np.nan, agreeing / n)


def centre(ratings: Ratings, *, median: bool) -> Floats:
    """The mean, or the median, of each unit's answers."""
    count = np.bincount(ratings.unit, minlength=ratings.units)
    if not median:
        return np.bincount(ratings.unit, ratings.value, minlength=ratings.units) / count
    rising = ratings.value[np.lexsort((ratings.value, ratings.unit))]
    start = np.cumsum(count) - count
    middle: Floats = (rising[start + (count - 1) // 2] + rising[start + count // 2]) / 2
    return middle
