"""How alike the reasons of two experts are, beside chance, and the draft's figures for it."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.measures.rationale.agreement import rationale_agreement
from vantage.measures.rationale.pairs import SAME_ITEM, SAME_QUESTION, Writer
from vantage.report.parts import Finding
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis

OTHER: Final = "the other annotator"


def experts_alike(analysis: Analysis, options: dict[str, Any]) -> pl.DataFrame:
    """The annotators' pairs with baselines by the other hand, by either hand, and by either hand with the leak."""
    told = []
    baselines: tuple[tuple[str, Writer, bool], ...] = (
        (OTHER, "other", False),
        ("either annotator", "any", False),
        ("either, reference included", "any", True),
    )
    for name, writer, leak in baselines:
        found = rationale_agreement(
            analysis.double, direction="ordered", draws=analysis.draws, writer=writer, with_itself=leak, **options
        )
        if leak:
            found = found.filter(pl.col("pairs") == SAME_ITEM)
        elif name != OTHER:
            found = found.filter(pl.col("pairs") != "actual")
        told.append(found.with_columns(pl.lit(name).alias("candidates_by")))
    return pl.concat(told, how="diagonal_relaxed")


def above_chance(experts: pl.DataFrame) -> list[Finding]:
    """Whether two experts' reasons are more alike than chance makes them."""
    rows = experts.filter((pl.col("candidates_by") == OTHER) & (pl.col("metric") == "rouge-l"))
    told = dict(rows.select("pairs", "estimate").iter_rows())
    if told.get("actual") is None:
        return []
    return [
        Finding(
            "Two experts' reasons share more words (ROUGE-L {actual:.3f}) than one expert's reasons for the same "
            "question about "
            "another post ({question:.3f}) or for another question about the same post ({item:.3f}); the draft reads "
            "the opposite "
            "from baselines that mix both hands.",
            {"actual": told["actual"], "question": told.get(SAME_QUESTION), "item": told.get(SAME_ITEM)},
        )
    ]


def published_likeness(experts: pl.DataFrame) -> list[Published]:
    """Table 4 of the draft; baselines are draws, so theirs can match only within their sampling."""
    printed = {
        "actual": (OTHER, ("0.161", "0.085", "0.046", "0.336", "0.120", "0.262")),
        SAME_QUESTION: ("either annotator", ("0.174", "0.108", "0.076", "0.336", "0.142", "0.279")),
        SAME_ITEM: ("either, reference included", ("0.152", "0.087", "0.059", "0.305", "0.118", "0.247")),
    }
    how = {
        "actual": "first row of a post as reference; BLEU-3 with weights 0.33",
        SAME_QUESTION: "candidates by either annotator, draws with our seed; tolerance 0.006 for the draws",
        SAME_ITEM: "fits only if the reference itself may be drawn; tolerance 0.006 for the draws",
    }
    rows = []
    for kind, (by, values) in printed.items():
        told = experts.filter((pl.col("pairs") == kind) & (pl.col("candidates_by") == by))
        ours = dict(told.select("metric", "estimate").iter_rows())
        for metric, value in zip(("bleu-2", "bleu-3", "bleu-4", "rouge-1", "rouge-2", "rouge-l"), values, strict=True):
            if metric in ours:
                within = None if kind == "actual" else 0.006
                name = {"actual": "experts"}.get(kind, f"baseline, {kind}")
                rows.append(
                    Published(f"{metric}: {name}", "Tables 2 and 4", value, ours[metric], how[kind], tolerance=within)
                )
    for name, value in (
        ("experts", "0.379"),
        (f"baseline, {SAME_QUESTION}", "0.364"),
        (f"baseline, {SAME_ITEM}", "0.337"),
    ):
        why = "the draft names neither encoder nor baseline of its BERTScore"
        rows.append(Published(f"bertscore: {name}", "Table 2", value, None, why))
    return rows
