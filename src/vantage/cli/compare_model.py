"""`vantage compare-model`: from people's judgments and a model's replies to one page with a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vantage.cli.options import TO, Seed, pairs
from vantage.cli.output import Json
from vantage.cli.progress import finished


def compare_model(
    people: Annotated[Path, typer.Argument(metavar="PEOPLE", help="People's judgments: a table or a corpus folder.")],
    replies: Annotated[
        Path | None,
        typer.Argument(
            metavar="REPLIES", help="A model's replies: a table or JSON lines; not needed if PEOPLE has models too."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="Where to write the page: a folder.")] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN,…", help="Columns of REPLIES: item, question, rater, value."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Can a model stand in for people? Floor and ceiling, for whom it works, and its worst texts, on one page.

    For example:

    vantage compare-model people.csv replies.jsonl --to verdict
    """
    from vantage.report.model_audit import model_report, people_of, with_replies

    corpus = people_of(people)
    if replies is not None:
        corpus = with_replies(corpus, replies, pairs(mapping or [], "--map"))
    place = out or Path(f"{(replies or people).name.split('.')[0]}-verdict")
    report = model_report(corpus, seed=seed)
    report.write(place)
    finished(report, place, as_json=as_json)
