"""The leaderboard page of systems that predicted the same tasks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.interop import SharedTask
from vantage.perspective.leaderboard import Systems, leaderboard
from vantage.perspective.losses import Answered, Divisor, distance
from vantage.perspective.scoring import own_measures
from vantage.report.cases import text_of_items
from vantage.report.cells import shortened
from vantage.report.engine import Analysis
from vantage.report.folder import Report
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now

TEXTS: Final = 3
"""Of so many texts of a task the predicted distributions are drawn."""


@dataclass(eq=False)
class SystemsAnalysis(Analysis):
    """Systems with what they predicted, by evaluation."""

    tasks: Mapping[str, SharedTask] = field(default_factory=dict)
    systems: Mapping[str, Systems] = field(default_factory=dict)
    divisor: Divisor = "points"

    def tables(self, which: int) -> pl.DataFrame:
        """The leaderboards (0) or the pairs of systems (1) of all evaluations."""
        return pl.concat(leaderboard(one, evaluation, self.divisor)[which] for evaluation, one in self.systems.items())


def leaderboard_report(
    tasks: Mapping[str, SharedTask], systems: Mapping[str, Systems], divisor: Divisor = "points"
) -> Report:
    """The page, ready to be written: `leaderboard_report(tasks, systems).write("folder")`."""
    title = f"Leaderboard: {', '.join(tasks)}"
    corpus = next(iter(tasks.values())).corpus
    names = list(dict.fromkeys(name for one in systems.values() for name in one))
    record = made_at_once("leaderboard", title, corpus, seed=0, options={"systems": names, "divisor": divisor})
    recipe = Recipe.bundled("vantage.report", sys.modules[__name__], file="leaderboard.yaml")
    result = recipe.result(SystemsAnalysis(corpus, tasks=tasks, systems=systems, divisor=divisor))
    record.finished = now()
    return Report(record, result)


def board(analysis: SystemsAnalysis) -> pl.DataFrame:
    """The systems, the best first."""
    where = pl.format("{}, {}", "task", "evaluation").alias("where")
    return analysis.tables(0).with_columns(where)


def differences(analysis: SystemsAnalysis) -> pl.DataFrame | None:
    """Every pair of systems."""
    frame = analysis.tables(1)
    of = pl.format("{} − {} ({}, {})", "first", "second", "task", "evaluation").alias("of")
    return frame.with_columns(of) if len(frame) else None


def scores(analysis: SystemsAnalysis) -> pl.DataFrame:
    """What each system scored in each task, beside floor and ceiling."""
    rows = []
    for evaluation, systems in analysis.systems.items():
        for name, tasks in systems.items():
            for task, scored in tasks.items():
                measure = own_measures(scored.parts[0].scale)[evaluation == "perspectivist"]
                row = scored.row(measure, divisor=analysis.divisor, confidence=0.95, seed=0)
                rows.append({"system": name, "task": task, **row})
    return pl.DataFrame(rows, infer_schema_length=None)


def predicted(analysis: SystemsAnalysis) -> pl.DataFrame:
    """The distributions of people and of each system, for the texts of each task on which they lie furthest apart."""
    evaluation = "soft" if "soft" in analysis.systems else next(iter(analysis.systems))
    rows = [
        row
        for name, task in analysis.tasks.items()
        for question_number, question in enumerate(task.questions)
        for row in _drawn(
            task,
            question if task.questions[1:] else "",
            {
                system: one[name].parts[question_number]
                for system, one in analysis.systems[evaluation].items()
                if name in one
            },
        )
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _drawn(task: SharedTask, question: str, systems: Mapping[str, Answered]) -> Iterator[dict[str, Any]]:
    if not systems:
        return
    items, texts = [*task.annotators], text_of_items(task.corpus)
    first = next(iter(systems.values()))
    measure = own_measures(first.scale)[0]
    apart = np.mean([distance(measure, first.target, one.of_texts) for one in systems.values()], axis=0)
    where = f"{task.name}: {question}" if question else task.name
    for number, place in enumerate(np.argsort(-apart, kind="stable")[:TEXTS].tolist(), 1):
        text = f"{number} {shortened(texts.get(items[place], items[place]), 40)}"
        shares_by = {"people": first.target, **{name: one.of_texts for name, one in systems.items()}}
        for who, shares in shares_by.items():
            for code, share in zip(first.codes.tolist(), shares[place].tolist(), strict=True):
                label = first.scale.label(code)
                yield {"task": where, "item": items[place], "who": who, "answer": label, "share": share, "text": text}
