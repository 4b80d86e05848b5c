"""The study of the demo: groups judged by a small model, and sentences with synthetic ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vantage.corpora import About, Corpus
from vantage.corpora.bundled import demo_corpus
from vantage.instruments import Instrument
from vantage.raters.models.base import ModelError
from vantage.studies.base import option
from vantage.studies.demo import mapping
from vantage.studies.demo.mapping import DIMENSIONS, INSTRUMENT
from vantage.studies.execution import Context
from vantage.studies.recipes import recipe_study
from vantage.studies.stereomap.groups import groups_corpus, reference_groups


@dataclass(frozen=True)
class Options:
    """What can be changed about the demo."""

    groups: int = option(0, "how many of the 24 groups are asked about; 0 for all of them")


def collect(context: Context[Options]) -> Corpus:
    """The groups, judged by option scoring, and the bundled sentences with their synthetic ratings."""
    instrument = Instrument.load(INSTRUMENT)
    groups = groups_corpus(reference_groups()[: context.options.groups or None], instrument)
    members = {member for score in instrument.aggregates if score.id in DIMENSIONS for member in score.members}
    asked = [question.id for question in instrument.questions if question.id in members]
    try:
        groups = context.rate(groups, context.raters("scoring"), instrument, questions=asked)
    except ModelError as error:
        # Everything but the map can be shown without a model.
        context.warn(f"No map could be drawn: {error}")
    sentences = demo_corpus()
    corpus = sentences.merge(groups)
    corpus.about = About(
        name="demo",
        title="social groups, and sentences with synthetic ratings",
        source="bundled with Vantage",
        licence="Apache-2.0",
        language="en",
        notes=(*sentences.about.notes, *groups.about.notes),
    )
    return corpus


STUDY: Final = recipe_study("demo", __package__, Options, collect, mapping)
