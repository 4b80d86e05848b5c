"""Baselines: raters that look at no text and always answer what was most usual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.trained.base import Floats, Predicted, Reading
from vantage.raters.trained.examples import Examples

Baseline = Literal["majority", "mean", "median"]


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

    def predict(self, reading: Reading) -> dict[str, Predicted]:
        """The constant, once per text."""
        return {question.id: self._one(question, len(reading)) for question in self.questions}

    def _one(self, question: Question, count: int) -> Predicted:
        id_ = question.id
        shares = np.tile(np.asarray(self.shares[id_]), (count, 1)) if self.shares[id_] else None
        if not question.scale.ordered:
            return Predicted(shares)
        mean: Floats = np.full(count, self.values[id_])
        return Predicted(shares, mean, np.full(count, self.spreads[id_]))

    def save(self, folder: Path, name: str) -> Mapping[str, Any]:
        """All of it is plain data."""
        return {"how": self.how, "values": self.values, "shares": self.shares, "spreads": self.spreads}

    @classmethod
    def load(cls, folder: Path, name: str, data: Mapping[str, Any], questions: Sequence[Question]) -> ConstantPredictor:
        """Reads what `save` gave."""
        return cls(data["how"], tuple(questions), data["values"], data["shares"], data["spreads"])
