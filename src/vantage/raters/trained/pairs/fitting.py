"""Fitting: from a perspectivist split to a rater that has learned from its training part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.perspective import Split
from vantage.raters.trained.base import Progress, short_name
from vantage.raters.trained.baselines import CountPredictor
from vantage.raters.trained.encoder_settings import PairSettings
from vantage.raters.trained.examples import Examples, Labels
from vantage.raters.trained.fitting import instrument_of, refuse_constant
from vantage.raters.trained.instances import Instances
from vantage.raters.trained.linear import LinearPredictor, LinearSettings
from vantage.raters.trained.pairs.rater import PAIR_METHODS, PairRater, fit_offsets, pair_method, shares_of
from vantage.raters.trained.people import People
from vantage.raters.trained.saved import Predictor

EMBEDDED: Final = ("embedded", "minilm")
"""The encoder that comes in a package."""
Settings = Mapping[str, Any] | PairSettings | LinearSettings


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
        seed: Random seed.
        name: The rater's id; otherwise it is made from method and model.
        progress: Called with steps done and steps in all (encoders).
        checkpoint: A folder with checkpoints; an interrupted training resumes from it (encoders).

    >>> import vantage
    >>> from vantage.perspective import evaluate, split
    >>> parts = split(vantage.demo_corpus(), question="trust", adaptation="test", adaptation_items=2)
    >>> rater = fit_pairs(parts, "user-majority")
    >>> rater.judge().select("item", "rater", "value").shape
    (11, 3)
    >>> round(evaluate(rater.judge(), parts, resamples=0).f1("global", "micro"), 2)
    0.18
    """
    how = pair_method(method)
    question = split.corpus.question(split.question)
    if not question.scale.options:
        raise InputError(f"question '{question.id}' has a continuous scale and no labels", remedy="use vantage.fit")
    chosen = _traits(split, traits) if how.users else ()
    pairs = Instances.of_pairs(split.train, split.corpus, question.id, chosen)
    labels = _labels(split.train, question)
    if how.kind != "counts":
        refuse_constant([labels])
    people = People.of({user: pairs.profiles[user] for user in pairs.users} if how.users else {}, chosen)
    kept = frozenset(split.set_aside["item"]) if split.adapts == "train" else frozenset[str]()
    examples = Examples(pairs, (labels,), len(set(pairs.users)), len(pairs), people, kept)
    id_ = method
    predictor: Predictor
    if how.kind == "encoder":
        from vantage.raters.trained.encoder import EncoderPredictor

        tuned = _encoder_settings(settings, "minilm" if model in EMBEDDED else model)
        id_ = f"{method}:{short_name(tuned.model)}"
        predictor = encoder = EncoderPredictor.fit(
            examples, tuned, method=method, seed=seed, checkpoints=checkpoint, progress=progress
        )
        people = encoder.people or people
    elif how.kind == "linear":
        predictor = LinearPredictor.fit(examples, _linear_settings(settings), seed=seed)
    else:
        if settings:
            raise InputError(f"the method '{method}' has no settings", remedy="leave them out")
        predictor = CountPredictor.fit(examples, method)
    about = {"id": id_, **predictor.about()}
    about |= {"method": method, "seed": seed, "traits": list(chosen), "pairs": len(pairs)}
    about |= {"users": examples.raters, "texts": len(pairs.items), "question": question.id}
    about |= {"split": {"users": split.users, "adaptation": split.adapts, "extended": split.extended}}
    instrument = instrument_of(split.corpus, [question.id])
    notes = _never_seen(labels)
    rater = PairRater(name or id_, method, instrument, question, people, predictor, {}, about, split, notes)
    if split.adapts == "test":
        _meet(rater, split, labels)
    return rater


def _meet(rater: PairRater, split: Split, labels: Labels) -> None:
    """Takes in what test users said beforehand, where the method looks at users at all."""
    adaptation = split.adaptation
    if adaptation.is_empty():
        return
    if not PAIR_METHODS[rater.method].users:
        rater.warnings.append(
            f"The {len(adaptation):,} labels that test users gave beforehand are not used: "
            f"'{rater.method}' does not tell users apart."
        )
        return
    pairs = Instances.of_pairs(adaptation, split.corpus, rater.question.id, rater.people.traits)
    given = _labels(adaptation, rater.question)
    how = f"{len(adaptation):,} labels that {len(set(pairs.users)):,} test users gave beforehand"
    if isinstance(rater.predictor, CountPredictor):
        rater.predictor.count(pairs, given)
        rater.warnings.append(f"The {how} count as their own.")
        return
    usual = labels.shares.sum(axis=0)
    weights = np.divide(len(labels.score), usual * np.count_nonzero(usual), out=np.zeros(len(usual)), where=usual > 0)
    if not rater.about["settings"].get("balanced", rater.about["settings"].get("class_weights")):
        weights = np.ones(len(usual))
    shares = shares_of(rater.predictor, pairs, rater.question)
    rater.offsets = fit_offsets(shares, given.shares.argmax(axis=1), pairs.users, weights.tolist())
    rater.warnings.append(f"The {how} move what is predicted for them (an offset per option and user).")


def _traits(split: Split, wanted: Sequence[str] | None) -> tuple[str, ...]:
    if split.users == "unnamed":
        if wanted:
            raise InputError(
                "no trait is known of unnamed users", remedy="leave traits out, or split with users='named'"
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


def _labels(pairs: pl.DataFrame, question: Question) -> Labels:
    place = {code: n for n, code in enumerate(question.scale.codes)}
    values = pairs["value"].to_numpy()
    return Labels(question, np.eye(len(place))[[place[value] for value in values]], values)


def _never_seen(labels: Labels) -> list[str]:
    given = labels.shares.sum(axis=0)
    missing = [repr(option.label) for n, option in enumerate(labels.question.scale.options) if not given[n]]
    return [f"No training pair has the label {', '.join(missing)}; it is never predicted."] if missing else []


def _encoder_settings(given: Settings | None, model: str) -> PairSettings:
    if isinstance(given, PairSettings):
        return given if given.model != "minilm" else replace(given, model=model)
    if isinstance(given, LinearSettings):
        raise InputError("an encoder is not tuned by LinearSettings", remedy="pass PairSettings or a mapping")
    return PairSettings.of(**{"model": model, **(given or {})})


def _linear_settings(given: Settings | None) -> LinearSettings:
    if isinstance(given, LinearSettings):
        return given
    if isinstance(given, PairSettings):
        raise InputError("TF-IDF is not tuned by PairSettings", remedy="pass LinearSettings or a mapping")
    return LinearSettings.of("logistic", **(given or {}))
