"""Comparisons of groups: the values of one column in the analysis of groups, with a correction for many tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.multiplicity import Correction, adjusted
from vantage.measures.parts import names, parts
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, ItemSources, Judgments, RaterGroups, judgments_frame
from vantage.measures.relations.groups import COUNTED, Over, analysed, trait_scales

VIEW: Final = View(
    "Groups compared",
    columns={
        "estimate": Column("difference", digits=2, signed=True, interval=("low", "high")),
        "p": Column(digits=3),
        "p_adjusted": Column("p (corrected)", digits=3),
    },
    show=("first", "second", "estimate", "units", "p", "p_adjusted", "reason"),
    says=(
        Against(
            0.0,
            above="{first} give higher answers than {second}[ about {rows}]",
            below="{first} give lower answers than {second}[ about {rows}]",
            within="{first} and {second} cannot be told apart[ about {rows}]",
            value="difference",
            p="p",
        ),
    ),
    method="Groups were compared in a linear mixed model (correction: {correction}).",
    sources=("holm1979",),
)


@measure("compare", "relations", view=VIEW)
def compare(
    data: Judgments,
    *,
    by: By = (),
    between: str,
    values: Sequence[object] | None = None,
    correction: Correction = "holm",
    ci: Over = "auto",
    sources: ItemSources | str | None = None,
    confidence: float = 0.95,
    groups: RaterGroups | None = None,
) -> pl.DataFrame:
    """Do groups judge differently? The values of a column compared, in a model that fits the design of the answers.

    `between` is a trait of raters, a condition, a property of items or `rater`. Two values are compared with each
    other, each of several with all others, an ordered column by its trend and a number by its slope; `values` names
    those to compare. It is the analysis of `groups`, a linear mixed model. `estimate` is the difference in points;
    `over` says what interval and p generalise to. Groups of fewer than five raters are described and not tested, groups
    of raters that share no item are not compared. `p_adjusted` corrects over all rows of the result.

    >>> answers = {"item": [1, 2, 3, 4] * 2, "rater": ["a"] * 8, "value": [1, 2, 3, 4, 3, 3, 4, 5],
    ...            "condition": ["plain"] * 4 + ["context"] * 4}
    >>> compare(answers, between="condition").select("first", pl.col("difference", "p").round(4)).rows()
    [('context', 1.25, 0.0154)]
    """
    if between == "item":
        raise InputError("items cannot be compared with each other", remedy="name another column")
    present = judgments_frame(data, [between])[between].drop_nulls().unique().sort().to_list()
    levels = present if values is None else list(values)
    for value in levels:
        if value not in present:
            known = [str(v) for v in present]
            raise InputError(f"column '{between}' has no value '{value}'", remedy=nearest(str(value), known))
    if len(levels) < 2:
        raise InputError(f"column '{between}' has only one value", remedy="compare another column")
    scale, rows = trait_scales(data).get(between), []
    how: dict[str, Any] = {"sources": sources, "groups": groups, "over": ci, "confidence": confidence}
    for part in parts(data, by, extra=[between]):
        made = analysed(part, between, scale, values=values, **how)
        rows += [{**part.key, **row} for row in _shown(list(made))]
    for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
        row["p_adjusted"] = p
    numbers = ("statistic", "p", "p_adjusted")
    return table(rows, names(by)).with_columns(pl.col(name).cast(pl.Float64) for name in numbers if rows)


def _shown(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the analysis of groups as comparisons: two groups are one, unknown values are counted."""
    unknown = sum(row["judgments"] for row in made if row["row"] == "missing")
    kept = [row for row in made if row["row"] != "missing"]
    if [row["row"] for row in kept] == ["group", "group"]:
        first, second = kept
        apart = ("judgments", COUNTED.get(first["unit"]))
        both = {name: (first[name], second[name]) for name in ("items", "raters", "judgments")}
        kept = [first | {name: sum(n) if name in apart else max(n) for name, n in both.items()}]
    out = []
    for row in kept:
        left_out = {**row["left_out"], **({"no_value": unknown} if unknown else {})}
        first, second = row["higher"] if row["versus"] is None else row["group"], row["versus"] or row["lower"]
        means = {"first_mean": row.get("mean"), "second_mean": row.get("versus_mean")}
        result = {"difference": row.get("estimate"), "test": "mixed", "effect": "points"}
        own = ("row", "group", "versus", "higher", "lower", "mean", "versus_mean", "p_trait")
        rest = {name: value for name, value in row.items() if name not in own}
        units = row[COUNTED.get(row["unit"], "items")]
        named = {"first": first, "second": second, **means, **result, "statistic": None}
        out.append({**named, **rest, "left_out": left_out, "units": units})
    return out
