"""The options, and what is analysed: the whole corpus, and each task's statements with votes and methods' scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Question
from vantage.measures import Floats, named, student_interval
from vantage.report.recipe import Analysis
from vantage.studies.base import listed
from vantage.studies.context.pipeline.ambiguity import SURFACE, by_surface, votes
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC, attached_steps
from vantage.studies.context.pipeline.detection import LEAST, Judging
from vantage.studies.context.pipeline.simulation import METHOD, Cost, Detected, Simulation, detected
from vantage.studies.context.tasks import TASK, TASKS, Task, chosen_tasks, labels_of, question_of
from vantage.studies.execution import Context


def judging(options: Any, seed: int) -> Judging:
    """How the options have methods of detection judged."""
    return Judging(options.target, options.mark, options.threshold, options.budget, options.resamples, seed)


COSTS: Final = "costs"
"""The costs of methods by task, model and method, noted while collecting."""
TITLES: Final = {
    "constant": "always the average answer",
    "length": "short texts first",
    "words-doubt": "words (TF-IDF)",
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

    task: Task = TASKS["sarcasm"]
    costs: Mapping[tuple[str, str, str], Cost] = field(default_factory=dict)

    @property
    def question(self) -> Question:
        """The question of the task."""
        return question_of(self.task)

    @cached_property
    def judging(self) -> Judging:
        """How methods are judged."""
        return judging(self.options, self.seed)

    @cached_property
    def votes(self) -> pl.DataFrame:
        """People's votes on the statements standing alone."""
        return votes(self.corpus, self.question)

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
        """The scores of every method by model, first, without a name, of those that need none."""
        names = [name for name in listed(self.options.methods) if name in SURFACE and self.judged]
        tables = [by_surface(self.corpus.items, self.votes, name, seed=self.seed) for name in names]
        methods = {"": [Detected(TITLES[name], table) for name, table in zip(names, tables, strict=True)]}
        readers = self.corpus.raters
        known = readers.drop_nulls(METHOD) if METHOD in readers.columns else readers.clear()
        for (model, method), raters in known.group_by("model", METHOD, maintain_order=True) if len(known) else ():
            cost = self.costs.get((self.task.name, str(model), str(method))) or Cost(0, None, None)
            methods.setdefault(str(model), []).append(self.detected(TITLES[str(method)], list(raters["rater"]), cost))
        return methods

    def detected(self, method: str, readers: Sequence[str], cost: Cost) -> Detected:
        """What some simulated readers say of the ambiguity of the statements."""
        simulation = Simulation(method, self.corpus, self.question, tuple(readers), cost)
        return detected(simulation, opt_outs=self.options.ambiguous_in)

    @cached_property
    def methods(self) -> list[Detected]:
        """The scores of every method; where there are several models, methods are named with theirs."""
        prefixes = {model: f"{model}: " if model and len(self.by_model) > 2 else "" for model in self.by_model}
        every = self.by_model.items()
        return [replace(one, method=prefixes[model] + one.method) for model, some in every for one in some]

    @cached_property
    def selector(self) -> Detected | None:
        """The method that flags items: the last one that uses a model, or else the last one."""
        modelled = [one for one in self.methods if one.cost is not None]
        return next(reversed(modelled or self.methods), None)

    @cached_property
    def flagged(self) -> list[str]:
        """The items that the selector flags: by held-out thresholds where there are votes, else within the budget."""
        chosen = self.selector
        if chosen is None:
            return []
        items, reason = self.judging.flags(chosen, self.votes) if self.judged else ([], "too few votes")
        if not reason:
            return items
        ranked = chosen.table.drop_nulls("score").sort("score", descending=True, maintain_order=True)
        return ranked["item"].head(round(self.judging.budget * len(chosen.table))).to_list()

    def said(self, *kinds: str) -> pl.DataFrame:
        """Judgments by raters of some kinds, without simulated readers, alone and with any kind of context."""
        raters = self.corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(kinds))
        if METHOD in raters.columns:
            raters = raters.filter(pl.col(METHOD).is_null())
        wanted = (pl.col("condition") == STATIC) | pl.col("condition").str.starts_with(CONTEXT)
        mine = self.corpus.judgments.filter(wanted, pl.col("question") == self.question.id)
        return mine.join(raters, on="rater", how="semi", maintain_order="left")


@dataclass(eq=False)
class ContextAnalysis(Analysis):
    """The whole corpus, and the statements of every task."""

    costs: Mapping[tuple[str, str, str], Cost] = field(default_factory=dict)

    @classmethod
    def of(cls, corpus: Corpus, context: Context[Any]) -> ContextAnalysis:
        """From what a study is run with."""
        return cls(corpus, context.options, context.seed, context.noted.get(COSTS, {}))

    @cached_property
    def parts(self) -> dict[str, Statements]:
        """The statements of each task, by its title."""
        tasks = {task: self.corpus.filter(pl.col(TASK) == task.name) for task in chosen_tasks(self.options.tasks)}
        return {task.title: Statements(part, self.options, self.seed, task, self.costs) for task, part in tasks.items()}

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
