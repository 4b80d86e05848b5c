"""What people answered, and whether two experts agree, under every formula that the draft's numbers might stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.agreement.alpha import alpha
from vantage.measures.resampling import mean_with_interval
from vantage.report.cells import counted
from vantage.report.engine import Data
from vantage.report.parts import Part
from vantage.report.ruler import wright_map
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import Along, Method, compared, mean_p

SPARSE: Final = ("fairness", "social-norms", "internal-values")
"""Questions that most posts say nothing about; the authors' later code leaves them out."""
CODINGS: Final = {"as 0": 0.0, "left out": None}
"""What a blank counts as."""
# Of two ratings both standard deviations are a multiple of their distance.
SPREADS: Final = {
    "mean absolute difference": 1.0,
    "standard deviation (population)": 0.5,
    "standard deviation (sample)": 0.5**0.5,
}
CORRELATIONS: Final[dict[str, tuple[str, Along, Method]]] = {
    "Pearson per question": ("per_question", "questions", "pearson"),
    "Spearman per question": ("spearman", "questions", "spearman"),
    "Pearson per post": ("per_post", "posts", "pearson"),
    "Spearman per post": ("spearman_per_post", "posts", "spearman"),
    "Pearson over all cells": ("all_cells", "all", "pearson"),
}
BLANKS: Final = ("delta", "per_question", "per_post", "all_cells", "randolph", "fleiss")
ANSWERS: Final = ("delta", "per_question", "spearman")


def agreement(analysis: Appraised) -> Data:
    """The two annotators under every formula and both codings of blanks."""
    rows: list[dict[str, Any]] = []
    for name, blank in CODINGS.items():
        one, two = analysis.pairs[blank]
        comparison = compared([one], two, ["delta", *(column for column, _, _ in CORRELATIONS.values())], analysis.how)
        for statistic, scale in SPREADS.items():
            rows.append({"statistic": statistic, "blanks": name, **_ends(comparison, "delta", scale)})
        for statistic, (column, along, method) in CORRELATIONS.items():
            p, defined = mean_p(one, two, along, method)
            rows.append(
                {"statistic": statistic, "blanks": name, **_ends(comparison, column), "p": p, "defined": defined}
            )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    questions = frame.filter(statistic="Pearson per question")["estimate"]
    facts = {"shared_posts": counted(len(one), "post"), "r_zero": questions[0], "r_answers": questions[1]}
    return Data(frame, facts)


def _ends(comparison: Mapping[str, float | None], column: str, scale: float = 1.0) -> dict[str, float | None]:
    """A statistic and its interval as the columns of a result."""
    ends = {"estimate": comparison[column], "low": comparison[f"{column}_low"], "high": comparison[f"{column}_high"]}
    return {name: None if value is None else scale * value for name, value in ends.items()}


def raters_map(analysis: Appraised) -> list[Part | str]:
    """Experts and models on one scale, over all questions about the posts that two experts rated."""
    posts = analysis.candidates.judgments["item"].unique().implode()
    answers = analysis.judged.filter(pl.col("item").is_in(posts), pl.col("value").is_not_null())
    # Each question about a post has a location of its own: appraisals are not one dimension.
    cells = answers.with_columns(item=pl.concat_str("item", "question", separator=" "), question=pl.lit("appraisals"))
    return [wright_map(cells, "all questions about the posts that two experts rated", "raters-map")]


def agreement_alpha(analysis: Appraised) -> pl.DataFrame:
    """Krippendorff's alpha with blanks as 0, left out, and left out with three questions that hardly apply."""
    judgments = analysis.experts.judgments
    blank = pl.col("status").cast(pl.String) == "not_mentioned"
    zeroed = judgments.with_columns(
        pl.when(blank).then(0.0).otherwise("value").alias("value"), pl.lit("answered").alias("status")
    )
    kept = judgments.filter(~pl.col("question").is_in(SPARSE))
    frames = [
        alpha(frame, level=level, resamples=analysis.options.resamples, seed=analysis.seed).with_columns(
            pl.lit(name).alias("blanks"), pl.lit(level).alias("level")
        )
        for name, frame in (("as 0", zeroed), ("left out", judgments), ("left out, 21 questions", kept))
        for level in ("interval", "ordinal")
    ]
    return pl.concat(frames, how="diagonal_relaxed")


def agreement_groups(analysis: Appraised) -> pl.DataFrame:
    """The two annotators by group of six questions."""
    one, two = analysis.pairs[0.0]
    rows = [
        {"questions": name, **_both(analysis, places), "p": mean_p(one[:, places], two[:, places], "questions")[0]}
        for name, places in analysis.groups.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def agreement_questions(analysis: Appraised) -> pl.DataFrame:
    """The two annotators question by question, the largest difference first."""
    one, two = analysis.pairs[None]
    answered = (~np.isnan(one + two)).sum(axis=0)
    rows = [
        {"appraisal": title, "pairs_answered": int(answered[place]), **_both(analysis, [place])}
        for place, title in enumerate(analysis.titles.values())
    ]
    return pl.DataFrame(rows, infer_schema_length=None).sort("delta_answers", descending=True, nulls_last=True)


def _both(analysis: Appraised, places: list[int]) -> dict[str, float | None]:
    """The two annotators on some questions: with blanks as 0, and under names with `_answers` without blanks."""
    columns: dict[str, float | None] = {}
    for blank, names, ending in ((0.0, BLANKS, ""), (None, ANSWERS, "_answers")):
        one, two = (side[:, places] for side in analysis.pairs[blank])
        comparison = compared([one], two, names, analysis.how)
        columns |= {
            f"{name}{ending}{end}": comparison[f"{name}{end}"] for name in names for end in ("", "_low", "_high")
        }
    return columns


def standardised(judgments: pl.DataFrame) -> pl.DataFrame:
    """Answers as standard scores within each rater, over all questions, as the draft's Appendix E describes.

    >>> table = pl.DataFrame({"rater": ["a", "a", "b", "b"], "value": [1.0, 3.0, 5.0, 9.0]})
    >>> standardised(table)["z"].round(3).to_list()
    [-0.707, 0.707, -0.707, 0.707]
    """
    value = pl.col("value")
    spread = value.std().over("rater")
    return judgments.with_columns(pl.when(spread > 0).then((value - value.mean().over("rater")) / spread).alias("z"))


def ratings(analysis: Appraised) -> Data:
    """People's ratings per question, and how often posts say nothing about it."""
    frame = _summary(analysis, "appraisal")
    order = {title: place for place, title in enumerate(analysis.titles.values())}
    judgments = analysis.by_people
    blank = int((judgments["status"].cast(pl.String) == "not_mentioned").sum()) / max(len(judgments), 1)
    facts = {"rated_posts": counted(len(analysis.posts), "post"), "blank_share": f"{100 * blank:.1f} %"}
    return Data(frame.sort(pl.col("appraisal").replace_strict(order)), facts)


def ratings_groups(analysis: Appraised) -> pl.DataFrame:
    """The same for the four groups of six questions."""
    return _summary(analysis, "questions").sort(pl.col("questions").str.extract(r"(\d+)").cast(pl.Int64))


def annotators(analysis: Appraised) -> pl.DataFrame:
    """The same per annotator."""
    return _summary(analysis, "rater").sort("rater")


def rating_values(analysis: Appraised) -> pl.DataFrame:
    """Every answer, raw and standardised, in the order of the questions."""
    order = {title: place for place, title in enumerate(analysis.titles.values())}
    ratings_of = standardised(analysis.by_people).filter(pl.col("value").is_not_null())
    return ratings_of.sort(pl.col("appraisal").replace_strict(order)).select("appraisal", "value", "z")


def _summary(analysis: Appraised, by: str) -> pl.DataFrame:
    member = {analysis.questions[place]: name for name, places in analysis.groups.items() for place in places}
    standard = standardised(analysis.by_people).with_columns(
        pl.col("question").replace_strict(member).alias("questions"),
        (pl.col("status").cast(pl.String) == "not_mentioned").cast(pl.Float64).alias("blank"),
    )
    value = pl.col("value")
    summary = standard.group_by(by).agg(
        value.count().alias("answers"),
        value.mean().alias("mean"),
        value.std().alias("sd"),
        value.median().alias("median"),
        value.quantile(0.25).alias("lower_quartile"),
        value.quantile(0.75).alias("upper_quartile"),
        pl.col("z").mean().alias("z_mean"),
    )
    blanks = []
    for (key,), part in standard.group_by(by):
        share = mean_with_interval(part["item"], part["blank"].to_numpy(), analysis.how)
        blanks.append({by: key, "blank": share["estimate"], "blank_low": share["low"], "blank_high": share["high"]})
    kinds = {by: pl.String, **dict.fromkeys(("blank", "blank_low", "blank_high"), pl.Float64)}
    return summary.join(pl.DataFrame(blanks, schema=kinds), on=by, maintain_order="left")
