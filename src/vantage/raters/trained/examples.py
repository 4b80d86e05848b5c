"""What is judged and learned: texts, or pairs of a text and a user, and for every question what people answered.

A rater of texts is a rater of pairs without users. No text stands on both sides of a split, so that nothing is tested
on what was learned by heart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.instruments import Field, Instrument, Question
from vantage.raters.item_words import content_words, item_words, key
from vantage.raters.trained.base import Floats, ItemTexts, PredictedAnswers, nearest_option
from vantage.raters.trained.people import People, Profile, profiles_of

Rows: TypeAlias = NDArray[np.intp]


def shared_texts(one: ItemTexts | Sequence[str], other: ItemTexts | Sequence[str]) -> list[str]:
    """The texts of the second part that stand in the first as well, whatever their targets.

    >>> shared_texts(["A b.", "c"], ["a B", "d"])
    ['a B']
    """
    first = {key(text) for text in _texts(one)}
    return list(dict.fromkeys(text for text in _texts(other) if key(text) in first))


def refuse_shared(parts: dict[str, ItemTexts]) -> None:
    """Refuses parts of a split that share texts, and says which."""
    for (one, first), (other, second) in combinations(parts.items(), 2):
        if shared := shared_texts(first, second):
            shown = "; ".join(f"'{text[:60]}{'…' if len(text) > 60 else ''}'" for text in shared[:3])
            count = "1 text" if len(shared) == 1 else f"{len(shared):,} texts"
            more = "" if len(shared) <= 3 else " and more"
            raise InputError(
                f"{one} and {other} share {count}: {shown}{more}",
                remedy="keep every item of a text on one side of the split",
            )


def grouped_folds(texts: Sequence[str], count: int, seed: int) -> Rows:
    """The fold of each text, drawn at random; equal texts are always in the same one.

    >>> folds = grouped_folds(["a", "b", "A", "c"], 2, seed=0)
    >>> bool(folds[0] == folds[2]), sorted(set(folds.tolist()))
    (True, [0, 1])
    """
    keys = [key(text) for text in texts]
    different = sorted(set(keys))
    if len(different) < count:
        raise InputError(
            f"there are {len(different)} different texts for {count} folds", remedy="give more items or fewer folds"
        )
    order = np.random.default_rng(seed).permutation(len(different))
    fold = {different[n]: place % count for place, n in enumerate(order)}
    return np.array([fold[k] for k in keys], dtype=np.intp)


def _texts(part: ItemTexts | Sequence[str]) -> Sequence[str]:
    return part.first if isinstance(part, ItemTexts) else part


@dataclass(frozen=True, slots=True)
class Instances:
    """Some texts or pairs, with everything that a model may know of them; each text is there once."""

    texts: ItemTexts
    text: Rows
    """Per instance the row of its text."""
    users: tuple[str, ...] = ()
    """Per pair the user; empty where texts are judged."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """The trait values of each user."""
    items: tuple[str, ...] = ()
    """The ids of the texts."""

    def __len__(self) -> int:
        return len(self.text)

    @classmethod
    def of_texts(cls, texts: ItemTexts, items: tuple[str, ...] = ()) -> Instances:
        """Each text once, without users."""
        return cls(texts, np.arange(len(texts), dtype=np.intp), items=items)

    @classmethod
    def of_pairs(cls, pairs: pl.DataFrame, corpus: Corpus, question: str, traits: Sequence[str]) -> Instances:
        """From rows of `item` and `rater`, with texts and traits from a corpus."""
        for column in ("item", "rater"):
            if column not in pairs.columns:
                raise InputError(
                    f"the pairs have no column '{column}'", remedy=nearest(column, pairs.columns) or "they need it"
                )
        wanted = pairs["item"].cast(pl.String)
        items = corpus.items.join(pl.DataFrame({"item": wanted.unique()}), on="item", how="semi")
        row = {item: n for n, item in enumerate(items["item"])}
        if strange := [item for item in wanted.unique(maintain_order=True) if item not in row]:
            some = ", ".join(f"'{item}'" for item in strange[:3])
            raise InputError(f"{len(strange)} texts are not in the corpus, such as {some}", remedy="check the ids")
        users = tuple(pairs["rater"].cast(pl.String))
        return cls(
            reading(items, fields_of(corpus.instruments, [question])),
            np.array([row[item] for item in wanted], dtype=np.intp),
            users,
            profiles_of(corpus, users, traits),
            tuple(items["item"]),
        )

    def take(self, rows: Rows) -> Instances:
        """Some of the instances; the texts stay as they are."""
        users = tuple(self.users[row] for row in rows) if self.users else ()
        return replace(self, text=self.text[rows], users=users)

    def split(self, parts: int, seed: int, kept: frozenset[str] = frozenset()) -> tuple[Rows, Rows]:
        """Rows to learn from, and rows that decide when to stop: one part of the texts, all pairs of each.

        Texts of the items in `kept` are learned from, unless more than half of all texts are in it.
        """
        if 2 * len(kept & set(self.items)) > len(self.items):
            kept = frozenset()
        folds = grouped_folds(self.texts.first, parts, seed)
        # Equal texts under two ids stay on one side, also where only one of the two is kept.
        keys = [key(text) for text in self.texts.first]
        learned = {text for item, text in zip(self.items, keys, strict=True) if item in kept}
        held = np.array([fold == 0 and text not in learned for fold, text in zip(folds, keys, strict=True)])
        aside = (held if held.any() else folds == 0)[self.text]
        return np.flatnonzero(~aside), np.flatnonzero(aside)


def fields_of(instruments: Iterable[Instrument], questions: Sequence[str]) -> tuple[Field, ...]:
    """What an item shows to those who answer the questions."""
    fields: dict[str, Field] = {}
    for instrument in instruments:
        if {question.id for question in instrument.questions} & set(questions):
            fields |= {field.name: field for field in instrument.fields if field.name not in fields}
    return tuple(fields.values())


def reading(items: pl.DataFrame, fields: Sequence[Field]) -> ItemTexts:
    """The texts of items: targets as the second part, everything else that is there as the first."""
    shown = [field for field in fields if field.name in items.columns]
    texts = [field for field in shown if field.kind != "target"]
    if not texts:
        wanted = ", ".join(f"'{field.name}'" for field in fields if field.kind != "target")
        raise InputError(f"the items have none of the columns {wanted}", remedy=f"they have {', '.join(items.columns)}")
    targets = [field for field in shown if field.kind == "target"]
    rows = items.select([field.name for field in shown]).to_dicts()
    first = tuple(item_words(row, texts) for row in rows)
    if not targets:
        return ItemTexts(first)
    return ItemTexts(first, tuple(", ".join(content_words(row[field.name]) for field in targets) for row in rows))


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
    frame = pl.DataFrame({"row": rows, "value": values})
    if target == "majority" or (target == "individual" and not question.scale.ordered):
        counts = frame.group_by("row", "value").len().sort("row", "len", "value", descending=[False, True, False])
        scores = counts.group_by("row", maintain_order=True).first().select("row", "value")
    elif not question.scale.ordered:
        raise InputError(
            f"question '{question.id}' has a nominal scale, which has no {target}",
            remedy="learn the majority or the individual judgments",
        )
    else:
        how = pl.col("value").median() if target == "median" else pl.col("value").mean()
        scores = frame.group_by("row").agg(how)
    score = np.full(count, np.nan)
    score[scores["row"].to_numpy()] = scores["value"].to_numpy()
    return score


def instrument_of(corpus: Corpus, questions: Sequence[str]) -> Instrument:
    """The instrument of the corpus that has all of the questions."""
    for id_ in questions:
        corpus.question(id_)
    for instrument in corpus.instruments:
        if set(questions) <= {question.id for question in instrument.questions}:
            return instrument
    raise InputError(
        f"the questions {', '.join(questions)} belong to different instruments", remedy="fit one rater per instrument"
    )


def _coarse(corpus: Corpus, question: Question) -> Question:
    if not question.scale.bands:
        raise InputError(f"the scale of question '{question.id}' has no bands", remedy="learn its options")
    return instrument_of(corpus, [question.id]).coarse().question(f"{question.id}-coarse")


def _banded(values: Floats, question: Question, coarse: Question) -> Floats:
    code = {option.label: option.code for option in coarse.scale.options}
    return np.array([code[question.scale.band(float(value)) or ""] for value in values], dtype=np.float64)


def goodness(answers: PredictedAnswers, labels: Labels, *, by_label: bool = False) -> float:
    """How good predictions are: rank correlation with the scores, or macro F1 `by_label` or where there is no order."""
    there = labels.answered
    if not there.any():
        return 0.0
    if answers.mean is not None and not by_label:
        return spearman(answers.mean[there], labels.score[there])
    from sklearn.metrics import f1_score

    truth = labels.shares[there].argmax(axis=1)
    return float(f1_score(truth, answers.place[there], average="macro", zero_division=0))


def held_out(parts: Sequence[tuple[PredictedAnswers, Labels]], *, by_label: bool = False) -> tuple[float, float]:
    """Over held-out parts: the root mean squared error, and the mean goodness."""
    scores = [goodness(*part, by_label=by_label) for part in parts]
    return root_mean_squared_error(parts), float(np.mean(scores))


def root_mean_squared_error(parts: Sequence[tuple[PredictedAnswers, Labels]]) -> float:
    """The error of all predicted means; 0 where there are none."""
    errors = [(answers.mean - labels.score)[labels.answered] for answers, labels in parts if answers.mean is not None]
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2))) if errors else 0.0


def spearman(one: Floats, other: Floats) -> float:
    """Rank correlation; 0 where one side does not vary, so that training can go on."""
    from vantage.measures import coefficient

    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return coefficient(one, other, "spearman")
