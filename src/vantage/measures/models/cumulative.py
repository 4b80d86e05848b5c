"""Cumulative logit models with crossed random effects, by the Laplace approximation; two categories make them binary.

P(answer ≤ k) = F(τₖ − η) with F logistic, η = Xβ + Σ Zₖbₖ and bₖ normal. The random effects are integrated out by
Laplace's method: their mode is found by Newton steps, each of them a weighted linear mixed model (`crossed.Factored`),
and the log-likelihood is that at the mode less b′Σ⁻¹b/2 and log|V W|/2 (Pinheiro and Bates 1995; Christensen 2019,
`clmm`). Its gradient is exact, with the mode's dependence on the parameters by the adjoint method. For the logistic F
the derivatives of ℓ = log(F(a) − F(b)) with a = τₖ − η, b = τₖ₋₁ − η are ℓ′ = F(a) + F(b) − 1 and ℓ″ = −(f(a) + f(b)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np
from scipy.special import expit

from vantage.errors import InputError
from vantage.measures.models.crossed import DENSE, Crossed, Factored, few_threads
from vantage.measures.models.gaussian import chi_squared, scaled_chi_squared, upper_end
from vantage.measures.ratings import Floats, Ints

FLOOR: Final = 1e-3
"""The smallest standard deviation that is tried; at this value it is reported as zero."""
STEEP: Final = 25.0
"""A coefficient on the logit scale beyond this means that a level separates the answers perfectly."""
MARGIN_STEP: Final = 1e-4


class Cumulative:
    """The data of a model: the category of each answer, fixed effects without an intercept, and random effects.

    >>> rng = np.random.default_rng(1)
    >>> item, rater = (grid.ravel() for grid in np.indices((40, 6)))
    >>> hidden = 2 * rng.normal(size=40)[item] + rng.logistic(size=240)
    >>> answers, design = np.digitize(hidden, [-1.0, 1.0]) * 1.0, Crossed([item, rater])
    >>> fit = Cumulative(answers, np.ones((240, 1)), design).fit(np.ones(2))
    >>> fit.thresholds.round(2).tolist(), fit.theta.round(2).tolist()
    ([-1.1, 1.18], [1.65, 0.0])
    """

    def __init__(self, value: Floats, fixed: Floats, design: Crossed) -> None:
        if design.columns > DENSE:
            raise InputError(
                f"there are more than {DENSE:,} raters and items on both sides, too many for an ordinal model",
                remedy="use family gaussian",
            )
        self.codes, self.category = np.unique(value, return_inverse=True)
        self.design, self.fixed, self.value = design, fixed[:, 1:], value
        self._mode: list[Floats] = [np.zeros(size) for size in design.sizes]

    def fit(self, start: Floats, columns: Ints | None = None) -> CumulativeFit:
        """The likeliest parameters, with some of the fixed effects; thresholds take the place of the intercept."""
        from scipy.optimize import minimize

        kept = np.arange(self.fixed.shape[1]) if columns is None else columns[columns > 0] - 1
        k = len(self.codes) - 1
        shares = np.cumsum(np.bincount(self.category))[:-1] / len(self.category)
        # Variance spreads the marginal distribution, and the thresholds with it (Zeger, Liang and Albert 1988).
        thresholds = np.log(shares / (1 - shares)) * np.sqrt(1 + 0.35 * float(start @ start))
        first = np.concatenate([thresholds[:1], np.log(np.diff(thresholds)), np.zeros(len(kept)), np.log(start)])
        bounds = [(None, None)] * (k + len(kept)) + [(float(np.log(FLOOR)), 4.0)] * len(start)
        self._mode = [np.zeros(size) for size in self.design.sizes]

        def objective(parameters: Floats) -> tuple[float, Floats]:
            at = CumulativeFit(self, parameters, kept)
            return -at.log_likelihood, -at.gradient

        options = {"maxiter": 300, "ftol": 1e-11}
        with few_threads(self.design.columns):
            search = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        fit = CumulativeFit(self, search.x, kept)
        steep = np.abs(search.x[k : k + len(kept)]) > STEEP
        slope = np.abs(np.where((search.x <= [b[0] or -np.inf for b in bounds]), 0, fit.gradient)).max()
        if steep.any() or slope > 0.05 * max(1.0, np.sqrt(len(self.value) / 1000)) or not np.isfinite(search.fun):
            cause = "a level separates the answers perfectly" if steep.any() else f"largest derivative {slope:.2g}"
            raise InputError(
                f"the model did not converge after {search.nit} iterations of L-BFGS-B ({cause})",
                remedy="use family gaussian, or leave out an interaction or a trait with few raters",
            )
        return fit


@dataclass(frozen=True)
class CumulativeFit:
    """A cumulative logit model at one set of parameters: thresholds (as log steps), slopes, log standard deviations."""

    model: Cumulative
    parameters: Floats
    kept: Ints

    @property
    def _cut(self) -> int:
        return len(self.model.codes) - 1

    @cached_property
    def thresholds(self) -> Floats:
        """The boundaries between the categories on the logit scale."""
        k = self._cut
        return np.cumsum(np.concatenate([self.parameters[:1], np.exp(self.parameters[1:k])]))

    @property
    def theta(self) -> Floats:
        """The standard deviation of each random effect."""
        return np.exp(self.parameters[self._cut + len(self.kept) :])

    @property
    def _slopes(self) -> Floats:
        return self.parameters[self._cut : self._cut + len(self.kept)]

    def _pieces(self, predictor: Floats) -> tuple[Floats, Floats, Floats]:
        """Log P of each answer, and F at its upper and its lower threshold."""
        ends = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        above, below = ends[self.model.category + 1] - predictor, ends[self.model.category] - predictor
        upper, lower = expit(above), expit(below)
        # Of two values near one their complements have the digits.
        p = np.where(below > 0, expit(-below) - expit(-above), upper - lower)
        return np.log(np.maximum(p, 1e-300)), upper, lower

    @cached_property
    def _at_mode(self) -> tuple[Floats, list[Floats], Factored, Floats, Floats, Floats]:
        """Random parts and effects at the mode, the factorised curvature, log P and F at both thresholds."""
        design, theta = self.model.design, self.theta
        offset = self.model.fixed[:, self.kept] @ self._slopes
        effects = [effect.copy() for effect in self.model._mode]
        squares = [np.square(np.maximum(design.spread(k, theta), 1e-300)) for k in range(len(theta))]

        def height(effects: list[Floats]) -> tuple[float, Floats, tuple[Floats, Floats, Floats]]:
            random = sum((e[code] for e, code in zip(effects, design.codes, strict=True)), np.zeros(design.n))
            pieces = self._pieces(offset + random)
            penalty = sum(
                float((e[:n] ** 2 / s[:n]).sum()) for e, s, n in zip(effects, squares, design.levels, strict=True)
            )
            return float(pieces[0].sum()) - penalty / 2, random, pieces

        now, random, pieces = height(effects)
        for _ in range(60):
            _, upper, lower = pieces
            weight = np.maximum(upper * (1 - upper) + lower * (1 - lower), 1e-10)
            factored = Factored(design, theta, weight)
            target = factored.effects(random + (upper + lower - 1) / weight)
            step = 1.0
            while True:
                tried = [e + step * (t - e) for e, t in zip(effects, target, strict=True)]
                value, moved, fresh = height(tried)
                if value >= now - 1e-9 * abs(now) or step < 1e-3:
                    break
                step /= 2
            gain, now, effects, random, pieces = value - now, value, tried, moved, fresh
            if gain < 1e-9 * (1 + abs(now)) ** 0.5:
                break
        self.model._mode = effects
        log_p, upper, lower = pieces
        weight = np.maximum(upper * (1 - upper) + lower * (1 - lower), 1e-10)
        return random, effects, Factored(design, theta, weight), log_p, upper, lower

    @cached_property
    def log_likelihood(self) -> float:
        """The Laplace approximation of the log-likelihood."""
        _, effects, factored, log_p, _, _ = self._at_mode
        design = self.model.design
        penalty = sum(
            float(np.square(e[:n]).sum()) / max(t, 1e-300) ** 2
            for e, t, n in zip(effects, self.theta, design.levels, strict=True)
        )
        return float(log_p.sum() - penalty / 2 - factored.log_determinant / 2)

    @cached_property
    def gradient(self) -> Floats:
        """The derivative of the log-likelihood by the parameters."""
        _, effects, factored, log_p, upper, lower = self._at_mode
        design, model, k = self.model.design, self.model, self._cut
        f_upper, f_lower = upper * (1 - upper), lower * (1 - lower)
        slope_upper, slope_lower = f_upper * (1 - 2 * upper), f_lower * (1 - 2 * lower)
        score, weight = upper + lower - 1, factored.weight
        change = -(slope_upper + slope_lower)  # of the weights, by the predictor
        variance = factored.predictor_variance()
        pull = variance * change
        follow = factored.effects(pull / weight)
        adjoint = sum((e[code] for e, code in zip(follow, design.codes, strict=True)), np.zeros(design.n))
        p = np.exp(log_p)
        top = f_upper / np.maximum(p, 1e-300) - variance * slope_upper / 2 - adjoint * f_upper / 2
        bottom = -f_lower / np.maximum(p, 1e-300) - variance * slope_lower / 2 - adjoint * f_lower / 2
        by_threshold = np.bincount(model.category, top, k + 1)[:k] + np.bincount(model.category, bottom, k + 1)[1:]
        # From thresholds to the first of them and the logarithms of the steps.
        tails = np.cumsum(by_threshold[::-1])[::-1]
        own = np.concatenate([tails[:1], tails[1:] * np.exp(self.parameters[1:k])])
        predictor = score - pull / 2 + adjoint * weight / 2
        slopes = model.fixed[:, self.kept].T @ predictor
        spreads = []
        for number, (effect, own_follow, theta) in enumerate(zip(effects, follow, self.theta, strict=True)):
            trace = float((1 - factored.level_variance(number)[: design.levels[number]] / theta**2).sum())
            direct = effect @ design.sums(number, predictor) - own_follow @ design.sums(number, score) / 2
            spreads.append(float(direct) - trace)
        return np.concatenate([own, slopes, spreads])

    @cached_property
    def _inverse(self) -> Floats:
        """The covariance of the parameters, from differences of the gradient; those at their floor are held."""
        at = self.parameters
        free = np.ones(len(at), dtype=np.bool_)
        free[self._cut + len(self.kept) :] = self.theta > 1.01 * FLOOR
        rows = []
        for number in np.flatnonzero(free):
            step = np.zeros(len(at))
            step[number] = 1e-3
            ahead, back = (CumulativeFit(self.model, at + sign * step, self.kept).gradient for sign in (1, -1))
            rows.append((ahead - back)[free] / 2e-3)
        information = -np.array(rows)
        out = np.zeros((len(at), len(at)))
        out[np.ix_(free, free)] = np.linalg.pinv((information + information.T) / 2)
        return out

    @property
    def beta(self) -> Floats:
        """The fixed effects on the logit scale; the intercept is zero, since the thresholds take its place."""
        return np.concatenate([[0.0], self._slopes])

    @property
    def covariance(self) -> Floats:
        """The covariance of the fixed effects."""
        k, n = self._cut, len(self.kept)
        return np.pad(self._inverse[k : k + n, k : k + n], ((1, 0), (1, 0)))

    @property
    def threshold_errors(self) -> Floats:
        """The standard errors of the thresholds."""
        k = self._cut
        change = np.tril(np.ones((k, k))) * np.concatenate([[1.0], np.exp(self.parameters[1:k])])
        return np.asarray(np.sqrt(np.clip(np.diagonal(change @ self._inverse[:k, :k] @ change.T), 0, None)))

    @property
    def variances(self) -> Floats:
        """The variance of each factor; the logistic residual has π²/3."""
        theta = self.theta
        return np.where(theta > 1.01 * FLOOR, np.square(theta), 0.0)

    def variance_intervals(self, confidence: float) -> list[tuple[float, float]]:
        """An interval of each variance, as those of a linear model (`gaussian.GaussianFit.variance_intervals`)."""
        first = self._cut + len(self.kept)

        def fall(theta: float, k: int) -> float:
            changed = self.parameters.copy()
            changed[first + k] = np.log(max(theta, FLOOR))
            return 2 * (self.log_likelihood - CumulativeFit(self.model, changed, self.kept).log_likelihood)

        out = []
        for k, variance in enumerate(self.variances.tolist()):
            if not variance:
                out.append((0.0, upper_end(partial(fall, k=k), confidence) ** 2))
                continue
            # A parameter is the logarithm of a standard deviation.
            of_log = 4 * float(max(self._inverse[first + k, first + k], 1e-12))
            low, high = scaled_chi_squared(variance, of_log, confidence)
            out.append((0.0 if fall(FLOOR, k) < chi_squared(confidence, 1) else low, high))
        return out

    @cached_property
    def effects(self) -> list[tuple[Floats, Floats]]:
        """The modes of the levels of each factor, and their conditional standard errors."""
        _, modes, factored, *_ = self._at_mode
        levels = self.model.design.levels
        errors = [np.sqrt(factored.level_variance(k)) for k in range(len(levels))]
        return [(mode[:n], error[:n]) for mode, error, n in zip(modes, errors, levels, strict=True)]

    @property
    def scores(self) -> Floats:
        """The derivative of the log-likelihood by each answer's predictor."""
        return np.asarray(self._at_mode[4] + self._at_mode[5] - 1)

    @property
    def information(self) -> Floats:
        """The information of each answer on its predictor."""
        return self._at_mode[2].weight

    def margins(self, levels: Floats, own: Floats) -> tuple[Floats, Floats]:
        """The mean answer if everyone had each level of a term, from its rows of contrasts, and their covariance.

        `own` has the columns of the term. Random effects are at their modes; the covariance is by the delta method.
        """
        k, n = self._cut, len(self.kept)
        random = self._at_mode[0]
        columns = np.flatnonzero(levels.any(axis=0)) - 1
        fixed, codes = self.model.fixed[:, self.kept], self.model.codes

        def means(parameters: Floats) -> Floats:
            slopes = parameters[k : k + n]
            thresholds = np.cumsum(np.concatenate([parameters[:1], np.exp(parameters[1:k])]))
            others = random + fixed @ slopes - own @ slopes[columns]
            out = []
            for row in levels:
                shifted = others + row[1:] @ slopes
                exceeded = [float(expit(shifted - threshold).mean()) for threshold in thresholds]
                out.append(codes[0] + np.diff(codes) @ exceeded)
            return np.array(out)

        at = self.parameters
        jacobian = np.zeros((len(levels), len(at)))
        for number in range(k + n):
            step = np.zeros(len(at))
            step[number] = MARGIN_STEP
            jacobian[:, number] = (means(at + step) - means(at - step)) / (2 * MARGIN_STEP)
        return means(at), jacobian @ self._inverse @ jacobian.T
