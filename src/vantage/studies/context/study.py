"""The study: read statements, simulate readers, write contexts, ask models about both, and run the recipe."""

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
from vantage.studies.base import listed, paper_prompts
from vantage.studies.context import changes, contexts, detection, models
from vantage.studies.context.analysis import COSTS, ContextAnalysis, judging
from vantage.studies.context.contexts import SERVED, contexts_to_check
from vantage.studies.context.pipeline import controls
from vantage.studies.context.pipeline.ambiguity import SURFACE
from vantage.studies.context.pipeline.controls import Contexts, Control
from vantage.studies.context.pipeline.dialogue import first_person
from vantage.studies.context.pipeline.generation import TEMPERATURE, generate, shared_models
from vantage.studies.context.pipeline.simulation import METHODS, Simulator, simulate, simulation_plan, with_several
from vantage.studies.context.tasks import Task, check_scale, chosen_tasks, labels_of, question_of, read_task, sampled
from vantage.studies.execution import Context, leave, store_of
from vantage.studies.recipes import recipe_study

POOR: Final = (
    "The embedded model simulated readers or wrote contexts, for which it is far too small: nothing can be concluded "
    "from its rows. The machinery is what is shown."
)
STOPPED: Final = (
    "Simulated readers are counted as asked as often as they may be; they stop earlier about items whose entropy is "
    "known well enough to rank them."
)
EXAMPLES: Final = 24
"""Items that examples are drawn from: more than twice as many as the longest prompt shows."""


def collect(context: Context[Any]) -> Corpus:
    """The sample of every task with people's votes, simulated readers, contexts, and what the models say."""
    assert context.data is not None  # noqa: S101 - the study needs data
    options, roles = context.options, Roles.of(context)
    tasks = chosen_tasks(options.tasks)
    # What would only be found wrong after everything was asked.
    judging(options, context.seed)
    listed(options.controls, controls.CONTROLS, "control")
    methods = [name for name in listed(options.methods, [*SURFACE, *METHODS], "method of detection") if name in METHODS]
    people = Corpus.read(options.people) if options.people else None
    corpora: list[Corpus] = []
    context.noted[COSTS] = {}
    for task in tasks:
        whole = _in_first_person(context, read_task(context.data, task), task)
        part = sampled(whole, options.items, context.seed)
        part = part if people is None else _with_people(part, task, people, options.people)
        for reader in roles.simulators:
            for method in methods:
                part = _simulated(context, part, task, reader, method)
        part, instrument, conditions = _with_contexts(context, roles, part, task)
        if roles.judges:
            examples = {controls.STATIC: example_corpus(whole, part, instrument, context.seed)}
            if controls.CONTEXT in conditions and any(Style.parse(style).shots for style in styles_of(options)):
                pool = examples[controls.STATIC]
                examples[controls.CONTEXT] = (
                    _generated(context, roles, pool, instrument, "label", "contexts of examples").corpus
                    if roles.writer
                    else controls.with_context(pool, controls.CONTEXT, instrument)
                )
            part = ask_models(context, roles.judges, part, instrument, [controls.STATIC, *conditions], examples)
        corpora.append(part)
        context.reached = corpora[0].merge(*corpora[1:])
    whole = corpora[0].merge(*corpora[1:])
    for sentence in roles.warnings(methods):
        context.warn(sentence)
    if options.check and not context.plans:
        drawn = contexts_to_check(whole, options.check, context.seed)
        leave(context, "check", drawn, "contexts", SERVED, "run this study again with --checked")
    return whole


@dataclass(frozen=True)
class Roles:
    """Who simulates readers, judges statements, writes contexts and checks them, each model with its own settings."""

    simulators: list[ChatRater]
    judges: list[ChatRater]
    writer: ChatRater | None = None
    verifier: ChatRater | None = None

    @classmethod
    def of(cls, context: Context[Any]) -> Roles:
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

    def warnings(self, methods: Sequence[str]) -> list[str]:
        """What must be known of the models before their results are believed."""
        sentences = []
        if methods and not self.simulators:
            sentences.append("No model was named, so that only methods of detection that need none were used.")
        if self.writer:
            checks, judges = (self.verifier or self.writer).model_name, [one.model_name for one in self.judges]
            sentences += shared_models(self.writer.model_name, checks, judges)
        small = [*(self.simulators if methods else ()), *([self.writer] if self.writer else ())]
        return sentences + [POOR] * ("embedded" in [one.model_name for one in small])


def _in_first_person(context: Context[Any], whole: Corpus, task: Task) -> Corpus:
    """The statements in the first person, if only these are sampled."""
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


def _with_people(corpus: Corpus, task: Task, people: Corpus, folder: str) -> Corpus:
    """The corpus with people's judgments from a collect server in place of third-party votes on the same items."""
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
    said = said.with_columns(pl.when(pl.col("condition") == "").then(pl.lit(controls.STATIC)).otherwise("condition"))
    raters = persons.join(said, on="rater", how="semi").select("rater", "kind")
    shown = [c for c in people.items.columns if c.startswith("conversation") and c not in corpus.items.columns]
    items = corpus.items.join(people.items.select("item", *shown), on="item", how="left", maintain_order="left")
    empty = Corpus(items, corpus.raters.clear(), corpus.judgments.clear(), corpus.instruments, corpus.about)
    return empty.add(said.select([name for name in said.columns if name in corpus.judgments.columns]), raters)


def _simulated(context: Context[Any], corpus: Corpus, task: Task, reader: ChatRater, method: str) -> Corpus:
    """The corpus with the answers of readers that a model simulates by one method."""
    options, model = context.options, reader.model_name
    same: dict[str, Any] = {name: getattr(options, name) for name in ("answers", "samples", "stop", "most", "draws")}
    how = Simulator(reader, options.personas, options.persona_count, seed=context.seed, **same)
    if not context.asks(simulation_plan(corpus, task.instrument, how, method), STOPPED * how.stops(method)):
        return corpus
    with store_of(context) as store, context.step(f"{task.name}: {method} readers by {model}") as moved:
        asked: dict[str, Any] = {"store": store, "options": context.carried, "progress": moved}
        simulated = simulate(corpus, task.instrument, how, method, **asked)
    context.noted[COSTS][task.name, model, method] = simulated.cost
    for note in simulated.notes:
        context.warn(note)
    return simulated.corpus


def _with_contexts(
    context: Context[Any], roles: Roles, corpus: Corpus, task: Task
) -> tuple[Corpus, Instrument, list[str]]:
    """The corpus with written contexts, the instrument that shows them, and the conditions that it has for them."""
    instrument = Instrument.load(task.instrument)
    if roles.writer is None:
        there = "conversation" in corpus.items.columns and corpus.items["conversation"].count() > 0
        return corpus, instrument, [controls.CONTEXT] if there else []
    kinds = cast(list[Control], listed(context.options.controls))
    written = [_generated(context, roles, corpus, instrument, c, f"{task.name}: contexts ({c})") for c in kinds]
    for sentence in (sentence for one in written for sentence in one.warnings):
        context.warn(sentence)
    corpus, extended = controls.attached(corpus, instrument, *written)
    return corpus, extended, [controls.condition_of(one.control) for one in written if one.kept]


def _generated(
    context: Context[Any], roles: Roles, corpus: Corpus, instrument: Instrument, control: Control, title: str
) -> Contexts:
    """Contexts of one kind as the study's options say that they are written and checked."""
    assert roles.writer is not None  # noqa: S101 - without one, nothing is written
    how: dict[str, Any] = {name: getattr(context.options, name) for name in ("attempts", "least")}
    how |= {"seed": context.seed, "options": context.carried, "asks": context.asks if context.plans else None}
    with (
        nullcontext() if context.plans else store_of(context) as store,
        context.step(f"{title} by {roles.writer.model_name}", len(corpus.items)) as moved,
    ):
        return generate(
            corpus, instrument, roles.writer, roles.verifier, control=control, store=store, progress=moved, **how
        )


def example_corpus(whole: Corpus, sample: Corpus, instrument: Instrument, seed: int = 0) -> Corpus:
    """Items outside the sample to draw few-shot examples from, as many of every label; no text occurs in both."""
    labels = labels_of(whole.items).select("item", "value").drop_nulls()
    pool = whole.items.join(sample.items, on="item", how="anti").join(labels, on="item", maintain_order="left")
    shuffled = pool[np.random.default_rng(seed).permutation(len(pool))]
    turn = pl.int_range(pl.len()).over("value").alias("turn")
    drawn = shuffled.with_columns(turn).sort("turn", "value").head(EXAMPLES)
    judged = drawn.select("item", "value", question=pl.lit(instrument.questions[0].id), rater=pl.lit("label"))
    raters = pl.DataFrame({"rater": ["label"], "kind": ["slot"]})
    return Corpus(drawn.drop("value", "turn"), raters, judged, instrument)


def styles_of(options: Any) -> list[str]:
    """The prompting styles of judging models: those named, or the paper's."""
    return list(paper_prompts("context")["styles"].values()) if options.prompt == "paper" else listed(options.styles)


def ask_models(
    context: Context[Any],
    judges: Sequence[ChatRater],
    corpus: Corpus,
    instrument: Instrument,
    conditions: Sequence[str],
    examples: Mapping[str, Corpus],
) -> Corpus:
    """The corpus with the judgments of every judging model, in every style and under every condition.

    With context, only items that have one are judged. A style without enough `examples` for a condition is left out
    with a warning, and the controls are asked about without examples. A whole distribution is asked for once.
    """
    options, ids = context.options, [instrument.questions[0].id]
    pools = {name: len(corpus_shots(part, instrument.questions[:1])) for name, part in examples.items()}
    ways = ["" if options.ambiguous else "optout=hidden"]
    ways += [paper_prompts("context")["presentation"]] if options.prompt == "paper" else []
    for style in map(Style.parse, styles_of(options)):
        how: dict[str, Any] = {"samples": options.runs, "temperature": options.temperature}
        if style.distribution:
            how = {}
        for condition in conditions:
            if style.shots and condition not in (controls.STATIC, controls.CONTEXT):
                continue
            if style.shots > pools.get(condition, 0):
                context.warn(
                    f"{style.name} was left out under the condition {condition} of {instrument.id}: there are "
                    f"{pools.get(condition, 0)} worked examples for it outside the sample."
                )
                continue
            if style.shots:
                how["training"] = examples[condition]
            raters = []
            for one in judges:  # What its role says of sampling comes before what the study says.
                own = {**how, "temperature": one.temperature} if one.temperature else how
                raters.append(replace(one, style=style, settings=with_several(one.model_name, one.settings), **own))
            if way := " ".join(filter(None, ways)):
                raters = [varied(one, instrument, ids, presentation=way) for one in raters]
            part = corpus if condition == controls.STATIC else controls.with_context(corpus, condition, instrument)
            if asked := part.items["item"].to_list():
                corpus = context.rate(corpus, raters, instrument, questions=ids, condition=condition, items=asked)
    return corpus


STUDY: Final = recipe_study(
    "context", __package__, collect, detection, contexts, models, changes, prepare=ContextAnalysis.of
)
