"""What a verb prints: a readable table to people, clean data with `--json`, `--csv` or `--latex`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.errors import InputError
from vantage.report.cells import finite, p_value
from vantage.report.cells import printable as printable  # noqa: PLC0414
from vantage.report.cells import show as show  # noqa: PLC0414

if TYPE_CHECKING:
    import polars as pl

    from vantage.measures.presentation import Rule, View

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")]


def print_json(data: Any) -> None:
    """Plain data as JSON; what JSON cannot say (NaN, infinities) becomes null."""
    sys.stdout.write(json.dumps(finite(data), ensure_ascii=False, indent=2, default=str) + "\n")


def print_rows(rows: Sequence[dict[str, Any]], *, as_json: bool = False, title: str = "") -> None:
    """Rows for people, or as one JSON array of objects."""
    if as_json:
        print_json(list(rows))
        return
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    columns = _filled_columns(rows)
    console = Console(soft_wrap=False)
    style: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "header_style": "bold"}
    table = Table(title=title or None, box=None, pad_edge=False, **style)
    for position, name in enumerate(columns):
        numeric = all(isinstance(row[name], int | float) or row[name] is None for row in rows)
        longest = max(len(_cell(name, row[name])) for row in rows)
        justify: Any = "right" if numeric else "left"
        whole = numeric or position == 0
        table.add_column(
            name.replace("_", " "),
            justify=justify,
            no_wrap=whole,
            min_width=min(longest, 16 if console.is_terminal else 40),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(_cell(name, row[name])) for name in columns))
    least = Measurement.get(console, console.options.update(width=10_000), table).minimum
    if not console.is_terminal:
        console.width = max(120, least + 2 * len(columns))
    if least <= console.width:
        console.print(table)
        return
    # A table that does not fit is told row by row, so that nothing is cut off.
    for row in rows:
        facts = Table(box=None, pad_edge=False, show_header=False, title=title or None, **style)
        for name in columns:
            facts.add_row(Text(name.replace("_", " "), style="bold"), Text(_cell(name, row[name])))
        console.print(facts, "")


def _cell(name: str, value: Any) -> str:
    """A cell for people; a p value is never shown as naught.

    >>> _cell("p_adjusted", 0.00002), _cell("estimate", 0.25), _cell("p", None)
    ('< .001', '0.250', '–')
    """
    if isinstance(value, float) and (name == "p" or name.startswith("p_")):
        return p_value(value)
    return show(value)


def _filled_columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The columns that say something in at least one row."""
    names = list(rows[0]) if rows else []
    return [name for name in names if any(show(row[name]) not in ("–", "") for row in rows)]


def print_frame(
    frame: pl.DataFrame,
    *,
    as_json: bool = False,
    as_csv: bool = False,
    as_latex: bool = False,
    hidden: Sequence[str] = (),
    title: str = "",
) -> None:
    """A result table; `hidden` columns are left out for people and kept in the data."""
    if as_json:
        print_json(frame.to_dicts())
    elif as_csv:
        from vantage.corpora.writers import csv_text

        sys.stdout.write(csv_text(frame))
    elif as_latex:
        from vantage.report.latex import latex

        sys.stdout.write(latex(frame.drop(hidden, strict=False)))
    else:
        print_rows(frame.drop(hidden, strict=False).to_dicts(), title=title)


def write_figure(chart: str, frame: pl.DataFrame, options: Mapping[str, Any], path: Path) -> None:
    """A chart as a file: .svg, .pdf or .png."""
    from vantage.report.charts import draw
    from vantage.report.style import figure_style

    if path.suffix not in (".svg", ".pdf", ".png"):
        raise InputError(f"a figure cannot be written as '{path.name}'", remedy="end the name in .svg, .pdf or .png")
    drawing = draw(chart, frame, options)
    with figure_style():
        drawing.savefig(path, bbox_inches="tight", dpi=200, facecolor="white" if path.suffix == ".png" else "none")
    typer.echo(f"The figure is in {path}.", err=True)


def sentences(frame: pl.DataFrame, view: View, by: Sequence[str] = (), says: Sequence[Rule] | None = None) -> list[str]:
    """What the rules of a view have to say of a result."""
    from vantage.report.sentences import decide
    from vantage.report.views import present

    shown = present(frame, view, name="result", by=by, says=says)
    return [finding.text for part in decide(shown.statements) for finding in part]
