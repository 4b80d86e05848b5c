"""`vantage new`: the first files of a project, an instrument or a study, with comments, ready to be changed."""

from __future__ import annotations

from pathlib import Path

import vantage
from vantage.cli.options import VerbGroup
from vantage.cli.output import VerbResult

app = VerbGroup("Create a project, an instrument or a study: commented files that work as they are.")


@app.verb
def project(name: Path) -> VerbResult:
    """Make a project folder.

    It holds an instrument, a small table of ratings, a study, a file for asking people, and a README with commands
    to follow.
    """
    from vantage.scaffold.writing import new_project

    return _written(new_project(name), f"Next: cd {name}, and follow README.md.")


@app.verb
def instrument(name: Path, *, from_: Path | None = None) -> VerbResult:
    """Make an instrument file (NAME.yaml).

    It has two questions on two kinds of scales, with guidelines, examples and comments, to replace; with --from, it has
    the questions of a corpus, for you to word.

    Args:
        from_ (FOLDER): A corpus to take the questions from.
    """
    from vantage.scaffold.writing import new_instrument

    made = new_instrument(name, vantage.Corpus.read(from_) if from_ else None)
    return _written(made, f"Change it, then check it with: vantage instruments check {made[0]}")


@app.verb
def study(name: Path) -> VerbResult:
    """Make a study of your own (NAME.yaml).

    It is a recipe: sections that name the measures of a report.
    """
    from vantage.scaffold.writing import new_study

    made = new_study(name)
    return _written(made, f"Run it with: vantage study {made[0]} --to results")


def _written(made: list[Path], hint: str) -> VerbResult:
    return VerbResult([{"written": str(path)} for path in made], "Wrote", *(f"  {path}" for path in made), hint)
