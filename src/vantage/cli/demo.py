"""`vantage demo`: everything once, offline, with a real if very small model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "--to", help="Where the demo is written.")] = Path("demo"),
    groups: Annotated[
        int, typer.Option(help="How many of the 24 groups the model is asked about; 0 for all.", hidden=True)
    ] = 0,
) -> None:
    """Map 24 groups with a small model, measure agreement, and write a report: a first look, offline.

    The report is demo/report.html. An interrupted demo resumes when you run the command again.
    """
    from vantage.cli.study import finished, resumable, working
    from vantage.studies.running import run

    typer.echo("Asking a small language model about 24 social groups. This takes a minute or two.", err=True)
    with resumable(), working() as progress:
        report = run("demo", out=out, progress=progress, groups=groups)
    finished(report, out)
    typer.echo("\nNext: vantage study --list, vantage measure --list; your own table: see README.md")
