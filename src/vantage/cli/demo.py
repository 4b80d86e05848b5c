"""`vantage demo`: a first look, offline, with a real if very small model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vantage.cli.options import TO


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
    from vantage.cli.study import finished, resumable, working
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
