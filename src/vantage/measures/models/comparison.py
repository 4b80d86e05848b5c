"""The linear mixed model of a comparison: which random effects a design has, and what differs given them.

A column is compared (a trait of raters, a condition, a property of items). Every unit that the answers come in (items,
raters, the sources of items, pairs of item and rater) has a random intercept, and where the column varies within units
their effects vary too: unit × level, which for two levels is the model with an intercept and a slope per unit (Barr,
Levy, Scheepers and Tily 2013). Where the column is constant within units, as a trait is within raters, the units of
each level have a variance of their own. The fit is by restricted maximum likelihood, tests and intervals by Student's t
with Satterthwaite's degrees of freedom, so that groups of raters who all judged everything are compared as by Welch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from vantage.measures.codes import dense
from vantage.measures.intervals import Contrast, degrees_of_freedom
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.gaussian import Gaussian, GaussianFit
from vantage.measures.ratings import Floats, Ints

OWN_VARIANCE: Final = 5
"""Levels of as many units have a variance of their own; the units of smaller ones share one."""
FEW_RATERS: Final = 4
"""With fewer raters a condition that they all saw is compared about these raters."""
BINS: Final = 4
"""In as many parts of equal size a number may act differently on units."""
PAIRS: Final = 1000
"""Beyond so many levels of other effects pairs of item and rater have none of their own, which makes tests cautious,
and beyond so many units numbers have the same slope in all, whose mean hardly varies then."""


@dataclass(frozen=True)
class Comparison:
    """Answers, what is compared, and the units that the answers come in.

    >>> rng = np.random.default_rng(0)
    >>> item, rater = (grid.ravel() for grid in np.indices((20, 10)))
    >>> value = rng.normal(size=20)[item] + 2.0 * (rater < 5) + rng.normal(size=200)
    >>> comparison = Comparison(value, (rater < 5).astype(int), {"item": item, "rater": rater})
    >>> difference = comparison.between(np.array([-1.0, 1.0]))
    >>> round(difference.estimate, 2), round(difference.freedom, 1), comparison.names
    (2.04, 8.1, ['item', 'item × level', 'rater'])
    """

    value: Floats
    level: Ints
    """The level of each answer; where a number is compared, a part of its range."""
    units: Mapping[str, Ints]
    """The unit of each answer, `item` and `rater` and perhaps others, coarser ones first; −1 where it has none."""
    number: Floats | None = None
    given: Floats | None = None
    """Columns that are held constant."""
    fixed_units: tuple[str, ...] = ()
    """Units to which nothing is generalised: their effects do not vary with the column."""

    @cached_property
    def levels(self) -> int:
        """How many levels the column has."""
        return int(self.level.max()) + 1

    def constant_within(self, unit: str) -> bool:
        """Whether each unit has one level, as a rater has of a trait."""
        code = self.units[unit]
        there = code >= 0
        return bool(there.any()) and _per_unit(code[there], self.level[there]) is not None

    def sizes(self, unit: str) -> Ints:
        """How many units have answers of each level."""
        code = self.units[unit]
        there = code >= 0
        pairs = np.unique(np.stack([code[there], self.level[there]]), axis=1)
        return np.bincount(pairs[1], minlength=self.levels)

    @cached_property
    def _random(self) -> tuple[list[str], list[Ints], dict[int, Ints], dict[int, Floats]]:
        """The random effects: names, levels of each answer, and the strata of some and the slopes of others."""
        names: list[str] = []
        codes: list[Ints] = []
        strata: dict[int, Ints] = {}
        slopes: dict[int, Floats] = {}

        def add(name: str, code: Ints) -> bool:
            there = code >= 0
            renumbered, levels = dense(code[there])
            if not 1 < levels < there.sum():
                return False
            own = np.full(len(code), -1, dtype=np.int64)
            own[there] = renumbered
            if any(int(other.max()) + 1 == levels and _same(other, own) for other in codes):
                return False
            names.append(name)
            codes.append(own)
            return True

        for name, code in self._all_units.items():
            pair = name == "item × rater"
            if pair and sum(int(other.max()) + 1 for other in codes) > PAIRS:
                continue
            there = code >= 0
            each = _per_unit(code[there], self.level[there]) if there.any() else None
            if not add(name, code):
                continue
            if each is not None and self.number is None and not pair:
                first = np.unique(codes[-1][there], return_index=True)[1]
                of_level = self.level[there][first]
                many = np.bincount(of_level, minlength=self.levels) >= OWN_VARIANCE
                stratum = np.where(many, np.cumsum(many), 0)[of_level]
                strata[len(codes) - 1] = dense(stratum)[0]
            elif each is None and not set(name.split(" × ")) & set(self.fixed_units):
                if self.number is None:
                    add(f"{name} × level", np.where(there, code * self.levels + self.level, -1))
                elif not pair and int(codes[-1].max()) < PAIRS:
                    names.append(f"{name} × level")
                    slopes[len(codes)] = (self.number - self.number.mean()) / max(float(self.number.std()), 1e-300)
                    codes.append(codes[-1])
        return names, codes, strata, slopes

    @cached_property
    def _all_units(self) -> dict[str, Ints]:
        item, rater = self.units.get("item"), self.units.get("rater")
        if item is None or rater is None:
            return dict(self.units)
        pairs = np.where(rater < 0, -1, item * (int(rater.max()) + 1) + rater)
        return {**self.units, "item × rater": pairs}

    @property
    def names(self) -> list[str]:
        """The random effects."""
        return self._random[0]

    @cached_property
    def _columns(self) -> Floats:
        """The fixed effects: a constant, the levels but the first or the number, and what is held constant."""
        if self.number is None:
            own = [(self.level == j).astype(np.float64) for j in range(1, self.levels)]
        else:
            own = [self.number]
        held = [] if self.given is None else [column - column.mean() for column in self.given.T]
        if "rater" in self.units and "item" in self.units and self.constant_within("rater"):
            # Of items that more raters of one group judged: the difference is that within items (Mundlak 1978).
            item = self.units["item"]
            size = np.bincount(item)
            held += [share - share.mean() for share in ((np.bincount(item, one) / size)[item] for one in own)]
        return _independent([np.ones(len(self.value)), *own, *held], 1 + len(own))

    @cached_property
    def fit(self) -> GaussianFit:
        """The model, fitted."""
        _, codes, strata, slopes = self._random
        design = Crossed(codes, strata, slopes)
        return Gaussian(self.value, self._columns, design).fit(np.full(design.parameters, 0.5))

    @property
    def means(self) -> Floats:
        """The mean answer of each level, given everything else."""
        if not self.names:
            return self._alone[0]
        beta = self.fit.beta
        return np.concatenate([[beta[0]], beta[0] + beta[1 : self.levels]])

    @property
    def deviation(self) -> float:
        """The standard deviation of single answers at one level: of all random effects together."""
        if not self.names:
            variance = self._alone[1]
            return float(np.sqrt(np.average(variance, weights=np.bincount(self.level))))
        design, fit = self.fit.model.design, self.fit
        spread = sum(np.square(design.spread(k, fit.theta))[code].mean() for k, code in enumerate(design.codes))
        return float(np.sqrt((1 + spread) * fit.residual))

    def between(self, weights: Floats) -> Contrast:
        """A combination of the means of the levels, with weights that add up to zero; the slope of a number."""
        if not self.names and self.number is None and self.given is None:
            means, variance, size = self._alone
            parts = np.square(weights) * variance / size
            used = [(float(part), float(n) - 1) for part, n in zip(parts, size, strict=True) if part > 0]
            freedom = degrees_of_freedom(float(parts.sum()), *used) if used else np.inf
            return Contrast(float(weights @ means), float(np.sqrt(parts.sum())), float(freedom))
        full = np.zeros(self._columns.shape[1])
        full[1 : 1 + len(weights[1:])] = weights[1:]
        contrast = self.fit.contrast(full)
        return Contrast(contrast.estimate, contrast.error, max(min(contrast.freedom, self._most_freedom), 1.0))

    @property
    def _most_freedom(self) -> float:
        """All units that the answers come in, less the levels: no more are left where a variance is zero."""
        spent = self._columns.shape[1] if self.number is not None else self.levels
        free = [
            len(np.unique(code[code >= 0])) - (spent if self.constant_within(name) else 1)
            for name, code in self.units.items()
        ]
        return float(sum(max(one, 0) for one in free)) or np.inf

    @cached_property
    def _alone(self) -> tuple[Floats, Floats, Floats]:
        """The mean, the variance and the number of the answers of each level, where no unit has several."""
        size = np.bincount(self.level, minlength=self.levels).astype(np.float64)
        means = np.bincount(self.level, self.value, self.levels) / size
        squares = np.bincount(self.level, np.square(self.value - means[self.level]), self.levels)
        return means, squares / np.maximum(size - 1, 1), size


def parts_of_range(number: Floats) -> Ints:
    """In which of four parts of about equal size each number lies.

    >>> parts_of_range(np.array([1.0, 2, 3, 4, 5, 6, 7, 8])).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    cuts = np.quantile(np.unique(number), np.arange(1, BINS) / BINS)
    return dense(np.searchsorted(cuts, number, side="left"))[0]


def _per_unit(code: Ints, level: Ints) -> Ints | None:
    """The level of each unit; null where one has several."""
    of_unit = np.full(int(code.max()) + 1, -1, dtype=np.int64)
    of_unit[code] = level
    return of_unit if np.array_equal(of_unit[code], level) else None


def _same(first: Ints, second: Ints) -> bool:
    """Whether two codes with equally many levels part the answers alike."""
    if not np.array_equal(first < 0, second < 0):
        return False
    there = first >= 0
    return _per_unit(first[there], second[there]) is not None


def _independent(columns: Sequence[Floats], needed: int) -> Floats:
    """The columns as a matrix, of those beyond the needed ones only what does not follow from the others."""
    kept = list(columns[:needed])
    for column in columns[needed:]:
        matrix = np.column_stack(kept)
        left = column - matrix @ np.linalg.lstsq(matrix, column, rcond=None)[0]
        if np.linalg.norm(left) > 1e-7 * max(float(np.linalg.norm(column)), 1e-300) and np.abs(column).max() > 1e-12:
            kept.append(column)
    return np.column_stack(kept)
