"""Items on which everyone gives the same answer, or an answer from the same coarse band."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.base import measure, table
from vantage.measures.counts import Counts
from vantage.measures.intervals import Bootstrap, Method, wilson
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Floats, Judgments
from vantage.measures.resampling import Resampled
from vantage.measures.sources import coarse as coarsened
from vantage.measures.sources import counted

ALONE: Final = "no item has answers from two raters"
ANY: Final = "any"
"""What stands in the column `on` of the row that counts all unanimous items."""


VIEW: Final = View(
    "Items whose raters all agree",
    columns={"estimate": Column("unanimous", percent=True), "share": Column("of these", percent=True)},
    show=("on", "unanimous", "estimate", "items"),
    method="An item is unanimous when all of its raters gave the same answer.",
)


@measure("unanimity", family="agreement", view=VIEW)
def unanimity(
    data: Judgments,
    *,
    by: By = (),
    coarse: bool | Literal["sign"] = False,
    ci: Resampled = "auto",
    interval: Method = "percentile",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Unanimity: the share of items whose raters all agree, and what they agree on.

    Strict unanimity asks for the same answer; soft unanimity for answers from the same coarse band of the
    scale (`coarse=True`) or of the same sign (`coarse="sign"`). The first row of a group, with `on` = "any",
    counts all unanimous items; the others say on which answer. `unanimous` is their number, the estimate
    their share of the items with two answers or more, `share` their share of the unanimous items. Items with
    a single answer are left out as `unpaired`. Wilson's interval (1927) over items, and over nothing else: a
    resample of raters leaves out about a third of them and puts copies of others in their place, and the
    copies of one rater are always of one mind, so that its unanimity is that of fewer raters.

    >>> votes = [[1, 2, -3, -3], [2, 2, -1, 3], [3, 2, -2, 1]]
    >>> unanimity(votes, coarse="sign", ci="none").select("on", "unanimous", "estimate").rows()
    [('any', 3, 0.75), ('negative', 1, 0.25), ('zero', 0, 0.0), ('positive', 2, 0.5)]
    """
    bootstrap = Bootstrap(ci, interval, resamples, confidence, seed)
    rows: list[dict[str, Any]] = []
    for found in counted(data, by, paired=True):
        if not found.counts.units:
            rows.append({**found.row, "on": ANY, "unanimous": 0, "share": None, "reason": ALONE})
            continue
        group, names = coarsened(found, coarse)
        counts = group.counts.canonical()
        if coarse is False and found.scale is not None:
            names = [found.scale.label(value) for value in counts.values.tolist()]
        # A row of counts is unanimous on column c when all its answers lie there.
        kind, column, number = counts.cells()
        full = number == counts.size[kind]
        answer = np.full(len(counts.size), -1)
        answer[kind[full]] = column[full]
        everyone = int(counts.multiplicity[answer >= 0].sum())
        for wanted, name in enumerate([ANY, *names], start=-1):
            alike = answer >= 0 if wanted < 0 else answer == wanted
            unanimous = int(counts.multiplicity[alike].sum())
            rows.append(
                {
                    **found.row,
                    "on": name,
                    "unanimous": unanimous,
                    "share": unanimous / everyone if everyone else None,
                    "estimate": unanimous / counts.units,
                    **_interval(bootstrap, alike, counts),
                }
            )
    return table(rows, by)


def _interval(bootstrap: Bootstrap, alike: NDArray[np.bool_], counts: Counts) -> dict[str, Any]:
    """Wilson's interval, or that of the BCa bootstrap; none for a single item."""
    if bootstrap.ci == "items" and bootstrap.method == "percentile" and counts.units > 1:
        unanimous = int(counts.multiplicity[alike].sum())
        return bootstrap.stated(wilson(unanimous, counts.units, bootstrap.confidence))
    return bootstrap.stated(bootstrap.interval(partial(_share, alike), counts.multiplicity))


def _share(alike: NDArray[np.bool_], weight: Floats) -> Floats:
    return np.asarray(weight @ alike / weight.sum(axis=1))
