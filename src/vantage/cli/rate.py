"""`vantage rate`: put an instrument to a language model and add its judgments to the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.cli.corpora import TextColumns, TextsOrFolder, Where, conditions, filtered, names, pairs, texts_or_corpus
from vantage.cli.output import Json, print_json, print_rows, printable, show

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.instruments import Instrument
    from vantage.raters.chat import ChatRater
    from vantage.runs.execution import Outcome
    from vantage.runs.options import Options


def rate(
    folder: TextsOrFolder,
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
    mapping: TextColumns = None,
    where: Where = None,
    limit: Annotated[int | None, typer.Option(help="Only the first items.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of the model, such as threads=2."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The address of an OpenAI-compatible endpoint.")] = None,
    prices: Annotated[Path | None, typer.Option(help="A YAML file of prices per million tokens.")] = None,
    store: Annotated[
        Path | None, typer.Option(help="The file that keeps every reply; runs.sqlite in the corpus folder without it.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Who sends the requests: local, or ray (see docs/scaling.md).")] = "local",
    workers: Annotated[int | None, typer.Option(help="With --engine ray: how many workers.")] = None,
    ray_address: Annotated[str | None, typer.Option(help="With --engine ray: where the cluster is.")] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the provider's batch API: half the price, within a day.")
    ] = False,
    batch_protocol: Annotated[
        str | None, typer.Option(help="openai, anthropic or mistral; told by the address without it.")
    ] = None,
    batch_wait: Annotated[
        float | None, typer.Option(help="Seconds to wait for batches at most; the same command collects them later.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(help="Requests under way at a time, at most.")] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed/--no-retry-failed", help="Send again what failed in an earlier run.")
    ] = True,
    retry_unparsed: Annotated[
        int, typer.Option(help="Ask again, so often at most, when a reply cannot be read; shifts the answers.")
    ] = 0,
    fail_on: Annotated[
        float | None, typer.Option(help="End when more requests failed than this: a share below 1, or a count.")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(help="End before the run costs more; needs --prices.")] = None,
    rpm: Annotated[float | None, typer.Option(help="Requests per minute, at most.")] = None,
    tpm: Annotated[float | None, typer.Option(help="Tokens per minute, at most.")] = None,
    show_: Annotated[
        int, typer.Option("--show", help="Print the first prompts exactly as they would be sent, and end.")
    ] = 0,
    estimate: Annotated[bool, typer.Option("--estimate", help="Print calls, tokens and cost, and end.")] = False,
    to: Annotated[Path | None, typer.Option("--to", help="Where to write; without it the folder is changed.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a language model, as a rater like any other, and add its judgments to the corpus.

    Every reply is stored as it comes. A command that was interrupted goes on where it was left when it is given
    again. Keys are read from the environment (OPENAI_API_KEY) and never stored.
    """
    from vantage.errors import InputError
    from vantage.instruments import Instrument
    from vantage.raters.encoders import load_encoder

    folder, whole = texts_or_corpus(folder, to, instrument, mapping, write=not (show_ or estimate))
    part = filtered(whole, where)
    if limit is not None:
        part = part.filter(item=part.items["item"].head(limit).to_list())
    if part.items.is_empty():
        raise InputError("no items are left to be judged", file=folder, remedy="check --where and --limit")
    training = whole.filter(**conditions([shots_from])) if shots_from else None
    settings: dict[str, Any] = {key: number(value) for key, value in pairs(setting or [], "--setting").items()}
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
    if show_:
        _show(raters[0], part, known, asked, condition, show_)
    elif estimate:
        _estimate(raters, part, known, asked, condition, prices, batch=batch, as_json=as_json)
    else:
        carried = _options(
            prices,
            engine=_engine(engine, batch=batch),
            workers=workers,
            ray_address=ray_address,
            batch_protocol=batch_protocol,
            batch_wait=batch_wait,
            concurrency=concurrency,
            retry_failed=retry_failed,
            retry_unparsed=retry_unparsed,
            fail_on=fail_on,
            max_cost=max_cost,
            requests_per_minute=rpm,
            tokens_per_minute=tpm,
        )
        _ask(raters, part, known, asked, condition, carried, folder, to or folder, store, as_json=as_json)


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

    from vantage.raters.asked import asked_instrument, asked_questions

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
    batch: bool,
    as_json: bool,
) -> None:
    from dataclasses import asdict

    from vantage.raters.estimate import estimate, read_prices

    known = read_prices(prices) if prices else {}
    found = [estimate(r, part, instrument, questions=asked, condition=condition, prices=known) for r in raters]
    if batch:
        from dataclasses import replace

        from vantage.runs.tally import BATCH_SHARE

        found = [replace(one, cost=None if one.cost is None else one.cost * BATCH_SHARE) for one in found]
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


def _engine(engine: str, *, batch: bool) -> str:
    from vantage.errors import InputError

    if batch and engine not in ("local", "batch"):
        raise InputError(f"--batch and --engine {engine} were both given", remedy="choose one of them")
    return "batch" if batch else engine


def _options(prices: Path | None, **told: Any) -> Options:
    from vantage.raters.estimate import read_prices
    from vantage.runs.options import Options

    return Options(prices=read_prices(prices) if prices else {}, **told)


def _ask(
    raters: list[ChatRater],
    part: Corpus,
    instrument: Instrument,
    asked: list[str],
    condition: str,
    options: Options,
    folder: Path,
    to: Path,
    store: Path | None,
    *,
    as_json: bool,
) -> None:
    from vantage.cli.progress import run_progress
    from vantage.corpora import Corpus
    from vantage.runs.execution import run
    from vantage.runs.outcomes import summaries, write
    from vantage.runs.plan import Plan
    from vantage.runs.store import Store

    plan = Plan.of(part, raters, instrument, questions=asked, condition=condition)
    part.check_asked(plan.parts[0].used, plan.parts[0].asked, condition)
    if not to.exists():
        # The store stands in the folder from the start, so that a run that is cut off can go on.
        Corpus.read(folder).write(to)
    title = raters[0].id if len(raters) == 1 else f"{len(raters)} raters"
    with Store(store or to) as opened, run_progress(title) as progress:
        outcome = run(plan, opened, options, progress=progress)
        write(outcome, folder, to)
        where = opened.path
    rows = summaries(outcome)
    if as_json:
        told = {"run": outcome.run, "store": str(where), "complete": outcome.complete, "summary": outcome.tally.told()}
        print_json({**told, "raters": rows})
    else:
        _print_outcome(rows, outcome, where, to)
    if outcome.interrupted or outcome.tally.ended:
        ended = "interrupted" if outcome.interrupted else outcome.tally.ended
        typer.echo(f"vantage: {ended.rstrip('.')}; the same command, given again, goes on from there.", err=True)
        raise typer.Exit(130 if outcome.interrupted else 1)


def _print_outcome(rows: list[dict[str, Any]], outcome: Outcome, store: Path, to: Path) -> None:
    hidden = ("notes",)
    print_rows([{key: value for key, value in row.items() if key not in hidden} for row in rows])
    tally = outcome.tally
    parts = [f"{show(tally.sent)} sent", f"{show(tally.stored)} found in the store"]
    parts += [f"{show(tally.elsewhere)} sent by another process"] if tally.elsewhere else []
    parts += [f"{show(tally.retried)} tries repeated"] if tally.retried else []
    parts += [f"{show(tally.asked_again)} asked again because a reply could not be read"] if tally.asked_again else []
    parts += [f"{show(tally.failed)} failed"] if tally.failed else []
    parts += [f"cost {tally.cost:.4g}"] if tally.cost else []
    typer.echo(f"\nRun {outcome.run}: {', '.join(parts)}; replies are in {store}")
    if tally.missing:
        typer.echo(f"{show(tally.missing)} requests have no reply yet.")
    typer.echo(f"Wrote {to}")
    notes = [*tally.notes, *(note for row in rows for note in row["notes"])]
    for note in dict.fromkeys(notes):
        typer.echo(f"• {note}")


def number(text: str) -> int | float | str:
    """A word as a number where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
