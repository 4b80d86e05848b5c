"""`vantage new`: the first files of a project, an instrument or a study, with comments, ready to be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import vantage
from vantage.cli.output import Json, say

app = typer.Typer(
    help="Create a project folder, an instrument or a study, with comments, that works at once.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Name = Annotated[Path, typer.Argument(metavar="NAME", help="Its name, or a path that ends in it.")]


@app.command()
def project(name: Name, as_json: Json = False) -> None:
    """Make a project folder.

    It holds an instrument, a small table of ratings, a study, a file for asking people, and a README with commands
    to follow.
    """
    from vantage.scaffold.writing import new_project

    _print_written(new_project(name), f"Next: cd {name}, and follow README.md.", as_json=as_json)


@app.command()
def instrument(
    name: Name,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FOLDER", help="A corpus whose questions it asks.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make an instrument file (NAME.yaml).

    It asks two questions on two kinds of scales, with guidelines, examples and comments, to be replaced by your own;
    with --from, the questions of a corpus, to be put into words.
    """
    from vantage.scaffold.writing import new_instrument

    made = new_instrument(name, vantage.Corpus.read(source) if source else None)
    _print_written(made, f"Change it, then check it with: vantage instruments check {made[0]}", as_json=as_json)


@app.command()
def study(name: Name, as_json: Json = False) -> None:
    """Make a study of your own (NAME.yaml).

    It is a recipe: sections that name measures, from which a report is made.
    """
    from vantage.scaffold.writing import new_study

    made = new_study(name)
    _print_written(made, f"Run it with: vantage study {made[0]} --to results", as_json=as_json)


def _print_written(made: list[Path], hint: str, *, as_json: bool) -> None:
    text = "\n".join(["Wrote", *(f"  {path}" for path in made), hint])
    say([{"written": str(path)} for path in made], text, as_json=as_json)
