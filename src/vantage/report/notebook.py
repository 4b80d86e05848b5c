"""The parts of a report in a notebook: a cell that gives a table, a figure, a section or a result shows it.

Figures stand in the page as drawings whose ink has the page's own colour; `Figure.draw()` gives the Matplotlib object.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from vantage.notebook import html
from vantage.notebook.html import Html

if TYPE_CHECKING:
    from vantage.report.parts import Figure, Result, Section, Table

ROWS: Final = 20
"""How many rows of a table a notebook shows."""
_COUNTER: Final = itertools.count(1)
"""A figure that is shown twice in a page needs two names."""


class Shown:
    """Something that a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # Plain text: marimo takes nothing else.
        return str(shown(self))


def shown(part: Any) -> Html:
    """The HTML of a part.

    >>> import polars as pl
    >>> from vantage.report import Table
    >>> "&lt;b&gt;" in shown(Table("a", "Of <b>.", pl.DataFrame({"x": [1]})))
    True
    """
    from vantage.report.parts import Figure, Section, Table

    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Figure):
        return _figure(part)
    if isinstance(part, Section):
        return _section(part)
    record = getattr(part, "record", None)
    if record is not None:
        title = record.title or record.study
        return html.block(title, *map(html.line, record.missing), _result(part.result), note=record.state)
    return _result(part)


def _table(table: Table) -> Html:
    heads = table.heads()
    rows = [[_cell(cell.text, bold=cell.best) for cell in row] for row in table.rows(ROWS)]
    parts = [html.grid([head.title for head in heads], rows, numeric=[head.numeric for head in heads])]
    if len(table.frame) > ROWS:
        parts.append(html.line(f"The first {ROWS} of {len(table.frame):,} rows; all of them: .frame", faint=True))
    parts += [html.line(note, faint=True) for note in table.notes]
    return html.block(table.caption, *parts)


def _cell(text: str, *, bold: bool) -> Html:
    return Html(f"<b>{html.escaped(text)}</b>") if bold else html.escaped(text)


def _figure(figure: Figure) -> Html:
    from vantage.report.cells import printable
    from vantage.report.inline import inline
    from vantage.report.style import drawn

    drawing = inline(drawn(figure).svg, f"vantage-{next(_COUNTER)}", printable(figure.alt))
    # Narrow pages show the whole figure, smaller.
    drawing = drawing.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
    return Html(f'<figure style="margin:.5em 0">{drawing}<figcaption>{html.line(figure.caption)}</figcaption></figure>')


def _section(section: Section) -> Html:
    return html.block(section.title, *map(html.line, section.text), *map(shown, section.parts))


def _result(result: Result) -> Html:
    parts = [html.line(f"⚠ {warning}") for warning in result.warnings]
    if result.findings:
        parts.append(html.listed([finding.text for finding in result.findings], numbered=True))
    return html.block("Result", *parts, *map(_section, result.sections))
