"""What lies behind the ratings: how far the questions go together, which points are told apart, what a zero means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import approx_fprime, minimize
from scipy.special import chdtrc, expit, log_softmax

from vantage.measures.intervals import CORRELATIONS
from vantage.measures.relations.correlations import coefficient
from vantage.measures.resampling import Resampling
from vantage.report.engine import Analysis, there
from vantage.report.parts import Figure
from vantage.scales import show_code
from vantage.studies.wcsent.people import judged_questions, rulers
from vantage.studies.wcsent.predictions import QUESTIONS

Floats: TypeAlias = NDArray[np.float64]
NODES: Final = (15, 15)
"""Points of quadrature for the places of items, and for their chances to express nothing."""
DRAWS: Final = 400
"""Draws from the normal distribution of the estimates, behind an interval."""


def scale_points(analysis: Analysis) -> pl.DataFrame:
    """The thresholds of the Wright maps, and the points that are never the likeliest.

    A threshold below the one before it means that the point between them is nowhere the likeliest answer.
    """
    maps = zip(judged_questions(analysis), rulers(analysis) or (), strict=False)
    drawn = {question: one.data for question, one in maps if isinstance(one, Figure)}
    thresholds = [frame.filter(facet="threshold").with_columns(question=pl.lit(of)) for of, frame in drawn.items()]
    steps = pl.concat(there(thresholds or None)).select("question", "estimate", threshold="name")
    step = pl.col("estimate") - pl.col("estimate").shift().over("question")
    point = pl.col("threshold").str.split("|").list.first().str.replace("-", "−", literal=True)
    reason = pl.format("below the threshold before it: {} is never the likeliest answer", point)
    return steps.with_columns(step=step, point=point, never=step < 0, reason=pl.when(step < 0).then(reason))


def not_expressed(analysis: Analysis) -> pl.DataFrame:
    """How many zeros say that a sentence expresses nothing, and the thresholds of the others, by question.

    Annotators first find something expressed or not, with a chance that differs between items, and those who do rate on
    all seven points (zero-inflated rating scale model; Lambert 1992). `p` compares it with a model without that step.
    """
    rows, codes = [], range(-3, 4)
    for question in QUESTIONS:
        judged = analysis.people.judgments.filter(question=question).drop_nulls("value")
        counts = judged.group_by("item").agg((pl.col("value") == code).sum().alias(str(code)) for code in codes)
        several = counts.drop("item").filter(pl.sum_horizontal(pl.all()) > 1)
        if (several.sum().to_numpy() > 0).all() and len(several) > len(codes):
            kinds = several.group_by(several.columns).len("n").sort(several.columns).cast(pl.Float64)
            model = _Zeros(kinds.drop("n").to_numpy(), kinds["n"].to_numpy())
            rows.append({"question": question, **model.row(analysis.seed), "items": len(several)})
    return there(pl.DataFrame(rows, infer_schema_length=None))


@dataclass(frozen=True)
class _Zeros:
    """Counts of the seven points, one row per kind of item, and how many items are of that kind."""

    counts: Floats
    weight: Floats

    def row(self, seed: int) -> dict[str, Any]:
        """Both models, the share of zeros that say "not expressed", and what remains of the scale without them."""
        given = self.counts.T @ self.weight / (self.weight @ self.counts.sum(axis=1))
        plain = minimize(self.loss, np.concatenate([-np.diff(np.log(given)), [0.0]]), method="L-BFGS-B")
        apart = minimize(self.loss, np.concatenate([plain.x, [-2.0, 0.0]]), method="L-BFGS-B")
        slopes = approx_fprime(apart.x, lambda x: approx_fprime(x, self.loss, 1e-4), 1e-3)
        covariance = np.linalg.pinv((slopes + slopes.T) / 2, hermitian=True)
        drawn = np.random.default_rng(seed).multivariate_normal(apart.x, covariance, DRAWS, check_valid="ignore")
        low, high = np.quantile([self.share(one) for one in drawn], [0.025, 0.975])
        never = [show_code(code) for code, step in zip(range(-2, 3), np.diff(apart.x[:6]), strict=True) if step < 0]
        shares = {"zeros": float(given[3]), "estimate": self.share(apart.x), "low": float(low), "high": float(high)}
        thresholds = ", ".join(f"{value:.2f}".replace("-", "−") for value in apart.x[:6])
        p = float(chdtrc(2, max(2 * (plain.fun - apart.fun), 0.0)))
        return {**shares, "p": p, "clear": p < 0.01, "thresholds": thresholds, "never": ", ".join(never) or "none"}

    @cached_property
    def _zeros(self) -> tuple[Floats, NDArray[np.intp]]:
        """The different numbers of zeros and of other answers, and which of them each kind has."""
        both = np.column_stack([self.counts[:, 3], self.counts.sum(axis=1) - self.counts[:, 3]])
        pairs, place = np.unique(both, axis=0, return_inverse=True)
        return pairs, place.reshape(-1)

    def loss(self, given: Floats) -> float:
        """The negative marginal log-likelihood, over the places of items and their chances to express nothing."""
        points, nothing, node = self._answers(given)
        zero = np.logaddexp(np.log(nothing), np.log1p(-nothing) + points[:, None, 3])
        others = self.counts @ np.where(np.arange(7) == 3, 0.0, points).T
        # Many kinds of items have as many zeros and as many other answers.
        pairs, place = self._zeros
        each = pairs[:, 0, None, None] * zero + pairs[:, 1, None, None] * np.log1p(-nothing) + node
        likelihood = (np.exp(others) * np.exp(each).sum(axis=2)[place]).sum(axis=1)
        # Where nobody means "not expressed" nothing tells how the chances differ: a weak prior keeps them finite.
        prior = (given[7:] ** 2 / [50, 2]).sum() if len(given) > 7 else 0.0
        return float(prior - self.weight @ np.log(likelihood))

    def share(self, given: Floats) -> float:
        """The share of zeros that say "not expressed"."""
        points, nothing, node = self._answers(given)
        zero = nothing + (1 - nothing) * np.exp(points[:, None, 3])
        return float((np.exp(node) * nothing).sum() / (np.exp(node) * zero).sum())

    @staticmethod
    def _answers(given: Floats) -> tuple[Floats, Floats, Floats]:
        """Log probabilities of the points by place, chances of "not expressed", and the log weights of both."""
        (node, weight), (chance, other) = map(_quadrature, NODES)
        steps = np.concatenate([[0.0], np.cumsum(given[:6])])
        points = log_softmax(np.exp(given[6]) * node[:, None] * np.arange(7) - steps, axis=1)
        if len(given) == 7:
            return points, np.full(1, 1e-12), weight[:, None]
        nothing = expit(given[7] + np.exp(given[8]) * chance).clip(1e-12, 1 - 1e-9)
        return points, nothing, weight[:, None] + other


@cache
def _quadrature(many: int) -> tuple[Floats, Floats]:
    """Points of the standard normal distribution and the logarithms of their weights."""
    point, weight = np.polynomial.hermite_e.hermegauss(many)
    return point, np.log(weight / weight.sum())


def latent_relations(analysis: Analysis) -> pl.DataFrame:
    """Correlations of the questions without the noise of annotators, beside those of mean ratings.

    Variances and covariances of items are means of products of *different* annotators' ratings of an item, in which
    errors cancel. Intervals are over items and annotators.
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
        plain = coefficient(both[:, 0], both[:, 1], "pearson") if len(both) > 1 else None
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
