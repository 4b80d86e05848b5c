"""Alpha with an interval that stays valid however often it is looked at: after every rating, until it is short enough.

An interval that is right for one look is wrong for many: looked at after every rating, a 95 % interval misses alpha at
some time in a third of all studies. A confidence sequence holds at all times together. The one used here is the normal
mixture of Robbins (1970) in its asymptotic form (Waudby-Smith and others 2024). With V the estimated variance of alpha,
information I = 1/V plays the part of time, since estimates from growing data move like Brownian motion in it
(Scharfstein, Tsiatis and Robins 1997), and the interval is α̂ ± √((I + ρ) log((I + ρ)/(ρ a²)))/I at error a. ρ is chosen
before any data so that the interval is shortest where it has the width that is aimed at.

V comes from the influence of each item and each rater on alpha (two-way clusters; Cameron, Gelbach and Miller 2011).
With few answers of a kind it would be far too small (no two raters have chosen a rare option together yet), so that
it is computed with three items more, as Agresti and Coull (1998) add answers to a share: two on which all agree and one
on which people are split.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np

from vantage.measures import Floats, Ints
from vantage.measures.agreement.alpha import difference
from vantage.measures.codes import dense
from vantage.measures.intervals import ENOUGH_RATERS
from vantage.scales import Level

AIM: Final = 0.2
"""The width that a sequence is shortest for, unless a study says otherwise."""
FEWEST: Final = 20
"""Items with two ratings before there is an interval."""
AGREED, SPLIT = 2.0, 1.0
"""Items that are added to compute the variance: on which all agree (shared between the options), and split ones."""


@dataclass(frozen=True, slots=True)
class AlwaysValid:
    """Alpha so far, with an interval that holds at all looks together."""

    estimate: float | None
    low: float | None
    high: float | None
    over: str
    """What the interval generalises to: `items`, or `both` items and raters."""
    items: int
    """Items with two ratings or more."""
    ratings: int
    """Their ratings."""
    aim: float
    planned: int
    """Items that there will be."""
    error: float = 0.0
    """The standard error of alpha, which is right for one look."""
    noise: tuple[float, float] = (0.0, 0.0)
    """The parts of its square that come from single ratings, and from pairs of them within an item."""
    confidence: float = 0.95
    reason: str | None = None

    @property
    def more(self) -> int | None:
        """Ratings that are missing for the width aimed at: 0 where it is reached, null where they would not reach it.

        First of items that have none or one, then of all items again.
        """
        if self.low is None or self.high is None:
            return None
        if self.high - self.low <= self.aim:
            return 0
        variance, total = self.error**2, np.arange(1, 200 * self.planned, max(self.planned // 2, 1))
        paired = np.minimum(self.items + total, max(self.planned, self.items))
        # Single ratings count as one over their number n, pairs within items of k as one over n(k − 1).
        single, pairs = self.noise
        now, then = self.ratings / self.items, np.maximum((self.ratings + total) / paired, 2.0)
        fewer = self.ratings / (paired * then)
        later = max(variance - single - pairs, 0.0) * self.items / paired
        later = later + single * fewer + pairs * fewer * (now - 1) / (then - 1)
        enough = np.flatnonzero(2 * _radius(1 / later, self.aim, self.confidence) <= self.aim)
        return int(total[enough[0]]) if len(enough) else None

    @property
    def sentence(self) -> str:
        """What to do now."""
        if self.planned < FEWEST:
            return f"There is no interval: it needs {FEWEST} items with two ratings, and the study has {self.planned}."
        if self.estimate is None or self.low is None or self.high is None:
            return f"Continue: {self.reason}."
        if self.more == 0:
            return f"Stop now: the interval is {self.high - self.low:.2f} wide, and {self.aim:g} was wanted."
        if self.more is None:
            return f"More ratings of these items will not bring the width down to {self.aim:g}; add items."
        return f"Continue: about {self.more:,} more ratings will reach a width of {self.aim:g}."


def always_valid(
    unit: Ints,
    rater: Ints,
    value: Floats,
    level: Level,
    *,
    aim: float = AIM,
    confidence: float = 0.95,
    items: int | None = None,
) -> AlwaysValid:
    """Alpha of some ratings with its always-valid interval; `items` is how many there will be.

    The aim must have been chosen before the first look.

    >>> rng = np.random.default_rng(0)
    >>> unit, rater = np.divmod(np.arange(400), 4)
    >>> value = (rng.normal(size=100)[unit] + rng.normal(size=400) > 0).astype(float)
    >>> now = always_valid(unit, rater, value, "nominal")
    >>> now.estimate is not None and now.low < now.estimate < now.high
    True
    """
    unit, _ = dense(unit)
    paired = np.bincount(unit)[unit] >= 2
    unit, units = dense(unit[paired])
    rater, raters = dense(rater[paired])
    values, column = np.unique(value[paired], return_inverse=True)
    if units < FEWEST or len(values) < 2:
        few = f"an interval needs {FEWEST} items with two ratings, and there are {units}"
        reason = few if units < FEWEST else "all answers are the same"
        return AlwaysValid(None, None, None, "items", units, len(unit), aim, items or units, reason=reason)
    counts = np.bincount(unit * len(values) + column, minlength=units * len(values)).reshape(units, -1)
    parts = _Parts.of(counts.astype(np.float64), level, values)
    over_raters, single = parts.of_raters(unit, column, rater, raters)
    variance = parts.variance + (max(over_raters, 0.0) if raters >= ENOUGH_RATERS else 0.0)
    radius = float(_radius(np.array(1 / variance), aim, confidence))
    ends = parts.alpha, parts.alpha - radius, min(parts.alpha + radius, 1.0)
    over, noise = "both" if raters >= ENOUGH_RATERS else "items", (single, parts.pairs)
    return AlwaysValid(*ends, over, units, len(unit), aim, items or units, float(variance**0.5), noise, confidence)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Alpha as a function of items, and what each adds to it; with the items that are added for the variance."""

    alpha: float
    variance: float
    apart: Floats
    """Squared differences between the values."""
    counts: Floats
    rate: float
    """1 − alpha, with the added items, over which influences are scaled."""
    observed: float
    expected: float
    marginal: Floats

    @classmethod
    def of(cls, counts: Floats, level: Level, values: Floats) -> _Parts:
        marginal = counts.sum(axis=0)
        apart = _apart(level, values, marginal)
        size, options = float(counts.sum(axis=1).mean()), len(values)
        agreed, split = size * np.eye(options), np.full((1, options), size / options)
        table = np.vstack([counts, agreed, split])
        weight = np.concatenate([np.ones(len(counts)), np.full(options, AGREED / options), [SPLIT]])
        within = _within(table, apart)
        plain = 1 - (marginal.sum() - 1) * within[: len(counts)].sum() / (marginal @ apart @ marginal)
        total, observed = weight @ table, float(weight @ within)
        n, expected = float(total.sum()), float(total @ apart @ total)
        rate = (n - 1) * observed / expected
        influence = -rate * (within / observed + table.sum(axis=1) / (n - 1) - 2 * (table @ (apart @ total)) / expected)
        many, fewer = float(weight.sum()), len(counts)
        variance = float(weight @ np.square(influence)) * many / (many - 1) * many / fewer
        return cls(float(plain), variance, apart, counts, rate, observed, expected, total)

    @property
    def pairs(self) -> float:
        """The variance that pairs of ratings add beyond single ones: what is left of that of their differences."""
        size = self.counts.sum(axis=1)
        shares = self.counts / size[:, None]
        single = shares @ self.apart
        mean = (shares * single).sum(axis=1)
        squared = (shares * (shares @ np.square(self.apart))).sum(axis=1)
        left = squared - 2 * (shares * np.square(single)).sum(axis=1) + np.square(mean)
        return float((self.rate / self.observed) ** 2 * (2 * np.square(size / (size - 1)) * left).sum())

    def of_raters(self, unit: Ints, column: Ints, rater: Ints, raters: int) -> tuple[float, float]:
        """What raters, who bring all their ratings, add to the variance, and what single ratings of an item add."""
        others = self.counts[unit]
        within = (others * self.apart[column]).sum(axis=1) / (others.sum(axis=1) - 1)
        beside = (self.apart @ self.marginal)[column]
        influence = -2 * self.rate * (within / self.observed - beside / self.expected)
        sums = np.bincount(rater, weights=influence, minlength=raters)
        added = float(np.square(sums).sum()) * raters / max(raters - 1, 1) - float(np.square(influence).sum())
        size = self.counts.sum(axis=1)
        mean = np.bincount(unit, weights=influence) / size
        return added, float((np.square(influence - mean[unit]) * (size / (size - 1))[unit]).sum())


def _within(table: Floats, apart: Floats) -> Floats:
    """The disagreement within each unit (Krippendorff 2018)."""
    return np.asarray(((table @ apart) * table).sum(axis=1) / (table.sum(axis=1) - 1))


def _apart(level: Level, values: Floats, marginal: Floats) -> Floats:
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "ratio":
        between = difference(level, values).between
        assert between is not None  # noqa: S101 - a ratio difference looks at pairs
        index = np.arange(len(values))
        return between(index[:, None], index[None, :])
    place = np.cumsum(marginal) - marginal / 2 if level == "ordinal" else values
    return np.asarray(np.square(place[:, None] - place[None, :]))


def _radius(information: Floats, aim: float, confidence: float) -> Floats:
    """Half the width of the interval at this information."""
    rho = _mixture(aim, confidence)
    reach = np.log((information + rho) / (rho * (1 - confidence) ** 2))
    return np.asarray(np.sqrt((information + rho) * reach) / information)


def _mixture(aim: float, confidence: float) -> float:
    """The constant with which the interval is shortest at the width aimed at (Howard and others 2021)."""
    needed = -2 * log(1 - confidence)
    ratio = needed + log(1 + needed)
    reach = (1 + 1 / ratio) * log((ratio + 1) / (1 - confidence) ** 2)
    return float(reach / (aim / 2) ** 2 / ratio)
