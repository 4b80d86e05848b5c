"""People's evaluation of rationales, and whether any automatic measure agrees with it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.alpha import alpha
from vantage.measures.chance_corrected import fleiss, randolph
from vantage.measures.ratings import Floats
from vantage.measures.resampling import Resampling, mean_with_interval, per_item, ratio
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.automatic import automatic_findings, automatic_parts, relations

CRITERIA: Final = ("factuality", "relevance", "consistency", "usefulness")
MAIN: Final = ("gold", "chatgpt", "alpaca-7B", "flan-t5-xxl")
"""The four sources that both files have."""
NOTEBOOK: Final = {
    "gold": ("0.729", "0.877", "0.954", "0.722"),
    "chatgpt": ("0.839", "0.875", "0.931", "0.846"),
    "alpaca-7B": ("0.546", "0.817", "0.815", "0.508"),
    "flan-t5-xxl": ("0.404", "0.294", "0.238", "0.127"),
}
"""Means in the authors' released notebooks, by source and criterion; the draft prints none."""


def evaluation(analysis: Analysis) -> tuple[Section, list[Finding], list[Published]]:
    """The section on human evaluation, its findings, and the authors' figures beside ours."""
    title = "Which reasons convince people?"
    corpus = analysis.evaluation
    if corpus is None:
        return Section(title, ["The corpus has no judgments of rationales."]), [], []
    sources = corpus.items.select("item", "source", pl.col("reddit_id").alias("post"))
    judged = corpus.judgments.filter(pl.col("question").is_in(CRITERIA)).join(sources, on="item", how="left")
    # One scale for all criteria: relevance is asked from 1 to 5.
    value = pl.when(pl.col("question") == "relevance").then((pl.col("value") - 1) / 4).otherwise("value")
    judged = judged.with_columns(value.alias("value"))
    means = _means(analysis, judged)
    agreed = _agreement(analysis, judged)
    related = relations(analysis, judged, CRITERIA)
    parts: list[Table | Figure] = [
        Figure(
            "evaluation",
            "Human scores of rationales by criterion and source, with 95 % intervals over posts.",
            "Bars per criterion and source; the table has the numbers.",
            "bars",
            means.select("criterion", "source", "estimate", "low", "high"),
            {"category": "criterion", "series": "source", "label": "mean score", "limits": (0, 1)},
        ),
        Table(
            "evaluation",
            "Human scores of rationales from 0 to 1 by who wrote them, with 95 % intervals over posts.",
            means,
            {"estimate": Column("mean", digits=2)},
            ("criterion", "source", "estimate", "rationales", "judgments"),
            ("criterion", "source"),
        ),
        Table(
            "evaluation-agreement",
            "Agreement of the evaluators of a rationale, the four sources that both files have, with 95 % intervals "
            "over rationales.",
            agreed,
            {"estimate": Column(digits=3)},
            ("criterion", "coefficient", "estimate", "items", "raters"),
            ("criterion", "coefficient"),
            [
                "Unit: the rationale. The authors' notebook counts by HIT and averages alphas over workers, so that "
                "two workers "
                "with 5 and 16 HITs weigh as much as two with 266 and 271."
            ],
        ),
    ]
    parts += automatic_parts(related) if len(related) else []
    text = [
        "Four people judged whether a rationale agrees with the post (factuality), is about the question "
        "(relevance), justifies "
        "the rating (consistency) and helps (usefulness). The draft leaves open whether automatic measures can stand "
        "in for them: "
        "the last table answers it for these rationales."
    ]
    return Section(title, text, parts), [*_findings(analysis, judged), *automatic_findings(related)], _published(means)


def _means(analysis: Analysis, judged: pl.DataFrame) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for (criterion, source), part in judged.group_by(["question", "source"], maintain_order=True):
        told = part.drop_nulls("value")
        if len(told):
            found = mean_with_interval(told["post"], told["value"].to_numpy(), analysis.how)
            count = {"rationales": told["item"].n_unique(), "judgments": len(told)}
            rows.append({"criterion": criterion, "source": source, **found, **count})
    order = {name: place for place, name in enumerate((*CRITERIA, *MAIN))}
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.sort(
        pl.col("criterion").replace_strict(order), pl.col("source").replace_strict(order, default=99), "source"
    )


def _agreement(analysis: Analysis, judged: pl.DataFrame) -> pl.DataFrame:
    main = judged.filter(pl.col("source").is_in(MAIN))
    options: dict[str, Any] = {"by": "question", "resamples": analysis.resamples, "seed": analysis.seed}
    found = {
        "Randolph's kappa": randolph(main, **options),
        "Fleiss' kappa": fleiss(main, **options),
        "alpha, interval": alpha(main, level="interval", **options),
        "alpha, ordinal": alpha(main, level="ordinal", **options),
    }
    told = [frame.with_columns(pl.lit(name).alias("coefficient")) for name, frame in found.items()]
    return (
        pl.concat(told, how="diagonal_relaxed").rename({"question": "criterion"}).sort("criterion", maintain_order=True)
    )


def _findings(analysis: Analysis, judged: pl.DataFrame) -> list[Finding]:
    """The best model beside the experts, by what people think of their reasons."""
    others = judged.filter((pl.col("question") == "usefulness") & (pl.col("source") != "gold")).drop_nulls("value")
    if others.is_empty() or judged.filter(pl.col("source") == "gold").is_empty():
        return []
    best = str(others.group_by("source").agg(pl.col("value").mean()).sort("value", "source")["source"].last())
    numbers: dict[str, Any] = {"best": best}
    told = []
    for criterion in CRITERIA:
        mine = judged.filter(pl.col("question") == criterion).drop_nulls("value")
        estimate, low, high = _difference(mine, best, analysis.how)
        if estimate is not None:
            numbers |= {criterion: estimate, f"{criterion}_low": low, f"{criterion}_high": high}
            told.append(f"{criterion} {{{criterion}:+.2f}} [{{{criterion}_low:+.2f}}, {{{criterion}_high:+.2f}}]")
    sentence = "People score the reasons of {best} higher or lower than the experts' by, on a scale from 0 to 1, "
    sentence += ", ".join(told)
    return [Finding(sentence + ".", numbers)]


def _difference(judged: pl.DataFrame, source: str, how: Resampling) -> tuple[float | None, float | None, float | None]:
    """The mean score of a source less that of the experts, with an interval over posts."""
    sides = [(judged["source"] == name).to_numpy() for name in (source, "gold")]
    if not all(side.any() for side in sides):
        return None, None, None
    value = judged["value"].to_numpy()
    sums = per_item(judged["post"], np.column_stack([part for side in sides for part in (value * side, side)]))

    def apart(of: Floats) -> Floats:
        return ratio(of[:, :2]) - ratio(of[:, 2:])

    low, high = how.of_sums(sums, apart)
    return float(apart(sums.sum(axis=0, keepdims=True))[0]), low, high


def _published(means: pl.DataFrame) -> list[Published]:
    told = {(row["criterion"], row["source"]): row["estimate"] for row in means.iter_rows(named=True)}
    rows = []
    for source, values in NOTEBOOK.items():
        for criterion, value in zip(CRITERIA, values, strict=True):
            if (criterion, source) in told:
                twice = (criterion, source) == ("factuality", "chatgpt")
                how = "both files, mean of rows" + (
                    "; 0.83846, which seems to have been rounded twice" if twice else ""
                )
                what = f"{source}: {criterion}"
                rows.append(Published(what, "authors' notebook", value, told[criterion, source], how))
    return rows
