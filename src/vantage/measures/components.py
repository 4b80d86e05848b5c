"""How much of the variance of the answers belongs to items, raters, traits of raters, and noise.

The answers are modelled as a mean plus independent random effects, crossed as the raters happened to meet
the items. The variances are estimated by Henderson's Method I (Henderson 1953; Searle, Casella and McCulloch
1992, section 5.3): sums of squares by factor are set equal to their expectations, which are linear in the
variances also when the design is unbalanced. The work is linear in the number of answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.codes import dense
from vantage.measures.intervals import Bounds
from vantage.measures.parts import check_level, counts, names, parts
from vantage.measures.ratings import UNIT, By, Floats, Ints, Judgments
from vantage.measures.resampling import Resampled, Resampling, item_codes, leave_out

GROUPS: Final = 200
"""Into how many groups items are put at most, to be left out in turn."""


@measure("components", "relations")
def components(
    data: Judgments,
    *,
    by: By = (),
    trait: By = (),
    interaction: bool = True,
    ci: Resampled = "auto",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The share of the variance that belongs to items, raters, traits of raters, and what is left.

    Components: `item` (what is judged), `rater` (some are stricter), each `trait` (groups of raters differ
    on average) and `item × trait` (groups differ on certain items; `interaction`), `item × rater` where
    raters answered repeatedly (then the residual is the noise between repetitions), and `residual`.
    Without repetitions the residual holds item × rater and noise together.

    `variance` is the unbiased moment estimate, which may fall below zero when a component is small;
    `estimate` is the share of the total with negative ones counted as zero. The interval is that of the
    jackknife over items, or over 200 random groups of them (Tukey 1958); drawing items with replacement
    would repeat a rater's noise and count it as the rater's. It says nothing about other raters. Codes
    are taken as numbers: the scale must be ordered.

    >>> answers = [[1, 2, 3, 4], [2, 3, 4, 5], [1, 3, 3, 5]]
    >>> components(answers, ci="none").select("component", pl.col("variance").round(3)).rows()
    [('item', 1.889), ('rater', 0.222), ('residual', 0.111)]
    """
    how = Resampling(ci, confidence=confidence, seed=seed)
    traits = names(trait)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=traits):
        check_level(part.scale(), part.frame, "a variance")
        known = [pl.col(column).is_not_null() for column in traits]
        used = part.answered.filter(known) if known else part.answered
        based_on = counts(used, part.frame, no_trait=len(part.answered) - len(used))
        used = used.sort([*UNIT, "rater", "sample"])
        design = Design.of(used, traits, interaction)
        reason = design.problem()
        variances = design.variances(np.ones((1, design.items)))[0] if reason is None else np.empty(0)
        if reason is None and not np.isfinite(variances).all():
            reason = "the design cannot tell the components apart"
        if reason is not None:
            rows += [{**part.key, "component": name, **based_on, "reason": reason} for name in design.names]
            continue
        total = variances.clip(0).sum()
        intervals = _intervals(design, _shares(variances[None])[0], how)
        for i, name in enumerate(design.names):
            low, high = intervals[i]
            row = {
                "component": name,
                "variance": float(variances[i]),
                "levels": design.factors[i].levels if i < len(design.factors) else len(used),
                **based_on,
            }
            share: dict[str, Any] = {"reason": "the answers do not vary"}
            if total > 0:
                share = {"estimate": float(max(variances[i], 0.0) / total), "low": low, "high": high}
            rows.append({**part.key, **row, **share})
    return table(rows, names(by))


@dataclass(frozen=True, slots=True)
class Factor:
    """A random effect: which of its levels each answer has, and whether a level belongs to one item."""

    name: str
    code: Ints
    levels: int
    in_item: bool

    @classmethod
    def of(cls, name: str, code: Ints, in_item: bool) -> Factor:
        """A factor with its levels renumbered."""
        code, levels = dense(code)
        return cls(name, code, levels, in_item)


@dataclass(frozen=True, slots=True)
class Design:
    """The answers with their item and their level of every factor."""

    value: Floats
    item: Ints
    items: int
    factors: list[Factor]
    known: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """What has been formed before and does not depend on the weights."""

    @classmethod
    def of(cls, used: pl.DataFrame, traits: list[str], interaction: bool) -> Design:
        """The factors that a table of answers has."""
        unit = _code(used, UNIT)
        rater = _code(used, ["rater"])
        factors = [Factor.of("item", unit, True), Factor.of("rater", rater, False)]
        for name in traits:
            code = _code(used, [name])
            factors.append(Factor.of(name, code, False))
            if interaction:
                factors.append(Factor.of(f"item × {name}", _crossed(unit, code), True))
        pairs = Factor.of("item × rater", _crossed(unit, rater), True)
        if pairs.levels < len(used):
            factors.append(pairs)
        item, items = item_codes(used["item"])
        value = used["value"].to_numpy()
        return cls(value - value.mean() if len(value) else value, item, items, factors)

    @property
    def names(self) -> list[str]:
        """The components, the residual last."""
        return [*(factor.name for factor in self.factors), "residual"]

    def problem(self) -> str | None:
        """Why the components cannot be estimated, if so."""
        for factor in self.factors:
            if factor.levels < 2:
                return f"there are fewer than two levels of {factor.name}"
        return None

    def variances(self, weight: Floats) -> Floats:
        """One column per component for each row of item weights.

        A resampled item is a new item, so sums within an item are added as often as it was drawn, while
        sums over a rater's or a trait's answers are formed from the drawn answers.
        """
        n = weight @ self._per_item(np.ones(len(self.value)))
        mean_square = (weight @ self._per_item(self.value)) ** 2 / n
        # Rows: the sum of squares of each factor, then of the single answers; columns: each variance.
        sizes = len(self.factors) + 1
        left = np.empty((len(weight), sizes, sizes))
        right = np.empty((len(weight), sizes))
        left[:, -1, :], right[:, -1] = n[:, None], weight @ self._per_item(self.value**2)
        for row, factor in enumerate(self.factors):
            right[:, row], left[:, row, -1] = self._sum_of_squares(factor, weight)
            for column, other in enumerate(self.factors):
                left[:, row, column] = self._coefficient(factor, other, weight)
        for column, other in enumerate(self.factors):
            left[:, :, column] -= (self._squared_size(other, weight) / n)[:, None]
        left[:, :, -1] -= 1.0
        right -= mean_square[:, None]
        solved = np.full_like(right, np.nan)
        regular = np.linalg.cond(left / np.abs(left).max(axis=(1, 2), keepdims=True)) < 1e10
        solved[regular] = np.linalg.solve(left[regular], right[regular][..., None])[..., 0]
        return solved

    def _once(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def _per_item(self, values: Floats, item: Ints | None = None) -> Floats:
        where = self.item if item is None else item
        return np.asarray(np.bincount(where, weights=values, minlength=self.items), dtype=np.float64)

    def _item_of(self, factor: Factor) -> Ints:
        """The item of every level of a factor whose levels belong to items."""
        item = np.zeros(factor.levels, dtype=np.int64)
        item[factor.code] = self.item
        return item

    def _drawn(self, weight: Floats, key: tuple[str, ...], code: Ints, levels: int, values: Floats) -> Floats:
        """Sums of values over the drawn answers of each level; those by item are kept under the key."""
        from scipy.sparse import csr_matrix

        shape = (levels, self.items)
        sums = self._once(key, lambda: csr_matrix((values, (code, self.item)), shape=shape))
        return np.asarray((sums @ weight.T).T)

    def _sizes(self, factor: Factor, weight: Floats) -> Floats:
        """How many drawn answers each level of a factor has that is not inside items."""
        ones = np.ones(len(self.value))
        return self._drawn(weight, ("size", factor.name), factor.code, factor.levels, ones)

    def _sum_of_squares(self, factor: Factor, weight: Floats) -> tuple[Floats, Floats]:
        """Σ (level total)² / (level size), and the number of levels."""
        if not factor.in_item:
            sizes = self._sizes(factor, weight)
            totals = self._drawn(weight, ("total", factor.name), factor.code, factor.levels, self.value)
            return (totals**2 / np.maximum(sizes, 1)).sum(axis=1), (sizes > 0).sum(axis=1).astype(np.float64)

        def squares() -> Floats:
            size = np.bincount(factor.code, minlength=factor.levels)
            total = np.bincount(factor.code, weights=self.value, minlength=factor.levels)
            item = self._item_of(factor)
            ones = np.ones(factor.levels)
            return np.column_stack([self._per_item(total**2 / size, item), self._per_item(ones, item)])

        drawn = weight @ self._once(("squares", factor.name), squares)
        return drawn[:, 0], drawn[:, 1]

    def _squared_size(self, factor: Factor, weight: Floats) -> Floats:
        """Σ (level size)²."""
        if not factor.in_item:
            return np.asarray((self._sizes(factor, weight) ** 2).sum(axis=1))

        def squares() -> Floats:
            size = np.bincount(factor.code, minlength=factor.levels).astype(np.float64)
            return self._per_item(size * size, self._item_of(factor))

        return np.asarray(weight @ self._once(("squared size", factor.name), squares))

    def _coefficient(self, factor: Factor, other: Factor, weight: Floats) -> Floats:
        """Σ over levels of `factor` and of `other` of (shared size)² / (size of the level of `factor`)."""
        key = (factor.name, other.name)
        cell, level, shared = self._once((*key, "cells"), lambda: _cells(factor.code, other.code))
        if factor.in_item:

            def fractions() -> Floats:
                size = np.bincount(factor.code, minlength=factor.levels)
                return self._per_item(shared**2 / size[level], self._item_of(factor)[level])

            return np.asarray(weight @ self._once(key, fractions))
        sizes = np.maximum(self._sizes(factor, weight), 1)
        if other.in_item:
            # Every answer carries the size of its cell, so that a cell adds up to its size squared.
            squares = self._drawn(weight, key, factor.code, factor.levels, shared[cell])
            return np.asarray((squares / sizes).sum(axis=1))
        drawn = self._drawn(weight, key, cell, len(level), np.ones(len(cell)))
        return np.asarray((drawn**2 / sizes[:, level]).sum(axis=1))


def _cells(code: Ints, other: Ints) -> tuple[Ints, Ints, Floats]:
    """Each answer's pair of levels, each pair's level of the first factor, and each pair's size."""
    cell, cells = dense(_crossed(code, other))
    level = np.zeros(cells, dtype=np.int64)
    level[cell] = code
    return cell, level, np.bincount(cell, minlength=cells).astype(np.float64)


def _intervals(design: Design, shares: Floats, how: Resampling) -> list[Bounds]:
    """Jackknife intervals of the shares, within 0 and 1; null where a group of items cannot be spared."""
    if how.ci == "none" or design.items < 3:
        return [(None, None)] * len(shares)
    left_out = [_shares(design.variances(block)) for block in leave_out(design.items, how.seed, GROUPS)]
    each = np.concatenate(left_out)
    error = np.sqrt((len(each) - 1) / len(each) * ((each - each.mean(axis=0)) ** 2).sum(axis=0))
    z = NormalDist().inv_cdf((1 + how.confidence) / 2)
    return [
        (max(0.0, float(share - z * e)), min(1.0, float(share + z * e))) if np.isfinite(e) else (None, None)
        for share, e in zip(shares, error, strict=True)
    ]


def _shares(variances: Floats) -> Floats:
    positive = np.clip(variances, 0, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _code(used: pl.DataFrame, columns: By) -> Ints:
    """Codes in the order of the values, whatever the order of the rows."""
    return item_codes(used.select(pl.struct(list(columns)).rank("dense").alias("code"))["code"])[0]


def _crossed(first: Ints, second: Ints) -> Ints:
    return first * (int(second.max(initial=0)) + 1) + second
