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
from vantage.raters.item_words import fingerprint, vocabulary
from vantage.raters.trained.base import Progress, refuse_unknown
from vantage.raters.trained.baselines import BASELINES, BaselinePredictor
from vantage.raters.trained.encoder_settings import EncoderSettings, PairSettings
from vantage.raters.trained.examples import Examples, Labels, Target, examples, instrument_of, refuse_shared
from vantage.raters.trained.linear import LinearPredictor, LinearSettings
from vantage.raters.trained.rater import DISTRIBUTIONS, TrainedRater, Weighted, check_weights
from vantage.raters.trained.saved import Predictor

Kind = Literal["encoder", "vectors", "probe", "blend", "ridge", "logistic", "majority", "mean", "median"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Way = Kind | Literal["text-majority", "user-majority"]
"""Ways to learn, also those that only pairs have."""
BLENDED: Final = ("encoder", "probe")
STACKED: Final[tuple[Kind, ...]] = ("encoder", "probe", "vectors", "ridge")
"""The kinds of which a blend can be made."""
_OF_FIT: Final = ("validation", "checkpoints", "progress")


def fit(
    corpus: Corpus,
    questions: str | Sequence[str] = (),
    *,
    kind: Kind = "encoder",
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
    """Learns to judge as people do.

    Args:
        corpus: What is learned from.
        questions: One question, or several that are learned together; all of the corpus where none is named.
        kind: `encoder`; `vectors`, a regression on the vectors of a frozen encoder, which takes minutes;
            `probe`, a regression on the states of a language model; `blend`, several of these stacked, an encoder and a
            probe unless `parts` says otherwise; `ridge` or `logistic` regression on words; or a baseline: `majority`,
            `mean`, `median`.
        validation: What is never learned from but decides when to stop and what to choose; it may share no text with
            `corpus`. Without it, texts of the corpus are held out in turn.
        target: `individual` judgments, or their `mean`, `median` or `majority` per item. Encoders learn individual
            judgments where nothing is said, the other kinds the mean (for a nominal scale the majority).
        coarse: Learn the bands of the scale (low, neutral, high) instead of its options; questions are then called
            `QUESTION-coarse`, as in the coarse style of chat raters.
        raters: Whose judgments to learn (default: people's).
        condition: Only judgments under this condition.
        name: The rater's id (default: made from kind and model).
        seed: Random seed.
        checkpoints: A folder with checkpoints; an interrupted training resumes from it (encoders and probes).
        progress: Called with steps done and steps in all (encoders and probes).
        settings: Those of `EncoderSettings`, `ProbeSettings` or `LinearSettings`; of a blend those of the encoder, and
            `parts` (such as `encoder+probe+vectors`), `reader` (the language model that is probed), `frozen` (whose
            vectors are taken) and `weights` (what each part counts; held-out texts tell where they are not given).

    >>> import vantage
    >>> rater = fit(vantage.demo_corpus(), ["trust", "competence"], kind="ridge")
    >>> rater.judge(vantage.demo_corpus()).columns[-3:]
    ['probabilities', 'expected', 'uncertainty']
    """
    if kind not in KINDS:
        raise InputError(f"there is no kind of trained rater '{kind}'", remedy=nearest(kind, list(KINDS)))
    if kind == "blend":
        learned_by_both = {"target": target, "coarse": coarse, "raters": raters, "condition": condition, "seed": seed}
        of_encoder = {"validation": validation, "checkpoints": checkpoints, "progress": progress}
        return _blend(corpus, questions, learned_by_both, {**of_encoder, **settings}, name)
    asked = [questions] if isinstance(questions, str) else list(questions) or [q.id for q in corpus.questions]
    instrument = instrument_of(corpus, asked)
    if target is None:
        nominal = any(not corpus.question(id_).scale.ordered for id_ in asked)
        target = "individual" if kind in DISTRIBUTIONS else "majority" if nominal else "mean"
    chosen: dict[str, Any] = {"target": target, "coarse": coarse, "raters": raters, "condition": condition}
    learned = examples(corpus, asked, **chosen)
    held = None if validation is None else examples(validation, asked, **chosen)
    if held is not None:
        refuse_shared({"the training part": learned.instances.texts, "the validation part": held.instances.texts})
    part = taught(kind, learned, settings, held, seed=seed, checkpoints=checkpoints, progress=progress)
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


def taught(
    kind: Way,
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
        fitted = LinearPredictor.fit(learned, LinearSettings.of(kind, **settings), held, seed=seed)
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
    corpus: Corpus, questions: str | Sequence[str], both: dict[str, Any], of_encoder: dict[str, Any], name: str
) -> TrainedRater:
    """Several kinds, stacked. The encoder comes last: a model that is missing should be known before the long part."""
    kinds = _words(of_encoder.pop("parts", BLENDED))
    weights = [float(one) for one in _words(of_encoder.pop("weights", ()))]
    if len(kinds) < 2 or len(set(kinds)) < len(kinds) or not set(kinds) <= set(STACKED):
        problem = f"a blend cannot have the parts {', '.join(kinds) or 'none'}"
        raise InputError(problem, remedy=f"name two or more of {', '.join(STACKED)}")
    check_weights(weights, len(kinds))
    models = {"probe": of_encoder.pop("reader", "embedded"), "vectors": of_encoder.pop("frozen", "minilm")}
    if "encoder" not in kinds and (lost := [setting for setting in of_encoder if setting not in _OF_FIT]):
        raise InputError(f"no part of the blend has the setting '{lost[0]}'", remedy="leave it out, or add an encoder")
    refuse_unknown(of_encoder, [*_OF_FIT, *(part.name for part in fields(EncoderSettings))], "an encoder")
    kept = {name: of_encoder[name] for name in ("checkpoints", "progress")}
    # Shares of answers can be averaged with means only where both are learned from the same.
    both |= {"target": both["target"] or "individual"}
    how: dict[str, dict[str, Any]] = {kind: {**kept, "model": model} for kind, model in models.items()}
    how |= {"encoder": of_encoder, "ridge": {}}
    fitted = {
        kind: fit(corpus, questions, kind=kind, **how[kind], **both) for kind in sorted(kinds, key="encoder".__eq__)
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
                f"every answer to question '{one.question.id}' is {scores[0]:g}, so that there is nothing to learn",
                remedy="choose another question, or a baseline",
            )
