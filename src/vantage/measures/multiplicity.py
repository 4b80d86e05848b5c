"""Corrections of p-values for many tests, and p-values of permutation tests that are fine enough for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from vantage.errors import InputError, nearest
from vantage.measures.ratings import Ints

Correction: TypeAlias = Literal["none", "bonferroni", "holm", "bh", "by"]
CORRECTIONS: Final[tuple[Correction, ...]] = get_args(Correction)
PERMUTATIONS: Final = 4999
COARSE: Final = 0.01
"""A p-value of permutations that is as small as this is looked at again with ten times as many."""
Flags: TypeAlias = NDArray[np.bool_]


def permutation_p(beyond: Callable[[int], Flags], permutations: int = PERMUTATIONS) -> float:
    """The p-value of a permutation test, with ten times as many permutations where it is small.

    No p-value of 4,999 permutations is below .0002, which a correction over 300 comparisons turns into .06: however
    large, no difference would be seen. Looking again does not make the test find more of nothing: a p-value at or below
    .01 is that of all permutations together, and one above it stays what it is.

    Args:
        beyond: Makes so many new permutations, and says of each whether it is as extreme as the data.
        permutations: How many are made at first.

    >>> permutation_p(lambda many: np.zeros(many, dtype=np.bool_))
    2e-05
    """
    first = beyond(permutations)
    p = share_beyond(first)
    return p if p > COARSE else share_beyond(np.concatenate([first, beyond(9 * (permutations + 1))]))


def share_beyond(beyond: Flags) -> float:
    """The p-value of permutations of which some are as extreme as the data, which count as one permutation more."""
    return (1 + int(beyond.sum())) / (1 + len(beyond))


def adjusted(p: Sequence[float | None], correction: Correction) -> list[float | None]:
    """The p-values after correction, in their order; tests without a p-value do not count.

    `bonferroni` and `holm` (Holm 1979) bound the chance of any false discovery; `bh` (Benjamini and Hochberg
    1995) and `by` (Benjamini and Yekutieli 2001, under any dependence) bound the share of false ones.

    >>> adjusted([0.01, None, 0.04, 0.03], "holm")
    [0.03, None, 0.06, 0.06]
    """
    if correction not in CORRECTIONS:
        raise InputError(f"correction '{correction}' is not known", remedy=nearest(correction, CORRECTIONS))
    tested = [i for i, value in enumerate(p) if value is not None]
    values = np.array([p[i] for i in tested], dtype=np.float64)
    m = len(values)
    if correction == "none" or m == 0:
        return list(p)
    order = np.argsort(values, kind="stable")
    rank = np.arange(1, m + 1)
    ordered = values[order]
    if correction == "bonferroni":
        ordered = ordered * m
    elif correction == "holm":
        ordered = np.maximum.accumulate(ordered * (m - rank + 1))
    else:
        dependence = float(np.sum(1 / rank)) if correction == "by" else 1.0
        ordered = np.minimum.accumulate((ordered * m * dependence / rank)[::-1])[::-1]
    corrected: list[float | None] = [None] * len(p)
    for position, value in zip(order, ordered, strict=True):
        corrected[tested[position]] = min(float(value), 1.0)
    return corrected


def dealt_anew(values: NDArray[Any], drawn: Ints, rng: np.random.Generator) -> Ints:
    """Whose value each rater gets: whole groups of raters who were drawn together change places.

    Where a group has several values, they change places within groups.

    >>> rng = np.random.default_rng(3)
    >>> dealt_anew(np.array([1, 1, 2, 2]), np.array([0, 0, 1, 1]), rng).tolist()
    [2, 2, 0, 0]
    >>> dealt_anew(np.array([1, 2, 1, 2]), np.array([0, 0, 1, 1]), rng).tolist()
    [0, 1, 3, 2]
    """
    groups, first, group = np.unique(drawn, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    if np.array_equal(values[first][group], values):
        return np.asarray(first[rng.permutation(len(groups))][group])
    order = np.empty(len(values), dtype=np.int64)
    order[np.argsort(group, kind="stable")] = np.lexsort((rng.random(len(values)), group))
    return order
