"""Split-half reliability: how well one half of the answers to each item predicts the other half.

Over a thousand random splits the same few sets of answers are halved again and again. On a scale of five
points, five answers make only 126 different sets with ten halvings each, so all halvings are computed once
and a split is one random number per item. Where many items share a set, how often each halving occurs is
multinomial, and 200,000 items cost as much as 126 sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions, blocks, doubted, percentile
from vantage.measures.parts import parts
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import several_items
from vantage.measures.ratings import By, Floats, Ints, Judgments, Ratings, canonical
from vantage.measures.relations.correlations import midranks, pearson_rows, rounding_error
from vantage.measures.variance.one_rater import OneRater

Bools: TypeAlias = NDArray[np.bool_]
Split = Literal["annotations", "raters"]
Average = Literal["mean", "median"]
Correlation = Literal["pearson", "spearman"]

TABLE_CELLS: Final = 2**22
"""How many answers a table of all halvings may hold; beyond that, answers are shuffled instead."""
PATTERN_UNITS: Final = 4
"""From how many units per halving of a set it is cheaper to draw counts of units than units."""
BLOCK_CELLS: Final = 2**18
"""How many half-scores are held at once: enough to amortise a NumPy call, few enough for the cache."""


AGAINST: Final = "the halves run against each other, and a negative correlation cannot be stepped up to a reliability"
VIEW: Final = View(
    "Split-half reliability of an item's score",
    symbol="r",
    columns={"estimate": Column("split-half reliability", digits=2), "sd": Column(digits=3)},
    show=("estimate", "items", "raters", "reason"),
    notes=("How well the scores from one half of the ratings predict those from the other half.",),
    says=(
        Extremes(
            most="Scores are most reliable for {rows}",
            least="Scores are least reliable for {rows}",
            alike="It is not clear for which question scores are most or least reliable ({range})",
        ),
    ),
    method="Reliability is the correlation of the scores of two random halves of the ratings, averaged over splits.",
    sources=("spearman1910",),
)


@measure("split-half", "reliability", view=VIEW, interval=("raters",))
def split_half(
    data: Judgments,
    *,
    by: By = (),
    split: Split = "annotations",
    correlation: Correlation = "pearson",
    aggregate: Average = "mean",
    spearman_brown: bool = False,
    splits: int = 1000,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Split-half reliability: the correlation of two random halves of the answers, over many splits.

    With `split="annotations"` the answers to each unit are shuffled and the first ⌊n/2⌋ stand against the
    rest; with `split="raters"` one half of the raters stands against the other, the same in every unit.
    Each half is reduced to its mean or median and the two columns are correlated. `estimate` is the mean
    over the splits, `sd` their standard deviation, and `split_low`…`split_high` holds 95 % of them: it shows how much
    the luck of the split matters, not how much another sample of items or raters would.

    `low`…`high` is the confidence interval, over both by default where at least ten raters judged several items each,
    otherwise over items: that of the reliability of one rater (see `reliability`), carried over by the number of
    raters that makes the estimate out of it (Spearman 1910; Brown 1910).

    `spearman_brown=True` steps each correlation r up to the reliability of all answers together: 2r / (1 + r) for
    equal halves (Spearman 1910; Brown 1910), and Horst's (1951) formula for shares p and q = 1 − p,
    r (√(r² + 4pq(1 − r²)) − r) / (2pq(1 − r²)). Halves that run against each other so far that this is below −1 have no
    reliability, and `reason` says so. Units with one answer have no second half and are `unpaired`.

    >>> ratings = [[1, 2, 3, 4, 5], [1, 3, 3, 4, 4], [2, 2, 3, 5, 5], [1, 2, 4, 4, 5]]
    >>> split_half(ratings, splits=100).select("estimate", "sd").row(0)
    (0.95..., 0.02...)
    """
    if splits < 1:
        raise InputError(f"{splits} splits cannot be drawn", remedy="ask for at least one")
    bootstrap = Bootstrap(**resampling, over=OVER)
    rows = []
    for whole in parts(data, by):
        part, how = whole.paired(), bootstrap.chosen(several_items(whole.answered, None))
        part.level("interval")
        row: dict[str, Any] = {**part.key, "estimate": None, "sd": None, "splits": 0, **part.counts}
        row["note"] = part.note
        ratings = canonical(part.answered).ratings
        if ratings.units < 3 or (split == "raters" and ratings.coders < 2):
            few = "fewer than three items have two answers" if ratings.units < 3 else "there is one rater only"
            rows.append({**row, "reason": few})
            continue
        rng = np.random.default_rng(bootstrap.seed)
        if split == "annotations":
            correlations = _by_annotation(ratings, aggregate, correlation, splits, rng)
            sizes = np.bincount(ratings.unit).astype(np.float64)
            product = np.full(len(correlations), np.mean((sizes // 2) * (sizes - sizes // 2) / sizes**2))
        else:
            correlations, product = _by_rater(ratings, aggregate, correlation, splits, rng)
        if not np.isfinite(correlations).any():
            rows.append({**row, "reason": "the halves do not vary from item to item"})
            continue
        if spearman_brown:
            correlations = whole_test(correlations, product)
        defined = correlations[np.isfinite(correlations)]
        if not len(defined) or defined.mean() < -1:
            rows.append({**row, "reason": AGAINST})
            continue
        low, high = percentile(defined)
        sd = float(defined.std(ddof=1)) if len(defined) > 1 else None
        estimate, same = float(defined.mean()), split == "raters"
        row |= {"estimate": estimate, "sd": sd, "splits": len(defined), "split_low": low, "split_high": high}
        bounds = OneRater.of(part.answered, how, same_raters=same).carried(estimate, same_raters=same)
        if bootstrap.ci != "none" and bounds["low"] is None:
            bounds["reason"] = "no interval: the answers of one rater have no reliability to carry over"
        rows.append({**row, **doubted(bounds, ratings.unit, ratings.value)})
    return table(rows, by)


def whole_test(half: Floats, product: Floats) -> Floats:
    """The reliability of all answers from the correlation of two halves, whose shares have this product (Horst 1951).

    One answer against two, of which each has the reliability .3:

    >>> whole_test(np.array([np.sqrt(0.3 * 0.6 / 1.3)]), np.array([2 / 9])).round(4).tolist()
    [0.5625]
    """
    rest = np.maximum(1 - half**2, 0.0)
    above = half * (np.sqrt(half**2 + 4 * product * rest) - half)
    stepped = np.full_like(half, np.nan)
    np.divide(above, 2 * product * rest, out=stepped, where=rest > 1e-12)
    return np.where((rest <= 1e-12) & (half > 0), 1.0, stepped)


@dataclass(frozen=True, slots=True)
class Same:
    """The units with the same number of answers: each distinct set of answers once, in rising order."""

    answers: Floats
    """One row per distinct set."""
    row: Ints
    """Which row each unit has."""


def same_sizes(ratings: Ratings) -> list[Same]:
    """Units grouped by their number of answers, in an order that depends on the answers alone; sorted by unit.

    >>> unit, rater, value = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 0, 1]), np.array([2.0, 1, 5, 1, 2])
    >>> [(same.answers.tolist(), same.row.tolist()) for same in same_sizes(Ratings.of(unit, rater, value))]
    [([[5.0]], [0]), ([[1.0, 2.0]], [0, 0])]
    """
    points, place = np.unique(ratings.value, return_inverse=True)
    count = np.bincount(ratings.unit, minlength=ratings.units)
    start = np.cumsum(count) - count
    sizes = []
    for size in np.flatnonzero(np.bincount(count)).tolist():
        block = np.sort(place.reshape(-1)[start[count == size][:, None] + np.arange(size)], axis=1)
        if len(points) ** size < 2**63:
            # A set of answers is a number written in as many digits as it has answers.
            digits = len(points) ** np.arange(size - 1, -1, -1)
            _, first, row = np.unique(block @ digits, return_index=True, return_inverse=True)
            sets = block[first]
        else:
            sets, row = np.unique(block, axis=0, return_inverse=True)
        sizes.append(Same(points[sets], np.sort(row.reshape(-1))))
    return sizes


def _by_annotation(
    ratings: Ratings, aggregate: Average, correlation: Correlation, splits: int, rng: np.random.Generator
) -> Floats:
    sizes = same_sizes(ratings)
    halvings = [_halvings(same.answers, aggregate) for same in sizes]
    known = [halves for halves in halvings if halves is not None]
    negligible = rounding_error(ratings.value)
    if len(known) == len(halvings) and PATTERN_UNITS * sum(a.size for a, _ in known) < ratings.units:
        return _by_pattern(sizes, known, correlation, splits, negligible=negligible, rng=rng)
    points: Floats | None = None
    if correlation == "spearman" and len(known) == len(halvings):
        # Only the order of half-scores matters: with all of them known beforehand, ranking is counting.
        points = np.unique(np.concatenate([half.ravel() for halves in known for half in halves]))
        halvings = [(np.searchsorted(points, a), np.searchsorted(points, b)) for a, b in known]
    drawn = []
    step = max(1, BLOCK_CELLS // ratings.units)
    for begin in range(0, splits, step):
        rows = min(step, splits - begin)
        parts = [_drawn(same, halves, aggregate, rows, rng) for same, halves in zip(sizes, halvings, strict=True)]
        first = np.concatenate([part[0] for part in parts], axis=1)
        second = np.concatenate([part[1] for part in parts], axis=1)
        if correlation == "spearman":
            first, second = _ranks(first, points), _ranks(second, points)
        drawn.append(pearson_rows(first, second, (negligible, negligible)))
    return np.concatenate(drawn)


def _by_pattern(
    sizes: list[Same],
    halvings: list[tuple[Any, Any]],
    correlation: Correlation,
    splits: int,
    *,
    negligible: float,
    rng: np.random.Generator,
) -> Floats:
    """The same from counts: how many of the units with the same answers are halved in which way."""
    first = np.concatenate([a.ravel() for a, _ in halvings])
    second = np.concatenate([b.ravel() for _, b in halvings])
    values = []
    for rows in blocks(len(first), splits):
        drawn = []
        for same, (halves, _) in zip(sizes, halvings, strict=True):
            sets, ways = halves.shape
            counts = rng.multinomial(np.bincount(same.row), np.full(ways, 1 / ways), (rows, sets))
            drawn.append(counts.reshape(rows, -1))
        weight = np.concatenate(drawn, axis=1).astype(np.float64)
        a, b = first[None], second[None]
        if correlation == "spearman":
            a, b = midranks(first, weight), midranks(second, weight)
        values.append(pearson_rows(a, b, (negligible, negligible), weight))
    return np.concatenate(values)


def _halvings(answers: Floats, aggregate: Average) -> tuple[Any, Any] | None:
    """Both half-scores under every way to halve each set of answers; null where they are too many."""
    sets, size = answers.shape
    ways = comb(size, size // 2)
    if sets * ways * size > TABLE_CELLS:
        return None
    first = np.array(list(combinations(range(size), size // 2)), dtype=np.int64)
    rest = np.array([np.setdiff1d(np.arange(size), chosen) for chosen in first])
    return _score(answers[:, first], aggregate), _score(answers[:, rest], aggregate)


def _drawn(
    same: Same, halves: tuple[Any, Any] | None, aggregate: Average, rows: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """The half-scores of each unit under a random split, one row per iteration."""
    if halves is not None:
        ways = halves[0].shape[1]
        drawn = rng.integers(0, ways, (rows, len(same.row)), dtype=np.int32)
        drawn += (same.row * ways).astype(np.int32)
        return halves[0].ravel()[drawn], halves[1].ravel()[drawn]
    half = same.answers.shape[1] // 2
    answers = same.answers[same.row]
    first, second = np.empty((2, rows, len(answers)))
    for i in range(rows):
        shuffled = rng.permuted(answers, axis=1)
        first[i], second[i] = _score(shuffled[:, :half], aggregate), _score(shuffled[:, half:], aggregate)
    return first, second


def _score(answers: Floats, aggregate: Average) -> Floats:
    return np.asarray(np.median(answers, axis=-1) if aggregate == "median" else np.mean(answers, axis=-1))


def _by_rater(
    ratings: Ratings, aggregate: Average, correlation: Correlation, splits: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The correlation under each split of the raters, and the mean product of the halves' shares of the answers."""
    negligible = rounding_error(ratings.value)
    sizes = np.bincount(ratings.unit, minlength=ratings.units)
    correlations, products = [], []
    step = max(1, BLOCK_CELLS // ratings.units)
    for begin in range(0, splits, step):
        rows = min(step, splits - begin)
        chosen = np.array([rng.permutation(ratings.coders) < ratings.coders // 2 for _ in range(rows)])
        for first, second, who in zip(*_rater_halves(ratings, chosen, aggregate), chosen, strict=True):
            both = np.isfinite(first) & np.isfinite(second)
            a, b = first[None, both], second[None, both]
            if correlation == "spearman":
                a, b = _ranks(a), _ranks(b)
            correlations.append(pearson_rows(a, b, (negligible, negligible))[0] if both.sum() > 2 else np.nan)
            taken = np.bincount(ratings.unit, weights=who[ratings.coder], minlength=ratings.units)[both] / sizes[both]
            products.append(float(np.mean(taken * (1 - taken))) if both.any() else 0.25)
    return np.array(correlations), np.array(products)


def _rater_halves(ratings: Ratings, chosen: Bools, aggregate: Average) -> tuple[Floats, Floats]:
    """Each unit's score over the chosen raters and over the others, one row per choice; NaN for no answer."""
    order = np.lexsort((ratings.value, ratings.unit))
    rater, value = ratings.coder[order], ratings.value[order]
    size = np.bincount(ratings.unit, minlength=ratings.units)
    begin = np.cumsum(size) - size
    scores = np.full((2, len(chosen), ratings.units), np.nan)
    for half, side in zip(scores, (chosen, ~chosen), strict=True):
        for out, who in zip(half, side, strict=True):
            taken = who[rater]
            count = np.add.reduceat(taken, begin, dtype=np.int64)
            some = count > 0
            if aggregate == "mean":
                out[some] = np.add.reduceat(value * taken, begin)[some] / count[some]
                continue
            # What is taken keeps its order: the answers of one unit stay together, rising.
            rising = value[taken]
            start, count = (np.cumsum(count) - count)[some], count[some]
            out[some] = (rising[start + (count - 1) // 2] + rising[start + count // 2]) / 2
    return scores[0], scores[1]


def _ranks(scores: Any, points: Floats | None = None) -> Floats:
    """Mid-ranks within each row; `scores` are positions in `points` where those are known."""
    ranks = np.empty(scores.shape)
    for row, out in zip(scores, ranks, strict=True):
        codes = row if points is not None else np.unique(row, return_inverse=True)[1].reshape(-1)
        count = np.bincount(codes)
        out[:] = np.cumsum(count)[codes] - (count[codes] - 1) / 2
    return ranks
