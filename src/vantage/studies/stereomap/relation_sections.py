"""The sections on what goes with a group's place: feelings, behaviour, status, competition, other dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from vantage.measures.composites import expected_values, extremes, item_means
from vantage.report.parts import Column, Figure, Section, Table
from vantage.studies.stereomap.comparing import (
    BEHAVIOURS,
    EMOTIONS,
    STRUCTURE,
    by_cluster,
    correlations,
    group_means,
)
from vantage.studies.stereomap.placing import ALL

if TYPE_CHECKING:
    from vantage.studies.stereomap.sections import Analysis

OTHERS: Final = ("traditional", "conservative", "wealthy", "high-status")


def relation_section(analysis: Analysis) -> Section | None:
    """Feelings and behaviour: by cluster, and in relation to competence and warmth."""
    known = {name for source in analysis.sources for name in source.scores["question"].unique().to_list()}
    told = [name for name in (*EMOTIONS, *BEHAVIOURS) if name in known]
    found = correlations(analysis.sources, seed=analysis.seed) if analysis.sources else pl.DataFrame()
    if found.is_empty():
        return None
    parts: list[Table | Figure] = []
    if told:
        clustered = by_cluster(analysis.sources, told, seed=analysis.seed)
        if not clustered.is_empty():
            rows = clustered.with_columns(analysis.beside("cluster").alias("of"))
            parts.append(
                Figure(
                    "feelings-by-cluster",
                    "Mean feelings and behaviour towards the groups of each cluster.",
                    "Heat map: clusters by emotions and behaviours.",
                    "heat",
                    rows,
                    {"row": "of", "column": "score", "label": "mean", "limits": [1, 5]},
                )
            )
            source = analysis.sources[-1]
            spread = group_means(source).filter(pl.col("question").is_in(told)).drop_nulls("mean")
            cluster = source.cluster_of()
            spread = spread.filter(pl.col("item").is_in([*cluster])).with_columns(
                pl.concat_str("question", pl.lit(" · "), pl.col("item").replace_strict(cluster)).alias("of")
            )
            parts += [
                Figure(
                    "feelings-spread",
                    f"How feelings and behaviour towards groups are spread within clusters ({source.name}).",
                    "One box per emotion or behaviour and cluster.",
                    "distribution",
                    spread.sort(pl.col("question").replace_strict({n: i for i, n in enumerate(told)}), "of"),
                    {"value": "mean", "category": "of", "label": "mean of a group"},
                ),
                Table(
                    "feelings",
                    "Feelings and behaviour by cluster: mean over groups with 95 % intervals, variance between groups.",
                    clustered,
                    {"estimate": Column("mean", 2), "variance": Column(digits=2)},
                    keys=("source", "cluster", "score"),
                ),
            ]
    starred = found.with_columns(
        pl.concat_str(
            pl.col("estimate").round(2), pl.when(pl.col("p_adjusted") < 0.05).then(pl.lit("*")).otherwise(pl.lit(""))
        ).alias("shown")
    )
    doubts = found.drop_nulls("why").select("first", "second", "why")
    parts += [
        Figure(
            "correlations",
            "Spearman correlations over groups; * p < .05 after Holm.",
            "Heat map of correlations between scores, by source.",
            "heat",
            starred.with_columns(analysis.beside("first").alias("of")),
            {"row": "of", "column": "second", "diverging": True, "limits": [-1, 1], "label": "rho", "text": "shown"},
        ),
        Table(
            "correlations",
            "Spearman correlations over groups with 95 % intervals, and those of people (Cuddy et al. 2007) beside.",
            found,
            {
                "estimate": Column("rho", 2),
                "p_adjusted": Column("p (Holm)", 3),
                "p": Column(digits=3),
                "human": Column("people, as printed", 2),
                "doubtful": "sign in doubt",
                "otherwise": Column("rather", 2),
                "difference": Column("model − people", 2, signed=True),
                "items": "groups",
            },
            shown=(
                *("source", "first", "second", "estimate", "p_adjusted", "items"),
                *("human", "doubtful", "otherwise", "difference", "reason"),
            ),
            keys=("source", "first", "second"),
            notes=tuple(dict.fromkeys(f"{one} × {two}: {why}" for one, two, why in doubts.iter_rows())),
        ),
    ]
    return Section("Feelings, behaviour, status and competition", [], parts)


def other_section(analysis: Analysis) -> Section | None:
    """The groups at the ends of the other dimensions."""
    frames = []
    asked = expected_values(analysis.ratings).filter(pl.col("condition") == "", pl.col("question").is_in(list(OTHERS)))
    for source in analysis.sources:
        mine = asked if source.name == ALL else asked.filter(pl.col("rater") == source.name)
        scores = source.scores.filter(pl.col("question").is_in(list(STRUCTURE)))
        plain = mine.with_columns(pl.col("status").cast(pl.String)).select(scores.columns)
        frames.append(
            pl.concat([plain, scores], how="vertical_relaxed").with_columns(pl.lit(source.name).alias("source"))
        )
    told = pl.concat(frames) if frames else pl.DataFrame()
    if told.is_empty() or told["value"].drop_nulls().is_empty():
        return None
    means = item_means(told, by=("source", "question"))
    ends = extremes(means, by=("source", "question"), count=analysis.listed)
    ends = ends.with_columns(pl.col("item").replace(analysis.labels).alias("group"))
    keys = ["source", "question", "place"]
    sides = [
        ends.filter(pl.col("end") == end).select(
            *keys, *(pl.col(name).alias(f"{end}_{name}") for name in ("group", "mean", "variance", "tied"))
        )
        for end in ("highest", "lowest")
    ]
    both = sides[0].join(sides[1], on=keys, how="full", coalesce=True, maintain_order="left_right")
    columns: dict[str, Column | str] = {"question": "dimension"}
    for end in ("highest", "lowest"):
        columns |= {f"{end}_group": end, f"{end}_mean": Column("mean", 2), f"{end}_variance": Column("variance", 2)}
        columns[f"{end}_tied"] = "tied"
    table = Table(
        "extremes",
        f"The {analysis.listed} highest and lowest groups on each further dimension, with the variance of runs.",
        both,
        columns,
        keys=keys,
        notes=("Tied: how many further groups have the mean of the last one listed.",),
    )
    return Section("Other dimensions", [], [table])
