"""`vantage study`: a whole study from its options to a folder with the report; `vantage demo`: a first one, offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage import measures, runs, studies
from vantage.cli.options import Connection, Limits, pairs
from vantage.cli.output import Output, VerbResult, listed
from vantage.cli.progress import COUNTS, estimated, reported, resumable, shown, working
from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.runs.forecast import Estimate
    from vantage.studies.running import Preview


def study(
    context: typer.Context,
    name: str | None = None,
    *,
    to: Path | None = None,
    data: Path | None = None,
    model: list[str],
    set_: list[str],
    seed: int = 0,
    max_tokens: Annotated[int | None, typer.Option(min=1)] = None,
    connection: Connection,
    limits: Limits,
    estimate: bool = False,
    list_: bool = False,
    help_: bool = False,
) -> VerbResult | None:
    """Run a study: collect judgments, measure, and write tables, figures and one report.

    `vantage study --list` names the studies, `vantage study NAME --help` their options. `vantage study FILE.yaml` runs
    a study of your own; start one with `vantage new study`. Run an interrupted
    command again to resume it.

    Args:
        name: A study, or a file of your own (.yaml or .py).
        to: The folder for all results.
        data: The published data or corpus to read.
        model (MODEL): openai:NAME, gguf:PATH, hf:NAME_OR_PATH, recorded:PATH or embedded; repeatable.
        set_ (OPTION=VALUE): An option of the study; --OPTION VALUE works too.
        max_tokens: Maximum length of a reply in tokens (512, or the study's own).
        list_: List the studies.
        help_ (-h): Show this, or the options of a study.
    """
    if help_ and name is None:
        typer.echo(context.get_help())
        return None
    if list_ or name is None:
        return _list()
    from vantage.studies.recipes import is_path, load

    chosen = load(name) if is_path(name) else studies.find(name)
    if help_:
        _explain(chosen, name)
        return None
    options = parse_options(chosen, set_, context.args)
    if to is None and not estimate:
        raise InputError("no folder for the results given", remedy="pass --to FOLDER")
    if max_tokens is not None:
        own = any(entry.name == "max_tokens" for entry in chosen.described())
        (options if own else connection)["max_tokens"] = max_tokens
    carried = runs.RunOptions(**limits)
    wanted: dict[str, Any] = {"out": to, "data": data, "models": model, "seed": seed, "settings": connection}
    if estimate:
        return _preview(studies.preview(chosen, **wanted, carried=carried, **options))
    assert to is not None  # noqa: S101 - asked for above
    with resumable(), working() as progress:
        return reported(studies.run(chosen, **wanted, carried=carried, progress=progress, **options), to)


def demo(
    *, to: Path = Path("demo"), open_: bool = False, asked: Annotated[int, typer.Option(hidden=True)] = 60
) -> None:
    """Plant known effects in synthetic ratings, look for them, and write a report: a first look, offline.

    The report is demo/report.html. If you interrupt the command, run it again to continue.

    Args:
        to: The folder for the report and its data.
        open_: Open the report in the browser.
        asked: How many of the 120 sentences the model is asked about; 0 for none.
    """
    typer.echo(
        "Asking a small language model about 60 sentences and measuring 26 synthetic raters (about a minute).", err=True
    )
    with resumable(), working() as progress:
        report = studies.run("demo", out=to, progress=progress, asked=asked)
    reported(report, to).print(Output())
    typer.echo("\nNext: vantage new project mine, for data of your own; vantage study --list, for published studies.")
    if open_:
        typer.launch(str((to / "report.html").resolve()))


def parse_options(study: studies.Study[Any], given: list[str], words: list[str]) -> dict[str, Any]:
    """Options of a study from `--set option=value` and `--option value`, converted as its dataclass says."""
    known = {entry.name.replace("_", "-"): entry for entry in study.described()}

    def unknown(flag: str) -> InputError:
        return InputError(f"study '{study.name}' has no option --{flag}", remedy=nearest(flag, list(known)))

    set_ = [f"--{flag}={value}" for flag, value in pairs(given, "--set", comma=False).items()]
    types = {flag: entry.type for flag, entry in known.items()}
    parsed = measures.parse_words([*set_, *words], types, unknown, f"vantage study {study.name}")
    return {known[flag].name: value for flag, value in parsed.items()}


def _preview(made: Preview) -> VerbResult:
    forecast = made.forecast
    asked = [({"model": one.model, "style": one.style, "raters": n}, one) for one, n in forecast.by_style]
    together = ({"model": "together", "style": "", "raters": len(forecast.estimates)}, forecast.total)
    trained = [{"trained": rater, "learns from": learns} for rater, learns in made.trained.items()]
    data = {
        "study": made.study,
        **_numbers(forecast.total),
        "asked": [{**who, **_numbers(one)} for who, one in asked],
        "trained": [{"rater": rater, "learns": learns} for rater, learns in made.trained.items()],
        "notes": made.notes,
    }
    rows = [{**who, **shown(one)} for who, one in [*asked, *([together] if len(asked) > 1 else ())]]
    none = [] if asked else [f"With these options, study {made.study} asks no model.\n"]
    return VerbResult(data, *none, ("", trained), *estimated(rows, made.notes))


def _numbers(one: Estimate) -> dict[str, Any]:
    return {name: getattr(one, name) for name in (*COUNTS, "cost", "seconds", "at_least")}


def _list() -> VerbResult:
    from vantage.studies.base import known

    rows = [{"study": name, "title": one.title, "needs data": bool(one.needs_data)} for name, one in known().items()]
    return listed(rows, hint="Run one with: vantage study NAME --to FOLDER; its options: vantage study NAME --help")


def _explain(chosen: studies.Study[Any], called: str) -> None:
    typer.echo(f"vantage study {called} [--data PATH] [--model M …] [--OPTION VALUE …] --to FOLDER\n")
    typer.echo(chosen.title)
    for question in chosen.questions:
        typer.echo(f"  {question}")
    if chosen.needs_data:
        typer.echo(f"\nIt needs data: {chosen.needs_data}")
    typer.echo("\nOptions:")
    for entry in chosen.described():
        default = "" if entry.default in (None, "", False) else f" ({entry.default})"
        typer.echo(f"  --{entry.name.replace('_', '-'):<18} {entry.help}: {measures.values_of(entry.type)}{default}")
    typer.echo("\nFurther options, common to all studies: vantage study --help")
