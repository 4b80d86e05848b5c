"""What a verb prints: a readable table to people, clean data with `--json`, `--csv` or `--latex`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.errors import InputError
from vantage.report.cells import as_json, p_value
from vantage.report.cells import printable as printable  # noqa: PLC0414
from vantage.report.cells import show as show  # noqa: PLC0414

if TYPE_CHECKING:
    import polars as pl

    from vantage.measures import View
    from vantage.report import Figure


def print_json(data: Any) -> None:
    """Plain data as JSON; what JSON cannot say (NaN, infinities) becomes null."""
    sys.stdout.write(as_json(data, indent=2) + "\n")


def print_rows(rows: pl.DataFrame | Sequence[dict[str, Any]], title: str = "") -> None:
    """A table for people; one that does not fit is printed row by row."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    rows = rows if isinstance(rows, Sequence) else rows.to_dicts()
    # Only columns with a value in at least one row.
    columns = [name for name in (rows[0] if rows else ()) if any(show(row[name]) not in ("–", "") for row in rows)]
    console = Console(soft_wrap=False)
    style: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "header_style": "bold"}
    table = Table(title=title or None, box=None, pad_edge=False, **style)
    for position, name in enumerate(columns):
        numeric = all(isinstance(row[name], int | float) or row[name] is None for row in rows)
        longest = max(len(_cell(name, row[name])) for row in rows)
        how: dict[str, Any] = {"justify": "right" if numeric else "left", "no_wrap": numeric or position == 0}
        least = min(longest, 16 if console.is_terminal else 40)
        table.add_column(name.replace("_", " "), min_width=least, overflow="fold", **how)
    for row in rows:
        table.add_row(*(Text(_cell(name, row[name])) for name in columns))
    needed = Measurement.get(console, console.options.update(width=10_000), table).minimum
    if not console.is_terminal:
        console.width = max(120, needed + 2 * len(columns))
    if needed <= console.width:
        console.print(table)
        return
    for row in rows:
        facts = Table(box=None, pad_edge=False, show_header=False, title=title or None, **style)
        for name in columns:
            facts.add_row(Text(name.replace("_", " "), style="bold"), Text(_cell(name, row[name])))
        console.print(facts, "")


def _cell(name: str, value: Any) -> str:
    """A cell for people; a p value is never shown as 0."""
    chance = isinstance(value, float) and (name == "p" or name.startswith("p_"))
    return p_value(value) if chance else show(value)


def tables(frames: Mapping[str, pl.DataFrame], **further: Any) -> dict[str, Any]:
    """Tables by their names, and what else there is to say, as plain data."""
    return {**{name: frame.to_dicts() for name, frame in frames.items()}, **further}


class VerbResult:
    """What a verb answers: plain data for `--json`; for people lines, tables, and tables with a title.

    A table with a title is followed by an empty line, and left out if it has no rows. An error is raised after what is
    printed.
    """

    def __init__(self, data: Any, *shown: Any, code: int = 0, error: InputError | None = None) -> None:
        self.data, self.shown, self.code, self.error = data, shown, code, error

    def print(self, output: Output) -> None:
        """Prints the answer; an exit code ends the command."""
        if output.json:
            print_json(self.data() if callable(self.data) else self.data)
        else:
            self.print_shown(output)
        if self.error is not None:
            raise self.error
        if self.code:
            raise typer.Exit(self.code)

    def print_shown(self, output: Output) -> None:
        """Prints what people read."""
        for one in self.shown:
            if isinstance(one, str):
                typer.echo(one)
            elif isinstance(one, tuple):
                title, table = one
                if len(table):
                    print_rows(table, title)
                    typer.echo("")
            else:
                print_rows(one)


class VerbTable(VerbResult):
    """A result table, also as CSV and LaTeX; `hidden` columns are left out for people and kept in the data."""

    def __init__(
        self, frame: pl.DataFrame, *shown: Any, hidden: Sequence[str] = (), data: Any = None, code: int = 0
    ) -> None:
        self.frame, self.seen = frame, frame.drop(hidden, strict=False)
        super().__init__(data or frame.to_dicts, *(shown or (self.seen,)), code=code)

    def print_shown(self, output: Output) -> None:
        """Prints the table in the form asked for."""
        if output.csv:
            from vantage.corpora.writers import csv_text

            sys.stdout.write(csv_text(self.frame))
        elif output.latex:
            from vantage.report.latex import latex

            sys.stdout.write(latex(self.seen))
        else:
            super().print_shown(output)


def listed(rows: Sequence[dict[str, Any]], *, empty: str = "", hint: str = "") -> VerbResult:
    """Rows, with a hint below them or a sentence where there are none."""
    if empty and not rows:
        return VerbResult([], empty)
    return VerbResult(rows, rows, *([f"\n{hint}"] if hint else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How a result is printed: for people, or as JSON, CSV or LaTeX.

    Args:
        json: Print JSON and nothing else.
        csv: Print CSV and nothing else.
        latex: Print a LaTeX table (booktabs).
    """

    json: bool = False
    csv: bool = False
    latex: bool = False

    @property
    def data(self) -> bool:
        """Whether it is printed for other programs."""
        return self.json or self.csv or self.latex


Printed = Annotated[Output, Output]
"""The form in which a verb prints that does so itself."""


def write_figure(figure: Figure, path: Path) -> None:
    """A figure as a file: .svg, .pdf or .png."""
    from vantage.report.style import figure_style

    if path.suffix not in (".svg", ".pdf", ".png"):
        raise InputError(f"a figure cannot be written as '{path.name}'", remedy="end the name in .svg, .pdf or .png")
    drawing = figure.draw()
    with figure_style():
        drawing.savefig(path, bbox_inches="tight", dpi=200, facecolor="white" if path.suffix == ".png" else "none")
    typer.echo(f"The figure is in {path}.", err=True)


def sentences(frame: pl.DataFrame, view: View) -> list[str]:
    """What the rules of a view have to say of a result."""
    from vantage.report.sentences import decide
    from vantage.report.views import present

    shown = present(frame, view, name="result")
    return [finding.text for part in decide(shown.statements) for finding in part]
