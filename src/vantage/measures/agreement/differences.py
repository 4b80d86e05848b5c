"""How far apart two answers are: the differences δ² of Krippendorff's alpha, and the weights of kappas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from vantage.errors import InputError
from vantage.measures.ratings import Floats, Ints
from vantage.scales import Level, show_code

Distance: TypeAlias = Mapping[Any, float] | tuple[Sequence[float] | Floats, Any]
"""Distances of your own: `{(code, code): distance}`, or the codes and a square matrix in their order.

They take the place of δ², so what is to be squared must be squared already.
"""
Weights: TypeAlias = Literal["linear", "quadratic", "ordinal"]
"""How much two different answers still agree; null in their place means not at all."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between values: by name where sums suffice, by `between` where pairs must be looked at."""

    name: str
    between: Callable[[Ints, Ints], Floats] | None = None
    """From the positions of values among all values to their squared difference."""


def difference(level: Level, values: Floats) -> Difference:
    """The difference that belongs to a level of measurement (Krippendorff 2018).

    Ratio: ((a − b)/(a + b))², for values that are not negative.
    """
    if level != "ratio":
        return Difference(level)
    if len(values) and values[0] < 0:
        raise InputError(
            f"the value {show_code(float(values[0]))} is negative, but a ratio scale starts at zero",
            remedy="use level interval",
        )

    def between(first: Ints, second: Ints) -> Floats:
        a, b = values[first], values[second]
        total = a + b
        quotient: Floats = np.divide(a - b, total, out=np.zeros_like(total), where=total > 0)
        return quotient**2

    return Difference(level, between)


def custom(distance: Distance, values: Floats) -> Difference:
    """A distance of the user's own, checked: square, symmetric, zero for equal codes, never negative.

    >>> far = custom({(0, 1): 1.0, (0, 2): 4.0, (1, 2): 1.0}, np.array([0.0, 2.0]))
    >>> far.between(np.array([0]), np.array([1]))
    array([4.])
    """
    codes, matrix = _matrix(distance)
    position = {code: index for index, code in enumerate(codes)}
    for value in values.tolist():
        if value not in position:
            raise InputError(
                f"the distance does not know the value {show_code(value)}",
                remedy=f"it knows {', '.join(map(show_code, codes))}",
            )
    chosen = np.array([position[value] for value in values.tolist()], dtype=np.int64)
    return Difference("custom", lambda first, second: matrix[chosen[first], chosen[second]])


def weight_matrix(weights: Weights | None, codes: Floats) -> Floats:
    """Agreement weights between codes: 1 on the diagonal, less the farther apart.

    Linear and quadratic weights (Cohen 1968) fall with the distance of the codes; ordinal weights
    (Gwet 2014) with the number of pairs of ranks in between, whatever the codes.

    >>> weight_matrix("quadratic", np.array([1.0, 2.0, 3.0])).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.75], [0.0, 0.75, 1.0]]
    """
    if weights is None:
        return np.eye(len(codes))
    if len(codes) < 2:
        return np.ones((len(codes), len(codes)))
    if weights == "ordinal":
        between = np.abs(np.subtract.outer(np.arange(len(codes)), np.arange(len(codes)))) + 1
        lost: Floats = between * (between - 1) / 2
    else:
        lost = np.abs(np.subtract.outer(codes, codes)) ** (1 if weights == "linear" else 2)
    return np.asarray(1 - lost / lost.max())


def _matrix(distance: Distance) -> tuple[list[float], Floats]:
    if isinstance(distance, Mapping):
        codes = sorted({float(code) for pair in distance for code in pair})
        matrix = np.full((len(codes), len(codes)), np.nan)
        np.fill_diagonal(matrix, 0)
        for (first, second), apart in distance.items():
            i, j = codes.index(float(first)), codes.index(float(second))
            matrix[i, j] = apart
            if (second, first) not in distance:
                matrix[j, i] = apart
        if np.isnan(matrix).any():
            i, j = np.argwhere(np.isnan(matrix))[0]
            raise InputError(
                f"the distance between {show_code(codes[i])} and {show_code(codes[j])} is missing",
                remedy="give every pair of codes",
            )
    else:
        codes = [float(code) for code in distance[0]]
        matrix = np.asarray(distance[1], dtype=np.float64)
        if matrix.shape != (len(codes), len(codes)):
            raise InputError(
                f"{len(codes)} codes need a matrix of {len(codes)} × {len(codes)} distances",
                remedy=f"it has the shape {' × '.join(map(str, matrix.shape))}",
            )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InputError("a distance is negative or not a number", remedy="give finite distances from 0 up")
    if (np.diag(matrix) != 0).any() or not np.array_equal(matrix, matrix.T):
        raise InputError("the distances are not symmetric with zeros for equal codes", remedy="correct the matrix")
    return codes, matrix
