"""Baselines: raters that read no words and answer what was most usual, overall or of the text or the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.models.base import note_once
from vantage.raters.trained.base import Floats, PredictedAnswers
from vantage.raters.trained.examples import Examples, Instances, Labels
from vantage.raters.trained.people import People
from vantage.raters.trained.saved import SavedPredictor

BASELINES: Final = ("majority", "mean", "median", "text-majority", "user-majority")
TIE: Final = 1e-6
"""How much of a vote the larger group has, which decides where the smaller one is tied."""


@dataclass
class BaselinePredictor:
    """The most frequent answer, or the mean or median of the items' scores.

    What it predicts as shares is how often each option was given: to all, or to the text or by the user where the
    baseline looks at them.
    """

    how: str
    questions: tuple[Question, ...]
    people: People | None
    values: dict[str, float] = field(default_factory=dict)
    shares: dict[str, Sequence[float]] = field(default_factory=dict)
    spreads: dict[str, float] = field(default_factory=dict)
    counts: dict[str, list[float]] = field(default_factory=dict)
    """Per text or user how often each option was chosen."""
    notes: list[str] = field(default_factory=list)
    aside: None = None

    @classmethod
    def fit(cls, examples: Examples, how: str) -> BaselinePredictor:
        """Learns what is usual for each question."""
        predictor = cls(how, tuple(one.question for one in examples.labels), examples.people)
        for one in examples.labels:
            id_, scale = one.question.id, one.question.scale
            score = one.score[one.answered]
            usual = np.asarray(one.shares[one.answered].mean(axis=0))
            predictor.shares[id_] = usual.tolist()
            predictor.spreads[id_] = float(np.std(score)) if scale.ordered else 0.0
            if how in ("mean", "median"):
                if not scale.ordered:
                    problem = f"question '{id_}' has a nominal scale, which has no {how}"
                    raise InputError(problem, remedy="majority")
                predictor.values[id_] = float(np.mean(score) if how == "mean" else np.median(score))
            else:
                if not scale.options:
                    raise InputError(f"question '{id_}' has no options", remedy="use mean or median")
                predictor.values[id_] = float(scale.codes[int(usual.argmax())])
        predictor.count(examples.instances, examples.labels[0])
        return predictor

    def count(self, instances: Instances, labels: Labels) -> None:
        """Adds labels of texts or users."""
        if self.how not in ("text-majority", "user-majority"):
            return
        keys = instances.users if self.how == "user-majority" else [instances.items[row] for row in instances.text]
        for key, label in zip(keys, labels.shares.argmax(axis=1).tolist(), strict=True):
            self.counts.setdefault(key, [0.0] * labels.shares.shape[1])[label] += 1

    def about(self) -> dict[str, Any]:
        """Its name."""
        return {"model": self.how}

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """What is usual, overall or in the nearest group of which anything is known."""
        if self.how in ("text-majority", "user-majority"):
            id_ = self.questions[0].id
            of_group = self._of_texts if self.how == "text-majority" else self._of_users
            return {id_: PredictedAnswers(of_group(instances, np.asarray(self.shares[id_])))}
        return {question.id: self._one(question, len(instances)) for question in self.questions}

    def _one(self, question: Question, count: int) -> PredictedAnswers:
        id_ = question.id
        shares = np.tile(np.asarray(self.shares[id_]), (count, 1)) if self.shares[id_] else None
        if not question.scale.ordered:
            return PredictedAnswers(shares)
        mean: Floats = np.full(count, self.values[id_])
        return PredictedAnswers(shares, mean, np.full(count, self.spreads[id_]))

    def _of_texts(self, instances: Instances, overall: Floats) -> Floats:
        known = np.array([item in self.counts for item in instances.items])
        rows = np.array([_shares(self.counts.get(item), overall) for item in instances.items])
        if missing := int((~known[instances.text]).sum()):
            note_once(
                self.notes,
                f"{missing:,} of {len(instances):,} pairs are about texts that nobody judged in training; "
                "they get the overall majority.",
            )
        return np.asarray(rows[instances.text])

    def _of_users(self, instances: Instances, overall: Floats) -> Floats:
        people, rows = self.people or People(), dict[str, Floats]()
        by_traits, by_all = 0, 0
        for user in dict.fromkeys(instances.users):
            group = overall
            alike = people.alike(instances.profiles[user])
            if not alike.all():
                known = [np.asarray(self.counts[u]) for u, a in zip(people.users, alike, strict=True) if a]
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
        return {name: getattr(self, name) for name in ("how", "values", "shares", "spreads", "counts")}

    @classmethod
    def load(cls, saved: SavedPredictor) -> BaselinePredictor:
        """Reads what `save` returned."""
        return cls(questions=saved.questions, people=saved.people, **saved.data)


def _shares(counts: Sequence[float] | Floats | None, larger: Floats) -> Floats:
    if counts is None:
        return larger
    votes = np.asarray(counts, dtype=np.float64) + TIE * larger
    return np.asarray(votes / votes.sum())
