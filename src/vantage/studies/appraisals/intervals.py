"""Intervals of the study's statistics over posts, all resamples at once: weights × sums of each post.

Ratings of one post, and rationales about it, are not independent, so posts are what is drawn (Efron and Tibshirani
1993); a post that is drawn twice counts twice with everything that belongs to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vantage.measures.correlations import weighted_correlation
from vantage.measures.intervals import Bounds, percentile
from vantage.measures.ratings import Floats, Ints
from vantage.measures.resampling import Resampling, ratio
from vantage.studies.appraisals.coding import Along, Method, lines

_SPREAD = 1e-9
"""A variance below this is that of equal numbers."""


def mean_interval(cells: Floats, how: Resampling) -> Bounds:
    """The interval of the mean of the cells that are there, with a row of cells for each post.

    >>> mean_interval(np.array([[1.0, np.nan], [1.0, 1.0]]), Resampling(resamples=20))
    (1.0, 1.0)
    """
    flat = cells.reshape(len(cells), -1)
    sums = np.column_stack([np.nansum(flat, axis=1), (~np.isnan(flat)).sum(axis=1)])
    return how.of_sums(sums, ratio)


def correlation_interval(
    runs: Sequence[Floats], gold: Floats, along: Along, how: Resampling, method: Method = "pearson"
) -> Bounds:
    """The interval of `coding.correlation`, averaged over runs.

    >>> one = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0]])
    >>> low, high = correlation_interval([one], one, "all", Resampling(resamples=20))
    >>> round(low, 6), round(high, 6)
    (1.0, 1.0)
    """

    def statistic(weight: Floats) -> Floats:
        each = [_correlations(run, gold, along, weight, method) for run in runs]
        return known_means(np.column_stack(each))[:, None]

    return how.intervals(len(gold), statistic)[0]


def clustered(one: Floats, two: Floats, posts: Ints, how: Resampling) -> tuple[Bounds, float | None]:
    """The interval of a correlation over texts, and its p value, where texts share posts.

    The p value is that of Fisher's z over its standard error between resamples of posts, by Student's t with one degree
    of freedom less than there are posts. It is null without resamples.

    >>> bounds, p = clustered(np.arange(8.0), np.arange(8.0) % 4, np.arange(8) // 2, Resampling(resamples=50))
    >>> bounds[0] < bounds[1], 0 < p < 1
    (True, True)
    """
    from scipy.stats import t

    count = int(posts.max()) + 1
    drawn = [weighted_correlation(one, two, weight[:, posts], "pearson") for weight in how.draws(count)]
    if not drawn:
        return (None, None), None
    replicates = np.concatenate(drawn)
    known = replicates[~np.isnan(replicates)]
    estimate = float(weighted_correlation(one, two, np.ones((1, len(one))), "pearson")[0])
    if len(known) < 2:
        return (None, None), None
    # Texts of which all resamples agree perfectly have no spread on Fisher's scale; the bound keeps it finite.
    error = float(np.std(np.arctanh(np.clip(known, -_MOST, _MOST)), ddof=1))
    z = float(np.arctanh(np.clip(estimate, -_MOST, _MOST)))
    p = None if error < _SPREAD else float(2 * t.sf(abs(z) / error, count - 1))
    return percentile(replicates, how.confidence), p


_MOST = 1 - 1e-9


def known_means(values: Floats) -> Floats:
    """The mean of each row over what is known; NaN where nothing is.

    >>> known_means(np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])).tolist()
    [2.0, nan]
    """
    known = ~np.isnan(values)
    return ratio(np.column_stack([np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)]))


def _correlations(one: Floats, two: Floats, along: Along, weight: Floats, method: Method) -> Floats:
    """The statistic under every row of weights of posts."""
    if along == "posts":
        # A post is drawn with its correlation, which no other post has a part in.
        told = np.array([np.nan if r is None else r for r in lines(one, two, "posts", method)])
        known = ~np.isnan(told)
        return ratio(np.column_stack([weight @ np.where(known, told, 0.0), weight @ known]))
    if method == "spearman":
        each = [_ranked(x, y, weight) for x, y in zip(one.T, two.T, strict=True)]
        return known_means(np.column_stack(each))
    sums = [weight @ part for part in _products(one, two)]
    if along == "all":
        sums = [part.sum(axis=1, keepdims=True) for part in sums]
    n, x, y, xx, yy, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        r = np.where(spread > _SPREAD, (xy - x * y / n) / np.sqrt(np.maximum(spread, _SPREAD)), np.nan)
    return known_means(r)


def _products(one: Floats, two: Floats) -> list[Floats]:
    """What a correlation is made from, cell by cell; cells that one side lacks count nothing."""
    both = ~(np.isnan(one) | np.isnan(two))
    middle = np.nanmean(one) if both.any() else 0.0
    x, y = np.where(both, one - middle, 0.0), np.where(both, two - middle, 0.0)
    return [both.astype(np.float64), x, y, x * x, y * y, x * y]


def _ranked(x: Floats, y: Floats, weight: Floats) -> Floats:
    known = ~(np.isnan(x) | np.isnan(y))
    if known.sum() < 3 or np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
        return np.full(len(weight), np.nan)
    return weighted_correlation(x[known], y[known], weight[:, known], "spearman")
