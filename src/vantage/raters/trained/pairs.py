"""Raters of pairs: trained raters that predict what each user says of a text, rather than what people say on average.

`fit_pairs` learns one from the training part of a perspectivist split. The ways to learn are those of `fit`, told who
judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.perspective.splits import Split, differing
from vantage.raters.trained.base import Progress, short_name
from vantage.raters.trained.baselines import BaselinePredictor
from vantage.raters.trained.examples import Examples, Instances, Labels, instrument_of
from vantage.raters.trained.fitting import Way, about_learning, taught
from vantage.raters.trained.people import People, fit_offsets
from vantage.raters.trained.rater import TrainedRater


class PairMethod(NamedTuple):
    """One way to learn."""

    description: str
    """What it does, in one sentence."""
    users: bool
    """Whether it tells users apart; a blind one gives a text the same label whoever judges it."""
    kind: Way
    """What learns."""

    @property
    def torch(self) -> bool:
        """Whether it needs the extra `local`."""
        return self.kind == "encoder"


PAIR_METHODS: Final[dict[str, PairMethod]] = {
    "majority": PairMethod("The most frequent label in training, for every pair.", False, "majority"),
    "text-majority": PairMethod(
        "The label most people of the training part gave the text; the majority of all where nobody judged it.",
        False,
        "text-majority",
    ),
    "user-majority": PairMethod(
        "The user's own most frequent label; else that of the people most alike in traits; else that of all.",
        True,
        "user-majority",
    ),
    "tfidf": PairMethod("Logistic regression on the words of the text, blind to users.", False, "logistic"),
    "tfidf-users": PairMethod(
        "Logistic regression on words, on words once more for each trait value, and on who the user is.",
        True,
        "logistic",
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


def pair_method(name: str) -> PairMethod:
    """The method of a name; one that does not exist or whose packages are missing is refused."""
    if name not in PAIR_METHODS:
        raise InputError(f"there is no method '{name}'", remedy=nearest(name, list(PAIR_METHODS)))
    method = PAIR_METHODS[name]
    missing = [package for package in ("torch", "transformers") if find_spec(package) is None]
    if method.torch and missing:
        raise InputError(
            f"the method '{name}' needs the package{'s' if missing[1:] else ''} {' and '.join(missing)}",
            remedy=f"pip install 'vantage-raters[local]', or use one of {', '.join(LIGHT)}",
        )
    return method


def fit_pairs(
    split: Split,
    kind: str = "tokens",
    *,
    traits: Sequence[str] | None = None,
    name: str = "",
    seed: int = 0,
    checkpoints: str | Path | None = None,
    progress: Progress | None = None,
    **settings: object,
) -> TrainedRater:
    """Learns what each user says of each text from the training part of a split.

    Where the split keeps the labels of test users apart (`adaptation="test"`), methods that tell users apart look at
    them when a user is met: they move the predictions for this user, and nothing else is learned from them.

    Args:
        split: Made by `vantage.perspective.split`.
        kind: One of `PAIR_METHODS`.
        traits: What is told of users; all traits in which they differ where nothing is said. Of unnamed users
            nothing is told.
        name: The rater's id; otherwise it is made from kind and model.
        seed: Random seed.
        checkpoints: A folder with checkpoints; an interrupted training resumes from it (encoders).
        progress: Called with steps done and steps in all (encoders).
        settings: Those of `PairSettings` (encoders) or `LinearSettings` (TF-IDF), as for `fit`.

    >>> import vantage
    >>> from vantage.perspective import evaluate, split
    >>> parts = split(vantage.demo_corpus(), question="trust", adaptation="test", adaptation_items=2)
    >>> rater = fit_pairs(parts, "user-majority")
    >>> rater.judge().select("item", "rater", "value").shape
    (11, 3)
    >>> round(evaluate(rater.judge(), parts, resamples=0).f1("global", "micro"), 2)
    0.18
    """
    how = pair_method(kind)
    question = split.corpus.question(split.question)
    if not question.scale.options:
        problem = f"question '{question.id}' has a continuous scale and no labels"
        raise InputError(problem, remedy="use vantage.raters.fit")
    chosen = _traits(split, traits) if how.users else ()
    pairs = Instances.of_pairs(split.train, split.corpus, question.id, chosen)
    labels = _labels(split.train, question)
    people = People.of({user: pairs.profiles[user] for user in pairs.users} if how.users else {}, chosen)
    kept = frozenset(split.set_aside["item"]) if split.adapts == "train" else frozenset[str]()
    examples = Examples(pairs, (labels,), len(set(pairs.users)), len(pairs), people, kept)
    part = taught(how.kind, examples, settings, method=kind, seed=seed, checkpoints=checkpoints, progress=progress)
    about = about_learning(examples, part.predictor, kind, chosen, seed, settings)
    id_ = f"{kind}:{short_name(about['settings']['model'])}" if how.kind == "encoder" else kind
    about |= {"style": f"pairs:{kind}", "method": kind, "seed": seed, "traits": list(chosen)}
    about |= {"split": {"users": split.users, "adaptation": split.adapts, "extended": split.extended}}
    rater = TrainedRater(
        name or id_,
        instrument_of(split.corpus, [question.id]),
        (question,),
        (part,),
        by_mean=False,
        about=about,
        split=split,
        warnings=_never_seen(labels),
    )
    if split.adapts == "test":
        _meet(rater, split, labels)
    return rater


def _meet(rater: TrainedRater, split: Split, labels: Labels) -> None:
    """Takes in what test users said beforehand, where the method looks at users at all."""
    adaptation, method = split.adaptation, rater.about["method"]
    if adaptation.is_empty():
        return
    if not PAIR_METHODS[method].users:
        rater.warnings.append(
            f"The {len(adaptation):,} labels that test users gave beforehand are not used: "
            f"'{method}' does not tell users apart."
        )
        return
    question, predictor = rater.questions[0], rater.parts[0].predictor
    pairs = Instances.of_pairs(adaptation, split.corpus, question.id, rater.about["traits"])
    given = _labels(adaptation, question)
    how = f"{len(adaptation):,} labels that {len(set(pairs.users)):,} test users gave beforehand"
    if isinstance(predictor, BaselinePredictor):
        predictor.count(pairs, given)
        rater.warnings.append(f"The {how} count as their own.")
        return
    usual = labels.shares.sum(axis=0)
    weights = np.divide(len(labels.score), usual * np.count_nonzero(usual), out=np.zeros(len(usual)), where=usual > 0)
    if not rater.about["settings"].get("balanced", rater.about["settings"].get("class_weights")):
        weights = np.ones(len(usual))
    shares = predictor.predict(pairs)[question.id].shares
    assert shares is not None  # noqa: S101 - labels have shares
    rater.offsets = fit_offsets(shares, given.shares.argmax(axis=1), pairs.users, weights.tolist())
    rater.warnings.append(f"The {how} move what is predicted for them (an offset per option and user).")


def _traits(split: Split, wanted: Sequence[str] | None) -> tuple[str, ...]:
    if split.users == "unnamed":
        if wanted:
            raise InputError(
                "no trait is known of unnamed users", remedy="leave traits out, or split with users='named'"
            )
        return ()
    same = "all users of the training part have the same {trait}, of which nothing can be learned"
    return differing(split.corpus, split.train, wanted, same)


def _labels(pairs: pl.DataFrame, question: Question) -> Labels:
    place = {code: n for n, code in enumerate(question.scale.codes)}
    values = pairs["value"].to_numpy()
    return Labels(question, np.eye(len(place))[[place[value] for value in values]], values)


def _never_seen(labels: Labels) -> list[str]:
    given = labels.shares.sum(axis=0)
    missing = [repr(option.label) for n, option in enumerate(labels.question.scale.options) if not given[n]]
    return [f"No training pair has the label {', '.join(missing)}; it is never predicted."] if missing else []
