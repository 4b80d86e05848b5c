"""Pages of what is to come: a plan with its frontier, and a rehearsal of a study.

A rehearsal shows how people ended, expected reliability, checks, and pages nobody can pass.
"""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.planning.plan import VIEWS, Plan
from vantage.recruit.rehearsal.results import VIEWS as REHEARSED
from vantage.recruit.rehearsal.results import Rehearsal
from vantage.report.engine import Written, decided
from vantage.report.folder import Report
from vantage.report.parts import Figure, Result
from vantage.report.record import made_at_once
from vantage.report.references import ALWAYS
from vantage.report.views import present

SHOWN: Final = ("per_item", "items", "raters", "answers", "cost", "value")
FAR: Final = 2.0
"""A budget that is so many times the cost of the dearest design is not drawn."""
TITLES: Final = {
    "outcomes": "Who came, and how they ended",
    "reliability": "Reliability",
    "checks": "Which checks catch whom",
    "stuck": "Pages that people could not pass",
}


def frontier_figure(plan: Plan, budget: float | None = None) -> Figure:
    """Cost by answers per item of the designs that reach the target or, where none does, what the budget reaches."""
    options: dict[str, Any] = {"x": "per_item", "x_label": "answers per item", "chosen": "chosen"}
    if len(plan.frontier):
        caption = f"The cost of reaching a {plan.unit} of {plan.target:g}, by answers per item."
        caption += " The ring is the chosen design."
        near = budget is not None and budget <= FAR * float(plan.frontier["cost"].to_numpy().max())
        if near:
            caption += f" The dashed line is the budget of {budget:g}."
        options |= {"y": "cost", "label": "cost", "reference": budget if near else None}
        return Figure("frontier", caption, "", "curve", plan.frontier, options)
    caption = f"The {plan.what} that the budget buys, by answers per item; the ring is the chosen design."
    options |= {"y": "value", "label": plan.unit, "reference": plan.target}
    return Figure("frontier", caption, "", "curve", plan.budgeted, options)


def curve_figure(plan: Plan) -> Figure:
    """What is reached for more and more money, by answers per item."""
    caption = (
        f"The {plan.what} by what is spent, for some numbers of answers per item. The dashed line is the target, "
        "the ring the chosen design."
    )
    options = {"x": "cost", "y": "value", "series": "answers_each", "label": plan.unit, "chosen": "chosen"}
    return Figure("curve", caption, "", "curve", plan.curve, {**options, "reference": plan.target})


def plan_report(plan: Plan, budget: float | None = None) -> Report:
    """A page with the tables and figures of a plan, ready to be written: `plan_report(plan).write("folder")`."""
    first = Written.of("The design", plan.choice, VIEWS["choice"], "choice", 1, hidden=("verdict", "what"))
    first.text.append(f"Assumes {'; '.join(plan.assumes)}.")
    frontier = Written("The frontier", [], [frontier_figure(plan, budget)])
    for name in ("frontier", "budgeted"):
        frame = getattr(plan, name)
        if len(frame):
            frontier.parts += present(frame.select(SHOWN), VIEWS[name], name=name, keys=["per_item"]).parts
    curve = Written("What more items bring", [], [curve_figure(plan)])
    sections = [first, frontier, curve]
    if len(plan.powered):
        how: dict[str, Any] = {"hidden": ["model_items"], "keys": ["rater"]}
        sections.append(Written.of("With the help of a model", plan.powered, VIEWS["powered"], "powered", 2, **how))
    if len(plan.adaptive):
        table = plan.adaptive.head(-1).drop("sentence", "worth")
        shown = present(table, VIEWS["adaptive"], name="adaptive", keys=["until"], says=())
        statements = present(plan.adaptive, VIEWS["adaptive"], name="adaptive", table=False).statements
        sections.append(Written("Adapting", [], [*shown.parts], [(statement, 2) for statement in statements]))
    made, findings, _ = decided(sections)
    record = made_at_once("plan", f"A plan: {plan.what}")
    sources = [key for name in VIEWS for key in VIEWS[name].sources if name == "choice" or len(getattr(plan, name))]
    return Report(record, Result(made, findings, references=[*sources, *ALWAYS]))


def rehearsal_report(made: Rehearsal) -> Report:
    """A page with the tables of a rehearsal, ready to be written: `rehearsal_report(made).write("folder")`."""
    first = Written.of("The study", made.summary, REHEARSED["summary"], "summary", 1, hidden=["verdict"])
    first.text.append(f"Assumes {'; '.join(made.assumes)}.")
    sections = [first]
    for name, title in TITLES.items():
        frame: pl.DataFrame = getattr(made, name)
        if frame.is_empty():
            continue
        section = Written.of(title, frame, REHEARSED[name], name, 2, keys=[frame.columns[0]])
        if name == "outcomes" and (minutes := _minutes(made)) is not None:
            section.parts.append(minutes)
        sections.append(section)
    written, findings, _ = decided(sections)
    record = made_at_once("rehearsal", f"A rehearsal of {made.study}")
    return Report(record, Result(written, findings, references=[*REHEARSED["reliability"].sources, *ALWAYS]))


def _minutes(made: Rehearsal) -> Figure | None:
    """The durations of those who finished, from the fastest to the slowest."""
    times = made.people.filter(outcome="finished").select("minutes").sort("minutes")
    if len(times) < 2:
        return None
    share = pl.int_range(1, pl.len() + 1) / pl.len()
    caption = "The share of people who finish within so many minutes."
    options = {"x": "minutes", "y": "share", "x_label": "minutes", "label": "share who finished"}
    return Figure("minutes", caption, "", "curve", times.with_columns(share.alias("share")), options)
