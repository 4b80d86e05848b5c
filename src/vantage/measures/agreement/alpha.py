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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.counts import FEW, Counts, Moments, quotient
from vantage.measures.intervals import OVER, Bootstrap, Limits, WeightedIntervalOptions
from vantage.measures.kernel import Statistic
from vantage.measures.parts import Part
from vantage.measures.powered.contributions import Contribution
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import agreement_view
from vantage.measures.ratings import ALONE, By, Floats, Ints, Judgments, level_of
from vantage.measures.statistic import contribution
from vantage.measures.tables import CountedGroup, counted_groups, source_for
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


def _contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds to alpha: the columns of its units."""
    answered = part.answered
    questions = answered["question"].unique().sort().to_list() if options["distance"] is None else []
    level = level_of(part.scale(), options["level"], questions) if questions else None
    yield from contribution(
        part, lambda counts: coefficient(counts, _difference(level, options["distance"], counts.values))
    )


@measure(
    "alpha", family="agreement", view=VIEW, powered=Powered(_contributions), interval=("raters", "sources", "weights")
)
def alpha(
    data: Judgments,
    *,
    by: By = (),
    level: Level | None = None,
    distance: Distance | None = None,
    **resampling: Unpack[WeightedIntervalOptions],
) -> pl.DataFrame:
    """Krippendorff's alpha at nominal, ordinal, interval or ratio level, or for a distance of your own.

    The example is the reliability data of Krippendorff (2011): four coders, twelve units, gaps.

    >>> n = float("nan")
    >>> coders = [[1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
    ...           [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n]]
    >>> [round(alpha(coders, level=level, ci="none")["estimate"][0], 3) for level in ("nominal", "ordinal")]
    [0.743, 0.815]

    `level` is by default that of the question's scale; `distance` are squared differences of your own. The interval is
    over items, raters or both, which are left out in turn; "auto" is both where at least four raters judged several
    items each. `weights` of raters give the agreement of two people drawn by them (docs/population.md); `powered_by`
    names a rater that judged these and further items, such as a model (docs/powered.md).

    Items with one answer cannot disagree and are left out as `unpaired`. The estimate is null when no item has two
    answers or when all pairable answers are the same. A lazy frame is streamed: its rows are never held.
    """
    how = Bootstrap(**resampling, over=OVER)
    if level is not None and distance is not None:
        raise InputError("a level and a distance were given", remedy="give one of them")
    source = source_for(data, by, how)
    many = len(source.values) > FEW and distance is None and how.weights is None
    by_moments = many and (level == "interval" or (level == "ordinal" and how.ci == "none"))
    moments = source.moments(ordinal=level == "ordinal", kinds=how.ci != "none") if by_moments else None
    counted = counted_groups(data, by, how, paired=True, source=source, moments=moments)
    return table([_row(group, chosen, level, distance) for group, chosen in counted], by)


def _row(group: CountedGroup[Any], how: Bootstrap, level: Level | None, distance: Distance | None) -> dict[str, Any]:
    """The row of a group, from its counts, or from its moments where there are many values."""
    counts = group.counts
    if not counts.units:
        return {**group.row, "level": level, "estimate": None, "reason": ALONE}
    used = None if distance is not None else group.level(level)
    if isinstance(counts, Moments):
        return {**group.row, "level": used, **group.estimated(OF_MOMENTS, how, ALIKE)}
    apart = _difference(used, distance, counts.values)
    return {**group.row, "level": apart.name, **group.estimated(coefficient(counts, apart), how, ALIKE)}


def coefficient(counts: Counts, apart: Difference) -> Statistic:
    """Alpha of units with two answers or more: what each of them adds, and the function of the sums."""
    if apart.name == "interval":
        return replace(OF_MOMENTS, rows=lambda table: _moment_columns(table.moments()))
    values = len(counts.values)
    if apart.name == "ordinal":
        marginal = counts.multiplicity @ counts.table
        rank = np.cumsum(marginal) - marginal / 2 - marginal.sum() / 2
        if values > FEW:
            # Mid-ranks of all answers, held constant: interval alpha of them is ordinal alpha.
            return replace(OF_MOMENTS, rows=lambda table: _moment_columns(replace(table, values=rank).moments(0.0)))
        return Statistic(_coincidences, partial(_alpha_of_coincidences, apart), ALPHA, 2)
    if values <= FEW:
        return Statistic(
            lambda table: np.column_stack([_within(table, apart), table.dense]),
            lambda sums: _one_minus((sums[:, 1:].sum(axis=1) - 1) * sums[:, 0], _expected(sums[:, 1:], apart)),
            ALPHA,
            2,
        )
    # Of many values, how far an answer is from all answers of the table is held constant: what is expected is a sum of
    # products of answers, and moves twice as far as the sums over one of the two.
    marginal = np.asarray(counts.multiplicity @ counts.table, dtype=np.float64)
    whole = float(_expected(marginal[None, :], apart)[0])
    far = _from_all(marginal, apart)
    return Statistic(
        lambda table: np.column_stack([_within(table, apart), table.size, table.table @ far]),
        lambda sums: _one_minus((sums[:, 1] - 1) * sums[:, 0], 2 * sums[:, 2] - whole),
        ALPHA,
        2,
    )


def _within(table: Counts, apart: Difference) -> Floats:
    """How far a unit's answers are from each other, per answer."""
    n = table.size
    if apart.between is None:
        return np.asarray((n**2 - table.mapped(np.square)) / (n - 1))
    within = np.zeros(len(n))
    for kind, first, second, product in table.pairs():
        within += np.bincount(kind, weights=2 * product * apart.between(first, second), minlength=len(within))
    return np.asarray(within / (n - 1))


def _coincidences(table: Counts) -> Floats:
    """How often each two values meet in a unit, per answer; each two of them once."""
    counts, n = table.dense, table.size
    first, second = np.triu_indices(len(table.values))
    pairs = counts[:, first] * (counts[:, second] - (first == second))
    return np.asarray(pairs / (n - 1)[:, None])


def _alpha_of_coincidences(apart: Difference, sums: Floats) -> Floats:
    """Ordinal alpha of coincidences, whose values have ranks of their own in every row."""
    values = int((np.sqrt(8 * sums.shape[1] + 1) - 1) / 2)
    first, second = np.triu_indices(values)
    marginal = np.zeros((len(sums), values))
    for column in range(values):
        marginal[:, column] = sums[:, (first == column) | (second == column)].sum(axis=1)
    rank = np.cumsum(marginal, axis=1) - marginal / 2
    total = marginal.sum(axis=1)
    rank -= total[:, None] / 2
    observed = 2 * np.einsum("bp,bp->b", sums, np.square(rank[:, first] - rank[:, second]))
    centre = np.einsum("bc,bc->b", marginal, rank)
    spread = np.einsum("bc,bc,bc->b", marginal, rank, rank)
    return _one_minus((total - 1) * observed, 2 * (total * spread - np.square(centre)))


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


ALPHA: Final[Limits] = (-np.inf, 1.0)
OF_MOMENTS: Final = Statistic(_moment_columns, _alpha_of_moments, ALPHA, 2)
"""Interval alpha of units whose moments are known."""


def _expected(marginal: Floats, apart: Difference) -> Floats:
    """The differences between all answers, whatever their units, for every row of value counts."""
    if apart.between is None:
        everyone = marginal.sum(axis=1)
        return np.asarray(everyone * everyone - np.square(marginal).sum(axis=1), dtype=np.float64)
    return np.asarray(np.einsum("bk,bk->b", marginal, _from_all(marginal.T, apart).T))


def _from_all(marginal: Floats, apart: Difference) -> Floats:
    """How far each value is from all answers together."""
    if apart.between is None:
        return np.asarray(marginal.sum() - marginal, dtype=np.float64)
    columns = np.arange(len(marginal))
    parts = np.array_split(columns, 1 + len(columns) ** 2 // DELTA_CELLS)
    return np.concatenate([apart.between(some[:, None], columns[None, :]) @ marginal for some in parts])


def _one_minus(observed: Floats, expected: Floats) -> Floats:
    return quotient(expected - observed, expected)


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
                f"the distance has no entry for the value {show_code(value)}",
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
