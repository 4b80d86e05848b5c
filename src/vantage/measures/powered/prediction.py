"""Predicting what items contribute from what a model said of them, and whether judged items are like the others."""

from __future__ import annotations

from typing import Final

import numpy as np

from vantage.measures.ratings import Floats

FOLDS: Final = 5
PENALTIES: Final = tuple(10.0 ** np.arange(-1, 5))
"""Penalties of the ridge regression, of which each fold takes the one with the smallest leave-one-out error."""
UNLIKE: Final = 0.01
"""Below this p value, judged items are not taken for a random sample."""


def cross_fitted(judged: Floats, target: Floats, others: Floats, seed: int) -> tuple[Floats, Floats]:
    """Predictions of the target for judged items, each by a regression without it, and for the others by their mean.

    Only slopes are kept: a mean over the other folds is lower where an item's own is higher, and would look like a
    model that errs.

    >>> x = np.arange(40.0)[:, None]
    >>> own, new = cross_fitted(x, 2 * x.ravel(), np.array([[50.0], [60.0]]), seed=0)
    >>> round(float(np.diff(new)[0])), round(float(own[30] - own[20]))
    (20, 20)
    """
    from sklearn.linear_model import RidgeCV

    centre, spread = judged.mean(axis=0), judged.std(axis=0)
    kept = spread > 1e-9 * np.maximum(np.abs(centre), 1.0)
    if not kept.any():
        return np.zeros(len(judged)), np.zeros(len(others))
    x, new = ((part[:, kept] - centre[kept]) / spread[kept] for part in (judged, others))
    fold = np.random.default_rng(seed).permutation(len(x)) % min(FOLDS, len(x))
    own, slopes = np.zeros(len(x)), []
    for number in range(int(fold.max()) + 1):
        there = fold != number
        slope = RidgeCV(PENALTIES).fit(x[there], target[there]).coef_
        own[~there] = x[~there] @ slope
        slopes.append(slope)
    return own, np.asarray(new @ np.mean(slopes, axis=0))


def power_tuned(influence: Floats, judged: Floats, others: Floats) -> float:
    """The weight λ of the predictions with the smallest variance, from 0 to 1 (PPI++, Angelopoulos et al. 2023).

    >>> power_tuned(np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.0, 1.0]))
    0.0
    """
    columns = (part[:, None] for part in (influence, judged, others))
    return power_tuned_along(*columns, np.eye(1))


def power_tuned_along(influence: Floats, judged: Floats, others: Floats, scale: Floats) -> float:
    """The same for several coefficients at once: the variances of `scale` × gradients have the smallest sum."""
    if not len(others):
        return 0.0
    along = [part @ scale for part in (influence, judged, others)]
    variance = float(np.concatenate(along[1:]).var(axis=0, ddof=1).sum())
    if variance <= 1e-18:
        return 0.0
    own, said = (part - part.mean(axis=0) for part in along[:2])
    covariance = float(np.mean(own * said, axis=0).sum())
    return float(np.clip(covariance / ((1 + len(judged) / len(others)) * variance), 0.0, 1.0))


def difference_p(first: Floats, second: Floats) -> float | None:
    """The p value that two samples of features have the same means (Hotelling's T², large samples); null for few.

    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> difference_p(x[:30], x[30:] + 2) < 1e-6 < 0.01 < difference_p(x[:30], x[30:])
    True
    """
    from scipy.special import chdtrc

    if min(len(first), len(second)) < 5:
        return None
    spread = np.concatenate([first, second]).std(axis=0)
    kept = spread > 1e-9
    if not kept.any():
        return None
    first, second = (part[:, kept] / spread[kept] for part in (first, second))
    apart = first.mean(axis=0) - second.mean(axis=0)
    total = np.atleast_2d(np.cov(np.concatenate([first, second]), rowvar=False))
    # Shares add up to 1, so features depend on each other: directions without spread are left out.
    values, vectors = np.linalg.eigh(total * (1 / len(first) + 1 / len(second)))
    there = values > 1e-8 * values.max()
    distance = float(np.sum(np.square(apart @ vectors[:, there]) / values[there]))
    return float(chdtrc(int(there.sum()), distance))
