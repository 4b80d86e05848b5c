"""Raters of pairs predict what each user says of a text: the ways to learn, told who judges, and what a split gives."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.perspective.splits import Split, differing
from vantage.raters.trained.baselines import BaselinePredictor
from vantage.raters.trained.examples import Examples, Instances, Labels
from vantage.raters.trained.people import People, fit_offsets
from vantage.raters.trained.rater import TrainedRater


class PairMethod(NamedTuple):
    """One way to learn; docs/perspective-raters.md says what each does."""

    kind: str
    """What learns."""
    users: bool
    """Whether it tells users apart; a blind one gives a text the same label whoever judges it."""

    @property
    def torch(self) -> bool:
        """Whether it needs the extra `local`."""
        return self.kind == "encoder"


PAIR_METHODS: Final[dict[str, PairMethod]] = {
    "majority": PairMethod("majority", users=False),
    "text-majority": PairMethod("text-majority", users=False),
    "user-majority": PairMethod("user-majority", users=True),
    "tfidf": PairMethod("logistic", users=False),
    "tfidf-users": PairMethod("logistic", users=True),
    "baseline": PairMethod("encoder", users=False),
    **dict.fromkeys(("tokens", "embeddings", "heads"), PairMethod("encoder", users=True)),
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


def pair_examples(split: Split, kind: str, traits: Sequence[str] | None) -> Examples:
    """The training part of a split as what a method learns from; users are told apart only by methods that do so."""
    how, question = pair_method(kind), split.corpus.question(split.question)
    if not question.scale.options:
        raise InputError(f"question '{question.id}' has a continuous scale and no labels", remedy="fit on a corpus")
    chosen = _traits(split, traits) if how.users else ()
    pairs = Instances.of_pairs(split.train, split.corpus, question.id, chosen)
    people = People.of({user: pairs.profiles[user] for user in pairs.users} if how.users else {}, chosen)
    kept = frozenset(split.set_aside["item"]) if split.adapts == "train" else frozenset[str]()
    return Examples(pairs, (_labels(split.train, question),), len(set(pairs.users)), len(pairs), people, kept)


def meet(rater: TrainedRater, split: Split, labels: Labels) -> None:
    """Takes in what test users said beforehand, where the split keeps it apart and the method looks at users at all."""
    adaptation, method = split.adaptation, rater.about["method"]
    if split.adapts != "test" or adaptation.is_empty():
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


def never_seen(labels: Labels) -> list[str]:
    """A sentence about the options that nobody gave in training, if there are any."""
    given = labels.shares.sum(axis=0)
    missing = [repr(option.label) for n, option in enumerate(labels.question.scale.options) if not given[n]]
    return [f"No training pair has the label {', '.join(missing)}; it is never predicted."] if missing else []
