"""What people answered: distributions per question, raw and standardised within each annotator, and what posts omit."""

from __future__ import annotations

import polars as pl

from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.appraisals.analysis import Analysis


def standardised(judgments: pl.DataFrame) -> pl.DataFrame:
    """Answers as standard scores within each rater, over all questions, as the draft's Appendix E describes.

    >>> table = pl.DataFrame({"rater": ["a", "a", "b", "b"], "value": [1.0, 3.0, 5.0, 9.0]})
    >>> standardised(table)["z"].round(3).to_list()
    [-0.707, 0.707, -0.707, 0.707]
    """
    value = pl.col("value")
    spread = value.std().over("rater")
    return judgments.with_columns(pl.when(spread > 0).then((value - value.mean().over("rater")) / spread).alias("z"))


def answers(analysis: Analysis) -> tuple[Section, list[Finding]]:
    """The section on ratings and blanks."""
    told = standardised(analysis.people).with_columns(
        pl.col("question").replace_strict(analysis.titles).alias("appraisal"),
        (pl.col("status").cast(pl.String) == "not_mentioned").alias("blank"),
    )
    order = {title: place for place, title in enumerate(analysis.titles.values())}
    table = _summary(told, "appraisal").sort(pl.col("appraisal").replace_strict(order))
    member = {question: name for name, questions in analysis.groups.items() for question in questions}
    groups = _summary(told.with_columns(pl.col("question").replace_strict(member).alias("questions")), "questions")
    groups = groups.sort(pl.col("questions").str.extract(r"(\d+)").cast(pl.Int64))
    habits = _summary(told, "rater").sort("rater")
    columns: dict[str, Column | str] = {
        "mean": Column(digits=2),
        "sd": Column("SD", digits=2),
        "z_mean": Column("mean, standardised", digits=2, signed=True),
        "blank": Column("not mentioned", percent=True, digits=1),
    }
    ordered = told.sort(pl.col("appraisal").replace_strict(order)).filter(pl.col("value").is_not_null())
    figures = [
        Figure(
            f"ratings-{kind}{end}",
            f"{name} of people's ratings per question, {how}; answers only.",
            f"One {kind} per question from {analysis.titles[analysis.questions[0]]} at the top to "
            f"{analysis.titles[analysis.questions[-1]]}. The table beside it has means and spreads.",
            "distribution",
            ordered.select("appraisal", pl.col(column).alias("value")),
            {"category": "appraisal", "kind": kind, "label": label},
        )
        for column, end, how, label in (
            ("value", "", "from 1 to 9", "rating"),
            ("z", "-standardised", "standardised within each annotator", "standard score"),
        )
        for kind, name in (("box", "Box plots"), ("violin", "Violin plots"))
    ]
    silent = table.sort("blank", descending=True)
    top = silent.row(0, named=True)
    findings = [
        Finding(
            "People find {blank:.0%} of all questions unanswered by the post; {appraisal} is the least often mentioned "
            "({most:.0%} blank).",
            {"blank": told["blank"].mean(), "appraisal": top["appraisal"], "most": top["blank"]},
        )
    ]
    text = [
        "Ratings run from 1 to 9; a blank means that the post says nothing about the question. Means and spreads are "
        "those of answers. Where nearly all answers are alike, standard scores make small differences look large."
    ]
    parts: list[Table | Figure] = [
        Table("ratings", "People's ratings per question.", table, columns, keys=("appraisal",)),
        Table("ratings-groups", "The same for the four groups of six questions.", groups, columns, keys=("questions",)),
        Table("annotators", "The same per annotator: habits differ.", habits, columns, keys=("rater",)),
        *figures,
    ]
    return Section("What people answered", text, parts), findings


def _summary(told: pl.DataFrame, by: str) -> pl.DataFrame:
    return told.group_by(by).agg(
        pl.col("value").count().alias("answers"),
        pl.col("value").mean().alias("mean"),
        pl.col("value").std().alias("sd"),
        pl.col("value").median().alias("median"),
        pl.col("value").quantile(0.25).alias("lower_quartile"),
        pl.col("value").quantile(0.75).alias("upper_quartile"),
        pl.col("z").mean().alias("z_mean"),
        pl.col("blank").mean().alias("blank"),
    )
