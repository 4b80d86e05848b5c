"""Predictions as judgments of a corpus, so that they are stored, measured and drawn beside people's answers.

A label or a distribution for a user is the judgment of a rater that stands for the user, a distribution of a text that
of a model. The column `probabilities` of the judgments has the shares of the options in the order of the scale, those
of opt-outs behind them.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import MODELS
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.perspective.evaluation import mean_distribution, stood_for
from vantage.perspective.scoring import shares_of
from vantage.perspective.splits import the_question


def with_predictions(
    corpus: Corpus, predictions: pl.DataFrame, name: str, question: str | None = None, *, kind: str = "trained"
) -> Corpus:
    """A corpus with predictions of any form as judgments of the rater NAME, or of NAME/@USER for each user.

    The value of a distribution is its most probable answer, on an ordered scale of three or more its median.

    Args:
        corpus: People's answers.
        predictions: `item`, `rater` and `value`; `item`, `rater` and `probabilities`; or `item` and `probabilities`.
            Several questions have a further column `question`.
        name: What the system is called.
        question: Which question; it may be left out where there is one, or a column that says it.
        kind: Of the rater: trained, model or persona.
    """
    if kind not in MODELS:
        raise InputError(f"'{kind}' is not a kind of model", remedy=nearest(kind, list(MODELS)))
    if name in corpus.raters["rater"]:
        raise InputError(f"there is a rater '{name}' already", remedy="give the system another name")
    if "question" not in predictions.columns:
        predictions = predictions.with_columns(question=pl.lit(the_question(corpus, question)))
    for_users = "rater" in predictions.columns
    user = pl.col("rater").cast(pl.String) if for_users else pl.lit(None, dtype=pl.String)
    rows = predictions.with_columns(pl.col("item").cast(pl.String), stands_for=user).with_columns(
        rater=pl.format("{}/@{}", pl.lit(name), "stands_for") if for_users else pl.lit(name)
    )
    raters = rows.select("rater", "stands_for", kind=pl.lit(kind), model=pl.lit(name)).unique(maintain_order=True)
    parts = [
        _judged(part, corpus.question(str(key[0]))) for key, part in rows.group_by("question", maintain_order=True)
    ]
    return corpus.add(pl.concat(parts), raters if for_users else raters.drop("stands_for"))


def _judged(rows: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Predictions for one question as judgments."""
    if "probabilities" in rows.columns:
        shares, _ = shares_of(rows["probabilities"], question)
        codes = np.array(sorted(question.scale.codes))
        far = question.scale.ordered and len(codes) > 2
        loss = np.abs(codes[:, None] - codes) if far else 1 - np.eye(len(codes))
        value = np.where(shares.any(axis=1), codes[(shares @ loss).argmin(axis=1)], np.nan)
        rows = rows.with_columns(pl.Series("value", value).fill_nan(None))
    status = pl.when(pl.col("value").is_null()).then(pl.lit("failed")).otherwise(pl.lit("answered"))
    wanted = [name for name in ("item", "question", "rater", "value", "probabilities") if name in rows.columns]
    return rows.select(*wanted, status.alias("status"))


def predictions_in(corpus: Corpus, question: str, **raters: str) -> pl.DataFrame:
    """The predictions that a corpus holds: those of raters that stand for people, or of one model for each text.

    Columns of the raters table, such as `model` or `style`, choose among several. What one model answered, once or
    several times, is a distribution of each text.
    """
    machines = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(MODELS), **raters)
    if "stands_for" in machines.columns and machines["stands_for"].count():
        return stood_for(corpus, question, **raters)
    rows = corpus.judgments.filter(pl.col("question") == question).join(machines.select("rater"), on="rater")
    names = rows["rater"].unique().sort()
    if len(names) != 1:
        some = f"several models, such as {' and '.join(names.head(2))}" if len(names) else "no model"
        raise InputError(f"{some} answered '{question}'", remedy="choose one by its rater, model or style")
    return of_texts(rows, corpus.question(question))


def of_texts(rows: pl.DataFrame, question: Question) -> pl.DataFrame:
    """The distribution of each text in judgments: the mean of those given, or the shares of the answers."""
    mean = mean_distribution(rows)
    if not mean:
        answered = pl.col("value").count()
        shares = pl.concat_list([(pl.col("value") == code).sum() / answered for code in question.scale.codes])
        mean = [pl.when(answered > 0).then(shares).alias("probabilities")]
    return rows.group_by("item").agg(mean).sort("item")
