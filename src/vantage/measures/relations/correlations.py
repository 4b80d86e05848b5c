"""Correlation coefficients of two columns, for one sample or for a block of resampling weights at once."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from vantage.measures.ratings import Floats, Ints

Correlation: TypeAlias = Literal["pearson", "spearman", "kendall"]
CORRELATIONS: Final[tuple[Correlation, ...]] = get_args(Correlation)

_CELLS: Final = 2000
"""Above this many distinct pairs of values, Kendall's tau is counted resample by resample."""
_KINDS: Final = 250
"""Up to this many distinct pairs of values, as ratings have, a resample is described by how often it has each."""
_LEVELS: Final = 50
"""Up to this many distinct values, as ratings have, a product of matrices adds up their weights."""


def coefficient(x: Floats, y: Floats, method: Correlation) -> float:
    """One coefficient; NaN where a column does not vary.

    >>> coefficient(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]), "spearman")
    1.0
    """
    return float(weighted_correlation(x, y, np.ones((1, len(x))), method)[0])


def weighted_correlation(x: Floats, y: Floats, weight: Floats, method: Correlation) -> Floats:
    """The coefficient of every row of `weight`, which says how often each pair (x, y) was drawn.

    Pearson's r (1896) needs weighted sums. Spearman's rho (1904) is Pearson's r of mid-ranks, and the
    mid-ranks of a resample follow from running sums of its weights. Kendall's tau-b (1945) is a quadratic
    form of the weights over the distinct pairs of values.
    """
    if len(weight) > 1:
        kinds, kind = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
        if len(kinds) <= min(_KINDS, len(x) // 2):
            # Pairs that are equal are one pair, drawn as often as all of them.
            (x, y), weight = kinds.T, weight @ np.eye(len(kinds))[kind]
    if method == "pearson":
        return pearson_rows(x[None], y[None], (rounding_error(x), rounding_error(y)), weight)
    if method == "spearman":
        return _spearman(x, y, weight)
    return _kendall(x, y, weight)


def midranks(values: Floats, weight: Floats) -> Floats:
    """The mid-rank of each value within every resample.

    >>> midranks(np.array([3.0, 1.0, 3.0]), np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0]])).tolist()
    [[2.5, 1.0, 2.5], [2.0, 0.5, 2.0]]
    """
    level, _, ranks = _ranked(values, weight)
    return ranks.take(level, axis=1)


def _ranked(values: Floats, weight: Floats) -> tuple[Ints, Floats, Floats]:
    """The place of each value among the distinct ones, how often every resample has these, and their ranks in it."""
    _, level = np.unique(values, return_inverse=True)
    count = int(level.max(initial=-1)) + 1
    if count <= _LEVELS:
        drawn = weight @ np.eye(count)[level]
    else:
        order = np.argsort(level, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(level[order]) > 0])
        drawn = np.add.reduceat(weight[:, order], starts, axis=1)
    return level, drawn, np.cumsum(drawn, axis=1) - drawn / 2 + 0.5


def _spearman(x: Floats, y: Floats, weight: Floats) -> Floats:
    """Pearson's r of mid-ranks, whose mean is known and whose spread is counted by distinct values."""
    n = weight.sum(axis=1)
    centred, spread = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for side in (x, y):
            level, drawn, ranks = _ranked(side, weight)
            ranks -= (n[:, None] + 1) / 2
            spread.append(np.sqrt(np.einsum("ij,ij,ij->i", drawn, ranks, ranks) / n))
            centred.append(ranks.take(level, axis=1))
        together = np.einsum("ij,ij,ij->i", weight, *centred) / n
        # Rounding leaves a tiny spread in a column that does not vary.
        varies = np.minimum(*spread) > 1e-12 * n
        return np.clip(np.where(varies, together / (spread[0] * spread[1]), np.nan), -1.0, 1.0)


def p_value(x: Floats, y: Floats, method: Correlation, independent: float | None = None) -> float | None:
    """The two-sided p-value of no association: Student's t for Pearson and Spearman, Kendall's own.

    `independent` says that the pairs are worth fewer independent ones. Null with fewer than three pairs or a column
    that does not vary. Two of the n! orders of n pairs are perfect, so that p of ranks, and of a perfect correlation,
    is 2/n! or more.

    >>> ranks = np.array([1.0, 2.0, 3.0, 4.0])
    >>> p_value(ranks, ranks, "spearman")
    0.0833...
    """
    from scipy import stats
    from scipy.special import factorial

    n = len(x) if independent is None else min(independent, len(x))
    r = coefficient(x, y, method)
    if len(x) < 3 or not np.isfinite(r):
        return None
    if method == "kendall":
        plain = float(stats.kendalltau(x, y).pvalue)
        if n == len(x) or plain == 0:
            return plain
        return float(2 * stats.norm.sf(stats.norm.isf(plain / 2) * np.sqrt((n - 1) / (len(x) - 1))))
    orders = 2 / float(factorial(n))
    if abs(r) >= 1:
        return orders
    return max(p_of_pearson(r, n), orders if method == "spearman" else 0.0)


def p_of_pearson(r: float, n: float) -> float:
    """The two-sided p-value of a correlation of so many pairs by Student's t.

    >>> round(p_of_pearson(0.5, 20), 4)
    0.0248
    """
    from scipy.special import stdtr

    return float(2 * stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / max(1 - r * r, 1e-300))))


def pearson_of_sums(n: Any, x: Any, y: Any, xx: Any, yy: Any, xy: Any, *, least: tuple[Any, Any] = (0, 0)) -> Floats:
    """Pearson's r (1896) from the number of pairs, and sums of each side, of their squares and of their products.

    NaN where the squares of one side, around its mean, add up to no more than `least`.

    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])
    >>> float(pearson_of_sums(3, x.sum(), y.sum(), x @ x, y @ y, x @ y).round(3))
    0.866
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        across, along = xx - x * x / n, yy - y * y / n
        r = np.clip((xy - x * y / n) / np.sqrt(across * along), -1.0, 1.0)
        return np.where((across > least[0]) & (along > least[1]), r, np.nan)


def pearson_rows(
    first: Floats, second: Floats, negligible: tuple[float, float], weight: Floats | None = None
) -> Floats:
    """The correlation of each row of one matrix with that row of the other; NaN where one varies negligibly.

    `weight` says how often each pair occurs in each row; a single row of pairs serves all rows of weights.

    >>> pearson_rows(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 2.0]]), (0.0, 0.0)).round(3)
    array([0.866])
    """
    # Around their means sums of squares stay exact.
    if weight is None:
        first = first - first.mean(axis=1, keepdims=True)
        second = second - second.mean(axis=1, keepdims=True)
        left, right, n = first, second, np.full(len(first), float(first.shape[1]))
    else:
        n = weight.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = first - (np.einsum("ij,ij->i", weight, np.broadcast_to(first, weight.shape)) / n)[:, None]
            second = second - (np.einsum("ij,ij->i", weight, np.broadcast_to(second, weight.shape)) / n)[:, None]
        left, right = weight * first, weight * second
    xx, yy, xy = (np.einsum("ij,ij->i", *sides) for sides in ((left, first), (right, second), (left, second)))
    return pearson_of_sums(n, 0.0, 0.0, xx, yy, xy, least=(n * negligible[0], n * negligible[1]))


def rounding_error(value: Floats) -> float:
    """A variance that is rounding error: columns that differ by less do not differ."""
    return float((1e-12 * np.abs(value).max(initial=0.0)) ** 2)


def _kendall(x: Floats, y: Floats, weight: Floats) -> Floats:
    cells, cell = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    if len(cells) > _CELLS:
        return _kendall_one_by_one(x, y, weight)
    drawn = np.zeros((len(weight), len(cells)))
    np.add.at(drawn.T, cell, weight.T)
    a = np.sign(np.subtract.outer(cells[:, 0], cells[:, 0]))
    b = np.sign(np.subtract.outer(cells[:, 1], cells[:, 1]))
    # Each form counts ordered pairs, concordant minus discordant, or not tied in one column.
    both, untied_x, untied_y = (np.einsum("ij,ij->i", drawn @ form, drawn) for form in (a * b, a * a, b * b))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip(both / np.sqrt(untied_x * untied_y), -1.0, 1.0))


def _kendall_one_by_one(x: Floats, y: Floats, weight: Floats) -> Floats:
    from scipy import stats

    drawn = weight.astype(np.int64)
    return np.array([stats.kendalltau(np.repeat(x, row), np.repeat(y, row)).statistic for row in drawn])
