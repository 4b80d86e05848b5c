"""The model of ratings that a plan rests on: a latent value of item, rater and noise, cut into the points of a scale.

Components of variance are those of the answers as numbers. For simulation the latent shares of items and raters are
needed: a function f of two standard normal values with correlation ρ has the covariance Σ aₖ² ρᵏ, where aₖ are its
Hermite coefficients (Mehler's formula; for thresholds Olsson 1979), which is solved for ρ. Options without an order are
the largest of several latent values, and ρ is found where simulated pairs of answers agree as often as observed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from vantage.errors import InputError
from vantage.measures import Floats, Ints
from vantage.scales import Level

HERMITE: Final = 80
PAIRS: Final = 20_000
"""How many pairs of answers without an order are simulated to find how often they agree."""


@dataclass(frozen=True, slots=True)
class StudyLayout:
    """So many items, answers to each, and raters, who all give the same number of answers."""

    items: int
    per_item: int
    raters: int

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return self.items * self.per_item


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of items, raters and single answers, on the scale of the answers."""

    item: float
    rater: float
    residual: float
    share: float | None = None
    """The share of the higher of two answers, where there are two."""

    @property
    def total(self) -> float:
        """The variance of a single answer."""
        return self.item + self.rater + self.residual

    @property
    def row(self) -> Floats:
        """The three variances, as closed forms take them."""
        return np.array([[self.item, self.rater, self.residual]])


@dataclass(frozen=True, slots=True)
class RatingModel:
    """Answers that can be simulated for any number of items and raters.

    >>> model = RatingModel.of_shares([0.0, 1.0], [0.7, 0.3], "nominal", item=0.5, rater=0.1)
    >>> answers = model.answers(np.random.default_rng(0), items=2000, per_item=3, raters=100)
    >>> answers.shape, bool(abs(answers.mean() - 0.3) < 0.05)
    ((2000, 3), True)
    """

    codes: Floats
    """The values of the answers; empty where any number is one."""
    level: Level
    cuts: Floats
    """Thresholds between the codes, or how frequent each option is without an order, on the latent scale."""
    item: float
    """The share of items in the latent variance, which is 1."""
    rater: float

    @classmethod
    def of_shares(
        cls, codes: list[float], shares: list[float], level: Level, *, item: float, rater: float
    ) -> RatingModel:
        """A model by its latent shares; two options are ordered, whatever they are called."""
        frequency = np.asarray(shares, dtype=np.float64)
        frequency = frequency / frequency.sum()
        if level == "nominal" and len(codes) > 2:
            return cls(np.asarray(codes), level, _frequencies(frequency), item, rater)
        return cls(np.asarray(codes, dtype=np.float64), level, ndtri(np.cumsum(frequency)[:-1]), item, rater)

    @property
    def unordered(self) -> bool:
        """Whether there are more than two options without an order."""
        return len(self.cuts) == len(self.codes) > 0

    def answers(
        self, rng: np.random.Generator, *, items: int, per_item: int, raters: int, tables: int | None = None
    ) -> Floats:
        """Tables of answers, one row per item and one column per answer; as columns of `codes` where there are any.

        Answer *j* of item *i* is that of rater (i · per_item + j) mod raters, so that everyone has as many.
        """
        shape = (tables or 1, items, per_item)
        who = np.arange(items * per_item).reshape(items, per_item) % raters
        options = len(self.codes) if self.unordered else 1
        latent = np.sqrt(self.item) * rng.normal(size=(*shape[:2], 1, options))
        latent = latent + np.sqrt(self.rater) * rng.normal(size=(shape[0], raters, options))[:, who]
        latent += np.sqrt(max(1 - self.item - self.rater, 0.0)) * rng.normal(size=(*shape, options))
        made = self.coded(latent)
        return np.asarray(made if tables is not None else made[0])

    def coded(self, latent: Floats) -> Floats:
        """The answers that latent values give (options last); as columns of `codes` where there are any."""
        if self.unordered:
            return np.asarray(np.argmax(latent + self.cuts, axis=-1), dtype=np.float64)
        if len(self.codes):
            return np.asarray(np.searchsorted(self.cuts, latent[..., 0]), dtype=np.float64)
        return np.asarray(latent[..., 0])


def latent_share(codes: Floats, cuts: Floats, variance: float) -> float:
    """The latent correlation at which answers have this covariance.

    >>> cuts = ndtri(np.array([0.5]))
    >>> round(latent_share(np.array([0.0, 1.0]), cuts, 1 / 12), 6)  # asin(ρ) / 2π
    0.5
    """
    squared = np.square(_hermite(codes, cuts))

    def covariance(correlation: float) -> float:
        return float(np.polynomial.polynomial.polyval(correlation, np.concatenate([[0.0], squared])))

    highest = 0.98
    if variance <= 0:
        return 0.0
    return highest if covariance(highest) <= variance else float(brentq(lambda r: covariance(r) - variance, 0, highest))


def _hermite(codes: Floats, cuts: Floats) -> Floats:
    """The Hermite coefficients a₁, a₂ … of the step function from a latent value to codes."""
    finite = np.isfinite(cuts)
    steps, at = np.diff(codes)[finite], cuts[finite]
    density = np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi)
    before, now = np.zeros_like(at), np.ones_like(at)  # Heₖ / √k!
    terms = []
    for k in range(1, HERMITE + 1):
        terms.append(float((steps * density * now).sum() / np.sqrt(k)))
        before, now = now, (at * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return np.array(terms)


def _frequencies(shares: Floats) -> Floats:
    """How much to add to each of several standard normal values so that each is the largest so often."""
    draws = np.random.default_rng(0).normal(size=(PAIRS, len(shares)))
    added = np.log(np.maximum(shares, 1e-4))
    for _ in range(60):
        now = np.bincount(np.argmax(draws + added, axis=1), minlength=len(shares)) / PAIRS
        added += 0.5 * (np.log(np.maximum(shares, 1e-4)) - np.log(np.maximum(now, 1e-4)))
    return np.asarray(added - added.mean())


def agreeing_share(added: Floats, agreement: float) -> float:
    """The latent correlation at which two answers without an order agree so often."""
    rng = np.random.default_rng(1)
    shared, *own = rng.normal(size=(3, PAIRS, len(added)))
    grid = np.linspace(0, 0.98, 25)
    agree = []
    for share in grid:
        both = [np.argmax(np.sqrt(share) * shared + np.sqrt(1 - share) * one + added, axis=1) for one in own]
        agree.append(float((both[0] == both[1]).mean()))
    return float(np.interp(agreement, np.maximum.accumulate(agree), grid))


def prevalence_model(prevalence: float, agreement: float, rater_share: float) -> tuple[RatingModel, Components]:
    """Two answers, of which the higher has this share, with so much agreement beyond chance (alpha or kappa)."""
    if not 0 < prevalence < 1:
        raise InputError(f"prevalence {prevalence} is not between 0 and 1", remedy="use for example 0.3")
    if not 0 <= agreement < 1 or not 0 <= rater_share < 1 or agreement + rater_share > 1:
        raise InputError(
            "agreement and the share of raters lie between 0 and 1, and their sum too",
            remedy="use for example 0.4 and 0.1",
        )
    variance = prevalence * (1 - prevalence)
    item, rater = agreement * variance, rater_share * variance
    codes, cuts = np.array([0.0, 1.0]), ndtri(np.array([1 - prevalence]))
    shares = [latent_share(codes, cuts, one) for one in (item, rater)]
    model = RatingModel(codes, "nominal", cuts, *shares)
    return model, Components(item, rater, variance - item - rater, share=prevalence)


def component_model(item: float, rater: float, residual: float) -> tuple[RatingModel, Components]:
    """Answers that are any numbers, with these variances."""
    if min(item, rater, residual) < 0 or item + rater + residual <= 0:
        raise InputError(
            "components are variances of items, raters and residual, none below 0", remedy="use 0.4,0.1,0.5"
        )
    total = item + rater + residual
    model = RatingModel(np.empty(0), "interval", np.empty(0), item / total, rater / total)
    return model, Components(item, rater, residual)


def alphas(tables: Floats, level: Level, codes: Floats) -> Floats:
    """Krippendorff's alpha of each of several complete tables (tables × items × answers).

    >>> model = RatingModel.of_shares([0.0, 1.0], [0.5, 0.5], "nominal", item=0.5, rater=0.0)
    >>> tables = model.answers(np.random.default_rng(0), items=500, per_item=4, raters=50, tables=3)
    >>> alphas(tables, "nominal", model.codes).round(1).tolist()
    [0.3, 0.3, 0.3]
    """
    count, items, k = tables.shape
    n = items * k
    if level == "nominal":
        options = len(codes)
        cell = (np.arange(count * items)[:, None] * options + tables.reshape(-1, k).astype(np.int64)).ravel()
        votes = np.bincount(cell, minlength=count * items * options).reshape(count, items, options).astype(np.float64)
        within = (k * k - np.square(votes).sum(axis=2)).sum(axis=1) / (k - 1)
        expected = n * n - np.square(votes.sum(axis=1)).sum(axis=1)
    else:
        x = tables if len(codes) == 0 else _placed(tables.astype(np.int64), level, codes)
        x = x - x.mean(axis=(1, 2), keepdims=True)
        squares = np.square(x).sum(axis=(1, 2))
        within = (k * squares - np.square(x.sum(axis=2)).sum(axis=1)) / (k - 1)
        expected = n * squares
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (n - 1) * within / expected, np.nan))


def _placed(tables: Ints, level: Level, codes: Floats) -> Floats:
    """Where the answers lie: at their codes, or at their mid-ranks among all answers of the table."""
    if level != "ordinal":
        return codes[tables]
    count = len(tables)
    cell = (np.arange(count)[:, None] * len(codes) + tables.reshape(count, -1)).ravel()
    times = np.bincount(cell, minlength=count * len(codes)).reshape(count, -1)
    rank = np.cumsum(times, axis=1) - times / 2
    return np.take_along_axis(rank, tables.reshape(count, -1), axis=1).reshape(tables.shape)
