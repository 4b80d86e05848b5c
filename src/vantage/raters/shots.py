"""Worked examples for few-shot prompts: the instrument's own, people's answers in a training part, a user's history.

Examples are balanced over the answers, and never the item that is being judged or another with the same text. A history
(in-prompt augmentation) is of the most similar items: by the cosine of TF-IDF vectors (Salton and Buckley 1988), or of
any vectors that an encoder gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Field, Instrument, Question
from vantage.raters.item_words import item_key, item_words
from vantage.raters.prompts import Shot


def instrument_shots(instrument: Instrument, questions: Sequence[Question], condition: str = "") -> list[Shot]:
    """The instrument's worked examples that answer all the questions under a condition."""
    ids = [question.id for question in questions]
    fitting = [e for e in instrument.examples if set(ids) <= set(e.answers)]
    if condition:
        fitting = [e for e in fitting if e.condition in ("", condition)]
    return [
        Shot(e.item, {q: e.answers[q].answer for q in ids}, {q: e.answers[q].reason for q in ids}, refers=True)
        for e in fitting
    ]


def corpus_shots(training: Corpus, questions: Sequence[Question], condition: str = "") -> list[Shot]:
    """Items of a training corpus with the answer that most people gave under a condition; ties go to the lower code.

    Raters who are marked as excluded do not count, and of a person's repetitions only the first does.
    """
    if any(question.shares or (question.whole and question.whole.ranked) or question.marks for question in questions):
        return []  # the one answer of most people is no distribution, and their places may be no ranking
    ids = [question.id for question in questions]
    people = training.included().people().judgments
    if condition:
        people = people.filter(pl.col("condition").is_in(["", condition]))
    answered = people.filter(pl.col("value").is_not_null()).sort("sample", maintain_order=True)
    people = answered.unique(["item", "question", "rater"], keep="first", maintain_order=True)
    people = pl.concat([people, *_in_bands(people, training, questions)])
    answers = (
        people.filter(pl.col("question").is_in(ids))
        .group_by("item", "question", "value")
        .len()
        .sort("item", "question", "len", "value", descending=[False, False, True, False])
        .group_by("item", "question", maintain_order=True)
        .first()
    )
    reasons = (
        people.filter(pl.col("rationale").is_not_null())
        .group_by("item", "question", "value", maintain_order=True)
        .agg(pl.col("rationale").first())
    )
    answers = answers.join(reasons, on=["item", "question", "value"], how="left", maintain_order="left")
    by_item: dict[str, dict[str, tuple[float, str]]] = {}
    for item, question, value, _, reason in answers.iter_rows():
        by_item.setdefault(item, {})[question] = (value, reason or "")
    rows = {row["item"]: row for row in training.items.iter_rows(named=True)}
    return [
        Shot(rows[item], {q: answered[q][0] for q in ids}, {q: answered[q][1] for q in ids})
        for item, answered in by_item.items()
        if set(ids) <= set(answered)
    ]


def _in_bands(people: pl.DataFrame, training: Corpus, questions: Sequence[Question]) -> Iterator[pl.DataFrame]:
    """What people answered on the full scale as answers to the coarse questions, which nobody was asked."""
    known = {question.id: question.scale for question in training.questions}
    for question in questions:
        scale = known.get(question.id.removesuffix("-coarse"))
        if scale is None or not scale.bands or question.id in people["question"]:
            continue
        mine = people.filter(pl.col("question") == question.id.removesuffix("-coarse"))
        codes = {option.label: option.code for option in question.scale.options}
        banded = {value: codes.get(scale.band(value) or "") for value in mine["value"].unique()}
        yield mine.with_columns(
            pl.lit(question.id).alias("question"),
            pl.col("value").replace_strict(banded, default=None, return_dtype=pl.Float64),
        )


def others(pool: Sequence[Shot], item: Mapping[str, Any], fields: Sequence[Field]) -> list[Shot]:
    """The examples that are neither the item itself nor another with the same text in the fields that are shown."""
    text = item_key(item, fields)
    return [
        shot for shot in pool if item_key(shot.item, fields) != text and shot.item.get("item", 0) != item.get("item", 1)
    ]


def choose(
    pool: Sequence[Shot], count: int, question: str, item: Mapping[str, Any], seed: int, fields: Sequence[Field]
) -> list[Shot]:
    """`count` examples from a pool, balanced over the answers to a question, in an order drawn from the seed.

    The item itself, and any example with the same text, is never chosen.
    """
    allowed = others(pool, item, fields)
    if len(allowed) < count:
        raise InputError(
            f"there are {len(allowed)} worked examples for question '{question}', {count} were asked for",
            remedy="ask for fewer or draw them from a training part",
        )
    rng = np.random.default_rng(seed)
    by_answer: dict[str, list[Shot]] = {}
    for index in rng.permutation(len(allowed)):
        by_answer.setdefault(str(allowed[index].answers[question]), []).append(allowed[index])
    chosen: list[Shot] = []
    while len(chosen) < count:
        for answer in sorted(by_answer):
            if by_answer[answer] and len(chosen) < count:
                chosen.append(by_answer[answer].pop())
    return [chosen[index] for index in rng.permutation(count)]


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
