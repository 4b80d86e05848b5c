"""Judgments as matrices of posts × questions, in the codings that the draft and its data use.

The draft writes 0 for "not mentioned", below the lowest rating. That mixes whether a thing is said with how much of it
there is; so every comparison is also made with blanks left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.correlations import coefficient, p_value
from vantage.measures.ratings import Floats

Along: TypeAlias = Literal["questions", "posts", "all"]
"""Whether a correlation is taken per question over posts, per post over questions, or over all cells at once."""
Method: TypeAlias = Literal["pearson", "spearman"]
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


def correlation(one: Floats, two: Floats, along: Along, method: Method = "pearson") -> Correlation:
    """The correlation of two matrices: the mean over questions or over posts, or one over all cells.

    >>> one = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0]])
    >>> correlation(one, one, "questions")
    Correlation(r=1.0, p=0.0, defined=2)
    """
    told = [(x, y) for x, y in _lines(one, two, along) if _varies(x, y)]
    if not told:
        return Correlation(None, None, 0)
    chances = [p for x, y in told if (p := p_value(x, y, method)) is not None]
    r = float(np.mean([coefficient(x, y, method) for x, y in told]))
    return Correlation(r, float(np.mean(chances)) if chances else None, len(told))


def lines(one: Floats, two: Floats, along: Along, method: Method = "pearson") -> list[float | None]:
    """The single correlations, per question or per post; null where one is not defined.

    >>> lines(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "posts")
    [1.0, None]
    """
    return [coefficient(x, y, method) if _varies(x, y) else None for x, y in _lines(one, two, along)]


def _lines(one: Floats, two: Floats, along: Along) -> Iterator[tuple[Floats, Floats]]:
    if along == "all":
        one, two = one.reshape(1, -1), two.reshape(1, -1)
    elif along == "questions":
        one, two = one.T, two.T
    for x, y in zip(one, two, strict=True):
        known = ~(np.isnan(x) | np.isnan(y))
        yield x[known], y[known]


def _varies(x: Floats, y: Floats) -> bool:
    return len(x) > 2 and bool(np.ptp(x) > 0 and np.ptp(y) > 0)


def delta(one: Floats, two: Floats) -> float | None:
    """The mean absolute difference of the cells that both have."""
    apart = np.abs(one - two)
    return None if np.isnan(apart).all() else float(np.nanmean(apart))


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
