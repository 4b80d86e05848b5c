"""What people answered, and whether two experts agree, under every formula that the draft's numbers might stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures import SHARES, mean_with_interval, named
from vantage.report.cells import counted
from vantage.report.engine import Data, there
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import Along, Method, compared, difference, mean_p, places

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
            tested = dict(zip(("p", "defined"), mean_p(one, two, along, method), strict=True))
            rows.append({"statistic": statistic, "blanks": name, **_ends(comparison, column), **tested})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    questions = frame.filter(statistic="Pearson per question")["estimate"]
    facts = {"shared_posts": counted(len(one), "post"), "r_zero": questions[0], "r_answers": questions[1]}
    return Data(frame, facts)


def _ends(comparison: Mapping[str, float | None], column: str, scale: float = 1.0) -> dict[str, float | None]:
    ends = {"estimate": comparison[column], "low": comparison[f"{column}_low"], "high": comparison[f"{column}_high"]}
    return {name: None if value is None else scale * value for name, value in ends.items()}


def agreement_groups(analysis: Appraised) -> pl.DataFrame:
    """The two annotators by group of six questions."""
    one, two = analysis.pairs[0.0]
    rows = [
        {"questions": name, **_both(analysis, places), "p": mean_p(one[:, places], two[:, places], "questions")[0]}
        for name, places in analysis.groups.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def agreement_questions(analysis: Appraised) -> Data:
    """The two annotators question by question, the largest difference first, and which questions are tied."""
    one, two = analysis.pairs[None]
    answered = (~np.isnan(one + two)).sum(axis=0)
    titles = list(analysis.titles.values())
    each = [difference(one[:, [place]], two[:, [place]]) for place in range(len(titles))]
    # The largest difference has the first place.
    order = places(titles, lambda weight: -np.column_stack([question(weight) for question in each]), len(one))
    rows = [
        {"appraisal": title, "pairs_answered": int(answered[place]), **_both(analysis, [place]), **order[title]}
        for place, title in enumerate(titles)
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None).sort("delta_answers", descending=True, nulls_last=True)
    pairs = len(titles) * (len(titles) - 1) // 2
    ties = sum(len(row["tied"].split(", ")) for row in order.values() if row["tied"] not in ("", "none")) // 2
    return Data(frame, {"pairs": pairs, "told_apart": pairs - ties if order[titles[0]]["place"] else None})


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
    silent = pl.col("status").cast(pl.String) == "not_mentioned"
    judged = standardised(there(analysis.by_people)).with_columns(silent.cast(pl.Float64).alias("blank"))
    value, rows = pl.col("value"), []
    for title in [title for title in analysis.titles.values() if title in judged["appraisal"]]:
        part = judged.filter(appraisal=title)
        share = mean_with_interval(part["item"], part["blank"].to_numpy(), analysis.how, SHARES)
        summary = part.select(
            answers=value.count(),
            mean=value.mean(),
            sd=value.std(),
            median=value.median(),
            lower_quartile=value.quantile(0.25),
            upper_quartile=value.quantile(0.75),
            z_mean=pl.col("z").mean(),
        ).row(0, named=True)
        rows.append({"appraisal": title, **summary, **named("blank", share)})
    facts = {
        "rated_posts": counted(len(analysis.posts), "post"),
        "blank_share": f"{100 * (judged['blank'].sum() / max(len(judged), 1)):.1f} %",
    }
    return Data(pl.DataFrame(rows, infer_schema_length=None), facts)


def rating_values(analysis: Appraised) -> pl.DataFrame:
    """Every answer, raw and standardised, in the order of the questions."""
    order = {title: place for place, title in enumerate(analysis.titles.values())}
    ratings_of = standardised(analysis.by_people).filter(pl.col("value").is_not_null())
    return ratings_of.sort(pl.col("appraisal").replace_strict(order)).select("appraisal", "value", "z")
