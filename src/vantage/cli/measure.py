"""`vantage measure`: any measure on a corpus folder; its options are those of the Python function."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

import vantage
from vantage import measures, report
from vantage.cli.options import conditions, filtered
from vantage.cli.output import Printed, VerbResult, VerbTable, listed, write_figure
from vantage.errors import InputError

if TYPE_CHECKING:
    import polars as pl


FIGURES: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("facets", "ruler"): {"chart": "wright"},
    ("panel", "matrix"): {
        "chart": "heat",
        "diverging": True,
        "row": "first",
        "column": "second",
        "label": "error correlation",
        "limits": (-1, 1),
    },
    ("panel", "votes"): {"chart": "curve", "x": "size", "x_label": "models", "label": "effective votes"},
}
"""Charts of measures that have several tables, by measure and `--show`; those of other tables are in their views."""
RESTING: Final = (
    *("question", "condition", "estimate", "low", "high", "over"),
    *("items", "raters", "judgments", "left_out", "reason"),
)
"""Columns that people see besides those that the view shows."""


def measure(
    context: typer.Context,
    name: str | None = None,
    folder: Path | None = None,
    *,
    by: Sequence[str],
    where: list[str],
    figure: Path | None = None,
    list_: bool = False,
    help_: bool = False,
    output: Printed,
) -> None:
    """Measure agreement, reliability, variation or accuracy on a corpus.

    `vantage measure --list` names the measures, `vantage measure NAME --help` their options. For example:

    vantage measure alpha FOLDER --by question --where kind=person

    Args:
        name: The measure.
        by (COLUMN,…): Columns of items, raters or judgments to group by.
        list_: List the measures.
        help_ (-h): Show this, or the options of a measure.
    """
    if help_ and name is None:
        typer.echo(context.get_help())
        return
    if list_ or name is None:
        _list().print(output)
        return

    chosen = measures.find(name)
    if help_ or folder is None:
        _explain(chosen)
        if folder is None and not help_:
            raise InputError("no corpus given", remedy=f"run: vantage measure {name} FOLDER")
        return

    options = measures.parse_options(chosen, context.args)
    corpus = filtered(vantage.Corpus.read(folder), where)
    if "kind" in conditions(where):
        options.setdefault("kinds", "all")
    if by and "by" not in chosen.options:
        raise InputError(f"measure '{name}' cannot be grouped", remedy="leave --by out")
    if by:
        options["by"] = list(by)
    grouping = chosen.grouping(corpus, options)
    grouped = [grouping] if isinstance(grouping, str) else list(grouping)

    model = options.get("powered_by")
    if model is None and (line := chosen.whose(corpus, options).sentence):
        typer.echo(line, err=True)
    result = chosen.function(corpus, **options)
    hidden = ["measure", "options"]
    if (only := measures.only_reason(result)) and not output.json and not output.csv:
        typer.echo(f"{only[0].upper()}{only[1:]}.", err=True)
        hidden.append("reason")
    if chosen.view.show and "show" not in options and model is None and not output.data:
        hidden += [name for name in result.columns if name not in {*grouped, *chosen.view.show, *RESTING}]
    VerbTable(result, hidden=hidden).print(output)
    _present(chosen, result, grouped, options.get("show"), figure, quiet=output.data)
    if not output.data:
        _behind(result, folder, where)
    if model is not None:
        from vantage.measures.powered.estimate import sentences

        typer.echo("\n".join(sentences(result, model, grouped)), err=True)


def _present(
    chosen: measures.Measure, frame: pl.DataFrame, by: list[str], show: str | None, figure: Path | None, *, quiet: bool
) -> None:
    """Says what the result says, where it is the measure's main table, and draws its chart."""
    from vantage.report.sentences import decide
    from vantage.report.views import present

    known = FIGURES.get((chosen.name, show or ""))
    each = {"each": "question"} if "question" in by and frame["question"].n_unique() > 1 else {}
    charts = [{**known, **each}] if known else [] if show else None
    # Sentences and figure have the intervals of the table above them.
    shown = present(frame, chosen.view, name=chosen.name, by=by, figures=charts).alone
    if show is None and not quiet and (lines := [one.text for part in decide(shown.statements) for one in part]):
        typer.echo("\n".join(["", *lines]))
    if figure is None:
        return
    figures = [part for part in shown.parts if isinstance(part, report.Figure)]
    if not figures:
        drawn = [f"--show {table}" for name, table in FIGURES if name == chosen.name]
        raise InputError("this result has no chart", remedy=f"pass {' or '.join(drawn)}" if drawn else None)
    if len(figures) > 1:
        raise InputError("a chart shows one question", remedy="pass --where question=NAME")
    write_figure(figures[0], figure)


def _behind(frame: pl.DataFrame, folder: Path, where: list[str]) -> None:
    """The command that shows the judgments behind the first row."""
    import shlex

    from vantage.report.doors import door

    rows = frame.head(1).rows(named=True)
    if rows and (address := door(rows[0])):
        narrowed = [word for condition in where for word in ("--where", condition)]
        command = shlex.join(["vantage", "view", f"{folder}#{address}", *narrowed])
        typer.echo(f"\nThe judgments behind {'it' if len(frame) == 1 else 'the first row'}: {command}", err=True)


def _list() -> VerbResult:
    families: dict[str, list[dict[str, str]]] = {}
    for one in measures.registry().values():
        row = {"measure": one.name, "family": one.family, "what": one.summary}
        families.setdefault(one.family, []).append(row)
    rows = [row for family in families.values() for row in family]
    return listed(rows, hint="Use one with: vantage measure NAME FOLDER --by question")


def _explain(chosen: measures.Measure) -> None:
    import inspect
    from doctest import DocTestParser

    common = "[--by COLUMN,…] [--where COLUMN=VALUE] [--figure FILE] [--json|--csv|--latex]"
    typer.echo(f"vantage measure {chosen.name} FOLDER {common}\n")
    parts = DocTestParser().parse(inspect.getdoc(chosen.function) or "")
    typer.echo("".join(part for part in parts if isinstance(part, str)).strip())
    typer.echo("\nOptions:")
    types = chosen.types
    for option, parameter in chosen.options.items():
        if option != "by" or parameter.default:
            typer.echo(
                f"  --{option.replace('_', '-'):<16} {measures.values_of(types[option])}{_default(parameter.default)}"
            )


def _default(default: Any) -> str:
    if default is Parameter.empty:
        return " (needed)"
    if default is None or default is False:
        return ""
    return f" ({', '.join(map(str, default)) if isinstance(default, tuple | list) else default})"
