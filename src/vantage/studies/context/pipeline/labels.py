"""The labels that statements came with: what contexts are written for, and what answers are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.scales import show_code

Labels: TypeAlias = str | Mapping[str, float | str] | pl.DataFrame | None
"""An item column, a label per item, a frame with `item` and `value`, or null for what the corpus itself says."""
_ORIGINAL: Final = ("author", "aggregate")
_COLUMN: Final = "label"


def original_labels(corpus: Corpus, question: Question, labels: Labels = None) -> pl.DataFrame:
    """The label of every item that has one, as a code of the question's scale: columns `item` and `value`.

    Without `labels` they are the judgments of the text's author or of a released aggregate on this question, or else
    the item column `label`. A label that is no answer of the question ends with an error that names the item.

    >>> from vantage import Instrument
    >>> items = pl.DataFrame({"item": ["a", "b"], "text": ["Great.", "Hm."], "binary": ["yes", None]})
    >>> sarcasm = Instrument.load("sarcasm")
    >>> empty = {"item": [], "question": [], "rater": [], "value": []}
    >>> corpus = Corpus(items, pl.DataFrame({"rater": []}), pl.DataFrame(empty), sarcasm)
    >>> original_labels(corpus, sarcasm.questions[0], "binary").rows()
    [('a', 1.0)]
    """
    told = _told(corpus, question, labels).drop_nulls("value")
    told = told.filter(pl.col("item").is_in(corpus.items["item"].implode()))
    if (twice := told["item"].is_duplicated()).any():
        first = told.filter(twice)["item"][0]
        raise InputError(f"item '{first}' has more than one label", remedy="give one label per item")
    codes = [_code(item, value, question) for item, value in told.iter_rows()]
    return pl.DataFrame({"item": told["item"], "value": pl.Series(codes, dtype=pl.Float64)})


def _told(corpus: Corpus, question: Question, labels: Labels) -> pl.DataFrame:
    if isinstance(labels, str):
        if labels not in corpus.items.columns:
            raise InputError(f"the items have no column '{labels}'", remedy=nearest(labels, corpus.items.columns))
        return corpus.items.select("item", pl.col(labels).alias("value"))
    if isinstance(labels, pl.DataFrame):
        if missing := [name for name in ("item", "value") if name not in labels.columns]:
            raise InputError(f"the labels have no column '{missing[0]}'", remedy=f"they have {labels.columns}")
        mine = labels.filter(pl.col("question") == question.id) if "question" in labels.columns else labels
        return mine.select(pl.col("item").cast(pl.String), "value")
    if labels is not None:
        values = [value if isinstance(value, str) else show_code(float(value)) for value in labels.values()]
        return pl.DataFrame({"item": list(labels), "value": values}, schema={"item": pl.String, "value": pl.String})
    original = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(_ORIGINAL))
    found = corpus.judgments.filter(pl.col("question") == question.id).join(original, on="rater", how="semi")
    if len(found.drop_nulls("value")):
        return found.select("item", "value")
    if _COLUMN in corpus.items.columns:
        return corpus.items.select("item", pl.col(_COLUMN).alias("value"))
    raise InputError(
        f"the items have no original label for question '{question.id}'",
        remedy="pass labels=, the name of an item column or a label per item",
    )


def _code(item: str, value: float | str, question: Question) -> float:
    """A label as a code of the scale, told by its code or its wording."""
    scale = question.scale
    code = scale.code(value) if isinstance(value, str) else float(value)
    if code is None and isinstance(value, str):
        try:
            code = float(value)
        except ValueError:
            code = None
    if code is None or not scale.holds(code):
        shown = value if isinstance(value, str) else show_code(float(value))
        raise InputError(
            f"the label '{shown}' of item '{item}' is no answer of question '{question.id}'",
            remedy=f"its answers are {scale.describe()}",
        )
    return code
