"""The many-facet rating scale model, by marginal maximum likelihood.

log P(x = k) / P(x = k − 1) = θ(item) − severity(rater) − … − τₖ (Andrich 1978; Linacre 1989). Items are drawn from a
normal distribution and integrated out by adaptive Gauss–Hermite quadrature (Naylor and Smith 1982; Bock and Aitkin
1981), so that severities and thresholds stay consistent when every item has few answers, where joint estimation
inflates them. Raters, questions and conditions are fixed effects. Thresholds may differ between groups of answers
(partial credit, Masters 1982).
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
"""How often, at most, the quadrature nodes are moved to the items."""
SPREAD: Final = (0.05, 20.0)
"""The smallest and the largest standard deviation of items that is tried."""
LARGEST: Final = 30.0
"""The farthest, in logits, that an item is taken to lie from a rater."""
FLAT: Final = 30.0
"""The standard deviation, in logits, of an effect that is not shrunken."""
FULL: Final = 2 * 10**6
"""Parameters times answers up to which errors rest on the whole information."""
SMALL_STEP: Final = 1e-4
LOOSE: Final = {"common": 0.0, "question": 3.0, "rater": 1.0}
"""The prior standard deviation of a group's thresholds about the common ones; categories that a group never uses
would otherwise have none."""


@dataclass(frozen=True)
class RaschAnswers:
    """The category of each answer, its item, its level of each facet, and its group of thresholds."""

    category: Ints
    item: Ints
    facets: list[Ints]
    group: Ints
    loose: float = 0.0
    whole: RaschAnswers | None = None
    """The answers of which these are some; all of their levels count."""

    @cached_property
    def sizes(self) -> list[int]:
        """The number of levels of each facet."""
        return self.whole.sizes if self.whole else [int(code.max()) + 1 for code in self.facets]

    @property
    def items(self) -> int:
        """The number of items."""
        return int(self.item.max()) + 1

    @property
    def steps(self) -> int:
        """The number of thresholds."""
        return self.whole.steps if self.whole else int(self.category.max())

    @property
    def groups(self) -> int:
        """The number of groups with thresholds of their own."""
        return self.whole.groups if self.whole else int(self.group.max()) + 1 if self.loose else 0


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
            return -model.objective, -model.gradient * scale

        options = {"maxiter": 60, "maxcor": 20}
        search = minimize(objective, at.parameters / scale, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        before, at = at, Rasch(answers, search.x * scale, centre, spread).moved()
        if np.abs(at.parameters - before.parameters).max() < 2e-4 and np.abs(at.centre - centre).max() < 2e-3:
            return at
    slope = float(np.abs(at.gradient[1:]).max())  # items that do not differ have no likeliest spread
    if slope > 0.05 * max(1.0, np.sqrt(len(answers.category) / 100)) or not np.isfinite(at.objective):
        raise InputError(
            f"the model did not converge after {ROUNDS} rounds of L-BFGS-B (largest derivative {slope:.2g})",
            remedy="leave out raters with very few answers, or use common thresholds",
        )
    return at


@dataclass(frozen=True)
class Rasch:
    """A model at one set of parameters: log σ of the items, thresholds, groups' deviations from them, and facets."""

    answers: RaschAnswers
    parameters: Floats
    centre: Floats
    spread: Floats

    @classmethod
    def start(cls, answers: RaschAnswers) -> Rasch:
        """Thresholds from the marginal shares of the categories, everything else at zero."""
        shares = np.bincount(answers.category) + 0.5
        thresholds = np.log(shares[:-1] / shares[1:])
        rest = np.zeros(answers.groups * answers.steps + sum(answers.sizes))
        flat = np.ones(answers.items)
        return cls(answers, np.concatenate([[0.0], thresholds, rest]), 0 * flat, flat).moved().moved()

    def scale(self) -> Floats:
        """The expected size of a step of each parameter, from how many answers tell about it."""
        a = self.answers
        counts = [np.bincount(code, minlength=n) for code, n in zip(a.facets, a.sizes, strict=True)]
        categories = np.bincount(a.category)
        groups = [np.repeat(np.bincount(a.group) / a.steps, a.steps)] if a.groups else []
        sizes = np.concatenate([[a.items], np.minimum(categories[1:], categories[:-1]) + 1, *groups, *counts])
        return np.asarray(2 / np.sqrt(sizes + 1.0))

    def _parts(self) -> tuple[float, Floats, Floats, list[Floats]]:
        a, p = self.answers, self.parameters
        cut = 1 + a.steps
        own = p[cut : cut + a.groups * a.steps].reshape(a.groups, a.steps)
        starts = np.cumsum([cut + own.size, *a.sizes])
        return float(np.exp(p[0])), p[1:cut], own, [p[i:j] for i, j in pairwise(starts)]

    @property
    def sigma(self) -> float:
        """The standard deviation of the items."""
        return self._parts()[0]

    @property
    def thresholds(self) -> Floats:
        """The thresholds of each group; one row where they are common."""
        _, common, own, _ = self._parts()
        return common + own if len(own) else common[None]

    @property
    def facets(self) -> list[Floats]:
        """The severity of every level of each facet."""
        return self._parts()[3]

    @cached_property
    def offset(self) -> Floats:
        """What each answer's facets take off its item."""
        parts = (effect[code] for effect, code in zip(self.facets, self.answers.facets, strict=True))
        return sum(parts, np.zeros(len(self.answers.item)))

    def probabilities(self, locations: Floats) -> Floats:
        """P of every category, for each answer at each of its locations: items less facets."""
        cumulative = np.pad(np.cumsum(self.thresholds, axis=1), ((0, 0), (1, 0)))
        group = self.answers.group if self.answers.groups else np.zeros(len(locations), dtype=np.int64)
        once = np.exp(np.clip(locations, -LARGEST, LARGEST))
        p = np.empty((*locations.shape, self.answers.steps + 1))
        p[..., 0] = 1.0
        for step in range(self.answers.steps):
            np.multiply(p[..., step], once, out=p[..., step + 1])
        p *= np.exp(-cumulative)[group][:, None, :]
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

    @property
    def objective(self) -> float:
        """The log-likelihood, less the penalty of groups' own thresholds."""
        own = self._parts()[2]
        return self.log_likelihood - (float(np.square(own).sum()) / (2 * self.answers.loose**2) if len(own) else 0.0)

    @cached_property
    def gradient(self) -> Floats:
        """The derivative of the objective, by Fisher's identity: that of the complete data, expected over the items."""
        a = self.answers
        _, p, posterior, _ = self._at_nodes
        mean = np.einsum("nqk,nq->nk", p, posterior[a.item])
        steps = np.arange(a.steps + 1)
        residual = a.category - mean @ steps
        above = np.cumsum(mean[:, ::-1], axis=1)[:, ::-1][:, 1:] - (a.category[:, None] > steps[:-1])
        sigma, _, own, _ = self._parts()
        squares = np.sum(posterior * np.square(self._nodes), axis=1)
        parts = [np.array([float((squares / sigma**2 - 1).sum())]), above.sum(axis=0)]
        if len(own):
            parts.append((level_sums(a.group, above, a.groups) - own / a.loose**2).ravel())
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
        moves[:] = 0.0
        for k, step in enumerate(np.eye(size) * SMALL_STEP):
            there = self._judged(k)
            part = self._of_items(there)
            ahead, back = (replace(part, parameters=self.parameters + side * step) for side in (1, -1))
            curvature[k] = (back.gradient - ahead.gradient) / (2 * SMALL_STEP)
            moves[k, there] = (ahead.items[0] - back.items[0]) / (2 * SMALL_STEP)
        information = (curvature + curvature.T) / 2
        return np.asarray(np.linalg.pinv(information, rcond=1e-7, hermitian=True)), moves.T

    def _judged(self, parameter: int) -> Ints:
        """The items that a parameter has to do with: those that a level of a facet judged, or all."""
        a = self.answers
        level = parameter - 1 - a.steps - a.groups * a.steps
        for code, size in zip(a.facets, a.sizes, strict=True):
            if 0 <= level < size:
                return np.unique(a.item[code == level])
            level -= size
        return np.arange(a.items)

    def _of_items(self, items: Ints) -> Rasch:
        """The same model of some items, whose derivatives are theirs alone."""
        a = self.answers
        if len(items) == a.items:
            return self
        kept = np.isin(a.item, items)
        one = replace(
            a,
            item=np.searchsorted(items, a.item[kept]),
            category=a.category[kept],
            group=a.group[kept] if a.groups else a.group,
            facets=[code[kept] for code in a.facets],
            whole=a,
        )
        return replace(self, answers=one, centre=self.centre[items], spread=self.spread[items])

    @cached_property
    def facet_errors(self) -> list[Floats]:
        """The standard errors of the levels of each facet less their mean; in large tables with thresholds as known."""
        a = self.answers
        if self._full is not None:
            covariance = self._full[0]
            starts = np.cumsum([1 + a.steps + a.groups * a.steps, *a.sizes])
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
        groups = max(a.groups, 1)
        origin = [np.zeros(1), np.full(a.steps, 1 / a.steps), np.full(a.groups * a.steps, 1 / (groups * a.steps))]
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
