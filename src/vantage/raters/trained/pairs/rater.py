"""The ways to learn about ⟨text, user⟩ pairs, and the pair rater, which judges them, is saved and is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.perspective import Split
from vantage.raters.models.base import note_once
from vantage.raters.trained.base import Floats, PredictedAnswers
from vantage.raters.trained.instances import Instances
from vantage.raters.trained.people import People
from vantage.raters.trained.rater import SCHEMA, judgments
from vantage.raters.trained.saved import Predictor, SavedPredictor, described, save_rater


class PairMethod(NamedTuple):
    """One way to learn."""

    description: str
    """What it does, in one sentence."""
    users: bool
    """Whether it tells users apart; a blind one gives a text the same label whoever judges it."""
    kind: str
    """What learns: one of `saved.KINDS`."""

    @property
    def torch(self) -> bool:
        """Whether it needs the extra `local`."""
        return self.kind == "encoder"


PAIR_METHODS: Final[dict[str, PairMethod]] = {
    "majority": PairMethod("The most frequent label in training, for every pair.", False, "counts"),
    "text-majority": PairMethod(
        "The label most people of the training part gave the text; the majority of all where nobody judged it.",
        False,
        "counts",
    ),
    "user-majority": PairMethod(
        "The user's own most frequent label; else that of the people most alike in traits; else that of all.",
        True,
        "counts",
    ),
    "tfidf": PairMethod("Logistic regression on the words of the text, blind to users.", False, "linear"),
    "tfidf-users": PairMethod(
        "Logistic regression on words, on words once more for each trait value, and on who the user is.", True, "linear"
    ),
    "baseline": PairMethod("A fine-tuned encoder of the text alone.", False, "encoder"),
    "tokens": PairMethod(
        "A fine-tuned encoder with a token for the user and one for each trait in front of the text.", True, "encoder"
    ),
    "embeddings": PairMethod(
        "A fine-tuned encoder to whose reading of the text vectors of the user and the traits are added.",
        True,
        "encoder",
    ),
    "heads": PairMethod(
        "A fine-tuned encoder with an output layer for each user of the training part (multi-task learning).",
        True,
        "encoder",
    ),
}
LIGHT: Final = tuple(name for name, method in PAIR_METHODS.items() if not method.torch)
"""The methods that need no torch."""


def pair_method(name: str, file: Path | None = None) -> PairMethod:
    """The method of a name; one that does not exist or whose packages are missing is refused."""
    if name not in PAIR_METHODS:
        raise InputError(f"there is no method '{name}'", file=file, remedy=nearest(name, list(PAIR_METHODS)))
    method = PAIR_METHODS[name]
    missing = [package for package in ("torch", "transformers") if find_spec(package) is None]
    if method.torch and missing:
        raise InputError(
            f"the method '{name}' needs the package{'s' if missing[1:] else ''} {' and '.join(missing)}",
            remedy=f"pip install vantage[local], or use one of {', '.join(LIGHT)}",
        )
    return method


FILE: Final = "pair-rater.json"
KEYS: Final = ("instrument", "question", "people", "method", "learned", "notes", "rater", "offsets", "about", "told")
PART: Final = "part"
"""What the names of the predictor's files begin with."""


@dataclass
class PairRater:
    """A rater that learned what each user says; made by `fit_pairs` or `PairRater.load`."""

    id: str
    method: str
    instrument: Instrument
    question: Question
    people: People
    """Whom it learned from and how it represents users."""
    predictor: Predictor
    offsets: dict[str, list[float]] = field(default_factory=dict)
    """Per user met at test time how far each option's logit is moved."""
    about: dict[str, Any] = field(default_factory=dict)
    """What it learned from and how."""
    split: Split | None = None
    """Whose test pairs it judges unless told otherwise."""
    warnings: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What must be told about it: options it never saw, strangers it judged for, texts that were cut."""
        return list(dict.fromkeys([*self.warnings, *self.predictor.notes]))

    def row(self) -> dict[str, Any]:
        """Its row in the raters table."""
        row = {"rater": self.id, "kind": "trained", "model": self.about.get("model", self.method)}
        return {**row, "style": f"pairs:{self.method}"}

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
        instances = Instances.of_pairs(asked, corpus, self.question.id, self.people.traits)
        self._note_strangers(instances)
        shares = moved(shares_of(self.predictor, instances, self.question), instances.users, self.offsets)
        items = [instances.items[row] for row in instances.text]
        predicted = PredictedAnswers.of_shares(shares, self.question.scale)
        return judgments(items, instances.users, self.question, predicted, by_mean=False)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Writes the rater into a folder: JSON, arrays and safetensors, nothing that runs code when it is read."""

        def describe(empty: Path) -> dict[str, Any]:
            return {
                "rater": self.id,
                "method": self.method,
                "instrument": self.instrument.document,
                "question": self.question.id,
                "people": self.people.described(),
                "offsets": self.offsets,
                "about": self.about,
                "told": self.warnings,
                "learned": self.predictor.save(empty, PART),
                "notes": self.predictor.notes,
            }

        return save_rater(folder, FILE, describe, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path, split: Split | None = None) -> PairRater:
        """Reads a rater from its folder; `split` is whose test pairs it judges unless told otherwise."""
        folder = Path(folder)
        stored = described(folder, FILE, "pair rater", KEYS, "make one with vantage.fit_pairs")
        instrument = Instrument.from_document(stored["instrument"], file=FILE)
        question, people = instrument.question(stored["question"]), People.read(stored["people"])
        kind = pair_method(stored["method"], folder).kind
        predictor = SavedPredictor(folder, PART, stored["learned"], (question,), people).load(kind)
        predictor.notes = list(stored["notes"])
        id_, method, offsets, about = (stored[key] for key in ("rater", "method", "offsets", "about"))
        warnings = stored["told"]
        return cls(id_, method, instrument, question, people, predictor, offsets, about, split, warnings)

    def _note_strangers(self, instances: Instances) -> None:
        if not PAIR_METHODS[self.method].users or self.method == "user-majority":
            return
        users = dict.fromkeys(instances.users)
        strangers = [user for user in users if not self.people.knows(user)]
        met = [user for user in strangers if user in self.offsets]
        if strangers:
            by = f"by {', '.join(self.people.traits)}" if self.people.traits else "as anybody"
            rest = f", {len(met):,} of them after labels of their own" if met else ""
            note_once(
                self.warnings, f"{len(strangers):,} of {len(users):,} users are not in training: judged {by}{rest}."
            )
        untold = sum(all(value is None for value in instances.profiles[user]) for user in strangers)
        if untold and self.people.traits:
            note_once(self.warnings, f"Of {untold:,} of them no trait is known.")


def shares_of(predictor: Predictor, instances: Instances, question: Question) -> Floats:
    """One row per pair: the shares of the options."""
    shares = predictor.predict(instances)[question.id].shares
    assert shares is not None  # noqa: S101 - labels have shares
    return shares


SPREAD: Final = 1.0
"""Standard deviation of the normal prior of an offset, in logits: few labels move a user little."""


def fit_offsets(
    shares: Floats, labels: NDArray[np.intp], users: Sequence[str], weights: Sequence[float]
) -> dict[str, list[float]]:
    """Per user an offset of each option's logit, most probable given the user's labels and a normal prior.

    `weights` are those of the options in training, so that a model that was kept from overlooking rare labels is not
    turned back by its users.

    >>> even = np.full((4, 2), 0.5)
    >>> result = fit_offsets(even, np.array([1, 1, 1, 1]), ["ann"] * 4, [1.0, 1.0])["ann"]
    >>> round(result[1], 2), round(sum(result), 2)
    (0.74, 0.0)
    """
    logs, weight = np.log(np.maximum(shares, 1e-9)), np.asarray(weights)
    names = np.asarray(users)
    offsets = {}
    for user in dict.fromkeys(users):
        mine = names == user
        offsets[user] = _offset(logs[mine], labels[mine], weight[labels[mine]])
    return offsets


def moved(shares: Floats, users: Sequence[str], offsets: dict[str, list[float]]) -> Floats:
    """Shares after the offsets of their users."""
    if not offsets:
        return shares
    none = [0.0] * shares.shape[1]
    odds = shares * np.exp(np.array([offsets.get(user, none) for user in users]))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _offset(logs: Floats, labels: NDArray[np.intp], weight: Floats) -> list[float]:
    chosen = np.eye(logs.shape[1])[labels]

    def cost(offset: Floats) -> tuple[float, Floats]:
        out = logs + offset
        out = out - out.max(axis=1, keepdims=True)
        norm = np.log(np.exp(out).sum(axis=1, keepdims=True))
        loss = -(weight * ((out - norm) * chosen).sum(axis=1)).sum() + (offset**2).sum() / (2 * SPREAD**2)
        slope = (weight[:, None] * (np.exp(out - norm) - chosen)).sum(axis=0) + offset / SPREAD**2
        return float(loss), slope

    best = minimize(cost, np.zeros(logs.shape[1]), jac=True, method="L-BFGS-B").x
    return [float(value) for value in best]
