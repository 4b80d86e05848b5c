"""Small reports for the tests, plain and hostile."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.report import Column, Figure, Finding, Report, Result, Section, Table
from vantage.report.record import Record, versions

HOSTILE: Final = """</script><img src=x onerror="alert(1)">'{{ 7*7 }} $\\frac{1}{2}$ {x} & \x07 %d"""
"""Text that tries to be markup, a template, a formula, a format and a control sequence."""


def frame(name: str = "trust") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "question": [name, "skill"],
            "estimate": [0.597, None],
            "low": [0.5, None],
            "high": [0.7, None],
            "reason": [None, "too few raters"],
            "left_out": [{"refused": 2}, {"refused": 0}],
            "measure": ["alpha", "alpha"],
            "options": ["{}", "{}"],
        }
    )


def report(text: str = "plain", **told: Any) -> Report:
    """A report with the text in every place where text can come from outside."""
    table = Table("alpha", text, frame(text), {"estimate": Column(text, digits=2, best="max")}, notes=[text])
    options = {"category": "question", "label": text, "reference": 0.0, "reference_label": text}
    figure = Figure("alpha", text, text, "points", frame(text), options)
    record = Record("test", text, [text], state="complete", started="2026-01-01T00:00:00+00:00", finished="2026-01-01")
    record.options, record.versions, record.data, record.models = (
        {"option": text, "empty": None},
        versions(),
        text,
        [text],
    )
    record.corpus = {"items": 3, "raters": 2, "judgments": 6, "title": text, "source": text, "licence": text}
    record.corpus |= {"citation": text, "notes": [text]}
    record.instruments = [{"id": text, "version": 1, "title": text}]
    record.counts = {text: {"answered": 4, "refused": 2}}
    record.missing = [text]
    for name, value in told.items():
        setattr(record, name, value)
    sections = [Section(text, [text], [table, figure])]
    return Report(record, Result(sections, [Finding(text), Finding("3 things")], [text], [text]))
