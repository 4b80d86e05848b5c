"""What is known of similar texts: kernel ridge regression on the vectors of an encoder that has learned nothing yet.

A fine-tuned encoder forgets some of what it knew. Texts that were alike to it before, above all those about the same
target, say a little that it no longer does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.instruments import Question
from vantage.raters.models.extras import require
from vantage.raters.trained.base import Floats, Predicted, Reading
from vantage.raters.trained.examples import Labels

LAYERS: Final = 2
"""How many of the last layers give a vector of the text."""
MOST: Final = 5_000
"""Of how many texts neighbours are remembered; the time to find them grows with the square."""
_REACH: Final = 2.0
_RIDGE: Final = 0.3
_ANYONE: Final = 0.5
"""What a text about another target weighs, where one about the same target weighs 1 more."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The texts that were learned from, as vectors, and what each adds to the answers about others."""

    vectors: Floats
    """One row per text: its layers one after the other, each without the common part, the whole of length 1."""
    centres: Floats
    """The common part of each layer."""
    targets: tuple[str, ...]
    target: NDArray[np.intp]
    """Which of the targets each text is about."""
    base: Mapping[str, Floats]
    """Per question what is answered about a text without neighbours."""
    parts: Mapping[str, Floats]
    """Per question what each text adds."""

    @classmethod
    def fit(cls, layers: Floats, reading: Reading, labels: Sequence[Labels], numbers: Sequence[bool]) -> Neighbours:
        """Learns from layers of texts (text, layer, dimension).

        Args:
            layers: The vectors of the texts.
            reading: The texts, for their targets.
            labels: What people answered, question by question.
            numbers: Whether a question is answered by a number rather than by the shares of the options.
        """
        centres = layers.mean(axis=0)
        targets = tuple(sorted(set(reading.second or ("",))))
        target = _places(reading, targets)
        vectors = _vectors(layers, centres)
        nearness = _nearness(vectors, vectors, target, target)
        base, parts = {}, {}
        for one, number in zip(labels, numbers, strict=True):
            there = np.flatnonzero(one.answered)
            answers = one.score[there, None] if number else one.shares[there]
            base[one.question.id] = answers.mean(axis=0)
            added = np.zeros((len(layers), answers.shape[1]))
            ridge = nearness[np.ix_(there, there)] + _RIDGE * np.eye(len(there))
            added[there] = np.linalg.solve(ridge, answers - base[one.question.id])
            parts[one.question.id] = added
        return cls(vectors, centres, targets, target, base, parts)

    def predict(
        self, layers: Floats, reading: Reading, questions: Sequence[Question], spreads: Mapping[str, float]
    ) -> dict[str, Predicted]:
        """What the neighbours of texts say about them; of targets that were not met, every text knows half."""
        nearness = _nearness(_vectors(layers, self.centres), self.vectors, _places(reading, self.targets), self.target)
        found = {}
        for question in questions:
            said = self.base[question.id] + nearness @ self.parts[question.id]
            if said.shape[1] == 1:
                found[question.id] = Predicted.of_numbers(said[:, 0], spreads[question.id], question.scale)
            else:
                found[question.id] = Predicted.of_shares(np.maximum(said, 1e-6), question.scale)
        return found

    def save(self, file: Path) -> dict[str, Any]:
        """Writes the arrays as safetensors; gives the rest as plain data."""
        arrays = {"vectors": self.vectors, "centres": self.centres, "target": self.target}
        arrays |= {f"base.{id_}": values for id_, values in self.base.items()}
        arrays |= {f"parts.{id_}": values for id_, values in self.parts.items()}
        tensors = {key: np.ascontiguousarray(values) for key, values in arrays.items()}
        require("safetensors.numpy", "local").save_file(tensors, file)
        return {"targets": list(self.targets)}

    @classmethod
    def load(cls, file: Path, data: Mapping[str, Any]) -> Neighbours:
        """Reads what `save` wrote."""
        arrays = require("safetensors.numpy", "local").load_file(file)

        def named(head: str) -> dict[str, Floats]:
            return {key.removeprefix(head): values for key, values in arrays.items() if key.startswith(head)}

        kept = arrays["vectors"], arrays["centres"], tuple(data["targets"]), arrays["target"]
        return cls(*kept, named("base."), named("parts."))


def _places(reading: Reading, targets: Sequence[str]) -> NDArray[np.intp]:
    """Which target each text is about; -1 for one that is not among them."""
    place = {target: n for n, target in enumerate(targets)}
    return np.array([place.get(target, -1) for target in reading.second or ("",) * len(reading)], dtype=np.intp)


def _vectors(layers: Floats, centres: Floats) -> Floats:
    moved = layers - centres
    moved = moved / np.maximum(np.linalg.norm(moved, axis=2, keepdims=True), 1e-12)
    return np.asarray(moved.reshape(len(layers), -1) / np.sqrt(layers.shape[1]))


def _nearness(one: Floats, other: Floats, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
    alike = np.exp(_REACH * (one @ other.T - 1))
    return np.asarray(alike * (_ANYONE + (first[:, None] == second)))
