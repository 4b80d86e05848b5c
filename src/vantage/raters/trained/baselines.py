"""Baselines: raters that read no words and answer what was most usual, overall or of the text or the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.models.base import note_once
from vantage.raters.trained.base import Floats, PredictedAnswers
from vantage.raters.trained.examples import Examples, Labels
from vantage.raters.trained.instances import Instances
from vantage.raters.trained.people import People
from vantage.raters.trained.saved import SavedPredictor

Baseline = Literal["majority", "mean", "median"]
TIE: Final = 1e-6
"""How much of a vote the larger group has, which decides where the smaller one is tied."""


@dataclass
class ConstantPredictor:
    """Always the same: the most frequent answer, or the mean or median of the items' scores.

    What it predicts as shares is how often each option was given, whatever the item.
    """

    how: Baseline
    questions: tuple[Question, ...]
    values: Mapping[str, float]
    shares: Mapping[str, Sequence[float]]
    spreads: Mapping[str, float]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(cls, examples: Examples, how: Baseline) -> ConstantPredictor:
        """Learns the constant of each question."""
        values, shares, spreads = {}, {}, {}
        for one in examples.labels:
            id_, scale = one.question.id, one.question.scale
            if how != "majority" and not scale.ordered:
                raise InputError(f"question '{id_}' has a nominal scale, of which there is no {how}", remedy="majority")
            score = one.score[one.answered]
            usual = np.asarray(one.shares[one.answered].mean(axis=0))
            shares[id_] = usual.tolist()
            spreads[id_] = float(np.std(score)) if scale.ordered else 0.0
            if how == "majority":
                if not scale.options:
                    raise InputError(f"question '{id_}' has no options", remedy="use mean or median")
                values[id_] = float(scale.codes[int(usual.argmax())])
            else:
                values[id_] = float(np.mean(score) if how == "mean" else np.median(score))
        return cls(how, tuple(one.question for one in examples.labels), values, shares, spreads)

    def about(self) -> dict[str, Any]:
        """Its name."""
        return {"model": self.how}

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """The constant, once per text."""
        return {question.id: self._one(question, len(instances)) for question in self.questions}

    def _one(self, question: Question, count: int) -> PredictedAnswers:
        id_ = question.id
        shares = np.tile(np.asarray(self.shares[id_]), (count, 1)) if self.shares[id_] else None
        if not question.scale.ordered:
            return PredictedAnswers(shares)
        mean: Floats = np.full(count, self.values[id_])
        return PredictedAnswers(shares, mean, np.full(count, self.spreads[id_]))

    def save(self, folder: Path, name: str) -> Mapping[str, Any]:
        """All of it is plain data."""
        return {"how": self.how, "values": self.values, "shares": self.shares, "spreads": self.spreads}

    @classmethod
    def load(cls, saved: SavedPredictor) -> ConstantPredictor:
        """Reads what `save` returned."""
        return cls(questions=saved.questions, **saved.data)


@dataclass
class CountPredictor:
    """Counts of labels: overall, and per text or user where the method looks at them."""

    how: str
    people: People
    question: Question
    overall: Floats
    counts: Mapping[str, Sequence[float]]
    """Per text or user how often each option was chosen."""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(cls, examples: Examples, how: str) -> CountPredictor:
        """Counts the labels."""
        labels = examples.labels[0]
        predictor = cls(how, examples.people or People(), labels.question, labels.shares.sum(axis=0), {})
        predictor.count(examples.instances, labels)
        return predictor

    def count(self, instances: Instances, labels: Labels) -> None:
        """Adds more labels of the texts or the users."""
        if self.how == "majority":
            return
        keys = instances.users if self.how == "user-majority" else [instances.items[row] for row in instances.text]
        counts = {key: list(before) for key, before in self.counts.items()}
        for key, label in zip(keys, labels.shares.argmax(axis=1).tolist(), strict=True):
            counts.setdefault(key, [0.0] * len(self.overall))[label] += 1
        self.counts = counts

    def about(self) -> dict[str, Any]:
        """Its name."""
        return {"model": self.how}

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """The shares of the labels in the nearest group that has any."""
        overall = self.overall / self.overall.sum()
        if self.how == "majority":
            shares = np.tile(overall, (len(instances), 1))
        elif self.how == "text-majority":
            shares = self._of_texts(instances, overall)
        else:
            shares = self._of_users(instances, overall)
        return {self.question.id: PredictedAnswers(shares)}

    def _of_texts(self, instances: Instances, overall: Floats) -> Floats:
        known = np.array([item in self.counts for item in instances.items])
        rows = np.array([_shares(self.counts.get(item), overall) for item in instances.items])
        if missing := int((~known[instances.text]).sum()):
            note_once(
                self.notes,
                f"{missing:,} of {len(instances):,} pairs are on texts that nobody judged in training; "
                "they get the majority of all.",
            )
        return np.asarray(rows[instances.text])

    def _of_users(self, instances: Instances, overall: Floats) -> Floats:
        rows: dict[str, Floats] = {}
        by_traits, by_all = 0, 0
        for user in dict.fromkeys(instances.users):
            group = overall
            alike = self.people.alike(instances.profiles[user])
            if not alike.all():
                known = [np.asarray(self.counts[u]) for u, a in zip(self.people.users, alike, strict=True) if a]
                group = _shares(np.sum(known, axis=0), overall)
            rows[user] = _shares(self.counts.get(user), group)
            by_traits += user not in self.counts and group is not overall
            by_all += user not in self.counts and group is overall
        for count, whose in ((by_traits, "the people most alike in traits"), (by_all, "all")):
            if count:
                note_once(
                    self.notes, f"{count:,} of {len(rows):,} users gave no label beforehand; they get that of {whose}."
                )
        return np.array([rows[user] for user in instances.users]).reshape(len(instances), len(overall))

    def save(self, folder: Path, name: str) -> Mapping[str, Any]:
        """All of it is plain data."""
        return {"how": self.how, "overall": self.overall.tolist(), "counts": self.counts}

    @classmethod
    def load(cls, saved: SavedPredictor) -> CountPredictor:
        """Reads what `save` returned."""
        overall = np.asarray(saved.data["overall"], dtype=np.float64)
        return cls(saved.data["how"], saved.people or People(), saved.questions[0], overall, saved.data["counts"])


def _shares(counts: Sequence[float] | Floats | None, larger: Floats) -> Floats:
    if counts is None:
        return larger
    votes = np.asarray(counts, dtype=np.float64) + TIE * larger
    return np.asarray(votes / votes.sum())
