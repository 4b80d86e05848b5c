"""Figures of a corpus, for notebooks: `corpus.plot`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.measures import registry
from vantage.report.parts import Figure, Part
from vantage.report.ruler import wright_map


@dataclass(frozen=True, slots=True)
class Plots:
    """Figures of a corpus, shown in a notebook; `.draw()` gives the Matplotlib object."""

    corpus: Corpus

    def agreement(self, by: str = "question", measure: str = "alpha", **options: Any) -> Figure:
        """A measure of agreement for each group, with its interval."""
        measures = registry()
        if measure not in measures:
            raise InputError(f"there is no measure '{measure}'", remedy=nearest(measure, list(measures)))
        result = measures[measure].function(self.corpus, by=by, **options)
        caption = f"{measures[measure].summary.split(':')[0].split(';')[0].rstrip('.')}, by {by}."
        return Figure("agreement", caption, "", "points", result, {"category": by, "label": measure})

    def wright(self, question: str) -> Part | str:
        """The Wright map of a question: people, models and items on one scale, or a sentence why there is none."""
        self.corpus.question(question)
        return wright_map(self.corpus.filter(question=question), question)
