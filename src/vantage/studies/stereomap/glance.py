"""The first tables of the report: one row per model with what an auditor asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from vantage.measures.refusals import refusals
from vantage.report.cells import minus
from vantage.report.parts import Column, Section, Table
from vantage.studies.stereomap.placing import Source, group_table, stability_table

if TYPE_CHECKING:
    from vantage.studies.stereomap.sections import Analysis

NAMED = 3
"""So many groups stand for an end of the map."""


def glance_section(analysis: Analysis) -> Section | None:
    """Which groups where, how sure, how it compares with people, and what is refused: one row per model."""
    asked = analysis.ratings.filter(pl.col("condition") == "")
    if asked.is_empty():
        return None
    refused = {row["rater"]: row for row in refusals(asked, by="rater").iter_rows(named=True)}
    stable = {row["source"]: row for row in stability_table(analysis.sources).iter_rows(named=True)}
    people = {row["source"]: row for row in analysis.people.iter_rows(named=True)}
    rows = [
        {
            "source": source.name,
            **_ends(source, analysis.labels),
            **_sure(stable.get(source.name, {})),
            **_people(people.get(source.name, {}), analysis.recovered, source.name),
            "refused": refused.get(source.name, {}).get("estimate"),
            "unread": refused.get(source.name, {}).get("unparsed_share"),
        }
        for source in analysis.sources
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    places = Table(
        "glance-places",
        f"Which groups stand where: the {NAMED} whose competence is furthest above their warmth, and the other way "
        "round.",
        frame.select("source", "groups", "competent", "warm"),
        {"groups": "groups on the map", "competent": "competence above warmth", "warm": "warmth above competence"},
        keys=("source",),
    )
    checks = Table(
        "glance",
        "How sure that is, how it compares with people, and what is refused.",
        frame.drop("groups", "competent", "warm"),
        {
            "stability": Column("clusters found again", 2, interval=("stability_low", "stability_high")),
            "held": Column("groups that stay", percent=True, digits=0),
            "people": Column("agreement with people", 2),
            "chance": Column("by chance below", 2),
            "mixed": "people's mixed clusters seen",
            "refused": Column("refused", percent=True, digits=1),
            "unread": Column("could not be read", percent=True, digits=1),
        },
        keys=("source",),
        notes=(
            "Clusters found again, and agreement with people: adjusted Rand index, 0 chance and 1 identical; 95 of 100 "
            "random orders stay below the value by chance.",
        ),
    )
    return Section("At a glance", [], [places, checks])


def _ends(source: Source, labels: dict[str, str]) -> dict[str, Any]:
    told = group_table([source], labels)
    if told.is_empty():
        return {"groups": 0, "competent": None, "warm": None}
    apart = told.with_columns((pl.col("competence") - pl.col("warmth")).alias("apart")).sort("apart", "item")
    above = apart.filter(pl.col("apart") > 0).reverse().head(NAMED)
    below = apart.filter(pl.col("apart") < 0).head(NAMED)
    return {"groups": len(told), "competent": _listed(above), "warm": _listed(below)}


def _listed(groups: pl.DataFrame) -> str | None:
    told = [f"{row['group']} ({minus(format(row['apart'], '+.1f'))})" for row in groups.iter_rows(named=True)]
    return ", ".join(told) or None


def _sure(row: dict[str, Any]) -> dict[str, Any]:
    names = {"stability": "estimate", "stability_low": "low", "stability_high": "high", "held": "held"}
    return {name: row.get(column) for name, column in names.items()}


def _people(row: dict[str, Any], recovered: pl.DataFrame, source: str) -> dict[str, Any]:
    mixed = recovered.filter(pl.col("source") == source, pl.col("mixed")) if len(recovered) else recovered
    mixed = mixed.drop_nulls("recovered") if len(mixed) else mixed
    seen = f"{int(mixed['recovered'].sum())} of {len(mixed)}" if len(mixed) else None
    return {"people": row.get("estimate"), "chance": row.get("chance_high"), "mixed": seen}
