"""What other raters add to the variance of an estimate, beyond the noise of single answers.

Where raters and items are crossed, an estimate varies by V_items + V_raters − V_answers, since each of the first two
holds the noise of single answers (Owen 2007; Cameron, Gelbach and Miller 2011). Drawing raters and items at once, the
pigeonhole bootstrap, counts that noise three times. Here V_items is that of the bootstrap over items and V_raters that
of the jackknife (Efron and Stein 1981): raters are left out in turn, so that nobody has copies. Leaving out rater *j*
changes the estimate by Σᵢ ψᵢⱼ over items; with random weights u of mean and variance 1 on the items it changes by
Σᵢ uᵢ ψᵢⱼ, and the mean square of the difference is Σᵢ ψᵢⱼ², the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.intervals import (
    LIMITS,
    SHARES,
    Bounds,
    blocks,
    bootstrap_interval,
    degrees_of_freedom,
    share_interval,
    student,
)
from vantage.measures.ratings import Floats, Ints

LEFT_OUT: Final = 100
"""So many raters are left out one by one; more are left out in so many random groups."""
LEFT_OUT_TABLES: Final = 30
"""The same for statistics that are computed from a new table each time."""
FEW_RATERS: Final = "no interval: fewer than three raters can be left out, so that nothing is known about other raters"

Weighted: TypeAlias = Callable[[Floats, Floats], Floats]
"""A statistic of raters' weights (raters × columns) and items' weights (items × columns): one number per column.

Either may have a single column that is the same for all columns of the other."""


@dataclass(frozen=True, slots=True)
class RaterVariance:
    """The variance of an estimate over raters, by leaving them out."""

    total: float
    """With the noise of the answers."""
    noise: float
    freedom: float
    """One less than what was left out in turn."""

    @classmethod
    def of(cls, statistic: Weighted, *, raters: int, units: int, width: int, seed: int) -> Self | None:
        """Leaves raters out in turn; null where fewer than three of them leave an estimate.

        `width` is how many numbers the statistic holds per column.

        >>> answers = np.random.default_rng(0).normal(size=(30, 200)) + 5 * np.arange(30)[:, None]
        >>> mean = lambda who, drawn: (who.T @ answers @ drawn).ravel() / (who.sum(axis=0) * drawn.sum())
        >>> result = RaterVariance.of(mean, raters=30, units=200, width=6000, seed=0)
        >>> round(float(result.total / answers.mean(axis=1).var(ddof=1) * 30), 6), round(result.noise * 6000, 1)
        (1.0, 1.0)
        """
        rng = np.random.default_rng(seed)
        group = left_out_together(raters, rng)
        groups = int(group.max(initial=-1)) + 1
        repeats = max(2, -(-LEFT_OUT // groups))
        drawn = [np.bincount(rng.integers(0, units, units), minlength=units) for _ in range(repeats)]
        weights = [np.ones((units, 1)), *(times[:, None].astype(np.float64) for times in drawn)]
        without = [[statistic(kept, weight) for kept in leaving_out(group, width)] for weight in weights]
        return cls.from_estimates(np.stack([np.concatenate(row) for row in without]))

    @classmethod
    def from_estimates(cls, without: Floats) -> Self | None:
        """From the estimates without each group of raters: with the items as they are, then with random weights."""
        without = without[:, np.isfinite(without).all(axis=0)]
        groups = without.shape[1]
        if groups < 3:
            return None
        effect = without - without.mean(axis=1, keepdims=True)
        shrinkage = (groups - 1) / groups
        total = shrinkage * float(np.square(effect[0]).sum())
        noise = shrinkage * float(np.square(effect[1:] - effect[0]).sum(axis=1).mean())
        return cls(total, noise, groups - 1)

    @classmethod
    def of_tables(cls, statistics: Sequence[Callable[[Floats], Floats]], items: int, seed: int) -> list[Self | None]:
        """From statistics of item weights, one for the table without each group of raters.

        Each takes rows of weights and gives one column per estimate; there is one variance for each of these.

        >>> means = [lambda weight, x=x: (weight @ x / weight.sum(axis=1))[:, None] for x in np.eye(4) + 1]
        >>> [round(result.total, 6) for result in RaterVariance.of_tables(means, 4, seed=0)]
        [0.0]
        """
        rng = np.random.default_rng(seed)
        repeats = max(2, -(-LEFT_OUT // max(len(statistics), 1)))
        weights = np.vstack([np.ones(items), rng.multinomial(items, np.full(items, 1 / items), repeats)])
        without = np.stack([statistic(weights) for statistic in statistics], axis=1)
        return [cls.from_estimates(without[:, :, column]) for column in range(without.shape[2])]

    def plus(self, other: Self | None) -> Self | None:
        """The variance of this source and of what another one adds beyond noise (Satterthwaite 1946)."""
        if other is None:
            return None
        added = max(other.total - other.noise, 0.0)
        total = self.total + added
        sources = [(self.total, self.freedom), *([(other.total, other.freedom)] if added > 0 else [])]
        return type(self)(total, self.noise, degrees_of_freedom(total, *sources))

    def around(self, estimate: float, confidence: float, limits: tuple[float, float] = LIMITS) -> Bounds:
        """The interval over raters, with these items."""
        reach = student(self.freedom, confidence)
        if limits == SHARES and self.total > 0 and 0 < estimate < 1:
            return share_interval(estimate, self.total, reach, confidence)
        reach *= self.total**0.5
        return max(limits[0], estimate - reach), min(limits[1], estimate + reach)

    def widened(
        self, replicates: Floats, estimate: float, units: int, confidence: float, limits: tuple[float, float] = LIMITS
    ) -> Bounds:
        """The interval over raters and items: that of the bootstrap over items, longer by what raters add."""
        added = max(self.total - self.noise, 0.0)
        from_variance = (self.total, self.freedom)
        return bootstrap_interval(
            replicates, estimate, units, confidence, limits, added=added, from_variance=from_variance
        )


def left_out_together(raters: int, rng: np.random.Generator, groups: int = LEFT_OUT) -> Ints:
    """For each rater the number of the group that is left out at once: single raters where they are few enough.

    >>> left_out_together(3, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    return np.arange(raters) if raters <= groups else rng.permutation(raters) % groups


def leaving_out(group: Ints, width: int) -> Iterator[Floats]:
    """Blocks of weights that leave out one group in each column, so that a block of so many rows stays small.

    >>> [kept.tolist() for kept in leaving_out(np.array([0, 1, 0]), 3)]
    [[[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]]
    """
    first = 0
    for count in blocks(width, int(group.max(initial=-1)) + 1):
        yield (group[:, None] != np.arange(first, first + count)).astype(np.float64)
        first += count


def without_raters(frame: pl.DataFrame, seed: int) -> Iterator[pl.DataFrame]:
    """The table without each rater in turn, or without each of thirty groups of raters.

    >>> table = pl.DataFrame({"rater": ["a", "b", "b"], "value": [1, 2, 3]})
    >>> [part["value"].to_list() for part in without_raters(table, seed=0)]
    [[2, 3], [1]]
    """
    names = frame["rater"].drop_nulls().unique().sort()
    group = left_out_together(len(names), np.random.default_rng(seed), LEFT_OUT_TABLES)
    groups = pl.DataFrame({"rater": names, "__group": group})
    marked = frame.join(groups, on="rater", how="left")
    for number in range(int(group.max(initial=-1)) + 1):
        yield marked.filter(pl.col("__group").ne_missing(number)).drop("__group")


def several_items(answered: pl.DataFrame) -> int:
    """How many raters judged several items."""
    return int((answered.group_by("rater").agg(pl.col("item").n_unique())["item"] > 1).sum())
