"""The study: read the release, let raters learn from its training part, ask models about the test part."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.prolific import read_traits
from vantage.corpora.readers import load
from vantage.corpora.storage import is_corpus
from vantage.instruments import Instrument
from vantage.raters.asked import varied
from vantage.raters.models.base import ModelError
from vantage.raters.trained import TrainedRater, fit
from vantage.studies.base import listed, paper_prompts
from vantage.studies.execution import NO_ENCODER, Context, advancing
from vantage.studies.recipes import recipe_study
from vantage.studies.wcsent import latent, people, predictions
from vantage.studies.wcsent.predictions import QUESTIONS

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


def collect(context: Context[Any]) -> Corpus:
    """The release, and on its test part the judgments of raters that learned and of models that were asked."""
    assert context.data is not None  # noqa: S101 - the study needs data
    released = not is_corpus(context.data)
    corpus = load("wcsent", context.data) if released else Corpus.read(context.data)
    if released:
        context.warn("Many of the sentences insult, threaten or demean people.")
    if path := context.options.demographics:
        corpus = corpus.join_traits(read_traits(path))
    if "split" not in corpus.items.columns:
        context.warn("The data have no official split, so that nothing was predicted.")
        return corpus
    if context.options.predict:
        corpus = _always(learned(corpus, context))
    return asked(corpus, context) if context.models else corpus


def _always(corpus: Corpus) -> Corpus:
    """The corpus with the paper's dummy, which answers −1 to everything."""
    test = corpus.items.filter(split="test").select("item")
    judged = test.join(pl.DataFrame({"question": QUESTIONS}), how="cross").with_columns(
        pl.lit("always −1").alias("rater"), pl.lit(-1.0).alias("value")
    )
    row = pl.DataFrame({"rater": ["always −1"], "kind": ["trained"], "model": ["always −1"], "style": ["constant"]})
    return corpus.add(judged, row, [Instrument.load(INSTRUMENT)])


def learned(corpus: Corpus, context: Context[Any]) -> Corpus:
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
    part: Corpus, context: Context[Any], name: str, how: Mapping[str, Any], missing: str = ""
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
            rater = fit(part, QUESTIONS, progress=advancing(moved, 100), **given)
        except ModelError as error:
            if not missing:
                raise
            context.warn(missing.format(why=str(error)))
            return None
    for note in rater.notes:
        context.warn(note)
    return rater


def asked(corpus: Corpus, context: Context[Any]) -> Corpus:
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


STUDY: Final = recipe_study(
    "wcsent",
    __package__,
    collect,
    latent,
    people,
    predictions,
    prepare=predictions.WarmthAnalysis.from_run,
)
