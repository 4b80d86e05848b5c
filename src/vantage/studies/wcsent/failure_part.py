"""Where predictions fail: the neutral default, the wrong side, signs that mislead, and single targets."""

from __future__ import annotations

from typing import Final

import polars as pl

from vantage.report.parts import Column, Figure, Table
from vantage.studies.wcsent.data_part import ordered
from vantage.studies.wcsent.printed import QUESTIONS

MARKS: Final = {
    "exclamation marks": pl.col("text").str.contains("!"),
    "a word in capitals": pl.col("text").str.contains(r"\b[A-Z]{3,}\b"),
    "a question": pl.col("text").str.contains(r"\?"),
    "a hint of irony": pl.col("text").str.contains(
        r"(?i)#sarcasm|#irony|#not\b|\blol\b|\bsure\b|\byeah right|\"|“|😂|🙄"
    ),
    "a hashtag": pl.col("text").str.contains("#"),
}
"""Surface signs that may mislead; irony is only guessed at, since the release does not label it."""


def failures(fine: pl.DataFrame, gold: pl.DataFrame, test: pl.DataFrame) -> list[Table | Figure]:
    """Tables and a figure of the errors of every rater on the test part."""
    both = fine.drop_nulls("value").join(gold.rename({"value": "gold"}), on=["item", "question"])
    both = both.with_columns((pl.col("value") - pl.col("gold")).abs().alias("error"))
    neutral = both.group_by("rater", "question").agg(
        (pl.col("value") == 0).mean().alias("says_neutral"),
        (pl.col("gold") == 0).mean().alias("is_neutral"),
        (pl.col("value").sign() * pl.col("gold").sign() < 0).mean().alias("wrong_side"),
    )
    marked = test.select("item", *(sign.fill_null(False).alias(name) for name, sign in MARKS.items()))
    signs = []
    # A rater that answers everything alike is misled by nothing.
    varied = both.filter(pl.col("value").n_unique().over("rater") > len(QUESTIONS))
    for name in MARKS:
        part = varied.join(marked.select("item", pl.col(name).alias("has")), on="item")
        signs.append(
            part.group_by("rater").agg(
                pl.lit(name).alias("sign"),
                pl.col("item").filter("has").n_unique().alias("pairs"),
                pl.col("error").filter("has").mean().alias("error_with"),
                pl.col("error").filter(~pl.col("has")).mean().alias("error_without"),
            )
        )
    frame = pl.concat(signs).with_columns((pl.col("error_with") - pl.col("error_without")).alias("difference"))
    targets = (
        both.join(test.select("item", "target"), on="item")
        .group_by("rater", "target")
        .agg(pl.col("item").n_unique().alias("pairs"), pl.col("error").mean().alias("mean_error"))
        .sort("rater", "target")
    )
    share = Column(percent=True, digits=0)
    return [
        Table(
            "neutral",
            "How often raters answer neutral, how often the released scores are, and how often a rater is on "
            "the wrong side.",
            ordered(neutral.sort("rater")),
            {"says_neutral": share, "is_neutral": share, "wrong_side": share},
            ("question", "rater", "says_neutral", "is_neutral", "wrong_side"),
            ("question", "rater"),
        ),
        Table(
            "signs",
            "Mean absolute error over the three questions for sentences with and without a sign that may mislead.",
            frame.sort("rater", "difference", descending=[False, True]).select(
                "rater", "sign", "pairs", "error_with", "error_without", "difference"
            ),
            {
                "error_with": Column(digits=2),
                "error_without": Column(digits=2),
                "difference": Column(digits=2, signed=True),
            },
            keys=("rater", "sign"),
            notes=["Irony is guessed at from words and marks; the release does not label it."],
        ),
        Figure(
            "errors-by-target",
            "Mean absolute error of each rater by target, over the three questions.",
            "A heat map with one row per rater and one column per target; darker cells are larger errors.",
            "heat",
            targets,
            {"row": "rater", "column": "target", "value": "mean_error", "label": "mean absolute error"},
        ),
    ]
