"""Verbs that write a page: `report`, `audit`, `compare-model`, `card`; and `view`, which shows every judgment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import typer

import vantage
from vantage.cli.corpora import Disclosure, Selected
from vantage.cli.options import filtered
from vantage.cli.output import VerbResult, VerbTable, tables
from vantage.cli.progress import reported
from vantage.errors import InputError

AUDIT_HIDDEN: Final = (
    *("measure", "options", "left_out", "above", "below", "within", "tested", "clear"),
    *("relative", "relative_low", "relative_high"),
)
"""Columns of an audit that people do not see."""
AUDIT_SHOWN: Final = (
    *("rater", "scale", "effect", "contrast", "estimate", "low", "high", "over", "unit", "limit", "p_adjusted"),
)
"""Columns of the effects that they see."""
AUDIT_SHARES: Final = ("rater", "scale", "component", "variance", "estimate", "low", "high")
"""Columns of the variance components that they see."""


def report(
    folder: Path | None = None,
    *,
    compare: tuple[Path, Path] | None = None,
    to: Path | None = None,
    robust: bool = False,
    plan: Path | None = None,
    explorer: bool = False,
    pdf: bool = False,
    seed: int = 0,
) -> VerbResult:
    """Write the report on a corpus: what was collected, how well people agree, who differs, which raters to check.

    It goes to FOLDER/report. For a study's folder, the report is rewritten from stored results: nothing is asked or
    measured again.

    Args:
        folder: A study's folder, or a corpus folder.
        compare (A B): Two corpora or two study folders, side by side.
        to: The output folder (default with --compare: comparison).
        robust: Add a specification curve for each primary claim.
        plan (FILE): A frozen plan: report what went as planned and what did not.
        explorer: Add explorer.html, with all judgments; the numbers of the page link to it.
        pdf: Write figures as PDF too, for a paper.
        seed: Random seed of the intervals.
    """
    if compare is not None:
        if folder is not None:
            raise InputError("--compare takes exactly two folders", remedy="run: vantage report --compare A B")
        from vantage.report.compare import compare as compared

        made, place = compared(*compare, seed=seed), to or Path("comparison")
        made.write(place, pdf=pdf)
        return reported(made, place)
    if folder is None:
        raise InputError("no folder given", remedy="run: vantage report FOLDER")
    from vantage.corpora.storage import is_corpus
    from vantage.report.folder import is_report
    from vantage.report.overview import corpus_report

    if is_report(folder):
        from vantage.studies.running import stored_report

        if to is not None:
            raise InputError("a study's report is rewritten in its own folder", remedy="leave --to out")
        made = stored_report(folder)
        if robust or plan is not None or explorer:
            corpus = vantage.Corpus.read(folder / "corpus")
            made = _extended(made, corpus, robust, plan, explorer, seed)
        made.write(folder, pdf=pdf)
        return reported(made, folder)
    if is_corpus(folder) or folder.is_file():  # a file is refused, with the way to import it
        corpus, place = vantage.Corpus.read(folder), to or folder / "report"
        made = _extended(corpus_report(corpus, seed=seed), corpus, robust, plan, explorer, seed)
        made.write(place, pdf=pdf)
        return reported(made, place)
    neither = "this folder has neither a study nor a corpus"
    problem = neither if folder.is_dir() else "there is no such folder"
    raise InputError(problem, file=folder, remedy="name a folder left by vantage study or vantage corpora import")


def _extended(
    made: vantage.report.Report, corpus: vantage.Corpus, robust: bool, plan: Path | None, explorer: bool, seed: int
) -> vantage.report.Report:
    """The report with what `--robust`, `--plan` and `--explorer` add."""
    if robust or plan is not None:
        from vantage.robust import FrozenPlan, with_plan, with_robust

        made = with_robust(made, corpus, seed=seed) if robust else made
        made = made if plan is None else with_plan(made, corpus, FrozenPlan.read(plan), seed=seed)
    if not explorer:
        return made
    from vantage.corpora.disclosure import guard
    from vantage.view import Explorer, export

    guarded = guard(corpus)
    return replace(made, explorer=export(Explorer([], lambda: guarded), seed=seed))


def audit(corpus: Selected, *, rater: list[str], to: Path | None = None) -> VerbTable:
    """Does a rater answer the question, or react to how it is asked?

    Order of options, acquiescence, letters, wording, format, repetition, drift: one card per model and one for people,
    each effect with an interval and the size that it rules out. `vantage rate --vary` asks in several ways.
    For example:

    vantage audit FOLDER --rater MODEL --to audit

    Args:
        rater: A rater, or people; repeatable (default: every model, and people).
        to: A folder for the page.
    """
    from vantage.report.audit import audited, unknown

    report, analysis = audited(corpus, rater)
    effects = analysis.effects.select(list(dict.fromkeys([*AUDIT_SHOWN, *analysis.effects.columns])))
    if to is not None:
        report.write(to)
        page = reported(report, to)
        return VerbTable(effects, *page.shown, hidden=AUDIT_HIDDEN, data=page.data)
    said = [finding.text for section in report.result.sections for finding in section.findings]
    named = {"variance": "components", "reliability": "reliability"}
    frames = {"effects": effects}
    frames |= {named[table.name]: table.frame for table in report.result.tables if table.name in named}
    titled = [
        (name.capitalize(), frames[name].drop_nulls("estimate").select(columns))
        for name, columns in (("effects", AUDIT_SHOWN), ("components", AUDIT_SHARES))
        if name in frames
    ]
    return VerbTable(
        effects, *titled, *said, *unknown(effects), hidden=AUDIT_HIDDEN, data=lambda: tables(frames, verdicts=said)
    )


def compare_model(
    people: Path, replies: Path | None = None, *, to: Path | None = None, mapping: Mapping[str, str], seed: int = 0
) -> VerbResult:
    """Can a model stand in for people? Floor and ceiling, for whom it works, and its worst texts, on one page.

    For example:

    vantage compare-model people.csv replies.jsonl --to verdict

    Args:
        people: People's judgments: a table or a corpus folder.
        replies: A model's replies: a table or JSON lines; not needed if PEOPLE includes models.
        to: A folder for the page.
        mapping (ROLE=COLUMN,…): Columns of REPLIES: item, question, rater, value.
    """
    from vantage.report.model_audit import model_report, people_of, with_replies

    corpus = people_of(people)
    if replies is not None:
        corpus = with_replies(corpus, replies, dict(mapping))
    place = to or Path(f"{(replies or people).name.split('.')[0]}-verdict")
    report = model_report(corpus, seed=seed)
    report.write(place)
    return reported(report, place)


def card(corpus: Path, *, question: str = "", to: Path | None = None) -> None:
    """One picture of a corpus for a slide or a post: the Spectrum, one sentence and the source (1200 × 630 pixels).

    Texts of items whose column `hidden` is true are not shown.

    Args:
        question: The question (default: the first with several answers).
        to: The picture (default: NAME-card.png beside the corpus).
    """
    read, folder = vantage.Corpus.read(corpus), corpus.resolve()
    place = to or folder.parent / f"{folder.name}-card.png"
    typer.echo(f"{vantage.report.write_card(read, place, question)}\nThe picture: {place}")


def view(
    paths: list[Path],
    *,
    disclosure: Disclosure,
    port: int = 0,
    export: Path | None = None,
    seed: int = 0,
    open_: bool = True,
    where: list[str],
) -> None:
    """Explore every judgment: items, raters, comparisons, measures, runs and maps.

    The page follows runs and studies in progress. Nobody else can open it: the link works once, on this machine.

    Args:
        paths (PATH…): Corpus folders, run stores, study folders, collect files, ROBUST_PAGE#NUMBER or PATH#/ADDRESS.
        port: The port on this machine; 0 picks a free one.
        export (FILE.html): Write one self-contained file and exit.
        seed: Random seed, if the file holds a sample.
        open_: Open the browser.
    """
    from vantage.view.explorer import Explorer
    from vantage.view.opening import open_paths

    page, mark, number = str(paths[0]).rpartition("#")
    if mark and number.isdigit() and len(paths) == 1 and not paths[0].exists():
        from vantage.robust import specification_at

        folder, conditions = specification_at(Path(page), int(number))
        paths, where = [folder], [*conditions, *where]
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
    typer.echo(f"Open {address}\nStop with Ctrl-C.", err=True)
    if open_:
        typer.launch(address)
    config = uvicorn.Config(server.app(), log_level="error", access_log=False, server_header=False)
    uvicorn.Server(config).run([listener])
