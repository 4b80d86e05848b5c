"""How the study collects: simulated readers, written contexts, and models that judge with and without them.

Models judge in every style, several times; their examples come from outside the sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.raters.asked import varied
from vantage.raters.chat import ChatRater
from vantage.raters.shots import corpus_shots
from vantage.raters.style import Style
from vantage.studies.base import listed
from vantage.studies.context.analysis import COSTS
from vantage.studies.context.checking import leave
from vantage.studies.context.options import ContextOptions
from vantage.studies.context.pipeline.ambiguity import SURFACE
from vantage.studies.context.pipeline.attempts import shared_models
from vantage.studies.context.pipeline.controls import (
    CONTEXT,
    CONTROLS,
    STATIC,
    Contexts,
    Control,
    attached,
    condition_of,
    with_context,
)
from vantage.studies.context.pipeline.dialogue import first_person
from vantage.studies.context.pipeline.generation import generate
from vantage.studies.context.pipeline.sequential import simulate, simulation_plan
from vantage.studies.context.pipeline.simulation import METHODS, Simulator, with_several
from vantage.studies.context.pipeline.writing import TEMPERATURE
from vantage.studies.context.tasks import (
    LABEL,
    Task,
    check_scale,
    chosen_tasks,
    labels_of,
    question_of,
    read_task,
    sampled,
)
from vantage.studies.execution import Context, store_of

POOR: Final = (
    "The contexts were written by the embedded model, which is far too small for it: what it writes is poor, often "
    "not a conversation at all, and says nothing about whether context helps. The machinery is what is shown."
)
DETECTED_POORLY: Final = (
    "Ambiguity was simulated with the embedded model, whose judgments are not valid measurements; read its rows beside "
    "those that need no model."
)


STOPPED: Final = (
    "Simulated readers are counted as asked as often as they may be; they stop earlier about items whose entropy is "
    "known well enough to rank them."
)
GATED: Final = "Every persona is counted as asked about every item, however relevant: the most calls there can be."


def collect(context: Context[ContextOptions]) -> Corpus:
    """The sample of every task with people's votes, simulated readers, contexts, and what the models say."""
    assert context.data is not None  # noqa: S101 - the study needs data
    tasks = chosen_tasks(context.options.tasks)
    _check(context)
    people = Corpus.read(context.options.people) if context.options.people else None
    corpora: list[Corpus] = []
    context.noted[COSTS] = {}
    for task in tasks:
        whole = _in_first_person(context, read_task(context.data, task), task)
        part = sampled(whole, context.options.items, context.seed)
        part = _with_people(part, task, people, context.options.people)
        part = _simulated(context, part, task)
        part = _evaluated(context, whole, *_with_contexts(context, part, task))
        corpora.append(part)
        context.reached = corpora[0].merge(*corpora[1:])
    _warn(context)
    whole = corpora[0].merge(*corpora[1:])
    if context.options.check and not context.plans:
        context.warn(leave(whole, context.options.check, context.folder, context.seed))
    return whole


def _check(context: Context[ContextOptions]) -> None:
    """Refuses options that would only be found wrong after everything was asked."""
    options = context.options
    options.spread()
    options.judging(context.seed)
    listed(options.methods, [*SURFACE, *METHODS], "method of detection")
    listed(options.controls, CONTROLS, "control")
    if set(listed(options.methods)) - set(SURFACE) and not Roles.of(context).simulators:
        context.warn("No model was named, so that only methods of detection that need none were used.")


def _in_first_person(context: Context[ContextOptions], whole: Corpus, task: Task) -> Corpus:
    """The statements that somebody could say in a conversation, so that the sample is drawn from these alone."""
    if not context.options.first_person:
        return whole
    kept = [item for item, text in whole.items.select("item", "text").iter_rows() if first_person(text)]
    if not kept:
        raise InputError(
            f"no statement of the task '{task.name}' is made in the first person", remedy="pass --first-person no"
        )
    if left := len(whole.items) - len(kept):
        context.warn(
            f"{task.title}: {left:,} of {len(whole.items):,} statements are not made in the first person and were left "
            "out before the sample was drawn (--first-person no keeps them)."
        )
    return whole.filter(pl.col("item").is_in(kept))


@dataclass(frozen=True)
class Roles:
    """Who does what in a run, each model with settings of its own; nobody where no model was named.

    Args:
        simulators: The models that answer as many readers.
        judges: The models that judge statements themselves.
        writer: The model that writes contexts.
        verifier: The model that checks them.
    """

    simulators: list[ChatRater]
    judges: list[ChatRater]
    writer: ChatRater | None = None
    verifier: ChatRater | None = None

    @classmethod
    def of(cls, context: Context[ContextOptions]) -> Roles:
        """The roles as the options of a study name them; the models of `--model` have those that they leave open."""
        options = context.options

        def only(role: str, named: str, **drawn: Any) -> ChatRater | None:
            raters = context.raters(role=named, **drawn) if named else []
            if len(raters) > 1:
                raise InputError(f"{len(raters)} models are named for the role {role}", remedy="name one")
            return raters[0] if raters else None

        writer = only("writer", options.writer, temperature=TEMPERATURE)
        judges = context.raters(role=options.judge) if options.evaluate else []
        return cls(context.raters(role=options.simulator), judges, writer, only("verifier", options.verifier))


def simulator(context: Context[ContextOptions], model: ChatRater) -> Simulator:
    """A model as the study's options say that readers are simulated with it."""
    options = context.options
    names = ("personas", "answers", "samples", "stop", "most", "draws")
    same: dict[str, Any] = {name: getattr(options, name) for name in names}
    drawn = {"temperature": model.temperature} if model.temperature else {}
    own: dict[str, Any] = {"max_tokens": model.max_tokens, "settings": model.settings, **drawn}
    return Simulator(model.model_name, count=options.persona_count, seed=context.seed, **same, **own)


def _simulated(context: Context[ContextOptions], corpus: Corpus, task: Task) -> Corpus:
    """The corpus with the answers of simulated readers, one run for each model and method."""
    methods = [name for name in listed(context.options.methods) if name not in SURFACE]
    for reader in Roles.of(context).simulators:
        how, model = simulator(context, reader), reader.model_name
        for method in methods:
            assumed = STOPPED if how.stops(method) else GATED * how.gates(method)
            if not context.asks(simulation_plan(corpus, task.instrument, how, method), assumed):
                continue
            title = f"{task.name}: {method} readers by {model}"
            with store_of(context) as store, context.step(title) as moved:
                asked: dict[str, Any] = {"store": store, "options": context.carried, "progress": moved}
                simulated = simulate(corpus, task.instrument, how, method, **asked)
            corpus = simulated.corpus
            context.noted[COSTS][task.name, model, method] = simulated.cost
            for note in simulated.notes:
                context.warn(note)
    return corpus


def _with_contexts(
    context: Context[ContextOptions], corpus: Corpus, task: Task
) -> tuple[Corpus, Instrument, list[str]]:
    """The corpus with written contexts, the instrument that shows them, and the conditions that it has for them."""
    instrument, writer = Instrument.load(task.instrument), Roles.of(context).writer
    controls = cast(list[Control], listed(context.options.controls))
    if writer is None and controls != ["turns"]:
        there = "conversation" in corpus.items.columns and corpus.items["conversation"].count() > 0
        return corpus, instrument, [CONTEXT] if there else []
    written = []
    for control in controls:
        written.append(_generated(context, corpus, instrument, control, f"{task.name}: contexts ({control})"))
        for sentence in written[-1].warnings:
            context.warn(sentence)
    corpus, extended = attached(corpus, instrument, *written)
    kept = {one.control: one.kept for one in written}
    return corpus, extended, [condition_of(control) for control in controls if kept[control]]


def _generated(
    context: Context[ContextOptions], corpus: Corpus, instrument: Instrument, control: Control, title: str
) -> Contexts:
    """Contexts of one kind as the study's options say that they are written and checked."""
    options, roles = context.options, Roles.of(context)
    by = f" by {roles.writer.model_name}" if roles.writer else ""
    with (
        nullcontext() if context.plans else store_of(context) as store,
        context.step(f"{title}{by}", len(corpus.items)) as moved,
    ):
        return generate(
            corpus,
            instrument,
            roles.writer,
            roles.verifier,
            control=control,
            attempts=options.attempts,
            first_person=options.first_person,
            least=options.least,
            labels=LABEL,
            store=store,
            seed=context.seed,
            options=context.carried,
            progress=moved,
            asks=context.asks if context.plans else None,
        )


def _evaluated(
    context: Context[ContextOptions], whole: Corpus, corpus: Corpus, instrument: Instrument, conditions: Sequence[str]
) -> Corpus:
    """The corpus with the models' own judgments: static, and with every kind of context where it is."""
    options = context.options
    if not Roles.of(context).judges:
        return corpus
    labels = labels_of(whole.items)
    pool = example_corpus(whole.items, labels, instrument, corpus.items, seed=context.seed)
    examples = {STATIC: pool}
    if CONTEXT in conditions and any(Style.parse(style).shots for style in listed(options.styles)):
        examples[CONTEXT] = _generated(context, pool, instrument, "label", "contexts of examples").corpus
    return ask_models(context, corpus, instrument, [STATIC, *conditions], examples)


def _with_people(corpus: Corpus, task: Task, people: Corpus | None, folder: str) -> Corpus:
    """The corpus with what people said at a collect server, in the place of third-party votes on the same items."""
    if people is None:
        return corpus
    question = question_of(task)
    if question.id not in [one.id for one in people.questions]:
        return corpus
    check_scale(people, question, folder)
    persons = people.raters.filter(pl.col("kind").cast(pl.String) == "person")
    said = people.judgments.filter(pl.col("question") == question.id).join(persons, on="rater", how="semi")
    said = said.join(corpus.items, on="item", how="semi")
    if said.is_empty():
        raise InputError(
            f"people judged none of the items of the task '{task.name}'",
            file=folder,
            remedy="collect on the corpus folder that this study wrote, with the same seed and number of items",
        )
    said = said.with_columns(pl.when(pl.col("condition") == "").then(pl.lit(STATIC)).otherwise("condition"))
    columns = [name for name in said.columns if name in corpus.judgments.columns]
    raters = persons.join(said, on="rater", how="semi").select("rater", "kind")
    conversation = [c for c in people.items.columns if c.startswith("conversation") and c not in corpus.items.columns]
    items = corpus.items.join(people.items.select("item", *conversation), on="item", how="left", maintain_order="left")
    empty = Corpus(items, corpus.raters.clear(), corpus.judgments.clear(), corpus.instruments, corpus.about)
    return empty.add(said.select(columns), raters)


def _warn(context: Context[ContextOptions]) -> None:
    options = context.options
    roles = Roles.of(context)
    if roles.writer and roles.writer.model_name == "embedded":
        context.warn(POOR)
    if set(listed(options.methods)) - set(SURFACE) and "embedded" in [one.model_name for one in roles.simulators]:
        context.warn(DETECTED_POORLY)
    if roles.writer:
        checks = (roles.verifier or roles.writer).model_name
        for sentence in shared_models(roles.writer.model_name, checks, [one.model_name for one in roles.judges]):
            context.warn(sentence)


EXAMPLES: Final = 24
"""Items that examples are drawn from: twice as many as the longest prompt shows, and some to spare."""
EXAMPLE_RATER: Final = "label"


def example_corpus(
    items: pl.DataFrame,
    labels: pl.DataFrame,
    instrument: Instrument,
    sample: pl.DataFrame,
    *,
    count: int = EXAMPLES,
    seed: int = 0,
) -> Corpus:
    """Items with their labels to draw few-shot examples from, as many of every label; never one of the sample.

    Neither is one with the text of a sampled item, whatever its id.

    >>> sarcasm = Instrument.load("sarcasm")
    >>> pool = pl.DataFrame({"item": ["a", "b", "c"], "text": ["Fine.", "fine. ", "Great."]})
    >>> labels = pl.DataFrame({"item": ["a", "b", "c"], "value": [0.0, 0.0, 1.0]})
    >>> example_corpus(pool, labels, sarcasm, pool.head(1)).items["item"].to_list()
    ['c']

    Args:
        items: All items, with the column `text`.
        labels: The labels, as codes: `item` and `value`.
        instrument: The task.
        sample: The items that are judged.
        count: How many there are at most.
        seed: The seed of the draw.
    """
    key = pl.col("text").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    labelled = labels.select("item", "value").drop_nulls()
    pool = items.filter(pl.col("text").is_not_null()).join(labelled, on="item").with_columns(key.alias("__key"))
    taken = sample.select(key.alias("__key"), "item")
    pool = pool.join(taken, on="item", how="anti").join(taken, on="__key", how="anti")
    pool = pool.unique("__key", keep="first", maintain_order=True)
    order = np.random.default_rng(seed).permutation(len(pool))
    drawn = pool[order].with_columns(pl.int_range(pl.len()).over("value").alias("__turn"))
    drawn = drawn.sort("__turn", "value").head(count)
    judged = drawn.select(
        "item", pl.lit(instrument.questions[0].id).alias("question"), pl.lit(EXAMPLE_RATER).alias("rater"), "value"
    )
    raters = pl.DataFrame({"rater": [EXAMPLE_RATER], "kind": ["slot"]})
    return Corpus(drawn.drop("value", "__key", "__turn"), raters, judged, instrument)


def ask_models(
    context: Context[ContextOptions],
    corpus: Corpus,
    instrument: Instrument,
    conditions: Sequence[str],
    examples: Mapping[str, Corpus],
) -> Corpus:
    """The corpus with the judgments of every model of a study, in every style and under every condition.

    Under a condition with context, only the items that have one are judged. A style with examples is left out, with a
    warning, under a condition for which there are not enough of them. Under the controls of context, models are asked
    without examples only. A style that gives the whole distribution is asked once.

    Args:
        context: The study, with its models and options.
        corpus: The sample, with contexts as `pipeline.controls.attached` puts them there.
        instrument: The task, with a condition for each kind of context.
        conditions: What is asked.
        examples: What few-shot examples are drawn from under each condition (see `example_corpus`).
    """
    options, questions = context.options, instrument.questions[:1]
    pools = {name: corpus_shots(part, questions) for name, part in examples.items()}
    for style in map(Style.parse, listed(options.styles)):
        how: dict[str, Any] = (
            {} if style.distribution else {"samples": options.runs, "temperature": options.temperature}
        )
        for condition in conditions:
            if style.shots:
                if condition not in (STATIC, CONTEXT):
                    continue
                there = len(pools.get(condition, ()))
                if there < style.shots:
                    context.warn(
                        f"{style.name} was left out under the condition {condition} of {instrument.id}: there are "
                        f"{there} worked examples for it outside the sample."
                    )
                    continue
                how["training"] = examples[condition]
            part = corpus if condition == STATIC else with_context(corpus, condition, instrument)
            raters = [_in_style(one, style, how) for one in Roles.of(context).judges]
            if not options.ambiguous:
                ids = [questions[0].id]
                raters = [varied(one, instrument, ids, presentation="optout=hidden") for one in raters]
            asked = part.items["item"].to_list()
            if asked:
                ids = [questions[0].id]
                corpus = context.rate(corpus, raters, instrument, questions=ids, condition=condition, items=asked)
    return corpus


def _in_style(judge: ChatRater, style: Style, how: Mapping[str, Any]) -> ChatRater:
    """A judging model in one style; what its role says of sampling comes before what the study says."""
    own = {"temperature": judge.temperature} if judge.temperature else {}
    settings = with_several(judge.model_name, judge.settings)
    return replace(judge, style=style, settings=settings, **{**how, **own})
