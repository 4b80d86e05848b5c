"""`vantage rate`: put an instrument to a language model and add its judgments to the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.cli.corpora import Folder, Where, conditions, names, pairs
from vantage.cli.output import Json, print_json, print_rows, printable

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.raters.chat import ChatRater
    from vantage.raters.rate import Judged


def rate(
    folder: Folder,
    instrument: Annotated[str, typer.Option(help="What is asked: a bundled instrument (NAME or NAME:FORM) or a file.")],
    model: Annotated[
        str, typer.Option(help="openai:NAME, gguf:PATH, hf:NAME_OR_PATH, recorded:PATH or embedded.")
    ] = "embedded",
    style: Annotated[
        str, typer.Option(help="Parts joined by +, such as few-shot:4+reasoning; see docs/raters.md.")
    ] = "zero-shot",
    question: Annotated[
        str | None, typer.Option("--question", metavar="ID,…", help="Some of the questions; all without it.")
    ] = None,
    condition: Annotated[str, typer.Option(help="The circumstances, such as static or context.")] = "",
    samples: Annotated[int, typer.Option(help="How often every question is asked.")] = 1,
    temperature: Annotated[float, typer.Option(help="0 for the most probable reply.")] = 0.0,
    max_tokens: Annotated[int, typer.Option(help="The longest reply that is allowed.")] = 512,
    seed: Annotated[int, typer.Option(help="Seed of sampling and of the choice of examples.")] = 0,
    persona: Annotated[
        str | None, typer.Option(help="pool, control, or a persona file, for the persona styles.")
    ] = None,
    personas: Annotated[int | None, typer.Option(help="Draw this many of the personas, balanced.")] = None,
    user: Annotated[
        str | None,
        typer.Option(metavar="RATER,…", help="Whose trait or history is given (perspective, history)."),
    ] = None,
    shots_from: Annotated[
        str | None,
        typer.Option(metavar="COLUMN=VALUE", help="Draw examples from these items, such as split=train."),
    ] = None,
    retrieval: Annotated[
        str, typer.Option(help="What makes items similar for history: tfidf, minilm or hf:NAME_OR_PATH.")
    ] = "tfidf",
    where: Where = None,
    limit: Annotated[int | None, typer.Option(help="Only the first items.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of the model, such as threads=2."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The address of an OpenAI-compatible endpoint.")] = None,
    prices: Annotated[Path | None, typer.Option(help="A YAML file of prices per million tokens.")] = None,
    show: Annotated[int, typer.Option(help="Print the first prompts exactly as they would be sent, and end.")] = 0,
    estimate: Annotated[bool, typer.Option("--estimate", help="Print calls, tokens and cost, and end.")] = False,
    to: Annotated[Path | None, typer.Option("--to", help="Where to write; without it the folder is changed.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a language model, as a rater like any other, and add its judgments to the corpus.

    Keys are read from the environment (OPENAI_API_KEY) and never stored.
    """
    from vantage.corpora import Corpus
    from vantage.errors import InputError
    from vantage.instruments import Instrument
    from vantage.raters.encoders import load_encoder

    whole = Corpus.read(folder)
    part = whole.filter(**conditions(where)) if where else whole
    if limit is not None:
        part = part.filter(item=part.items["item"].head(limit).to_list())
    if part.items.is_empty():
        raise InputError("no items are left to be judged", file=folder, remedy="check --where and --limit")
    training = whole.filter(**conditions([shots_from])) if shots_from else None
    settings: dict[str, Any] = {key: _number(value) for key, value in pairs(setting or [], "--setting").items()}
    if base_url:
        settings["base_url"] = base_url
    options: dict[str, Any] = {
        "samples": samples,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "training": training,
        "settings": settings,
        "encode": load_encoder(retrieval),
    }
    raters = _raters(model, style, persona, personas, names(user), options)
    known = Instrument.load(instrument)
    asked = names(question)
    if show:
        _show(raters[0], part, known, asked, condition, show)
    elif estimate:
        _estimate(raters, part, known, asked, condition, prices, as_json=as_json)
    else:
        _ask(raters, whole, part, known, asked, condition, to or folder, as_json=as_json)


def _raters(
    model: str, style: str, persona: str | None, drawn: int | None, users: list[str], options: dict[str, Any]
) -> list[ChatRater]:
    from vantage.raters.chat import ChatRater
    from vantage.raters.personas import Personas, sample

    if persona:
        people = tuple(Personas.load(persona))
        chosen = sample(people, drawn, options["seed"]) if drawn else people
        return [ChatRater(model, style, persona=one, **options) for one in chosen]
    if users:
        return [ChatRater(model, style, user=one, **options) for one in users]
    return [ChatRater(model, style, **options)]


def _show(rater: ChatRater, part: Corpus, instrument: Any, asked: list[str], condition: str, count: int) -> None:
    from itertools import islice

    from vantage.raters.rate import asked_instrument, asked_questions

    used = asked_instrument(rater, instrument)
    calls = rater.plan(part, used, questions=asked_questions(rater, asked), condition=condition)
    for number, call in enumerate(islice(calls, count), 1):
        typer.echo(f"━━━ prompt {number}: item {call.item['item']}, {', '.join(q.id for q in call.questions)}")
        for message in call.request.messages:
            typer.echo(f"── {message.role}\n{printable(message.content)}")
    typer.echo("Nothing was sent.")


def _estimate(
    raters: list[ChatRater],
    part: Corpus,
    instrument: Any,
    asked: list[str],
    condition: str,
    prices: Path | None,
    *,
    as_json: bool,
) -> None:
    from dataclasses import asdict

    from vantage.raters.estimate import estimate, read_prices

    known = read_prices(prices) if prices else {}
    found = [estimate(r, part, instrument, questions=asked, condition=condition, prices=known) for r in raters]
    rows = [asdict(one) for one in found]
    if len(rows) > 1 and not as_json:
        costs = [one.cost for one in found if one.cost is not None]
        total = {key: sum(row[key] for row in rows) for key in ("calls", "prompt_tokens", "completion_tokens")}
        rows = [{"rater": f"{len(rows)} raters", **total, "cost": sum(costs) if len(costs) == len(rows) else None}]
    if not as_json and any(row["cost"] is None for row in rows):
        rows = [{**row, "cost": "not known" if row["cost"] is None else row["cost"]} for row in rows]
        typer.echo(
            "Prices come from a file of yours: --prices FILE, with lines such as  openai:NAME: {input: 1, output: 4}\n"
        )
    print_rows(rows, as_json=as_json)
    if not as_json:
        typer.echo("\nTokens are estimated from the length of the prompts. Nothing was sent.")


def _ask(
    raters: list[ChatRater],
    whole: Corpus,
    part: Corpus,
    instrument: Any,
    asked: list[str],
    condition: str,
    to: Path,
    *,
    as_json: bool,
) -> None:
    from rich.console import Console
    from rich.progress import Progress

    from vantage.raters.rate import added, judge

    rows = []
    model = raters[0].open()
    try:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            for rater in raters:
                planned = len(part.items) * (1 if rater.parts.together else len(asked or instrument.questions))
                task = bar.add_task(printable(rater.id), total=planned * rater.samples)
                judged = judge(
                    rater,
                    part,
                    instrument,
                    questions=asked,
                    condition=condition,
                    model=model,
                    progress=lambda done, task=task: bar.advance(task, done),  # type: ignore[misc]
                )
                whole = added(whole, judged, instrument)
                rows.append(_summary(judged))
                # What one rater said is kept, whatever happens to the next.
                whole.write(to)
                bar.remove_task(task)
    finally:
        model.close()
    if as_json:
        print_json(rows)
        return
    print_rows(rows)
    typer.echo(f"\nWrote {to}")
    for note in dict.fromkeys(note for row in rows for note in row["notes"]):
        typer.echo(f"• {note}")


def _summary(judged: Judged) -> dict[str, Any]:
    """What became of every question, and what it took."""
    statuses = dict(judged.judgments["status"].cast(str).value_counts().iter_rows())
    return {
        "rater": judged.rater.id,
        "calls": judged.calls,
        **{status: statuses.get(status, 0) for status in ("answered", "refused", "unparsed", "failed")},
        "opted_out": statuses.get("ambiguous", 0) + statuses.get("not_mentioned", 0),
        "already_there": judged.skipped,
        "cut": judged.truncated,
        "prompt_tokens": judged.prompt_tokens,
        "completion_tokens": judged.completion_tokens,
        "notes": judged.notes,
    }


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
