"""Figures of a corpus, for notebooks: `corpus.plot`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from vantage.errors import InputError, nearest


@dataclass(frozen=True, slots=True)
class Plots:
    """Figures of a corpus, shown in a notebook; `.draw()` gives the Matplotlib object."""

    corpus: Any
    """The `Corpus` that made it."""

    def agreement(self, by: str = "question", measure: str = "alpha", **options: Any) -> Any:
        """A measure of agreement for each group, with its interval."""
        measures = import_module("vantage.measures").registry()
        if measure not in measures:
            raise InputError(f"there is no measure '{measure}'", remedy=nearest(measure, list(measures)))
        result = measures[measure].function(self.corpus, by=by, **options)
        figure = import_module("vantage.report.parts").Figure
        caption = f"{measures[measure].summary.split(':')[0].split(';')[0].rstrip('.')}, by {by}."
        alt = f"One point per {by} with its interval."
        return figure("agreement", caption, alt, "points", result, {"category": by, "label": measure})

    def wright(self, question: str) -> Any:
        """The Wright map of a question: people, models and items on one scale, or a sentence why there is none."""
        self.corpus.question(question)
        return import_module("vantage.report.ruler").wright_maps(self.corpus, [question])[0]
