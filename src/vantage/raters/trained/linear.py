"""Words and letter sequences, weighted by how rare they are, with ridge or logistic regression on top.

TF-IDF after Salton and Buckley (1988), ridge regression after Hoerl and Kennard (1970). What was learned is saved as
plain arrays and a vocabulary in JSON.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from scipy.special import softmax

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.trained.base import Floats, PredictedAnswers, refuse_unknown
from vantage.raters.trained.examples import Examples, Instances, Labels, root_mean_squared_error
from vantage.raters.trained.held_out import HeldOut
from vantage.raters.trained.people import People
from vantage.raters.trained.saved import SavedPredictor

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
                    "no word occurs in enough of the texts", remedy="give more items or lower 'least'"
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


@dataclass(frozen=True, slots=True)
class LinearModel:
    """What was learned about one question."""

    weights: Floats
    """One row per output: a single one, or one per class that was seen."""
    offsets: Floats
    classes: Floats
    """The places of the options that the outputs stand for; empty for ridge regression."""
    strength: float
    spread: float = 1.0
    """The error on held-out texts; the spread of a predicted number."""

    def predict(self, features: Any, question: Question) -> PredictedAnswers:
        """Numbers with the spread of the errors in validation, or probabilities of the classes."""
        out = np.asarray(features @ self.weights.T) + self.offsets
        if not len(self.classes):
            return PredictedAnswers.of_numbers(out[:, 0], self.spread, question.scale)
        shares = np.zeros((len(out), len(question.scale.codes)))
        shares[:, self.classes.astype(int)] = softmax(out, axis=1)
        return PredictedAnswers.of_shares(shares, question.scale)


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
    models: dict[str, LinearModel] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    aside: HeldOut | None = None

    @classmethod
    def fit(
        cls, examples: Examples, settings: LinearSettings, validation: Examples | None = None, *, seed: int = 0
    ) -> LinearPredictor:
        """Chooses the strength on the validation part or on held-out texts, and learns from everything.

        The vocabulary is that of the training part.
        """
        vocabulary = Vocabulary.fit(examples.instances.texts.joined(), settings)
        examples = _collapsed(examples)
        splits, whole = examples.splits(FOLDS, seed, validation), examples.and_also(validation)
        predictor = cls(settings, tuple(one.question for one in whole.labels), vocabulary, examples.people)
        features, said = predictor._features(whole.instances), dict[str, list[PredictedAnswers]]()
        for one in whole.labels:
            _check(one, settings)
            trials = [(features[rest], one.take(rest), features[held], one.take(held)) for rest, held in splits]
            strength, spread, answers = _chosen(trials, settings, one.question)
            model = _learned(features, one, settings, strength)
            predictor.models[one.question.id] = replace(model, spread=spread)
            said[one.question.id] = answers
        if examples.people is None and all(len(answers) == len(splits) for answers in said.values()):
            rows = [held for _, held in splits]
            predictor.aside = HeldOut.of(rows, whole.instances.texts, whole.labels, said)
        return predictor

    def about(self) -> dict[str, Any]:
        """The regression, the settings, and the strength that was chosen per question."""
        chosen = {id_: model.strength for id_, model in self.models.items()}
        return {"model": f"tfidf-{self.settings.model}", "settings": asdict(self.settings), "chosen": chosen}

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """Numbers or probabilities."""
        features = self._features(instances)
        return {question.id: self.models[question.id].predict(features, question) for question in self.questions}

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
            model = self.models[question.id]
            arrays |= {f"weights-{n}": model.weights, f"offsets-{n}": model.offsets, f"classes-{n}": model.classes}
        np.savez_compressed(folder / f"{name}.npz", allow_pickle=False, **arrays)
        words = json.dumps(self.vocabulary.words, ensure_ascii=False)
        (folder / f"{name}-vocabulary.json").write_text(words, encoding="utf-8")
        spreads = {id_: model.spread for id_, model in self.models.items()}
        return {"settings": asdict(self.settings), "spreads": spreads, "chosen": self.about()["chosen"]}

    @classmethod
    def load(cls, saved: SavedPredictor) -> LinearPredictor:
        """Reads what `save` wrote; weights that do not fit vocabulary and people are refused."""
        data, people, folder = saved.data, saved.people, saved.folder
        given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data["settings"].items()}
        settings = LinearSettings(**given)
        words = json.loads((folder / f"{saved.name}-vocabulary.json").read_text("utf-8"))
        with np.load(folder / f"{saved.name}.npz", allow_pickle=False) as arrays:
            held = {key: np.asarray(arrays[key]) for key in arrays.files}
        vocabulary = Vocabulary(settings, words, [held[f"idf-{n}"] for n in range(len(words))])
        width = sum(map(len, words))
        if people is not None:
            width = (1 + sum(map(len, people.values))) * width + people.size
        predictor = cls(settings, saved.questions, vocabulary, people)
        for n, question in enumerate(saved.questions):
            if held[f"weights-{n}"].shape[1] != width:
                raise InputError(
                    f"the weights for question '{question.id}' do not fit the vocabulary",
                    file=folder,
                    remedy="fit it again",
                )
            learned = held[f"weights-{n}"], held[f"offsets-{n}"], held[f"classes-{n}"]
            numbers = data["chosen"][question.id], data["spreads"][question.id]
            predictor.models[question.id] = LinearModel(*learned, *numbers)
        return predictor


def _collapsed(examples: Examples) -> Examples:
    """Pairs that look alike to a linear model as one instance, whose shares are how often each label was given."""
    if examples.people is None:
        return examples
    instances, labels = examples.instances, examples.labels[0]
    every = np.column_stack([instances.text, examples.people.ids(instances.users, instances.profiles)])
    _, first, place = np.unique(every, axis=0, return_index=True, return_inverse=True)
    counts = np.zeros((len(first), labels.shares.shape[1]))
    np.add.at(counts, place.reshape(-1), labels.shares)
    score = np.asarray(labels.question.scale.codes)[counts.argmax(axis=1)]
    return replace(examples, instances=instances.take(first), labels=(Labels(labels.question, counts, score),))


def _learned(features: Any, labels: Labels, settings: LinearSettings, strength: float) -> LinearModel:
    """Fits a regression; shares may be counts, which weigh.

    In one thread: the steps are so short that several wait for each other, on a busy machine ten times as long.
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from threadpoolctl import threadpool_limits

    there = labels.answered
    if settings.model == "ridge":
        with threadpool_limits(1):
            model = Ridge(alpha=strength, solver="lsqr", tol=1e-4).fit(features[there], labels.score[there])
        return LinearModel(np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), np.zeros(0), strength)
    rows, classes = np.nonzero(labels.shares[there] > 0)
    share = labels.shares[there][rows, classes]
    model = LogisticRegression(C=strength, class_weight="balanced" if settings.balanced else None, max_iter=3000)
    with warnings.catch_warnings(), threadpool_limits(1):
        # A penalty that is tried and does not converge is still compared fairly with the others.
        warnings.simplefilter("ignore")
        model.fit(features[there][rows], classes, sample_weight=share)
    weights, offsets = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if len(weights) == 1:
        # Of two classes only the second has weights; the first gets their opposite halves.
        weights, offsets = np.vstack([-weights, weights]) / 2, np.concatenate([-offsets, offsets]) / 2
    return LinearModel(weights, offsets, np.asarray(model.classes_, dtype=np.float64), strength)


def _chosen(
    trials: Sequence[Any], settings: LinearSettings, question: Question
) -> tuple[float, float, list[PredictedAnswers]]:
    """The strength with the smallest squared error or the highest macro F1, how far it errs, and what it says."""
    from sklearn.metrics import f1_score

    # With one class there is nothing to learn, and without answers nothing to be compared.
    trials = [trial for trial in trials if _varies(trial[1], settings) and trial[3].answered.any()]
    if not trials:
        return settings.tried[0], 0.0, []
    results, answered = [], {}
    for place, strength in enumerate(settings.tried):
        folds = [
            (_learned(features, labels, settings, strength).predict(held, question), wanted)
            for features, labels, held, wanted in trials
        ]
        spread = root_mean_squared_error(folds)
        goodness = -spread
        if settings.model == "logistic":
            truth = np.concatenate([wanted.shares[wanted.answered].argmax(axis=1) for _, wanted in folds])
            answers = np.concatenate([said.place[wanted.answered] for said, wanted in folds])
            options = list(range(len(question.scale.codes)))
            goodness = float(f1_score(truth, answers, labels=options, average="macro", zero_division=0))
        results.append((goodness, -place, strength, spread))
        answered[strength] = [said for said, _ in folds]
    _, _, best, spread = max(results)
    if settings.model == "logistic":
        return best, spread, answered[best]
    numbers = [said.mean for said in answered[best] if said.mean is not None]
    return best, spread, [PredictedAnswers.of_numbers(mean, spread, question.scale) for mean in numbers]


def _check(labels: Labels, settings: LinearSettings) -> None:
    scale = labels.question.scale
    if settings.model == "ridge" and not scale.ordered:
        raise InputError(f"question '{labels.question.id}' has a nominal scale", remedy="use logistic regression")
    if settings.model == "logistic" and not scale.options:
        raise InputError(f"question '{labels.question.id}' has a continuous scale", remedy="use ridge regression")


def _varies(labels: Labels, settings: LinearSettings) -> bool:
    given = labels.shares[labels.answered].sum(axis=0)
    return bool(labels.answered.any()) and (settings.model == "ridge" or int((given > 0).sum()) > 1)
