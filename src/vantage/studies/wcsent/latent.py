"""What lies behind the ratings: how far the questions go together, which points are told apart, what a zero means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import approx_fprime, minimize
from scipy.special import chdtrc, expit, log_softmax

from vantage.measures import CORRELATIONS, Floats, Resampling
from vantage.measures.relations.correlations import coefficient
from vantage.report.engine import Analysis, there
from vantage.report.parts import Figure
from vantage.scales import show_code
from vantage.studies.wcsent.people import judged_questions, rulers
from vantage.studies.wcsent.predictions import QUESTIONS

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
    judged = analysis.people.judgments.drop_nulls("value")
    wide = judged.pivot("question", index=["item", "rater"], values="value", aggregate_function="mean")
    asked = [question for question in QUESTIONS if question in wide.columns]
    item, rater = (wide[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in ("item", "rater"))
    values = np.full((wide["item"].n_unique(), wide["rater"].n_unique(), len(asked)), np.nan)
    values[item, rater] = wide.select(asked).to_numpy()
    rows = [
        {"first": asked[one], "second": asked[two], **_related(values[:, :, [one, two]], analysis.seed)}
        for one, two in combinations(range(len(asked)), 2)
    ]
    return there(pl.DataFrame(rows, infer_schema_length=None))


def _related(values: Floats, seed: int) -> dict[str, Any]:
    """The correlation of two questions (items × annotators × 2) with its interval over items and annotators."""
    values = values[:, ~np.isnan(values).all(axis=(0, 2))]
    items, raters, _ = values.shape
    # Leaving out the last annotator, who said nothing, leaves out nobody.
    values = np.pad(values, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
    known, rated = (~np.isnan(values)).astype(np.float64), np.nan_to_num(values)
    whole = [(side.sum(axis=1), np.einsum("irp,irq->ipq", side, side)) for side in (known, rated)]

    def sums(out: int = -1) -> Floats:
        """Per item and pair of questions: whether two annotators answered, the mean product, and both means."""
        of_one = (known[:, out], rated[:, out])
        many, total = (sums - one for (sums, _), one in zip(whole, of_one, strict=True))
        count, product = (
            rest[:, :, None] * rest[:, None] - squares + one[:, :, None] * one[:, None]
            for rest, (_, squares), one in zip((many, total), whole, of_one, strict=True)
        )
        mean = total / np.maximum(many, 1)
        columns = (np.ones_like(count), product / np.maximum(count, 1), mean[:, :, None], mean[:, None])
        return np.stack([(count > 0) * column for column in columns], axis=-1)

    def statistics(out: int = -1) -> Callable[[Floats], Floats]:
        each = sums(out)
        return lambda weight: _correlated(np.tensordot(weight, each, axes=1))[:, None]

    how = Resampling(seed=seed, ci="both", over=("both",))
    low, high = how.intervals(items, statistics(), lambda: list(map(statistics, range(raters))), [CORRELATIONS])[0]
    estimate = float(statistics()(np.ones((1, items)))[0, 0])
    both, _, *means = sums()[:, 0, 1].T
    one, two = (mean[both > 0] for mean in means)
    plain = coefficient(one, two, "pearson") if len(one) > 1 else None
    row: dict[str, Any] = {"estimate": estimate, "low": low, "high": high, "reason": None}
    if not np.isfinite(estimate):
        row = dict.fromkeys(("estimate", "low", "high"))
        row["reason"] = "items differ no more than annotators do, so that nothing is left to correlate"
    return {**row, "plain": plain, "items": len(one), "raters": raters}


def _correlated(sums: Floats) -> Floats:
    """Covariance over the root of both variances, each a mean product less the product of the means."""
    with np.errstate(divide="ignore", invalid="ignore"):
        n, product, x, y = np.moveaxis(sums, -1, 0)
        covariance = product / n - (x / n) * (y / n)
        variances = covariance[:, [0, 1], [0, 1]]
        related = np.clip(covariance[:, 0, 1] / np.sqrt(variances.prod(axis=1)), -1, 1)
        return np.asarray(np.where((variances > 0).all(axis=1), related, np.nan))
