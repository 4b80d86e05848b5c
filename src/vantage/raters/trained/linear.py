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
from vantage.raters.trained.base import Floats, Predicted, decide, refuse_unknown
from vantage.raters.trained.examples import Labels
from vantage.raters.trained.folds import Rows
from vantage.raters.trained.instances import Instances
from vantage.raters.trained.people import People
from vantage.raters.trained.saved import Saved

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
    """One linear model per question over a common vocabulary, and for pairs over traits and users.

    For pairs, words count once for everybody and once more for each trait value, so that a word can mean something
    else to a group than to people in general (feature augmentation after Daumé III 2007). A user, whose labels are
    few, has an offset. Where `people` is empty, the model is blind to users.
    """

    settings: LinearSettings
    questions: tuple[Question, ...]
    vocabulary: Vocabulary
    people: People | None = None
    """Whom it learned from; null where texts are judged."""
    weights: dict[str, Floats] = field(default_factory=dict)
    """Per question one row per output: a single one, or one per class that was seen."""
    offsets: dict[str, Floats] = field(default_factory=dict)
    classes: dict[str, Floats] = field(default_factory=dict)
    """Per question the places of the options that the outputs stand for; empty for ridge regression."""
    spreads: dict[str, float] = field(default_factory=dict)
    chosen: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls,
        instances: Instances,
        labels: Sequence[Labels],
        splits: Sequence[tuple[Rows, Rows]],
        vocabulary: Vocabulary,
        settings: LinearSettings,
        people: People | None = None,
    ) -> LinearPredictor:
        """Chooses the strength on what the splits hold out, and learns from everything."""
        found = cls(settings, tuple(one.question for one in labels), vocabulary, people)
        features = found._features(instances)
        for one in labels:
            _check(one, settings)
            trials = [(features[rest], one.take(rest), features[held], one.take(held)) for rest, held in splits]
            id_ = one.question.id
            found.chosen[id_], found.spreads[id_] = chosen(trials, settings, one.question)
            model = learned(features, one, settings, found.chosen[id_])
            found.weights[id_], found.offsets[id_], found.classes[id_] = model
        return found

    def predict(self, instances: Instances) -> dict[str, Predicted]:
        """Numbers with the spread of the errors in validation, or probabilities of the classes."""
        features = self._features(instances)
        return {
            q.id: predicted_from(
                features, self.weights[q.id], self.offsets[q.id], self.classes[q.id], self.spreads[q.id], q
            )
            for q in self.questions
        }

    def _features(self, instances: Instances) -> Any:
        """Words for everybody and, for pairs, words for each trait value and the ids themselves."""
        from scipy.sparse import csr_array, diags_array, hstack

        words = self.vocabulary(instances.texts.joined())[instances.text]
        if self.people is None:
            return words
        people, ids = self.people, self.people.ids(instances.users, instances.profiles)
        blocks = [words]
        first = people.unknown + 1
        for trait, values in enumerate(people.values, 1):
            blocks += [diags_array((ids[:, trait] == first + n).astype(np.float64)) @ words for n in range(len(values))]
            first += len(values)
        rows = np.repeat(np.arange(len(ids)), ids.shape[1])
        # The id of an unknown user is no feature, and neither is a trait value that nobody had.
        known = ((ids != 0) & (ids != people.unknown)).reshape(-1).astype(np.float64)
        return hstack([*blocks, csr_array((known, (rows, ids.reshape(-1))), shape=(len(ids), people.size))]).tocsr()

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
    def load(cls, saved: Saved) -> LinearPredictor:
        """Reads what `save` wrote; weights that do not fit vocabulary and people are refused."""
        data, people, folder = saved.data, saved.people, saved.folder
        settings = LinearSettings(**{k: tuple(v) if isinstance(v, list) else v for k, v in data["settings"].items()})
        words = json.loads((folder / f"{saved.name}-vocabulary.json").read_text("utf-8"))
        # Older folders of pairs have another name for the arrays, which were of one question, and for the strength.
        old = "strength" in data
        with np.load(folder / f"{saved.name}{'-words' if old else ''}.npz", allow_pickle=False) as arrays:
            held = {key if "-" in key else f"{key}-0": np.asarray(arrays[key]) for key in arrays.files}
        chosen = {saved.questions[0].id: data["strength"]} if old else data["chosen"]
        vocabulary = Vocabulary(settings, words, [held[f"idf-{n}"] for n in range(len(words))])
        width = sum(map(len, words))
        if people is not None:
            width = (1 + sum(map(len, people.values))) * width + people.size
        found = cls(settings, saved.questions, vocabulary, people, chosen=chosen)
        for n, question in enumerate(saved.questions):
            if held[f"weights-{n}"].shape[1] != width:
                raise InputError(
                    f"the weights for question '{question.id}' do not fit the vocabulary",
                    file=folder,
                    remedy="fit it again",
                )
            found.weights[question.id], found.offsets[question.id] = held[f"weights-{n}"], held[f"offsets-{n}"]
            found.classes[question.id] = held[f"classes-{n}"]
            found.spreads[question.id] = 0.0 if old else data["spreads"][question.id]
        return found


def collapsed(instances: Instances, labels: Labels, people: People) -> tuple[Instances, Labels]:
    """Pairs that look alike to a linear model as one instance, whose shares are how often each label was given."""
    every = np.column_stack([instances.text, people.ids(instances.users, instances.profiles)])
    _, first, place = np.unique(every, axis=0, return_index=True, return_inverse=True)
    counts = np.zeros((len(first), labels.shares.shape[1]))
    np.add.at(counts, place.reshape(-1), labels.shares)
    codes = np.asarray(labels.question.scale.codes)
    return instances.take(first), Labels(labels.question, counts, codes[counts.argmax(axis=1)])


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

    # With one class there is nothing to learn, and without answers nothing to be compared.
    trials = [trial for trial in trials if _varies(trial[1], settings) and trial[3].answered.any()]
    if not trials:
        return settings.tried[0], 0.0
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


def _varies(labels: Labels, settings: LinearSettings) -> bool:
    given = labels.shares[labels.answered].sum(axis=0)
    return bool(labels.answered.any()) and (settings.model == "ridge" or int((given > 0).sum()) > 1)
