"""What is analysed: the corpus as a whole, and the statements of each task with people's votes and methods' scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Question
from vantage.measures.intervals import student_interval
from vantage.measures.ratings import Floats
from vantage.measures.resampling import named
from vantage.report.recipe import Analysis
from vantage.studies.base import listed
from vantage.studies.context.options import ContextOptions
from vantage.studies.context.pipeline.ambiguity import SURFACE, Detected, by_surface, detected, votes
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC, attached_steps
from vantage.studies.context.pipeline.detection import Judging
from vantage.studies.context.pipeline.simulation import METHOD, Cost, Simulation
from vantage.studies.context.pipeline.thresholds import LEAST, in_order
from vantage.studies.context.tasks import TASK, TASKS, Task, chosen_tasks, labels_of, question_of
from vantage.studies.execution import Context

COSTS: Final = "costs"
"""What collecting notes of the costs of methods, by task, model and method."""
TITLES: Final = {
    "constant": "always the average answer",
    "length": "short texts first",
    "words": "words (TF-IDF): entropy",
    "words-doubt": "words (TF-IDF): doubt",
    "direct": "no persona, direct",
    "reasoning": "no persona, reasoning",
    "persona": "all personas, direct",
    "persona-reasoning": "all personas, reasoning",
    "selective": "selective personas, direct",
    "selective-reasoning": "selective personas, reasoning",
}


@dataclass(eq=False)
class Statements(Analysis):
    """The statements of one task: people's votes, every method's scores, and the items that are flagged."""

    options: ContextOptions = field(default_factory=ContextOptions)
    task: Task = TASKS["sarcasm"]
    costs: Mapping[tuple[str, str, str], Cost] = field(default_factory=dict)

    @property
    def question(self) -> Question:
        """The question of the task."""
        return question_of(self.task)

    @cached_property
    def judging(self) -> Judging:
        """How methods are judged."""
        return self.options.judging(self.seed)

    @cached_property
    def votes(self) -> pl.DataFrame:
        """People's votes on the statements standing alone."""
        return votes(self.corpus, self.question, condition=STATIC)

    @cached_property
    def after(self) -> pl.DataFrame:
        """People's votes with context; empty where nobody judged with context."""
        return votes(self.corpus, self.question, condition=CONTEXT)

    @cached_property
    def labels(self) -> pl.DataFrame:
        """The original labels: `item`, `question` and `value`."""
        return labels_of(self.corpus.items)

    @property
    def judged(self) -> bool:
        """Whether there are votes enough to judge methods by."""
        return len(self.votes) >= LEAST

    @cached_property
    def by_model(self) -> dict[str, list[Detected]]:
        """The scores of every method by model; first, without a name, those that need none, where votes are enough."""
        return {"": self._surfaces() if self.judged else [], **self._simulated()}

    @cached_property
    def methods(self) -> list[Detected]:
        """The scores of every method; where there are several models, methods are named with theirs."""
        named = {model: f"{model}: " if model and len(self.by_model) > 2 else "" for model in self.by_model}
        every = self.by_model.items()
        return [replace(one, method=named[model] + one.method) for model, some in every for one in some]

    @cached_property
    def selector(self) -> Detected | None:
        """The method that flags items: the last one named that uses a model, or else the last one."""
        modelled = [one for one in self.methods if one.cost is not None]
        return next(reversed(modelled or self.methods), None)

    @cached_property
    def flagged(self) -> list[str]:
        """The items that the selector flags: by held-out thresholds where there are votes, else within the budget."""
        chosen = self.selector
        if chosen is None:
            return []
        if self.judged and not (flags := self.judging.flags(chosen, self.votes)).reason:
            return flags.flagged
        scored = chosen.table.drop_nulls("score")
        places = [int(n) for tie in in_order(scored["score"]) for n in tie]
        return scored["item"].gather(places[: round(self.judging.budget * len(chosen.table))]).to_list()

    def said(self, *kinds: str) -> pl.DataFrame:
        """Judgments by raters of some kinds, without simulated readers, alone and with any kind of context."""
        raters = self.corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(kinds))
        if METHOD in raters.columns:
            raters = raters.filter(pl.col(METHOD).is_null())
        wanted = (pl.col("condition") == STATIC) | pl.col("condition").str.starts_with(CONTEXT)
        mine = self.corpus.judgments.filter(wanted, pl.col("question") == self.question.id)
        return mine.join(raters, on="rater", how="semi", maintain_order="left")

    def rescored(self, method: Detected, readers: Sequence[str]) -> Detected:
        """A method as some of its readers alone would have it."""
        return detected(
            Simulation(method.method, self.corpus, self.question, tuple(readers), Cost()), self.options.spread()
        )

    def _surfaces(self) -> list[Detected]:
        spread = self.options.spread()
        if not self.votes["ambiguity"].sum():
            # People who could not say "ambiguous" are foretold without it.
            spread = replace(spread, opt_outs=False)
        how: dict[str, Any] = {"spread": spread, "folds": self.judging.folds, "seed": self.seed}
        names = [name for name in listed(self.options.methods) if name in SURFACE]
        surfaces = {name: by_surface(self.corpus.items, self.votes, self.question.scale, name, **how) for name in names}
        return [Detected(TITLES[name], one.table) for name, one in surfaces.items()]

    def _simulated(self) -> dict[str, list[Detected]]:
        methods: dict[str, list[Detected]] = {}
        if METHOD not in self.corpus.raters.columns:
            return methods
        known = self.corpus.raters.drop_nulls(METHOD)
        for (model, method), raters in known.group_by("model", METHOD, maintain_order=True):
            cost = self.costs.get((self.task.name, str(model), str(method))) or Cost(0, None, None)
            simulation = Simulation(str(method), self.corpus, self.question, tuple(raters["rater"]), cost)
            scored = detected(simulation, self.options.spread())
            methods.setdefault(str(model), []).append(replace(scored, method=TITLES[str(method)]))
        return methods


@dataclass(eq=False)
class ContextAnalysis(Analysis):
    """The whole corpus, and the statements of every task."""

    options: ContextOptions = field(default_factory=ContextOptions)
    costs: Mapping[tuple[str, str, str], Cost] = field(default_factory=dict)

    @classmethod
    def of(cls, corpus: Corpus, context: Context[ContextOptions]) -> ContextAnalysis:
        """From what a study is run with."""
        return cls(corpus, context.options, context.seed, context.noted.get(COSTS, {}))

    @cached_property
    def parts(self) -> dict[str, Statements]:
        """The statements of each task, by its title."""
        return {
            task.title: Statements(
                self.corpus.filter(pl.col(TASK) == task.name), self.options, self.seed, task, self.costs
            )
            for task in chosen_tasks(self.options.tasks)
        }

    @cached_property
    def labels(self) -> pl.DataFrame:
        """The original labels of all statements."""
        return labels_of(self.corpus.items)

    @cached_property
    def readers(self) -> Corpus | None:
        """What people and seats said; null where there is nobody."""
        people = self.corpus.filter(kind=["person", "slot"])
        return people if len(people.judgments) else None

    @cached_property
    def persons(self) -> Corpus:
        """What single annotators said; seats hide who said what."""
        return self.corpus.filter(kind="person")

    @cached_property
    def steps(self) -> dict[str, pl.DataFrame]:
        """The steps in which contexts were written, by what they were written for."""
        return attached_steps(self.corpus)


def paired(name: str, differences: Floats) -> dict[str, float | None]:
    """The mean of items' differences as `name`, with Student's 95 % interval; of fewer than ten items without one.

    >>> import numpy as np
    >>> paired("gain", np.array([0.0, 0.2] * 5))["gain_low"] > 0
    True
    """
    low, high = student_interval(differences) if len(differences) >= LEAST else (None, None)
    mean = float(differences.mean()) if len(differences) else None
    return named(name, {"estimate": mean, "low": low, "high": high})
