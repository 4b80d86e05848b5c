"""The study: read the corpora, run every feasible cell, and run the recipe."""

from __future__ import annotations

from typing import Final

from vantage.corpora import Corpus
from vantage.corpora.storage import is_corpus
from vantage.studies.execution import Context
from vantage.studies.perseval import analysis, whom
from vantage.studies.perseval.cells import PersevalOptions, planned
from vantage.studies.perseval.learning import learn, prompt
from vantage.studies.perseval.sources import added, by_rater, read, tasks
from vantage.studies.recipes import recipe_study


def collect(context: Context[PersevalOptions]) -> Corpus:
    """The corpora with what every feasible cell predicts for their test users."""
    options = context.options
    options.check()
    assert context.data is not None  # noqa: S101 - the study needs data
    names = [Corpus.read(context.data).about.name or context.data.name] if is_corpus(context.data) else options.names
    chosen = {"question": options.question, "traits": options.traits, "groups": options.groups}
    corpus = read(context.data, names, **chosen, warn=context.warn)
    # What an interrupted run predicted is not predicted again.
    left = context.folder / "corpus" if context.folder else None
    before = Corpus.read(left) if left is not None and is_corpus(left) else corpus
    for task in tasks(corpus, names, draw=options.draw, seed=options.split_seed):
        cells = planned(task, options, context.models)
        kept = by_rater(before, task)
        try:
            learn(task, cells, context, kept)
            prompt(task, cells, context, kept)
        finally:
            corpus = context.reached = added(corpus, task, kept)
    return corpus


STUDY: Final = recipe_study(
    "perseval",
    __package__,
    PersevalOptions,
    collect,
    analysis,
    whom,
    prepare=analysis.Perspectives.of,
    warnings=analysis.Perspectives.warnings,
)
