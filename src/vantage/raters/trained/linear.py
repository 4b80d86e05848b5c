"""Words and letter sequences, weighted by how rare they are, with ridge or logistic regression on top.

TF-IDF after Salton and Buckley (1988), ridge regression after Hoerl and Kennard (1970). What was learned is saved as
plain arrays and a vocabulary in JSON.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.trained.base import Floats, Predicted, Reading, decide, refuse_unknown
from vantage.raters.trained.examples import Examples, Labels
from vantage.raters.trained.folds import grouped_folds

Regression = Literal["ridge", "logistic"]
FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class LinearSettings:
    """How a linear model is learned.

    Args:
        model: `ridge` for numbers, `logistic` for classes (with weights against rare ones being overlooked).
        words: The shortest and longest sequence of words that counts.
        characters: The same for letters inside words; null for none.
        least: In how many texts a sequence must stand.
        strengths: What is tried; the penalty of ridge regression, its inverse for logistic regression.
        balanced: Whether rare classes weigh as much as frequent ones (logistic).
    """

    model: Regression = "ridge"
    words: tuple[int, int] = (1, 2)
    characters: tuple[int, int] | None = (3, 5)
    least: int = 2
    strengths: tuple[float, ...] = ()
    balanced: bool = True

    @classmethod
    def of(cls, model: Regression, **given: Any) -> LinearSettings:
        """Settings by name; one that does not exist is named."""
        known = [part.name for part in fields(cls) if part.name != "model"]
        refuse_unknown(given, known, f"a {model} regression")
        # Letter sequences make logistic regression many times slower and hardly better.
        return cls(model, **({"characters": None, **given} if model == "logistic" else given))

    @property
    def tried(self) -> tuple[float, ...]:
        """The strengths to choose from."""
        return self.strengths or ((1.0, 3.0) if self.model == "ridge" else (1.0, 4.0))


class Vocabulary:
    """From texts to sparse rows of TF-IDF weights."""

    def __init__(self, settings: LinearSettings, words: Sequence[Mapping[str, int]], idf: Sequence[Floats]) -> None:
        self.words, self.idf = list(words), list(idf)
        self._parts = [
            self._part(kind, settings, vocabulary) for kind, vocabulary in zip(_kinds(settings), words, strict=True)
        ]
        for part, weights in zip(self._parts, idf, strict=True):
            part.idf_ = weights

    @classmethod
    def fit(cls, texts: Sequence[str], settings: LinearSettings) -> Vocabulary:
        """The sequences of the training texts."""
        words, idf = [], []
        for kind in _kinds(settings):
            part = cls._part(kind, settings, None)
            try:
                part.fit(texts)
            except ValueError:
                raise InputError(
                    "no word stands in enough of the texts", remedy="give more items or lower 'least'"
                ) from None
            words.append({str(word): int(place) for word, place in sorted(part.vocabulary_.items())})
            idf.append(np.asarray(part.idf_, dtype=np.float64))
        return cls(settings, words, idf)

    def __call__(self, texts: Sequence[str]) -> Any:
        """One sparse row per text."""
        from scipy.sparse import hstack

        return hstack([part.transform(texts) for part in self._parts]).tocsr()

    @staticmethod
    def _part(kind: str, settings: LinearSettings, vocabulary: Mapping[str, int] | None) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        span = settings.words if kind == "word" else settings.characters
        return TfidfVectorizer(
            analyzer=kind,
            ngram_range=span,
            min_df=1 if vocabulary is not None else settings.least,
            lowercase=True,
            strip_accents="unicode",
            sublinear_tf=True,
            vocabulary=None if vocabulary is None else dict(vocabulary),
        )


def _kinds(settings: LinearSettings) -> list[str]:
    return ["word", "char_wb"] if settings.characters else ["word"]


@dataclass
class LinearPredictor:
    """One linear model per question over a common vocabulary."""

    settings: LinearSettings
    questions: tuple[Question, ...]
    vocabulary: Vocabulary
    weights: Mapping[str, Floats]
    """Per question one row per output: a single one, or one per class that was seen."""
    offsets: Mapping[str, Floats]
    classes: Mapping[str, Floats]
    """Per question the places of the options that the outputs stand for; empty for ridge regression."""
    spreads: Mapping[str, float]
    chosen: Mapping[str, float]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls, train: Examples, settings: LinearSettings, validation: Examples | None = None, *, seed: int = 0
    ) -> LinearPredictor:
        """Chooses the strength on the validation part, or by cross-validation over texts, and learns from everything.

        The vocabulary is that of the training part.
        """
        texts = train.reading.joined()
        vocabulary = Vocabulary.fit(texts, settings)
        features = vocabulary(texts)
        everything = train if validation is None else train.and_also(validation)
        held = None if validation is None else vocabulary(validation.reading.joined())
        whole = features if held is None else _stacked(features, held)
        found = cls(settings, tuple(one.question for one in train.labels), vocabulary, {}, {}, {}, {}, {})
        for place, labels in enumerate(train.labels):
            _check(labels, settings)
            if validation is not None and held is not None:
                trials = [(features, labels, held, validation.labels[place])]
            else:
                folds = grouped_folds(train.reading.first, FOLDS, seed)
                trials = [
                    (features[folds != k], _rows(labels, folds != k), features[folds == k], _rows(labels, folds == k))
                    for k in range(FOLDS)
                ]
            best, spread = chosen(trials, settings, labels.question)
            weights, offsets, classes = learned(whole, everything.labels[place], settings, best)
            id_ = labels.question.id
            found.weights = {**found.weights, id_: weights}
            found.offsets = {**found.offsets, id_: offsets}
            found.classes = {**found.classes, id_: classes}
            found.spreads = {**found.spreads, id_: spread}
            found.chosen = {**found.chosen, id_: best}
        return found

    def predict(self, reading: Reading) -> dict[str, Predicted]:
        """Numbers with the spread of the errors in validation, or probabilities of the classes."""
        features = self.vocabulary(reading.joined())
        return {
            q.id: predicted_from(
                features, self.weights[q.id], self.offsets[q.id], self.classes[q.id], self.spreads[q.id], q
            )
            for q in self.questions
        }

    def save(self, folder: Path, name: str) -> Mapping[str, Any]:
        """Weights as arrays, the vocabulary as JSON."""
        arrays = {f"idf-{n}": idf for n, idf in enumerate(self.vocabulary.idf)}
        for n, question in enumerate(self.questions):
            arrays[f"weights-{n}"], arrays[f"offsets-{n}"] = self.weights[question.id], self.offsets[question.id]
            arrays[f"classes-{n}"] = self.classes[question.id]
        np.savez_compressed(folder / f"{name}.npz", allow_pickle=False, **arrays)
        words = json.dumps(self.vocabulary.words, ensure_ascii=False)
        (folder / f"{name}-vocabulary.json").write_text(words, encoding="utf-8")
        return {"settings": asdict(self.settings), "spreads": self.spreads, "chosen": self.chosen}

    @classmethod
    def load(cls, folder: Path, name: str, data: Mapping[str, Any], questions: Sequence[Question]) -> LinearPredictor:
        """Reads what `save` wrote."""
        told: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data["settings"].items()
        }
        settings = LinearSettings(**told)
        words = json.loads((folder / f"{name}-vocabulary.json").read_text("utf-8"))
        with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
            held = {key: np.asarray(arrays[key]) for key in arrays.files}
        vocabulary = Vocabulary(settings, words, [held[f"idf-{n}"] for n in range(len(words))])
        width = sum(len(part) for part in words)
        for n, question in enumerate(questions):
            if held[f"weights-{n}"].shape[1] != width:
                raise InputError(
                    f"the weights for question '{question.id}' do not fit the vocabulary",
                    file=folder,
                    remedy="fit it again",
                )
        ids = [q.id for q in questions]
        return cls(
            settings,
            tuple(questions),
            vocabulary,
            {id_: held[f"weights-{n}"] for n, id_ in enumerate(ids)},
            {id_: held[f"offsets-{n}"] for n, id_ in enumerate(ids)},
            {id_: held[f"classes-{n}"] for n, id_ in enumerate(ids)},
            data["spreads"],
            data["chosen"],
        )


def learned(features: Any, labels: Labels, settings: LinearSettings, strength: float) -> tuple[Floats, Floats, Floats]:
    """Weights, offsets, and the classes that the rows of weights stand for; shares may be counts, which weigh."""
    from sklearn.linear_model import LogisticRegression, Ridge

    there = labels.answered
    if settings.model == "ridge":
        model = Ridge(alpha=strength, solver="lsqr", tol=1e-4).fit(features[there], labels.score[there])
        return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), np.zeros(0)
    rows, classes = np.nonzero(labels.shares[there] > 0)
    share = labels.shares[there][rows, classes]
    model = LogisticRegression(C=strength, class_weight="balanced" if settings.balanced else None, max_iter=3000)
    with warnings.catch_warnings():
        # A penalty that is tried and does not converge is still compared fairly with the others.
        warnings.simplefilter("ignore")
        model.fit(features[there][rows], classes, sample_weight=share)
    weights, offsets = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if len(weights) == 1:
        # Of two classes only the second has weights; the first gets their opposite halves.
        weights, offsets = np.vstack([-weights, weights]) / 2, np.concatenate([-offsets, offsets]) / 2
    return weights, offsets, np.asarray(model.classes_, dtype=np.float64)


def predicted_from(
    features: Any, weights: Floats, offsets: Floats, classes: Floats, spread: float, question: Question
) -> Predicted:
    """What weights, offsets and classes say about features."""
    out = np.asarray(features @ weights.T) + offsets
    if not len(classes):
        return Predicted.of_numbers(out[:, 0], spread, question.scale)
    odds = np.exp(out - out.max(axis=1, keepdims=True))
    shares = np.zeros((len(out), len(question.scale.codes)))
    shares[:, classes.astype(int)] = odds / odds.sum(axis=1, keepdims=True)
    return Predicted.of_shares(shares, question.scale)


def chosen(trials: Sequence[Any], settings: LinearSettings, question: Question) -> tuple[float, float]:
    """The strength with the smallest squared error or the highest macro F1, and the spread of its errors."""
    from sklearn.metrics import f1_score

    results = []
    for strength in settings.tried:
        errors, given, right = [], [], []
        for features, labels, held, wanted in trials:
            parts = learned(features, labels, settings, strength)
            there = wanted.answered
            found = predicted_from(held[there], *parts, 1.0, question)
            if found.mean is not None:
                errors.append(found.mean - wanted.score[there])
            given.append(decide(found, question.scale, by_mean=settings.model == "ridge"))
            right.append(wanted.score[there] if settings.model == "ridge" else _top(wanted, question))
        spread = float(np.sqrt(np.mean(np.concatenate(errors) ** 2))) if errors else 0.0
        if settings.model == "ridge":
            goodness = -spread
        else:
            truth, answers = np.concatenate(right), np.concatenate(given)
            goodness = float(
                f1_score(truth, answers, labels=list(question.scale.codes), average="macro", zero_division=0)
            )
        results.append((goodness, -settings.tried.index(strength), strength, spread))
    _, _, best, spread = max(results)
    return best, spread


def _top(labels: Labels, question: Question) -> Floats:
    codes = np.asarray(question.scale.codes)
    return np.asarray(codes[labels.shares[labels.answered].argmax(axis=1)])


def _check(labels: Labels, settings: LinearSettings) -> None:
    scale = labels.question.scale
    if settings.model == "ridge" and not scale.ordered:
        raise InputError(f"question '{labels.question.id}' has a nominal scale", remedy="use logistic regression")
    if settings.model == "logistic" and not scale.options:
        raise InputError(f"question '{labels.question.id}' has a continuous scale", remedy="use ridge regression")


def _rows(labels: Labels, which: Any) -> Labels:
    return Labels(labels.question, labels.shares[which], labels.score[which])


def _stacked(one: Any, other: Any) -> Any:
    from scipy.sparse import vstack

    return vstack([one, other]).tocsr()
