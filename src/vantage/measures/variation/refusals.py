"""Refusals and other answers that did not come, each kind for itself."""

from __future__ import annotations

from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, SHARES, Bootstrap, IntervalOptions, wilson
from vantage.measures.kernel import Statistic
from vantage.measures.parts import names, parts
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.ratings import OPTED_OUT, By, Judgments, recoded
from vantage.measures.tables import counted_groups

REPLY: Final = ("item", "rater", "condition", "sample")
REFUSED: Final = Statistic(
    lambda table: np.column_stack([table.table @ table.values, table.size]),
    lambda sums: sums[:, 0] / sums[:, 1],
    SHARES,
)
"""The share of all replies, of which a unit may have many."""


VIEW: Final = View(
    "Refusals among the questions that were answered or declined",
    columns={"estimate": Column("refused", percent=True), "unparsed_share": Column("could not be read", percent=True)},
    show=("estimate", "unparsed_share", "answered", "refused", "unparsed", "failed"),
    says=(Extremes(most="{rows} refused most often", least="{rows} refused least often"),),
)


@measure("refusals", "variation", view=VIEW, pools=False, pools_questions=True, interval=("raters", "sources"))
def refusals(data: Judgments, *, by: By = ("rater", "item"), **resampling: Unpack[IntervalOptions]) -> pl.DataFrame:
    """How often raters refuse to judge, apart from replies that could not be read and calls that failed.

    `estimate` is the share of refused judgments among those that got a reply; failed calls say nothing about the
    rater and are only counted. `unparsed_share` is the share of replies that no rule could read. Of several items the
    interval is over items, raters or both (`ci`). Of one item it is Wilson's (1927) over other replies of the same
    rater (`runs`) or over other raters; it counts replies, not judgments: what is asked in one reply is refused in one.

    >>> rows = {"item": ["a"] * 4, "rater": ["m"] * 4, "sample": [0, 1, 2, 3], "value": [3, None, None, None],
    ...         "status": ["answered", "refused", "unparsed", "failed"]}
    >>> refusals(rows).select("refused", "unparsed", "failed", "estimate", "unparsed_share", "over").rows()
    [(1, 1, 1, 0.33..., 0.33..., 'runs')]
    """
    status = pl.col("status").cast(pl.String)
    replied = recoded(data, by, pl.when(status != "failed").then((status == "refused").cast(pl.Float64)))
    rows: list[dict[str, Any]] = []
    counted = counted_groups(replied, by, Bootstrap(**resampling, over=OVER))
    for part, (group, how) in zip(parts(data, by, extra=REPLY), counted, strict=True):
        seen = part.frame["status"].cast(pl.String)
        count = {name: int((seen == name).sum()) for name in ("answered", "refused", "unparsed", "failed")}
        received = group.counts.total
        row: dict[str, Any] = {
            **part.key,
            **count,
            "opted_out": len(part.frame.filter(OPTED_OUT)),
            "unparsed_share": count["unparsed"] / received if received else None,
            "items": part.frame["item"].n_unique(),
            "raters": part.frame["rater"].n_unique(),
            "judgments": received,
            "left_out": {"failed": count["failed"]} if count["failed"] else {},
        }
        if not received:
            rows.append({**row, "reason": "no reply was received"})
            continue
        row["replies"] = len(part.frame.filter(seen != "failed").select(REPLY).unique())
        if group.items > 1 or how.ci == "none":
            rows.append({**row, **group.estimated(REFUSED, how)})
            continue
        share = count["refused"] / received
        # Replies of one rater depend on each other, so that several raters count as what they are.
        n = row["replies"] if group.raters == 1 else group.raters
        low, high = wilson(share * n, n, how.confidence)
        over = "runs" if group.raters == 1 else "raters"
        rows.append({**row, "estimate": share, "low": low, "high": high, "over": over})
    return table(rows, names(by))
