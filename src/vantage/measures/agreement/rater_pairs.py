"""Coefficients of two raters: Cohen's kappa, and the matrix of all pairs of raters.

With more than two raters a coefficient is computed for every pair of raters on the items that both answered,
and averaged over pairs (Light 1971). Only pairs that share an item exist, so the work grows with the number
of pairs of answers to the same item, not with the square of the number of raters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.measures.agreement.chance_corrected import Weights, weight_matrix
from vantage.measures.base import measure, table
from vantage.measures.codes import dense
from vantage.measures.counts import quotient
from vantage.measures.intervals import CORRELATIONS, OVER, SHARES, Bootstrap, IntervalOptions, Limits, Spread
from vantage.measures.intervals import interval as made_of
from vantage.measures.parts import Part, parts
from vantage.measures.presentation import Column, View, agreement_view
from vantage.measures.rater_variance import (
    FEW_RATERS,
    LEFT_OUT_OF_PAIRS,
    item_weights,
    raters_together,
    several_items,
)
from vantage.measures.ratings import By, Floats, Ints, Judgments, Named, canonical
from vantage.measures.relations.correlations import pearson_of_sums
from vantage.measures.resampling import Resampling, Statistics, leave_out

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PairStatistic: TypeAlias = Literal["agreement", "kappa", "pearson", "spearman", "difference"]

ALONE: Final = "no two raters answered the same item"
CERTAIN: Final = "chance alone would bring full agreement in every pair of raters"
CONSTANT: Final = "a rater gave one answer throughout"
FEW_SHARED: Final = 10
"""Below how many shared items the mean over pairs is clearly biased."""
FEW_ITEMS: Final = (
    f"half of the pairs of raters share fewer than {FEW_SHARED} items, which biases the mean of their coefficients; "
    "fleiss or alpha does not average over pairs"
)
NO_INTERVAL: Final = (
    " (an interval would hold the value less often than it says, so there is none unless ci asks for it)"
)
KAPPAS: Final[Limits] = (-1.0, 1.0)
PAIR_LIMITS: Final[Mapping[str, Limits]] = {
    "agreement": SHARES,
    "kappa": KAPPAS,
    "pearson": CORRELATIONS,
    "spearman": CORRELATIONS,
    "difference": (0.0, np.inf),
}
BLOCK_PAIRS: Final = 2**20
"""How many pairs of answers, times resamples, are looked at together."""


COHEN_VIEW: Final = agreement_view(
    "Cohen's kappa",
    "κ",
    "Agreement was measured by Cohen's kappa, averaged over pairs of raters (Cohen, 1960).",
    "cohen1960",
)


@measure("cohen", family="agreement", view=COHEN_VIEW, follows=True, interval=("raters", "sources"))
def cohen(
    data: Judgments,
    *,
    by: By = (),
    agreement_weights: Literal["linear", "quadratic"] | None = None,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Cohen's kappa (1960) of two raters, plain or weighted (1968); the mean over pairs for more raters.

    Chance agreement comes from each rater's own use of the categories, on the items that both answered. With
    more than two raters the kappas of all pairs that share an item are averaged (Light 1971): `pairs` counts those
    averaged, `pairs_undefined` those without a defined kappa. Weights fall with the distance of the codes. Items with a
    single answer are left out as `unpaired`. Pairs that share few items have a biased kappa, and so has their mean:
    `reason` says so below ten items, and there is an interval only where `ci` asks for one.

    >>> first, second = [1, 1, 2, 2, 3, 3], [1, 2, 2, 2, 3, 1]
    >>> round(cohen([first, second], ci="none")["estimate"][0], 4)
    0.5
    >>> round(cohen([first, second], agreement_weights="quadratic", ci="none")["estimate"][0], 4)
    0.2857
    """
    how = Resampling(**resampling, over=OVER)
    return table([_averaged(part, agreement_weights, how) for part in parts(data, by)], by)


RATER_MATRIX_VIEW: Final = View("Every pair of raters", columns={"estimate": Column(digits=2)})


@measure("rater-matrix", family="agreement", view=RATER_MATRIX_VIEW, pools=False, follows=True)
def rater_matrix(
    data: Judgments,
    *,
    by: By = (),
    statistic: PairStatistic = "agreement",
    agreement_weights: Literal["linear", "quadratic"] | None = None,
    min_items: int = 1,
    ci: Literal["items", "none"] = "none",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Every pair of raters: agreement, kappa, correlation or mean absolute difference on shared items.

    One row per group and pair `rater_a` < `rater_b` that shares at least `min_items` items; `items` counts
    them. The statistic is "agreement" (share of equal answers), "kappa" (Cohen's, with `agreement_weights`), "pearson",
    "spearman", or "difference" (mean absolute difference). Intervals over items on demand.

    >>> votes = {"item": [1, 2, 3] * 2, "rater": [*"aaabbb"], "value": [1, 2, 3, 1, 3, 3]}
    >>> rater_matrix(votes).select("rater_a", "rater_b", "estimate").rows()
    [('a', 'b', 0.666...)]
    """
    bootstrap = Bootstrap(ci, confidence=confidence, seed=seed)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by):
        if len(part.answered) and part.scale() is not None and statistic not in ("agreement", "kappa"):
            part.level("ordinal" if statistic == "spearman" else "interval")
        rows += _pair_rows(part, statistic, agreement_weights, min_items, bootstrap)
    return table(rows, by)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two answers to the same unit by different raters, for all such pairs of answers."""

    pair: Ints
    """Which pair of raters, in ascending order."""
    unit: Ints
    first: Ints
    """The first rater's answer, as a position among the values."""
    second: Ints
    values: Floats
    raters: Ints
    """The two raters of each pair, one row per pair."""
    units: int

    @classmethod
    def of(cls, answered: pl.DataFrame) -> tuple[Pairs, Named]:
        """The pairs of some answers, and the names of its units and raters."""
        named = canonical(answered)
        unit, rater = named.ratings.unit, named.ratings.coder
        values, column = np.unique(named.ratings.value, return_inverse=True)
        last = np.searchsorted(unit, unit, side="right")
        left = np.arange(len(unit))
        lefts, rights = [left[:0]], [left[:0]]
        step = 1
        while len(left := left[left + step < last[left]]):
            # Answers of a unit come sorted by rater; repeated samples of one rater are no pair of raters.
            others = left[rater[left] != rater[left + step]]
            lefts.append(others)
            rights.append(others + step)
            step += 1
        a, b = np.concatenate(lefts), np.concatenate(rights)
        code = rater[a] * named.ratings.coders + rater[b]
        order = np.argsort(code, kind="stable")
        a, b = a[order], b[order]
        codes, pair = np.unique(code[order], return_inverse=True)
        raters = np.column_stack([codes // named.ratings.coders, codes % named.ratings.coders])
        pairs = cls(pair, unit[a], column[a], column[b], values, raters.astype(np.int64), named.ratings.units)
        return pairs, named

    @property
    def count(self) -> int:
        """How many pairs of raters there are."""
        return len(self.raters)

    def sums(self, amount: Floats, drawn: Floats) -> Floats:
        """An amount per pair of answers, added up for each pair of raters."""
        return np.bincount(self.pair, weights=amount * drawn, minlength=self.count).astype(np.float64)


def kappas(pairs: Pairs, weight: Floats) -> Callable[[Floats], Floats]:
    """Kappa of every pair of raters for each column of weights of units; NaN where it is undefined.

    A pair of raters shares few items and uses few values on them, so that the sums of a whole block of resamples are
    products with sparse tables: of the pairs of raters, of the values that each side gave, and of what these meet.
    """
    from scipy.sparse import coo_array

    q = len(pairs.values)

    def table(row: Ints, amount: Floats, rows: int) -> csr_array:
        return coo_array((amount, (row, pairs.unit)), (rows, pairs.units)).tocsr()

    ones = np.ones(len(pairs.pair))
    shared = table(pairs.pair, ones, pairs.count)
    agreeing = table(pairs.pair, weight[pairs.first, pairs.second], pairs.count)
    sides = [pairs.pair * q + side for side in (pairs.first, pairs.second)]
    cells = [np.unique(side, return_inverse=True) for side in sides]
    uses = [table(place.reshape(-1), ones, len(codes)) for codes, place in cells]
    left, right = _meetings(cells[0][0], cells[1][0], q)
    met = weight[cells[0][0][left] % q, cells[1][0][right] % q]
    left, right, met = left[met != 0], right[met != 0], met[met != 0]
    by_pair = coo_array((met, (cells[0][0][left] // q, np.arange(len(left)))), (pairs.count, len(left))).tocsr()

    def statistic(drawn: Floats) -> Floats:
        total = np.asarray(shared @ drawn)
        first, second = (np.asarray(side @ drawn) for side in uses)
        # Multiplied by the squared number of items, which leaves whole numbers for plain kappa.
        observed = np.asarray(agreeing @ drawn) * total
        expected = np.asarray(by_pair @ (first[left] * second[right]))
        rest = total * total - expected
        kappa = np.full(total.shape, np.nan)
        np.divide(observed - expected, rest, out=kappa, where=rest > 1e-9 * total)
        return kappa

    return statistic


def _meetings(first: Ints, second: Ints, q: int) -> tuple[Ints, Ints]:
    """Every value on the first side of a pair of raters with every value on its second side, by their places."""
    begin = np.searchsorted(second, first // q * q)
    count = np.searchsorted(second, first // q * q + q) - begin
    left = np.repeat(np.arange(len(first)), count)
    step = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return left, begin[left] + step


def _averaged(part: Part, weights: Weights | None, how: Resampling) -> dict[str, Any]:
    """The mean over pairs; without an interval, unless asked for, where pairs share so few items that it is wrong."""
    careful, how = how.ci == "auto", how.chosen(several_items(part.answered, how.groups))
    part = part.paired()
    row = {**part.key, "pairs": 0, "pairs_undefined": 0, **part.counts}
    if weights is not None and len(part.answered) and part.scale() is not None:
        part.level("ordinal")
    pairs, named = Pairs.of(part.answered)
    if not pairs.count:
        return {**row, "reason": ALONE}
    shared, units = dense(pairs.unit)  # no other unit matters
    items = named.units["item"].gather(np.unique(pairs.unit))
    pairs = replace(pairs, unit=shared, units=units)
    weight = weight_matrix(weights, pairs.values)
    of_pairs = kappas(pairs, weight)
    everything = of_pairs(np.ones((pairs.units, 1)))[:, 0]
    defined = np.isfinite(everything)
    row |= {"pairs": int(defined.sum()), "pairs_undefined": int((~defined).sum())}
    if not defined.any():
        return {**row, "reason": CERTAIN}
    row["estimate"] = float(everything[defined].mean())
    if pairs.count > 1 and np.median(np.bincount(pairs.pair, minlength=pairs.count)[defined]) < FEW_SHARED:
        row["reason"] = FEW_ITEMS
        if careful:
            return {**row, "reason": row["reason"] + NO_INTERVAL}

    def statistic(weight: Floats) -> Floats:
        blocks = np.array_split(weight, -(-len(weight) * len(pairs.pair) // BLOCK_PAIRS))
        return np.concatenate([_mean(of_pairs(np.ascontiguousarray(rows.T))) for rows in blocks])[:, None]

    def without() -> list[Statistics]:
        present, rater = np.unique(pairs.raters, return_inverse=True)
        names = pl.Series("rater", [named.raters[one] for one in present.tolist()])
        group = raters_together(names, how, LEFT_OUT_OF_PAIRS)[rater.reshape(pairs.raters.shape)]
        numbers = range(int(group.max()) + 1)
        kappa = of_pairs(item_weights(units, len(numbers), how.seed).T)

        def rest(number: int, _: Floats) -> Floats:
            # Pairs are looked at once, with the weights that every table without some raters is asked for.
            return _mean(kappa[(group != number).all(axis=1)])[:, None]

        return [partial(rest, number) for number in numbers]

    bounds = how.intervals(units, statistic, without, [KAPPAS], items)[0]
    few = how.ci in ("raters", "both") and bounds[0] is None
    return row | how.stated(bounds) | ({"reason": FEW_RATERS} if few else {})


def _mean(kappa: Floats) -> Floats:
    """The mean over pairs of raters of what is defined, for each column."""
    defined = np.isfinite(kappa)
    return quotient(np.where(defined, kappa, 0.0).sum(axis=0), defined.sum(axis=0).astype(np.float64))


def _pair_rows(
    part: Part, name: str, weighting: Weights | None, min_items: int, bootstrap: Bootstrap
) -> list[dict[str, Any]]:
    pairs, named = Pairs.of(part.answered)
    # A unit that a rater answered more than once is one unit, and each answer to it is a judgment.
    pair, unit = np.divmod(np.unique(pairs.pair * pairs.units + pairs.unit), max(pairs.units, 1))
    items = np.bincount(pair, minlength=pairs.count)
    ratings, names = named.ratings, named.raters
    cells, times = np.unique(ratings.unit * ratings.coders + ratings.coder, return_counts=True)
    given = [times[np.searchsorted(cells, unit * ratings.coders + rater)] for rater in pairs.raters[pair].T]
    judgments = np.bincount(pair, np.sum(given, axis=0), minlength=pairs.count)
    statistic = _pair_statistic(pairs, name, weighting)
    estimates = statistic(np.ones(pairs.units))
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * pairs.count
    if bootstrap.ci == "items" and pairs.count:
        without = np.array([statistic(row) for block in leave_out(pairs.units, bootstrap.seed) for row in block])
        one_by_one = len(without) == pairs.units
        for index in range(pairs.count):
            column = without[unit[pair == index], index] if one_by_one else without[:, index]
            spread = Spread.without(column, PAIR_LIMITS[name])
            bounds[index] = made_of(float(estimates[index]), spread, bootstrap.confidence, PAIR_LIMITS[name])
    undefined = CERTAIN if name == "kappa" else CONSTANT
    common = {**part.key, "raters": 2, "left_out": part.counts["left_out"]}
    rows: list[dict[str, Any]] = []
    for index in np.flatnonzero(items >= max(min_items, 1)).tolist():
        a, b = (names[rater] for rater in pairs.raters[index].tolist())
        row = {**common, "rater_a": a, "rater_b": b, "items": int(items[index]), "judgments": int(judgments[index])}
        if not np.isfinite(estimates[index]):
            rows.append({**row, "reason": undefined})
            continue
        low, high = bounds[index]
        over = "items" if low is not None else None
        rows.append({**row, "estimate": float(estimates[index]), "low": low, "high": high, "over": over})
    return rows


def _pair_statistic(pairs: Pairs, name: str, weighting: Weights | None) -> Callable[[Floats], Floats]:
    """A statistic of every pair of raters as a function of the weights of units."""
    if name == "kappa":
        of_pairs = kappas(pairs, weight_matrix(weighting, pairs.values))
        return lambda drawn: of_pairs(drawn[:, None])[:, 0]
    x, y = pairs.values[pairs.first], pairs.values[pairs.second]
    if name in ("agreement", "difference"):
        amount = (x == y).astype(np.float64) if name == "agreement" else np.abs(x - y)

        def mean(drawn: Floats) -> Floats:
            on = drawn[pairs.unit]
            return quotient(pairs.sums(amount, on), pairs.sums(np.ones(len(on)), on))

        return mean
    if name == "pearson":
        return lambda drawn: _correlation(pairs, x, y, drawn[pairs.unit])
    orders = [np.lexsort((side, pairs.pair)) for side in (pairs.first, pairs.second)]

    def spearman(drawn: Floats) -> Floats:
        on = drawn[pairs.unit]
        first = _ranks(pairs.pair, pairs.first, orders[0], on)
        second = _ranks(pairs.pair, pairs.second, orders[1], on)
        return _correlation(pairs, first, second, on)

    return spearman


def _correlation(pairs: Pairs, x: Floats, y: Floats, on: Floats) -> Floats:
    """Pearson's correlation within every pair of raters, around the pair's own means."""
    total = np.maximum(pairs.sums(np.ones(len(on)), on), 1)
    x = x - (pairs.sums(x, on) / total)[pairs.pair]
    y = y - (pairs.sums(y, on) / total)[pairs.pair]
    xx, yy, xy = (pairs.sums(one * other, on) for one, other in ((x, x), (y, y), (x, y)))
    return pearson_of_sums(total, 0.0, 0.0, xx, yy, xy, least=(1e-9, 1e-9))


def _ranks(pair: Ints, side: Ints, order: Ints, on: Floats) -> Floats:
    """Mid-ranks of answers among those of the same pair of raters, an answer drawn twice counting twice."""
    weight = on[order]
    tie = np.flatnonzero(np.r_[True, (np.diff(pair[order]) != 0) | (np.diff(side[order]) != 0)])
    amount = np.add.reduceat(weight, tie)
    middle = np.cumsum(amount) - amount / 2  # ranks of other pairs before are a constant that drops out
    ranks = np.empty(len(on))
    ranks[order] = np.repeat(middle, np.diff(np.r_[tie, len(on)]))
    return ranks
