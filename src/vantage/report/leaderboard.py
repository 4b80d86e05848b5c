"""The leaderboard page of systems that predicted the same tasks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from vantage.interop.submissions import SharedTask
from vantage.perspective.scoring import Divisor, Systems, leaderboard, own_measures
from vantage.report.engine import Analysis
from vantage.report.folder import Report
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now


@dataclass(eq=False)
class SystemsAnalysis(Analysis):
    """Systems with what they predicted, by evaluation."""

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
    result = recipe.result(SystemsAnalysis(corpus, systems=systems, divisor=divisor))
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
