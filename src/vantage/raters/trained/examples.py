"""From a corpus to what can be learned: the texts of items, and for every question what people answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Field, Instrument, Question
from vantage.raters.trained.base import Floats, Reading, nearest_option

Target = Literal["individual", "mean", "median", "majority"]
"""What is learned: every single judgment, or one aggregated value per item."""
TARGETS: Final[tuple[Target, ...]] = get_args(Target)
PEOPLE: Final = ("person", "slot", "author", "aggregate")


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

    def take(self, rows: NDArray[np.intp]) -> Labels:
        """Those of some items."""
        return Labels(self.question, self.shares[rows], self.score[rows])


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts with labels for one or several questions."""

    items: tuple[str, ...]
    reading: Reading
    labels: tuple[Labels, ...]
    raters: int
    judgments: int

    def take(self, rows: NDArray[np.intp]) -> Examples:
        """Some of the items, in the order of `rows`."""
        items, labels = tuple(self.items[row] for row in rows), tuple(one.take(rows) for one in self.labels)
        return Examples(items, self.reading.take(rows), labels, self.raters, self.judgments)

    def pieces(self) -> list[bytes]:
        """Texts and labels as bytes, by which a checkpoint knows what it learned from."""
        texts = json.dumps([self.reading.first, self.reading.second]).encode()
        return [texts, *(one.question.id.encode() + one.shares.tobytes() + one.score.tobytes() for one in self.labels)]

    def and_also(self, other: Examples | None) -> Examples:
        """These examples and others of the same questions, if any."""
        if other is None:
            return self
        reading, more = self.reading, other.reading
        second = None if reading.second is None else (*reading.second, *(more.second or ()))
        labels = tuple(
            Labels(a.question, np.concatenate([a.shares, b.shares]), np.concatenate([a.score, b.score]))
            for a, b in zip(self.labels, other.labels, strict=True)
        )
        return Examples(
            (*self.items, *other.items),
            Reading((*reading.first, *more.first), second),
            labels,
            max(self.raters, other.raters),
            self.judgments + other.judgments,
        )


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
    return Examples(
        tuple(items["item"]),
        reading(items, fields_of(corpus.instruments, [q.id for q in asked])),
        labels,
        judgments["rater"].n_unique(),
        len(judgments),
    )


def fields_of(instruments: Iterable[Instrument], questions: Sequence[str]) -> tuple[Field, ...]:
    """What an item shows to those who answer the questions."""
    found: dict[str, Field] = {}
    for instrument in instruments:
        if {question.id for question in instrument.questions} & set(questions):
            found |= {field.name: field for field in instrument.fields if field.name not in found}
    return tuple(found.values())


def reading(items: pl.DataFrame, fields: Sequence[Field]) -> Reading:
    """The texts of items: targets as the second part, everything else that is there as the first."""
    shown = [field for field in fields if field.name in items.columns]
    texts = [field for field in shown if field.kind != "target"]
    if not texts:
        wanted = ", ".join(f"'{field.name}'" for field in fields if field.kind != "target")
        raise InputError(f"the items have none of the columns {wanted}", remedy=f"they have {', '.join(items.columns)}")
    targets = [field for field in shown if field.kind == "target"]
    rows = items.select([field.name for field in shown]).to_dicts()
    first = tuple("\n".join(_words(row[field.name]) for field in texts).strip() for row in rows)
    if not targets:
        return Reading(first)
    return Reading(first, tuple(", ".join(_words(row[field.name]) for field in targets) for row in rows))


def _words(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(_words(turn) for turn in content)
    if isinstance(content, dict):
        return ": ".join(str(part) for part in content.values() if part is not None)
    return str(content)


def _judgments(corpus: Corpus, questions: Sequence[str], raters: Sequence[str], condition: str | None) -> pl.DataFrame:
    kinds = dict(corpus.raters.select("rater", pl.col("kind").cast(pl.String)).iter_rows())
    for rater in raters:
        if rater not in kinds:
            raise InputError(f"the corpus has no rater '{rater}'", remedy=nearest(rater, list(kinds)[:2000]))
    chosen = list(raters) or [rater for rater, kind in kinds.items() if kind in PEOPLE]
    found = corpus.judgments.filter(
        pl.col("question").is_in(list(questions)), pl.col("rater").is_in(chosen), pl.col("value").is_not_null()
    )
    if condition is not None:
        found = found.filter(pl.col("condition") == condition)
    for question in questions:
        mine = found.filter(pl.col("question") == question)
        if mine.is_empty():
            raise InputError(f"nobody answered question '{question}' here", remedy="check the corpus and its filters")
        if mine["rater"].n_unique() == 1 and not raters:
            only = mine["rater"][0]
            raise InputError(
                f"rater '{only}' alone answered question '{question}', which says nothing about people in general",
                remedy=f"name the rater to learn this one's answers on purpose (raters=['{only}'])",
            )
    return found


def _labels(
    corpus: Corpus,
    question: Question,
    judgments: pl.DataFrame,
    order: dict[str, int],
    target: Target,
    *,
    coarse: bool,
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
        found = counts.group_by("row", maintain_order=True).first().select("row", "value")
    elif not question.scale.ordered:
        raise InputError(
            f"question '{question.id}' has a nominal scale, of which there is no {target}",
            remedy="learn the majority or the individual judgments",
        )
    else:
        how = pl.col("value").median() if target == "median" else pl.col("value").mean()
        found = frame.group_by("row").agg(how)
    score = np.full(count, np.nan)
    score[found["row"].to_numpy()] = found["value"].to_numpy()
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
