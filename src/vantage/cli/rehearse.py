"""`vantage collect rehearse`: what a study will be, before anyone is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vantage.cli.options import TO, numbers
from vantage.cli.output import Json, print_frame, print_json, sentences
from vantage.cli.study import working


def rehearse(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file, or a bundled flow (flow:NAME).")],
    folder: Annotated[Path | None, typer.Option("--corpus", help="The corpus, if the file names none.")] = None,
    people: Annotated[int, typer.Option(help="How many simulated people come.", min=1, max=5000)] = 200,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    mix: Annotated[
        str, typer.Option(metavar="KIND=SHARE,…", help="Shares of careful, hasty, careless, copying, leaving, phone …")
    ] = "",
    pilot: Annotated[
        Path | None, typer.Option(metavar="CORPUS", help="Take the model of answers from a pilot.")
    ] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="A folder for a page with all tables.")] = None,
    as_json: Json = False,
) -> None:
    """Let simulated people walk the real pages of a study, and discard everything.

    Reports duration, cost, seats, expected reliability, what the checks catch, and pages that nobody can pass.
    """
    from vantage.collect.study import AnnotationStudy
    from vantage.corpora import Corpus
    from vantage.recruit.rehearsal.rehearse import rehearse as rehearsed
    from vantage.recruit.rehearsal.results import VIEWS

    loaded = AnnotationStudy.load(study, folder)
    known = None if pilot is None else Corpus.read(pilot)
    shares = numbers(mix, "--mix", "KIND=SHARE")
    with working() as progress, progress("people", people) as advance:
        before = 0

        def shown(_: int, done: int) -> None:
            nonlocal before
            advance(done - before)
            before = done

        made = rehearsed(loaded, people=people, seed=seed, mix=shares, pilot=known, advance=shown)
    tables = {name: getattr(made, name) for name in VIEWS}
    if as_json:
        print_json({**{name: frame.to_dicts() for name, frame in tables.items()}, "assumes": list(made.assumes)})
    else:
        for name, frame in tables.items():
            if len(frame):
                print_frame(frame, hidden=["verdict", "behaviour", "worth"], title=VIEWS[name].title)
                typer.echo("")
        for name in ("summary", "checks", "adapting"):
            if len(tables[name]):
                typer.echo("\n".join(sentences(tables[name], VIEWS[name])))
        typer.echo(f"Assumes {'; '.join(made.assumes)}.")
    if out is not None:
        from vantage.report.rehearsal import rehearsal_report

        typer.echo(f"The page is {rehearsal_report(made).write(out)}.", err=True)
