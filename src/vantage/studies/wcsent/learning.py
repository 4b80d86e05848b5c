"""The options of the study, raters that learn from the training part, and models that are asked about the test part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.raters.asked import varied
from vantage.raters.models.base import ModelError
from vantage.raters.trained import TrainedRater, fit
from vantage.studies.base import listed, paper_prompts
from vantage.studies.execution import NO_ENCODER, Context, hundredths


@dataclass(frozen=True)
class WcsentOptions:
    """What can be changed about the study; the recipe says what each means."""

    predict: bool = True
    encoder: str = "auto"
    probe: str = "auto"
    variants: str = "distribution"
    seeds: int = 1
    members: int = 0
    styles: str = "reasoning,few-shot:4+reasoning,coarse+reasoning,few-shot:4+coarse+reasoning"
    prompt: Literal["vantage", "paper"] = "vantage"
    limit: int = 0
    stance: str = ""
    demographics: str = ""


QUESTIONS: Final = ("trust", "sociability", "competence")
INSTRUMENT: Final = "warmth-competence"
ENCODERS: Final[dict[str, dict[str, Any]]] = {
    "distribution": {},
    "huber-mean": {"loss": "huber", "target": "mean"},
    "huber-median": {"loss": "huber", "target": "median"},
    "coarse-mean": {"coarse": True, "target": "mean", "class_weights": True},
    "coarse-median": {"coarse": True, "target": "median", "class_weights": True},
    "coarse-focal": {"coarse": True, "target": "mean", "loss": "focal", "class_weights": True},
}
"""Ways to train an encoder that can be compared: what it learns, and by which loss."""


def learned(corpus: Corpus, context: Context[WcsentOptions]) -> Corpus:
    """The corpus with the judgments of dummies, regressions on words, a probe and encoders on the test part."""
    options = context.options
    variants = listed(options.variants, ENCODERS, "way to train an encoder")
    train, validation, test = (corpus.filter(split=part) for part in ("train", "validation", "test"))
    everything = corpus.filter(split=["train", "validation"])
    # The paper's features and choice of strength; logistic regression to its optimum instead of a cut-off solver.
    paper = {"validation": validation, "words": (1, 3), "characters": None, "strengths": (2.0, 4.0, 6.0)}
    kinds: dict[str, tuple[Corpus, dict[str, Any]]] = {
        "majority": (train, {"kind": "majority"}),
        "mean": (everything, {"kind": "mean"}),
        "tfidf-ridge": (everything, {"kind": "ridge"}),
        "tfidf-logistic": (train, {"kind": "logistic", **paper}),
    }
    for name, (part, how) in kinds.items():
        if rater := _fitted(part, context, name, how):
            corpus = rater.rate(corpus, test)
    probe = None
    if options.probe != "none":
        auto = options.probe == "auto"
        how = {"kind": "probe", "model": "embedded" if auto else options.probe}
        if probe := _fitted(everything, context, "probe", how, "No language model was probed: {why}" if auto else ""):
            corpus = probe.rate(corpus, test)
    auto = options.encoder == "auto"
    for name, number in product(variants if options.encoder != "none" else (), range(options.seeds)):
        id_ = f"encoder/{name}" + (f"/{number + 1}" if options.seeds > 1 else "")
        how = {"kind": "encoder", "model": "minilm" if auto else options.encoder, **ENCODERS[name]}
        how |= {"seed": context.seed + number}
        how |= {"members": options.members} if options.members else {}
        rater = _fitted(everything, context, id_, how, NO_ENCODER if auto else "")
        if rater is None and not context.plans:
            break
        if rater is not None:
            corpus = rater.rate(corpus, test)
            if probe is not None and name == "distribution":
                blend = TrainedRater.stacked([rater, probe], name=id_.replace(name, "blend"))
                corpus = blend.rate(corpus, test)
    return corpus


def _fitted(
    part: Corpus, context: Context[WcsentOptions], name: str, how: Mapping[str, Any], missing: str = ""
) -> TrainedRater | None:
    """A rater that has learnt; null, with a warning, where its model is `missing` and nobody asked for it by name."""
    called = f"{name} on {how['model']}" if "model" in how else name
    if not context.trains(called, f"{len(part.items):,} pairs of sentence and target, {len(part.judgments):,} ratings"):
        return None
    given = {"name": name, "seed": context.seed, **how}
    if context.folder and "model" in how:
        given["checkpoints"] = context.folder / "checkpoints" / name.replace("/", "-")
    with context.step(f"training {called}", 100) as moved:
        try:
            rater = fit(part, QUESTIONS, progress=hundredths(moved), **given)
        except ModelError as error:
            if not missing:
                raise
            context.warn(missing.format(why=str(error)))
            return None
    for note in rater.notes:
        context.warn(note)
    return rater


def asked(corpus: Corpus, context: Context[WcsentOptions]) -> Corpus:
    """The corpus with the answers of prompted models; their examples never come from the test part.

    Examples with reasons are the instrument's own, since the release has none; others are drawn from the training part.
    """
    options = context.options
    test = corpus.filter(split="test").items["item"].to_list()[: options.limit or None]
    instrument, styles, way = Instrument.load(INSTRUMENT), listed(options.styles), ""
    if options.prompt == "paper":
        paper = paper_prompts("wcsent")
        examples = [*instrument.document["examples"], *paper["examples"]]
        instrument = Instrument.from_document({**instrument.document, "examples": examples})
        styles, way = list(paper["styles"].values()), paper["presentation"]
    for style in styles:
        drawn = "few-shot" in style and "reasoning" not in style
        more: dict[str, Any] = {"training": corpus.filter(split="train")} if drawn else {}
        raters = [varied(one, instrument, QUESTIONS, presentation=way) for one in context.raters(style, **more)]
        corpus = context.rate(corpus, raters, instrument, questions=QUESTIONS, items=test)
    return corpus
