"""`vantage rate`: ask a language model the questions of an instrument, and add its judgments to the corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage import collect, runs
from vantage.cli.corpora import texts_or_corpus
from vantage.cli.options import Connection, Limits, Values, conditions, filtered, options_of
from vantage.cli.output import VerbResult, printable, show
from vantage.cli.progress import estimated, run_progress, shown
from vantage.errors import InputError

if TYPE_CHECKING:
    Plan = Callable[[list[vantage.ChatRater]], runs.RunPlan]

Asked = Annotated[Values, options_of("runs/rating.py", "rate", only="condition vary design presentation")]
As = Annotated[
    Values, options_of("raters/chat.py", "ChatRater", only="style samples temperature max_tokens min_mass seed name")
]
Sending = Annotated[
    Values,
    options_of(
        "runs/options.py",
        "RunOptions",
        only="engine workers ray_address batch_wait retry_failed requests_per_minute tokens_per_minute",
        flags={"requests_per_minute": "--rpm", "tokens_per_minute": "--tpm"},
    ),
]


def rate(
    folder: Path | None = None,
    *,
    instrument: str | None = None,
    flow: str | None = None,
    model: list[str],
    asked: Asked,
    as_: As,
    question: Sequence[str],
    balanced: bool = False,
    template: Path | None = None,
    free: bool = False,
    persona: str | None = None,
    personas: int | None = None,
    user: Sequence[str],
    shots_from: str | None = None,
    retrieval: str = "tfidf",
    mapping: Mapping[str, str],
    where: list[str],
    limit: int | None = None,
    connection: Connection,
    limits: Limits,
    sending: Sending,
    store: Path | None = None,
    batch: bool = False,
    show_: int = 0,
    estimate: bool = False,
    to: Path | None = None,
) -> VerbResult | None:
    """Ask a language model, as a rater like any other, and add its judgments to the corpus.

    Every reply is stored as it arrives. Run an interrupted command again to resume it. Keys are read from the
    environment (OPENAI_API_KEY) and never stored.

    Arguments:
        folder: A corpus folder, or a file with one text per row.
    What is asked:
        instrument: What is asked: a bundled instrument (NAME or NAME:FORM) or a file (default: the corpus's own).
        flow (STUDY): The flow of a study for people, instead: a study file or flow:NAME.
        question (ID,…): Which questions to ask (default: all).
        condition style samples
        template: Use a published prompt verbatim (a Jinja2 file).
        free: Do not force replies into a JSON schema, so that a model can refuse.
    How it is put:
        vary design presentation
        balanced: With --vary: also add the average over presentations, as MODEL+balanced.
    About what:
        mapping where
        limit: Rate only this many items.
    Who answers:
        model: openai:NAME, gguf:PATH, recorded:PATH, embedded …; repeatable, to compare models (default: embedded).
        name
        persona: pool, control, or a persona file, for the persona styles.
        personas: How many personas to draw, balanced by their traits.
        user (RATER,…): Raters whose traits or history the prompt shows.
        shots_from (COLUMN=VALUE): Draw examples from these items, such as split=train.
        retrieval: How history finds similar items: tfidf, minilm or hf:NAME_OR_PATH.
        temperature max_tokens min_mass seed
    The connection:
        setting base_url concurrency requests_per_minute tokens_per_minute no_probe clarify canary
    Cost and failures:
        prices max_cost fail_on fallback retry_failed
    Engines:
        engine workers ray_address
        batch: Use the provider's batch API: within a day, mostly for half the price.
        batch_wait
    Output:
        show_: Print the first prompts exactly as they would be sent, and exit.
        store: The file that stores every reply (default: runs.sqlite in the corpus folder).
        estimate to json
    """
    from vantage.measures.aggregation.balanced import balanced as averaged
    from vantage.raters.asked import varied
    from vantage.raters.encoders import load_encoder
    from vantage.raters.templates import Template
    from vantage.runs.profiles import all_suited
    from vantage.runs.rating import write

    study = _study(flow, folder, instrument, question, asked.get("condition"), where, limit) if flow else None
    if study is not None:
        folder, whole = study.folder, study.corpus
        part, known = whole, study.instrument
    elif folder is None or (instrument is None and folder.is_file()):
        raise InputError("No corpus or instrument given", remedy="pass FOLDER and --instrument NAME, or --flow STUDY")
    else:
        folder, whole = texts_or_corpus(folder, to, instrument, mapping, write=not (show_ or estimate))
        part, known = _part(whole, folder, instrument, where, limit)
    style = f"{as_.pop('style', 'zero-shot')}{'+free' if free else ''}"
    parts, name, max_tokens = vantage.raters.Style.parse(style), as_.pop("name", None), as_.get("max_tokens")
    # A history is what the user answered to any item of the corpus, however few are judged now.
    training = whole if parts.voice == "history" and not parts.shots else None
    options: dict[str, Any] = {
        **as_,
        "style": style,
        "training": whole.filter(**conditions([shots_from])) if shots_from else training,
        "settings": connection,
        "encode": load_encoder(retrieval),
        "template": Template.load(template) if template else None,
    }
    engine, condition = sending.get("engine", "local"), asked.pop("condition", "")
    models = list(dict.fromkeys(model or ["embedded"]))
    needs = (
        ("--balanced", balanced, "--vary", asked.get("vary")),
        ("--design", asked.get("design", "balanced") != "balanced", "--vary", asked.get("vary")),
        ("--personas", personas, "--persona", persona),
        ("--shots-from", shots_from, "few-shot or history in --style", parts.shots or parts.voice == "history"),
        ("--retrieval", retrieval != "tfidf", "history in --style", parts.voice == "history"),
        ("--name", name, "one --model", len(models) == 1),
        ("--fallback", limits["fallbacks"], "a --model that is another one", not {*models} & {*limits["fallbacks"]}),
        ("--min-mass", "min_mass" in as_, "scoring or sampling in --style", parts.distribution),
        ("--workers", sending.get("workers"), "--engine ray", engine == "ray"),
        ("--batch-wait", "batch_wait" in sending, "--batch", batch or engine == "batch"),
    )
    _check(needs, as_)
    raters = [
        varied(rater, known, question, **asked)
        for one in models
        for rater in _raters(one, name, persona, personas, user, options)
    ]

    def plan_of(chosen: list[vantage.ChatRater]) -> runs.RunPlan:
        if study is not None:
            from vantage.collect.rating import flow_plan

            return flow_plan(study, chosen)
        return runs.RunPlan.of(part, chosen, known, questions=question, condition=condition)

    if show_:
        _show(plan_of(raters[:1]), show_)
        return None
    if batch and engine not in ("local", "batch"):
        raise InputError(f"--batch and --engine {engine} cannot be combined", remedy="choose one of them")
    carried = runs.RunOptions(**limits, **{**sending, "engine": "batch" if batch else engine})
    if estimate:
        return _estimate(plan_of, raters, carried, store or to or folder, max_tokens)
    with runs.RunStore(store or _started(folder, to or folder, plan_of(raters[:1]))) as opened:
        raters, notes = all_suited(raters, opened, carried, max_tokens=max_tokens)
        with run_progress(raters[0].id if len(raters) == 1 else f"{len(raters)} raters") as progress:
            outcome = runs.run(plan_of(raters), opened, carried, progress=progress)
            corpus = write(outcome, folder, to or folder)
            if study is not None and outcome.complete:
                corpus, more = _about_themselves(study, corpus, raters, opened, carried)
                notes += more
            if balanced:
                corpus = averaged(corpus, [rater.id for rater in raters])
            corpus.write(to or folder)
        return _ended(outcome, notes, opened.path, to or folder)


def _check(needs: Sequence[tuple[str, object, str, object]], as_: Values) -> None:
    """Refuses an option that has no effect without another, and warns of samples that are all alike."""
    for option in (one for one in needs if one[1] and not one[3]):
        raise InputError(f"{option[0]} has no effect without {option[2]}", remedy="add it, or leave the option out")
    if (samples := as_.get("samples", 1)) > 1 and not as_.get("temperature"):
        likeliest = f"at temperature 0, all {samples} samples are the same likeliest reply; add --temperature 1"
        typer.echo(f"vantage: {likeliest}", err=True)


def _started(folder: Path, to: Path, plan: runs.RunPlan) -> Path:
    """The folder of the store, created before the run so that an interrupted run can be resumed."""
    for part in plan.parts:
        part.corpus.check_asked(part.used, part.asked, part.condition)
    if not to.exists():
        vantage.Corpus.read(folder).write(to)
    return to


def _part(
    whole: vantage.Corpus, folder: Path, instrument: str | None, where: list[str], limit: int | None
) -> tuple[vantage.Corpus, vantage.Instrument]:
    """The items that are judged, and what is asked about them."""
    part, known = filtered(whole, where), vantage.Instrument.load(instrument) if instrument else _own(whole, folder)
    if limit is not None:
        part = part.filter(item=part.items["item"].head(limit).to_list())
    if part.items.is_empty():
        raise InputError("there are no items left to judge", file=folder, remedy="check --where and --limit")
    return part, known


def _own(corpus: vantage.Corpus, folder: Path) -> vantage.Instrument:
    """The instrument of a corpus, if it has one that is worded."""
    if len(corpus.instruments) != 1:
        ids = ", ".join(one.id for one in corpus.instruments)
        raise InputError(f"the corpus has several instruments ({ids})", file=folder, remedy="choose with --instrument")
    if corpus.instruments[0].inferred:
        remedy = (
            f"run: vantage new instrument NAME --from {folder}, put them into words, and pass --instrument NAME.yaml"
        )
        raise InputError("the questions of the corpus have no wording", file=folder, remedy=remedy)
    return corpus.instruments[0]


def _study(flow: str, folder: Path | None, instrument: str | None, *others: object) -> collect.AnnotationStudy:
    """The study whose flow is put to a model."""
    if instrument or any(others):
        problem = "--flow says what is asked about which items"
        raise InputError(problem, remedy="leave out --instrument, --question, --condition, --where and --limit")
    study = collect.AnnotationStudy.load(flow, folder)
    if folder is not None and folder.resolve() != study.folder:
        raise InputError(f"The study's corpus is {study.folder}, not {folder}", remedy="give only one of them")
    return study


def _about_themselves(
    study: collect.AnnotationStudy,
    corpus: vantage.Corpus,
    raters: list[vantage.ChatRater],
    store: runs.RunStore,
    options: runs.RunOptions,
) -> tuple[vantage.Corpus, list[str]]:
    """The corpus with what personas answer to the questionnaires of a flow, and what was not asked."""
    from vantage.collect.rating import ask_personas, flow_notes, with_traits

    traits, notes = ask_personas(study, raters, store, options)
    return with_traits(corpus, traits), [*flow_notes(study, raters), *notes]


def _raters(
    model: str, name: str | None, persona: str | None, drawn: int | None, users: Sequence[str], options: Values
) -> list[vantage.ChatRater]:
    from vantage.raters.personas import sample

    people = tuple(vantage.raters.Personas.load(persona)) if persona else ()
    chosen = sample(people, drawn, options.get("seed", 0)) if drawn else people
    asked_as = [(one, user) for one in chosen or (None,) for user in users or (None,)]
    raters = [vantage.ChatRater(model, persona=one, user=user, **options) for one, user in asked_as]
    return [replace(rater, name=f"{name}{rater.played}") for rater in raters] if name else raters


def _show(plan: runs.RunPlan, count: int) -> None:
    """The first prompts: every turn, with words in angle brackets where the model's own would be."""
    from vantage.raters.conversation import Conversations
    from vantage.raters.models.base import Completion, Message

    part = plan.parts[0]
    rater = part.rater
    calls = rater.plan(part.corpus, part.used, questions=part.asked, condition=part.condition)
    conversations = Conversations(rater, part.corpus, part.used, part.condition)
    words = {"relevance": "Answer: 10", "answer": "‹the answer›", "reasons": "‹the reasons›", "why": "‹why›"}
    for number, call in enumerate(islice(calls, count), 1):
        ways = ", ".join(dict.fromkeys(str(way) for way in call.presentations))
        about = f"item {call.item['item']}, {', '.join(q.id for q in call.questions)}"
        typer.echo(f"━━━ prompt {number}: {about}{f' ({ways})' if ways else ''}")
        conversation = conversations.about(call)
        ask, before = next(conversation), list[Message]()
        while True:
            # Of a later turn in the same chat, only what is new is shown.
            goes_on = bool(before) and [*ask.request.messages[:1]] == before[:1]
            if before:
                typer.echo(f"── then: {ask.step}" if goes_on else f"━━ then, in a new chat: {ask.step}")
            for message in ask.request.messages[len(before) if goes_on else 0 :]:
                typer.echo(f"── {message.role}\n{printable(message.content)}")
            if ask.options:
                typer.echo(f"── scored\n{', '.join(ask.options)}")
            if rater.parts.sampling and ask.step == "answer":
                typer.echo(f"── asked {rater.parts.sampling} times")
                break
            before = [*ask.request.messages]
            try:
                ask = conversation.send(Completion(words[ask.step], scores=tuple(0.0 for _ in ask.options) or None))
            except StopIteration:
                break
    typer.echo("Nothing was sent.")


def _estimate(
    plan_of: Plan, raters: list[vantage.ChatRater], options: runs.RunOptions, store: Path, max_tokens: int | None
) -> VerbResult:
    from vantage.runs.forecast import Forecast, prompt_notes
    from vantage.runs.profiles import all_suited
    from vantage.runs.store import NAME

    with ExitStack() as opened:
        there = store.is_file() or (store / NAME).is_file()
        known = opened.enter_context(runs.RunStore(store, read_only=True)) if there else None
        if known is not None:
            raters, _ = all_suited(raters, known, replace(options, probe=False), max_tokens=max_tokens)
        plan, forecast = plan_of(raters), Forecast(options, known)
        forecast.add(plan)
    notes = prompt_notes(plan.parts[0])
    described = {"design": raters[0].design.described(), "notes": notes} if raters[0].design else {}
    who = raters[0].id if len(raters) == 1 else f"{len(raters)} raters"
    rows = [{"rater": who, **shown(forecast.total)}]
    return VerbResult(
        [{**asdict(one), **described} for one in forecast.estimates],
        *estimated(rows, [*notes, *forecast.notes]),
    )


def _ended(outcome: runs.Outcome, notes: list[str], store: Path, to: Path) -> VerbResult:
    """The result of a run; exit code 130 if it was interrupted, 1 if it ended early."""
    from vantage.runs.rating import summaries

    rows, tally = summaries(outcome), outcome.tally
    tally.notes[:0] = notes
    parts = [f"{show(tally.sent)} sent", f"{show(tally.stored)} found in the store"]
    counts = {
        "sent by another process": tally.elsewhere,
        "retries": tally.retried,
        "asked to clarify": tally.clarified,
        "failed": tally.failed,
    }
    parts += [f"{show(count)} {what}" for what, count in counts.items() if count]
    parts += [f"cost {tally.cost:.4g}"] if tally.cost else ["cost not known"] if tally.cost is None else []
    ended = "interrupted" if outcome.interrupted else tally.ended
    if ended:
        # After a limit that was given, the same command would only end again.
        again = "" if tally.capped else "; run the same command again to resume"
        typer.echo(f"vantage: {ended.rstrip('.')}{again}.", err=True)
    data = {"run": outcome.run, "store": str(store), "complete": outcome.complete, "summary": tally.as_dict()}
    return VerbResult(
        {**data, "raters": rows},
        [{key: value for key, value in row.items() if key != "notes"} for row in rows],
        f"\nRun {outcome.run}: {', '.join(parts)}; replies are in {store}",
        *([f"{show(tally.missing)} requests have no reply yet."] if tally.missing else ()),
        f"Wrote {to}",
        *(f"• {note}" for note in dict.fromkeys([*tally.notes, *(note for row in rows for note in row["notes"])])),
        code=130 if outcome.interrupted else 1 if ended else 0,
    )
