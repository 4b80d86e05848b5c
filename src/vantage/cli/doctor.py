"""`vantage doctor`: whether everything is in place, and what to do where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vantage.cli.output import Json, print_json, printable


def doctor(
    folder: Annotated[Path, typer.Option("--folder", help="The folder in which you want to work.")] = Path(),
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Also try to reach this database: sqlite:///FILE or postgresql://USER@HOST/NAME."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the installation: versions, extras, plugins, offline models, graphics card, folders and a database.

    Each problem comes with its remedy. Optional packages that are not installed are not problems. The exit
    code is 0 where there is no problem and 1 where there is one.
    """
    from vantage.cli import checkup

    notices = [
        *checkup.installation(),
        *checkup.extras(),
        *checkup.plugins(),
        *checkup.models(),
        *checkup.gpu(),
        *checkup.places(folder),
        *(checkup.database(database) if database else ()),
    ]
    problems = [notice for notice in notices if notice.state == "problem"]
    if as_json:
        rows = [{"part": n.part, "state": n.state, "text": n.text, "remedy": n.remedy} for n in notices]
        print_json({"problems": len(problems), "notices": rows})
    else:
        marks = {"fine": "✓", "absent": "–", "problem": "✗"}
        for notice in notices:
            typer.echo(f"{marks[notice.state]} {notice.part}: {printable(notice.sentence)}")
        count = len(problems)
        typer.echo(f"\n{count} problem{'s' * (count != 1)}." if count else "\nNo problems.")
    if problems:
        raise typer.Exit(1)
