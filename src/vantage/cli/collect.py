"""`vantage collect`: collect human judgments of the items of a corpus."""

from __future__ import annotations

import secrets
import sys
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from vantage.cli import plan, recruit
from vantage.cli.corpora import TextColumns, texts_or_corpus, with_disclosure
from vantage.cli.options import TO, pairs, shared
from vantage.cli.output import Json, print_json, print_rows, say, sentences
from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.collect import AnnotationStudy, StudyService


class _ServeByDefault(TyperGroup):
    """`vantage collect FOLDER …` means `vantage collect serve FOLDER …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args.insert(0, "serve")
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ServeByDefault,
    help="Collect human judgments: serve a study, watch its progress, export it. The default command is serve.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

app.command("rehearse", short_help="Let simulated people walk the study.")(plan.rehearse)
app.add_typer(recruit.app, name="recruit", short_help="Recruit people on Prolific or elsewhere, and pay them.")

Folder = Annotated[Path | None, typer.Argument(metavar="FOLDER", help="A corpus folder.")]
StudyFile = Annotated[
    Path | None,
    typer.Option("--study", metavar="FILE", help="A study file (docs/collect.md), or a bundled flow (flow:NAME)."),
]
InstrumentName = Annotated[
    str | None, typer.Option("--instrument", metavar="NAME", help="A bundled instrument (NAME or NAME:FORM) or a file.")
]
Database = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="sqlite:///FILE or postgresql://USER@HOST/NAME."),
]


@dataclass(frozen=True, slots=True)
class ChosenStudy:
    """The study that a command is about, and its database."""

    folder: Folder = None
    instrument: InstrumentName = None
    study: StudyFile = None
    database: Database = None

    def load(self) -> AnnotationStudy:
        """The chosen study: a file, a folder with an instrument, or the only study in a folder."""
        from vantage.collect import AnnotationStudy
        from vantage.collect.study_setup import stored_study

        folder, database = self.folder, self.database
        if self.study is not None:
            chosen = recruit.read_study(self.study, folder, database)
            if folder is not None and folder.resolve() != chosen.folder:
                problem = f"The study's corpus is {chosen.folder}, not {folder}"
                raise InputError(problem, file=self.study, remedy="give only one of them")
            return chosen
        if folder is None:
            raise InputError("No study given", remedy="pass a corpus folder and --instrument, or --study FILE")
        if self.instrument is not None:
            return AnnotationStudy.of(folder, self.instrument)
        if database is None:
            databases = sorted(folder.glob("collect-*.sqlite"))
            if len(databases) != 1:
                problem = "The folder has no study yet" if not databases else f"The folder has {len(databases)} studies"
                raise InputError(problem, file=folder, remedy="choose one with --instrument or --study")
            database = str(databases[0].absolute())
        return stored_study(database, folder)

    def running(
        self, loaded: AnnotationStudy | None = None, *, read_only: bool = False, revision: str | None = None
    ) -> closing[StudyService]:
        """The study with its database opened."""
        from vantage.collect import StudyService

        return closing(StudyService(loaded or self.load(), self.database, read_only=read_only, revision=revision))


_with_study = shared("chosen", ChosenStudy)
"""A command about one study, which it receives as `chosen`."""


@app.command()
@_with_study
def serve(
    chosen: ChosenStudy,
    mapping: TextColumns = None,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for other machines.")] = "127.0.0.1",
    workers: Annotated[int, typer.Option(help="Number of processes that serve the study.", min=1, max=64)] = 1,
    root_path: Annotated[str, typer.Option(metavar="PREFIX", help="The study's path behind a reverse proxy.")] = "",
) -> None:
    """Serve a study to participants, and its dashboard to you."""
    from vantage.collect.web.server import ServedStudy, serve

    if chosen.study is None and chosen.instrument is None:
        raise InputError("No instrument given", remedy="pass --instrument NAME or --study FILE")
    if chosen.folder is not None and (mapping or chosen.folder.is_file()):
        folder, _ = texts_or_corpus(chosen.folder, None, chosen.instrument, mapping)
        typer.echo(f"The texts are stored in {folder}; the judgments will be, too.")
        chosen = replace(chosen, folder=folder)
    study = chosen.load()
    # Edits hold from here on as long as nobody has come; afterwards the file is not looked at.
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


@app.command()
@with_disclosure
@_with_study
def export(
    chosen: ChosenStudy,
    disclosure: dict[str, Any],
    to: Annotated[Path | None, typer.Option(*TO, help="Where to write; by default into the corpus folder.")] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Only the collected judgments, without the corpus's own.")
    ] = False,
    platform_ids: Annotated[
        Path | None,
        typer.Option(
            "--platform-ids",
            metavar="FILE",
            help="Also write who the raters are on their platform, with times, to a CSV file that only you can read.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the collected judgments into the corpus.

    With --to they go to another folder. Excluded raters are marked, not removed: measures, reports and other exports
    leave them out.
    """
    from vantage.collect.export import check_replaced, merged, write, write_private
    from vantage.corpora.disclosure import guard

    study = chosen.load()
    if only and to is None:
        raise InputError("--only would replace the corpus with the collected judgments", remedy="pass --to FOLDER")
    with chosen.running(study) as service:
        corpus, checks = service.researchers.corpus(), service.researchers.checks()
        people = service.researchers.platform_ids() if platform_ids else None
    collected = len(corpus.judgments)
    if not only:
        corpus = merged(study.corpus, corpus, study.id)
    check_replaced(to or study.folder, corpus, study.id)
    corpus = guard(corpus, **disclosure)
    if platform_ids is not None and people is not None:
        write_private(people, platform_ids, apart=to or study.folder)
    place = write(corpus, checks, to or study.folder)
    with chosen.running(study) as service:
        service.researchers.note_export("judgments and platform ids" if platform_ids else "judgments")
    summary = {"folder": str(place), "collected": collected, "judgments": len(corpus.judgments), "checks": len(checks)}
    say(summary, f"{place}: {collected:,} collected judgments, {len(corpus.judgments):,} in all", as_json=as_json)


@app.command()
@_with_study
def status(chosen: ChosenStudy, as_json: Json = False) -> None:
    """Show the study's progress and how well raters agree. Nothing is changed."""
    with chosen.running(read_only=True) as service:
        overview, agreement = service.researchers.overview(), service.researchers.reliability()
        known = [asdict(arm) for arm in service.researchers.adaptive()]
        sequential = service.researchers.sequential()
    if as_json:
        tables = {"reliability": agreement.to_dicts(), "adaptive": known, "sequential": sequential}
        print_json({**asdict(overview), **tables})
        return
    print_rows([asdict(arm) for arm in overview.arms])
    stages = ", ".join(f"{count} {stage.replace('_', ' ')}" for stage, count in overview.participants.items())
    typer.echo(f"\nparticipants: {stages or 'none yet'}{'; the study is paused' if overview.paused else ''}\n")
    if len(agreement):
        print_rows(agreement.drop("options", strict=False).to_dicts())
    if known:
        typer.echo("")
        print_rows(known)
    for row in sequential:
        under = f" ({row['condition']})" if row["condition"] else ""
        interval = "" if row["low"] is None else f"alpha {row['estimate']:.2f}, always-valid 95 % interval "
        interval += "" if row["low"] is None else f"{row['low']:.2f} to {row['high']:.2f}. "
        typer.echo(f"{row['question']}{under}: {interval}{row['sentence']}")


@app.command()
@_with_study
def invite(
    chosen: ChosenStudy,
    count: Annotated[int, typer.Option("--count", "-n", help="Number of invitations.")] = 1,
    url: Annotated[str, typer.Option(help="The study's address for participants.")] = "http://localhost:8000",
    note: Annotated[str, typer.Option(help="A note for yourself, shown on the dashboard.")] = "",
    as_json: Json = False,
) -> None:
    """Create personal links."""
    with chosen.running() as service:
        made = service.researchers.invite(count, note)
    links = [f"{url.rstrip('/')}/?invitation={one.token}" for one in made]
    rows = [{"link": link, "token": one.token, "note": note} for link, one in zip(links, made, strict=True)]
    say(rows, "\n".join(links), as_json=as_json)


@app.command()
@_with_study
def password(
    chosen: ChosenStudy,
    name: Annotated[str, typer.Option(help="A researcher who gets a password of their own.")] = "",
    role: Annotated[
        str, typer.Option(help="What that researcher may do: view, review (also decide about raters), or manage.")
    ] = "view",
    remove: Annotated[bool, typer.Option("--remove", help="Take that researcher's password away.")] = False,
) -> None:
    """Set the dashboard's password, or that of one researcher, whose name the log then has.

    It is typed at a prompt or read from standard input.
    """
    from vantage.collect.researchers import ROLES

    if role not in ROLES:
        raise InputError(f"There is no role '{role}'", remedy=nearest(role, ROLES))
    with chosen.running() as service:
        if remove:
            service.researchers.remove_researcher(name)
        else:
            new = (
                typer.prompt("Password", hide_input=True, confirmation_prompt=True)
                if sys.stdin.isatty()
                else sys.stdin.readline().rstrip("\r\n")
            )
            service.researchers.set_password(new, name, next(one for one in ROLES if one == role))
    typer.echo(f"'{name}' can no longer log in." if remove else "The password is set.")


@app.command()
@_with_study
def log(chosen: ChosenStudy, as_json: Json = False) -> None:
    """Show what happened and when (UTC), from consent to export, under pseudonyms."""
    with chosen.running(read_only=True) as service:
        rows = service.researchers.log()
    if as_json:
        print_json(rows.with_columns(rows["at"].dt.to_string("iso")).to_dicts())
    else:
        print_rows(rows.to_dicts())


@app.command()
@_with_study
def preview(
    chosen: ChosenStudy,
    url: Annotated[str, typer.Option(help="The study's address for participants.")] = "http://localhost:8000",
) -> None:
    """Print a link to try the study out: nothing is kept, and nobody's place is taken."""
    from vantage.collect.web.signing import PREVIEW_PAGE, StudySigner

    with chosen.running(read_only=True) as service:
        key = StudySigner(service.database.secret("web")).sign_form(PREVIEW_PAGE, PREVIEW_PAGE)
    typer.echo(f"{url.rstrip('/')}/preview/?key={key}")


@app.command()
def revise(
    study: Annotated[Path, typer.Argument(metavar="FILE", help="The edited study file.")],
    note: Annotated[str, typer.Option(help="What was changed, for the log.")],
    database: Database = None,
) -> None:
    """Apply edits of a study that has started, such as corrected guidelines or more raters.

    Prints and records what changes, with the time and both wordings. Nothing that answers depend on can be changed.
    """
    from vantage.collect import AnnotationStudy, StudyService, opened_study
    from vantage.collect.revisions import changes

    edited, (started, _) = AnnotationStudy.load(study), opened_study(study, None, database)
    StudyService(edited, database, revision=note).close()
    for edit in changes(started, edited):
        typer.echo(str(edit))
    typer.echo("The changes are stored. Restart the server to show them.")


@app.command()
@_with_study
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, which only you can read.")],
    chosen: ChosenStudy,
) -> None:
    """Back up a study with its keys and platform ids, also while it is running."""
    from vantage.collect.backup import backup

    with chosen.running(read_only=True) as service:
        backup(service.database, file)
    typer.echo(f"{file}: {file.stat().st_size / 1e6:,.1f} MB; it holds the study's keys, so keep it to yourself.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    database: Annotated[str, typer.Option("--database", metavar="URL", help="The database to create.")],
) -> None:
    """Create a study's database from a backup, on SQLite or PostgreSQL."""
    from vantage.collect.backup import restore

    typer.echo(f"The study '{restore(file, database)}' is restored. Serve it with --database {database}.")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study file, or a bundled flow (flow:NAME).")],
    folder: Annotated[Path | None, typer.Option("--corpus", help="The corpus, if the file names none.")] = None,
    as_json: Json = False,
) -> None:
    """Check a study file and report every problem with its line."""
    from vantage.adaptive.until import Until
    from vantage.collect import AnnotationStudy
    from vantage.collect.flow_checks import people_by_block, people_needed
    from vantage.collect.study_setup import allocations, rows_of, seats

    study = AnnotationStudy.load(file, folder)
    rows = rows_of(study)
    wanted = seats(study, allocations(study, rows))
    sizes = {block.id: len(rows.get(block.id, ())) for block in study.blocks}
    people = {name: number for name, number in people_by_block(study.blocks, sizes).items() if number}
    blocks = [
        {
            "block": block.id,
            "instrument": block.instrument.id,
            "items": f"as in {block.repeats}" if block.repeats else len(rows[block.id]),
            "conditions": [c for c in block.conditions if c],
            "question_sets": [list(group) for group in block.question_sets],
            "ratings_wanted": sum(wanted[arm] for arm in block.arms),
            "people_needed": people.get(block.id),
        }
        for block in study.blocks
    ]
    own = {row for chosen in rows.values() for row in chosen}
    summary = {
        "study": study.id,
        "phases": [phase.stage.replace("working", "block") for phase in study.flow.phases],
        "items": len(own),
        "items_with_known_answers": len(study.kept_apart),
        "ratings_wanted": sum(wanted),
        **({"ratings_at_most": sum(wanted) // study.plan.core * rule.max} if (rule := study.plan.adaptive) else {}),
        "people_needed": people_needed(study.plan, study.blocks, sizes),
    }
    if as_json:
        print_json({**summary, "blocks": blocks})
    else:
        print_rows([summary])
        sets = [" | ".join(", ".join(group) for group in block.question_sets) for block in study.blocks]
        print_rows([{**row, "question_sets": shown} for row, shown in zip(blocks, sets, strict=True)])
        if other := [code for code in study.languages if code != study.instrument.language.partition("-")[0].lower()]:
            typer.echo(
                f"\nWho chooses {', '.join(other)} still reads the questions and guidelines in "
                f"{study.instrument.language}: only the pages around them are translated."
            )
        if len(set(people.values())) > 1 and not any(phase.blocks for phase in study.plan.flow):
            numbers = ", ".join(f"{name} {number}" for name, number in people.items())
            typer.echo(f"\nBlocks need different numbers of people ({numbers}); whoever finds a block full skips it.")
        if rule is not None and (needed := Until.parse(rule.until).needed) and needed[1] > rule.max:
            typer.echo(
                f"\nItems on which people are evenly split need {needed[1]} ratings for '{rule.until}', so they stop "
                f"at {rule.max}; those on which everyone agrees need {needed[0]}."
            )
        typer.echo(f"\n{file}: no problems")


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table with one text per row.")],
    mapping: TextColumns = None,
    instrument: InstrumentName = None,
    ask: Annotated[str | None, typer.Option(help="What is asked about each text, instead of an instrument.")] = None,
    answers: Annotated[str | None, typer.Option(help="The answers: '1-7', or 'no, unsure, yes'.")] = None,
    raters: Annotated[int, typer.Option(help="How many people judge each text.", min=1, max=1000)] = 3,
    to: Annotated[Path | None, typer.Option(*TO, help="The folder to make; by default with the file's name.")] = None,
) -> None:
    """Make a study from a table of texts, check it, and rehearse it with simulated people.

    All columns are kept; a column `id` names the texts. What is not given as an option is asked at a terminal.
    """
    from vantage.corpora.readers import load
    from vantage.recruit.rehearsal.rehearse import rehearse
    from vantage.recruit.rehearsal.results import VIEWS
    from vantage.scaffold.new_study import STUDY, instrument_of, new_study

    folder = to or Path(file.name.split(".")[0])
    corpus = load("texts", file, map=pairs(mapping or [], "--map"), instrument=instrument, keep=True)
    if instrument is None:
        ask = ask or _asked("What is asked about each text", "--ask 'Is this ironic?'")
        answers = answers or _asked("Which answers are there (1-7, or: no, unsure, yes)", "--answers 'no, yes'")
    study = new_study(folder, corpus, instrument or instrument_of(folder.name, ask or "", answers or ""), raters)
    rehearsed = rehearse(study, people=REHEARSED)
    typer.echo(f"{folder / STUDY}: {len(corpus.items):,} texts, {raters} people each. Rehearsed:")
    typer.echo("\n".join(f"  {sentence}" for sentence in sentences(rehearsed.summary, VIEWS["summary"])))
    typer.echo(
        f"Change the files as you like, then:\n  vantage collect check {folder / STUDY}\n"
        f"  vantage collect --study {folder / STUDY}   # the dashboard has a link to try it out"
    )


REHEARSED = 40
"""People who rehearse a new study."""


def _asked(what: str, option: str) -> str:
    """An answer at the terminal."""
    if not sys.stdin.isatty():
        raise InputError(f"{what}?", remedy=f"pass --instrument NAME, or {option}")
    return str(typer.prompt(what))


@app.command("second-round")
def second_round(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A corpus with the judgments of the first round.")],
    to: Annotated[Path, typer.Option(*TO, help="The folder to make.")],
    question: Annotated[str | None, typer.Option(help="Only the answers to this question.")] = None,
) -> None:
    """Make a second round: people say which answers of the first are defensible, others' and their own.

    Answers come with their reasons and without names; `vantage measure defensible` tells errors from perspectives.
    """
    from vantage.collect.second_round import second_round
    from vantage.corpora import Corpus

    if to.exists():
        raise InputError("there is such a folder already", file=to, remedy="choose another one with --to")
    made = second_round(Corpus.read(folder), question)
    made.write(to)
    texts = made.items["first_item"].n_unique()
    typer.echo(
        f"{to}: {len(made.items):,} answers about {texts:,} texts. Next:\n"
        f"  vantage collect {to} --study flow:second-round\n"
        f"  vantage collect export {to} && vantage measure defensible {to}"
    )


@app.command()
def flows(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A flow to print, to start a file from.")] = None,
    as_json: Json = False,
) -> None:
    """List the bundled flows, or print one: whole studies that need only a corpus."""
    from vantage.collect.study import BUNDLED, bundled_flows, known_flow
    from vantage.documents import Document, bundled_text

    if name is not None:
        typer.echo(bundled_text("vantage.collect", "flows", f"{known_flow(name)}.yaml"), nl=False)
        return
    rows = []
    for one in bundled_flows():
        data = Document.bundled("vantage.collect", "flows", f"{one}.yaml").data
        phases = [phase if isinstance(phase, str) else next(iter(phase)) for phase in data["flow"]]
        rows.append({"flow": one, "title": data["title"], "instrument": data["instrument"], "phases": phases})
    print_rows(rows, as_json=as_json, hint=f"Serve one with: vantage collect FOLDER --study {BUNDLED}NAME")
