"""What every part of the report starts from: the judgments, split by who made them, and the order of things."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, VantageError
from vantage.instruments import Instrument
from vantage.measures import BertScore, Floats, Likeness, Resampling
from vantage.measures.rationale.semantic import OVERLAP
from vantage.report.engine import Analysis, there
from vantage.studies.appraisals.coding import first_integer, matrix
from vantage.studies.execution import Context

INSTRUMENT: Final = "appraisals"
HUMAN: Final = "gold"
"""What the release calls the reasons of its annotators."""
THIRDS: Final[dict[int, tuple[float, ...]]] = {3: (0.33, 0.33, 0.33)}
"""The draft's BLEU-3 comes out only with weights that do not quite add up to one."""
CRITERIA: Final = ("factuality", "relevance", "consistency", "usefulness")
"""What people judge about a rationale."""
MAIN: Final = ("gold", "chatgpt", "alpaca-7B", "flan-t5-xxl")
"""The four sources of rationales that both files of the evaluation have."""


@dataclass(eq=False)
class Appraised(Analysis):
    """The corpus with the options of the analysis, and what rationales are compared by."""

    likeness: Likeness = field(default_factory=lambda: Likeness(OVERLAP, weights=THIRDS))

    @classmethod
    def of(cls, corpus: Corpus, context: Context[Any]) -> Appraised:
        """From what a study is run with; a likeness that is not installed leaves a warning."""
        likeness, notes = likeness_of(context.options)
        for note in notes:
            context.warn(note)
        return cls(corpus, context.options, context.seed, likeness)

    @property
    def how(self) -> Resampling:
        """How intervals over posts are made."""
        return Resampling(resamples=self.options.resamples, seed=self.seed)

    @cached_property
    def titles(self) -> dict[str, str]:
        """What the 24 questions are called, in the order in which they are asked."""
        instrument: Instrument = next(one for one in self.corpus.instruments if one.id == INSTRUMENT)
        return {question.id: question.title for question in instrument.questions}

    @cached_property
    def questions(self) -> list[str]:
        """The 24 questions, in the order in which they are asked."""
        return list(self.titles)

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """The four groups of six questions, by their places."""
        return {f"{first + 1} to {first + 6}": list(range(first, first + 6)) for first in range(0, 24, 6)}

    @cached_property
    def appraised(self) -> Corpus:
        """The part of the corpus that is about appraisals."""
        return self.corpus.filter(question=self.questions)

    @cached_property
    def judged(self) -> pl.DataFrame:
        """All judgments of appraisals, with the kind of their rater and the title of their question."""
        kinds = self.corpus.raters.select("rater", pl.col("kind").cast(pl.String))
        title = pl.col("question").replace_strict(self.titles).alias("appraisal")
        return self.appraised.judgments.join(kinds, on="rater", how="left", maintain_order="left").with_columns(title)

    @cached_property
    def by_people(self) -> pl.DataFrame:
        """The annotators' judgments."""
        return self.judged.filter(kind="person")

    @cached_property
    def by_models(self) -> pl.DataFrame:
        """The models' judgments."""
        return self.judged.filter(kind="model")

    @cached_property
    def model_names(self) -> list[str]:
        """The models, in the order of their names."""
        return self.by_models["rater"].unique().sort().to_list()

    @cached_property
    def posts(self) -> list[str]:
        """The posts that people rated, in the order of the release."""
        rated = set(self.by_people["item"])
        return [item for item in self.corpus.items["item"] if item in rated]

    @cached_property
    def twice(self) -> Corpus:
        """Everybody's judgments of the posts that two people rated."""
        both = there(self.by_people.filter(pl.col("rater").n_unique().over("item") == 2))
        return self.appraised.filter(item=both["item"].unique().to_list())

    @cached_property
    def experts(self) -> Corpus:
        """What people said of the posts that two of them rated."""
        return self.twice.filter(kind="person")

    @cached_property
    def candidates(self) -> Corpus:
        """The same posts with the models that could stand in for an expert."""
        there(self.by_models)
        return self.twice

    @cached_property
    def evaluators(self) -> Corpus | None:
        """People's judgments of the rationales of these sources."""
        named = "source" in self.corpus.items.columns
        return self.corpus.filter(question=list(CRITERIA), source=list(MAIN)) if named else None

    @cached_property
    def gold(self) -> Floats:
        """People's ratings in the draft's coding: blank is 0, two annotators are averaged."""
        return matrix(self.by_people, self.posts, self.questions, 0.0)

    @cached_property
    def gold_answers(self) -> Floats:
        """People's ratings without blanks."""
        return matrix(self.by_people, self.posts, self.questions, None)

    @cached_property
    def pairs(self) -> dict[float | None, tuple[Floats, Floats]]:
        """The ratings of the posts that two people rated, one matrix per person, by what a blank counts as.

        A third person has no part in this.
        """
        judgments = self.experts.judgments
        posts = [post for post in self.posts if post in set(judgments["item"])]
        first, second = (judgments.filter(rater=name) for name in judgments["rater"].unique().sort()[:2])
        of = partial(matrix, posts=posts, questions=self.questions)
        return {blank: (of(first, blank=blank), of(second, blank=blank)) for blank in (0.0, None)}

    def samples(self, model: str) -> list[int]:
        """The seeds of a model's runs."""
        return self.by_models.filter(rater=model)["sample"].unique().sort().to_list()

    @lru_cache(maxsize=64)  # noqa: B019 - an analysis lives as long as its run
    def parsed(self, model: str, blank: float | None) -> list[Floats]:
        """A model's ratings as our parser reads them, run by run; what it cannot read is missing."""
        mine = self.by_models.filter(rater=model)
        return [matrix(mine.filter(sample=s), self.posts, self.questions, blank) for s in self.samples(model)]

    @lru_cache(maxsize=64)  # noqa: B019 - an analysis lives as long as its run
    def released(self, model: str) -> list[Floats]:
        """A model's ratings as the release cleaned them: the first whole number, 0 where it is not 1 to 9."""
        mine, value = self.by_models.filter(rater=model), pl.col("value").fill_null(0.0)
        if "reply" in mine.columns:
            value = pl.col("reply").map_elements(first_integer, pl.Float64).fill_null(value)
        coded = mine.with_columns(value.alias("value"), pl.lit("answered").alias("status"))
        return [matrix(coded.filter(sample=s), self.posts, self.questions, None) for s in self.samples(model)]


def likeness_of(options: Any) -> tuple[Likeness, list[str]]:
    """What rationales are compared by, and what is left out because it is not installed."""
    from vantage.raters.encoders import load_encoder

    made: dict[str, Any] = {}
    notes = []
    for metric, title, wanted, load in (
        ("embedding", "Likeness in meaning", options.encoder, lambda: load_encoder(options.encoder)),
        ("bertscore", "BERTScore", options.bertscore, lambda: _bertscore(options)),
    ):
        try:
            made |= {metric: load()} if wanted else {}
        except VantageError as error:
            notes.append(f"{title} is left out: {error}")
    how: dict[str, Any] = {"encode": made.get("embedding"), "bertscore": made.get("bertscore")}
    return Likeness([*OVERLAP, *made], weights=THIRDS, **how), notes


def _bertscore(options: Any) -> BertScore:
    from importlib.util import find_spec

    if not find_spec("bert_score") or not find_spec("torch"):
        raise InputError("bert-score and torch are not installed", remedy="pip install bert-score")
    if options.bertscore == "minilm":
        from vantage.raters.encoders import minilm_folder

        return BertScore(str(minilm_folder()), options.bertscore_layers or 6)
    return BertScore(options.bertscore.removeprefix("hf:"), options.bertscore_layers or None)
