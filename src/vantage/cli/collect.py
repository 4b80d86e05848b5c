"""`vantage collect`: put the items of a corpus before people, and bring their judgments back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from vantage.cli.corpora import AllowUnique, Anonymity, Strict, TextColumns, texts_or_corpus
from vantage.cli.output import Json, print_json, print_rows

if TYPE_CHECKING:
    from vantage.collect.desk import Desk
    from vantage.collect.study import Study


class _ServeByDefault(TyperGroup):
    """`vantage collect FOLDER …` means `vantage collect serve FOLDER …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args.insert(0, "serve")
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ServeByDefault,
    help="Collect judgments of people: serve a study, watch it, export it. Without a command: serve.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Folder = Annotated[Path | None, typer.Argument(metavar="FOLDER", help="A corpus folder.")]
StudyFile = Annotated[Path | None, typer.Option("--study", metavar="FILE", help="A study file; see docs/collect.md.")]
InstrumentName = Annotated[
    str | None, typer.Option("--instrument", metavar="NAME", help="A bundled instrument (NAME or NAME:FORM) or a file.")
]
Database = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="sqlite:///FILE or postgresql://USER@HOST/NAME."),
]


@app.command()
def serve(
    folder: Folder = None,
    instrument: InstrumentName = None,
    study: StudyFile = None,
    mapping: TextColumns = None,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen on; other machines need 0.0.0.0.")] = "127.0.0.1",
    database: Database = None,
    workers: Annotated[int, typer.Option(help="How many processes serve the study.", min=1, max=64)] = 1,
    root_path: Annotated[
        str, typer.Option(metavar="PREFIX", help="The path under which a proxy shows the study.")
    ] = "",
) -> None:
    """Serve a study to participants, and its dashboard to you."""
    from vantage.collect.web.server import Source, serve
    from vantage.errors import InputError

    if study is None and instrument is None:
        raise InputError("No instrument given", remedy="pass --instrument NAME or --study FILE")
    if folder is not None and (mapping or folder.is_file()):
        folder, _ = texts_or_corpus(folder, None, instrument, mapping)
        typer.echo(f"Texts and judgments are kept in {folder}.")
    found = _study(folder, instrument, study, database)
    with _opened(found, database) as desk:
        if not desk.has_password():
            _new_password(desk)
    shown = f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0') else host}:{port}{root_path}"  # noqa: S104
    typer.echo(f"{found.title}\n  participants  {shown}/\n  dashboard     {shown}/desk\nStop with Ctrl-C.")
    source = Source(
        study=str(study) if study else None,
        folder=str(found.folder),
        instrument=found.plan.instrument,
        database=database,
        prefix=root_path,
    )
    serve(source, host=host, port=port, workers=workers)


@app.command()
def export(
    folder: Folder = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="Where to write; without it the corpus folder is changed.")
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Only what was collected, without the corpus's own judgments.")
    ] = False,
    platform_ids: Annotated[
        bool, typer.Option("--platform-ids", help="Keep the platform's ids of participants beside their pseudonyms.")
    ] = False,
    k: Anonymity = 5,
    strict: Strict = False,
    allow_unique: AllowUnique = False,
    instrument: InstrumentName = None,
    study: StudyFile = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Write the collected judgments into the corpus.

    With --to they are written to another folder. Raters whom you excluded are marked, not removed: measures, reports
    and other exports leave them out.
    """
    from vantage.collect import export as writing
    from vantage.corpora.disclosure import guard
    from vantage.errors import InputError

    found = _study(folder, instrument, study, database)
    if only and to is None:
        raise InputError(
            "--only would replace the corpus with the collected judgments", remedy="say where to write with --to"
        )
    with _opened(found, database) as desk:
        corpus, checks = desk.corpus(platform_ids=platform_ids), desk.checks()
    collected = len(corpus.judgments)
    if not only:
        corpus = writing.merged(found.corpus, corpus, found.id)
    corpus, risk = guard(corpus, k=k, strict=strict, allow_unique=allow_unique)
    if risk:
        typer.echo(f"Warning: {risk}", err=True)
    place = writing.write(corpus, checks, to or found.folder)
    told = {"folder": str(place), "collected": collected, "judgments": len(corpus.judgments), "checks": len(checks)}
    if as_json:
        print_json(told)
    else:
        typer.echo(f"{place}: {collected:,} collected judgments, {len(corpus.judgments):,} in all")


@app.command()
def status(
    folder: Folder = None,
    instrument: InstrumentName = None,
    study: StudyFile = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Say how far the study has come and how well raters agree."""
    from dataclasses import asdict

    with _opened(_study(folder, instrument, study, database), database) as desk:
        overview, agreement = desk.overview(), desk.reliability()
    if as_json:
        print_json({**asdict(overview), "reliability": agreement.to_dicts()})
        return
    print_rows([asdict(arm) for arm in overview.arms])
    stages = ", ".join(f"{count} {stage.replace('_', ' ')}" for stage, count in overview.participants.items())
    typer.echo(f"\nparticipants: {stages or 'none yet'}{'; the study is paused' if overview.paused else ''}\n")
    if len(agreement):
        print_rows(agreement.drop("options", strict=False).to_dicts())


@app.command()
def invite(
    folder: Folder = None,
    count: Annotated[int, typer.Option("--count", "-n", help="How many invitations.")] = 1,
    url: Annotated[str, typer.Option(help="Where participants reach the study.")] = "http://localhost:8000",
    note: Annotated[str, typer.Option(help="A note for yourself, shown on the dashboard.")] = "",
    instrument: InstrumentName = None,
    study: StudyFile = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Make personal links."""
    with _opened(_study(folder, instrument, study, database), database) as desk:
        made = desk.invite(count, note)
    links = [f"{url.rstrip('/')}/?invitation={one.token}" for one in made]
    if as_json:
        print_json([{"link": link, "token": one.token, "note": note} for link, one in zip(links, made, strict=True)])
    else:
        typer.echo("\n".join(links))


@app.command()
def password(
    folder: Folder = None,
    instrument: InstrumentName = None,
    study: StudyFile = None,
    database: Database = None,
) -> None:
    """Set the password of the dashboard.

    It is asked for, or read from standard input.
    """
    with _opened(_study(folder, instrument, study, database), database) as desk:
        if sys.stdin.isatty():
            desk.set_password(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
        else:
            desk.set_password(sys.stdin.readline().rstrip("\r\n"))
    typer.echo("The password is set.")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study file.")],
    as_json: Json = False,
) -> None:
    """Check a study file and report every problem with its line."""
    from vantage.collect.opening import arms_of, gold_rows
    from vantage.collect.study import Study

    study = Study.load(file)
    count, gold = gold_rows(study)
    seats = sum(arm.count for arm in arms_of(study, count, gold))
    told = {
        "study": study.id,
        "items": count - len(gold),
        "gold_items": len(gold),
        "conditions": [c for c in study.conditions if c],
        "question_sets": [list(group) for group in study.question_sets],
        "ratings_wanted": seats,
        "batches_needed": -(-seats // study.plan.batch.size),
    }
    if as_json:
        print_json(told)
    else:
        print_rows([told])
        typer.echo(f"\n{file}: no problems")


def _study(folder: Path | None, instrument: str | None, file: Path | None, database: str | None) -> Study:
    """The study that is meant: a file, a folder with an instrument, or the one study that a folder has."""
    from vantage.collect.opening import stored_study
    from vantage.collect.study import Study
    from vantage.errors import InputError

    if file is not None:
        found = Study.load(file)
        if folder is not None and folder.resolve() != found.folder:
            raise InputError(
                f"the study's corpus is {found.folder}, not {folder}", file=file, remedy="give one of them"
            )
        return found
    if folder is None:
        raise InputError("no study given", remedy="give a corpus folder and --instrument, or --study FILE")
    if instrument is not None:
        return Study.of(folder, instrument)
    if database is None:
        begun = sorted(folder.glob("collect-*.sqlite"))
        if len(begun) != 1:
            problem = "the folder has no study yet" if not begun else f"the folder has {len(begun)} studies"
            raise InputError(problem, file=folder, remedy="say which one with --instrument or --study")
        database = str(begun[0].absolute())
    return stored_study(database, folder)


def _opened(study: Study, database: str | None) -> Any:
    from contextlib import closing

    from vantage.collect.desk import Desk

    return closing(Desk.open(study, database))


def _new_password(desk: Desk) -> None:
    """A password for the dashboard, made and printed once; only its hash is kept."""
    import secrets

    made = secrets.token_urlsafe(9)
    desk.set_password(made)
    typer.echo(f"The dashboard's password is {made} (change it with: vantage collect password)")
