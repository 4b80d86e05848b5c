"""Items on which everyone gives the same answer, or an answer from the same coarse band."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.base import measure, table
from vantage.measures.counts import Counts, quotient
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions, Statistic, wilson
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import ALONE, By, Judgments
from vantage.measures.resampling import counted_groups, counts_interval
from vantage.measures.sources import CountedGroup
from vantage.measures.sources import coarse as coarsened

ANY: Final = "any"
"""What stands in the column `on` of the row that counts all unanimous items."""


VIEW: Final = View(
    "Items whose raters all agree",
    columns={"estimate": Column("unanimous", percent=True), "share": Column("of these", percent=True)},
    show=("on", "unanimous", "estimate", "items"),
    method="An item is unanimous when all of its raters gave the same answer.",
)


FEW_ANSWERS: Final = 10
"""With fewer answers an item, one rater less changes much."""
TOO_LONG: Final = "fewer raters are unanimous more easily, and leaving raters out may make the interval too long"


@measure("unanimity", family="agreement", view=VIEW)
def unanimity(
    data: Judgments, *, by: By = (), coarse: bool | Literal["sign"] = False, **resampling: Unpack[IntervalOptions]
) -> pl.DataFrame:
    """Unanimity: the share of items whose raters all agree, and what they agree on.

    Strict unanimity asks for the same answer; soft unanimity for answers from the same coarse band of the
    scale (`coarse=True`) or of the same sign (`coarse="sign"`). The first row of a group, with `on` = "any",
    counts all unanimous items; the others say on which answer. `unanimous` is their number, the estimate
    their share of the items with two answers or more, `share` their share of the unanimous items. Items with
    a single answer are left out as `unpaired`. Wilson's interval (1927) over items; over raters or both from leaving
    out raters in turn.

    >>> votes = [[1, 2, -3, -3], [2, 2, -1, 3], [3, 2, -2, 1]]
    >>> unanimity(votes, coarse="sign", ci="none").select("on", "unanimous", "estimate").rows()
    [('any', 3, 0.75), ('negative', 1, 0.25), ('zero', 0, 0.0), ('positive', 2, 0.5)]
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    rows: list[dict[str, Any]] = []
    for part, how in counted_groups(data, by, bootstrap, paired=True):
        if not part.counts.units:
            rows.append({**part.row, "on": ANY, "unanimous": 0, "share": None, "reason": ALONE})
            continue
        group, names = coarsened(part, coarse)
        counts = group.counts
        if coarse is False and part.scale is not None:
            names = [part.scale.label(value) for value in counts.values.tolist()]
        everyone = int(counts.multiplicity[_alike(counts, -1)].sum())
        for wanted, name in enumerate([ANY, *names], start=-1):
            unanimous = int(counts.multiplicity[_alike(counts, wanted)].sum())
            rows.append(
                {
                    **part.row,
                    "on": name,
                    "unanimous": unanimous,
                    "share": unanimous / everyone if everyone else None,
                    "estimate": unanimous / counts.units,
                    **_interval(how, group, wanted, unanimous),
                }
            )
    return table(rows, by)


def _interval(bootstrap: Bootstrap, group: CountedGroup[Counts], wanted: int, unanimous: int) -> dict[str, Any]:
    """Wilson's interval, or that of resampled items and raters left out; none for a single item."""
    counts = group.counts
    if bootstrap.ci == "items" and bootstrap.interval == "percentile" and counts.units > 1:
        return bootstrap.stated(wilson(unanimous, counts.units, bootstrap.confidence))
    row = counts_interval(bootstrap, group, partial(_share, wanted=wanted), limits=(0.0, 1.0))
    few = counts.size @ counts.multiplicity < FEW_ANSWERS * counts.units
    return row | ({"reason": TOO_LONG} if few and row.get("over") in ("raters", "both") else {})


def _share(counts: Counts, wanted: int) -> Statistic:
    alike = _alike(counts, wanted)
    return lambda weight: quotient(weight @ alike, weight.sum(axis=1))


def _alike(counts: Counts, wanted: int) -> NDArray[np.bool_]:
    """Which kinds of units have all their answers in one column: any where none is wanted (−1)."""
    kind, column, number = counts.cells()
    full = (number == counts.size[kind]) & ((column == wanted) | (wanted < 0))
    return np.bincount(kind[full], minlength=len(counts.size)) > 0
