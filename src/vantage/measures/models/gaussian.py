"""Linear mixed models with crossed random effects, by (restricted) maximum likelihood.

The deviance is profiled over the fixed effects and the residual variance (Bates, Mächler, Bolker and Walker 2015): with
M = [X, y]′V⁻¹[X, y] it is log|V| + log|X′V⁻¹X| + (n − p)(1 + log(2πr²/(n − p))), where r² is the part of y′V⁻¹y that X
leaves. All that an evaluation needs are sums over levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.sparse import csr_array, hstack
from scipy.special import gammaincinv

from vantage.errors import InputError
from vantage.measures.codes import dense
from vantage.measures.intervals import Contrast
from vantage.measures.models.crossed import DENSE, Crossed, Factored, few_threads, level_sums
from vantage.measures.ratings import Floats, Ints

STEP: Final = 1e-5
"""The step of the finite differences by which the deviance is minimised."""
GRAMS: Final = 4 * 10**7
"""The most numbers to which a design is reduced before the search begins."""
PARTS: Final = 4
"""The most parts of a level, such as an item by group, in designs that are reduced."""
AWAY: Final = 0.03
"""A relative standard deviation that a search ended below is tried at this value."""
ZERO: Final = 1e-4
"""A relative standard deviation below this is reported as zero."""


@dataclass(frozen=True)
class _Grams:
    """A design in sums of squares and products: all that an evaluation needs, however many answers there are.

    What is eliminated are the levels of one factor, or those of one within the levels of another (item × group within
    item). Of the coarser levels, which are the finer ones where there is one factor, those whose parts have the same
    numbers of answers are one kind, and what the parts of a kind take away from the other columns depends on the
    standard deviations by one weight for each pair of parts.
    """

    sizes: Floats
    """The answers of each part of each kind; zero where a kind has fewer parts."""
    which: Ints
    """Whose standard deviation each part has."""
    above: Ints | None
    """Whose standard deviation the coarser level of each kind has."""
    counts: Ints
    pairs: Ints
    """Kind, part and part of each sum of products."""
    grams: Floats
    total: Floats

    @classmethod
    def of(cls, design: Crossed, first: Floats, rest: Floats, inner: Floats) -> _Grams | None:
        """The sums of a design, from those of the fixed effects and answers; null where they would be many."""
        fine, width, cut = design.chain[0], design.columns + len(inner), design.columns
        levels = design.levels[fine]
        whole = all(design.sizes[k] == design.levels[k] for k in design.chain)
        if len(design.chain) > 2 or width > DENSE or (len(design.chain) == 2 and not whole):
            return None
        mass, stratum = design.sums(fine, design.plain[0])[:levels], design.strata[fine][:levels]
        parent = design.above[0] if len(design.chain) == 2 else np.arange(levels)
        order = np.lexsort((stratum, mass, parent))
        begin = np.flatnonzero(np.diff(parent[order], prepend=-1))
        number = np.diff(begin, append=levels)
        if (parts := int(number.max())) > PARTS:
            return None
        member = np.full((len(begin), parts), -1)
        slot = np.arange(levels) - np.repeat(begin, number)
        member[np.repeat(np.arange(len(begin)), number), slot] = order
        sizes = np.where(member < 0, 0.0, mass[member])
        which = np.where(member < 0, 0, stratum[member])
        above = design.strata[design.chain[1]][parent[order[begin]]] if len(design.chain) == 2 else which[:, 0]
        place = np.zeros(len(begin), dtype=np.int64)
        for column in (*sizes.T, *which.T, above):
            place, _ = dense(place * (int(column.max()) + 1) + column.astype(np.int64))
        _, example, counts = np.unique(place, return_index=True, return_counts=True)
        sizes, which, above = sizes[example], which[example], above[example]
        slots = [(s, t) for s in range(parts) for t in range(s + 1)]
        pairs = [(k, s, t) for k in range(len(sizes)) for s, t in slots if sizes[k, s] and sizes[k, t]]
        if len(pairs) * width**2 > GRAMS:
            return None
        table = hstack([design.plain[1], csr_array(first)], format="csr")
        grams = np.empty((len(pairs), width, width))
        for n, (kind, one, two) in enumerate(pairs):
            rows = member[place == kind]
            product = (table[rows[:, one]].T @ table[rows[:, two]]).toarray()
            grams[n] = product if one == two else product + product.T
        total = np.zeros((width, width))
        total[:cut, :cut] = design.plain[2].toarray()
        total[:cut, cut:], total[cut:, :cut], total[cut:, cut:] = rest, rest.T, inner
        coarser = above if len(design.chain) == 2 else None
        return cls(sizes, which, coarser, counts, np.array(pairs).T, grams.reshape(len(pairs), -1), total)

    def _weights(self, theta: Any) -> tuple[Any, Any]:
        """The weight of each sum of products, and log|V| of what is eliminated, for each row of parameters."""
        if self.above is None:
            squared, sizes = theta[..., self.which[:, 0]] ** 2, self.sizes[:, 0]
            grown = 1 + squared * sizes
            return squared / grown, np.log(grown) @ self.counts
        squared = theta[..., self.which] ** 2
        gain = 1 / (1 + squared * self.sizes)
        kind, one, two = self.pairs
        mass, coarser = (gain * self.sizes).sum(axis=-1), theta[..., self.above] ** 2
        shared = (coarser / (1 + coarser * mass))[..., kind] * gain[..., kind, one] * gain[..., kind, two]
        logs = np.log(1 + coarser * mass) - np.log(gain).sum(axis=-1)
        return shared + np.where(one == two, (squared * gain)[..., kind, one], 0.0), logs @ self.counts

    def left(self, theta: Floats) -> tuple[Floats, float]:
        """What is left of the other columns, and log|V| of what is eliminated."""
        weights, logs = self._weights(theta)
        return self.total - (weights @ self.grams).reshape(self.total.shape), float(logs)

    def slope(self, theta: Floats, by_left: Floats) -> Floats:
        """The derivative by each parameter, from that by what is left, by a step along the imaginary axis."""
        weights, logs = self._weights(theta + 1e-30j * np.eye(len(theta)))
        return np.asarray((logs.imag - weights.imag @ (self.grams @ by_left.ravel())) / 1e-30)


class Gaussian:
    """The data of a model in sums, from which any subset of the fixed effects is fitted.

    >>> answers = np.array([[1.0, 2, 3, 4], [2, 3, 4, 5], [1, 3, 3, 5]])
    >>> rater, item = (grid.ravel() for grid in np.indices(answers.shape))
    >>> fit = Gaussian(answers.ravel(), np.ones((12, 1)), Crossed([item, rater])).fit(np.ones(2))
    >>> fit.variances.round(3).tolist(), fit.beta.round(3).tolist()
    ([1.889, 0.222, 0.111], [3.0])
    """

    def __init__(self, value: Floats, fixed: Floats, design: Crossed) -> None:
        self.design, self.fixed, self.value = design, fixed, value
        self.centre = float(value.mean())
        sides = np.column_stack([fixed, value - self.centre])
        self._first = design.sums(design.chain[0], sides)
        self._rest = design.rest_sums(sides)
        self._inner = sides.T @ sides

    @cached_property
    def _grams(self) -> _Grams | None:
        """What a design is reduced to once; null where that would be large."""
        return _Grams.of(self.design, self._first, self._rest, self._inner)

    def profiled(self, theta: Floats) -> tuple[float, Floats]:
        """log|V| and [X, y]′V⁻¹[X, y] at these relative standard deviations."""
        if self._grams is None:
            factored = Factored(self.design, theta)
            return factored.log_determinant, factored.quadratic(self._first, self._rest, self._inner)
        left, log_determinant = self._grams.left(theta)
        cut = self.design.columns
        if not cut:
            return log_determinant, left
        scale = np.concatenate([self.design.spread(k, theta) for k in self.design.rest])
        inner = left[:cut, :cut] * (scale[:, None] * scale)
        inner.flat[:: cut + 1] += 1.0
        factor = np.linalg.cholesky(inner)
        side = solve_triangular(factor, scale[:, None] * left[:cut, cut:], lower=True, check_finite=False)
        return log_determinant + 2 * float(np.log(np.diagonal(factor)).sum()), left[cut:, cut:] - side.T @ side

    def descent(self, theta: Floats, kept: Ints) -> tuple[float, Floats]:
        """The deviance of designs that are reduced to sums, and its derivative by each parameter.

        With the other factors' part C and [X, y]′V⁻¹[X, y] = M the derivative is <C⁻¹, dC> + <W, dM>, where W has the
        derivatives of the profiled deviance by M.
        """
        if self._grams is None:
            raise TypeError("the design is not reduced to sums")
        (left, deviance), cut = self._grams.left(theta), self.design.columns
        inside, right = left[:cut, :cut], left[:cut, cut:]
        scale = np.concatenate([np.empty(0), *(self.design.spread(k, theta) for k in self.design.rest)])
        inner = inside * (scale[:, None] * scale)
        inner.flat[:: cut + 1] += 1.0
        factor = np.linalg.cholesky(inner)
        inverse = cho_solve((factor, True), np.eye(cut), check_finite=False) if cut else inner
        solved = inverse @ (scale[:, None] * right)
        products = left[cut:, cut:] - (scale[:, None] * right).T @ solved
        own = products[np.ix_(kept, kept)]
        own_inverse = np.linalg.inv(own)
        beta = own_inverse @ products[kept, -1]
        squares = max(float(products[-1, -1] - products[kept, -1] @ beta), 1e-300)
        freedom = self.design.n - len(kept)
        deviance += 2 * float(np.log(np.diagonal(factor)).sum())
        deviance += freedom * (1 + np.log(2 * np.pi * squares / freedom))
        deviance += float(np.linalg.slogdet(own)[1])
        weight = np.zeros_like(products)
        weight[np.ix_(kept, kept)] = own_inverse
        rest = np.zeros(len(products))
        rest[kept], rest[-1] = -beta, 1.0
        weight += freedom / squares * np.outer(rest, rest)
        pulled = solved @ weight
        both = inverse + pulled @ solved.T
        by_scale = 2 * ((both * inside) @ scale - (pulled * right).sum(axis=1))
        whole = np.empty_like(left)
        whole[:cut, :cut], whole[cut:, cut:] = both * (scale[:, None] * scale), weight
        whole[:cut, cut:] = -scale[:, None] * pulled
        whole[cut:, :cut] = whole[:cut, cut:].T
        slope = self._grams.slope(theta, whole)
        for k in self.design.rest:
            levels = self.design.levels[k]
            slope += level_sums(self.design.strata[k][:levels], by_scale[self.design.blocks[k]][:levels], len(theta))
        return float(deviance), slope

    def fit(self, start: Floats, columns: Ints | None = None) -> GaussianFit:
        """The likeliest relative standard deviations, searched for from `start`, with some of the fixed effects."""
        from scipy.optimize import minimize

        kept = np.arange(self.fixed.shape[1]) if columns is None else columns

        def deviance(theta: Floats) -> float:
            return GaussianFit(self, theta, kept).deviance

        if self.design.columns > DENSE and (quick := _newton(deviance, start)) is not None:
            return GaussianFit(self, quick, kept)
        bounds = [(0.0, 1e4)] * len(start)
        options = {"eps": STEP, "ftol": 1e-12, "gtol": 1e-5, "maxiter": 200}
        exact = self._grams is not None

        def objective(theta: Floats) -> Any:
            return self.descent(theta, kept) if exact else deviance(theta)

        def searched(first: Floats) -> Any:
            return minimize(objective, first, jac=exact or None, method="L-BFGS-B", bounds=bounds, options=options)

        with few_threads(self.design.columns):
            search = searched(np.clip(start, 0.02, 50.0))
            # At zero the deviance is flat in every standard deviation, even where it would fall beyond.
            for k in np.flatnonzero(search.x < AWAY):
                moved = search.x.copy()
                moved[k] = AWAY
                if deviance(moved) < search.fun - 1e-9 and (again := searched(moved)).fun < search.fun:
                    search = again
        if (not search.success and "ABNORMAL" not in str(search.message)) or not np.isfinite(search.fun):
            raise InputError(
                f"the model did not converge after {search.nit} iterations of L-BFGS-B ({search.message})",
                remedy="leave out an interaction or a trait, or use more ratings",
            )
        theta = np.where(search.x < ZERO, 0.0, search.x)
        return GaussianFit(self, theta, kept)


@dataclass(frozen=True)
class GaussianFit:
    """A linear mixed model at one set of relative standard deviations."""

    model: Gaussian
    theta: Floats
    columns: Ints

    @cached_property
    def factored(self) -> Factored:
        """The covariance of the answers."""
        return Factored(self.model.design, self.theta)

    @cached_property
    def _solved(self) -> tuple[Floats, Floats, float, float]:
        """Fixed effects, the inverse of X′V⁻¹X, log|V| + log|X′V⁻¹X|, the residual sum of squares."""
        log_determinant, products = self.model.profiled(self.theta)
        kept = products[np.ix_(self.columns, self.columns)]
        side = products[self.columns, -1]
        inverse = np.asarray(np.linalg.inv(kept), dtype=np.float64)
        beta = inverse @ side
        log_determinant += float(np.linalg.slogdet(kept)[1])
        return beta, inverse, log_determinant, max(float(products[-1, -1] - side @ beta), 1e-300)

    @property
    def freedom(self) -> int:
        """The number of answers, less that of fixed effects."""
        return self.model.design.n - len(self.columns)

    @cached_property
    def deviance(self) -> float:
        """Minus twice the restricted log-likelihood, as lme4 defines it."""
        _, _, log_determinant, squares = self._solved
        return float(log_determinant + self.freedom * (1 + np.log(2 * np.pi * squares / self.freedom)))

    @property
    def residual(self) -> float:
        """The residual variance."""
        return self._solved[3] / self.freedom

    @property
    def variances(self) -> Floats:
        """The variance of each factor and, last, of the residual."""
        return np.append(np.square(self.theta), 1.0) * self.residual

    @property
    def beta(self) -> Floats:
        """The fixed effects; the first column must be the intercept."""
        shifted = self._solved[0].copy()
        shifted[0] += self.model.centre
        return shifted

    @property
    def covariance(self) -> Floats:
        """The covariance of the fixed effects."""
        return self._solved[1] * self.residual

    @cached_property
    def effects(self) -> list[tuple[Floats, Floats]]:
        """Shrunken estimates (BLUPs) of the levels of each factor, and their conditional standard errors."""
        means = self.factored.effects(self.model.value - self.model.fixed[:, self.columns] @ self.beta)
        errors = [np.sqrt(self.factored.level_variance(k) * self.residual) for k in range(len(means))]
        return [(mean[:n], error[:n]) for mean, error, n in zip(means, errors, self.model.design.levels, strict=True)]

    @property
    def log_likelihood(self) -> float:
        """The restricted log-likelihood."""
        return -self.deviance / 2

    def _at(self, theta: Floats) -> GaussianFit:
        """The same model at other relative standard deviations."""
        return GaussianFit(self.model, theta, self.columns)

    @property
    def _free(self) -> list[int]:
        """The random effects whose variance is not zero."""
        return [k for k, theta in enumerate(self.theta) if theta > 0]

    def _of_logs(self, logs: Floats) -> GaussianFit:
        """The model at these logarithms of the variances that are not zero, the residual's last."""
        theta = self.theta.copy()
        theta[self._free] = np.exp((logs[:-1] - logs[-1]) / 2)
        return self._at(theta)

    @cached_property
    def _log_variances(self) -> Floats:
        """The covariance of the logarithms of the variances that are not zero, from the curvature of the likelihood."""

        def unprofiled(logs: Floats) -> float:
            at = self._of_logs(logs)
            change = logs[-1] - np.log(at.residual)
            return float(at.deviance + self.freedom * (change + np.exp(-change) - 1))

        centre = np.log(self.variances[[*self._free, -1]])
        with few_threads(self.model.design.columns):
            return np.asarray(np.linalg.pinv(hessian(unprofiled, centre, 0.05) / 2, hermitian=True))

    def contrast(self, weights: Floats) -> Contrast:
        """A linear combination of the fixed effects, with Satterthwaite's degrees of freedom.

        They are 2v²/(g′Ag), where v is the variance of the combination, g its derivatives by the variances, and A the
        covariance of these (Satterthwaite 1946; Giesbrecht and Burns 1985).
        """
        centre = np.log(self.variances[[*self._free, -1]])

        def log_variance(logs: Floats) -> float:
            return float(np.log(weights @ self._of_logs(logs)._solved[1] @ weights) + logs[-1])

        shifts = np.eye(len(centre)) * 1e-3
        with few_threads(self.model.design.columns):
            slope = np.array([log_variance(centre + one) - log_variance(centre - one) for one in shifts]) / 2e-3
        unsure = float(slope @ self._log_variances @ slope)
        error = float(np.sqrt(weights @ self.covariance @ weights))
        return Contrast(float(weights @ self.beta), error, 2 / unsure if unsure > 0 else np.inf)

    def variance_intervals(self, confidence: float) -> list[tuple[float, float]]:
        """An interval of each variance, from the curvature of the likelihood.

        Where a component is positive it has the distribution of a scaled χ² whose degrees of freedom match its standard
        error (Satterthwaite 1946), whose lower end is zero where the likelihood does not exclude that. One that is zero
        has the upper end at which the likelihood, with the other components as they are, falls by what the confidence
        allows.
        """

        def fall(theta: float, k: int) -> float:
            changed = self.theta.copy()
            changed[k] = theta
            return self._at(changed).deviance - self.deviance

        errors = dict(zip([*self._free, len(self.theta)], np.diagonal(self._log_variances), strict=True))
        out = []
        for k, variance in enumerate(self.variances.tolist()):
            if k not in errors:
                out.append((0.0, upper_end(partial(fall, k=k), confidence) ** 2 * self.residual))
                continue
            low, high = scaled_chi_squared(variance, float(errors[k]), confidence)
            none = k < len(self.theta) and fall(0.0, k) < chi_squared(confidence, 1)
            out.append((0.0 if none else low, high))
        return out


def _newton(deviance: Callable[[Floats], float], start: Floats) -> Floats | None:
    """The minimum by Newton steps in the logarithms, for deviances that are slow; null where one tends to zero.

    Second derivatives are taken again only after a long step, so that most steps cost two evaluations per parameter.
    """

    def function(logs: Floats) -> float:
        return deviance(np.exp(logs))

    at, shifts = np.log(np.clip(start, 0.05, 20.0)), np.eye(len(start)) * 3e-3
    curvature: Floats | None = None
    for _ in range(20):
        if curvature is None:
            curvature = hessian(function, at, 0.02)
        if at.min() < np.log(0.02) or np.linalg.eigvalsh(curvature).min() <= 0:
            return None
        slope = np.array([function(at + shift) - function(at - shift) for shift in shifts]) / 6e-3
        step = -np.clip(np.linalg.solve(curvature, slope), -1, 1)
        at = at + step
        if np.abs(step).max() < 1e-5:
            return np.asarray(np.exp(at))
        curvature = None if np.abs(step).max() > 0.1 else curvature
    return None


def chi_squared(p: float, freedom: float) -> float:
    """The quantile of a χ² distribution."""
    return 2 * float(gammaincinv(freedom / 2, p))


def scaled_chi_squared(variance: float, of_log: float, confidence: float) -> tuple[float, float]:
    """The interval of a variance whose logarithm has this variance, as of a scaled χ² (Satterthwaite 1946)."""
    freedom, tail = 2 / max(of_log, 1e-12), (1 - confidence) / 2
    low, high = (freedom * variance / max(chi_squared(p, freedom), 1e-300) for p in (1 - tail, tail))
    return low, high


def upper_end(fall: Callable[[float], float], confidence: float) -> float:
    """The standard deviation at which a deviance that is least at zero has risen by what the confidence allows."""
    from scipy.optimize import brentq

    allowed, top = chi_squared(confidence, 1), 0.01
    while fall(top) < allowed and top < 100:
        top *= 2
    return float(brentq(lambda theta: fall(theta) - allowed, top / 2 if top > 0.01 else 0.0, top, xtol=1e-4))


def hessian(function: Callable[[Floats], float], centre: Floats, step: float) -> Floats:
    """Second derivatives by central differences."""
    n = len(centre)
    out = np.empty((n, n))
    shifts = np.eye(n) * step
    middle = function(centre)
    for i in range(n):
        out[i, i] = (function(centre + shifts[i]) - 2 * middle + function(centre - shifts[i])) / step**2
        for j in range(i):
            corners = [function(centre + a * shifts[i] + b * shifts[j]) * a * b for a in (1, -1) for b in (1, -1)]
            out[i, j] = out[j, i] = sum(corners) / (4 * step**2)
    return out
