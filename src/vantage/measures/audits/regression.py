"""Shifts of answers within units, by least squares, with variances from leaving out items and raters in turn.

Every unit (an item under a question) has an effect of its own: only comparisons within units count. The variance of a
coefficient is the jackknife over items; where several raters answer, that over raters is added and that over pairs
of item and rater subtracted (Cameron, Gelbach and Miller 2011). With two presentations per item and one rater this is
the paired t test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vantage.measures.intervals import Contrast
from vantage.measures.ratings import Floats, Ints

APART = 1e-9
"""The share of a column that must be left by the others for it to be told apart from them."""


def stated(shift: Contrast, confidence: float, tested: bool = True) -> dict[str, Any]:
    """The columns of a result row: estimate, interval, and t and p against zero."""
    t = shift.estimate / shift.error if shift.error > 0 else None
    p = float(shift.estimate == 0) if shift.p is None else shift.p
    return {**shift.stated(confidence), "t": t if tested else None, "p": p if tested else None, "over": "items"}


def shifts(
    value: Floats, columns: Floats, unit: Ints | None, item: Ints, rater: Ints | None = None
) -> list[Contrast | str]:
    """One shift per column of the design, or why there is none.

    Args:
        value: The answers.
        columns: What each answer has of every column, one column per shift.
        unit: The unit of each answer, whose mean is taken out; null where columns hold the constant themselves.
        item: The item of each answer: what is left out in turn.
        rater: The rater of each answer, −1 for one that is never left out; null for a single rater.

    >>> value, late = np.array([1.0, 2, 3, 5, 2, 2]), np.array([[0.0], [1], [0], [1], [0], [1]])
    >>> unit = np.array([0, 0, 1, 1, 2, 2])
    >>> shift = shifts(value, late, unit, unit)[0]
    >>> shift.estimate, round(shift.error, 4), shift.freedom
    (1.0, 0.5774, 2)
    """
    x, y = (columns, value) if unit is None else (_within(columns, unit), _within(value[:, None], unit)[:, 0])
    products, sides = x[:, :, None] * x[:, None, :], x * y[:, None]
    whole, side = products.sum(axis=0), sides.sum(axis=0)
    inverse = np.linalg.pinv(whole, rcond=APART, hermitian=True)
    coefficients = inverse @ side
    known = np.isclose(np.diagonal(inverse @ whole), 1.0, atol=1e-6) & (np.diagonal(whole) > 0)
    own = x @ inverse  # what a column has beyond the others, answer by answer
    clusters = [item]
    if rater is not None:
        clusters += [rater, np.where(rater < 0, -1, item * (int(rater.max()) + 1) + rater)]
    parts = [_left_out(code, products, sides, own, whole, side, coefficients) for code in clusters]
    out: list[Contrast | str] = []
    for j, estimate in enumerate(coefficients.tolist()):
        variances, counts = [float(part[0][j]) for part in parts], [int(part[1][j]) for part in parts[:2]]
        if not whole[j, j] > 0:
            out.append("no item was answered in two ways that differ in this")
        elif not known[j]:
            out.append("the design cannot tell it apart from what else was varied")
        elif min(counts) < 2:
            out.append("fewer than two items or raters have a say in it")
        else:
            out.append(Contrast(estimate, *_combined(variances, counts)))
    return out


def _combined(variances: Sequence[float], counts: Sequence[int]) -> tuple[float, float]:
    """The standard error from the variances over items, over raters and over pairs, and its degrees of freedom.

    What raters add beyond pairs may come out below zero; at most half of the variance over items is then taken off.
    """
    if len(variances) == 1:
        return variances[0] ** 0.5, counts[0] - 1
    items, raters, pairs = variances
    extra = max(raters - pairs, -items / 2)
    # Satterthwaite (1946): the freedom of a sum of two variances.
    spread = items**2 / (counts[0] - 1) + extra**2 / (counts[1] - 1)
    return (items + extra) ** 0.5, (items + extra) ** 2 / spread if spread > 0 else counts[0] - 1


def _within(columns: Floats, unit: Ints) -> Floats:
    """Columns less their mean within each unit."""
    size = np.bincount(unit).astype(np.float64)
    means = np.column_stack([np.bincount(unit, column) for column in columns.T]) / np.maximum(size, 1)[:, None]
    return columns - means[unit]


def _left_out(
    code: Ints, products: Floats, sides: Floats, own: Floats, whole: Floats, side: Floats, effects: Floats
) -> tuple[Floats, Ints]:
    """The jackknife variance of each coefficient over clusters, and how many clusters have a say in it."""
    kept = code >= 0
    _, place = np.unique(code[kept], return_inverse=True)
    size, width = int(place.max(initial=-1)) + 1, len(effects)
    if not size:
        return np.zeros(width), np.zeros(width, dtype=np.int64)
    flat = np.concatenate([products.reshape(len(code), -1), sides, own**2], axis=1)[kept]
    sums = np.column_stack([np.bincount(place, column, size) for column in flat.T])
    a, b, says = sums[:, : width**2].reshape(size, width, width), sums[:, width**2 : -width], sums[:, -width:]
    others = np.linalg.pinv(whole - a, rcond=APART, hermitian=True) @ (side - b)[:, :, None]
    counts = (says > 1e-12 * says.max(axis=0, initial=1e-300)).sum(axis=0)
    variance = np.square(others[:, :, 0] - effects).sum(axis=0) * (counts - 1) / np.maximum(counts, 1)
    return variance, counts
