"""What lies behind the ratings: how far the questions go together, and which points of the scale are told apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures import facets
from vantage.measures.intervals import CORRELATIONS
from vantage.measures.resampling import Resampling
from vantage.report.engine import Analysis, there
from vantage.studies.wcsent.learning import QUESTIONS

Floats: TypeAlias = NDArray[np.float64]


def scale_points(analysis: Analysis) -> pl.DataFrame:
    """The thresholds between neighbouring points in people's ratings, and the points that are never the likeliest.

    A threshold below the one before it means that the point between them is the likeliest answer at no location.
    """
    steps = facets(analysis.people, by="question", show="thresholds", unconnected="assume")
    steps = there(steps.filter(pl.col("group").is_null(), pl.col("estimate").is_not_null()))
    step = pl.col("estimate") - pl.col("estimate").shift().over("question")
    return steps.with_columns(step=step, point=pl.col("threshold").str.split("|").list.first(), never=step < 0)


def latent_relations(analysis: Analysis) -> pl.DataFrame:
    """Correlations of what the questions ask, without the noise of annotators, beside those of the mean ratings.

    Variances and covariances of items are means of products of *different* annotators' ratings of an item, in which
    errors cancel; over items and annotators, since another sample of either could have been drawn.
    """
    judged = analysis.people.judgments.drop_nulls("value").select("item", "question", "rater", "value")
    codes = judged.with_columns(
        row=pl.col("item").rank("dense").cast(pl.Int64) - 1, who=pl.col("rater").rank("dense").cast(pl.Int64) - 1
    )
    items, rows = codes["row"].n_unique(), []
    of = {question: codes.filter(question=question) for question in QUESTIONS}
    for first, second in combinations([question for question in QUESTIONS if len(of[question])], 2):
        pairs = [(of[first], of[second]), (of[first], of[first]), (of[second], of[second])]
        products = [_Products(one, other, items) for one, other in pairs]
        asked = pl.concat([of[first]["who"], of[second]["who"]]).unique().to_list()
        row = {"first": first, "second": second, **_with_interval(products, asked, items, analysis.seed)}
        both = products[0].means()
        plain = float(np.asarray(np.corrcoef(both.T))[0, 1]) if len(both) > 1 else None
        rows.append({**row, "plain": plain, "items": len(both), "raters": len(asked)})
    return there(pl.DataFrame(rows, infer_schema_length=None))


def _with_interval(products: list[_Products], asked: list[int], items: int, seed: int) -> dict[str, Any]:
    """The correlation with its interval over items and over those who were asked."""

    def statistics(out: int | None = None) -> Callable[[Floats], Floats]:
        sums = np.hstack([one.sums(out) for one in products])
        return lambda weight: _correlated(weight @ sums)[:, None]

    how = Resampling(seed=seed, ci="both", over=("both",))
    low, high = how.intervals(items, statistics(), lambda: [statistics(out) for out in asked], [CORRELATIONS])[0]
    estimate = float(statistics()(np.ones((1, items)))[0, 0])
    if not np.isfinite(estimate):
        reason = "items differ no more than annotators do, so that nothing is left to correlate"
        return {"estimate": None, "low": None, "high": None, "reason": reason}
    return {"estimate": estimate, "low": low, "high": high, "reason": None}


class _Products:
    """Products of ratings of the same items by different annotators, with and without one of them."""

    def __init__(self, one: pl.DataFrame, other: pl.DataFrame, items: int) -> None:
        self.items = items
        self.one, self.other = (
            (side["row"].to_numpy(), side["who"].to_numpy(), side["value"].to_numpy()) for side in (one, other)
        )
        both = one.join(other, on=["row", "who"], suffix="_other")
        self.same = (both["row"].to_numpy(), both["who"].to_numpy(), (both["value"] * both["value_other"]).to_numpy())

    def _of(self, side: tuple[Any, Any, Any], out: int | None) -> tuple[Floats, Floats]:
        """How many of the ratings each item has, and their sum."""
        row, who, value = side
        kept = np.ones(len(row)) if out is None else (who != out).astype(np.float64)
        many, sums = (np.bincount(row, weights, self.items) for weights in (kept, kept * value))
        return np.asarray(many, dtype=np.float64), np.asarray(sums, dtype=np.float64)

    def sums(self, out: int | None = None) -> Floats:
        """Per item: whether two annotators answered, the mean product, and both means."""
        (n, x), (m, y), (same, squares) = (self._of(side, out) for side in (self.one, self.other, self.same))
        count = n * m - same
        there = count > 0
        columns = (there, (x * y - squares) / np.where(there, count, 1), x / np.maximum(n, 1), y / np.maximum(m, 1))
        return np.column_stack([column * there for column in columns])

    def means(self) -> Floats:
        """The mean ratings of the items that have both."""
        sums = self.sums()
        return np.asarray(sums[sums[:, 0] > 0][:, 2:])


def _correlated(sums: Floats) -> Floats:
    """Covariance over the root of both variances, each a mean product less the product of the means."""
    parts = sums.reshape(len(sums), 3, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        n, product, x, y = (parts[:, :, place] for place in range(4))
        covariance = product / n - (x / n) * (y / n)
        spread = covariance[:, 1] * covariance[:, 2]
        known = (covariance[:, 1] > 0) & (covariance[:, 2] > 0)
        return np.asarray(np.where(known, np.clip(covariance[:, 0] / np.sqrt(spread), -1, 1), np.nan))
