"""Agreement that needs no model of chance: agreeing pairs of raters, how far apart raters are, and unanimous items."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.base import measure, table
from vantage.measures.counts import Counts
from vantage.measures.intervals import (
    OVER,
    SHARES,
    Bootstrap,
    IntervalOptions,
    WeightedIntervalOptions,
    speaks_of_raters,
)
from vantage.measures.kernel import Statistic
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.ratings import ALONE, By, Floats, Judgments
from vantage.measures.statistic import statistic
from vantage.measures.tables import coarse as coarsened
from vantage.measures.tables import counted_groups

PAIRWISE_VIEW: Final = View(
    "Share of pairs of raters who give the same answer",
    columns={"estimate": Column("pairs who agree", percent=True)},
    chart="points",
    says=(Extremes(most="Pairs of raters agree most often about {rows}", least="They agree least often about {rows}"),),
    method="Raw agreement is the share of pairs of raters who give the same answer.",
)


@statistic("pairwise", "agreement", PAIRWISE_VIEW, limits=SHARES, least=2, coarsens=True, powered=True)
def pairwise(units: Counts, *, over: Literal["items", "pairs"] = "items") -> Floats:
    """Average pairwise agreement: how often two raters of the same item give the same answer.

    With two raters this is percent agreement. Items with a single answer are left out as `unpaired`.

    >>> votes = [[1, 2, -3, -3], [2, 2, -1, 3], [3, 2, -2, 1]]
    >>> round(pairwise(votes, ci="none")["estimate"][0], 4)
    0.25
    >>> round(pairwise(votes, coarse="sign", ci="none")["estimate"][0], 4)
    0.8333

    `coarse` compares the answers as they are (false), their coarse bands on the question's scale (true), or their signs
    ("sign"). `over="items"` averages the agreement of the items, each counting once; "pairs" pools all pairs, so that
    an item with more answers counts more. Intervals are those of `alpha`.

    `powered_by` names a rater that judged these and further items, such as a model: see docs/powered.md.
    """
    n = units.size
    return _average((units.mapped(np.square) - n) / 2, n * (n - 1) / 2, over)


DIFFERENCE_VIEW: Final = View(
    "How far apart the raters of an item are, in points of the scale",
    columns={"estimate": Column("points", digits=2)},
    show=("statistic", "estimate", "items"),
)


@measure("difference", family="agreement", view=DIFFERENCE_VIEW, interval=("raters", "sources", "weights"))
def difference(
    data: Judgments,
    *,
    by: By = (),
    sd: Literal["sample", "population"] = "sample",
    over: Literal["items", "pairs"] = "items",
    **resampling: Unpack[WeightedIntervalOptions],
) -> pl.DataFrame:
    """How far apart the raters of an item are: mean absolute difference and standard deviation.

    Two rows per group, told apart by `statistic`. The absolute difference is averaged over the pairs of
    raters of an item and then over items, or over all pairs at once. The standard deviation is that of an
    item's answers (divided by n − 1, or by n for "population"), averaged over items. Items with a single
    answer are left out as `unpaired`. The interval is over items, raters or both.

    >>> votes = [[1, 2, 3], [3, 2, 5]]
    >>> difference(votes, ci="none").select("statistic", "estimate").rows()
    [('mean absolute difference', 1.333...), ('standard deviation', 0.942...)]
    """
    rows: list[dict[str, Any]] = []
    statistics = {
        "mean absolute difference": Statistic(partial(_apart, over=over), limits=(0.0, np.inf), least=2),
        "standard deviation": Statistic(partial(_deviation, sd=sd), limits=(0.0, np.inf), least=2),
    }
    for part, how in counted_groups(data, by, Bootstrap(**resampling, over=OVER), paired=True):
        if part.counts.units and part.scale is not None:
            part.level("interval")  # refuses differences of a nominal scale
        for name, of_units in statistics.items():
            rows.append({**part.row, "statistic": name, **part.estimated(of_units, how)})
    return table(rows, by)


def _average(amount: Floats, pairs: Floats, over: str) -> Floats:
    """An amount per pair: on average over units, or over all pairs at once."""
    return np.column_stack([amount, pairs]) if over == "pairs" else np.asarray(amount / pairs)


def _apart(counts: Counts, over: str) -> Floats:
    """The absolute difference of pairs of answers."""
    apart = np.zeros(len(counts.size))
    for kind, first, second, product in counts.pairs():
        lengths = product * np.abs(counts.values[first] - counts.values[second])
        apart += np.bincount(kind, weights=lengths, minlength=len(apart))
    return _average(apart, counts.size * (counts.size - 1) / 2, over)


def _deviation(counts: Counts, sd: str) -> Floats:
    """The standard deviation of a unit's answers."""
    moments = counts.moments()
    n = moments.size
    around = np.maximum(moments.second - moments.squared / n, 0)
    return np.sqrt(around / (n - 1 if sd == "sample" else n))


ANY: Final = "any"
"""The value of `on` in the row that counts all unanimous items."""


UNANIMITY_VIEW: Final = View(
    "Items whose raters all agree",
    columns={"estimate": Column("unanimous", percent=True), "share": Column("of these", percent=True)},
    show=("on", "unanimous", "estimate", "items"),
    method="An item is unanimous when all of its raters gave the same answer.",
)


FEW_ANSWERS: Final = 10
"""With fewer answers an item, one rater less changes much."""
TOO_LONG: Final = "fewer raters are unanimous more easily, and leaving raters out may make the interval too long"


@measure("unanimity", family="agreement", view=UNANIMITY_VIEW, interval=("raters", "sources"))
def unanimity(
    data: Judgments, *, by: By = (), coarse: bool | Literal["sign"] = False, **resampling: Unpack[IntervalOptions]
) -> pl.DataFrame:
    """Unanimity: the share of items whose raters all agree, and what they agree on.

    Strict unanimity asks for the same answer; soft unanimity for answers from the same coarse band of the
    scale (`coarse=True`) or of the same sign (`coarse="sign"`). The first row of a group, with `on` = "any",
    counts all unanimous items; the others say on which answer. `unanimous` is their number, the estimate
    their share of the items with two answers or more, `share` their share of the unanimous items. Items with
    a single answer are left out as `unpaired`. The interval is over items, raters or both.

    >>> votes = [[1, 2, -3, -3], [2, 2, -1, 3], [3, 2, -2, 1]]
    >>> unanimity(votes, coarse="sign", ci="none").select("on", "unanimous", "estimate").rows()
    [('any', 3, 0.75), ('negative', 1, 0.25), ('zero', 0, 0.0), ('positive', 2, 0.5)]
    """
    rows: list[dict[str, Any]] = []
    for part, how in counted_groups(data, by, Bootstrap(**resampling, over=OVER), paired=True):
        if not part.counts.units:
            rows.append({**part.row, "on": ANY, "unanimous": 0, "share": None, "reason": ALONE})
            continue
        group, names = coarsened(part, coarse)
        counts = group.counts
        if coarse is False and part.scale is not None:
            names = [part.scale.label(value) for value in counts.values.tolist()]
        everyone = int(counts.multiplicity[_alike(counts, -1)].sum())
        few = counts.size @ counts.multiplicity < FEW_ANSWERS * counts.units
        for wanted, name in enumerate([ANY, *names], start=-1):
            unanimous = int(counts.multiplicity[_alike(counts, wanted)].sum())
            row = {**part.row, "on": name, "unanimous": unanimous, "share": unanimous / everyone if everyone else None}
            row |= group.estimated(Statistic(partial(_alike, wanted=wanted), limits=SHARES, least=2), how)
            unsure = few and speaks_of_raters(row.get("over"))
            rows.append(row | ({"reason": TOO_LONG} if unsure else {}))
    return table(rows, by)


def _alike(counts: Counts, wanted: int) -> NDArray[np.bool_]:
    """Which kinds of units have all their answers in one column: any where none is wanted (−1)."""
    kind, column, number = counts.cells()
    full = (number == counts.size[kind]) & ((column == wanted) | (wanted < 0))
    return np.bincount(kind[full], minlength=len(counts.size)) > 0
