"""`vantage rate`: put an instrument to a language model and add its judgments to the corpus."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage.cli.corpora import TextColumns, Where, conditions, filtered, texts_or_corpus
from vantage.cli.options import TO, in_groups, names, options_of, shared, with_connection, with_limits
from vantage.cli.output import Json, print_json, print_rows, printable, show
from vantage.cli.progress import print_estimate, run_progress, shown
from vantage.errors import InputError

_sending = options_of(
    "runs/options.py",
    "RunOptions",
    only="engine workers ray_address batch_wait retry_failed requests_per_minute tokens_per_minute",
    flags={"requests_per_minute": "--rpm", "tokens_per_minute": "--tpm"},
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from vantage.collect import AnnotationStudy
    from vantage.corpora import Corpus
    from vantage.instruments import Instrument
    from vantage.raters.chat import ChatRater
    from vantage.raters.conversation import Conversation
    from vantage.runs.execution import Outcome
    from vantage.runs.options import RunOptions
    from vantage.runs.plan import RunPlan


@in_groups(
    {
        "What is asked": "instrument flow question condition style samples template free",
        "How it is put": "vary design presentation balanced",
        "About what": "mapping where limit",
        "Who answers": "model name persona personas user shots_from retrieval temperature max_tokens min_mass seed",
        "The connection": "setting base_url concurrency requests_per_minute tokens_per_minute unprobed clarify canary",
        "Cost and failures": "prices max_cost fail_on fallback retry_failed",
        "Engines": "engine workers ray_address batch batch_wait",
        "Output": "show_ estimate store to as_json",
    }
)
@with_connection
@with_limits
@shared("sending", _sending)
def rate(
    connection: dict[str, Any],
    limits: dict[str, Any],
    sending: dict[str, Any],
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="A corpus folder, or a file with one text per row.")
    ] = None,
    instrument: Annotated[
        str | None,
        typer.Option(
            help="What is asked: a bundled instrument (NAME or NAME:FORM) or a file (default: the corpus's own)."
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(metavar="STUDY", help="Instead: the flow of a study file of collect, or flow:NAME."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="openai:NAME, gguf:PATH, recorded:PATH, embedded …; several times: side by side (embedded)."),
    ] = None,
    style: Annotated[
        str, typer.Option(help="Parts joined by +, such as few-shot:4+reasoning; see docs/raters.md.")
    ] = "zero-shot",
    question: Annotated[
        str | None, typer.Option("--question", metavar="ID,…", help="Which questions to ask (default: all).")
    ] = None,
    condition: Annotated[str, typer.Option(help="The condition, such as static or context.")] = "",
    samples: Annotated[int, typer.Option(help="How many times to ask each question, in every presentation.")] = 1,
    vary: Annotated[
        str,
        typer.Option(
            metavar="FACTOR,…",
            help="Presentation factors to vary: order, labels, wording … (docs/presentations.md).",
        ),
    ] = "",
    design: Annotated[str, typer.Option(help="With --vary: balanced or full.")] = "balanced",
    presentation: Annotated[
        str, typer.Option(metavar="FACTOR=LEVEL …", help="What is the same for all, such as 'order=down'.")
    ] = "",
    balanced: Annotated[
        bool, typer.Option("--balanced", help="With --vary: add the average over presentations as MODEL+balanced.")
    ] = False,
    template: Annotated[
        Path | None, typer.Option(help="Put a prompt of a published release as it is printed (a Jinja2 file).")
    ] = None,
    temperature: Annotated[float, typer.Option(help="0 for the most probable reply.")] = 0.0,
    max_tokens: Annotated[
        int | None, typer.Option(help="Maximum length of a reply in tokens (512; 4,096 for reasoning models).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    name: Annotated[str, typer.Option(help="The rater's id in the corpus (default: MODEL+STYLE).")] = "",
    persona: Annotated[
        str | None, typer.Option(help="pool, control, or a persona file, for the persona styles.")
    ] = None,
    personas: Annotated[int | None, typer.Option(help="How many personas to draw, balanced by their traits.")] = None,
    user: Annotated[
        str | None,
        typer.Option(metavar="RATER,…", help="Raters whose traits or history the prompt shows."),
    ] = None,
    shots_from: Annotated[
        str | None,
        typer.Option(metavar="COLUMN=VALUE", help="Draw examples from these items, such as split=train."),
    ] = None,
    retrieval: Annotated[
        str, typer.Option(help="What makes items similar for history: tfidf, minilm or hf:NAME_OR_PATH.")
    ] = "tfidf",
    mapping: TextColumns = None,
    min_mass: Annotated[
        float | None,
        typer.Option(help="Least total probability of the scored options (0.5; embedded: 0)."),
    ] = None,
    free: Annotated[
        bool, typer.Option("--free", help="Do not force replies into a JSON schema, so that a model can refuse.")
    ] = False,
    where: Where = None,
    limit: Annotated[int | None, typer.Option(help="Rate only this many items.")] = None,
    store: Annotated[
        Path | None, typer.Option(help="The file that stores every reply (default: runs.sqlite in the corpus folder).")
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the provider's batch API: half the price, within a day.")
    ] = False,
    show_: Annotated[
        int, typer.Option("--show", help="Print the first prompts exactly as they would be sent, and exit.")
    ] = 0,
    estimate: Annotated[bool, typer.Option("--estimate", help="Print calls, tokens, cost and time, and exit.")] = False,
    to: Annotated[Path | None, typer.Option(*TO, help="Where to write; without it the folder is changed.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a language model, as a rater like any other, and add its judgments to the corpus.

    Every reply is stored as it arrives. Run an interrupted command again to resume it. Keys are read from the
    environment (OPENAI_API_KEY) and never stored.
    """
    from vantage.raters.asked import varied
    from vantage.raters.encoders import load_encoder
    from vantage.raters.style import Style
    from vantage.raters.templates import Template
    from vantage.runs.options import RunOptions
    from vantage.runs.plan import RunPlan

    study = _study(flow, folder, instrument, question, condition, where, limit) if flow else None
    if study is not None:
        folder, whole = study.folder, study.corpus
        part, known = whole, study.instrument
    elif folder is None or (instrument is None and folder.is_file()):
        raise InputError("No corpus or instrument given", remedy="pass FOLDER and --instrument NAME, or --flow STUDY")
    else:
        folder, whole = texts_or_corpus(folder, to, instrument, mapping, write=not (show_ or estimate))
        part, known = filtered(whole, where), vantage.Instrument.load(instrument) if instrument else _own(whole, folder)
        if limit is not None:
            part = part.filter(item=part.items["item"].head(limit).to_list())
        if part.items.is_empty():
            raise InputError("no items are left to judge", file=folder, remedy="check --where and --limit")
    style = f"{style}+free" if free else style
    parts = Style.parse(style)
    # A history is what the user answered to any item of the corpus, however few are judged now.
    remembered = whole if parts.voice == "history" and not parts.shots else None
    training = whole.filter(**conditions([shots_from])) if shots_from else remembered
    options: dict[str, Any] = {
        "samples": samples,
        "min_mass": min_mass,
        "temperature": temperature,
        "max_tokens": 512 if max_tokens is None else max_tokens,
        "seed": seed,
        "training": training,
        "settings": connection,
        "encode": load_encoder(retrieval),
        "template": Template.load(template) if template else None,
    }
    if samples > 1 and temperature == 0:
        typer.echo(
            f"vantage: {samples} samples at temperature 0 are {samples} times the likeliest reply; add --temperature 1",
            err=True,
        )
    engine = sending.get("engine", "local")
    asked, models = names(question), list(dict.fromkeys(model or ["embedded"]))
    for option, given, needed, there in (
        ("--balanced", balanced, "--vary", vary),
        ("--design", design != "balanced", "--vary", vary),
        ("--personas", personas, "--persona", persona),
        ("--shots-from", shots_from, "few-shot or history in --style", parts.shots or parts.voice == "history"),
        ("--retrieval", retrieval != "tfidf", "history in --style", parts.voice == "history"),
        ("--name", name, "one --model", len(models) == 1),
        ("--fallback", limits["fallbacks"], "a --model that is another one", not {*models} & {*limits["fallbacks"]}),
        ("--min-mass", min_mass is not None, "scoring or sampling in --style", parts.distribution),
        ("--workers", sending.get("workers"), "--engine ray", engine == "ray"),
        ("--batch-wait", "batch_wait" in sending, "--batch", batch or engine == "batch"),
    ):
        if given and not there:
            raise InputError(f"{option} has no effect without {needed}", remedy="add it, or leave the option out")
    raters = [
        varied(rater, known, asked, vary=vary, design=design, presentation=presentation)
        for one in models
        for rater in _raters(one, style, name, persona, personas, names(user), options)
    ]

    def plan_of(chosen: list[ChatRater]) -> RunPlan:
        if study is not None:
            from vantage.collect.rating import flow_plan

            return flow_plan(study, chosen)
        return RunPlan.of(part, chosen, known, questions=asked, condition=condition)

    if show_:
        _show(plan_of(raters[:1]), show_)
        return
    if batch and engine not in ("local", "batch"):
        raise InputError(f"--batch and --engine {engine} cannot be combined", remedy="choose one of them")
    carried = RunOptions(**limits, **{**sending, "engine": "batch" if batch else engine})
    if estimate:
        _estimate(plan_of, raters, carried, store or to or folder, max_tokens, as_json=as_json)
    else:
        ask = _Asking(plan_of, study, carried, folder, to or folder, store, max_tokens, balanced, as_json)
        ask.run(raters)


def _own(corpus: Corpus, folder: Path) -> Instrument:
    """The instrument of a corpus, if it has one that is worded."""
    if len(corpus.instruments) != 1:
        ids = ", ".join(one.id for one in corpus.instruments)
        raise InputError(f"The corpus has several instruments ({ids})", file=folder, remedy="choose with --instrument")
    if corpus.instruments[0].inferred:
        remedy = (
            f"run: vantage new instrument NAME --from {folder}, put them into words, and pass --instrument NAME.yaml"
        )
        raise InputError("The questions of the corpus have no wording", file=folder, remedy=remedy)
    return corpus.instruments[0]


def _study(flow: str, folder: Path | None, instrument: str | None, *others: object) -> AnnotationStudy:
    """The study whose flow is put to a model."""
    from vantage.collect import AnnotationStudy

    if instrument or any(others):
        problem = "--flow says what is asked about which items"
        raise InputError(problem, remedy="leave out --instrument, --question, --condition, --where and --limit")
    study = AnnotationStudy.load(flow, folder)
    if folder is not None and folder.resolve() != study.folder:
        raise InputError(f"The study's corpus is {study.folder}, not {folder}", remedy="give only one of them")
    return study


def _raters(
    model: str,
    style: str,
    name: str,
    persona: str | None,
    drawn: int | None,
    users: list[str],
    options: dict[str, Any],
) -> list[ChatRater]:
    from vantage.raters.chat import ChatRater
    from vantage.raters.personas import Personas, sample

    people = tuple(Personas.load(persona)) if persona else ()
    chosen = sample(people, drawn, options["seed"]) if drawn else people
    asked_as = [(one, user) for one in chosen or (None,) for user in users or (None,)]
    raters = [ChatRater(model, style, persona=one, user=user, **options) for one, user in asked_as]
    return [replace(rater, name=f"{name}{rater.played}") for rater in raters] if name else raters


def _show(plan: RunPlan, count: int) -> None:
    from vantage.raters.conversation import Conversations

    part = plan.parts[0]
    rater = part.rater
    calls = rater.plan(part.corpus, part.used, questions=part.asked, condition=part.condition)
    conversations = Conversations(rater, part.corpus, part.used, part.condition)
    for number, call in enumerate(islice(calls, count), 1):
        ways = ", ".join(dict.fromkeys(str(way) for way in call.presentations))
        asked_so = f" ({ways})" if ways else ""
        about = f"item {call.item['item']}, {', '.join(q.id for q in call.questions)}"
        typer.echo(f"━━━ prompt {number}: {about}{asked_so}")
        _show_turns(conversations.about(call), rater)
    typer.echo("Nothing was sent.")


def _show_turns(conversation: Conversation, rater: ChatRater) -> None:
    """Every turn that is sent, with words in angle brackets where the model's own would be."""
    from vantage.raters.models.base import Completion

    ask, seen = next(conversation), 0
    while True:
        for message in ask.request.messages[seen:]:
            typer.echo(f"── {message.role}\n{printable(message.content)}")
        if ask.options:
            typer.echo(f"── scored\n{', '.join(ask.options)}")
        if rater.parts.sampling and ask.step == "answer":
            typer.echo(f"── asked {rater.parts.sampling} times")
            return
        words = {"relevance": "Answer: 10", "answer": "‹the answer›", "reasons": "‹the reasons›", "why": "‹why›"}
        scores = tuple(0.0 for _ in ask.options) or None
        before = ask
        try:
            ask = conversation.send(Completion(words[ask.step], scores=scores))
        except StopIteration:
            return
        # A later turn of the same chat is shown from where it goes on.
        seen = len(before.request.messages) if ask.request.messages[:1] == before.request.messages[:1] else 0
        typer.echo(f"── then: {ask.step}" if seen else f"━━ then, in a new chat: {ask.step}")


def _estimate(
    plan_of: Callable[[list[ChatRater]], RunPlan],
    raters: list[ChatRater],
    options: RunOptions,
    store: Path,
    max_tokens: int | None,
    *,
    as_json: bool,
) -> None:
    from vantage.runs.forecast import Forecast, prompt_notes
    from vantage.runs.profiles import all_suited
    from vantage.runs.store import NAME, RunStore

    with ExitStack() as opened:
        there = store.is_file() or (store / NAME).is_file()
        known = opened.enter_context(RunStore(store, read_only=True)) if there else None
        if known is not None:
            raters, _ = all_suited(raters, known, replace(options, probe=False), max_tokens=max_tokens)
        plan, forecast = plan_of(raters), Forecast(options, known)
        forecast.add(plan)
    notes = prompt_notes(plan.parts[0])
    if as_json:
        described = {"design": raters[0].design.described(), "notes": notes} if raters[0].design else {}
        print_json([{**asdict(one), **described} for one in forecast.estimates])
        return
    who = raters[0].id if len(raters) == 1 else f"{len(raters)} raters"
    print_estimate([{"rater": who, **shown(forecast.total)}], [*notes, *forecast.notes])


@dataclass(frozen=True, slots=True)
class _Asking:
    """What a command asks, and how it is carried out."""

    plan_of: Callable[[list[ChatRater]], RunPlan]
    study: AnnotationStudy | None
    """The study whose flow is asked, if there is one."""
    options: RunOptions
    folder: Path
    to: Path
    store: Path | None
    max_tokens: int | None
    balanced: bool
    as_json: bool

    def run(self, raters: list[ChatRater]) -> None:
        from vantage.runs.execution import run
        from vantage.runs.profiles import all_suited
        from vantage.runs.rating import summaries, write
        from vantage.runs.store import RunStore

        for part in self.plan_of(raters[:1]).parts:
            part.corpus.check_asked(part.used, part.asked, part.condition)
        if not self.to.exists():
            # The store stands in the folder from the start, so that a run that is cut off can go on.
            vantage.Corpus.read(self.folder).write(self.to)
        title = raters[0].id if len(raters) == 1 else f"{len(raters)} raters"
        with RunStore(self.store or self.to) as opened:
            raters, notes = all_suited(raters, opened, self.options, max_tokens=self.max_tokens)
            with run_progress(title) as progress:
                outcome = run(self.plan_of(raters), opened, self.options, progress=progress)
                corpus = write(outcome, self.folder, self.to)
                if self.study is not None and outcome.complete:
                    from vantage.collect.rating import flow_notes

                    notes += flow_notes(self.study)
                if self.balanced:
                    from vantage.measures.aggregation.balanced import balanced

                    balanced(corpus, [rater.id for rater in raters]).write(self.to)
            where = opened.path
        outcome.tally.notes[:0] = notes
        rows = summaries(outcome)
        if self.as_json:
            tally = outcome.tally.as_dict()
            summary = {"run": outcome.run, "store": str(where), "complete": outcome.complete, "summary": tally}
            print_json({**summary, "raters": rows})
        else:
            _print_outcome(rows, outcome, where, self.to)
        if outcome.interrupted or outcome.tally.ended:
            ended = "interrupted" if outcome.interrupted else outcome.tally.ended
            # After a limit that was given, the same command would only end again.
            again = "" if outcome.tally.capped else "; run the same command again to resume"
            typer.echo(f"vantage: {ended.rstrip('.')}{again}.", err=True)
            raise typer.Exit(130 if outcome.interrupted else 1)


def _print_outcome(rows: list[dict[str, Any]], outcome: Outcome, store: Path, to: Path) -> None:
    print_rows([{key: value for key, value in row.items() if key != "notes"} for row in rows])
    tally = outcome.tally
    parts = [f"{show(tally.sent)} sent", f"{show(tally.stored)} found in the store"]
    parts += [f"{show(tally.elsewhere)} sent by another process"] if tally.elsewhere else []
    parts += [f"{show(tally.retried)} tries repeated"] if tally.retried else []
    parts += [f"{show(tally.clarified)} asked which answer a reply gives"] if tally.clarified else []
    parts += [f"{show(tally.failed)} failed"] if tally.failed else []
    parts += [f"cost {tally.cost:.4g}"] if tally.cost else ["cost not known"] if tally.cost is None else []
    typer.echo(f"\nRun {outcome.run}: {', '.join(parts)}; replies are in {store}")
    if tally.missing:
        typer.echo(f"{show(tally.missing)} requests have no reply yet.")
    typer.echo(f"Wrote {to}")
    notes = [*tally.notes, *(note for row in rows for note in row["notes"])]
    for note in dict.fromkeys(notes):
        typer.echo(f"• {note}")
