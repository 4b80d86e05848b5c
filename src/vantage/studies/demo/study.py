"""The study of the demo: the bundled corpus with planted truths, and a small model that is asked as one more rater."""

from __future__ import annotations

from typing import Any, Final

from vantage.corpora import Corpus
from vantage.corpora.bundled import planted_corpus
from vantage.raters.models.base import ModelError
from vantage.studies.demo import analysis
from vantage.studies.demo.analysis import QUESTION, Demo
from vantage.studies.execution import Context
from vantage.studies.recipes import recipe_study

SYNTHETIC: Final = (
    "The ratings are synthetic: a program drew them, so that the truth is known. They say nothing about people."
)


def collect(context: Context[Any]) -> Corpus:
    """The bundled sentences with their synthetic ratings, and what the model answers about trust."""
    corpus = planted_corpus()
    context.warn(SYNTHETIC)
    if not context.options.asked:
        return corpus
    asked = corpus.items["item"].head(context.options.asked)
    try:
        return context.rate(corpus, context.raters("scoring"), corpus.instruments[0], questions=[QUESTION], items=asked)
    except ModelError as error:
        # Everything but the model's own row can be shown without it.
        context.warn(f"No real model was asked: {error}")
        return corpus


STUDY: Final = recipe_study("demo", __package__, collect, analysis, prepare=Demo.from_run)
