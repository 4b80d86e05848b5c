"""Restricted maximum likelihood where nearly all random effects lie within items, however many items there are.

The answers of one item have a small covariance of their own, and items that were put in the same presentations have the
same one. So a table is reduced to the sums and products of each *pattern* of presentations; what remains are the few
levels of the presentations themselves (Patterson and Thompson 1971, by Woodbury's identity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.measures.ratings import Floats, Ints

AWAY = 0.05
"""Where a search restarts for an effect that ended at zero, where the deviance is flat."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of so many answers to an item."""

    items: Floats
    """How many items have each."""
    alike: NDArray[np.bool_]
    """Pattern, effect within items, answer and answer: whether both have the same level."""
    outer: Floats
    """Pattern, answer, level of a presentation: 1 where the answer has it, after a column of ones."""
    sums: Floats
    products: Floats


@dataclass(frozen=True)
class ItemBlocks:
    """Answers of items by patterns.

    >>> item, order = (grid.ravel() for grid in np.indices((3, 2)))
    >>> value = np.array([1.0, 2, 3, 4, 4, 6])
    >>> blocks = ItemBlocks.of(value, item, within=[item], across=[order])
    >>> len(blocks.patterns), blocks.patterns[0].items.tolist(), blocks.variances().round(3).tolist()
    (1, [3.0], [3.0, 0.833, 0.167])
    """

    patterns: list[Patterns]
    effect_of_column: Ints
    """Which of the effects across items each column of `outer` belongs to; −1 for the ones."""
    answers: int
    within: int
    across: int

    @classmethod
    def of(cls, value: Floats, item: Ints, within: Sequence[Ints], across: Sequence[Ints]) -> ItemBlocks:
        """From answers with their levels of the effects within items, numbered item by item, and of those across."""
        order = np.lexsort([*within[::-1], *across[::-1], item])
        value, item = value[order], item[order]
        starts = np.flatnonzero(np.r_[True, np.diff(item) > 0])
        sizes = np.diff(np.r_[starts, len(item)])
        inner = [code[order] - np.repeat(np.minimum.reduceat(code[order], starts), sizes) for code in within]
        outer = [code[order] for code in across]
        levels = [int(code.max()) + 1 for code in across]
        column = np.concatenate([[-1], *(np.full(count, k) for k, count in enumerate(levels))]).astype(np.int64)
        made = []
        for size in np.unique(sizes).tolist():
            rows = starts[sizes == size][:, None] + np.arange(size)
            codes = np.stack([*(code[rows] for code in inner), *(code[rows] for code in outer)], axis=1)
            kinds, kind = np.unique(codes.reshape(len(rows), -1), axis=0, return_inverse=True)
            kinds, kind, y = kinds.reshape(-1, len(inner) + len(outer), size), kind.reshape(-1), value[rows]
            members = [y[kind == k] for k in range(len(kinds))]
            ones = [np.ones((len(kinds), size, 1))]
            ones += [np.eye(count)[kinds[:, len(inner) + k]] for k, count in enumerate(levels)]
            own = kinds[:, : len(inner)]
            made.append(
                Patterns(
                    np.bincount(kind).astype(np.float64),
                    own[..., None] == own[..., None, :],
                    np.concatenate(ones, axis=2),
                    np.stack([one.sum(axis=0) for one in members]),
                    np.stack([one.T @ one for one in members]),
                )
            )
        return cls(made, column, len(value), len(within), len(across))

    def profiled(self, theta: Floats) -> tuple[float, float]:
        """The deviance at these standard deviations, in units of the residual one, and the residual variance.

        The effects within items come first.
        """
        width = len(self.effect_of_column)
        gram, side = np.zeros((width, width)), np.zeros(width)
        determinant = squares = 0.0
        for one in self.patterns:
            covariance = np.einsum("k,pkab->pab", theta[: self.within] ** 2, one.alike)
            covariance += np.eye(covariance.shape[1])
            inverse = np.linalg.inv(covariance)
            determinant += float(one.items @ np.linalg.slogdet(covariance)[1])
            weighted = inverse @ one.outer
            gram += np.einsum("p,pni,pnj->ij", one.items, one.outer, weighted, optimize=True)
            side += np.einsum("pni,pn->i", weighted, one.sums)
            squares += float((inverse * one.products).sum())
        scale = np.r_[theta[self.within :], 1.0][self.effect_of_column]
        gram = gram * scale * scale[:, None] + np.diag((self.effect_of_column >= 0).astype(np.float64))
        side = side * scale
        freedom = self.answers - 1
        left = max(squares - float(side @ np.linalg.solve(gram, side)), 1e-300) / freedom
        determinant += float(np.linalg.slogdet(gram)[1])
        return determinant + freedom * (1 + float(np.log(2 * np.pi * left))), left

    def variances(self) -> Floats:
        """The likeliest variances, none below zero: of the effects within items, those across, and the residual."""
        from scipy.optimize import minimize

        def deviance(theta: Floats) -> float:
            return self.profiled(theta)[0]

        def searched(first: Floats) -> Floats:
            bounds, options = [(0.0, 1e4)] * len(first), {"eps": 1e-6, "ftol": 1e-13, "gtol": 1e-5, "maxiter": 500}
            search = minimize(deviance, first, method="L-BFGS-B", bounds=bounds, options=options)
            if not np.isfinite(search.fun):
                raise InputError("the variances of these answers cannot be found", remedy="vary fewer factors at once")
            return np.asarray(search.x)

        theta = searched(np.ones(self.within + self.across))
        for k in np.flatnonzero(theta < AWAY):
            moved = theta.copy()
            moved[k] = AWAY
            if deviance(moved) < deviance(theta) - 1e-9:
                theta = min(theta, searched(moved), key=deviance)
        residual = self.profiled(theta)[1]
        return np.append(theta**2 * residual, residual)
