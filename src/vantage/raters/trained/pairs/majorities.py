"""Baselines that read no words: the most frequent label of all, of the text, or of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.instruments import Question
from vantage.raters.models.base import note_once
from vantage.raters.trained.base import Floats
from vantage.raters.trained.pairs.people import People
from vantage.raters.trained.pairs.table import PairTable

TIE: Final = 1e-6
"""How much of a vote the larger group has, which decides where the smaller one is tied."""


@dataclass
class MajorityPairs:
    """Counts of labels: overall, and per text or user where the method looks at them."""

    how: str
    people: People
    overall: Floats
    counts: Mapping[str, Sequence[float]]
    """Per text or user how often each option was chosen."""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(cls, how: str, table: PairTable, labels: NDArray[np.intp], people: People, options: int) -> MajorityPairs:
        """Counts the labels."""
        overall = np.bincount(labels, minlength=options).astype(np.float64)
        found = cls(how, people, overall, {})
        found.count(table, labels)
        return found

    def count(self, table: PairTable, labels: NDArray[np.intp]) -> None:
        """Takes in more labels of the texts or the users."""
        if self.how == "majority":
            return
        keys = table.users if self.how == "user-majority" else [table.items[row] for row in table.text]
        counts = {key: list(told) for key, told in self.counts.items()}
        for key, label in zip(keys, labels.tolist(), strict=True):
            counts.setdefault(key, [0.0] * len(self.overall))[label] += 1
        self.counts = counts

    def predict(self, table: PairTable) -> Floats:
        """The shares of the labels in the nearest group that has any."""
        overall = self.overall / self.overall.sum()
        if self.how == "majority":
            return np.tile(overall, (len(table), 1))
        if self.how == "text-majority":
            known = np.array([item in self.counts for item in table.items])
            rows = np.array([_shares(self.counts.get(item), overall) for item in table.items])
            if missing := int((~known[table.text]).sum()):
                note_once(
                    self.notes,
                    f"{missing:,} of {len(table):,} pairs are on texts that nobody judged in training; "
                    "they get the majority of all.",
                )
            return np.asarray(rows[table.text])
        return self._of_users(table, overall)

    def _of_users(self, table: PairTable, overall: Floats) -> Floats:
        rows: dict[str, Floats] = {}
        by_traits, by_all = 0, 0
        for user in dict.fromkeys(table.users):
            group = overall
            alike = self.people.alike(table.profiles[user])
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
        return np.array([rows[user] for user in table.users]).reshape(len(table), len(overall))

    def save(self, folder: Path) -> Mapping[str, Any]:
        """All of it is plain data."""
        del folder
        return {"how": self.how, "overall": self.overall.tolist(), "counts": self.counts}

    @classmethod
    def load(cls, folder: Path, data: Mapping[str, Any], people: People, question: Question) -> MajorityPairs:
        """Reads what `save` gave."""
        del folder, question
        return cls(data["how"], people, np.asarray(data["overall"], dtype=np.float64), data["counts"])


def _shares(counts: Sequence[float] | Floats | None, larger: Floats) -> Floats:
    if counts is None:
        return larger
    told = np.asarray(counts, dtype=np.float64) + TIE * larger
    return np.asarray(told / told.sum())
