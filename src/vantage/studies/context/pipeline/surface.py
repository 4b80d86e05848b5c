"""Ambiguity without a language model: what the length of a text and its words tell, learned from people by folds.

These are the methods that a model has to beat. Those that learn from people's votes never see the votes of the item
that they judge, nor those of the same text under another id.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.ratings import Floats, Ints
from vantage.raters.trained.folds import grouped_folds
from vantage.raters.trained.linear import LinearSettings, Vocabulary
from vantage.scales import Scale
from vantage.studies.context.pipeline.ambiguity import Detected, Spread, scored, shares_of

SURFACE: Final = ("constant", "length", "words", "words-doubt")
"""The methods: everyone's average answer; short texts first; the entropy of the answers that words predict; the doubt
that words predict."""
NO_TEXT: Final = "the item has no text"
_WORDS: Final = LinearSettings(characters=None)


def by_surface(
    items: pl.DataFrame,
    votes: pl.DataFrame,
    scale: Scale,
    method: str,
    *,
    spread: Spread | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Detected:
    """The ambiguity of items by a method that needs no model.

    Args:
        items: The items, with their `text`.
        votes: How people answered them (`vantage.studies.context.pipeline.votes`); items without votes are left out.
        scale: The scale of the question.
        method: A name in `SURFACE`.
        spread: How the score is read off predicted answers.
        folds: Into how many parts the texts are divided; each is judged by what was learned from the others.
        seed: The seed of the folds.

    >>> from vantage import Instrument
    >>> scale = Instrument.load("sarcasm").questions[0].scale
    >>> items = pl.DataFrame({"item": ["a", "b"], "text": ["Great.", "The bus comes at nine."]})
    >>> votes = pl.DataFrame({"item": ["a", "b"], "shares": [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], "doubt": [0.5, 0.0]})
    >>> by_surface(items, votes, scale, "length").table.select("item", "score").rows()
    [('a', -1.0), ('b', -5.0)]
    """
    if method not in SURFACE:
        raise InputError(f"there is no method of detection '{method}'", remedy=nearest(method, SURFACE))
    table = votes.select("item", pl.col("shares").alias("told"), "doubt").join(
        items.select("item", "text"), on="item", how="inner", maintain_order="left"
    )
    legible = pl.col("text").str.strip_chars().str.len_chars().fill_null(0) > 0
    known, lost = table.filter(legible), table.filter(~legible)
    if len(known) < folds and method != "length":
        raise InputError(
            f"{len(known)} items with votes are too few for {folds} folds", remedy="give more votes or fewer folds"
        )
    found = _FOUND[method](known, folds, seed)
    if found.ndim == 2:
        told = known.select("item", shares=pl.Series(found.tolist(), dtype=pl.List(pl.Float64)))
        result = scored(told, scale, spread or Spread())
        if method == "constant":
            # Folds differ by a hair in their average, which must not order the items.
            result = result.with_columns(pl.col("score").mean())
    else:
        result = known.select("item", score=pl.Series(found))
    empty = lost.select("item", pl.lit(NO_TEXT).alias("reason"))
    schema: dict[str, Any] = {
        "item": pl.String,
        "shares": pl.List(pl.Float64),
        "score": pl.Float64,
        "reason": pl.String,
    }
    whole = pl.concat([pl.DataFrame(schema=schema), result, empty], how="diagonal_relaxed")
    return Detected(method, whole.select(*schema))


def _constant(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """The average answer to the items of the other folds."""
    told, fold = _told(table, folds, seed)
    return np.array([told[fold != one].mean(axis=0) for one in fold])


def _length(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """Short texts say less: minus the number of words."""
    return -np.array([len(text.split()) for text in table["text"]], dtype=np.float64)


def _words(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """The shares of the answers, as logistic regression on TF-IDF weights of words and pairs of words predicts them."""
    from sklearn.linear_model import LogisticRegression

    told, fold = _told(table, folds, seed)
    found = np.zeros_like(told)
    for train, test, learned, asked in _parts(table, fold, folds):
        used = np.flatnonzero(told[train].sum(axis=0) > 0)
        if len(used) < 2:
            found[np.ix_(test, used)] = 1.0
            continue
        # One row for each answer to a text, weighted by how many gave it.
        row, answer = np.nonzero(told[np.ix_(train, used)])
        model = LogisticRegression(C=1.0, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(learned[row], answer, sample_weight=told[np.ix_(train, used)][row, answer])
        found[np.ix_(test, used)] = model.predict_proba(asked)
    return found


def _words_doubt(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """The doubt, as ridge regression on the same weights predicts it."""
    from sklearn.linear_model import Ridge

    _, fold = _told(table, folds, seed)
    doubt, found = table["doubt"].to_numpy(), np.zeros(len(table))
    for train, test, learned, asked in _parts(table, fold, folds):
        found[test] = Ridge(alpha=1.0).fit(learned, doubt[train]).predict(asked)
    return found


def _told(table: pl.DataFrame, folds: int, seed: int) -> tuple[Floats, Ints]:
    fold = grouped_folds(table["text"].to_list(), folds, seed)
    return shares_of(table.rename({"told": "shares"})), np.asarray(fold, dtype=np.int64)


def _parts(table: pl.DataFrame, fold: Ints, folds: int) -> Iterator[tuple[Ints, Ints, Any, Any]]:
    """For each fold: the places to learn from and to judge, and the TF-IDF weights of both."""
    for one in range(folds):
        train, test = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
        known, asked = (table["text"].gather(places).to_list() for places in (train, test))
        vocabulary = Vocabulary.fit(known, _WORDS)
        yield train, test, vocabulary(known), vocabulary(asked)


_FOUND: Final = {"constant": _constant, "length": _length, "words": _words, "words-doubt": _words_doubt}
