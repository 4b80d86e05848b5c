"""`vantage study`: a whole study from its options to a folder with the report; `vantage demo`: a first one, offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.cli.options import TO, pairs, with_connection, with_limits
from vantage.cli.output import Json, print_json, print_rows
from vantage.cli.progress import COUNTS, finished, print_estimate, resumable, shown, working
from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.runs.forecast import Estimate
    from vantage.studies.base import Study
    from vantage.studies.running import Preview


@with_connection
@with_limits
def study(
    context: typer.Context,
    connection: dict[str, Any],
    limits: dict[str, Any],
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The study, or a file of yours that holds one (.yaml or .py).")
    ] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="The folder for all results.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="The published data or corpus that it reads.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="openai:NAME, gguf:PATH, hf:NAME_OR_PATH, recorded:PATH or embedded; several if repeated.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="An option of the study; also --option VALUE."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum length of a reply in tokens (512, or the study's own).")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Print calls, tokens, cost and time, and exit.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    help_: Annotated[bool, typer.Option("--help", "-h", help="Show this, or the options of a study.")] = False,
    as_json: Json = False,
) -> None:
    """Run a study: collect judgments, measure, and write tables, figures and one report.

    `vantage study --list` names the studies, `vantage study NAME --help` their options. `vantage study FILE.yaml` runs
    a study of your own; begin one with `vantage new study`. Run an interrupted command
    again to resume it.
    """
    if help_ and name is None:
        typer.echo(context.get_help())
        return
    if list_all or name is None:
        _list(as_json=as_json)
        return
    from vantage.runs.options import RunOptions
    from vantage.studies.base import find
    from vantage.studies.recipes import is_path, load
    from vantage.studies.running import run

    chosen = load(name) if is_path(name) else find(name)
    if help_:
        _explain(chosen, name)
        return
    options = parse_options(chosen, set_ or [], context.args)
    if out is None and not estimate:
        raise InputError("no folder for the results given", remedy="pass --to FOLDER")
    if max_tokens is not None:
        own = any(entry.name == "max_tokens" for entry in chosen.described())
        (options if own else connection)["max_tokens"] = max_tokens
    carried = RunOptions(**limits)
    wanted: dict[str, Any] = {"out": out, "data": data, "models": model or (), "seed": seed, "settings": connection}
    if estimate:
        from vantage.studies.running import preview

        _preview(preview(chosen, **wanted, carried=carried, **options), as_json=as_json)
        return
    assert out is not None  # noqa: S101 - asked for above
    with resumable(), working(quiet=as_json) as progress:
        report = run(chosen, **wanted, carried=carried, progress=progress, **options)
    finished(report, out, as_json=as_json)


def demo(
    out: Annotated[Path, typer.Option(*TO, help="The folder for the report and its data.")] = Path("demo"),
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    asked: Annotated[
        int, typer.Option(help="How many of the 120 sentences the model is asked about; 0 for none.", hidden=True)
    ] = 60,
) -> None:
    """Plant known things in synthetic ratings, find them again, and write a report: a first look, offline.

    The report is demo/report.html. If you interrupt the command, run it again to continue.
    """
    from vantage.studies.running import run

    typer.echo(
        "Asking a small language model about 60 sentences and measuring 26 synthetic raters (about a minute).", err=True
    )
    with resumable(), working() as progress:
        report = run("demo", out=out, progress=progress, asked=asked)
    finished(report, out)
    typer.echo("\nNext: vantage new project mine, for data of your own; vantage study --list, for published studies.")
    if open_:
        typer.launch(str((out / "report.html").resolve()))


def parse_options(study: Study[Any], given: list[str], words: list[str]) -> dict[str, Any]:
    """Options of a study from `--set option=value` and `--option value`, converted as its dataclass says."""
    from vantage.measures import parse_words

    known = {entry.name.replace("_", "-"): entry for entry in study.described()}

    def unknown(flag: str) -> InputError:
        return InputError(f"study '{study.name}' has no option --{flag}", remedy=nearest(flag, list(known)))

    set_ = [f"--{flag}={value}" for flag, value in pairs(given, "--set", comma=False).items()]
    types = {flag: entry.type for flag, entry in known.items()}
    parsed = parse_words([*set_, *words], types, unknown, f"vantage study {study.name}")
    return {known[flag].name: value for flag, value in parsed.items()}


def _preview(forecast_of: Preview, *, as_json: bool) -> None:
    forecast = forecast_of.forecast
    if as_json:
        rows = [{"model": one.model, "style": one.style, "raters": n, **_numbers(one)} for one, n in forecast.by_style]
        totals = {"study": forecast_of.study, **_numbers(forecast.total), "asked": rows}
        trained = [{"rater": rater, "learns": learns} for rater, learns in forecast_of.trained.items()]
        print_json({**totals, "trained": trained, "notes": forecast_of.notes})
        return
    rows = [{"model": one.model, "style": one.style, "raters": n, **shown(one)} for one, n in forecast.by_style]
    if len(rows) > 1:
        rows.append({"model": "together", "style": "", "raters": len(forecast.estimates), **shown(forecast.total)})
    if not rows:
        typer.echo(f"Study {forecast_of.study} asks no model as it is given here.\n")
    if forecast_of.trained:
        print_rows([{"trained": rater, "learns from": learns} for rater, learns in forecast_of.trained.items()])
        typer.echo()
    print_estimate(rows, forecast_of.notes)


def _numbers(one: Estimate) -> dict[str, Any]:
    return {name: getattr(one, name) for name in (*COUNTS, "cost", "seconds")}


def _list(*, as_json: bool) -> None:
    from vantage.studies.base import known

    rows = [{"study": name, "title": one.title, "needs data": bool(one.needs_data)} for name, one in known().items()]
    hint = "Run one with: vantage study NAME --to FOLDER; its options: vantage study NAME --help"
    print_rows(rows, as_json=as_json, hint=hint)


def _explain(chosen: Study[Any], called: str) -> None:
    from vantage.measures import values_of

    typer.echo(f"vantage study {called} [--data PATH] [--model M …] [--OPTION VALUE …] --to FOLDER\n")
    typer.echo(chosen.title)
    for question in chosen.questions:
        typer.echo(f"  {question}")
    if chosen.needs_data:
        typer.echo(f"\nIt needs data: {chosen.needs_data}")
    typer.echo("\nOptions:")
    for entry in chosen.described():
        default = "" if entry.default in (None, "", False) else f" ({entry.default})"
        typer.echo(f"  --{entry.name.replace('_', '-'):<18} {entry.help}: {values_of(entry.type)}{default}")
    typer.echo("\nFurther options, common to all studies: vantage study --help")
