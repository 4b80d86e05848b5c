"""A corpus as its report looks at it: who judged, and who is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from vantage.corpora import Corpus
from vantage.report.cases import answered, beside_people, others_of
from vantage.report.engine import Analysis
from vantage.scales import Scale


@dataclass(eq=False)
class CorpusAnalysis(Analysis):
    """A corpus as its report looks at it."""

    left_out: pl.DataFrame | None = None
    """The raters who were excluded, and who are no part of the corpus."""

    @cached_property
    def several(self) -> Corpus | None:
        """People, where two or more of them gave a value."""
        return self.people if answered(self.people)["rater"].n_unique() > 1 else None

    @cached_property
    def ordered(self) -> Corpus | None:
        """The same for questions on ordered scales."""
        return self._asked(lambda scale: scale.ordered)

    @cached_property
    def with_distances(self) -> Corpus | None:
        """The same for questions on ordered scales or with two options."""
        return self._asked(lambda scale: scale.has_distances)

    def _asked(self, suits: Callable[[Scale], bool]) -> Corpus | None:
        """Two people or more on the questions whose scale suits; null where none has an answer."""
        asked = [question.id for question in self.corpus.questions if suits(question.scale)]
        part = self.several.filter(question=asked) if self.several is not None and asked else None
        return part if part is not None and len(answered(part)) else None

    @property
    def traits(self) -> list[str]:
        """What is known of people; columns that only models have say nothing of them."""
        raters = self.people.raters
        return [trait for trait in self.people.traits if raters[trait].null_count() < len(raters)]

    @cached_property
    def others(self) -> list[str]:
        """Models, personas and trained raters who gave a value beside people."""
        gave = set(answered(self.corpus)["rater"])
        return [name for name in others_of(self.corpus) if name in gave]

    @cached_property
    def beside(self) -> Corpus | None:
        """People and others; null where there are no others or fewer than two people."""
        if not self.others or self.several is None:
            return None
        return self.corpus.filter(rater=[*self.people.raters["rater"], *self.others])

    @cached_property
    def beside_several(self) -> Corpus | None:
        """The same where there are two others or more."""
        return self.beside if len(self.others) > 1 else None

    @cached_property
    def distances(self) -> pl.DataFrame | None:
        """How far each of the others is from people, item by item; null where there are fewer than two people."""
        return None if self.beside is None else beside_people(self, self.others)
