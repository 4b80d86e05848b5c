"""Agreement on opting out: whether raters decline the same items, whatever the others answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.agreement.chance_corrected import ac1, fleiss, randolph
from vantage.measures.agreement.pairwise import pairwise
from vantage.measures.agreement.rater_pairs import cohen
from vantage.measures.base import measure, table
from vantage.measures.intervals import IntervalOptions
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Judgments, by_columns, judgments_query, scales_of
from vantage.scales import STATUSES

VIEW: Final = View(
    "Agreement on opting out",
    symbol="κ",
    columns={"estimate": Column("κ", digits=2)},
    method="Agreement on opting out was measured with an opt-out and an answer as two categories.",
)


@measure("opt-outs", family="agreement", view=VIEW)
def opt_outs(
    data: Judgments,
    *,
    by: By = (),
    status: str | Sequence[str] = "not_mentioned",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Agreement on opting out: an opt-out against any value, as a question with two answers.

    Five rows per group, told apart by `coefficient`: percent agreement, Randolph's, Fleiss' and Cohen's kappa
    and Gwet's AC1. `status` names the opt-out, or several that count as one; judgments with another status
    than these and without a value are left out and counted. Intervals over items, raters or both.

    >>> rows = {"item": [1, 1, 2, 2, 3, 3], "rater": [*"ababab"], "value": [2, 5, None, None, None, 1],
    ...         "status": ["answered"] * 2 + ["not_mentioned"] * 3 + ["answered"]}
    >>> opt_outs(rows, ci="none").select("coefficient", pl.col("estimate").round(3)).rows()
    [('agreement', 0.667), ('randolph', 0.333), ('fleiss', 0.333), ('cohen', 0.4), ('ac1', 0.333)]
    """
    wanted = [status] if isinstance(status, str) else list(status)
    columns = by_columns(by)
    named = [opt_out.status for scale in scales_of(data).values() for opt_out in scale.opt_outs]
    known = list(dict.fromkeys([*STATUSES[1:], *named]))
    for name in wanted:
        if name not in known:
            raise InputError(f"'{name}' is not a way to opt out", remedy=nearest(name, known))
    value = pl.col("value")
    opted_out = (
        pl.when(value.is_not_null())
        .then(0.0)
        .when(pl.col("status").cast(pl.String).is_in(wanted))
        .then(1.0)
        .otherwise(None)
    )
    query = judgments_query(data, columns).with_columns(opted_out.alias("value"))
    binary = query if isinstance(data, pl.LazyFrame) else query.collect()
    results = {
        "agreement": pairwise(binary, by=columns, **resampling),
        "randolph": randolph(binary, by=columns, categories=(0, 1), **resampling),
        "fleiss": fleiss(binary, by=columns, **resampling),
        "cohen": cohen(binary, by=columns, **resampling),
        "ac1": ac1(binary, by=columns, categories=(0, 1), **resampling),
    }
    by_group: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for name, result in results.items():
        for row in result.drop("measure", "options", "pairs", "pairs_undefined", strict=False).to_dicts():
            key = tuple(row[column] for column in columns)
            by_group.setdefault(key, []).append({**row, "coefficient": name})
    return table([row for group in by_group.values() for row in group], columns)
