"""Fitting: from a perspectivist split to a rater that has learned from its training part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.perspective import Split
from vantage.raters.trained.base import Progress
from vantage.raters.trained.linear import FOLDS, LinearSettings
from vantage.raters.trained.pairs.base import PairPredictor
from vantage.raters.trained.pairs.majorities import MajorityPairs
from vantage.raters.trained.pairs.methods import PAIR_METHODS, PairSettings, refuse_without_torch
from vantage.raters.trained.pairs.offsets import fit_offsets
from vantage.raters.trained.pairs.people import People
from vantage.raters.trained.pairs.rater import PairRater
from vantage.raters.trained.pairs.table import PairTable
from vantage.raters.trained.pairs.words import WordPairs

EMBEDDED: Final = ("embedded", "minilm")
"""The encoder that comes in a package."""
Settings = Mapping[str, Any] | PairSettings | LinearSettings


@dataclass(frozen=True, slots=True)
class _Lessons:
    """What there is to learn from."""

    table: PairTable
    labels: NDArray[np.intp]
    people: People
    question: Question
    kept: frozenset[str]
    seed: int


def fit_pairs(
    split: Split,
    method: str = "tokens",
    *,
    traits: Sequence[str] | None = None,
    model: str = "embedded",
    settings: Settings | None = None,
    seed: int = 0,
    name: str | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
) -> PairRater:
    """Learns what each user says of each text from the training part of a split.

    Where the split keeps the labels of test users apart (`adaptation="test"`), methods that tell users apart look at
    them when a user is met: they move the predictions for this user, and nothing else is learned from them.

    Args:
        split: Made by `vantage.perspective.split`.
        method: One of `PAIR_METHODS`.
        traits: What is told of users; all traits in which they differ where nothing is said. Of unnamed users
            nothing is told.
        model: `embedded` (MiniLM, offline), a folder, or a name on the hub (encoders).
        settings: Those of `PairSettings` (encoders) or `LinearSettings` (TF-IDF) that differ from the defaults.
        seed: The seed of everything that is drawn by lot.
        name: The rater's id; otherwise it is made from method and model.
        progress: Called with steps done and steps in all (encoders).
        checkpoint: A folder from which a training that was cut off goes on (encoders).

    >>> import vantage
    >>> from vantage.perspective import evaluate, split
    >>> parts = split(vantage.demo_corpus(), question="trust", adaptation="test", adaptation_items=2)
    >>> rater = fit_pairs(parts, "user-majority")
    >>> rater.judge().select("item", "rater", "value").shape
    (11, 3)
    >>> round(evaluate(rater.judge(), parts, resamples=0).f1("global", "micro"), 2)
    0.18
    """
    if method not in PAIR_METHODS:
        raise InputError(f"there is no method '{method}'", remedy=nearest(method, list(PAIR_METHODS)))
    kind = PAIR_METHODS[method]
    refuse_without_torch(method)
    question = split.corpus.question(split.question)
    if not question.scale.options:
        raise InputError(f"question '{question.id}' has a continuous scale and no labels", remedy="use vantage.fit")
    told = _traits(split, traits) if kind.users else ()
    table = PairTable.of(split.train, split.corpus, question.id, told)
    labels = _codes(split.train, question)
    if method not in ("majority", "text-majority", "user-majority"):
        _refuse_constant(labels, question)
    met = {user: table.profiles[user] for user in table.users} if kind.users else {}
    kept = frozenset(split.set_aside["item"]) if split.adapts == "train" else frozenset[str]()
    lessons = _Lessons(table, labels, People.of(met, told), question, kept, seed)
    notes = _never_seen(labels, question)
    predictor, about = _learned(method, lessons, model, settings, progress, checkpoint)
    people = getattr(predictor, "people", lessons.people)
    about |= {"method": method, "seed": seed, "traits": list(told), "pairs": len(table)}
    about |= {"users": len(set(table.users)), "texts": len(table.items), "question": question.id}
    about |= {"split": {"users": split.users, "adaptation": split.adapts, "extended": split.extended}}
    rater = PairRater(
        name or about["id"], method, _instrument(split, question), question, people, predictor, {}, about, split, notes
    )
    if split.adapts == "test":
        _meet(rater, split, labels)
    return rater


def _learned(
    method: str,
    lessons: _Lessons,
    model: str,
    settings: Settings | None,
    progress: Progress | None,
    checkpoint: str | Path | None,
) -> tuple[PairPredictor, dict[str, Any]]:
    table, labels, people, question = lessons.table, lessons.labels, lessons.people, lessons.question
    if PAIR_METHODS[method].torch:
        from vantage.raters.trained.pairs.encoder import EncoderPairs

        name = "minilm" if model in EMBEDDED else model
        tuned = _encoder_settings(settings, name)
        held = table.held_out(tuned.folds, lessons.seed, lessons.kept)
        place = None if checkpoint is None else Path(checkpoint)
        found = EncoderPairs.fit(
            method,
            table,
            labels,
            held,
            people,
            question,
            tuned,
            seed=lessons.seed,
            checkpoints=place,
            progress=progress,
        )
        short = name if name == "minilm" else Path(name).name
        about = {"id": f"{method}:{short}", "model": f"encoder:{short}", "validation": found.validation}
        return found, about | {"settings": {**asdict(tuned), "device": None}}
    if method in ("tfidf", "tfidf-users"):
        linear = _linear_settings(settings)
        held = table.held_out(FOLDS, lessons.seed, lessons.kept)
        words = WordPairs.fit(table, labels, held, people, question, linear)
        told = {"id": method, "model": "tfidf-logistic", "settings": asdict(linear)}
        return words, {**told, "strength": words.strength}
    if settings:
        raise InputError(f"the method '{method}' has no settings", remedy="leave them out")
    counts = MajorityPairs.fit(method, table, labels, people, len(question.scale.options))
    return counts, {"id": method, "model": method}


def _meet(rater: PairRater, split: Split, labels: NDArray[np.intp]) -> None:
    """Takes in what test users said beforehand, where the method looks at users at all."""
    adaptation = split.adaptation
    if not PAIR_METHODS[rater.method].users or adaptation.is_empty():
        if not adaptation.is_empty():
            rater.told.append(
                f"The {len(adaptation):,} labels that test users gave beforehand are not used: "
                f"'{rater.method}' does not tell users apart."
            )
        return
    table = PairTable.of(adaptation, split.corpus, rater.question.id, rater.people.traits)
    given = _codes(adaptation, rater.question)
    how = f"{len(adaptation):,} labels that {len(set(table.users)):,} test users gave beforehand"
    if isinstance(rater.predictor, MajorityPairs):
        rater.predictor.count(table, given)
        rater.told.append(f"The {how} count as their own.")
        return
    options = len(rater.question.scale.options)
    usual = np.bincount(labels, minlength=options)
    weights = np.divide(len(labels), usual * np.count_nonzero(usual), out=np.zeros(options), where=usual > 0)
    if not rater.about["settings"].get("balanced", rater.about["settings"].get("class_weights")):
        weights = np.ones(options)
    rater.offsets = fit_offsets(rater.predictor.predict(table), given, table.users, weights.tolist())
    rater.told.append(f"The {how} move what is predicted for them (an offset per option and user).")


def _traits(split: Split, wanted: Sequence[str] | None) -> tuple[str, ...]:
    if split.users == "unnamed":
        if wanted:
            raise InputError(
                "of unnamed users no trait is told", remedy="leave traits out, or split with users='named'"
            )
        return ()
    corpus = split.corpus
    people = corpus.raters.filter(pl.col("rater").is_in(split.train["rater"].unique().to_list()))
    if wanted is None:
        return tuple(t for t in corpus.traits if people[t].drop_nulls().n_unique() > 1)
    for trait in wanted:
        if trait not in corpus.traits:
            raise InputError(f"the raters have no trait '{trait}'", remedy=nearest(trait, corpus.traits))
        if people[trait].drop_nulls().n_unique() < 2:
            raise InputError(
                f"all users of the training part have the same {trait}, of which nothing can be learned",
                remedy="leave the trait out",
            )
    return tuple(wanted)


def _codes(pairs: pl.DataFrame, question: Question) -> NDArray[np.intp]:
    place = {code: n for n, code in enumerate(question.scale.codes)}
    return np.array([place[value] for value in pairs["value"]], dtype=np.intp)


def _refuse_constant(labels: NDArray[np.intp], question: Question) -> None:
    if len(np.unique(labels)) < 2:
        label = question.scale.options[int(labels[0])].label
        raise InputError(
            f"every training label of question '{question.id}' is '{label}', so that there is nothing to learn",
            remedy="choose another question, or the method majority",
        )


def _never_seen(labels: NDArray[np.intp], question: Question) -> list[str]:
    missing = [option.label for n, option in enumerate(question.scale.options) if not (labels == n).any()]
    if not missing:
        return []
    return [f"No training pair has the label {', '.join(repr(label) for label in missing)}; it is never predicted."]


def _instrument(split: Split, question: Question) -> Instrument:
    return next(i for i in split.corpus.instruments if question.id in {q.id for q in i.questions})


def _encoder_settings(given: Settings | None, model: str) -> PairSettings:
    if isinstance(given, PairSettings):
        return (
            given if given.model != "minilm" or model == "minilm" else PairSettings(**{**asdict(given), "model": model})
        )
    if isinstance(given, LinearSettings):
        raise InputError("an encoder is not tuned by LinearSettings", remedy="pass PairSettings or a mapping")
    found = PairSettings.of(**{"model": model, **(given or {})})
    assert isinstance(found, PairSettings)  # noqa: S101 - `of` makes its own class
    return found


def _linear_settings(given: Settings | None) -> LinearSettings:
    if isinstance(given, LinearSettings):
        return given
    if isinstance(given, PairSettings):
        raise InputError("TF-IDF is not tuned by PairSettings", remedy="pass LinearSettings or a mapping")
    return LinearSettings.of("logistic", **(given or {}))
