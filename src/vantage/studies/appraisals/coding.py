"""Judgments as matrices of posts × questions, in the codings that the draft and its data use.

The draft writes 0 for "not mentioned", below the lowest rating. That mixes whether a thing is said with how much of it
there is; so every comparison is also made with blanks left out.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.correlations import coefficient, p_value
from vantage.measures.intervals import percentile
from vantage.measures.ratings import Floats, Ints

Along: TypeAlias = Literal["questions", "posts", "all"]
"""Whether a correlation is taken per question over posts, per post over questions, or over all cells at once."""
_DIGITS: Final = re.compile(r"\d+")


def first_integer(reply: str | None) -> float:
    """The rating that the release made of a reply: its first whole number if that is 1 to 9, else 0.

    >>> [first_integer(text) for text in ("7.5", "NA", "In 2020 I'd say 4", None)]
    [7.0, 0.0, 0.0, 0.0]
    """
    found = _DIGITS.search(reply or "")
    return float(found[0]) if found and 1 <= int(found[0]) <= 9 else 0.0


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
    found = np.full((len(posts), len(questions)), np.nan)
    for item, question, told in means.iter_rows():
        if item in rows and question in columns:
            found[rows[item], columns[question]] = told
    return found


@dataclass(frozen=True, slots=True)
class Correlation:
    """A mean of correlations: how many are defined, and the mean of their p values."""

    r: float | None
    p: float | None
    defined: int


def correlation(
    one: Floats, two: Floats, along: Along, method: Literal["pearson", "spearman"] = "pearson"
) -> Correlation:
    """The correlation of two matrices: the mean over questions or over posts, or one over all cells.

    >>> one = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0]])
    >>> correlation(one, one, "questions")
    Correlation(r=1.0, p=0.0, defined=2)
    """
    if along == "all":
        lines = [(one.ravel(), two.ravel())]
    else:
        lines = list(zip(one.T, two.T, strict=True)) if along == "questions" else list(zip(one, two, strict=True))
    found, chances = [], []
    for x, y in lines:
        known = ~(np.isnan(x) | np.isnan(y))
        if known.sum() < 3 or np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
            continue
        found.append(coefficient(x[known], y[known], method))
        chances.append(p_value(x[known], y[known], method))
    if not found:
        return Correlation(None, None, 0)
    known_p = [p for p in chances if p is not None]
    return Correlation(float(np.mean(found)), float(np.mean(known_p)) if known_p else None, len(found))


def delta(one: Floats, two: Floats) -> float | None:
    """The mean absolute difference of the cells that both have."""
    apart = np.abs(one - two)
    return None if np.isnan(apart).all() else float(np.nanmean(apart))


def known_mean(values: Floats) -> float:
    """The mean of the values that are there; NaN, without a warning, where none is.

    >>> known_mean(np.array([1.0, np.nan, 3.0]))
    2.0
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def quick_correlation(one: Floats, two: Floats, axis: int) -> float:
    """The mean Pearson correlation along an axis, for resampling: 0 per question over posts, 1 per post."""
    both = ~(np.isnan(one) | np.isnan(two))
    x, y = np.where(both, one, np.nan), np.where(both, two, np.nan)
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore")
        x, y = x - np.nanmean(x, axis=axis, keepdims=True), y - np.nanmean(y, axis=axis, keepdims=True)
        r = np.nansum(x * y, axis=axis) / np.sqrt(np.nansum(x**2, axis=axis) * np.nansum(y**2, axis=axis))
        return float(np.nanmean(r))


def bootstrap(
    posts: int, statistic: Callable[[Ints], float], resamples: int, seed: int
) -> tuple[float | None, float | None]:
    """The 95 % interval of a statistic of posts that are drawn with replacement."""
    if posts < 2 or resamples < 1:
        return None, None
    rng = np.random.default_rng(seed)
    drawn = np.array([statistic(rng.integers(0, posts, posts)) for _ in range(resamples)])
    return percentile(drawn)


def agreed_blanks(one: NDArray[np.bool_], two: NDArray[np.bool_]) -> tuple[float | None, float | None]:
    """Kappas of two matrices of blanks: Randolph's free-marginal one and Fleiss' fixed-marginal one (Scott's pi).

    >>> blank = np.array([[True, False, False, True]])
    >>> agreed_blanks(blank, ~blank)
    (-1.0, -1.0)
    """
    if not one.size:
        return None, None
    same = float((one == two).mean())
    share = (float(one.mean()) + float(two.mean())) / 2
    chance = share**2 + (1 - share) ** 2
    return 2 * same - 1, None if chance == 1 else (same - chance) / (1 - chance)
