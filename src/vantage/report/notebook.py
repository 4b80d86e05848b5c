"""The parts of a report in a notebook: a cell that gives a table, a figure, a section or a result shows it.

Figures are drawings whose ink has the page's own colour; `Figure.draw()` gives the Matplotlib object.
"""

from __future__ import annotations

import itertools
from functools import singledispatch
from typing import Any, Final

from vantage.notebook import html
from vantage.notebook.html import Html
from vantage.report.cells import counted, minus, printable
from vantage.report.doors import doors
from vantage.report.folder import Report
from vantage.report.marks import svg
from vantage.report.parts import Figure, Result, Section, Table
from vantage.report.style import drawn, inline

ROWS: Final = 20
"""How many rows of a table a notebook shows."""
_COUNTER: Final = itertools.count(1)
"""A figure that is shown twice in a page needs two names."""


@singledispatch
def shown(part: Any) -> Html:
    """The HTML of a part; of what has no look of its own, its text."""
    return html.escaped(part)


@shown.register
def table(part: Table) -> Html:
    """A table with its first rows and its notes."""
    heads = part.heads()
    door, addresses = doors(part, ROWS)
    rows = [
        [Html(svg(cell.mark)) if cell.mark else _cell(cell.text, bold=cell.best) for cell in row]
        for row in part.rows(ROWS)
    ]
    if door is not None:
        for row, address in zip(rows, addresses, strict=True):
            if address:
                row[door] = Html(f'<span title="{html.escaped(_call(address))}">{row[door]}</span>')
    parts = [html.grid([head.title for head in heads], rows, numeric=[head.numeric for head in heads])]
    if len(part.frame) > ROWS:
        line = f"The first {ROWS} of {counted(len(part.frame), 'row')}; all of them: .frame"
        parts.append(html.line(line, faint=True))
    parts += [html.line(minus(note), faint=True) for note in part.notes]
    if door is not None:
        parts.append(html.line(f"Behind a number: {_call(next(filter(None, addresses)))}", faint=True))
    return html.block(minus(part.caption), *parts)


def _call(address: str) -> str:
    """What shows the judgments behind a row."""
    return f'corpus.view("#{address}")'


def _cell(text: str, *, bold: bool) -> Html:
    return Html(f"<b>{html.escaped(text)}</b>") if bold else html.escaped(text)


@shown.register
def figure(part: Figure) -> Html:
    """A drawing with its caption."""
    drawing = inline(drawn(part.draw), f"vantage-{next(_COUNTER)}", printable(part.in_words))
    # Narrow pages show the whole figure, smaller.
    drawing = drawing.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
    return Html(
        f'<figure style="margin:.5em 0">{drawing}<figcaption>{html.line(minus(part.caption))}</figcaption></figure>'
    )


@shown.register
def section(part: Section) -> Html:
    """A section with its text and parts."""
    said = [html.listed([finding.text for finding in part.findings])] if part.findings else []
    return html.block(part.title, *map(html.line, part.text), *said, *map(shown, part.parts))


@shown.register
def result(part: Result) -> Html:
    """Findings first, then warnings and all sections."""
    parts = [html.listed([finding.text for finding in part.findings], numbered=True)] if part.findings else []
    parts += [html.line(f"⚠ {warning}") for warning in part.warnings]
    return html.block("Result", *parts, *map(section, part.sections))


@shown.register
def report(part: Report) -> Html:
    """A run with its state and what is missing, then what it found."""
    record = part.record
    title = record.title or record.study
    return html.block(title, *map(html.line, record.missing), result(part.result), note=record.state)
