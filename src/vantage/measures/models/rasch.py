"""The many-facet rating scale model, by marginal maximum likelihood.

log P(x = k) / P(x = k − 1) = θ(item) − severity(rater) − … − τₖ (Andrich 1978; Linacre 1989). Items are drawn from a
normal distribution and integrated out by adaptive Gauss–Hermite quadrature (Naylor and Smith 1982; Bock and Aitkin
1981), so that severities and thresholds stay consistent when every item has few answers, where joint estimation
inflates them. Raters, questions and conditions are fixed effects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from scipy.special import logsumexp

from vantage.errors import InputError
from vantage.measures.models.crossed import Crossed, Factored, level_sums
from vantage.measures.ratings import Floats, Ints

NODES: Final = 15
ROUNDS: Final = 12
"""How often the nodes of the quadrature are moved to where the items are."""
SPREAD: Final = (0.05, 20.0)
"""The smallest and the largest standard deviation of items that is tried."""
LARGEST: Final = 30.0
"""The farthest, in logits, that an item is taken to lie from a rater."""
FLAT: Final = 30.0
"""The standard deviation, in logits, of an effect that is not shrunken."""
FULL: Final = 2 * 10**6
"""Parameters times answers up to which errors rest on the whole information."""
SMALL_STEP: Final = 1e-4


@dataclass(frozen=True)
class RaschAnswers:
    """The category of each answer, its item, and its level of each facet."""

    category: Ints
    item: Ints
    facets: list[Ints]

    @cached_property
    def sizes(self) -> list[int]:
        """The number of levels of each facet."""
        return [int(code.max()) + 1 for code in self.facets]

    @property
    def items(self) -> int:
        """The number of items."""
        return int(self.item.max()) + 1

    @property
    def steps(self) -> int:
        """The number of thresholds."""
        return int(self.category.max())


def fit(answers: RaschAnswers) -> Rasch:
    """The likeliest parameters, the nodes of the quadrature following the items."""
    from scipy.optimize import minimize

    at = Rasch.start(answers)
    scale = at.scale()
    ends = (np.log(SPREAD) / scale[0]).tolist()
    bounds = [(ends[0], ends[1])] + [(None, None)] * (len(scale) - 1)
    for _ in range(ROUNDS):
        centre, spread = at.centre, at.spread

        def objective(free: Floats, centre: Floats = centre, spread: Floats = spread) -> tuple[float, Floats]:
            model = Rasch(answers, free * scale, centre, spread)
            return -model.log_likelihood, -model.gradient * scale

        options = {"maxiter": 60, "maxcor": 20}
        search = minimize(objective, at.parameters / scale, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        before, at = at, Rasch(answers, search.x * scale, centre, spread).moved()
        if np.abs(at.parameters - before.parameters).max() < 2e-4 and np.abs(at.centre - centre).max() < 2e-3:
            return at
    slope = float(np.abs(at.gradient[1:]).max())  # items that do not differ have no likeliest spread
    if slope > 0.05 * max(1.0, np.sqrt(len(answers.category) / 100)) or not np.isfinite(at.log_likelihood):
        raise InputError(
            f"the model did not converge after {ROUNDS} rounds of L-BFGS-B (largest derivative {slope:.2g})",
            remedy="leave out raters with very few answers",
        )
    return at


@dataclass(frozen=True)
class Rasch:
    """A model at one set of parameters: log σ of the items, thresholds, and facets."""

    answers: RaschAnswers
    parameters: Floats
    centre: Floats
    spread: Floats

    @classmethod
    def start(cls, answers: RaschAnswers) -> Rasch:
        """Thresholds from the marginal shares of the categories, everything else at zero."""
        shares = np.bincount(answers.category) + 0.5
        thresholds = np.log(shares[:-1] / shares[1:])
        rest = np.zeros(sum(answers.sizes))
        flat = np.ones(answers.items)
        return cls(answers, np.concatenate([[0.0], thresholds, rest]), 0 * flat, flat).moved().moved()

    def scale(self) -> Floats:
        """The expected size of a step of each parameter, from how many answers tell about it."""
        a = self.answers
        counts = [np.bincount(code, minlength=n) for code, n in zip(a.facets, a.sizes, strict=True)]
        categories = np.bincount(a.category)
        sizes = np.concatenate([[a.items], np.minimum(categories[1:], categories[:-1]) + 1, *counts])
        return np.asarray(2 / np.sqrt(sizes + 1.0))

    @property
    def sigma(self) -> float:
        """The standard deviation of the items."""
        return float(np.exp(self.parameters[0]))

    @property
    def thresholds(self) -> Floats:
        """The thresholds between neighbouring answers."""
        return self.parameters[1 : 1 + self.answers.steps]

    @property
    def facets(self) -> list[Floats]:
        """The severity of every level of each facet."""
        starts = np.cumsum([1 + self.answers.steps, *self.answers.sizes])
        return [self.parameters[i:j] for i, j in pairwise(starts)]

    @cached_property
    def offset(self) -> Floats:
        """What each answer's facets take off its item."""
        parts = (effect[code] for effect, code in zip(self.facets, self.answers.facets, strict=True))
        return sum(parts, np.zeros(len(self.answers.item)))

    def probabilities(self, locations: Floats) -> Floats:
        """P of every category, for each answer at each of its locations: items less facets."""
        cumulative = np.pad(np.cumsum(self.thresholds), (1, 0))
        once = np.exp(np.clip(locations, -LARGEST, LARGEST))
        p = np.empty((*locations.shape, self.answers.steps + 1))
        p[..., 0] = 1.0
        for step in range(self.answers.steps):
            np.multiply(p[..., step], once, out=p[..., step + 1])
        p *= np.exp(-cumulative)
        p /= p.sum(axis=2, keepdims=True)
        return p

    @cached_property
    def _at_nodes(self) -> tuple[Floats, Floats, Floats, float]:
        """At each answer's nodes its log P and P of all categories; the items' posterior; the log-likelihood."""
        a = self.answers
        x, w = _quadrature()
        nodes = self._nodes
        p = self.probabilities(nodes[a.item] - self.offset[:, None])
        chosen = np.log(np.maximum(np.take_along_axis(p, a.category[:, None, None], axis=2)[..., 0], 1e-300))
        prior = -0.5 * (nodes / self.sigma) ** 2 - np.log(self.sigma) - 0.5 * np.log(2 * np.pi)
        weight = np.log(w) + x**2 + np.log(np.sqrt(2) * self.spread)[:, None]
        joint = level_sums(a.item, chosen, a.items) + prior + weight
        total = logsumexp(joint, axis=1, keepdims=True)
        return chosen, p, np.exp(joint - total), float(total.sum())

    @property
    def log_likelihood(self) -> float:
        """The marginal log-likelihood."""
        return self._at_nodes[3]

    @cached_property
    def gradient(self) -> Floats:
        """Its derivative, by Fisher's identity: that of the complete data, expected over the items."""
        a = self.answers
        _, p, posterior, _ = self._at_nodes
        mean = np.einsum("nqk,nq->nk", p, posterior[a.item])
        steps = np.arange(a.steps + 1)
        residual = a.category - mean @ steps
        above = np.cumsum(mean[:, ::-1], axis=1)[:, ::-1][:, 1:] - (a.category[:, None] > steps[:-1])
        squares = np.sum(posterior * np.square(self._nodes), axis=1)
        parts = [np.array([float((squares / self.sigma**2 - 1).sum())]), above.sum(axis=0)]
        parts += [-np.bincount(code, residual, n) for code, n in zip(a.facets, a.sizes, strict=True)]
        return np.concatenate(parts)

    @property
    def _nodes(self) -> Floats:
        x, _ = _quadrature()
        return np.asarray(self.centre[:, None] + np.sqrt(2) * self.spread[:, None] * x)

    @cached_property
    def items(self) -> tuple[Floats, Floats]:
        """The posterior mean and standard deviation of every item."""
        posterior = self._at_nodes[2]
        mean = np.sum(posterior * self._nodes, axis=1)
        variance = np.sum(posterior * np.square(self._nodes - mean[:, None]), axis=1)
        return mean, np.sqrt(np.maximum(variance, 1e-8))

    def moved(self) -> Rasch:
        """The same model with its nodes where the items are."""
        mean, spread = self.items
        return Rasch(self.answers, self.parameters, mean, np.clip(spread, 0.02, 10.0))

    def expected(self, locations: Floats) -> tuple[Floats, Floats]:
        """The expected category and its variance at one location per answer."""
        p, steps = self.probabilities(locations[:, None])[:, 0], np.arange(self.answers.steps + 1)
        mean = p @ steps
        return mean, p @ steps**2 - mean**2

    @cached_property
    def _full(self) -> tuple[Floats, Floats] | None:
        """The covariance of all parameters, and how items move with each; null where that would take long."""
        size = len(self.parameters)
        if size * len(self.answers.category) > FULL:
            return None
        curvature, moves = np.empty((size, size)), np.empty((size, self.answers.items))
        for k, step in enumerate(np.eye(size) * SMALL_STEP):
            ahead, back = (replace(self, parameters=self.parameters + side * step) for side in (1, -1))
            curvature[k] = (back.gradient - ahead.gradient) / (2 * SMALL_STEP)
            moves[k] = (ahead.items[0] - back.items[0]) / (2 * SMALL_STEP)
        information = (curvature + curvature.T) / 2
        return np.asarray(np.linalg.pinv(information, rcond=1e-7, hermitian=True)), moves.T

    @cached_property
    def facet_errors(self) -> list[Floats]:
        """The standard errors of the levels of each facet less their mean; in large tables with thresholds as known."""
        a = self.answers
        if self._full is not None:
            covariance = self._full[0]
            starts = np.cumsum([1 + a.steps, *a.sizes])
            blocks = [covariance[i:j, i:j] for i, j in pairwise(starts)]
            return [np.sqrt(np.clip(np.diagonal(one) - 2 * one.mean(axis=0) + one.mean(), 0, None)) for one in blocks]
        _, variance = self.expected(self.items[0][a.item] - self.offset)
        theta = np.array([self.sigma, *[FLAT] * len(a.facets)])
        factored = Factored(Crossed([a.item, *a.facets]), theta, np.maximum(variance, 1e-6))
        return [np.sqrt(factored.centred_variance(k + 1)) for k in range(len(a.sizes))]

    @cached_property
    def item_errors(self) -> Floats:
        """The standard errors of locations: of items given the parameters, and what these add."""
        a, spread = self.answers, self.items[1]
        if self._full is None:
            return spread
        covariance, moves = self._full
        origin = [np.zeros(1), np.full(a.steps, 1 / a.steps)]
        origin += [np.full(n, 1 / n) for n in a.sizes]
        moves = moves - np.concatenate(origin)
        return np.asarray(np.sqrt(spread**2 + np.einsum("ij,jk,ik->i", moves, covariance, moves)))

    @cached_property
    def predicted(self) -> Floats:
        """The probability of every category of each answer, predicted from the other answers to the item.

        An answer that takes part in its own prediction fits too well, above all where items have few answers.
        """
        chosen, p, posterior, _ = self._at_nodes
        without = np.log(np.maximum(posterior, 1e-300))[self.answers.item] - chosen
        without = np.exp(without - logsumexp(without, axis=1, keepdims=True))
        return np.asarray(np.einsum("nqk,nq->nk", p, without))

    @cached_property
    def residuals(self) -> tuple[Floats, Floats, Floats]:
        """Each answer's category less what was predicted, the variance of that, and the prediction."""
        steps = np.arange(self.answers.steps + 1)
        mean = self.predicted @ steps
        return self.answers.category - mean, np.maximum(self.predicted @ steps**2 - mean**2, 1e-9), mean


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """The nodes and weights of Gauss–Hermite quadrature."""
    return np.polynomial.hermite.hermgauss(NODES)
