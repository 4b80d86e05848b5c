"""The verbs, in the order in which data flow through them."""

from __future__ import annotations

from typing import Annotated

import typer

from vantage._version import __version__
from vantage.cli import collect, corpora, demo, instruments, measure, rate, report, runs, study, train

app = typer.Typer(
    help="Measure how people and language models judge text when there is no single right answer.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"vantage {__version__}")
        raise typer.Exit


@app.callback()
def _vantage(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


app.command("demo")(demo.demo)
app.add_typer(instruments.app, name="instruments")
app.add_typer(corpora.app, name="corpora")
app.add_typer(collect.app, name="collect")
app.command("rate")(rate.rate)
app.command("train")(train.train)
app.add_typer(runs.app, name="runs")
app.command("measure", context_settings=measure.CONTEXT)(measure.measure)
app.command("study", context_settings=study.CONTEXT)(study.study)
app.command("report")(report.report)
