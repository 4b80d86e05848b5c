"""The study: read the release, let raters learn and answer, and run the recipe."""

from __future__ import annotations

from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.prolific import read_traits
from vantage.corpora.readers import load
from vantage.corpora.storage import is_corpus
from vantage.instruments import Instrument
from vantage.studies.execution import Context
from vantage.studies.recipes import recipe_study
from vantage.studies.wcsent import latent, people, predictions
from vantage.studies.wcsent.learning import INSTRUMENT, QUESTIONS, WcsentOptions, asked, learned


def collect(context: Context[WcsentOptions]) -> Corpus:
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


STUDY: Final = recipe_study(
    "wcsent",
    __package__,
    WcsentOptions,
    collect,
    latent,
    people,
    predictions,
    prepare=predictions.WarmthAnalysis.from_run,
)
