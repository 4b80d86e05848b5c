"""Refusals and other answers that did not come, each kind for itself."""

from __future__ import annotations

from typing import Any, Final, Unpack

import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, SHARES, SourceOptions, wilson
from vantage.measures.parts import names, parts
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import several_items, without_raters
from vantage.measures.ratings import OPTED_OUT, By, Judgments
from vantage.measures.resampling import Resampling, UnitValues, mean_with_interval

REPLY: Final = ("item", "rater", "condition", "sample")


VIEW: Final = View(
    "Refusals among the questions that were answered or declined",
    columns={"estimate": Column("refused", percent=True), "unparsed_share": Column("could not be read", percent=True)},
    show=("estimate", "unparsed_share", "answered", "refused", "unparsed", "failed"),
    says=(Extremes(most="{rows} refused most often", least="{rows} refused least often"),),
)


@measure("refusals", "variation", view=VIEW, pools=False, pools_questions=True)
def refusals(data: Judgments, *, by: By = ("rater", "item"), **resampling: Unpack[SourceOptions]) -> pl.DataFrame:
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
    bootstrap = Resampling(**resampling, over=OVER)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=REPLY):
        status = part.frame["status"].cast(pl.String)
        count = {name: int((status == name).sum()) for name in ("answered", "refused", "unparsed", "failed")}
        opted_out = len(part.frame.filter(OPTED_OUT))
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
        row["replies"] = len(replied.select(REPLY).unique())
        rows.append({**row, **_share(replied, row["replies"], bootstrap.chosen(several_items(replied)))})
    return table(rows, names(by))


def _share(replied: pl.DataFrame, replies: int, how: Resampling) -> dict[str, Any]:
    """The share of refusals with its interval."""
    item, refused = _refused(replied)
    if replied["item"].n_unique() > 1 or how.ci == "none":
        without = (_refused(rest) for rest in without_raters(replied, how.seed))
        return mean_with_interval(item, refused, how, SHARES, without=lambda: without)
    share, raters = float(refused.mean()), replied["rater"].n_unique()
    # Replies of one rater depend on each other, so that several raters count as what they are.
    n = replies if raters == 1 else raters
    low, high = wilson(share * n, n, how.confidence)
    return {"estimate": share, "low": low, "high": high, "over": "runs" if raters == 1 else "raters"}


def _refused(replied: pl.DataFrame) -> UnitValues:
    return replied["item"], (replied["status"].cast(pl.String) == "refused").cast(pl.Float64).to_numpy()
