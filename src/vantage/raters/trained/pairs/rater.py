"""The pair rater: judges ⟨text, user⟩ pairs, stands in the raters table, is saved in a folder and read from it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage._version import __version__
from vantage.corpora import Corpus
from vantage.corpora.writers.place import put_folder
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.perspective import Split
from vantage.raters.models.base import note_once
from vantage.raters.trained.base import Floats, Predicted
from vantage.raters.trained.pairs.base import PairPredictor
from vantage.raters.trained.pairs.methods import PAIR_METHODS, refuse_without_torch
from vantage.raters.trained.pairs.offsets import moved
from vantage.raters.trained.pairs.people import People
from vantage.raters.trained.pairs.table import PairTable
from vantage.raters.trained.rater import SCHEMA, uncertainty
from vantage.raters.trained.saved import described

FORMAT: Final = 1
"""The version of the folder; one of a higher version was written by a newer Vantage."""
FILE: Final = "pair-rater.json"
KEYS: Final = ("instrument", "question", "people", "method", "learned", "notes", "rater", "offsets", "about", "told")
_HOME: Final = "vantage.raters.trained.pairs"
_MAJORITIES: Final = (f"{_HOME}.majorities", "MajorityPairs")
_WORDS: Final = (f"{_HOME}.words", "WordPairs")
_ENCODER: Final = (f"{_HOME}.encoder", "EncoderPairs")
KINDS: Final = {
    **dict.fromkeys(("majority", "text-majority", "user-majority"), _MAJORITIES),
    **dict.fromkeys(("tfidf", "tfidf-users"), _WORDS),
    **dict.fromkeys(("baseline", "tokens", "embeddings", "heads"), _ENCODER),
}


@dataclass
class PairRater:
    """A rater that learned what each user says; made by `fit_pairs` or `PairRater.load`."""

    id: str
    method: str
    instrument: Instrument
    question: Question
    people: People
    """Whom it learned from and how users are told to it."""
    predictor: PairPredictor
    offsets: dict[str, list[float]] = field(default_factory=dict)
    """Per user met at test time how far each option's logit is moved."""
    about: dict[str, Any] = field(default_factory=dict)
    """What it learned from and how."""
    split: Split | None = None
    """Whose test pairs it judges unless told otherwise."""
    told: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What must be told about it: options it never saw, strangers it judged for, texts that were cut."""
        return list(dict.fromkeys([*self.told, *self.predictor.notes]))

    def row(self) -> dict[str, Any]:
        """Its row in the raters table."""
        told = {"rater": self.id, "kind": "trained", "model": self.about.get("model", self.method)}
        return {**told, "style": f"pairs:{self.method}"}

    def rows(self, users: Iterable[str]) -> pl.DataFrame:
        """Rows for a raters table in which the rater stands for each of some users, as `perspective.stood_for` reads.

        The judgments that belong to them are those of `judge`, with `rater` replaced by `as_rater`.
        """
        row = self.row()
        return pl.DataFrame(
            [{**row, "rater": self.as_rater(user), "stands_for": user} for user in dict.fromkeys(users)]
        )

    def as_rater(self, user: str) -> str:
        """The id under which the rater stands for a user."""
        return f"{self.id}/@{user}"

    def judge(self, pairs: pl.DataFrame | Split | None = None, corpus: Corpus | None = None) -> pl.DataFrame:
        """What each user says of each text, by this rater: `rater` is the user, as `perspective.evaluate` wants it.

        Args:
            pairs: Rows of `item` and `rater`, or a split, of which the test pairs are judged; by default those of the
                split that it learned from.
            corpus: Where texts and traits of the pairs stand; by default the corpus of the split.
        """
        split = pairs if isinstance(pairs, Split) else self.split
        asked = pairs if isinstance(pairs, pl.DataFrame) else None if split is None else split.test
        corpus = corpus if corpus is not None or split is None else split.corpus
        if asked is None or corpus is None:
            raise InputError(
                f"rater '{self.id}' was read from a folder, where no texts are kept",
                remedy="pass the split, or pairs and their corpus",
            )
        if asked.is_empty():
            return pl.DataFrame(schema=SCHEMA)
        table = PairTable.of(asked, corpus, self.question.id, self.people.traits)
        self._note_strangers(table)
        return self._frame(table, moved(self.predictor.predict(table), table.users, self.offsets))

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Writes the rater into a folder: JSON, arrays and safetensors, nothing that runs code when it is read."""

        def prepare(empty: Path) -> None:
            told = {
                "format": FORMAT,
                "vantage": __version__,
                "rater": self.id,
                "method": self.method,
                "instrument": self.instrument.document,
                "question": self.question.id,
                "people": self.people.described(),
                "offsets": self.offsets,
                "about": self.about,
                "told": self.told,
                "learned": self.predictor.save(empty),
                "notes": self.predictor.notes,
            }
            (empty / FILE).write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")

        return put_folder(Path(folder), prepare, ours=(FILE, "part-*"), overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path, split: Split | None = None) -> PairRater:
        """Reads a rater from its folder; `split` is whose test pairs it judges unless told otherwise."""
        folder = Path(folder)
        told = described(folder, FILE, "pair rater", FORMAT, KEYS, "make one with vantage.fit_pairs")
        instrument = Instrument.from_document(told["instrument"], file=FILE)
        question, people = instrument.question(told["question"]), People.read(told["people"])
        kind = _kind(told["method"], folder)
        predictor = kind.load(folder, told["learned"], people, question)
        predictor.notes = list(told["notes"])
        return cls(
            told["rater"],
            told["method"],
            instrument,
            question,
            people,
            predictor,
            told["offsets"],
            told["about"],
            split,
            list(told["told"]),
        )

    def _note_strangers(self, table: PairTable) -> None:
        if not PAIR_METHODS[self.method].users or self.method == "user-majority":
            return
        users = dict.fromkeys(table.users)
        strangers = [user for user in users if not self.people.knows(user)]
        met = [user for user in strangers if user in self.offsets]
        if strangers:
            by = f"by {', '.join(self.people.traits)}" if self.people.traits else "as anybody"
            rest = f", {len(met):,} of them after labels of their own" if met else ""
            note_once(self.told, f"{len(strangers):,} of {len(users):,} users are not in training: judged {by}{rest}.")
        untold = sum(all(value is None for value in table.profiles[user]) for user in strangers)
        if untold and self.people.traits:
            note_once(self.told, f"Of {untold:,} of them no trait is known.")

    def _frame(self, table: PairTable, shares: Floats) -> pl.DataFrame:
        found = Predicted.of_shares(shares, self.question.scale)
        assert found.shares is not None  # noqa: S101 - made of shares
        count = len(table)
        return pl.DataFrame(
            {
                "item": [table.items[row] for row in table.text],
                "question": [self.question.id] * count,
                "rater": table.users,
                "condition": [""] * count,
                "sample": [0] * count,
                "value": np.asarray(self.question.scale.codes)[found.shares.argmax(axis=1)],
                "status": ["answered"] * count,
                "rationale": [None] * count,
                "probabilities": found.shares.tolist(),
                "expected": found.mean,
                "uncertainty": uncertainty(found, self.question.scale),
            },
            schema=SCHEMA,
        )


def _kind(method: str, folder: Path) -> type[PairPredictor]:
    if method not in KINDS:
        raise InputError(f"there is no method '{method}'", file=folder, remedy=nearest(method, list(KINDS)))
    refuse_without_torch(method)
    module, name = KINDS[method]
    found: type[PairPredictor] = getattr(import_module(module), name)
    return found
