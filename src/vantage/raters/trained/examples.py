"""From a corpus to what can be learned: the texts of items, and for every question what people answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.raters.trained.base import Floats, ItemTexts, nearest_option
from vantage.raters.trained.instances import Instances, Rows, fields_of, grouped_folds, reading
from vantage.raters.trained.people import People

Target = Literal["individual", "mean", "median", "majority"]
"""What is learned: every single judgment, or one aggregated value per item."""
TARGETS: Final[tuple[Target, ...]] = get_args(Target)


@dataclass(frozen=True, slots=True)
class Labels:
    """What there is to learn about one question; a row of NaN is an item that nobody answered it for."""

    question: Question
    shares: Floats
    """Per item the share of each option among the answers, or all on the aggregated one; no columns without options."""
    score: Floats
    """Per item the mean of the answers, or the aggregated value."""

    @property
    def answered(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which items have an answer."""
        return ~np.isnan(self.score)

    def take(self, rows: Rows) -> Labels:
        """Those of some items."""
        return Labels(self.question, self.shares[rows], self.score[rows])


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts or pairs with labels for one or several questions."""

    instances: Instances
    labels: tuple[Labels, ...]
    raters: int
    judgments: int
    people: People | None = None
    """The users of pairs; null where texts are judged."""
    kept: frozenset[str] = frozenset()
    """Items whose pairs are never held out."""

    def splits(self, folds: int, seed: int, validation: Examples | None) -> list[tuple[Rows, Rows]]:
        """Rows to learn from and rows held out.

        With a validation part one split, whose rows follow those to learn from; for pairs also one; otherwise as many
        as there are folds, each held out in turn.
        """
        count = len(self.instances)
        if validation is not None:
            return [(np.arange(count), np.arange(count, count + len(validation.instances)))]
        if self.people is not None:
            return [self.instances.split(folds, seed, self.kept)]
        fold = grouped_folds(self.instances.texts.first, folds, seed)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)]

    def and_also(self, other: Examples | None) -> Examples:
        """These texts and others with labels for the same questions, if any."""
        if other is None:
            return self
        texts, more = self.instances.texts, other.instances.texts
        second = None if texts.second is None else (*texts.second, *(more.second or ()))
        labels = tuple(
            Labels(a.question, np.concatenate([a.shares, b.shares]), np.concatenate([a.score, b.score]))
            for a, b in zip(self.labels, other.labels, strict=True)
        )
        return replace(
            self, instances=Instances.of_texts(ItemTexts((*texts.first, *more.first), second)), labels=labels
        )

    def pieces(self) -> list[bytes]:
        """Texts, who judged them where pairs are, and labels, as bytes: what a rater or a checkpoint learned from."""
        texts, pairs = self.instances.texts, [self.instances.users, self.instances.text.tolist()]
        read = json.dumps([texts.first, texts.second, *(pairs if self.instances.users else ())]).encode()
        return [read, *(one.question.id.encode() + one.shares.tobytes() + one.score.tobytes() for one in self.labels)]


def examples(
    corpus: Corpus,
    questions: Sequence[str],
    *,
    target: Target = "individual",
    coarse: bool = False,
    raters: Sequence[str] = (),
    condition: str | None = None,
) -> Examples:
    """What people answered, item by item.

    Args:
        corpus: Items and judgments.
        questions: The questions by their ids.
        target: Every judgment, or the mean, the median or the majority per item (ties go to the lower code).
        coarse: The bands of the scale instead of its options; a mean or median is taken before it is put into a band.
        raters: Whose judgments count; people's where none is named.
        condition: Judgments under one condition only.
    """
    if target not in TARGETS:
        raise InputError(f"there is no target '{target}'", remedy=nearest(target, list(TARGETS)))
    asked = [corpus.question(id_) for id_ in questions]
    judgments = _judgments(corpus, [q.id for q in asked], raters, condition)
    known = set(judgments["item"])
    items = corpus.items.filter(pl.col("item").is_in(list(known)))
    order = {item: row for row, item in enumerate(items["item"])}
    labels = tuple(_labels(corpus, question, judgments, order, target, coarse=coarse) for question in asked)
    texts = reading(items, fields_of(corpus.instruments, [q.id for q in asked]))
    instances = Instances.of_texts(texts, tuple(items["item"]))
    return Examples(instances, labels, judgments["rater"].n_unique(), len(judgments))


def answers_of(corpus: Corpus, raters: Sequence[str] = ()) -> pl.DataFrame:
    """What is learned from: the answers of some raters, or of all people who are not excluded, repetitions left out.

    Authors, and then labels that others put together, count where no person judged.
    """
    known = corpus.raters["rater"].to_list()
    for rater in raters:
        if rater not in known:
            raise InputError(f"the corpus has no rater '{rater}'", remedy=nearest(rater, known[:2000]))
    of_kind = dict(corpus.included().raters.group_by(pl.col("kind").cast(pl.String)).agg("rater").iter_rows())
    people = [rater for kind in PEOPLE for rater in of_kind.get(kind, ())]
    chosen = list(raters) or people or of_kind.get("author") or of_kind.get("aggregate") or []
    answered = corpus.judgments.filter(pl.col("rater").is_in(chosen), pl.col("value").is_not_null())
    once = ["item", "question", "rater", "condition"]
    return answered.sort("sample", maintain_order=True).unique(once, keep="first", maintain_order=True)


def _judgments(corpus: Corpus, questions: Sequence[str], raters: Sequence[str], condition: str | None) -> pl.DataFrame:
    judged = answers_of(corpus, raters).filter(pl.col("question").is_in(list(questions)))
    if condition is not None:
        judged = judged.filter(pl.col("condition") == condition)
    for question in questions:
        mine = judged.filter(pl.col("question") == question)
        if mine.is_empty():
            raise InputError(f"nobody answered question '{question}' here", remedy="check the corpus and its filters")
        if mine["rater"].n_unique() == 1 and not raters:
            only = mine["rater"][0]
            raise InputError(
                f"rater '{only}' alone answered question '{question}', which says nothing about people in general",
                remedy=f"name the rater to learn this one's answers on purpose (raters=['{only}'])",
            )
    return judged


def _labels(
    corpus: Corpus, question: Question, judgments: pl.DataFrame, order: dict[str, int], target: Target, *, coarse: bool
) -> Labels:
    asked = _coarse(corpus, question) if coarse else question
    mine = judgments.filter(pl.col("question") == question.id)
    rows = mine["item"].replace_strict(order, return_dtype=pl.Int64).to_numpy()
    values = mine["value"].to_numpy()
    if coarse and target in ("individual", "majority"):
        values = _banded(values, question, asked)
    score = _aggregated(rows, values, len(order), target, corpus.question(question.id))
    if coarse and target in ("mean", "median"):
        there = ~np.isnan(score)
        score[there] = _banded(score[there], question, asked)
    codes = np.asarray(asked.scale.codes)
    shares = np.full((len(order), len(codes)), np.nan)
    answered = ~np.isnan(score)
    if len(codes):
        shares[answered] = 0.0
        if target == "individual":
            np.add.at(shares, (rows, nearest_option(values, codes)), 1.0)
            shares[answered] /= shares[answered].sum(axis=1, keepdims=True)
        else:
            shares[answered, nearest_option(score[answered], codes)] = 1.0
    return Labels(asked, shares, score)


def _aggregated(rows: np.ndarray[Any, Any], values: Floats, count: int, target: Target, question: Question) -> Floats:
    """One value per item."""
    frame = pl.DataFrame({"row": rows, "value": values})
    if target == "majority" or (target == "individual" and not question.scale.ordered):
        counts = frame.group_by("row", "value").len().sort("row", "len", "value", descending=[False, True, False])
        scores = counts.group_by("row", maintain_order=True).first().select("row", "value")
    elif not question.scale.ordered:
        raise InputError(
            f"question '{question.id}' has a nominal scale, of which there is no {target}",
            remedy="learn the majority or the individual judgments",
        )
    else:
        how = pl.col("value").median() if target == "median" else pl.col("value").mean()
        scores = frame.group_by("row").agg(how)
    score = np.full(count, np.nan)
    score[scores["row"].to_numpy()] = scores["value"].to_numpy()
    return score


def _coarse(corpus: Corpus, question: Question) -> Question:
    for instrument in corpus.instruments:
        if any(one.id == question.id for one in instrument.questions):
            if not question.scale.bands:
                raise InputError(f"the scale of question '{question.id}' has no bands", remedy="learn its options")
            return instrument.coarse().question(f"{question.id}-coarse")
    raise AssertionError("a question of the corpus stands in one of its instruments")


def _banded(values: Floats, question: Question, coarse: Question) -> Floats:
    code = {option.label: option.code for option in coarse.scale.options}
    return np.array([code[question.scale.band(float(value)) or ""] for value in values], dtype=np.float64)
