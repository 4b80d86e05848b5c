"""Words and who reads them: logistic regression over TF-IDF, traits and users.

Words count once for everybody and once more for each trait value, so that a word can mean something else to a group
than to people in general (feature augmentation after Daumé III 2007). A user, whose labels are few, has an offset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.trained.base import Floats
from vantage.raters.trained.examples import Labels
from vantage.raters.trained.linear import LinearSettings, Vocabulary, chosen, learned, predicted_from
from vantage.raters.trained.pairs.people import Ids, People
from vantage.raters.trained.pairs.table import PairTable


@dataclass
class WordPairs:
    """A linear model of pairs; blind where `people` is empty."""

    settings: LinearSettings
    people: People
    question: Question
    vocabulary: Vocabulary
    weights: Floats
    offsets: Floats
    classes: Floats
    strength: float
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls,
        table: PairTable,
        labels: NDArray[np.intp],
        held: NDArray[np.bool_],
        people: People,
        question: Question,
        settings: LinearSettings,
    ) -> WordPairs:
        """Chooses the strength on the texts held out and learns from everything."""
        rows, counts = _collapsed(table, labels, people, len(question.scale.options))
        texts = table.texts.joined()
        read = np.unique(table.text)
        vocabulary = Vocabulary.fit([texts[row] for row in read], settings)
        features = _features(vocabulary(texts), rows, people)
        aside = np.isin(rows[:, 0], np.unique(table.text[held]))
        parts = _labels(question, counts[~aside]), _labels(question, counts[aside])
        strength = settings.tried[0]
        if len(settings.tried) > 1 and (parts[0].shares.sum(axis=0) > 0).sum() > 1 and aside.any():
            strength, _ = chosen([(features[~aside], parts[0], features[aside], parts[1])], settings, question)
        found = learned(features, _labels(question, counts), settings, strength)
        return cls(settings, people, question, vocabulary, *found, strength)

    def predict(self, table: PairTable) -> Floats:
        """The shares of the options."""
        rows = np.column_stack([table.text, self.people.ids(table.users, table.profiles)])
        features = _features(self.vocabulary(table.texts.joined()), rows, self.people)
        shares = predicted_from(features, self.weights, self.offsets, self.classes, 1.0, self.question).shares
        assert shares is not None  # noqa: S101 - a scale with options has shares
        return shares

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Weights as arrays, the vocabulary as JSON."""
        arrays: dict[str, Any] = {f"idf-{n}": idf for n, idf in enumerate(self.vocabulary.idf)}
        arrays |= {"weights": self.weights, "offsets": self.offsets, "classes": self.classes}
        np.savez_compressed(folder / "part-words.npz", allow_pickle=False, **arrays)
        words = json.dumps(self.vocabulary.words, ensure_ascii=False)
        (folder / "part-vocabulary.json").write_text(words, encoding="utf-8")
        return {"settings": asdict(self.settings), "strength": self.strength}

    @classmethod
    def load(cls, folder: Path, data: Mapping[str, Any], people: People, question: Question) -> WordPairs:
        """Reads what `save` wrote; weights that do not fit vocabulary and people are refused."""
        told: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data["settings"].items()}
        settings = LinearSettings(**told)
        words = json.loads((folder / "part-vocabulary.json").read_text("utf-8"))
        with np.load(folder / "part-words.npz", allow_pickle=False) as arrays:
            held = {key: np.asarray(arrays[key]) for key in arrays.files}
        vocabulary = Vocabulary(settings, words, [held[f"idf-{n}"] for n in range(len(words))])
        copies = 1 + sum(map(len, people.values))
        if held["weights"].shape[1] != copies * sum(map(len, words)) + people.size:
            raise InputError("the weights do not fit the vocabulary", file=folder, remedy="fit it again")
        parts = held["weights"], held["offsets"], held["classes"]
        return cls(settings, people, question, vocabulary, *parts, data["strength"])


def _collapsed(table: PairTable, labels: NDArray[np.intp], people: People, options: int) -> tuple[Ids, Floats]:
    """Pairs that look alike to the model as one row: text and ids, and how often each label was given."""
    every = np.column_stack([table.text, people.ids(table.users, table.profiles)])
    rows, place = np.unique(every, axis=0, return_inverse=True)
    counts = np.zeros((len(rows), options))
    np.add.at(counts, (place.reshape(-1), labels), 1.0)
    return rows, counts


def _features(words: Any, rows: Ids, people: People) -> Any:
    """Words for everybody, words for each trait value, and the ids themselves."""
    from scipy.sparse import csr_array, diags_array, hstack

    read = words[rows[:, 0]]
    blocks = [read]
    first = people.unknown + 1
    for trait, values in enumerate(people.values):
        of_pair = rows[:, 2 + trait]
        blocks += [diags_array((of_pair == first + n).astype(np.float64)) @ read for n in range(len(values))]
        first += len(values)
    ids = rows[:, 1:]
    pairs = np.repeat(np.arange(len(rows)), ids.shape[1])
    # A stranger's id is no feature, and neither is a trait value that nobody had.
    told = (ids != 0) & (ids != people.unknown)
    shown = csr_array((told.reshape(-1).astype(np.float64), (pairs, ids.reshape(-1))), shape=(len(rows), people.size))
    return hstack([*blocks, shown]).tocsr()


def _labels(question: Question, counts: Floats) -> Labels:
    codes = np.asarray(question.scale.codes)
    return Labels(question, counts, codes[counts.argmax(axis=1)] if len(counts) else np.zeros(0))
