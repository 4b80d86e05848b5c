"""A user's own earlier judgments of similar items, for prompts that show them (in-prompt augmentation).

Similarity is the cosine of TF-IDF vectors (Salton and Buckley 1988), or of any vectors that an encoder gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import Corpus
from vantage.instruments import Field, Question
from vantage.raters.item_words import item_words
from vantage.raters.prompts import Shot
from vantage.raters.shots import others

Vectors = NDArray[np.float64]
Encode = Callable[[Sequence[str]], Vectors]
"""Texts to rows of numbers; any sentence encoder will do."""


def tfidf(texts: Sequence[str]) -> Vectors:
    """Unit vectors of words, weighted by how rare a word is among the texts.

    >>> a, b, c = tfidf(["a red fox", "the red fox", "tax law"])
    >>> bool(a @ b > a @ c)
    True
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # which takes long to load

    words = TfidfVectorizer(preprocessor=str.casefold, token_pattern=r"\w+", sublinear_tf=True)  # noqa: S106
    try:
        return np.asarray(words.fit_transform(texts).toarray())
    except ValueError:  # no text has a word
        return np.zeros((len(texts), 1))


@dataclass(frozen=True, slots=True)
class History:
    """The judgments of one user, ready to be searched."""

    shots: tuple[Shot, ...]
    fields: tuple[Field, ...]
    """What an item shows, which makes two of them similar."""
    encode: Encode = tfidf

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        user: str,
        question: Question,
        fields: Sequence[Field],
        condition: str = "",
        encode: Encode = tfidf,
    ) -> History:
        """What a user answered to a question under a condition, in the order of the judgments table."""
        judged = corpus.judgments.filter(
            pl.col("rater") == user,
            pl.col("question") == question.id,
            pl.col("value").is_not_null(),
            pl.col("condition").is_in(["", condition]) if condition else True,
        ).unique("item", keep="first", maintain_order=True)
        rows = {row["item"]: row for row in corpus.items.iter_rows(named=True)}
        shots = tuple(
            Shot(rows[item], {question.id: value}, {question.id: rationale or ""})
            for item, value, rationale in judged.select("item", "value", "rationale").iter_rows()
        )
        return cls(shots, tuple(fields), encode)

    def similar(self, item: Mapping[str, Any], count: int) -> list[Shot]:
        """The `count` most similar earlier items, the most similar last; fewer where there are not so many.

        The item itself, and any other with its text, is left out. Ties go to the earlier judgment.
        """
        known = others(self.shots, item, self.fields)
        if not known:
            return []
        vectors = self.encode([item_words(one, self.fields) for one in (item, *(shot.item for shot in known))])
        likeness = vectors[1:] @ vectors[0]
        nearest = np.argsort(-likeness, kind="stable")[:count]
        return [known[n] for n in reversed(nearest)]
