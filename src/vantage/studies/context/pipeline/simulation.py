"""Simulation: a model answers, plainly or as many personas, so often that its doubt can be seen.

Simulated readers' answers go into the judgments table like anyone's, and every reply is kept in a store, so that
nothing is asked twice and the cost of a method is known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.raters.asked import relevance_instrument
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import ChatModel
from vantage.raters.personas import Persona, Personas, sample
from vantage.raters.prompts import RELEVANT
from vantage.runs import Outcome, PlanPart, RunEnded, RunOptions, RunPlan, RunStore, added, run
from vantage.runs.tally import RunTally
from vantage.studies.context.pipeline.controls import COST, STATIC

Answers = Literal["auto", "sampling", "scoring"]


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make a model's doubt visible.

    Args:
        name: What it is called in options and tables.
        voice: The plain model, every persona, or only personas to whom the item is relevant.
        reasoning: Whether reasons come before the answer.
    """

    name: str
    voice: Literal["", "persona", "selective-persona"] = ""
    reasoning: bool = False

    def style(self, scoring: bool) -> str:
        """The prompting style of its raters."""
        voice = "persona" if scoring and self.voice else self.voice
        parts = ["reasoning" if self.reasoning else "", "scoring" if scoring else "", voice]
        return "+".join(part for part in parts if part) or "zero-shot"


METHODS: Final = {
    method.name: method
    for method in (
        Method("direct"),
        Method("reasoning", reasoning=True),
        Method("persona", "persona"),
        Method("persona-reasoning", "persona", reasoning=True),
        Method("selective", "selective-persona"),
        Method("selective-reasoning", "selective-persona", reasoning=True),
    )
}
"""The methods by name; the last one is that of the paper ("Selective Persona - CoT")."""


@dataclass(frozen=True)
class Simulator:
    """A model with everything that says how it is asked.

    Args:
        model: The model, by name or as an object.
        personas: The personas of the methods that need some: `pool`, a file, or persona objects.
        count: How many of them, drawn so that their traits are shared out as in all; 0 for all.
        answers: Whether replies are sampled or options scored; `auto` scores the embedded model and samples others.
            Methods with reasons always sample.
        samples: How often each rater answers each item when replies are sampled.
        temperature: Of sampled replies.
        max_tokens: The longest reply.
        seed: Random seed.
        settings: Settings of the model.
    """

    model: str | ChatModel
    personas: str | Path | Sequence[Persona] = "pool"
    count: int = 0
    answers: Answers = "auto"
    samples: int = 20
    temperature: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model_name(self) -> str:
        """The model as it is named."""
        return self.model if isinstance(self.model, str) else self.model.name

    def scores(self, method: Method) -> bool:
        """Whether a method reads the probabilities of options."""
        if method.reasoning:
            return False
        return self.model_name == "embedded" if self.answers == "auto" else self.answers == "scoring"

    def gates(self, method: str) -> bool:
        """Whether personas of a method are asked about an item only if its scored relevance is high enough."""
        chosen = find_method(method)
        return chosen.voice == "selective-persona" and self.scores(chosen)

    def people(self) -> tuple[Persona, ...]:
        """The personas that take part."""
        given = self.personas
        known = tuple(Personas.load(given)) if isinstance(given, str | Path) else tuple(given)
        if not known:
            raise InputError("there are no personas", remedy="name 'pool', a file, or some personas")
        return sample(known, self.count, self.seed) if self.count else known

    def raters(self, method: Method) -> list[ChatRater]:
        """The raters of a method, whose names keep them apart from the same model when it is itself judged."""
        scoring = self.scores(method)
        chosen: dict[str, Any] = {"seed": self.seed, "settings": dict(self.settings)}
        if not scoring:
            chosen |= {"samples": self.samples, "temperature": self.temperature, "max_tokens": self.max_tokens}
        base = f"{self.model_name}+detect-{method.name}"
        if not method.voice:
            return [ChatRater(self.model, method.style(scoring), name=base, **chosen)]
        return [
            ChatRater(self.model, method.style(scoring), persona=one, name=f"{base}/{one.id}", **chosen)
            for one in self.people()
        ]


def find_method(name: str) -> Method:
    """The method with this name.

    >>> find_method("selectiv")
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: there is no method of detection 'selectiv'; did you mean 'selective'?
    """
    if name not in METHODS:
        raise InputError(f"there is no method of detection '{name}'", remedy=nearest(name, list(METHODS)))
    return METHODS[name]


METHOD: Final = "method"
"""The column of the raters table that says which method a simulated reader belongs to."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a method took: calls and tokens; tokens are null where the model does not count them."""

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0

    @classmethod
    def of_runs(cls, store: RunStore, numbers: Sequence[int]) -> Cost:
        """All calls that runs rest on, in whatever sitting they were made and whoever asked for them first."""
        every = pl.concat([cls.of_items(store, number) for number in numbers])
        calls, prompt, completion = every.select(pl.col(COST).sum()).row(0)
        # Option scoring reports no tokens; none at all is not the same as none counted.
        return cls(calls, prompt or None, completion if prompt else None)

    @staticmethod
    def of_items(store: RunStore, number: int) -> pl.DataFrame:
        """The calls and tokens of each item of a run."""
        rows = store.select(
            "SELECT item, COUNT(*), SUM(prompt_tokens), SUM(completion_tokens) FROM calls "
            "WHERE run = ? OR id IN (SELECT call FROM uses WHERE run = ?) GROUP BY item",
            (number, number),
        )
        return pl.DataFrame(rows, schema={"item": pl.String, **dict.fromkeys(COST, pl.Int64)}, orient="row")

    @property
    def counted(self) -> dict[str, int | None]:
        """The numbers by name."""
        return {name: getattr(self, name) for name in COST}


@dataclass(frozen=True)
class Simulation:
    """What simulated readers answered.

    Args:
        method: The method's name.
        corpus: The corpus with their judgments; their raters have the method in the column `method`.
        question: The question that they answered.
        raters: Their ids.
        cost: What it took.
        notes: What the reader of a report must know.
    """

    method: str
    corpus: Corpus
    question: Question
    raters: tuple[str, ...]
    cost: Cost
    notes: tuple[str, ...] = ()


def simulate(
    corpus: Corpus,
    instrument: Instrument | str,
    simulator: Simulator | str | ChatModel,
    method: str = "selective",
    *,
    question: str = "",
    condition: str = STATIC,
    store: RunStore | str | Path | None = None,
    options: RunOptions | None = None,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Lets simulated readers answer one question about every item.

    With sampling, a selective persona first says from 1 to 10 how relevant the item is to its life and recalls an
    occasion, and answers from 5 on. With scoring, the same scale of relevance is scored, and personas whose expected
    relevance is 5 or more are scored on the question itself; there is no occasion to be read then.

    Args:
        corpus: The items.
        instrument: What is asked.
        simulator: The model, or a `Simulator` that says more about how it is asked.
        method: A name in `METHODS`.
        question: The question; the first of the instrument without it.
        condition: The circumstances, where the instrument has such a condition.
        store: Where every reply is kept, so that nothing is asked twice.
        options: How the run is carried out: concurrency, retries, limits.
        progress: Called with the number of requests that were answered.
    """
    chosen, gate, parts = _parts(corpus, instrument, simulator, method, question, condition)
    runs, notes = list[int](), dict[str, None]()
    with opened_store(store) as opened:
        for first in (True, False):
            asked = gate if first else _passed(corpus, parts, gate) if gate else parts
            if not asked:
                continue
            outcome = finished(RunPlan(tuple(asked)), opened, options, progress)
            runs.append(outcome.run)
            notes |= {note: None for judged in outcome.judged for note in judged.notes}
            corpus = added(corpus, *outcome.judged)
        cost = Cost.of_runs(opened, runs) if runs else Cost()
    ids = tuple(part.rater.id for part in parts)
    return Simulation(method, _labelled(corpus, ids, method), chosen, ids, cost, tuple(notes))


def simulation_plan(
    corpus: Corpus, instrument: Instrument | str, simulator: Simulator, method: str, *, condition: str = STATIC
) -> RunPlan:
    """The most that `simulate` may ask: every persona about every item, however relevant it finds it."""
    _, gate, parts = _parts(corpus, instrument, simulator, method, "", condition)
    return RunPlan((*gate, *parts))


def _parts(
    corpus: Corpus,
    instrument: Instrument | str,
    simulator: Simulator | str | ChatModel,
    method: str,
    question: str,
    condition: str,
) -> tuple[Question, list[PlanPart], list[PlanPart]]:
    """The question, what is asked of selective personas whose options are scored beforehand, and what is asked then."""
    how = simulator if isinstance(simulator, Simulator) else Simulator(simulator)
    used = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    asked = used.question(question) if question else used.questions[0]
    where = condition if condition in used.conditions else ""
    parts = [PlanPart(rater, corpus, used, (asked.id,), where) for rater in how.raters(find_method(method))]
    if not how.gates(method):
        return asked, [], parts
    gate = scored_relevance(used)
    return asked, [PlanPart(part.rater, corpus, gate, (gate.questions[0].id,), where) for part in parts], parts


def opened_store(store: RunStore | str | Path | None) -> AbstractContextManager[RunStore]:
    """A store as it was given, or that of a file; one that is gone afterwards without either."""
    if isinstance(store, RunStore):
        return nullcontext(store)
    return RunStore(store) if store is not None else RunStore.temporary()


def finished(
    plan: RunPlan, store: RunStore, options: RunOptions | None = None, progress: Callable[[int], None] | None = None
) -> Outcome:
    """The outcome of a plan that was carried out to its end; one that was cut off or ended early is an error."""
    done = 0

    def advance(tally: RunTally) -> None:
        nonlocal done
        if progress is not None and tally.conversations > done:
            progress(tally.conversations - done)
            done = tally.conversations

    outcome = run(plan, store, options, progress=advance)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.tally.ended:
        raise RunEnded(outcome)
    return outcome


def _passed(corpus: Corpus, parts: Sequence[PlanPart], gate: Sequence[PlanPart]) -> list[PlanPart]:
    """What is left to ask once relevance was scored: each persona about the items relevant to it."""
    relevant = corpus.judgments.filter(pl.col("question") == gate[0].asked[0], pl.col("expected") >= RELEVANT)
    touched = {str(rater): items["item"] for (rater,), items in relevant.group_by("rater")}
    left = []
    for part in parts:
        if part.rater.id in touched:
            items = corpus.items.filter(pl.col("item").is_in(touched[part.rater.id].implode()))
            mine = Corpus(items, corpus.raters.clear(), corpus.judgments.clear(), corpus.instruments)
            left.append(replace(part, corpus=mine))
    return left


def scored_relevance(instrument: Instrument) -> Instrument:
    """How relevant an item is to a persona's life, as an instrument whose options can be scored.

    >>> scored_relevance(Instrument.load("sarcasm")).questions[0].id
    'sarcasm-relevance'
    """
    data: dict[str, Any] = copy.deepcopy(dict(relevance_instrument(instrument).document))
    data["description"] = "How relevant an item is to the life of whoever reads it."
    data["guidelines"] = "Say how much the item has to do with your own life, before you judge it."
    data["fields"] = copy.deepcopy(instrument.document["fields"])
    if "conditions" in instrument.document:
        data["conditions"] = copy.deepcopy(instrument.document["conditions"])
    data["questions"][0] |= {"title": "Relevance", "ask": "How relevant is this to your own life?"}
    return Instrument.from_document(data, file=instrument.id)


def _labelled(corpus: Corpus, ids: Sequence[str], method: str) -> Corpus:
    """The corpus whose raters of a method say so."""
    raters = corpus.raters
    known = pl.col(METHOD) if METHOD in raters.columns else pl.lit(None, dtype=pl.String)
    mine = pl.when(pl.col("rater").is_in(list(ids))).then(pl.lit(method)).otherwise(known)
    return Corpus(
        corpus.items, raters.with_columns(mine.alias(METHOD)), corpus.judgments, corpus.instruments, corpus.about
    )
