"""What each item contributes to a measure: sums per item, and the measure as a function of their totals.

A measure that is a smooth function h of totals S = Σᵢ sᵢ changes by ∇h(S)·sᵢ with the weight of item *i*: its
influence (Hampel 1974). The variance of the influences over items, divided by their number, is that of the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.intervals import LIMITS, Statistic
from vantage.measures.parts import Part
from vantage.measures.powered.sides import ModelAnswers
from vantage.measures.rater_variance import without_raters
from vantage.measures.ratings import Floats
from vantage.measures.resampling import Statistics, per_item, ratio

STEP: Final = 1e-5
"""By which share of themselves totals are moved to see how a measure changes."""


@dataclass(frozen=True, eq=False)
class Contribution:
    """The sums of each item and the measure as a function of totals, one row of them per estimate.

    >>> items = pl.Series("item", ["a", "b", "c"])
    >>> share = Contribution.of_units(items, np.array([0.0, 0.0, 3.0]))
    >>> share.estimate, share.influence.round(6).tolist()
    (1.0, [-1.0, -1.0, 2.0])
    """

    items: pl.Series
    """The items that the measure uses, in the order of their names."""
    sums: Floats
    statistic: Statistic
    key: Mapping[str, Any] = field(default_factory=dict)
    """What tells it from other rows of its group."""
    limits: tuple[float, float] = LIMITS
    features: Callable[[ModelAnswers], Floats] = ModelAnswers.features
    """What may predict it, from what the model said of each item."""
    direct: bool = False
    """Whether the one feature is the prediction itself, as in PPI++."""
    weights: Floats | None = None
    """The design weight of each item: one over the probability that people were asked about it."""

    @classmethod
    def of_units(cls, items: pl.Series, values: Floats, **others: Any) -> Contribution:
        """A mean of the values of units, each of which belongs to an item."""
        sums = per_item(items, np.column_stack([values, np.ones(len(values))]))
        return cls(items.unique().sort(), sums, ratio, **others)

    @property
    def estimate(self) -> float:
        """The measure."""
        return float(self.statistic(self.sums.sum(axis=0, keepdims=True))[0])

    @property
    def influence(self) -> Floats:
        """What each item adds to the measure, times the number of items; its mean is 0."""
        total, n = self.sums.sum(axis=0), len(self.sums)
        step = STEP * np.maximum(np.abs(self.sums).sum(axis=0), 1e-12)
        moved = np.diag(step)
        slope = (self.statistic(total + moved) - self.statistic(total - moved)) / (2 * step)
        values = n * (self.sums @ np.nan_to_num(slope))
        return np.asarray(values - values.mean())

    def weighted(self, weight: Floats) -> Floats:
        """The measure under weights on items, one row per resample, as one column."""
        return self.statistic(weight @ self.sums)[:, None]

    def within(self, items: pl.Series) -> Contribution:
        """The same sums among further items, in the order of their names too: 0 where an item has none."""
        sums = np.zeros((len(items), self.sums.shape[1]))
        sums[items.is_in(self.items.implode()).to_numpy()] = self.sums
        return replace(self, items=items, sums=sums)


Contributions: TypeAlias = Callable[[Part, Mapping[str, Any]], Iterable[Contribution]]
"""From the judgments of a group and the options of a measure to what items contribute, one for each row."""


def without_each_rater(
    part: Part, make: Contributions, options: Mapping[str, Any], contribution: Contribution, seed: int
) -> list[Statistics]:
    """The measure under weights on items in the table without each rater in turn."""
    tables: list[Statistics] = []
    for rest in without_raters(part.frame, seed):
        fewer = make(replace(part, frame=rest), options)
        tables += [c.within(contribution.items).weighted for c in fewer if c.key == contribution.key]
    return tables
