"""Pages of a plan with its frontier, and of a rehearsal: how people ended, reliability, checks, impassable pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.measures import View
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
        caption = f"Cost of a {plan.unit} of {plan.target:g}, by answers per item. The ring is the chosen design."
        near = budget is not None and budget <= FAR * float(plan.frontier["cost"].to_numpy().max())
        if near:
            caption += f" The dashed line is the budget of {budget:g}."
        options |= {"y": "cost", "label": "cost", "reference": budget if near else None}
        return Figure("frontier", caption, "", "curve", plan.frontier, options)
    caption = f"The {plan.what} that the budget buys, by answers per item; the ring is the chosen design."
    options |= {"y": "value", "label": plan.unit, "reference": plan.target}
    return Figure("frontier", caption, "", "curve", plan.budgeted, options)


def plan_report(plan: Plan, budget: float | None = None) -> Report:
    """A page with the tables and figures of a plan, ready to be written: `plan_report(plan).write("folder")`."""
    frontier = Written("The frontier", [], [frontier_figure(plan, budget)])
    for name in ("frontier", "budgeted"):
        if len(frame := getattr(plan, name)):
            frontier.parts += present(frame.select(SHOWN), VIEWS[name], name=name, keys=["per_item"]).parts
    sections = [_first("The design", plan, "choice", VIEWS, hidden=("verdict", "what")), frontier]
    caption = f"The {plan.what} by what is spent, for some numbers of answers per item; the dashed line is the target."
    options = {"x": "cost", "y": "value", "series": "answers_each", "label": plan.unit, "chosen": "chosen"}
    curve = Figure("curve", caption, "", "curve", plan.curve, {**options, "reference": plan.target})
    sections.append(Written("What more items add", [], [curve]))
    if len(plan.powered):
        how: dict[str, Any] = {"hidden": ["model_items"], "keys": ["rater"]}
        sections.append(Written.of("With the help of a model", plan.powered, VIEWS["powered"], "powered", 2, **how))
    if len(plan.adaptive):
        table = plan.adaptive.head(-1).drop("sentence", "worth")  # the last row is the sentence about all of them
        shown = present(table, VIEWS["adaptive"], name="adaptive", keys=["until"], says=())
        said = present(plan.adaptive, VIEWS["adaptive"], name="adaptive", table=False).statements
        sections.append(Written("Adapting", [], [*shown.parts], [(statement, 2) for statement in said]))
    sources = [key for name in VIEWS for key in VIEWS[name].sources if name == "choice" or len(getattr(plan, name))]
    return _page("plan", f"A plan: {plan.what}", sections, sources)


def rehearsal_report(made: Rehearsal) -> Report:
    """A page with the tables of a rehearsal, ready to be written: `rehearsal_report(made).write("folder")`."""
    sections = [_first("The study", made, "summary", REHEARSED, hidden=["verdict"])]
    for name, title in TITLES.items():
        if len(frame := getattr(made, name)):
            sections.append(Written.of(title, frame, REHEARSED[name], name, 2, keys=[frame.columns[0]]))
    return _page("rehearsal", f"A rehearsal of {made.study}", sections, REHEARSED["reliability"].sources)


def _first(title: str, of: Plan | Rehearsal, name: str, views: Mapping[str, View], hidden: Sequence[str]) -> Written:
    section = Written.of(title, getattr(of, name), views[name], name, 1, hidden=hidden)
    section.text.append(f"Assumes {'; '.join(of.assumes)}.")
    return section


def _page(kind: str, title: str, sections: list[Written], sources: Sequence[str]) -> Report:
    written, findings, _ = decided(sections)
    return Report(made_at_once(kind, title), Result(written, findings, references=[*sources, *ALWAYS]))
