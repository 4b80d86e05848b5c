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
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final, Self, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.codes import dense, positions
from vantage.measures.counts import FEW, Counts
from vantage.measures.intervals import (
    LIMITS,
    SHARES,
    Bounds,
    Statistic,
    bootstrap_interval,
    degrees_of_freedom,
    share_interval,
    student,
)
from vantage.measures.ratings import Floats, Ints, Ratings

LEFT_OUT: Final = 30
"""So many raters are left out one by one; more are left out in so many random groups."""
LEFT_OUT_OF_COUNTS: Final = 100
"""The same for counts, which takes little time."""
REPEATS: Final = 100
"""In how many tables with random weights on the items, at least, noise is looked for."""
FEW_RATERS: Final = "no interval: fewer than three raters can be left out, so that nothing is known about other raters"

Coefficient: TypeAlias = Callable[[Counts], Statistic]
"""From counts to a statistic of weights on their units."""


@dataclass(frozen=True, slots=True)
class RaterVariance:
    """The variance of an estimate over raters, by leaving them out."""

    total: float
    """With the noise of the answers."""
    noise: float
    freedom: float
    """One less than what was left out in turn."""

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
        weights = item_weights(items, len(statistics), seed)
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


def item_weights(items: int, groups: int, seed: int) -> Floats:
    """Weights on items for as many tables as groups are left out: the items as they are, then random weights."""
    drawn = np.random.default_rng(seed).multinomial(items, np.full(items, 1 / items), max(2, -(-REPEATS // groups)))
    return np.vstack([np.ones(items), drawn])


@dataclass(frozen=True)
class LeftOut:
    """The answers of a group, to be counted without each rater in turn, or without each of a hundred groups of raters.

    >>> from vantage.measures.ratings import canonical, judgments_frame
    >>> ratings = canonical(judgments_frame([[1, 2], [1, 1], [2, 2]])).ratings
    >>> left_out = LeftOut.of(ratings, np.array([1.0, 2.0]), seed=0)
    >>> [left_out.counts(rater).table.tolist() for rater in range(3)]
    [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 2.0]], [[2.0, 0.0], [1.0, 1.0]]]
    """

    unit: Ints
    column: Ints
    """The value of each answer, as a position in `values`."""
    group: Ints
    """The number of the raters with whom each answer is left out."""
    values: Floats
    units: int
    least: int
    """Units with fewer answers do not count."""
    seed: int

    @classmethod
    def of(cls, ratings: Ratings, values: Floats, seed: int, least: int = 2, groups: int = LEFT_OUT_OF_COUNTS) -> Self:
        """Answers in canonical order, of which those to units with enough of them are kept."""
        kept = np.bincount(ratings.unit)[ratings.unit] >= least
        (unit, units), (rater, raters) = dense(ratings.unit[kept]), dense(ratings.coder[kept])
        group = left_out_together(raters, np.random.default_rng(seed), groups, one_by_one=LEFT_OUT_OF_COUNTS)
        column = positions(ratings.value[kept], values)
        return cls(unit, column, group[rater], values, units, least, seed)

    def merged(self, column: Ints, values: Floats) -> Self:
        """The answers as other values: what stood in column *c* belongs to `column[c]`."""
        return replace(self, column=column[self.column], values=values)

    @property
    def numbers(self) -> range:
        """The numbers of the raters who are left out together."""
        return range(int(self.group.max(initial=-1)) + 1)

    def counts(self, number: int) -> Counts:
        """The counts without the raters of this number: one row for each unit, even where no answer is left."""
        theirs = self._counts(self.group == number)
        return replace(theirs, table=self._everyone.table - theirs.table)

    def variance(self, coefficient: Coefficient) -> RaterVariance | None:
        """The variance of a coefficient over raters."""

        def without(number: int, weight: Floats) -> Floats:
            counts = self.counts(number)
            enough = counts.size >= self.least
            if not enough.any():
                return np.full((len(weight), 1), np.nan)
            kept = slice(None) if enough.all() else enough
            return coefficient(counts.rows(kept))(weight[:, kept])[:, None]

        tables = [partial(without, number) for number in self.numbers]
        with np.errstate(divide="ignore", invalid="ignore"):  # random weights may leave no unit
            return RaterVariance.of_tables(tables, self.units, self.seed)[0]

    @cached_property
    def _everyone(self) -> Counts:
        return self._counts(slice(None))

    def _counts(self, some: Any) -> Counts:
        many = len(self.values) > FEW
        return Counts.of_units(self.unit[some], self.column[some], self.values, self.units, many=many)


def left_out_together(raters: int, rng: np.random.Generator, groups: int = LEFT_OUT, *, one_by_one: int = 0) -> Ints:
    """For each rater the number of the group that is left out at once: single raters where they are few enough.

    >>> left_out_together(3, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    return np.arange(raters) if raters <= max(groups, one_by_one) else rng.permutation(raters) % groups


def without_raters(frame: pl.DataFrame, seed: int) -> Iterator[pl.DataFrame]:
    """The table without each rater in turn, or without each of thirty groups of raters.

    >>> table = pl.DataFrame({"rater": ["a", "b", "b"], "value": [1, 2, 3]})
    >>> [part["value"].to_list() for part in without_raters(table, seed=0)]
    [[2, 3], [1]]
    """
    names = frame["rater"].drop_nulls().unique().sort()
    group = left_out_together(len(names), np.random.default_rng(seed))
    groups = pl.DataFrame({"rater": names, "__group": group})
    marked = frame.join(groups, on="rater", how="left")
    for number in range(int(group.max(initial=-1)) + 1):
        yield marked.filter(pl.col("__group").ne_missing(number)).drop("__group")


def several_items(answered: pl.DataFrame) -> int:
    """How many raters judged several items."""
    return int((answered.group_by("rater").agg(pl.col("item").n_unique())["item"] > 1).sum())
