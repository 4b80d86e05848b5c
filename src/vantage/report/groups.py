"""Who judges differently: the one analysis of groups, as the sections of reports show it."""

from __future__ import annotations

from typing import Final

import polars as pl

from vantage.errors import InputError
from vantage.measures.relations.groups import OTHERS
from vantage.measures.relations.groups import groups as analysed
from vantage.report.engine import Analysis

NOT_TRAITS: Final = ("model", "style", "served")
"""Columns that only models have."""


def traits(analysis: Analysis) -> pl.DataFrame | None:
    """Every group of people by every trait and question: described, and compared where there are people enough.

    `tested` is the difference that sentences are about: of two groups one, of an ordered trait its trend, of a number
    its slope.
    """
    people = analysis.people
    known = [name for name in people.traits if name not in NOT_TRAITS and people.raters[name].count()]
    if not known or people.raters["rater"].n_unique() < 2:
        return None
    try:
        frame = analysed(people, by="question", traits=known, kinds="all")
    except InputError:
        return None
    if "trait" not in frame.columns:
        return None  # no question has a trait whose groups can be described
    frame = frame.with_columns(
        (pl.col(name) if name in frame.columns else pl.lit(None, kind)).alias(name)
        for name, kind in {"option": pl.String, "low": pl.Float64, "high": pl.Float64, "df": pl.Float64}.items()
    )
    option = pl.format("“{}”", "option")
    # Of more than two options each has a row, which its question alone does not name.
    several = pl.col("option").n_unique().over("question") > 1
    # One of two groups says everything that the other one says.
    mirrored = (pl.col("row") == "group") & (pl.col("versus") != OTHERS) & (pl.col("group") > pl.col("versus"))
    asked = pl.col("row").is_in(["group", "trend", "slope"]) & pl.col("p").is_not_null() & ~mirrored
    verbs = {
        name: pl.when(pl.col("option").is_null())
        .then(pl.lit(f"give {size} answers"))
        .otherwise(pl.format("choose {} {} often", option, pl.lit(often)))
        for name, size, often in (("more", "higher", "more"), ("less", "lower", "less"))
    }
    return frame.with_columns(
        pl.col("trait").str.replace_all("_", " "),
        pl.when(asked).then("estimate").alias("tested"),
        *(_named(name) for name in ("higher", "lower")),
        pl.when(pl.col("row") != "missing").then("group").otherwise(pl.lit("not known")).alias("group"),
        about=pl.when(several).then(pl.format("{}: {}", "question", "option")).otherwise("question"),
        **verbs,
    )


def _named(column: str) -> pl.Expr:
    """Who a sentence speaks of: raters of a group by its name; what a trend compares has words of its own."""
    of_group = (pl.col("row") == "group") & (pl.col(column) != OTHERS)
    return pl.when(of_group).then(pl.format("raters with “{}”", pl.col(column))).otherwise(pl.col(column)).alias(column)
