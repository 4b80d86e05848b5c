"""How well the distribution of each item's answers is known: intervals of the options' shares, and their error.

The interval of a share is that of Wilson (1927). After few ratings an item's own shares are extreme by chance, and a
rule that trusts them stops too early; the shares that an item is expected to have are therefore drawn towards those of
all items, as far as the items differ less than chance would have them (empirical Bayes with a Dirichlet prior; Efron
and Morris 1973). Its strength is estimated by moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Final

import numpy as np

from vantage.measures.ratings import Floats

CONFIDENCE: Final = 0.95
Z: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
STRONGEST: Final = 100.0
"""A prior counts for at most this many ratings: where items seem to be all alike, they may still differ."""


def width(share: Floats, ratings: Floats) -> Floats:
    """The width of the 95 % interval of a share; 1 without ratings.

    >>> width(np.array([0.5, 0.5, 0.0]), np.array([10.0, 40.0, 10.0])).round(2).tolist()
    [0.53, 0.3, 0.28]
    """
    n = np.maximum(ratings, 1e-9)
    root = np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return np.asarray(2 * Z / (1 + Z * Z / n) * root)


def error(share: Floats, ratings: Floats) -> Floats:
    """The mean absolute error of a share: √(2/π) of its standard error."""
    return np.asarray(np.sqrt(2 / np.pi * share * (1 - share) / np.maximum(ratings, 1e-9)))


def needed(target: float, share: float, most: int = 100_000) -> int:
    """The fewest ratings with which the interval of a share is no wider than a target.

    >>> needed(0.3, 0.0), needed(0.3, 0.5)
    (9, 39)
    """
    n = np.arange(1, most + 1, dtype=np.float64)
    return int(np.searchsorted(-width(np.array(share), n), -target) + 1)


@dataclass(frozen=True, eq=False)
class Distributions:
    """The ratings of some items, one row per item and one column per option.

    >>> known = Distributions(np.array([[9.0, 0.0], [5.0, 5.0], [1.0, 8.0]]))
    >>> known.widths.round(2).tolist()
    [0.36, 0.53, 0.45]
    """

    counts: Floats

    @cached_property
    def ratings(self) -> Floats:
        """The number of ratings of each item."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def shares(self) -> Floats:
        """The observed share of each option; equal shares for an item without ratings."""
        n = self.ratings[:, None]
        return np.where(n > 0, self.counts / np.maximum(n, 1), 1 / self.counts.shape[1])

    @cached_property
    def prior(self) -> tuple[Floats, float]:
        """The shares of all items together, and how many ratings they count for."""
        rated = self.ratings >= 2
        n, shares = self.ratings[rated], self.shares[rated]
        options = self.counts.shape[1]
        if not rated.any():
            return np.full(options, 1 / options), float(options)
        mean = self.counts[rated].sum(axis=0) / n.sum()
        between = np.average(np.square(shares - mean).sum(axis=1), weights=n)
        within = np.average((shares * (1 - shares)).sum(axis=1) / (n - 1), weights=n)
        spread = float(between - within)
        total = float((mean * (1 - mean)).sum())
        strength = STRONGEST if spread <= total / (1 + STRONGEST) else max(total / spread - 1, 0.0)
        return mean, strength

    @cached_property
    def expected(self) -> Floats:
        """The shares that each item is expected to have: its own, drawn towards those of all items."""
        mean, strength = self.prior
        return np.asarray((self.counts + strength * mean) / np.maximum(self.ratings + strength, 1e-9)[:, None])

    @cached_property
    def widths(self) -> Floats:
        """The widest interval of each item's options: of its own ratings or, where that is wider, as expected."""
        n = self.ratings[:, None]
        own, expected = (width(share, n).max(axis=1) for share in (self.shares, self.expected))
        return np.asarray(np.where(self.ratings > 0, np.maximum(own, expected), 1.0))

    def error(self, more: int = 0) -> Floats:
        """The expected error of each item's distribution (total variation), now or with more ratings."""
        errors = error(self.expected, self.ratings[:, None] + more).sum(axis=1) / 2
        return np.asarray(np.where(self.ratings + more > 0, errors, 1.0))

    def narrowed(self) -> Floats:
        """How much narrower each item's widest interval is expected to be with one more rating."""
        now, later = (width(self.expected, (self.ratings + more)[:, None]).max(axis=1) for more in (0, 1))
        return np.asarray(np.where(self.ratings > 0, now - later, 1.0))
