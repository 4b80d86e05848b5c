"""Fitting: from a corpus to a rater that has learned from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.perspective import Split
from vantage.raters.encoders import minilm_folder
from vantage.raters.item_words import fingerprint, vocabulary
from vantage.raters.models.base import ModelError, require
from vantage.raters.trained.base import Progress, refuse_unknown, short_name
from vantage.raters.trained.baselines import BASELINES, BaselinePredictor
from vantage.raters.trained.encoder_settings import EncoderSettings, PairSettings
from vantage.raters.trained.examples import Examples, Labels, Target, examples, instrument_of, refuse_shared
from vantage.raters.trained.linear import LinearPredictor, LinearSettings
from vantage.raters.trained.pairs import PAIR_METHODS, meet, never_seen, pair_examples
from vantage.raters.trained.rater import DISTRIBUTIONS, TrainedRater, Weighted, check_weights
from vantage.raters.trained.saved import Predictor

Kind = Literal["auto", "encoder", "vectors", "probe", "blend", "ridge", "logistic", "majority", "mean", "median"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
BLENDED: Final = ("encoder", "probe")
STACKED: Final[tuple[Kind, ...]] = ("encoder", "probe", "vectors", "ridge")
"""The kinds of which a blend can be made."""


def fit(
    data: Corpus | Split,
    questions: str | Sequence[str] = (),
    *,
    kind: Kind | str = "auto",
    traits: Sequence[str] | None = None,
    validation: Corpus | None = None,
    target: Target | None = None,
    coarse: bool = False,
    raters: Sequence[str] = (),
    condition: str | None = None,
    name: str = "",
    seed: int = 0,
    checkpoints: str | Path | None = None,
    progress: Progress | None = None,
    **settings: object,
) -> TrainedRater:
    """Learns to judge as people do, or from a split what each user says of each text.

    Where a split keeps the labels of test users apart (`adaptation="test"`), kinds that tell users apart look at
    them when a user is met: they move the predictions for this user, and nothing else is learned from them.

    Args:
        data: What is learned from: a corpus, or the training part of a split made by `vantage.perspective.split`.
        questions: One question, or several that are learned together; all of the corpus where none is named.
        kind: `auto` (`vectors` if an encoder is installed or named, otherwise a regression on words); `encoder`;
            `vectors`, a regression on the vectors of a frozen encoder, which takes minutes; `probe`, a regression on
            the states of a language model; `blend`, several of these stacked (an encoder and a probe unless `parts`
            says otherwise); `ridge` or `logistic` regression on words; or a baseline: `majority`, `mean`, `median`.
            For a split, one of `pairs.PAIR_METHODS`, where `encoder`, the default, is `tokens`.
        traits: The traits of a split's users that the rater sees (default: all in which they differ). Those of
            unnamed users are never shown.
        validation: Judgments that are not learned from but decide when to stop and what to choose; they may share no
            text with the corpus. Without it, texts of the corpus are held out in turn.
        target: `individual` judgments, or their `mean`, `median` or `majority` per item. By default,
            encoders learn individual judgments, and other kinds the mean (the majority on a nominal scale).
        coarse: Learn the bands of the scale (low, neutral, high) instead of its options; questions are then called
            `QUESTION-coarse`, as in the coarse style of chat raters.
        raters: Whose judgments to learn (default: people's).
        condition: Only judgments under this condition.
        name: The rater's id (default: made from kind and model).
        seed: Random seed.
        checkpoints: A folder with checkpoints; an interrupted training resumes from it (encoders and probes).
        progress: Called with steps done and steps in all (encoders and probes).
        settings: Those of `EncoderSettings` (of a split `PairSettings`), `ProbeSettings` or `LinearSettings`; of a
            blend those of the encoder, and `parts` (such as `encoder+probe+vectors`), `reader` (the language model that
            is probed), `frozen` (whose vectors are taken) and `weights` (what each part counts; held-out texts tell
            where they are not given).

    >>> import vantage
    >>> rater = fit(vantage.demo_corpus(), ["trust", "competence"], kind="ridge")
    >>> rater.judge(vantage.demo_corpus()).columns[-3:]
    ['probabilities', 'expected', 'uncertainty']
    >>> parts = vantage.perspective.split(vantage.demo_corpus(), question="trust", adaptation_items=2)
    >>> fit(parts, kind="user-majority").judge().select("item", "rater", "value").shape
    (11, 3)
    """
    trained: dict[str, Any] = {"seed": seed, "checkpoints": checkpoints, "progress": progress}
    of_texts = {"validation": validation, "target": target, "coarse": coarse, "raters": raters, "condition": condition}
    if isinstance(data, Split):
        if lost := [option for option, given in {"questions": questions, **of_texts}.items() if given]:
            raise InputError(f"with a split, {lost[0]} cannot be chosen", remedy="leave it out")
        return _of_pairs(data, "tokens" if kind in ("auto", "encoder") else kind, traits, trained, settings, name)
    if traits is not None:
        raise InputError("traits of users can be given only with a split", remedy="pass a split, or leave traits out")
    if kind not in KINDS:
        remedy = "it judges pairs; pass a split" if kind in PAIR_METHODS else nearest(kind, list(KINDS))
        raise InputError(f"there is no kind of trained rater '{kind}' of texts", remedy=remedy)
    if kind == "blend":
        return _blend(data, questions, {**of_texts, **trained}, settings, name)
    asked = [questions] if isinstance(questions, str) else list(questions) or [q.id for q in data.questions]
    instrument = instrument_of(data, asked)
    if kind == "auto":
        kind = usual_kind(data, asked, named="model" in settings)
    if target is None:
        nominal = any(not data.question(id_).scale.ordered for id_ in asked)
        target = "individual" if kind in DISTRIBUTIONS else "majority" if nominal else "mean"
    chosen: dict[str, Any] = {"target": target, "coarse": coarse, "raters": raters, "condition": condition}
    learned = examples(data, asked, **chosen)
    held = None if validation is None else examples(validation, asked, **chosen)
    if held is not None:
        refuse_shared({"the training part": learned.instances.texts, "the validation part": held.instances.texts})
    part = taught(kind, learned, settings, held, **trained)
    about = about_learning(learned, part.predictor, kind, coarse, seed, settings)
    ordered = all(one.question.scale.ordered for one in learned.labels)
    by_mean = ordered and (kind in ("mean", "median", "ridge") or (kind in DISTRIBUTIONS and target == "individual"))
    by_mean = by_mean or settings.get("loss") == "huber"
    how = f"{kind} of" if kind in BASELINES else f"{about['settings']['loss'] if kind == 'encoder' else kind} on"
    about |= {"target": target, "seed": seed, "style": f"{how} {target}"}
    used = instrument.coarse() if coarse else instrument
    id_ = name or about["model"] + ("/coarse" if coarse else "")
    asked_for = tuple(one.question for one in learned.labels)
    return TrainedRater(id_, used, asked_for, (part,), by_mean, about, held=part.predictor.aside)


def usual_kind(corpus: Corpus, questions: Iterable[str], *, named: bool = False) -> Kind:
    """What learns where no kind is asked for: vectors where an encoder is installed or `named`, else words."""
    if named:
        return "vectors"
    try:
        for package in ("torch", "transformers"):
            require(package, "local")
        minilm_folder()
    except ModelError:
        return "ridge" if all(corpus.question(id_).scale.ordered for id_ in questions) else "logistic"
    return "vectors"


def _of_pairs(
    split: Split,
    kind: str,
    traits: Sequence[str] | None,
    trained: Mapping[str, Any],
    settings: Mapping[str, Any],
    name: str,
) -> TrainedRater:
    """A rater of pairs, which has met the test users of its split."""
    learned = pair_examples(split, kind, traits)
    (labels,), known = learned.labels, list(learned.people.traits if learned.people is not None else ())
    part = taught(PAIR_METHODS[kind].kind, learned, settings, method=kind, **trained)
    about = about_learning(learned, part.predictor, kind, tuple(known), trained["seed"], settings)
    id_ = f"{kind}:{short_name(about['settings']['model'])}" if part.kind == "encoder" else kind
    about |= {"style": f"pairs:{kind}", "method": kind, "seed": trained["seed"], "traits": known}
    about |= {"split": {"users": split.users, "adaptation": split.adapts, "extended": split.extended}}
    plain = instrument_of(split.corpus, [labels.question.id]), (labels.question,), (part,)
    rater = TrainedRater(name or id_, *plain, by_mean=False, about=about, split=split, warnings=never_seen(labels))
    meet(rater, split, labels)
    return rater


def taught(
    kind: str,
    learned: Examples,
    settings: Mapping[str, Any],
    held: Examples | None = None,
    *,
    method: str = "baseline",
    seed: int = 0,
    checkpoints: str | Path | None = None,
    progress: Progress | None = None,
) -> Weighted:
    """What a kind learns from texts or pairs, as all of a rater; `method` says how an encoder represents users."""
    if kind not in BASELINES:
        refuse_constant(learned.labels)
    if kind == "encoder":
        from vantage.raters.trained.encoder import EncoderPredictor

        tuned = (EncoderSettings if learned.people is None else PairSettings).of(**settings)
        how: dict[str, Any] = {"method": method, "seed": seed, "checkpoints": checkpoints, "progress": progress}
        return Weighted(1.0, kind, EncoderPredictor.fit(learned, tuned, held, **how))
    if kind in ("probe", "vectors"):
        from vantage.raters.trained.probe import ProbePredictor, VectorPredictor

        reader = ProbePredictor if kind == "probe" else VectorPredictor
        probed = reader.read_by.of(**settings)
        probe = reader.fit(learned, probed, seed=seed, checkpoints=checkpoints, progress=progress)
        return Weighted(1.0, kind, probe)
    if kind in ("ridge", "logistic"):
        regression = LinearSettings.of("ridge" if kind == "ridge" else "logistic", **settings)
        fitted = LinearPredictor.fit(learned, regression, held, seed=seed)
        return Weighted(1.0, "linear", fitted)
    if settings:
        raise InputError(f"a baseline has no setting '{next(iter(settings))}'", remedy="leave it out")
    return Weighted(1.0, "baseline", BaselinePredictor.fit(learned, kind))


def about_learning(learned: Examples, predictor: Predictor, *how: object) -> dict[str, Any]:
    """What a rater learned from and how; `how` tells it from others that learned from the same judgments."""
    digest = blake2b(b"\0".join([*learned.pieces(), repr(how).encode()]), digest_size=6).hexdigest()
    return {
        "items": len(learned.instances.texts),
        "judgments": learned.judgments,
        "raters": learned.raters,
        "learned": digest,
        "texts": sorted({fingerprint(text) for text in learned.instances.texts.first}),
        "words": vocabulary(learned.instances.texts.first),
        **predictor.about(),
    }


def _blend(
    corpus: Corpus, questions: str | Sequence[str], common: dict[str, Any], settings: dict[str, Any], name: str
) -> TrainedRater:
    """Several kinds, stacked. The encoder comes last: a model that is missing should be known before the long part."""
    kinds = _words(settings.pop("parts", BLENDED))
    weights = [float(one) for one in _words(settings.pop("weights", ()))]
    if len(kinds) < 2 or len(set(kinds)) < len(kinds) or not set(kinds) <= set(STACKED):
        problem = f"a blend cannot have the parts {', '.join(kinds) or 'none'}"
        raise InputError(problem, remedy=f"name two or more of {', '.join(STACKED)}")
    check_weights(weights, len(kinds))
    models = {"probe": settings.pop("reader", "embedded"), "vectors": settings.pop("frozen", "minilm")}
    if "encoder" not in kinds and settings:
        raise InputError(
            f"no part of the blend has the setting '{next(iter(settings))}'", remedy="leave it out, or add an encoder"
        )
    refuse_unknown(settings, [part.name for part in fields(EncoderSettings)], "an encoder")
    # Shares of answers can be averaged with means only where both are learned from the same.
    common |= {"target": common["target"] or "individual"}
    validation = {"validation": common.pop("validation")}
    how: dict[str, dict[str, Any]] = {kind: {"model": model} for kind, model in models.items()}
    how |= {"encoder": {**validation, **settings}, "ridge": {}}
    fitted = {
        kind: fit(corpus, questions, kind=kind, **how[kind], **common) for kind in sorted(kinds, key="encoder".__eq__)
    }
    return TrainedRater.stacked([fitted[kind] for kind in kinds], weights, name)


def _words(given: str | Iterable[Any]) -> list[Any]:
    """What is given one by one, or as `one+other`."""
    return re.split(r"\s*[+,]\s*", given) if isinstance(given, str) else list(given)


def refuse_constant(labels: Sequence[Labels]) -> None:
    """Refuses a question that everybody answered alike: there is nothing to learn."""
    for one in labels:
        scores, shares = one.score[one.answered], one.shares[one.answered]
        different = int((shares.sum(axis=0) > 0).sum()) if shares.size else len(np.unique(scores))
        if different < 2:
            raise InputError(
                f"every answer to question '{one.question.id}' is {scores[0]:g}, so there is nothing to learn",
                remedy="choose another question, or a baseline",
            )
