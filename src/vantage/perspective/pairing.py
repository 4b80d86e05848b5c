"""Predictions beside gold: one for each pair, on the scale, for people that the corpus has; or all that is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, Problems
from vantage.instruments import Question
from vantage.scales import show_code

EXAMPLES: Final = 3
"""How many examples a problem names."""


def paired(predictions: pl.DataFrame, gold: pl.DataFrame, corpus: Corpus, question: Question) -> pl.DataFrame:
    """Gold beside predictions; doubled, missing, unknown and unasked pairs and labels off the scale are all told."""
    for column in ("item", "rater", "value"):
        if column not in predictions.columns:
            raise InputError(f"the predictions have no column '{column}'", remedy="they need item, rater and value")
    predicted = predictions.select(
        pl.col("item", "rater").cast(pl.String), pl.col("value").cast(pl.Float64).fill_nan(None).alias("predicted")
    )
    labels = sorted(question.scale.codes)
    fitted = _fitted(predicted, gold, corpus)
    if fitted is not None and fitted.filter(~pl.col("predicted").is_in(labels)).is_empty():
        return fitted
    problems: list[str] = []
    doubled = predicted.filter(predicted.select("item", "rater").is_duplicated())
    if len(doubled):
        many = len(doubled.unique(["item", "rater"]))
        problems.append(f"{many} pairs are predicted more than once, such as {_named(doubled)}; keep one each")
    strangers = predicted.join(corpus.raters, on="rater", how="anti")
    if len(strangers):
        some = ", ".join(strangers["rater"].unique().sort().head(EXAMPLES))
        problems.append(
            f"{len(strangers)} predictions are for users the corpus does not have, such as {some}; check the ids"
        )
    foreign = predicted.join(strangers, on="rater", how="anti").join(gold, on=["item", "rater"], how="anti")
    if len(foreign):
        problems.append(
            f"{len(foreign)} predictions are for pairs that are not in the test set, such as {_named(foreign)}"
        )
    unpredicted = gold.join(predicted, on=["item", "rater"], how="anti")
    if len(unpredicted):
        problems.append(
            f"{len(unpredicted)} of {len(gold)} test pairs have no prediction, such as {_named(unpredicted)}; "
            "add them, with a null value where there was no answer"
        )
    off = predicted.filter(pl.col("predicted").is_not_null() & ~pl.col("predicted").is_in(labels))
    if len(off):
        problems.append(
            f"{len(off)} predictions are off the scale of question '{question.id}', such as "
            f"{show_code(off['predicted'][0])} for {_named(off.head(1))}; use {', '.join(map(show_code, labels))}, "
            "or null where there is no answer"
        )
    if problems:
        raise Problems("predictions", problems)
    return gold.rename({"value": "gold"}).join(predicted, on=["item", "rater"], how="left", maintain_order="left")


def _fitted(predicted: pl.DataFrame, gold: pl.DataFrame, corpus: Corpus) -> pl.DataFrame | None:
    """Gold beside predictions where there is exactly one for each pair; null where something is wrong with them.

    Pairs are compared as whole numbers, which takes a fraction of the time of comparing two texts.
    """
    if len(predicted) != len(gold):
        return None
    users = corpus.raters.select("rater").with_row_index("user")
    items = gold.select("item").unique().with_row_index("text")

    def keyed(frame: pl.DataFrame) -> pl.DataFrame:
        numbered = frame.join(users, on="rater", how="left", maintain_order="left")
        numbered = numbered.join(items, on="item", how="left", maintain_order="left")
        return numbered.select(
            *frame.columns, (pl.col("text").cast(pl.UInt64) * len(users) + pl.col("user")).alias("pair")
        )

    predicted, gold = keyed(predicted), keyed(gold)
    if predicted["pair"].null_count() or predicted["pair"].n_unique() < len(predicted):
        return None
    beside = gold.rename({"value": "gold"}).join(
        predicted.select("pair", "predicted", pl.lit(True).alias("there")), on="pair", how="left", maintain_order="left"
    )
    return None if beside["there"].null_count() else beside.drop("pair", "there")


def _named(frame: pl.DataFrame) -> str:
    pairs: Iterable[tuple[str, str]] = (
        frame.select("item", "rater").unique(maintain_order=True).head(EXAMPLES).iter_rows()
    )
    return ", ".join(f"'{item}' by '{rater}'" for item, rater in pairs)
