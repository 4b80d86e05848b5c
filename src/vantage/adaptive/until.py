"""Rules of a study file: until when an item gets more ratings, and which item the next one should go to.

A rule looks at how well the distribution of each item's answers is known: at the intervals of the options' shares
(Wilson 1927), and at their error. After few ratings an item's own shares are extreme by chance, and a rule that trusts
them stops too early. We therefore shrink each item's shares towards the overall shares (empirical Bayes with a
Dirichlet prior, whose strength is estimated by moments; Efron and Morris 1973).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from vantage.measures import Floats

GoalName: TypeAlias = Literal["width", "error", "alpha"]
GOALS: Final[tuple[GoalName, ...]] = get_args(GoalName)
HOW: Final = "write 'width 0.3' (every item), 'error 0.1' (the mean over items) or 'alpha 0.2' (the study's alpha)"
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
        """The shares that each item is expected to have: its own, shrunk towards the overall shares."""
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


@dataclass(frozen=True, slots=True)
class Until:
    """A goal with its target.

    `width`: each item is known when the widest 95 % interval of its options' shares is no wider than this. `error`: the
    expected error of the items' distributions (total variation) is at most this on average. `alpha`: the always-valid
    interval of the study's alpha is no wider than this; items then get the same number of ratings.

    >>> Until.parse("width 0.3")
    Until(goal='width', target=0.3)
    """

    goal: GoalName
    target: float

    @classmethod
    def parse(cls, text: str) -> Until:
        """Reads a rule; `ValueError` says how one is written."""
        match = re.fullmatch(rf"({'|'.join(GOALS)})\s+([0-9]*\.?[0-9]+)", text.strip())
        if match is None or not 0 < float(match[2]) < 1:
            raise ValueError(f"'{text}' is no rule; {HOW}")
        goal: GoalName = next(goal for goal in GOALS if goal == match[1])
        return cls(goal, float(match[2]))

    def __str__(self) -> str:
        return f"{self.goal} {self.target:g}"

    @property
    def by_item(self) -> bool:
        """Whether items get different numbers of ratings, depending on their answers."""
        return self.goal != "alpha"

    @property
    def needed(self) -> tuple[int, int] | None:
        """The ratings that an item needs where everyone agrees, and where people are evenly split; null without such.

        >>> Until("width", 0.3).needed
        (9, 39)
        """
        return (needed(self.target, 0.0), needed(self.target, 0.5)) if self.goal == "width" else None

    def open(self, items: Sequence[Distributions]) -> NDArray[np.bool_]:
        """Which items need more ratings; `items` has one table per question, and every question must be known."""
        if self.goal == "width":
            return np.asarray(np.any([known.widths > self.target for known in items], axis=0))
        if self.goal == "error":
            unknown = any(float(known.error().mean()) > self.target for known in items)
            return np.full(len(items[0].counts), unknown)
        return np.zeros(len(items[0].counts), dtype=np.bool_)

    def missing(self, items: Sequence[Distributions], most: int) -> Floats:
        """How many more ratings each item is expected to get, if no item has more than `most`.

        >>> known = Distributions(np.array([[5.0, 5.0], [20.0, 20.0], [50.0, 0.0]]))
        >>> Until("width", 0.3).missing([known], 60).tolist()
        [29.0, 0.0, 0.0]
        """
        wanted = []
        for known in items:
            if self.goal == "width":
                number = np.arange(1, most + 1, dtype=np.float64)
                wide = width(known.expected[:, :, None], number).max(axis=1) > self.target
                enough = np.minimum(wide.sum(axis=1) + 1, most)
            else:
                enough = known.ratings * max(float(known.error().mean()) / self.target, 1.0) ** 2
            wanted.append(np.clip(enough, known.ratings, np.maximum(most, known.ratings)) - known.ratings)
        return np.where(self.open(items), np.max(wanted, axis=0), 0.0)

    def gain(self, items: Sequence[Distributions]) -> Floats:
        """What one more rating of each item is expected to bring towards the goal, over all questions."""
        if self.goal == "width":
            gains = [np.where(known.widths > self.target, known.narrowed(), 0.0) for known in items]
        else:
            gains = [known.error() - known.error(1) for known in items]
        return np.asarray(np.sum(gains, axis=0))
