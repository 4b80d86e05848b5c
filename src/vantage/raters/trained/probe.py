"""Probes: what a language model has made of a text, and from it, by regression, what people will say.

The model is not asked for an answer and is not changed. It reads the text and the beginning of a sentence about the
target ("The author's opinion of … is"); its inner state at that point says what it would go on with, and a regression
learns from people's judgments what that means: kernel ridge regression on the states, in which texts about the same
target say more than others.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from vantage.corpora.writers.place import put_file
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.encoders import HuggingFaceEncoder, resolved
from vantage.raters.item_words import key
from vantage.raters.models import load_model
from vantage.raters.models.base import ModelError, brief, note_once
from vantage.raters.models.prefix_scorer import Stateful
from vantage.raters.trained.base import Floats, ItemTexts, PredictedAnswers, Progress, refuse_unknown, short_name
from vantage.raters.trained.examples import Examples, Instances, Labels, grouped_folds, held_out
from vantage.raters.trained.held_out import HeldOut
from vantage.raters.trained.saved import SavedPredictor

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
    def fit(cls, views: Floats, reading: ItemTexts, labels: Sequence[Labels], ridge: float = RIDGE) -> KernelRegression:
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
            firm = alike[np.ix_(there, there)] + ridge * np.eye(len(there))
            added[there] = np.linalg.solve(firm, answers - base[one.question.id])
            parts[one.question.id] = added
        return cls(vectors, centres, spreads, targets, target, base, parts)

    def predict(
        self, views: Floats, reading: ItemTexts, questions: Sequence[Question], errors: Mapping[str, float]
    ) -> dict[str, PredictedAnswers]:
        """What texts that are alike say about others; `errors` are the spreads of numbers on scales without options."""
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


MOST: Final = 5_000
"""Of how many texts the vectors are kept; the time to compare them grows with the square."""
PART: Final = 32
"""Texts between two reports of progress."""
_FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """How a language model is probed.

    Args:
        model: A language model whose inner states can be read: `embedded`, or `hf:NAME_OR_PATH`.
        before: What the model reads before the text.
        endings: What it reads behind the text, one after the other; its state is taken behind each. `{target}` stands
            for the target of the item, or for `this` where items have none.
        longest: The most tokens of a text that are read; longer texts are cut, and a note counts them.
        ridge: How much the regression is held back.
    """

    model: str = "embedded"
    before: str = "Text: "
    endings: tuple[str, ...] = ("\nThe author's opinion of {target} is",)
    longest: int = 150
    ridge: float = RIDGE

    @classmethod
    def of(cls, **given: Any) -> ProbeSettings:
        """Settings by name; one that does not exist is named.

        >>> ProbeSettings.of(ending="x")
        Traceback (most recent call last):
            ...
        vantage.errors.InputError: a probe has no setting 'ending'; did you mean 'endings'?
        """
        refuse_unknown(given, [part.name for part in fields(cls)], "a probe")
        endings = given.get("endings", cls().endings)
        return cls(**{**given, "endings": (endings,) if isinstance(endings, str) else tuple(endings)})


@dataclass(frozen=True, slots=True)
class VectorSettings(ProbeSettings):
    """How a frozen sentence encoder reads texts; the target counts by itself, as for a probe.

    Args:
        model: `minilm`, `hf:NAME_OR_PATH` or a folder.
        before: What stands before the text.
        endings: What stands behind it, one view each.
        longest: The most tokens of a text that are read.
        ridge: How much the regression is held back; vectors of whole texts are more alike than states.
    """

    model: str = "minilm"
    before: str = ""
    endings: tuple[str, ...] = ("",)
    longest: int = 256
    ridge: float = 1.0


@dataclass
class ProbePredictor:
    """A regression on the states of a language model, or on the vectors of a frozen encoder."""

    kind: ClassVar[str] = "probe"
    read_by: ClassVar[type[ProbeSettings]] = ProbeSettings

    settings: ProbeSettings
    questions: tuple[Question, ...]
    regression: KernelRegression
    errors: Mapping[str, float]
    """Per question the error on held-out texts."""
    validation: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    people: None = None
    aside: HeldOut | None = None
    _model: Any = None

    @classmethod
    def fit(
        cls,
        learned: Examples,
        settings: ProbeSettings,
        *,
        seed: int = 0,
        checkpoints: str | Path | None = None,
        progress: Progress | None = None,
    ) -> ProbePredictor:
        """Reads all texts, or a random sample where there are very many, and learns what the states mean."""
        chosen = np.sort(np.random.default_rng(seed).permutation(len(learned.instances))[:MOST])
        texts, labels = learned.instances.texts.take(chosen), [one.take(chosen) for one in learned.labels]
        model = _loaded(settings)
        if checkpoints is not None:
            model = _Kept(model, Path(checkpoints))
        notes: list[str] = []
        views = _views(model, settings, texts, notes, progress)
        errors, met, aside = _held_out(views, texts, labels, settings.ridge, seed)
        regression = KernelRegression.fit(views, texts, labels, settings.ridge)
        questions = tuple(one.question for one in labels)
        return cls(settings, questions, regression, errors, {"held_out": met}, notes, aside=aside, _model=model)

    def about(self) -> dict[str, Any]:
        """The language model, the settings, and how well held-out texts are ordered."""
        model = f"{self.kind}:{short_name(self.settings.model)}"
        return {"model": model, "settings": asdict(self.settings), "validation": self.validation}

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """What people would say; the model is loaded when it is first needed."""
        if self._model is None:
            self._model = _loaded(self.settings)
        views = _views(self._model, self.settings, instances.texts, self.notes, None)
        return self.regression.predict(views, instances.texts, self.questions, self.errors)

    def save(self, folder: Path, name: str) -> Mapping[str, Any]:
        """Writes the vectors of the texts and what was learned from them; the language model is kept by its name."""
        data = self.regression.save(folder / f"{name}-probe.npz")
        return {"settings": asdict(self.settings), "errors": dict(self.errors), "validation": self.validation, **data}

    @classmethod
    def load(cls, saved: SavedPredictor) -> ProbePredictor:
        """Reads what `save` wrote."""
        data = saved.data
        try:
            regression = KernelRegression.load(saved.folder / f"{saved.name}-probe.npz", data)
        except (KeyError, OSError, ValueError) as error:
            raise InputError(
                f"the probe cannot be read ({brief(error)})", file=saved.folder, remedy="fit it again"
            ) from None
        settings = cls.read_by.of(**data["settings"])
        return cls(settings, saved.questions, regression, data["errors"], data["validation"])


@dataclass
class VectorPredictor(ProbePredictor):
    """A regression on the vectors of a frozen encoder: nothing of the encoder is changed."""

    kind: ClassVar[str] = "vectors"
    read_by: ClassVar[type[ProbeSettings]] = VectorSettings


class _Encoder:
    """A sentence encoder as what is probed: its vector of a text with each of its endings."""

    def __init__(self, settings: ProbeSettings) -> None:
        self.encode = HuggingFaceEncoder(resolved(settings.model), settings.longest)
        self.longest = self.encode.longest

    def states(self, rows: Sequence[Sequence[str]], longest: int) -> tuple[Floats, int]:
        texts = [row[0] + ending for row in rows for ending in row[1:]]
        views = self.encode(texts).reshape(len(rows), len(rows[0]) - 1, -1)
        return views, self.encode.longer([row[0] for row in rows])


def _loaded(settings: ProbeSettings) -> Stateful | _Encoder:
    if isinstance(settings, VectorSettings):
        return _Encoder(settings)
    model = load_model(settings.model)
    if not isinstance(model, Stateful):
        model.close()
        raise ModelError(f"The inner states of {settings.model} cannot be read; use embedded or hf:NAME_OR_PATH.")
    return model


@dataclass
class _Kept:
    """A model whose states are kept in a folder: what was interrupted does not read the same texts again."""

    model: Stateful | _Encoder
    folder: Path

    @cached_property
    def _weights(self) -> bytes:
        """What the model makes of one text, which tells its weights from others of the same name."""
        states, _ = self.model.states([["A text", "."]], 8)
        return (states.round(3) + 0.0).tobytes()

    def states(self, rows: Sequence[Sequence[str]], longest: int) -> tuple[Floats, int]:
        digest = sha256(self._weights + json.dumps([rows, longest]).encode()).hexdigest()[:32]
        file = self.folder / f"states-{digest}.npz"
        try:
            with np.load(file, allow_pickle=False) as stored:
                return stored["states"], int(stored["cut"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            states, cut = self.model.states(rows, longest)

        def write(path: Path) -> None:
            with path.open("wb") as out:
                np.savez(out, states=states, cut=cut)

        put_file(file, write, overwrite=True)
        return states, cut


def _views(
    model: Stateful | _Encoder | _Kept,
    settings: ProbeSettings,
    reading: ItemTexts,
    notes: list[str],
    progress: Progress | None,
) -> Floats:
    """Text, ending, dimension."""
    targets = reading.second or ("this",) * len(reading)
    rows = [
        [settings.before + text, *(ending.replace("{target}", target) for ending in settings.endings)]
        for text, target in zip(reading.first, targets, strict=True)
    ]
    blocks, cut = [], 0
    order = np.argsort([len(row[0]) for row in rows], kind="stable")
    for start in range(0, len(rows), PART):
        views, shortened = model.states([rows[n] for n in order[start : start + PART]], settings.longest)
        blocks.append(views)
        cut += shortened
        if progress:
            progress(min(start + PART, len(rows)), len(rows))
    if cut:
        read = getattr(getattr(model, "model", model), "longest", settings.longest)
        note = f"{cut:,} of {len(rows):,} texts are longer than {read} tokens; the rest was not read."
        note_once(notes, note)
    views = np.concatenate(blocks)
    ordered = np.empty_like(views)
    ordered[order] = views
    return ordered


def _held_out(
    views: Floats, texts: ItemTexts, labels: Sequence[Labels], ridge: float, seed: int
) -> tuple[dict[str, float], dict[str, float], HeldOut | None]:
    """Per question the error on texts that are held out in turn, how well their order is met, and what is said."""
    questions = [one.question for one in labels]
    count = min(_FOLDS, len({key(text) for text in texts.first}))
    if count < 2:
        return {question.id: 0.0 for question in questions}, {}, None
    folds = grouped_folds(texts.first, count, seed)
    rows = [np.flatnonzero(folds == fold) for fold in range(count)]
    said: dict[str, list[PredictedAnswers]] = {question.id: [] for question in questions}
    for fold, aside in enumerate(rows):
        rest = np.flatnonzero(folds != fold)
        known = KernelRegression.fit(views[rest], texts.take(rest), [one.take(rest) for one in labels], ridge)
        answers = known.predict(views[aside], texts.take(aside), questions, dict.fromkeys(said, 1.0))
        for id_, answer in answers.items():
            said[id_].append(answer)
    both = {
        one.question.id: held_out(
            [(part, one.take(aside)) for part, aside in zip(said[one.question.id], rows, strict=True)]
        )
        for one in labels
    }
    errors = {id_: error for id_, (error, _) in both.items()}
    for one in labels:
        if not one.question.scale.options:
            id_ = one.question.id
            said[id_] = [
                replace(part, spread=np.full(len(aside), errors[id_]))
                for part, aside in zip(said[id_], rows, strict=True)
            ]
    return errors, {id_: score for id_, (_, score) in both.items()}, HeldOut.of(rows, texts, labels, said)
