"""Predictions as judgments: in the study's corpus, each user whom a rater stands for is a rater of its own."""

from __future__ import annotations

from typing import Final, TypeAlias

import polars as pl

from vantage.corpora import Corpus
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.studies.perseval.sources import CorpusTask

PAIR: Final = ("item", "rater", "value")
Predictions: TypeAlias = dict[tuple[str, str], pl.DataFrame]
"""What is predicted for each user (`item`, `rater`, `value`), by rater and variant: that of a cell, `trait:NAME` (one
trait is told), or `values:NAME` (a value of the trait stands for the user)."""


def added(corpus: Corpus, task: CorpusTask, predictions: Predictions) -> Corpus:
    """The corpus with predictions; `stands_for` tells the user."""
    judged, raters = [], []
    for (rater, variant), frame in predictions.items():
        kind = "trained" if rater in PAIR_METHODS else "persona"
        about = {"kind": kind, "model": rater, "style": variant, "corpus": task.name}
        named = frame.with_columns(
            *(pl.lit(value).alias(name) for name, value in about.items()),
            rater=pl.format("{}/{}/{}/@{}", pl.lit(task.name), pl.lit(rater), pl.lit(variant), "rater"),
            value=pl.col("value").cast(pl.Float64),
            status=pl.when(pl.col("value").is_null()).then(pl.lit("unparsed")).otherwise(pl.lit("answered")),
            question=pl.lit(task.question),
            stands_for="rater",
        )
        judged.append(named.select("item", "question", "rater", "value", "status"))
        raters.append(named.unique("rater", maintain_order=True).select("rater", *about, "stands_for"))
    return corpus.add(pl.concat(judged), pl.concat(raters)) if judged else corpus


def by_rater(corpus: Corpus, task: CorpusTask) -> Predictions:
    """The predictions in a corpus of the study, as `added` put them there."""
    if "stands_for" not in corpus.raters.columns:
        return {}
    chosen = corpus.raters.filter(pl.col("stands_for").is_not_null(), corpus=task.name)
    chosen = chosen.select("rater", "stands_for", "model", "style")
    rows = corpus.judgments.filter(pl.col("question") == task.question).join(chosen, on="rater")
    rows = rows.select("item", pl.col("stands_for").alias("rater"), "value", "model", "style").sort("rater", "item")
    return {
        (str(model), str(style)): part.select(PAIR)
        for (model, style), part in rows.group_by("model", "style", maintain_order=True)
    }
