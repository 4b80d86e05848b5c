"""Kernel ridge regression on vectors of texts, in which texts about the same target say more than others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.instruments import Question
from vantage.raters.trained.base import Floats, ItemTexts, PredictedAnswers
from vantage.raters.trained.examples import Labels

RIDGE: Final = 0.3
ANY_TARGET: Final = 0.5
"""What a text about another target weighs, where one about the same target weighs 1 more."""


@dataclass(frozen=True, slots=True)
class KernelRegression:
    """The texts that were learned from, as vectors, and what each adds to the answers about others."""

    vectors: Floats
    """Text, view, dimension: one text can be seen in several ways. Each has length 1."""
    centres: Floats
    spreads: Floats
    """View, dimension: by what vectors are moved and scaled before they are compared."""
    targets: tuple[str, ...]
    target: NDArray[np.intp]
    """Which of the targets each text is about."""
    base: Mapping[str, Floats]
    """Per question what is answered about a text that is like no other."""
    parts: Mapping[str, Floats]
    """Per question what each text adds."""

    @classmethod
    def fit(cls, views: Floats, reading: ItemTexts, labels: Sequence[Labels]) -> KernelRegression:
        """Learns from vectors of texts (text, view, dimension): the shares of options, or a number without options."""
        centres, spreads = views.mean(axis=0), views.std(axis=0)
        targets = tuple(sorted(set(reading.second or ("",))))
        target = _places(reading, targets)
        vectors = _scaled(views, centres, spreads)
        alike = _alike(vectors, vectors, target, target)
        base, parts = {}, {}
        for one in labels:
            there = np.flatnonzero(one.answered)
            answers = one.shares[there] if one.shares.shape[1] else one.score[there, None]
            # A part of a corpus may have no answer at all to a question that was asked of few.
            base[one.question.id] = answers.mean(axis=0) if len(there) else np.full(answers.shape[1], 0.5)
            added = np.zeros((len(views), answers.shape[1]))
            ridge = alike[np.ix_(there, there)] + RIDGE * np.eye(len(there))
            added[there] = np.linalg.solve(ridge, answers - base[one.question.id])
            parts[one.question.id] = added
        return cls(vectors, centres, spreads, targets, target, base, parts)

    def predict(
        self, views: Floats, reading: ItemTexts, questions: Sequence[Question], errors: Mapping[str, float]
    ) -> dict[str, PredictedAnswers]:
        """What texts that are alike say about others.

        Args:
            views: The vectors of the texts.
            reading: The texts, for their targets.
            questions: Those that were learned.
            errors: Per question the spread of a predicted number, for scales without options.
        """
        vectors = _scaled(views, self.centres, self.spreads)
        alike = _alike(vectors, self.vectors, _places(reading, self.targets), self.target)
        predictions = {}
        for question in questions:
            said = self.base[question.id] + alike @ self.parts[question.id]
            if question.scale.options:
                predictions[question.id] = PredictedAnswers.of_shares(np.maximum(said, 1e-6), question.scale)
            else:
                predictions[question.id] = PredictedAnswers.of_numbers(said[:, 0], errors[question.id], question.scale)
        return predictions

    def save(self, file: Path) -> dict[str, Any]:
        """Writes the arrays into one file, without pickle; gives the rest as plain data."""
        arrays: dict[str, Any] = {"vectors": self.vectors.astype(np.float32), "target": self.target}
        arrays |= {"centres": self.centres, "spreads": self.spreads}
        for n, id_ in enumerate(self.base):
            arrays |= {f"base.{n}": self.base[id_], f"parts.{n}": self.parts[id_]}
        with file.open("wb") as opened:
            np.savez_compressed(opened, **arrays)
        return {"targets": list(self.targets), "questions": list(self.base)}

    @classmethod
    def load(cls, file: Path, data: Mapping[str, Any]) -> KernelRegression:
        """Reads what `save` wrote."""
        with np.load(file, allow_pickle=False) as arrays:
            base = {id_: arrays[f"base.{n}"] for n, id_ in enumerate(data["questions"])}
            parts = {id_: arrays[f"parts.{n}"] for n, id_ in enumerate(data["questions"])}
            plain = arrays["vectors"].astype(np.float64), arrays["centres"], arrays["spreads"]
            return cls(*plain, tuple(data["targets"]), arrays["target"], base, parts)


def _places(reading: ItemTexts, targets: Sequence[str]) -> NDArray[np.intp]:
    """Which target each text is about; -1 for one that is not among them."""
    place = {target: n for n, target in enumerate(targets)}
    return np.array([place.get(target, -1) for target in reading.second or ("",) * len(reading)], dtype=np.intp)


def _scaled(views: Floats, centres: Floats, spreads: Floats) -> Floats:
    """Rounded as they are stored, so that a saved rater judges as the fitted one did."""
    moved = (views - centres) / (spreads + 1e-6)
    moved = moved / np.maximum(np.linalg.norm(moved, axis=2, keepdims=True), 1e-12)
    return np.asarray(moved.astype(np.float32), dtype=np.float64)


def _alike(one: Floats, other: Floats, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
    """How alike texts are in the mean over views, between 0 and 1, times what their targets make of it."""
    close = np.mean([np.exp(one[:, n] @ other[:, n].T - 1) for n in range(one.shape[1])], axis=0)
    return np.asarray(close * (ANY_TARGET + (first[:, None] == second)))
