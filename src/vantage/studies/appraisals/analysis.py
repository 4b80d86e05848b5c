"""What every part of the report starts from: the judgments, split by who made them, and the order of things."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.measures.ratings import Floats
from vantage.measures.rationale.scoring import OVERLAP, Likeness
from vantage.measures.resampling import Resampling
from vantage.studies.appraisals.coding import first_integer, matrix
from vantage.studies.appraisals.collecting import EVALUATION, INSTRUMENT

THIRDS: Final[dict[int, tuple[float, ...]]] = {3: (0.33, 0.33, 0.33)}
"""The draft's BLEU-3 comes out only with weights that do not quite add up to one."""
SPARSE: Final = ("fairness", "social-norms", "internal-values")
"""Questions that most posts say nothing about; the authors' later code leaves them out."""


@dataclass(frozen=True)
class Analysis:
    """The corpus with the options of the analysis."""

    corpus: Corpus
    seed: int = 0
    resamples: int = 1000
    likeness: Likeness = field(default_factory=lambda: Likeness(OVERLAP, weights=THIRDS))
    draws: int = 3
    topics: int = 3
    fits: int = 3
    folds: int = 5
    epsilon: float = 0.2

    @property
    def how(self) -> Resampling:
        """How intervals over posts are made."""
        return Resampling("items" if self.resamples > 0 else "none", resamples=self.resamples, seed=self.seed)

    @cached_property
    def questions(self) -> list[str]:
        """The 24 questions, in the order in which they are asked."""
        instrument = next(one for one in self.corpus.instruments if one.id == INSTRUMENT)
        return [question.id for question in instrument.questions]

    @cached_property
    def titles(self) -> dict[str, str]:
        """What the questions are called."""
        instrument = next(one for one in self.corpus.instruments if one.id == INSTRUMENT)
        return {question.id: question.title for question in instrument.questions}

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The four groups of six questions."""
        return {
            f"{first + 1} to {first + 6}": self.questions[first : first + 6]
            for first in range(0, len(self.questions), 6)
        }

    @cached_property
    def judged(self) -> pl.DataFrame:
        """All judgments of appraisals, with the kind of their rater and the text of the post."""
        frame = self.corpus.judgments.filter(pl.col("question").is_in(self.questions))
        kinds = self.corpus.raters.select("rater", pl.col("kind").cast(pl.String))
        return frame.join(kinds, on="rater", how="left", maintain_order="left")

    @cached_property
    def people(self) -> pl.DataFrame:
        """The annotators' judgments."""
        return self.judged.filter(pl.col("kind") == "person")

    @cached_property
    def models(self) -> pl.DataFrame:
        """The models' judgments."""
        return self.judged.filter(pl.col("kind") == "model")

    @cached_property
    def model_names(self) -> list[str]:
        """The models, in the order of their names."""
        return self.models["rater"].unique().sort().to_list()

    @cached_property
    def posts(self) -> list[str]:
        """The posts in the order of the release."""
        rated = set(self.people["item"])
        return [item for item in self.corpus.items["item"] if item in rated]

    @cached_property
    def double(self) -> pl.DataFrame:
        """The annotators' judgments of posts that two of them rated."""
        return self.people.filter(pl.col("rater").n_unique().over("item") == 2)

    @cached_property
    def evaluation(self) -> Corpus | None:
        """The judgments of rationales, where there are some."""
        if not any(one.id == EVALUATION for one in self.corpus.instruments):
            return None
        part = self.corpus.filter(pl.col("source").is_not_null())
        return part if len(part.judgments) else None

    @cached_property
    def gold(self) -> Floats:
        """People's ratings in the draft's coding: blank is 0, two annotators are averaged."""
        return matrix(self.people, self.posts, self.questions, 0.0)

    @cached_property
    def gold_answers(self) -> Floats:
        """People's ratings without blanks."""
        return matrix(self.people, self.posts, self.questions, None)

    def released(self, model: str, sample: int) -> Floats:
        """A model's ratings as the release cleaned them: the first whole number, 0 where it is not 1 to 9."""
        told = self.models.filter((pl.col("rater") == model) & (pl.col("sample") == sample))
        replies = told["reply"] if "reply" in told.columns else pl.Series([None] * len(told), dtype=pl.String)
        values = [
            first_integer(reply) if reply is not None else (value or 0.0)
            for reply, value in zip(replies, told["value"], strict=True)
        ]
        coded = told.with_columns(pl.Series("value", values), pl.lit("answered").alias("status"))
        return matrix(coded, self.posts, self.questions, None)

    def parsed(self, model: str, sample: int, blank: float | None) -> Floats:
        """A model's ratings as our parser reads them; what it cannot read is missing."""
        told = self.models.filter((pl.col("rater") == model) & (pl.col("sample") == sample))
        return matrix(told, self.posts, self.questions, blank)

    def samples(self, model: str) -> list[int]:
        """The seeds of a model's runs."""
        return self.models.filter(pl.col("rater") == model)["sample"].unique().sort().to_list()

    def places(self, questions: list[str]) -> list[int]:
        """The columns of questions in a matrix."""
        return [self.questions.index(question) for question in questions]

    @cached_property
    def shared(self) -> list[int]:
        """The rows of posts that two people rated."""
        twice = set(self.double["item"])
        return [place for place, post in enumerate(self.posts) if post in twice]

    def annotators(self, blank: float | None) -> tuple[Floats, Floats]:
        """The ratings of the posts that two people rated, one matrix per person (a third has no part in this)."""
        posts = [self.posts[place] for place in self.shared]
        names = self.double["rater"].value_counts(sort=True)["rater"].sort().to_list()[:2]
        first, second = (
            matrix(self.double.filter(pl.col("rater") == name), posts, self.questions, blank) for name in names
        )
        return first, second
