"""Do models keep their order from statements alone to statements in context, and how sure is that?"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.context.controls import CONTEXT, STATIC
from vantage.measures.accuracy import accuracy
from vantage.measures.ranks import ranks
from vantage.studies.context.model_scores import ALL, NEEDED, REST

AVERAGE: Final = "people, average"
BEST: Final = "people, best"
BETWEEN: Final = "static and context"
_SCORE: Final = "f1_macro"
_WRONG: Final[dict[str, Any]] = {"missing": "wrong", "opt_outs": "wrong"}
_FEWEST: Final = 10
"""Items that a person must have judged in a condition to be the best one there."""


def parts_of(items: Collection[str], flagged: Collection[str]) -> dict[str, list[str]]:
    """The items as a whole and, where some are flagged, those that need context and the rest."""
    parts = {ALL: list(items)}
    if flagged:
        parts[NEEDED] = [item for item in items if item in flagged]
        parts[REST] = [item for item in items if item not in flagged]
    return parts


def people_rows(judged: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """People as two systems: all of them pooled, and in each condition the one with the highest F1.

    The best of many is best by luck as well, and need not be the same person in both conditions.

    Args:
        judged: The judgments of single persons, under `static` and `context`.
        labels: The original labels: `item` and `value`.
    """
    pooled = judged.with_columns(pl.lit(AVERAGE).alias("system"))
    if judged.is_empty():
        return pooled
    found = accuracy(
        judged, by=["rater", "condition"], reference=labels, metric=_SCORE, ci="none", missing="wrong", opt_outs="wrong"
    )
    enough = found.filter(pl.col("items") >= _FEWEST).drop_nulls("estimate")
    best = enough.sort("estimate", "rater", descending=[True, False]).unique("condition", keep="first")
    theirs = judged.join(best.select("rater", "condition"), on=["rater", "condition"], how="semi")
    return pl.concat([pooled, theirs.with_columns(pl.lit(BEST).alias("system"))])


def correlations(
    judged: pl.DataFrame, labels: pl.DataFrame, flagged: Collection[str], *, resamples: int, seed: int
) -> list[dict[str, Any]]:
    """Rank correlations of systems between the two conditions, on all items and on parts of them.

    A further row says how two runs under the same condition correlate, without which a low figure says little.

    Args:
        judged: Judgments with the column `system`, under `static` and `context`.
        labels: The original labels: `item` and `value`.
        flagged: The items that need context.
        resamples: How often items are resampled.
        seed: The seed of the resampling.
    """
    rows = []
    for part, kept in parts_of(judged["item"].unique(maintain_order=True).to_list(), flagged).items():
        some = judged.filter(pl.col("item").is_in(kept))
        if set(some["condition"]) >= {STATIC, CONTEXT}:
            found = _ranked(some, labels, "condition", [STATIC, CONTEXT], resamples=resamples, seed=seed)
            rows.append({"part": part, "between": BETWEEN, **found.row(0, named=True)})
    for condition in (STATIC, CONTEXT):
        runs = judged.filter(pl.col("condition") == condition, pl.col("runs") > 1)
        pairs = list(combinations(runs["sample"].unique().sort().to_list(), 2))
        told = [
            _ranked(runs, labels, "sample", list(pair), ci="none").row(0, named=True)
            for pair in pairs
            if runs["system"].n_unique() > 1
        ]
        known = [row["estimate"] for row in told if row["estimate"] is not None]
        if told:
            middle = {"estimate": float(np.mean(known)) if known else None, "systems": told[0].get("systems")}
            counted = {"items": told[0]["items"], "judgments": len(runs)}
            rows.append({"part": ALL, "between": f"two runs, {condition}", **middle, **counted})
    return rows


def placed(judged: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The rank of every system in each condition, for a chart: `system`, `condition`, `rank` and `score`."""
    found = _ranked(judged, labels, "condition", [STATIC, CONTEXT], per="system", ci="none")
    if "first_rank" not in found.columns:
        return pl.DataFrame(
            schema={"system": pl.String, "condition": pl.String, "rank": pl.Float64, "score": pl.Float64}
        )
    sides = [
        found.select("system", pl.lit(name).alias("condition"), rank=f"{side}_rank", score=f"{side}_score")
        for side, name in (("first", STATIC), ("second", CONTEXT))
    ]
    return pl.concat(sides)


def swaps(judged: pl.DataFrame, labels: pl.DataFrame, *, resamples: int, seed: int) -> pl.DataFrame:
    """For every pair of systems: the share of resamples in which context turns their order round."""
    return _ranked(judged, labels, "condition", [STATIC, CONTEXT], per="pair", resamples=resamples, seed=seed)


def _ranked(
    judged: pl.DataFrame, labels: pl.DataFrame, between: str, values: list[Any], **options: Any
) -> pl.DataFrame:
    columns = ["item", "question", "rater", "system", "condition", "sample", "value", "status"]
    return ranks(
        judged.select(columns),
        between=between,
        values=values,
        system="system",
        reference=labels.select("item", "value"),
        score=_SCORE,
        **_WRONG,
        **options,
    )
