"""Systems that predicted the same tasks, by skill, with places that no coin can take; and the page that shows them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, TypeAlias

import polars as pl

from vantage.interop import SharedTask
from vantage.measures import Against
from vantage.perspective.losses import LEAST, Divisor, Measured, concluded
from vantage.perspective.scoring import TaskAnswers, own_measures
from vantage.report.engine import Analysis
from vantage.report.folder import Report
from vantage.report.ledger import Claim
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now
from vantage.report.sentences import settled

TEXTS: Final = 3
"""Of so many texts of a task the predicted distributions are drawn."""
ENDS: Final = ("low", "high", "p", "df")
"""What is known of a skill or a difference besides its size."""
UNREAD: Final = "(the best rater that reads no text)"
"""The row below which no system is shown to have skill."""
NOT_BETTER: Final = "not shown to be better than a rater that reads no text"
Systems: TypeAlias = Mapping[str, Mapping[str, TaskAnswers]]
"""What each system predicted for each task."""


def _skills(systems: Systems, evaluation: str, divisor: Divisor) -> dict[str, dict[str, Measured]]:
    """Each system's skill in each task that all of them predicted and whose ceiling is known."""
    first = next(iter(systems.values()))
    skills: dict[str, dict[str, Measured]] = {name: {} for name in systems}
    for task in [task for task in first if all(task in one for one in systems.values())]:
        measure = own_measures(first[task].parts[0].scale)[evaluation == "perspectivist"]
        floor, ceiling = first[task].floor(measure, divisor)[0], first[task].ceiling(measure, divisor)
        if ceiling is not None and floor - ceiling > LEAST:
            for name, one in systems.items():
                skills[name][task] = one[task].measured(measure, divisor).in_skill(floor, ceiling)
    return skills


def leaderboard(systems: Systems, evaluation: str, divisor: Divisor = "points") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Systems by skill, for each task that all of them predicted and over these together; and each pair of systems.

    `place` is one more than the number of systems that are shown to be better: differences on the same texts and
    people, settled by the ledger of claims over all pairs of a task (`p_family`), so that systems that cannot be told
    apart share a place. A system that is not shown to be better than the best rater that reads no text has none and
    stands below that rater, which has a row of its own. Floors and ceilings are the same for all.
    """
    skills = _skills(systems, evaluation, divisor)
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    common = list(next(iter(skills.values())))
    for task, used in [*((task, [task]) for task in common), *([("all", common)] if common[1:] else [])]:
        key = {"evaluation": evaluation, "task": task}
        reached = {name: concluded([one[t] for t in used]) for name, one in skills.items()}
        names = sorted(reached, key=lambda name: -(reached[name]["estimate"] or 0.0))
        pairs = list(combinations(names, 2))
        apart = [concluded([skills[a][t].minus(skills[b][t]) for t in used]) for a, b in pairs]
        better = set()
        for (one, two), row, claim in zip(pairs, apart, _settled(apart), strict=True):
            ends = {"difference": row["estimate"], **{end: row[end] for end in ENDS}, "p_family": claim.p_family}
            differences.append({**key, "first": one, "second": two, **ends})
            better |= {(one, two)} if claim.verdict == "above" else set()
        skilled = dict(zip(names, _settled([reached[name] for name in names]), strict=True))
        able = [name for name in names if skilled[name].verdict == "above"]
        mine = {
            name: {"system": name, "skill": row["estimate"], **{end: row[end] for end in ENDS}, "floor": 0.0}
            | {"p_family": skilled[name].p_family}
            for name, row in reached.items()
        }
        rows += [{**key, "place": 1 + sum((one, name) in better for one in able), **mine[name]} for name in able]
        rows.append({**key, "system": UNREAD, "skill": 0.0, "reason": "skill is measured from it"})
        rows += [{**key, **mine[name], "reason": NOT_BETTER} for name in names if name not in able]
    text, number = pl.String(), pl.Float64()
    ends_of = dict.fromkeys((*ENDS, "p_family"), number)
    key_of = {"evaluation": text, "task": text}
    board = {**key_of, "place": pl.Int64(), "system": text, "skill": number, **ends_of, "floor": number, "reason": text}
    pairs_of = {**key_of, "first": text, "second": text, "difference": number, **ends_of}
    return pl.DataFrame(rows, schema=board), pl.DataFrame(differences, schema=pairs_of)


def _settled(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """What the ledger says of skills or differences of one task, which are one research question."""
    return settled(Against(0.0, "", p="p"), pl.DataFrame(rows, schema=dict.fromkeys(("estimate", *ENDS), pl.Float64)))


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
