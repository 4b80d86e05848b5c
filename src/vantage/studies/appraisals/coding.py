"""Judgments as matrices of posts × questions, and what compares two such matrices, with intervals over posts.

The draft writes 0 for "not mentioned", below the lowest rating, which mixes whether a thing is said with how much of it
there is; so every comparison is also made with blanks left out. Ratings of one post are not independent: every
statistic is a function of the posts' weights, and posts are left out in turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage import measures
from vantage.measures import Bounds, Floats, Ints, Resampling
from vantage.measures.intervals import interval
from vantage.measures.relations.correlations import coefficient, pearson_of_sums
from vantage.report.ledger import LEVEL, p_value

Along: TypeAlias = Literal["questions", "posts", "all"]
"""A correlation per question over posts, per post over questions, or over all cells."""
Method: TypeAlias = Literal["pearson", "spearman"]
Weighted: TypeAlias = Callable[[Floats], Floats]
"""From rows of posts' weights to the statistic of each."""
_LEAST: Final = 3e-5
"""Squares of a column around its mean that add up to no more are rounding."""
_MOST: Final = 1 - 1e-9
"""A correlation above counts as this one, whose Fisher's z is finite."""


def first_integer(reply: str | None) -> float:
    """The rating that the release made of a reply: its first whole number if that is 1 to 9, else 0.

    >>> [first_integer(text) for text in ("7.5", "NA", "In 2020 I'd say 4", None)]
    [7.0, 0.0, 0.0, 0.0]
    """
    match = re.search(r"\d+", reply or "")
    return float(match[0]) if match and 1 <= int(match[0]) <= 9 else 0.0


def matrix(judgments: pl.DataFrame, posts: Sequence[str], questions: Sequence[str], blank: float | None) -> Floats:
    """Values by post and question, the mean where there are several; NaN where there is none.

    "Not mentioned" counts as `blank`, or as none where that is null.
    """
    value = pl.col("value")
    if blank is not None:
        value = pl.when(pl.col("status").cast(pl.String) == "not_mentioned").then(blank).otherwise(value)
    means = judgments.select("item", "question", value.alias("value")).drop_nulls()
    means = means.group_by("item", "question").agg(pl.col("value").mean())
    rows, columns = {p: i for i, p in enumerate(posts)}, {q: i for i, q in enumerate(questions)}
    values = np.full((len(posts), len(questions)), np.nan)
    for item, question, mean in means.iter_rows():
        if item in rows and question in columns:
            values[rows[item], columns[question]] = mean
    return values


def difference(one: Floats, two: Floats) -> Weighted:
    """The mean absolute difference of the cells that both have."""
    apart = np.abs(one - two)
    sums = np.column_stack([np.nansum(apart, axis=1), (~np.isnan(apart)).sum(axis=1)])
    return lambda weight: measures.ratio(weight @ sums)


def correlation(one: Floats, two: Floats, along: Along = "questions", method: Method = "pearson") -> Weighted:
    """The mean correlation over questions or over posts, or the one over all cells, where both sides vary.

    >>> one = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0]])
    >>> correlation(one, one)(np.ones((1, 3))).round(6).tolist()
    [1.0]
    """
    from scipy.stats import rankdata

    if along == "posts":
        both = ~(np.isnan(one) | np.isnan(two))
        sides = [np.where(both, side, np.nan).T for side in (one, two)]
        if method == "spearman":
            sides = [np.where(both.T, rankdata(np.nan_to_num(side, nan=np.inf), axis=0), np.nan) for side in sides]
        # A post is drawn with its correlation, which no other post has a part in.
        each = _pearson(_sums(*sides).sum(axis=0, keepdims=True))[0]
        of_posts = np.column_stack([np.nan_to_num(each), np.isfinite(each)])
        return lambda weight: measures.ratio(weight @ of_posts)
    if method == "pearson":
        rows, columns = (1, one.shape[1]) if along == "questions" else (one.shape[1], 1)
        shape = (len(one) * rows, columns)
        sums = _sums(one.reshape(shape), two.reshape(shape)).reshape(len(one), rows, 6 * columns).sum(axis=1)
        return lambda weight: known_means(_pearson(weight @ sums))
    lines = list(_lines(one, two, along))

    def mean(weight: Floats) -> Floats:
        each = [measures.weighted_correlation(x, y, weight[:, posts], method) for x, y, posts in lines]
        return known_means(np.column_stack(each)) if each else np.full(len(weight), np.nan)

    return mean


def _sums(one: Floats, two: Floats) -> Floats:
    """What the correlations of columns are made of, a row for each row and six blocks of columns side by side."""
    known = ~(np.isnan(one) | np.isnan(two))
    known[:, known.sum(axis=0) < 3] = False
    count = np.maximum(known.sum(axis=0), 1)
    # Centred, the squares that are subtracted stay small and exact.
    x, y = (np.where(known, side - np.where(known, side, 0.0).sum(axis=0) / count, 0.0) for side in (one, two))
    return np.concatenate([known, x, y, x * x, y * y, x * y], axis=1)


def _pearson(sums: Floats) -> Floats:
    """Correlations from sums side by side: how many, of each side, of their squares, and of their product."""
    n, x, y, xx, yy, xy = np.split(sums, 6, axis=1)
    return pearson_of_sums(n, x, y, xx, yy, xy, least=(_LEAST, _LEAST))


def kappa(one: Floats, two: Floats, kind: Literal["randolph", "fleiss"]) -> Weighted:
    """Agreement on blanks (0), over the cells that both have: Randolph's free-marginal or Fleiss' kappa.

    >>> coded = np.array([[0.0, 5.0, 5.0, 0.0]])
    >>> [float(kappa(coded, 5.0 - coded, kind)(np.ones((1, 1)))[0]) for kind in ("randolph", "fleiss")]
    [-1.0, -1.0]
    """
    known = ~(np.isnan(one) | np.isnan(two))
    cells = ((one == 0) == (two == 0), one == 0, two == 0, np.ones_like(known))
    sums = np.column_stack([(known & cell).sum(axis=1) for cell in cells]).astype(np.float64)

    def corrected(weight: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            same, first, second, _ = (weight @ sums / (weight @ sums[:, 3:])).T
            share = (first + second) / 2
            chance = np.where(kind == "randolph", 0.5, share**2 + (1 - share) ** 2)
            return np.where(chance < 1, (same - chance) / (1 - chance), np.nan)

    return corrected


STATISTICS: Final[dict[str, Callable[[Floats, Floats], Weighted]]] = {
    "delta": difference,
    "per_question": correlation,
    "per_post": partial(correlation, along="posts"),
    "all_cells": partial(correlation, along="all"),
    "spearman": partial(correlation, method="spearman"),
    "spearman_per_post": partial(correlation, along="posts", method="spearman"),
    "randolph": partial(kappa, kind="randolph"),
    "fleiss": partial(kappa, kind="fleiss"),
}
"""What compares two matrices."""


def compared(runs: Sequence[Floats], gold: Floats, names: Sequence[str], how: Resampling) -> dict[str, float | None]:
    """Statistics by name, averaged over runs, each with the ends of its interval over posts under `_low` and `_high`.

    >>> gold = np.array([[1.0, 2.0], [3.0, 5.0]])
    >>> compared([gold + 1.0, gold], gold, ["delta"], Resampling(resamples=20))
    {'delta': 0.5, 'delta_low': 0.5, 'delta_high': 0.5}
    """
    each = [averaged([STATISTICS[name](run, gold) for run in runs]) for name in names]
    limits = [(0.0, np.inf) if name == "delta" else (-1.0, 1.0) for name in names]
    return measures.several_with_intervals(
        names, len(gold), lambda weight: np.column_stack([one(weight) for one in each]), how, limits
    )


def averaged(statistics: Sequence[Weighted]) -> Weighted:
    """The mean of statistics, such as those of several runs."""
    return lambda weight: known_means(np.column_stack([one(weight) for one in statistics]))


def mean_p(one: Floats, two: Floats, along: Along, method: Method = "pearson") -> tuple[float | None, int]:
    """The mean of the p values of single correlations, which the draft prints, and how many are defined."""
    chances = [measures.p_value(x, y, method) for x, y, _ in _lines(one, two, along)]
    known = [p for p in chances if p is not None]
    return float(np.mean(known)) if known else None, len(chances)


def clustered(one: Floats, two: Floats, posts: Ints, how: Resampling) -> tuple[Bounds, float | None]:
    """The interval of a correlation over texts, and its p value, where texts share posts.

    The p value is that of Fisher's z over its standard error between posts, by Student's t, or that of the correlation
    over its error where nothing is related, if that is larger: few posts can seem to vary less than chance makes them.

    >>> bounds, p = clustered(np.arange(8.0), np.arange(8.0) % 4, np.arange(8) // 2, Resampling(resamples=50))
    >>> bounds[0] < bounds[1], 0 < p < 1
    (True, True)
    """
    from scipy.stats import t

    x, y = one - one.mean(), two - two.mean()
    sums = np.column_stack([np.bincount(posts, cell) for cell in (np.ones(len(x)), x, y, x * x, y * y, x * y)])
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = measures.Spread.without(_pearson(sums.sum(axis=0) - sums).ravel(), measures.CORRELATIONS)
    if spread is None or how.ci == "none":
        return (None, None), None
    estimate = coefficient(one, two, "pearson")
    error, z = spread.variance**0.5, float(np.arctanh(np.clip(estimate, -_MOST, _MOST)))
    if error < 1 - _MOST:
        return interval(estimate, spread, how.confidence, measures.CORRELATIONS), None
    unrelated = float(np.sqrt((sums[:, 5] ** 2).sum() / (sums[:, 3].sum() * sums[:, 4].sum())))
    p = max(t.sf(abs(z) / error, spread.freedom), t.sf(abs(estimate) / unrelated, len(sums) - 1))
    return interval(estimate, spread, how.confidence, measures.CORRELATIONS), 2 * float(p)


def p_over_posts(interval: Iterable[float | None], posts: int) -> float | None:
    """The two-sided p value of a difference of 0, from the difference and its interval over posts; null without one.

    The interval's standard error is widened for few posts as that of a mean is, and compared with Student's t; the p
    value is never below the interval's own.

    >>> p_over_posts((0.2, 0.0, 0.4), 5) > p_over_posts((0.2, 0.0, 0.4), 500) > 0.05
    True
    """
    from scipy.stats import t

    estimate, low, high = interval
    if estimate is None or low is None or high is None or posts < 2:
        return None
    at_least = p_value(estimate, low, high, 0.0, units=posts if low == high else None)
    error = (high - low) / 2 / 1.959964 * (posts / (posts - 1)) ** 0.5
    if error == 0 or at_least is None:
        return at_least
    return max(at_least, float(2 * t.sf(abs(estimate) / error, posts - 1)))


def places(names: Sequence[str], statistics: Weighted, posts: int) -> dict[str, dict[str, str]]:
    """The places that each of several may have, the smallest first, and which others it cannot be told apart from.

    All pairs are compared over the same posts, by Student's t with the error that leaving out posts in turn gives their
    difference and with Holm's correction.

    >>> apart = np.random.default_rng(0).normal([1.0, 1.01, 3.0], 0.1, (30, 3))
    >>> places(["a", "b", "c"], lambda weight: weight @ apart / weight.sum(axis=1, keepdims=True), 30)["b"]
    {'place': '1 to 2', 'tied': 'a'}
    """
    from scipy.stats import t

    if len(names) < 2 or posts < 3:
        return {name: {"place": "", "tied": ""} for name in names}
    whole, without = statistics(np.ones((1, posts)))[0], statistics(1 - np.eye(posts))
    spread = (posts - 1) ** 2 / posts * np.cov(without.T, ddof=1).reshape(len(names), -1)
    one, two = np.triu_indices(len(names), 1)
    error = np.sqrt(np.maximum(np.diag(spread)[one] + np.diag(spread)[two] - 2 * spread[one, two], 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * t.sf(np.abs(whole[one] - whole[two]) / error, posts - 1)
    clear = np.zeros((len(names), len(names)), dtype=bool)
    corrected = measures.adjusted(np.where(np.isfinite(p), p, 1.0).tolist(), "holm")
    clear[one, two] = np.array(corrected, dtype=np.float64) < LEVEL
    clear |= clear.T
    rows = {}
    for n, name in enumerate(names):
        nearer, farther = (int((clear[n] & side).sum()) for side in (whole < whole[n], whole > whole[n]))
        first, last = 1 + nearer, len(names) - farther
        tied = ", ".join(other for m, other in enumerate(names) if m != n and not clear[n, m])
        rows[name] = {"place": str(first) if first == last else f"{first} to {last}", "tied": tied or "none"}
    return rows


def known_means(values: Floats) -> Floats:
    """The mean of each row over what is known; NaN where nothing is.

    >>> known_means(np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])).tolist()
    [2.0, nan]
    """
    known = ~np.isnan(values)
    return measures.ratio(np.column_stack([np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)]))


def _lines(one: Floats, two: Floats, along: Along) -> Iterator[tuple[Floats, Floats, Ints]]:
    """The two sides of each correlation with the post of every cell, where both sides vary."""
    sides = [one, two, np.broadcast_to(np.arange(len(one))[:, None], one.shape)]
    if along == "all":
        sides = [side.reshape(-1, 1) for side in sides]
    for x, y, post in zip(*(side if along == "posts" else side.T for side in sides), strict=True):
        known = ~(np.isnan(x) | np.isnan(y))
        if known.sum() > 2 and np.ptp(x[known]) > 0 and np.ptp(y[known]) > 0:
            yield x[known], y[known], post[known]
