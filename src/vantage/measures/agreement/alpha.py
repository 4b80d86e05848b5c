"""Krippendorff's alpha: one minus observed over expected disagreement, for any number of raters and gaps.

Krippendorff (2018, chapter 12) defines α = 1 − Dₒ/Dₑ on the table of coincidences of values within units. No
such table is built here. At interval level the disagreement of a unit with *n* answers is
(n·Σx² − (Σx)²)/(n − 1), and the ordinal difference of two values is the difference of their mid-ranks among
all pairable answers, so ordinal alpha is interval alpha of mid-ranks; at nominal level n² − Σnᵥ² takes the
place of the sums of squares. Time and memory therefore grow with the number of answers only, whatever the
number of raters or of points on the scale. Only ratio and custom distances look at pairs of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.codes import dense, encode
from vantage.measures.counts import FEW, Counts, Moments, quotient
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions, Statistic
from vantage.measures.parts import Part
from vantage.measures.powered.contributions import Contribution
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import agreement_view
from vantage.measures.ratings import ALONE, UNIT, By, Floats, Ints, Judgments, level_of
from vantage.measures.resampling import Choice, counted_groups, counts_interval, per_item
from vantage.measures.sources import CountedGroup, source_groups, source_of
from vantage.scales import Level, show_code

Distance: TypeAlias = Mapping[Any, float] | tuple[Sequence[float] | Floats, Any]
"""Distances of your own: `{(code, code): distance}`, or the codes and a square matrix in their order.

They take the place of δ², so what is to be squared must be squared already.
"""
ALIKE: Final = "all answers are the same, so no disagreement is to be expected"
DELTA_CELLS: Final = 2**21
"""How many differences between two values are held at a time."""


VIEW: Final = agreement_view(
    "Krippendorff's alpha",
    "α",
    "Agreement was measured by Krippendorff's alpha at {level} level (Krippendorff, 2018).",
    "krippendorff2018",
    column="alpha",
)


MANY_VALUES: Final = 32
"""With more values, coincidences of all pairs of them would take too much memory."""


def _contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds to alpha: its coincidences of values, or its moments at interval level."""
    answered = part.answered
    questions = answered["question"].unique().sort().to_list() if options["distance"] is None else []
    level = level_of(part.scale(), options["level"], questions) if questions else None
    unit, units = dense(encode(answered, UNIT))
    values, column = np.unique(answered["value"].to_numpy(), return_inverse=True)
    table = np.bincount(unit * len(values) + column.ravel(), minlength=units * len(values)).reshape(units, -1)
    first = np.unique(unit, return_index=True)[1]
    paired = table.sum(axis=1) >= 2
    items, table = answered["item"].gather(first).filter(paired), table[paired].astype(np.float64)
    if not paired.any():
        return
    counts = Counts(values, table, np.ones(len(table), dtype=np.int64))
    statistic: Statistic
    if len(values) > MANY_VALUES and level == "ordinal":
        # Mid-ranks of all answers, held constant: interval alpha of them is ordinal alpha.
        marginal = table.sum(axis=0)
        level, counts = "interval", Counts(np.cumsum(marginal) - marginal / 2, table, counts.multiplicity)
    if level == "interval":
        columns, statistic = _moment_columns(counts.moments()), _alpha_of_moments
    elif len(values) > MANY_VALUES:
        raise InputError(
            f"alpha of {len(values)} different values cannot be powered by a model at this level",
            remedy="use level interval or ordinal",
        )
    else:
        pairs = table[:, :, None] * (table[:, None, :] - np.eye(len(values)))
        columns = (pairs / (table.sum(axis=1) - 1)[:, None, None]).reshape(len(table), -1)
        statistic = _alpha_of_coincidences(_difference(level, options["distance"], values), len(values))
    yield Contribution(items.unique().sort(), per_item(items, columns), statistic, limits=(-np.inf, 1.0))


def _alpha_of_coincidences(apart: Difference, values: int) -> Statistic:
    """Alpha as a function of the coincidences of values, one row of them per estimate."""

    def statistic(sums: Floats) -> Floats:
        coincidences = sums.reshape(len(sums), values, values)
        marginal = coincidences.sum(axis=2)
        if apart.name == "ordinal":
            rank = np.cumsum(marginal, axis=1) - marginal / 2
            squared = np.square(rank[:, :, None] - rank[:, None, :])
        else:
            columns = np.arange(values)
            between = 1 - np.eye(values) if apart.between is None else apart.between(columns[:, None], columns[None, :])
            squared = np.broadcast_to(between, coincidences.shape)
        expected = np.einsum("bc,bd,bcd->b", marginal, marginal, squared)
        return _one_minus((marginal.sum(axis=1) - 1) * np.einsum("bcd,bcd->b", coincidences, squared), expected)

    return statistic


@measure("alpha", family="agreement", view=VIEW, powered=Powered(_contributions))
def alpha(
    data: Judgments,
    *,
    by: By = (),
    level: Level | None = None,
    distance: Distance | None = None,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Krippendorff's alpha at nominal, ordinal, interval or ratio level, or for a distance of your own.

    The example is the reliability data of Krippendorff (2011): four coders, twelve units, gaps.

    >>> n = float("nan")
    >>> coders = [[1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
    ...           [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n]]
    >>> [round(alpha(coders, level=level, ci="none")["estimate"][0], 3) for level in ("nominal", "ordinal")]
    [0.743, 0.815]

    Args:
        data: A corpus, a frame, columns or an array (see `vantage.measures.ratings.Judgments`). A lazy frame
            is streamed: without an interval only sums per item are held, never the rows.
        by: Columns of judgments, items or raters; one row per group.
        level: Level of measurement; by default that of the question's scale.
        distance: Squared differences of your own, instead of a level.
        ci: What the interval is over: items, which are resampled; raters, who are left out in turn; both (see
            `vantage.measures.rater_variance`); or none. "auto" is both where at least ten raters judged several items
            each, otherwise items; `over` says which.
        interval: "percentile", or "bca" for items.
        resamples: How many resamples to draw.
        confidence: Coverage of the interval.
        seed: Seed of the resampling. The interval does not depend on the order of the rows.

    `powered_by` names a rater that judged these and further items, such as a model: see docs/powered.md.

    Returns:
        One row per group. Items with one answer cannot disagree and are left out as `unpaired`. The estimate
        is null when no item has two answers or when all pairable answers are the same.
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    if level is not None and distance is not None:
        raise InputError("a level and a distance were given", remedy="give one of them")
    source = source_of(data, by)
    chosen = Choice.of(data, by, bootstrap)
    many = len(source.values) > FEW and not chosen.any_raters
    if many and (level == "interval" or (level == "ordinal" and bootstrap.ci == "none")):
        moments = source.moments(ordinal=level == "ordinal", kinds=bootstrap.ci != "none")
        grouped = source_groups(source, moments, paired=True)
        rows = [_row(group, chosen[group.key], level, distance) for group in grouped]
    else:
        counted = counted_groups(data, by, bootstrap, paired=True, source=source)
        rows = [_row(group, how, level, distance) for group, how in counted]
    return table(rows, by)


def coefficient(counts: Counts, apart: Difference) -> Statistic:
    """Alpha as a function of weights on the kinds of units, all of which have two answers or more."""
    n = counts.size
    if apart.name == "interval":
        return coefficient_of_moments(counts.moments())
    if apart.name == "ordinal":
        return _ordinal(counts)
    if apart.between is None:
        within = (n**2 - counts.mapped(np.square)) / (n - 1)
    else:
        within = np.zeros(len(n))
        for kind, first, second, product in counts.pairs():
            within += np.bincount(kind, weights=2 * product * apart.between(first, second), minlength=len(n))
        within /= n - 1

    def statistic(weight: Floats) -> Floats:
        marginal = np.asarray(weight @ counts.table)
        # A product with one vector is bound by memory, and the threads of a matrix product only get in its way.
        observed = np.einsum("bk,k->b", weight, within)
        return _one_minus((marginal.sum(axis=1) - 1) * observed, _expected(marginal, apart))

    return statistic


def coefficient_of_moments(moments: Moments) -> Statistic:
    """Interval alpha as a function of weights on the kinds of units."""
    columns = _moment_columns(moments)
    return lambda weight: _alpha_of_moments(weight @ columns)


def _moment_columns(moments: Moments) -> Floats:
    """Number of answers, disagreement within the unit, sum and sum of squares, for each kind of unit."""
    n = moments.size
    within = (n * moments.second - moments.squared) / (n - 1)
    return np.column_stack([n, within, moments.first, moments.second])


def _alpha_of_moments(sums: Floats) -> Floats:
    total, observed, first, second = sums.T
    expected = total * second - first**2
    # Rounding may leave a trace of spread where a resample drew one value only.
    expected[expected < 1e-12 * total * second] = 0
    return _one_minus((total - 1) * observed, expected)


def _ordinal(counts: Counts) -> Statistic:
    """Interval alpha of mid-ranks, which every resample has of its own."""
    n, table = counts.size, counts.table
    # Rows scaled by n/(n − 1) turn the sum of n·Σx²/(n − 1) over units into a sum over values; where all
    # units have the same size that is one factor for all, and a product is saved.
    scaled = None if np.ptp(n) == 0 else counts.scaled(n / (n - 1))

    def statistic(weight: Floats) -> Floats:
        drawn = np.ascontiguousarray(weight.T)
        marginal = np.asarray(table.T @ drawn)
        spread = marginal * (n[0] / (n[0] - 1)) if scaled is None else np.asarray(scaled.T @ drawn)
        total = marginal.sum(axis=0)
        rank = np.cumsum(marginal, axis=0) - marginal / 2 - total / 2
        sums = np.asarray(table @ rank)
        sums *= sums
        sums *= drawn
        within = np.einsum("cb,cb,cb->b", spread, rank, rank) - (1 / (n - 1)) @ sums
        first = np.einsum("cb,cb->b", marginal, rank)
        second = np.einsum("cb,cb,cb->b", marginal, rank, rank)
        return _one_minus((total - 1) * within, total * second - np.square(first))

    return statistic


def _expected(marginal: Floats, apart: Difference) -> Floats:
    """The differences between all answers, whatever their units, for every row of value counts."""
    if apart.between is None:
        everyone = marginal.sum(axis=1)
        return np.asarray(everyone * everyone - np.square(marginal).sum(axis=1), dtype=np.float64)
    columns = np.arange(marginal.shape[1])
    expected: Floats = np.zeros(len(marginal))
    for some in np.array_split(columns, 1 + len(columns) ** 2 // DELTA_CELLS):
        between = apart.between(some[:, None], columns[None, :])
        expected += np.einsum("bk,bk->b", marginal[:, some], marginal @ between.T)
    return expected


def _one_minus(observed: Floats, expected: Floats) -> Floats:
    return quotient(expected - observed, expected)


def _row(
    group: CountedGroup[Any], bootstrap: Bootstrap, level: Level | None, distance: Distance | None
) -> dict[str, Any]:
    """The row of a group, from its counts, or from its moments where there are many values."""
    counts = group.counts
    if not counts.units:
        return {**group.row, "level": level, "estimate": None, "reason": ALONE}
    used = None if distance is not None else group.level(level)
    name: str = str(used)
    of: Callable[[Any], Statistic] = coefficient_of_moments
    if isinstance(counts, Counts):
        apart = _difference(used, distance, counts.values)
        name, of = apart.name, partial(coefficient, apart=apart)
    estimate = float(of(counts)(counts.multiplicity[None, :].astype(np.float64))[0])
    row = {**group.row, "level": name, "estimate": estimate, "reason": None}
    if not np.isfinite(estimate):
        return {**row, "estimate": None, "reason": ALIKE}
    return row | counts_interval(bootstrap, group, of, limits=(-np.inf, 1.0))


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between values: by name where sums suffice, by `between` where pairs must be looked at."""

    name: str
    between: Callable[[Ints, Ints], Floats] | None = None
    """From the positions of values among all values to their squared difference."""


def difference(level: Level, values: Floats) -> Difference:
    """The difference that belongs to a level of measurement (Krippendorff 2018).

    Ratio: ((a − b)/(a + b))², for values that are not negative.
    """
    if level != "ratio":
        return Difference(level)
    if len(values) and values[0] < 0:
        raise InputError(
            f"the value {show_code(float(values[0]))} is negative, but a ratio scale starts at zero",
            remedy="use level interval",
        )

    def between(first: Ints, second: Ints) -> Floats:
        a, b = values[first], values[second]
        total = a + b
        quotient: Floats = np.divide(a - b, total, out=np.zeros_like(total), where=total > 0)
        return quotient**2

    return Difference(level, between)


def custom(distance: Distance, values: Floats) -> Difference:
    """A distance of the user's own, checked: square, symmetric, zero for equal codes, never negative.

    >>> far = custom({(0, 1): 1.0, (0, 2): 4.0, (1, 2): 1.0}, np.array([0.0, 2.0]))
    >>> far.between(np.array([0]), np.array([1]))
    array([4.])
    """
    codes, matrix = _matrix(distance)
    position = {code: index for index, code in enumerate(codes)}
    for value in values.tolist():
        if value not in position:
            raise InputError(
                f"the distance does not know the value {show_code(value)}",
                remedy=f"it knows {', '.join(map(show_code, codes))}",
            )
    chosen = np.array([position[value] for value in values.tolist()], dtype=np.int64)
    return Difference("custom", lambda first, second: matrix[chosen[first], chosen[second]])


def _matrix(distance: Distance) -> tuple[list[float], Floats]:
    if isinstance(distance, Mapping):
        codes = sorted({float(code) for pair in distance for code in pair})
        matrix = np.full((len(codes), len(codes)), np.nan)
        np.fill_diagonal(matrix, 0)
        for (first, second), apart in distance.items():
            i, j = codes.index(float(first)), codes.index(float(second))
            matrix[i, j] = apart
            if (second, first) not in distance:
                matrix[j, i] = apart
        if np.isnan(matrix).any():
            i, j = np.argwhere(np.isnan(matrix))[0]
            raise InputError(
                f"the distance between {show_code(codes[i])} and {show_code(codes[j])} is missing",
                remedy="give every pair of codes",
            )
    else:
        codes = [float(code) for code in distance[0]]
        matrix = np.asarray(distance[1], dtype=np.float64)
        if matrix.shape != (len(codes), len(codes)):
            raise InputError(
                f"{len(codes)} codes need a matrix of {len(codes)} × {len(codes)} distances",
                remedy=f"it has the shape {' × '.join(map(str, matrix.shape))}",
            )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InputError("a distance is negative or not a number", remedy="give finite distances from 0 up")
    if (np.diag(matrix) != 0).any() or not np.array_equal(matrix, matrix.T):
        raise InputError("the distances are not symmetric with zeros for equal codes", remedy="correct the matrix")
    return codes, matrix


def _difference(level: Level | None, distance: Distance | None, values: Floats) -> Difference:
    if distance is not None:
        return custom(distance, values)
    assert level is not None  # noqa: S101 - a level is known wherever no distance was given
    return difference(level, values)
