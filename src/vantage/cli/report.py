"""`vantage report`: the report on a corpus or a stored study, or two studies side by side.

`vantage view`: look at every judgment in the browser, or write the page into one file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage.cli.corpora import Where, filtered, with_disclosure
from vantage.cli.options import TO
from vantage.cli.output import Json
from vantage.cli.progress import finished
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.report import Report


def report(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="A study's folder, or a corpus folder.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--compare", metavar="A B", help="Two corpora or two study folders, side by side."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(*TO, help="Where to write: a folder; with --compare it is comparison/."),
    ] = None,
    robust: Annotated[bool, typer.Option("--robust", help="Add a specification curve for each primary claim.")] = False,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A frozen plan: say what is as planned, and what is not.")
    ] = None,
    explorer: Annotated[
        bool,
        typer.Option("--explorer", help="Add explorer.html, with all judgments, to which the page's numbers lead."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the intervals in the report on a corpus.")] = 0,
    as_json: Json = False,
) -> None:
    """Write the report on a corpus: what was collected, how far people agree, who differs, whom to look at.

    It is written to FOLDER/report. The report of a study's folder is written again from what is stored: nothing is
    asked or measured.
    """
    if compare is not None:
        if folder is not None:
            raise InputError("--compare takes exactly two folders", remedy="run: vantage report --compare A B")
        from vantage.report.compare import compare as compared

        made, place = compared(*compare, seed=seed), out or Path("comparison")
        made.write(place)
        finished(made, place, as_json=as_json)
        return
    if folder is None:
        raise InputError("no folder given", remedy="run: vantage report FOLDER")
    from vantage.corpora.storage import is_corpus
    from vantage.report.folder import is_report
    from vantage.report.overview import corpus_report
    from vantage.studies.running import redraw

    if is_report(folder):
        if out is not None:
            raise InputError("a study's report is drawn again in its own folder", remedy="leave --to out")
        made = redraw(folder)
        if robust or plan is not None or explorer:
            corpus = vantage.Corpus.read(folder / "corpus")
            made = _explored(_varied(made, corpus, robust, plan, seed), corpus, explorer, seed)
            made.write(folder)
        finished(made, folder, as_json=as_json)
    elif is_corpus(folder) or folder.is_file():  # a file is refused, with the way to import it
        corpus, place = vantage.Corpus.read(folder), out or folder / "report"
        made = _varied(corpus_report(corpus, seed=seed), corpus, robust, plan, seed)
        _explored(made, corpus, explorer, seed).write(place)
        finished(made, place, as_json=as_json)
    else:
        neither = "there is neither a study nor a corpus in this folder"
        problem = neither if folder.is_dir() else "there is no such folder"
        raise InputError(problem, file=folder, remedy="name a folder left by vantage study or vantage corpora import")


def _varied(made: Report, corpus: vantage.Corpus, robust: bool, plan: Path | None, seed: int) -> Report:
    """The report with what `--robust` and `--plan` add."""
    from vantage.robust import FrozenPlan, with_plan, with_robust

    if robust:
        made = with_robust(made, corpus, seed=seed)
    return made if plan is None else with_plan(made, corpus, FrozenPlan.read(plan), seed=seed)


def _explored(made: Report, corpus: vantage.Corpus, explorer: bool, seed: int) -> Report:
    """The report with the explorer beside it, where that is asked for."""
    from vantage.corpora.disclosure import guard
    from vantage.view import Explorer, export

    if not explorer:
        return made
    guarded = guard(corpus)
    return replace(made, explorer=export(Explorer([], lambda: guarded), seed=seed))


def card(
    folder: Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus folder.")],
    question: Annotated[str, typer.Option(help="The question; without it the first with several answers.")] = "",
    out: Annotated[Path | None, typer.Option(*TO, help="The picture (NAME-card.png beside the corpus).")] = None,
) -> None:
    """One picture of a corpus for a slide or a post: the Spectrum, one sentence and the source (1200 × 630 pixels).

    Texts of items whose column `hidden` is true are not named.
    """
    from vantage.report import write_card

    corpus = vantage.Corpus.read(folder)
    place = out or folder.resolve().with_name(f"{folder.resolve().name}-card.png")
    typer.echo(f"{write_card(corpus, place, question)}\nThe picture: {place}")


@with_disclosure
def view(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…",
            help="Corpus folders, run stores, study folders, collect files, ROBUST_PAGE#NUMBER or PATH#/ADDRESS.",
        ),
    ],
    disclosure: dict[str, Any],
    port: Annotated[int, typer.Option(help="The port, on this machine only; 0 takes a free one.")] = 0,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE.html", help="Write one self-contained file and exit.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed, where the file holds a sample.")] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
    where: Where = None,
) -> None:
    """Look at every judgment: the Spectrum, items, raters, comparisons, maps and calls.

    The page follows a run or a study that is under way. Nobody else can open it: the link works once, on this machine.
    """
    from vantage.view.explorer import Explorer
    from vantage.view.opening import open_paths

    page, mark, number = str(paths[0]).rpartition("#")
    if mark and number.isdigit() and len(paths) == 1 and not paths[0].exists():
        from vantage.robust import specification_at

        folder, conditions = specification_at(Path(page), int(number))
        paths, where = [folder], [*conditions, *(where or [])]
    last, mark, place = str(paths[-1]).partition("#/")
    at = f"#/{place}" if mark else ""
    paths = [*paths[:-1], Path(last)] if mark else paths
    opened, read = open_paths(paths)

    def part() -> vantage.Corpus | None:
        corpus = read()
        return corpus if corpus is None else filtered(corpus, where)

    explorer = Explorer(opened, part)
    if export is not None:
        from vantage.view.exporting import export as write

        write(explorer, export, seed=seed, at=at, **disclosure)
        typer.echo(f"Wrote {export} ({export.stat().st_size / 2**20:.1f} MB)")
        return
    import socket
    from threading import Thread

    explorer.refresh()
    # The first page is computed while the server is imported and the browser opens.
    Thread(target=explorer.prepare, daemon=True).start()
    import uvicorn

    from vantage.view.app import Server

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # the link works as soon as it is printed
    except OSError:
        listener.close()
        raise InputError(f"port {port} is taken", remedy="leave --port out to take a free one") from None
    server = Server(explorer, listener.getsockname()[1])
    address = f"{server.address}{at}"
    typer.echo(f"Look at {address}\nStop with Ctrl-C.", err=True)
    if open_:
        typer.launch(address)
    config = uvicorn.Config(server.app(), log_level="error", access_log=False, server_header=False)
    uvicorn.Server(config).run([listener])
