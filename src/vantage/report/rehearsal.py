"""The page of a rehearsal: what the study will be, how people ended, reliability, checks, and pages nobody can pass."""

from __future__ import annotations

from typing import Final

import polars as pl

from vantage.recruit.rehearsal.results import VIEWS, Rehearsal
from vantage.report.engine import Written, decided
from vantage.report.folder import Report
from vantage.report.parts import Figure, Result
from vantage.report.record import made_at_once
from vantage.report.references import ALWAYS

TITLES: Final = {
    "outcomes": "Who came, and how they ended",
    "reliability": "Expected reliability",
    "checks": "Which checks catch whom",
    "adapting": "Would an adaptive study be worth it?",
    "stuck": "Pages that people could not pass",
}


def rehearsal_report(made: Rehearsal) -> Report:
    """A page with the tables of a rehearsal, ready to be written: `rehearsal_report(made).write("folder")`."""
    first = Written.of("The study", made.summary, VIEWS["summary"], "summary", 1, hidden=["verdict"])
    first.text.append(f"Assumes {'; '.join(made.assumes)}.")
    sections = [first]
    for name, title in TITLES.items():
        frame: pl.DataFrame = getattr(made, name)
        if frame.is_empty():
            continue
        section = Written.of(title, frame, VIEWS[name], name, 2, keys=[frame.columns[0]])
        if name == "outcomes" and (minutes := _minutes(made)) is not None:
            section.parts.append(minutes)
        sections.append(section)
    written, findings = decided(sections)
    record = made_at_once("rehearsal", f"A rehearsal of {made.study}")
    return Report(record, Result(written, findings, references=[*VIEWS["reliability"].sources, *ALWAYS]))


def _minutes(made: Rehearsal) -> Figure | None:
    """The durations of those who finished, from the fastest to the slowest."""
    times = made.people.filter(outcome="finished").select("minutes").sort("minutes")
    if len(times) < 2:
        return None
    share = pl.int_range(1, pl.len() + 1) / pl.len()
    caption = "The share of people who finish within so many minutes."
    options = {"x": "minutes", "y": "share", "x_label": "minutes", "label": "share who finished"}
    return Figure("minutes", caption, "", "curve", times.with_columns(share.alias("share")), options)
