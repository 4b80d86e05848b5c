"""`vantage collect`: collect human judgments of the items of a corpus."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import KW_ONLY, asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from typer.core import TyperGroup

import vantage
from vantage import collect
from vantage.cli import plan, recruit
from vantage.cli.corpora import Disclosure, texts_or_corpus
from vantage.cli.options import VerbGroup
from vantage.cli.output import VerbResult, listed, sentences
from vantage.errors import InputError


class _ServeByDefault(TyperGroup):
    """`vantage collect FOLDER …` means `vantage collect serve FOLDER …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args.insert(0, "serve")
        return super().parse_args(ctx, args)


app = VerbGroup(
    "Collect human judgments: serve a study, follow its progress, export it. The default command is serve.",
    cls=_ServeByDefault,
)
app.verb(plan.rehearse)
app.add_typer(recruit.app, name="recruit", short_help="Recruit people on Prolific or elsewhere, and pay them.")
REHEARSED: Final = 40
"""People who rehearse a new study."""


@dataclass(frozen=True, slots=True)
class ChosenStudy:
    """The study that a command is about, and its database.

    Args:
        study (FILE): A study file (docs/collect.md), or a bundled flow (flow:NAME).
    """

    folder: Path | None = None
    _: KW_ONLY
    instrument: str | None = None
    study: Path | None = None
    database: str | None = None

    def load(self) -> collect.AnnotationStudy:
        """The chosen study: a file, a folder with an instrument, or the only study in a folder."""
        from vantage.collect.study_setup import stored_study

        folder, database = self.folder, self.database
        if self.study is not None:
            chosen = recruit.read_study(self.study, folder, database)
            if folder is not None and folder.resolve() != chosen.folder:
                problem = f"the study's corpus is {chosen.folder}, not {folder}"
                raise InputError(problem, file=self.study, remedy="give only one of them")
            return chosen
        if folder is None:
            raise InputError("No study given", remedy="pass a corpus folder and --instrument, or --study FILE")
        if not folder.exists():
            raise InputError("there is no such folder", file=folder, remedy="check the path")
        if self.instrument is not None:
            return collect.AnnotationStudy.of(folder, self.instrument)
        if database is None:
            databases = sorted(folder.glob("collect-*.sqlite"))
            if len(databases) != 1:
                problem = "the folder has no study yet" if not databases else f"the folder has {len(databases)} studies"
                raise InputError(problem, file=folder, remedy="choose one with --instrument or --study")
            database = str(databases[0].absolute())
        return stored_study(database, folder)

    def running(
        self, loaded: collect.AnnotationStudy | None = None, *, read_only: bool = False, revision: str | None = None
    ) -> closing[collect.StudyService]:
        """The study with its database opened."""
        study = loaded or self.load()
        return closing(collect.StudyService(study, self.database, read_only=read_only, revision=revision))


Chosen = Annotated[ChosenStudy, ChosenStudy]


def _running(chosen: Chosen) -> closing[collect.StudyService]:
    return chosen.running()


def _reading(chosen: Chosen) -> closing[collect.StudyService]:
    return chosen.running(read_only=True)


Running = Annotated["collect.StudyService", _running]
Reading = Annotated["collect.StudyService", _reading]
"""The chosen study with its database opened, for writing or for reading."""


@app.verb
def serve(
    chosen: Chosen,
    *,
    mapping: Mapping[str, str],
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    host: str = "127.0.0.1",
    workers: Annotated[int, typer.Option(min=1, max=64)] = 1,
    root_path: str = "",
) -> None:
    """Serve a study to participants, and its dashboard to you.

    Args:
        port: The port to listen on.
        host: The address to listen on; 0.0.0.0 for other machines.
        workers: Number of processes that serve the study.
        root_path (PREFIX): The study's path behind a reverse proxy.
    """
    from vantage.collect.web.server import ServedStudy, serve

    if chosen.study is None and chosen.instrument is None:
        raise InputError("No instrument given", remedy="pass --instrument NAME or --study FILE")
    if chosen.folder is not None and (mapping or chosen.folder.is_file()):
        folder, _ = texts_or_corpus(chosen.folder, None, chosen.instrument, mapping)
        typer.echo(f"The texts are stored in {folder}; the judgments will be, too.")
        chosen = replace(chosen, folder=folder)
    study = chosen.load()
    # Edits apply until the first participant comes; after that the file is ignored.
    with chosen.running(study, revision="before the start" if chosen.study else None) as service:
        if not service.researchers.has_password():
            password = secrets.token_urlsafe(9)  # shown once; only its hash is stored
            service.researchers.set_password(password)
            typer.echo(f"The dashboard's password is {password} (change it with: vantage collect password)")
    shown = f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0') else host}:{port}{root_path}"  # noqa: S104
    typer.echo(f"{study.title}\n  participants  {shown}/\n  dashboard     {shown}/admin\nStop with Ctrl-C.")
    served = ServedStudy(
        study=str(chosen.study) if chosen.study else None,
        folder=str(study.folder),
        instrument=study.plan.instrument,
        database=chosen.database,
        prefix=root_path,
        further="vantage.recruit.pages" if study.plan.recruitment.offer else "",
    )
    serve(served, host=host, port=port, workers=workers)


@app.verb
def export(
    chosen: Chosen,
    *,
    disclosure: Disclosure,
    to: Path | None = None,
    only: bool = False,
    platform_ids: Path | None = None,
) -> VerbResult:
    """Write the collected judgments into the corpus.

    With --to they go to another folder. Excluded raters are marked, not removed: measures, reports and other exports
    leave them out.

    Args:
        to: Where to write (default: the corpus folder).
        only: Write only the collected judgments, without those already in the corpus.
        platform_ids (FILE): Also write raters' platform ids, with times, to a CSV file that only you can read.
    """
    from vantage.collect.export import check_replaced, merged, write, write_private
    from vantage.corpora.disclosure import guard

    study = chosen.load()
    place = to or study.folder
    if only and to is None:
        raise InputError("--only would replace the corpus with the collected judgments", remedy="pass --to FOLDER")
    with chosen.running(study) as service:
        corpus, checks = service.researchers.corpus(), service.researchers.checks()
        collected = len(corpus.judgments)
        corpus = corpus if only else merged(study.corpus, corpus, study.id)
        check_replaced(place, corpus, study.id)
        corpus = guard(corpus, **disclosure)
        if platform_ids is not None:
            write_private(service.researchers.platform_ids(), platform_ids, apart=place)
        write(corpus, checks, place)
        service.researchers.note_export("judgments and platform ids" if platform_ids else "judgments")
    summary = {"folder": str(place), "collected": collected, "judgments": len(corpus.judgments), "checks": len(checks)}
    return VerbResult(summary, f"{place}: {collected:,} collected judgments, {len(corpus.judgments):,} in all")


@app.verb
def status(service: Reading) -> VerbResult:
    """Show the study's progress and how well raters agree. Nothing is changed."""
    overview, agreement = service.researchers.overview(), service.researchers.reliability()
    known = [asdict(arm) for arm in service.researchers.adaptive()]
    sequential = service.researchers.sequential()
    stages = ", ".join(f"{count} {stage.replace('_', ' ')}" for stage, count in overview.participants.items())
    lines = []
    for row in sequential:
        under = f" ({row['condition']})" if row["condition"] else ""
        interval = (
            "alpha {estimate:.2f}, always-valid 95 % interval {low:.2f} to {high:.2f}. "
            if row["low"] is not None
            else ""
        )
        lines.append(f"{row['question']}{under}: {interval.format(**row)}{row['sentence']}")
    return VerbResult(
        {**asdict(overview), "reliability": agreement.to_dicts(), "adaptive": known, "sequential": sequential},
        [asdict(arm) for arm in overview.arms],
        f"\nparticipants: {stages or 'none yet'}{'; the study is paused' if overview.paused else ''}\n",
        ("", agreement.drop("options", strict=False)),
        ("", known),
        *lines,
    )


@app.verb
def invite(service: Running, *, count: int = 1, url: str = "http://localhost:8000", note: str = "") -> VerbResult:
    """Create personal links.

    Args:
        count (-n): Number of invitations.
        note: A note for yourself, shown on the dashboard.
    """
    made = service.researchers.invite(count, note)
    links = [f"{url.rstrip('/')}/?invitation={one.token}" for one in made]
    rows = [{"link": link, "token": one.token, "note": note} for link, one in zip(links, made, strict=True)]
    return VerbResult(rows, *links)


@app.verb
def password(
    service: Running, *, name: str = "", role: Literal["view", "review", "manage"] = "view", remove: bool = False
) -> None:
    """Set the dashboard's password, or one researcher's own, so that the log shows their name.

    The password is typed at a prompt or read from standard input.

    Args:
        name: The researcher whose password it is.
        role: What that researcher may do: view, review (also decide about raters), or manage.
        remove: Remove that researcher's password.
    """
    if remove:
        service.researchers.remove_researcher(name)
    else:
        new = (
            typer.prompt("Password", hide_input=True, confirmation_prompt=True)
            if sys.stdin.isatty()
            else sys.stdin.readline().rstrip("\r\n")
        )
        service.researchers.set_password(new, name, role)
    typer.echo(f"'{name}' can no longer log in." if remove else "The password is set.")


@app.verb
def log(service: Reading) -> VerbResult:
    """Show what happened and when (UTC), from consent to export, under pseudonyms."""
    rows = service.researchers.log()
    return VerbResult(rows.with_columns(rows["at"].dt.to_string("iso")).to_dicts(), rows.to_dicts())


@app.verb
def preview(service: Reading, *, url: str = "http://localhost:8000") -> None:
    """Print a link for trying the study out: nothing is kept, and no seat is taken."""
    from vantage.collect.web.signing import PREVIEW_PAGE, StudySigner

    key = StudySigner(service.database.secret("web")).sign_form(PREVIEW_PAGE, PREVIEW_PAGE)
    typer.echo(f"{url.rstrip('/')}/preview/?key={key}")


@app.verb
def revise(study: Path, *, note: str, database: str | None = None) -> None:
    """Apply edits to a study that has started, such as corrected guidelines or more raters.

    Changes are printed and recorded, with the time and both wordings. Nothing that answers depend on can be changed.

    Args:
        study (FILE): The edited study file.
        note: What was changed, for the log.
    """
    from vantage.collect.revisions import changes

    edited, (started, _) = collect.AnnotationStudy.load(study), collect.opened_study(study, None, database)
    collect.StudyService(edited, database, revision=note).close()
    for edit in changes(started, edited):
        typer.echo(str(edit))
    typer.echo("The changes are stored. Restart the server to show them.")


@app.verb
def backup(file: Path, service: Reading) -> None:
    """Back up a study with its keys and platform ids, also while it is running.

    Args:
        file: The file to write, which only you can read.
    """
    from vantage.collect.backup import backup

    backup(service.database, file)
    typer.echo(f"{file}: {file.stat().st_size / 1e6:,.1f} MB; it holds the study's keys, so keep it to yourself.")


@app.verb
def restore(file: Path, *, database: str) -> None:
    """Create a study's database from a backup, on SQLite or PostgreSQL.

    Args:
        file: A backup.
        database (URL): The database to create.
    """
    from vantage.collect.backup import restore

    typer.echo(f"The study '{restore(file, database)}' is restored. Serve it with --database {database}.")


@app.verb
def check(file: Path, *, corpus: Path | None = None) -> VerbResult:
    """Check a study file and report every problem with its line.

    Args:
        file: A study file, or a bundled flow (flow:NAME).
        corpus: The corpus, if the file names none.
    """
    from vantage.adaptive.until import Until
    from vantage.collect.flow_checks import people_by_block, people_needed
    from vantage.collect.study_setup import allocations, rows_of, seats

    study = collect.AnnotationStudy.load(file, corpus)
    rows = rows_of(study)
    wanted = seats(study, allocations(study, rows))
    sizes = {block.id: len(rows.get(block.id, ())) for block in study.blocks}
    people = {name: number for name, number in people_by_block(study.blocks, sizes).items() if number}
    blocks = [
        {
            "block": block.id,
            "instrument": block.instrument.id,
            "items": f"as in {block.repeats}" if block.repeats else sizes[block.id],
            "conditions": [c for c in block.conditions if c],
            "question_sets": [list(group) for group in block.question_sets],
            "ratings_wanted": sum(wanted[arm] for arm in block.arms),
            "people_needed": people.get(block.id),
        }
        for block in study.blocks
    ]
    rule, language, notes = study.plan.adaptive, study.instrument.language, []
    summary = {
        "study": study.id,
        "phases": [phase.stage.replace("working", "block") for phase in study.flow.phases],
        "items": len(set().union(*rows.values())),
        "items_with_known_answers": len(study.kept_apart),
        "ratings_wanted": sum(wanted),
        **({"ratings_at_most": sum(wanted) // study.plan.core * rule.max} if rule else {}),
        "people_needed": people_needed(study.plan, study.blocks, sizes),
    }
    if other := [code for code in study.languages if code != language.partition("-")[0].lower()]:
        notes.append(
            f"\nParticipants who choose {', '.join(other)} still read the questions and guidelines in {language}: "
            "only the pages around them are translated."
        )
    if len(set(people.values())) > 1 and not any(phase.blocks for phase in study.plan.flow):
        numbers = ", ".join(f"{name} {number}" for name, number in people.items())
        notes.append(f"\nBlocks need different numbers of people ({numbers}); participants skip blocks that are full.")
    if rule is not None and (needed := Until.parse(rule.until).needed) and needed[1] > rule.max:
        notes.append(
            f"\nItems on which people are evenly split need {needed[1]} ratings for '{rule.until}', so they stop "
            f"at {rule.max}; those on which everyone agrees need {needed[0]}."
        )
    sets = [" | ".join(", ".join(group) for group in block.question_sets) for block in study.blocks]
    shown = [{**row, "question_sets": groups} for row, groups in zip(blocks, sets, strict=True)]
    return VerbResult({**summary, "blocks": blocks}, [summary], shown, *notes, f"\n{file}: no problems")


@app.verb
def new(
    file: Path,
    *,
    mapping: Mapping[str, str],
    instrument: str | None = None,
    ask: str | None = None,
    answers: str | None = None,
    raters: Annotated[int, typer.Option(min=1, max=1000)] = 3,
    to: Path | None = None,
) -> None:
    """Make a study from a table of texts, check it, and rehearse it with simulated people.

    All columns are kept; a column `id`, or the first, names the texts. At a terminal, missing options are asked for.

    Args:
        file: A table with one text per row.
        ask: What is asked about each text, instead of an instrument.
        answers: The possible answers: '1-7', or 'no, unsure, yes'.
        raters: How many people judge each text.
        to: The folder to make (default: named after the file).
    """
    from vantage.corpora.readers import load
    from vantage.recruit.rehearsal.rehearse import rehearse
    from vantage.recruit.rehearsal.results import VIEWS
    from vantage.scaffold.new_study import STUDY, instrument_of, new_study

    folder = to or Path(file.name.split(".")[0])
    corpus = load("texts", file, map=dict(mapping), instrument=instrument, keep=True)
    if instrument is None:
        ask = ask or _asked("What is asked about each text", "--ask 'Is this ironic?'")
        answers = answers or _asked("Which answers are there (1-7, or: no, unsure, yes)", "--answers 'no, yes'")
    study = new_study(folder, corpus, instrument or instrument_of(folder.name, ask or "", answers or ""), raters)
    rehearsed = rehearse(study, people=REHEARSED)
    notes = " ".join(corpus.about.notes)
    typer.echo(f"{notes}\n{folder / STUDY}: {len(corpus.items):,} texts, {raters} people each. Rehearsed:".lstrip())
    typer.echo("\n".join(f"  {sentence}" for sentence in sentences(rehearsed.summary, VIEWS["summary"])))
    typer.echo(
        f"Change the files as you like, then:\n  vantage collect check {folder / STUDY}\n"
        f"  vantage collect --study {folder / STUDY}   # the dashboard has a link to try it out"
    )


def _asked(what: str, option: str) -> str:
    """An answer at the terminal."""
    if not sys.stdin.isatty():
        raise InputError(f"{what}?", remedy=f"pass --instrument NAME, or {option}")
    return str(typer.prompt(what))


@app.verb
def second_round(folder: Path, *, to: Path, question: str | None = None) -> None:
    """Make a second round: people say which answers from the first are defensible, their own included.

    Answers are shown with their reasons and without names; `vantage measure defensible` tells errors from perspectives.

    Args:
        folder: A corpus with the judgments of the first round.
        to: The folder to make.
        question: Only answers to this question.
    """
    from vantage.collect.second_round import second_round

    if to.exists():
        raise InputError("the folder exists already", file=to, remedy="choose another one with --to")
    made = second_round(vantage.Corpus.read(folder), question)
    made.write(to)
    texts = made.items["first_item"].n_unique()
    typer.echo(
        f"{to}: {len(made.items):,} answers about {texts:,} texts. Next:\n"
        f"  vantage collect {to} --study flow:second-round\n"
        f"  vantage collect export {to} && vantage measure defensible {to}"
    )


@app.verb
def flows(name: str | None = None) -> VerbResult | None:
    """List the bundled flows, or print one: whole studies that need only a corpus.

    Args:
        name: A flow to print, as a starting point.
    """
    from vantage.collect.study import BUNDLED, bundled_flows, known_flow
    from vantage.documents import Document, bundled_text

    if name is not None:
        typer.echo(bundled_text("vantage.collect", "flows", f"{known_flow(name)}.yaml"), nl=False)
        return None
    rows = []
    for one in bundled_flows():
        data = Document.bundled("vantage.collect", "flows", f"{one}.yaml").data
        phases = [phase if isinstance(phase, str) else next(iter(phase)) for phase in data["flow"]]
        rows.append({"flow": one, "title": data["title"], "instrument": data["instrument"], "phases": phases})
    return listed(rows, hint=f"Serve one with: vantage collect FOLDER --study {BUNDLED}NAME")
