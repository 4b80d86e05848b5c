"""Linear algebra of crossed random effects: log-determinants and solves without an items × raters matrix.

The covariance of the answers is V = W⁻¹ + Σ θₖ² ZₖZₖ′, in units of the residual variance, with one indicator matrix Zₖ
per factor and one weight per answer. Factors are eliminated in two steps. The factor with the most levels and those it
is nested in (item × trait within item) form a *chain*: their part is inverted level by level, in time linear in the
answers. What is left of the other factors is the Schur complement C = I + Λ(Z′AZ)Λ, where A is the inverse of the
chain's part; it has one row per rater and is factorised by Cholesky. Beyond `DENSE` rows it is never formed: solves are
by conjugate gradients and its log-determinant by stochastic Lanczos quadrature (Ubaru, Chen and Saad 2017), with fixed
probes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh_tridiagonal
from scipy.sparse import csr_array

from vantage.measures.ratings import Floats, Ints

DENSE: Final = 3000
"""The largest Schur complement that is factorised; larger ones are solved by iteration."""
PROBES: Final = 8
LANCZOS: Final = 10
TOLERANCE: Final = 1e-10
FEW_COLUMNS: Final = 200
"""With as few levels of all other factors only the finest one is eliminated."""
SMALL: Final = 1000
"""Matrices of up to so many rows are factorised by one thread."""


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def few_threads(rows: int) -> AbstractContextManager[object]:
    """Limits linear algebra on small matrices to one thread: more threads gain little and wait for busy cores."""
    return nullcontext() if rows > SMALL else _libraries().limit(limits=1)


class Crossed:
    """The levels that every answer has of every factor; −1 where an answer has none.

    `strata` says of the levels of some factors, by their number, which of several standard deviations each level has:
    groups of raters may differ in how much their members do. There is one parameter per factor and stratum. `slopes`
    has, for some factors, a number for each answer that the effect of its level is multiplied by.

    >>> answers = np.array([[1.0, 2, 3, 4], [2, 3, 4, 5], [1, 3, 3, 5]])
    >>> rater, item = (grid.ravel() for grid in np.indices(answers.shape))
    >>> design = Crossed([item, rater])
    >>> design.chain, design.rest, design.levels
    ([0], [1], [4, 3])
    """

    def __init__(
        self,
        codes: Sequence[Ints],
        strata: Mapping[int, Ints] | None = None,
        slopes: Mapping[int, Floats] | None = None,
    ) -> None:
        self.n = len(codes[0])
        self.slopes = dict(slopes or {})
        self.levels = [int(code.max(initial=-1)) + 1 for code in codes]
        # Answers without a level share one whose standard deviation is zero.
        self.codes = [np.where(code < 0, size, code) for code, size in zip(codes, self.levels, strict=True)]
        self.sizes = [int(code.max(initial=0)) + 1 for code in self.codes]
        self.strata: list[Ints] = []
        self.parameters = 0
        for k, size in enumerate(self.levels):
            own = np.zeros(size, dtype=np.int64) if strata is None or k not in strata else strata[k]
            self.strata.append(np.append(own, 0) + self.parameters)
            self.parameters += int(own.max(initial=0)) + 1
        order = sorted((k for k in range(len(codes)) if k not in self.slopes), key=lambda k: -self.levels[k])
        self.chain, self.above = [order[0]], []
        few = sum(self.levels) - self.levels[order[0]] <= FEW_COLUMNS
        for k in () if few else order[1:]:
            if (coarser := _nested(self.codes[self.chain[-1]], self.codes[k])) is not None:
                self.chain.append(k)
                self.above.append(coarser)
        self.rest = [k for k in range(len(codes)) if k not in self.chain]
        starts = np.cumsum([0, *(self.sizes[k] for k in self.rest)])
        self.columns = int(starts[-1])
        self.blocks = {k: slice(int(a), int(b)) for k, a, b in zip(self.rest, starts[:-1], starts[1:], strict=True)}
        self.first = self.codes[self.chain[0]]
        self.places = [self.codes[k] + self.blocks[k].start for k in self.rest]
        rows, columns = np.tile(self.first, len(self.rest)), np.concatenate([self.first[:0], *self.places])
        key = rows * max(self.columns, 1) + columns
        cells, self._cell = np.unique(key, return_inverse=True)
        row, self._column = np.divmod(cells, max(self.columns, 1))
        self._pointer = np.searchsorted(row, np.arange(self.sizes[self.chain[0]] + 1))
        self._dense = len(cells) > 0.1 * self.columns * self.sizes[self.chain[0]]
        self._held: tuple[Floats, csr_array, csr_array] | None = None

    def sums(self, k: int, values: Floats) -> Floats:
        """The sum of the values, or of each of their columns, over the levels of a factor."""
        return level_sums(self.codes[k], values, self.sizes[k])

    def rest_sums(self, values: Floats) -> Floats:
        """The same for all factors outside the chain, one after the other, slopes times their numbers."""
        return np.concatenate(
            [np.zeros((0, *values.shape[1:])), *(self.sums(k, self._times(k, values)) for k in self.rest)]
        )

    def _times(self, k: int, values: Floats) -> Floats:
        if k not in self.slopes:
            return values
        return values * (self.slopes[k] if values.ndim == 1 else self.slopes[k][:, None])

    def cells(self, weight: Floats) -> csr_array:
        """The total weight of each level of the finest factor by each level of the factors outside the chain."""
        weights = np.concatenate([weight[:0], *(self._times(k, weight) for k in self.rest)])
        data = np.bincount(self._cell, weights, minlength=len(self._column))
        shape = (self.sizes[self.chain[0]], self.columns)
        return csr_array((data, self._column, self._pointer), shape=shape)

    def between(self, weight: Floats) -> csr_array:
        """Z′WZ of the factors outside the chain, which is diagonal where there is one such factor."""
        size, shape = self.columns, (self.columns, self.columns)
        if len(self.rest) <= 1 and not self.slopes:
            return csr_array((self.rest_sums(weight), np.arange(size), np.arange(size + 1)), shape=shape)
        row = np.concatenate([place for place in self.places for _ in self.places])
        column = np.tile(np.concatenate(self.places), len(self.places))
        both = [self._times(k, self._times(other, weight)) for k in self.rest for other in self.rest]
        return csr_array((np.concatenate(both), (row, column)), shape=shape)

    @cached_property
    def plain(self) -> tuple[Floats, csr_array, csr_array]:
        """Weights of one, and what follows from them."""
        return self.held(np.ones(self.n))

    def held(self, weight: Floats) -> tuple[Floats, csr_array, csr_array]:
        """Weights with what follows from them, which is kept for the next call with the same array."""
        if self._held is None or self._held[0] is not weight:
            self._held = weight, self.cells(weight), self.between(weight)
        return self._held

    def spread(self, k: int, theta: Floats) -> Floats:
        """The standard deviation of each level of a factor, from the parameters of all factors."""
        out = theta[self.strata[k][: self.sizes[k]]]
        out[self.levels[k] :] = 0.0
        return out

    def components(self) -> Ints:
        """For each answer, which of the separate parts of the design it belongs to."""
        from scipy.sparse.csgraph import connected_components

        starts = np.cumsum([0, *self.sizes])
        places = [code + start for code, start in zip(self.codes, starts[:-1], strict=True)]
        others = places[1:] or places
        row, column = np.tile(places[0], len(others)), np.concatenate(others)
        graph = csr_array((np.ones(len(row)), (row, column)), shape=(int(starts[-1]),) * 2)
        return np.asarray(connected_components(graph, directed=False)[1][places[0]], dtype=np.int64)


class Factored:
    """The inverse and the determinant of V at one set of relative standard deviations and weights."""

    def __init__(self, design: Crossed, theta: Floats, weight: Floats | None = None) -> None:
        self.design = design
        self.theta = np.asarray(theta, dtype=np.float64)
        if weight is None:
            self.weight, cells, between = design.plain
        else:
            self.weight, cells, between = design.held(weight)
        self.shrink: list[Floats] = []  # θ²/(1 + θ²m), one per level of each factor in the chain
        self.gain: list[Floats] = []  # 1/(1 + θ²m)
        self.totals = [cells]
        mass = design.sums(design.chain[0], self.weight)
        self.mass = [mass]
        self.log_determinant = 0.0
        for j, k in enumerate(design.chain):
            squared = np.square(design.spread(k, self.theta))
            gain = 1 / (1 + squared * self.mass[j])
            self.gain.append(gain)
            self.shrink.append(squared * gain)
            self.log_determinant -= float(np.log(gain).sum())
            if j + 1 < len(design.chain):
                self.mass.append(self._up(j, gain * self.mass[j]))
                self.totals.append(self._above(j, gain) @ self.totals[j])
        self.scale = np.concatenate([np.empty(0), *(design.spread(k, self.theta) for k in design.rest)])
        self._between = between
        self.iterative = design.columns > DENSE
        if self.iterative:
            self.log_determinant += _lanczos_log_determinant(self._multiply, self._diagonal)
        elif design.columns:
            self.log_determinant += 2 * float(np.log(np.diagonal(self._factor[0])).sum())

    def _up(self, j: int, values: Floats) -> Floats:
        """Sums over the levels of the next factor in the chain."""
        return level_sums(self.design.above[j], values, self.design.sizes[self.design.chain[j + 1]])

    def _above(self, j: int, weight: Floats) -> csr_array:
        """The matrix that sums weighted levels of a factor of the chain over those of the next."""
        above, size = self.design.above[j], self.design.sizes[self.design.chain[j + 1]]
        return csr_array((weight, (above, np.arange(len(above)))), shape=(size, len(above)))

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        """The Cholesky factor of C."""
        inner = self._between.toarray()
        for total, shrink in zip(self.totals, self.shrink, strict=True):
            if self.design._dense:
                table = total.toarray()
                inner -= (table.T * shrink) @ table
            else:
                scaled = total.data * np.repeat(shrink, np.diff(total.indptr))
                inner -= (total.T @ csr_array((scaled, total.indices, total.indptr), shape=total.shape)).toarray()
        inner *= self.scale[:, None] * self.scale
        inner[np.diag_indices_from(inner)] += 1.0
        factor: tuple[Floats, bool] = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)
        return factor

    @cached_property
    def _diagonal(self) -> Floats:
        """The diagonal of C, for preconditioning."""
        inner = self._between.diagonal()
        for total, shrink in zip(self.totals, self.shrink, strict=True):
            inner -= total.power(2).T @ shrink
        return np.asarray(1 + self.scale**2 * inner)

    def _multiply(self, block: Floats) -> Floats:
        """C times a block of columns."""
        scaled = self.scale[:, None] * block
        inner = self._between @ scaled
        for total, shrink in zip(self.totals, self.shrink, strict=True):
            inner = inner - total.T @ (shrink[:, None] * (total @ scaled))
        return np.asarray(block + self.scale[:, None] * inner)

    def solve(self, block: Floats) -> Floats:
        """C⁻¹ times a block of columns."""
        if not self.design.columns:
            return block
        if not self.iterative:
            return np.asarray(cho_solve(self._factor, block, check_finite=False))
        return _conjugate_gradients(self._multiply, self._diagonal, block)

    @cached_property
    def inverse(self) -> Floats:
        """C⁻¹; its diagonal where C is too large to be formed, as if raters were independent given the items."""
        if self.iterative:
            return np.asarray(1 / self._diagonal)
        return self.solve(np.eye(self.design.columns))

    def chain_sums(self, first: Floats) -> list[Floats]:
        """From weighted sums over the finest factor to those that each factor of the chain subtracts."""
        sums = [first]
        for j in range(len(self.design.chain) - 1):
            gain = self.gain[j][:, None] if first.ndim > 1 else self.gain[j]
            sums.append(self._up(j, gain * sums[j]))
        return sums

    def quadratic(self, first: Floats, rest: Floats, inner: Floats) -> Floats:
        """U′V⁻¹U, from Z′WU of the finest factor and of those outside the chain, and U′WU."""
        out, side = inner.copy(), rest.copy()
        for total, shrink, sums in zip(self.totals, self.shrink, self.chain_sums(first), strict=True):
            out -= (sums * shrink[:, None]).T @ sums
            side -= total.T @ (shrink[:, None] * sums)
        side *= self.scale[:, None]
        return np.asarray(out - side.T @ self.solve(side))

    def effects(self, residual: Floats) -> list[Floats]:
        """The conditional means of all random effects, given answers minus fixed effects: θ² Z′V⁻¹r."""
        design = self.design
        weighted = self.weight * residual
        side = design.rest_sums(weighted)
        first = design.sums(design.chain[0], weighted)
        for total, shrink, sums in zip(self.totals, self.shrink, self.chain_sums(first), strict=True):
            side -= total.T @ (shrink * sums)
        rest = self.scale * self.solve((self.scale * side)[:, None])[:, 0]
        left = self.chain_sums(first - self.totals[0] @ rest)
        out: list[Floats] = [np.empty(0)] * len(design.codes)
        for k in design.rest:
            out[k] = rest[design.blocks[k]]
        carried: Floats | None = None  # what the coarser factors of the chain already explain
        for j in reversed(range(len(design.chain))):
            net = left[j] if carried is None else left[j] - self.mass[j] * carried[design.above[j]]
            effect = self.shrink[j] * net
            out[design.chain[j]] = effect
            carried = effect if carried is None else effect + carried[design.above[j]]
        return out

    @cached_property
    def _removed(self) -> tuple[Floats, csr_array]:
        """Of a row of A, the part that is the same for all answers of a level of the finest factor: α and B."""
        alpha, place = np.zeros(len(self.gain[0])), np.arange(len(self.gain[0]))
        path = np.ones(len(self.gain[0]))  # the product of the gains below each factor of the chain
        rows: Any = None
        for j in range(len(self.design.chain)):
            share = self.shrink[j][place] * path
            alpha += share * path
            pick = csr_array((share, (np.arange(len(place)), place)), shape=(len(place), self.totals[j].shape[0]))
            part = pick @ self.totals[j]
            rows = part if rows is None else rows + part
            if j < len(self.design.above):
                path, place = path * self.gain[j][place], self.design.above[j][place]
        return alpha, csr_array(rows)

    def predictor_variance(self) -> Floats:
        """The conditional variance of each answer's random part, in units of the residual variance."""
        alpha, rows = self._removed
        design, first = self.design, self.design.first
        variance = alpha.copy()
        out = np.zeros(design.n)
        if design.places:
            scaled = self.inverse * self.scale[:, None] * self.scale
            product = rows @ scaled
            variance += np.asarray(rows.multiply(product).sum(axis=1))
            for place in design.places:
                out -= 2 * product[first, place]
                for other in design.places:
                    out += scaled[place, other]
        return np.asarray(out + variance[first])

    def level_variance(self, k: int) -> Floats:
        """The conditional variance of each level of a factor, in units of the residual variance."""
        design = self.design
        if k in design.blocks:
            part = design.blocks[k]
            inverse = self.inverse if self.iterative else np.diagonal(self.inverse)
            return np.asarray(self.scale[part] ** 2 * inverse[part])
        j = design.chain.index(k)
        path, place = np.ones(len(self.gain[j])), np.arange(len(self.gain[j]))
        own = self.gain[j] * self.mass[j]
        for i in range(j, len(design.chain) - 1):
            path = path * self.gain[i][place]
            place = design.above[i][place]
            own = own - self.shrink[i + 1][place] * np.square(self.mass[j] * path)
        if design.columns:
            rows: Any = self.totals[0] - csr_array(self._removed[1].multiply(self.mass[0][:, None]))
            for i in range(j):
                rows = self._above(i, np.ones(len(design.above[i]))) @ rows
            if self.iterative:
                own = own - rows.power(2) @ (self.scale**2 * self.inverse)
            else:
                scaled = self.inverse * self.scale[:, None] * self.scale
                own = own - np.asarray(rows.multiply(rows @ scaled).sum(axis=1))
        spread = np.square(design.spread(k, self.theta))
        return np.asarray(np.clip(spread - spread**2 * own, 0.0, None))

    def centred_variance(self, k: int) -> Floats:
        """The same for each level less the mean of all levels, which the other factors may shift."""
        spread, n = self.theta[k] ** 2, self.design.levels[k]
        shared = spread - self.effects(np.full(self.design.n, spread))[k][:n]
        variance = self.level_variance(k)[:n]
        return np.asarray(np.clip(variance - 2 * shared / n + shared.sum() / n**2, 0.0, None))


def level_sums(code: Ints, values: Floats, size: int) -> Floats:
    """The sum of values, or of each column of them, over the levels of a code."""
    if values.ndim == 1:
        return np.bincount(code, values, minlength=size).astype(np.float64)
    return np.column_stack([np.bincount(code, values[:, c], minlength=size) for c in range(values.shape[1])])


def _nested(finer: Ints, coarser: Ints) -> Ints | None:
    """The level of the coarser factor that each level of the finer one has; null where one has several."""
    above = np.zeros(int(finer.max(initial=0)) + 1, dtype=np.int64)
    above[finer] = coarser
    return above if np.array_equal(above[finer], coarser) else None


def _conjugate_gradients(multiply: Any, diagonal: Floats, block: Floats) -> Floats:
    """The solution of a positive definite system for each column of a block, preconditioned by the diagonal."""
    x = np.zeros_like(block)
    residual = block.copy()
    z = residual / diagonal[:, None]
    direction, energy = z.copy(), np.sum(residual * z, axis=0)
    goal = TOLERANCE**2 * np.maximum(energy, 1e-300)
    for _ in range(500):
        if (energy <= goal).all():
            break
        product = multiply(direction)
        step = energy / np.maximum(np.sum(direction * product, axis=0), 1e-300)
        x += step * direction
        residual -= step * product
        z = residual / diagonal[:, None]
        fresh = np.sum(residual * z, axis=0)
        direction = z + (fresh / np.maximum(energy, 1e-300)) * direction
        energy = fresh
    return x


def _lanczos_log_determinant(multiply: Any, diagonal: Floats) -> float:
    """log|C|: that of the diagonal, plus the trace of the logarithm of what is left, by Lanczos quadrature.

    The constant vector, along which raters are hardest to tell from items, is taken exactly and kept out of the probes.
    """
    size, root = len(diagonal), np.sqrt(diagonal)
    constant = root / np.linalg.norm(root)
    probes = np.where(np.random.default_rng(0).random((size, PROBES)) < 0.5, -1.0, 1.0)
    probes -= constant[:, None] * (constant @ probes)
    block = np.column_stack([constant, probes])
    norms = np.linalg.norm(block, axis=0)
    basis, before = block / norms, np.zeros_like(block)
    alphas, betas = [], []
    beta = np.zeros(block.shape[1])
    for _ in range(min(LANCZOS, size)):
        product = multiply(basis / root[:, None]) / root[:, None] - beta * before
        alpha = np.sum(basis * product, axis=0)
        product -= alpha * basis
        beta = np.linalg.norm(product, axis=0)
        alphas.append(alpha)
        betas.append(beta)
        before, basis = basis, product / np.maximum(beta, 1e-300)
    values = []
    for c, norm in enumerate(norms):
        nodes, vectors = eigh_tridiagonal([a[c] for a in alphas], [b[c] for b in betas[:-1]])
        values.append(norm**2 * float(vectors[0] ** 2 @ np.log(np.maximum(nodes, 1e-300))))
    return float(np.log(diagonal).sum() + values[0] + np.mean(values[1:]))
