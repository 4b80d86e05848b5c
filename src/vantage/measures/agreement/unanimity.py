"""Items on which everyone gives the same answer, or an answer from the same coarse band."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.base import measure, table
from vantage.measures.counts import Counts, coarse_columns
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions, wilson
from vantage.measures.presentation import Column, View
from vantage.measures.rater_bootstrap import Answers, Resamples, counted_answers, either_interval
from vantage.measures.ratings import ALONE, By, Floats, Judgments
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
    out raters in turn, since copies of a rater would be of one mind.

    >>> votes = [[1, 2, -3, -3], [2, 2, -1, 3], [3, 2, -2, 1]]
    >>> unanimity(votes, coarse="sign", ci="none").select("on", "unanimous", "estimate").rows()
    [('any', 3, 0.75), ('negative', 1, 0.25), ('zero', 0, 0.0), ('positive', 2, 0.5)]
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    rows: list[dict[str, Any]] = []
    for part, given, how in counted_answers(data, by, bootstrap, paired=True):
        if not part.counts.units:
            rows.append({**part.row, "on": ANY, "unanimous": 0, "share": None, "reason": ALONE})
            continue
        group, names = coarsened(part, coarse)
        counts = group.counts.canonical()
        if coarse is False and part.scale is not None:
            names = [part.scale.label(value) for value in counts.values.tolist()]
        answers = given
        if given is not None and coarse is not False:
            _, coarser = coarse_columns(given.values, coarse, part.scale, part.questions)
            answers = given.merged(coarser, np.arange(len(names), dtype=np.float64))
        # A row of counts is unanimous on column c when all its answers lie there.
        kind, column, number = counts.cells()
        full = number == counts.size[kind]
        answer = np.full(len(counts.size), -1)
        answer[kind[full]] = column[full]
        everyone = int(counts.multiplicity[answer >= 0].sum())
        for wanted, name in enumerate([ANY, *names], start=-1):
            alike = answer >= 0 if wanted < 0 else answer == wanted
            unanimous = int(counts.multiplicity[alike].sum())
            value = None if wanted < 0 else float(counts.values[wanted])
            rows.append(
                {
                    **part.row,
                    "on": name,
                    "unanimous": unanimous,
                    "share": unanimous / everyone if everyone else None,
                    "estimate": unanimous / counts.units,
                    **_interval(how, alike, counts, answers, value),
                }
            )
    return table(rows, by)


def _interval(
    bootstrap: Bootstrap, alike: NDArray[np.bool_], counts: Counts, answers: Answers | None, value: float | None
) -> dict[str, Any]:
    """Wilson's interval, or that of resampled items and raters left out; none for a single item."""
    unanimous = int(counts.multiplicity[alike].sum())
    if bootstrap.ci == "items" and bootstrap.interval == "percentile" and counts.units > 1:
        return bootstrap.stated(wilson(unanimous, counts.units, bootstrap.confidence))
    formula = partial(_share_over_raters, value)
    statistic = partial(_share, alike)
    row = either_interval(bootstrap, counts, statistic, answers, formula, limits=(0.0, 1.0), share=True)
    few = counts.size @ counts.multiplicity < FEW_ANSWERS * counts.units
    return row | ({"reason": TOO_LONG} if few and row.get("over") in ("raters", "both") else {})


def _share(alike: NDArray[np.bool_], weight: Floats) -> Floats:
    return np.asarray(weight @ alike / weight.sum(axis=1))


def _share_over_raters(value: float | None, resamples: Resamples) -> Floats:
    """The share of the units with two answers whose answers are all the same, or all this one value."""
    answers = resamples.answers
    full = (resamples.cells == resamples.size[answers.cell_unit]) & (resamples.cells > 0)
    if value is not None:
        full &= (answers.values == value)[answers.cell_column, None]
    paired = (resamples.pairs > 0).astype(np.float64)
    return resamples.mean(resamples.per_unit(full.astype(np.float64)) * paired, paired)
