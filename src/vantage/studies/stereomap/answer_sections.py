"""The sections on answers: what was refused, and how far answers depend on run and prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vantage.measures.composites import composites, expected_values
from vantage.measures.diversity import text_diversity
from vantage.measures.refusals import refusals
from vantage.measures.sensitivity import condition_agreement, run_spread
from vantage.report.parts import Column, Figure, Section, Table
from vantage.studies.stereomap.placing import AXES

if TYPE_CHECKING:
    from vantage.studies.stereomap.sections import Analysis

PLAIN = "as asked"
"""What the condition without a name is called in tables."""


def refusal_section(analysis: Analysis) -> Section | None:
    """What is refused, group by group, apart from what could not be read."""
    lists = analysis.corpus.judgments.filter(pl.col("question").str.ends_with("-keywords"))
    asked = pl.concat([analysis.ratings, lists], how="diagonal_relaxed").filter(pl.col("condition") == "")
    if asked.is_empty():
        return None
    columns: dict[str, Column | str] = {
        "estimate": Column("refused", percent=True, digits=1),
        "unparsed_share": Column("could not be read", percent=True, digits=1),
        "judgments": "judgments with a reply",
    }
    models = refusals(asked, by="rater")
    groups = refusals(asked, by=["rater", "item"]).with_columns(pl.col("item").replace(analysis.labels).alias("group"))
    ordered = groups.sort(["estimate", "rater", "item"], descending=[True, False, False], nulls_last=True)
    parts: list[Table | Figure] = [
        Table("refusals", "Refusals by model, with 95 % intervals over replies.", models, columns, keys=("rater",)),
        Table(
            "refusals-by-group",
            "Refusals by model and group, the most refused first; 95 % intervals over replies.",
            ordered,
            columns,
            shown=("rater", "group", "estimate", "unparsed_share", "answered", "refused", "unparsed", "failed"),
            keys=("rater", "item"),
        ),
    ]
    worst = ordered.filter(pl.col("refused") > 0).head(20)
    if not worst.is_empty():
        drawn = Figure(
            "refusals",
            "The groups about which questions are refused most, with 95 % intervals over replies.",
            "One line per group: the share of refused judgments.",
            "points",
            worst.with_columns(analysis.beside("group", "rater").alias("of")),
            {"category": "of", "label": "share refused", "limits": [0, 1]},
        )
        parts.insert(1, drawn)
    note = "A refusal is a reply that declines to judge. Unreadable replies and calls that failed stand apart."
    return Section("What is refused", [note], parts)


def sensitivity_section(analysis: Analysis) -> Section | None:
    """How far scores and reasons depend on the run and on the wording of the prompt."""
    from vantage.studies.stereomap.word_sections import reasons

    scores = composites(expected_values(analysis.ratings), analysis.instrument)
    scores = scores.filter(pl.col("question").is_in(list(AXES)))
    conditions = scores["condition"].unique().to_list()
    runs = scores.group_by("rater", "condition").agg(pl.col("sample").n_unique())["sample"].to_list()
    parts: list[Table | Figure] = []
    # Variants have fewer runs; compared are equally many of each.
    equal = min(runs, default=0)
    if equal > 1:
        spread = run_spread(scores, runs=equal, seed=analysis.seed).with_columns(
            _named("condition"), pl.col("item").cast(pl.String).replace(analysis.labels)
        )
        parts.append(
            Table(
                "run-spread",
                f"How far {equal} runs differ: coefficient of variation per group; mean and 95 % interval over groups.",
                spread,
                {
                    "estimate": Column("mean CV", 3),
                    "largest": Column("largest CV", 3),
                    "item": "where",
                    "deviation": Column("mean standard deviation", 3),
                },
                shown=(
                    "rater",
                    "condition",
                    "question",
                    "estimate",
                    "largest",
                    "item",
                    "deviation",
                    "runs",
                    "items",
                    "reason",
                ),
                keys=("rater", "condition", "question"),
                notes=(
                    "On a scale from 1 to 5 the coefficient depends on where zero is; compare it within one scale.",
                ),
            )
        )
    if len(conditions) > 1 and "" in conditions:
        parts.append(
            Table(
                "variants",
                "Agreement of each variant with the prompt as asked: Spearman's rho of the groups' means.",
                condition_agreement(scores, seed=analysis.seed),
                {
                    "estimate": Column("rho", 2),
                    "difference": Column("mean difference", 2, signed=True),
                    "absolute": Column("mean size of it", 2),
                    "cv": Column("CV between the two", 3),
                },
                keys=("rater", "condition", "question"),
            )
        )
        rates = refusals(analysis.ratings, by=["rater", "condition"]).with_columns(_named("condition"))
        parts.append(
            Table(
                "variant-refusals",
                "Refusals under each variant.",
                rates,
                {
                    "estimate": Column("refused", percent=True, digits=1),
                    "unparsed_share": Column("unread", percent=True),
                },
                keys=("rater", "condition"),
            )
        )
    texts = reasons(analysis, None)
    if not texts.is_empty():
        varied = text_diversity(texts, by=["rater", "condition"], size=_sample(texts), seed=analysis.seed)
        three = {
            name: Column(name.replace("_", "-"), digits=3, interval=(f"{name}_low", f"{name}_high"))
            for name in ("self_bleu", "entropy_2", "entropy_3")
        }
        parts.append(
            Table(
                "text-diversity",
                "How varied the reasons are, at equal sample size: Self-BLEU (lower is more varied) and entropy of "
                "2- and 3-grams in bits (higher is more varied).",
                varied.with_columns(_named("condition")),
                three,
                shown=("rater", "condition", "of", "texts", *three, "reason"),
                keys=("rater", "condition"),
                notes=("Ranges hold 95 % of random samples of that size.",),
            )
        )
    return Section("Sensitivity to run and prompt", [], parts) if parts else None


def _named(column: str) -> pl.Expr:
    return pl.when(pl.col(column) == "").then(pl.lit(PLAIN)).otherwise(pl.col(column)).alias(column)


def _sample(texts: pl.DataFrame) -> int:
    """As many texts as every group has, two hundred at most, since Self-BLEU compares each with all others."""
    smallest: list[int] = texts.group_by("rater", "condition").len()["len"].to_list()
    return min([200, *smallest])
