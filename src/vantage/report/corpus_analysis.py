"""A corpus as its report looks at it: who judged, and who is left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import polars as pl

from vantage.corpora import Corpus
from vantage.report.cases import answered, beside_people, others_of
from vantage.report.engine import PEOPLE, Analysis
from vantage.scales import Scale


class CorpusAnalysis(Analysis):
    """A corpus as its report looks at it."""

    @cached_property
    def kept(self) -> Corpus:
        """The corpus without excluded raters."""
        return self.corpus if self.left_out is None else self.corpus.filter(~pl.col("excluded").fill_null(value=False))

    @cached_property
    def left_out(self) -> pl.DataFrame | None:
        """The raters who were excluded; null where there are none."""
        if "excluded" not in self.corpus.raters.columns:
            return None
        out = self.corpus.raters.filter(pl.col("excluded").cast(pl.Boolean).fill_null(value=False))
        return out if len(out) else None

    @cached_property
    def people(self) -> Corpus:
        """The people among the raters; everyone where there is nobody but others."""
        kinds = self.kept.raters["kind"].cast(pl.String)
        return self.kept.filter(kind=list(PEOPLE)) if kinds.is_in(PEOPLE).any() else self.kept

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
        asked = [question.id for question in self.kept.questions if suits(question.scale)]
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
        gave = set(answered(self.kept)["rater"])
        return [name for name in others_of(self.kept) if name in gave]

    @cached_property
    def beside(self) -> Corpus | None:
        """People and others; null where there are no others or fewer than two people."""
        if not self.others or self.several is None:
            return None
        return self.kept.filter(rater=[*self.people.raters["rater"], *self.others])

    @cached_property
    def beside_several(self) -> Corpus | None:
        """The same where there are two others or more."""
        return self.beside if len(self.others) > 1 else None

    @cached_property
    def distances(self) -> pl.DataFrame | None:
        """How far each of the others is from people, item by item; null where there are fewer than two people."""
        return None if self.beside is None else beside_people(self, self.others)
