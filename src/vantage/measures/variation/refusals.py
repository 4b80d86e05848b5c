"""Refusals and other answers that did not come, each kind for itself."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.intervals import wilson
from vantage.measures.parts import names, parts
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.ratings import By, Judgments
from vantage.scales import OPT_OUTS

REPLY: Final = ("item", "rater", "condition", "sample")


VIEW: Final = View(
    "Refusals among the questions that were answered or declined",
    columns={"estimate": Column("refused", percent=True), "unparsed_share": Column("could not be read", percent=True)},
    show=("estimate", "unparsed_share", "answered", "refused", "unparsed", "failed"),
    says=(Extremes(most="{rows} refused most often", least="{rows} refused least often"),),
)

DEPENDENT: Final = (
    "the interval takes replies for independent; replies to the same item are not, so it may be too short"
)


@measure("refusals", "variation", view=VIEW, pools=False)
def refusals(data: Judgments, *, by: By = ("rater", "item"), confidence: float = 0.95) -> pl.DataFrame:
    """How often raters refuse to judge, apart from replies that could not be read and calls that failed.

    `estimate` is the share of refused judgments among those that got a reply; failed calls say nothing about the
    rater and are only counted. `unparsed_share` is the share of replies that no rule could read. Wilson's interval
    (1927) counts replies, not judgments: what is asked in one reply is refused in one.

    >>> rows = {"item": ["a"] * 4, "rater": ["m"] * 4, "sample": [0, 1, 2, 3], "value": [3, None, None, None],
    ...         "status": ["answered", "refused", "unparsed", "failed"]}
    >>> refusals(rows).select("refused", "unparsed", "failed", "estimate", "unparsed_share").rows()
    [(1, 1, 1, 0.33..., 0.33...)]
    """
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=REPLY):
        status = part.frame["status"].cast(pl.String)
        count = {name: int((status == name).sum()) for name in ("answered", "refused", "unparsed", "failed")}
        opted_out = int(status.is_in(list(OPT_OUTS)).sum())
        replied = part.frame.filter(status != "failed")
        received = len(replied)
        row: dict[str, Any] = {
            **part.key,
            **count,
            "opted_out": opted_out,
            "unparsed_share": count["unparsed"] / received if received else None,
            "items": part.frame["item"].n_unique(),
            "raters": part.frame["rater"].n_unique(),
            "judgments": received,
            "left_out": {"failed": count["failed"]} if count["failed"] else {},
        }
        if not received:
            rows.append({**row, "reason": "no reply was received"})
            continue
        share = count["refused"] / received
        replies = len(replied.select(REPLY).unique())
        low, high = wilson(share * replies, replies, confidence)
        row |= {"replies": replies, "estimate": share, "low": low, "high": high, "over": "items"}
        rows.append({**row, "reason": DEPENDENT if 1 < replied["item"].n_unique() < replies else None})
    return table(rows, names(by))
