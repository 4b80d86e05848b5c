"""How well anyone can do: what one annotator reaches against the others, and what the noise in the scores allows."""

from __future__ import annotations

import polars as pl

from vantage.corpora import Corpus
from vantage.measures.split_half import split_half
from vantage.report.parts import Column, Table
from vantage.studies.wcsent.data_part import ordered


def ceiling(people: Corpus, table: pl.DataFrame, seed: int) -> Table:
    """One annotator, the best rater and the highest correlation that is possible, on the same pairs.

    Scores that are means of a few ratings are noisy, and no prediction can correlate with them by more than the
    square root of their reliability (Spearman 1904).
    """
    single = _one_against_the_others(people)
    reliable = split_half(people, by="question", correlation="spearman", spearman_brown=True, seed=seed).select(
        "question", pl.col("estimate").alias("reliability"), pl.col("estimate").sqrt().alias("highest")
    )
    known = table.drop_nulls("spearman_mean").sort("spearman_mean", descending=True)
    best = known.group_by("question", maintain_order=True).first()
    best = best.select("question", pl.col("rater").alias("best"), pl.col("spearman_mean").alias("best_value"))
    found = single.join(best, on="question", how="left").join(reliable, on="question", how="left")
    return Table(
        "ceiling",
        "How well anyone can do on the test part: rank correlations with the means of the ratings.",
        ordered(found),
        {
            "one": Column("one annotator with the mean of the others", digits=2),
            "one_within": Column("within 1 of it", digits=2),
            "best": Column("best rater"),
            "best_value": Column("its correlation", digits=2),
            "reliability": Column("reliability of the means", digits=2),
            "highest": Column("highest possible", digits=2),
        },
        keys=("question",),
        notes=[
            "One annotator: every rating against the mean of the other ratings of the same pair, over all annotators. "
            "Reliability: split halves of means with the Spearman–Brown step. Its square root is the highest "
            "correlation that even a perfect prediction can expect (Spearman 1904)."
        ],
    )


def _one_against_the_others(people: Corpus) -> pl.DataFrame:
    """How every rating goes with the mean of the others of its pair."""
    pair = ["item", "question"]
    rated = people.judgments.filter(pl.col("value").is_not_null())
    rated = rated.with_columns(pl.col("value").sum().over(pair).alias("sum"), pl.len().over(pair).alias("count"))
    others = (pl.col("sum") - pl.col("value")) / (pl.col("count") - 1)
    rated = rated.filter(pl.col("count") > 1).with_columns(others.alias("others"))
    near = ((pl.col("others") + 0.5).floor() - pl.col("value")).abs() <= 1
    return rated.group_by("question").agg(
        pl.corr("value", "others", method="spearman").fill_nan(None).alias("one"), near.mean().alias("one_within")
    )
