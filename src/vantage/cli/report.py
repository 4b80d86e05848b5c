"""`vantage report`: draw a stored study again, put two side by side, or report on a plain corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vantage.cli.options import TO
from vantage.cli.output import Json, printable
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.report.folder import Report


def report(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="A study's folder, or a corpus folder.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option("--compare", metavar="A B", help="Two study folders, side by side.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(*TO, help="Where to write: a folder, or with --compare the page (comparison.html)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the intervals in the report on a corpus.")] = 0,
    as_json: Json = False,
) -> None:
    """Draw a study's report again from what is stored, without asking or measuring anything.

    On a plain corpus folder: a first report with counts, distributions, agreement and raters to look at, written to
    FOLDER/report.
    """
    if compare is not None:
        if folder is not None:
            raise InputError("--compare takes exactly two folders", remedy="run: vantage report --compare A B")
        _compare(*compare, out or Path("comparison.html"))
        return
    if folder is None:
        raise InputError("no folder given", remedy="run: vantage report FOLDER")
    from vantage.cli.study import finished
    from vantage.corpora.storage import is_corpus
    from vantage.report.folder import is_report
    from vantage.studies.running import redraw

    if is_report(folder):
        if out is not None:
            raise InputError("a study's report is drawn again in its own folder", remedy="leave --to out")
        finished(redraw(folder), folder, as_json=as_json)
    elif is_corpus(folder) or folder.is_file():  # a file is refused, with the way to import it
        place = out or folder / "report"
        finished(_on_corpus(folder, place, seed), place, as_json=as_json)
    else:
        problem = (
            "there is neither a study nor a corpus in this folder" if folder.is_dir() else "there is no such folder"
        )
        raise InputError(problem, file=folder, remedy="name a folder left by vantage study or vantage corpora import")


def _on_corpus(folder: Path, out: Path, seed: int) -> Report:
    from vantage.corpora import Corpus
    from vantage.report.overview import corpus_report

    report = corpus_report(Corpus.read(folder), seed=seed)
    report.write(out)
    return report


def _compare(first: Path, second: Path, out: Path) -> None:
    from vantage.report.compare import compare
    from vantage.report.folder import put_text

    page, sentences = compare(first, second, out)
    put_text(out, page)
    for sentence in sentences:
        typer.echo(printable(sentence))
    typer.echo(f"\nSide by side: {out}")
