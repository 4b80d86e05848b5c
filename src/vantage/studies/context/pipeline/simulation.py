"""Simulation: a model answers, plainly or as many personas, so often that its doubt can be seen.

Simulated readers' answers go into the judgments table like anyone's, and every reply is kept in a store, so that
nothing is asked twice and the cost of a method is known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.raters.asked import relevance_instrument
from vantage.raters.chat import ChatRater
from vantage.raters.models import gives_several
from vantage.raters.models.base import ChatModel
from vantage.raters.personas import Persona, Personas, sample
from vantage.runs import Outcome, RunEnded, RunOptions, RunPlan, RunStore, run
from vantage.runs.tally import RunTally
from vantage.studies.context.pipeline.controls import COST

Answers = Literal["auto", "sampling", "scoring"]
SEVERAL: Final = 20
"""Samples that one request may ask for."""


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
        samples: How often each reader answers each item at most when replies are sampled.
        stop: The share of the items' spread of entropies below which the error of an item's entropy must fall, before
            readers are no longer asked about it (`pipeline.sequential`); 0 lets all of them answer all samples.
        most: How often readers are turned to at most about an item, each time for `draws` answers.
        draws: Answers at a time, where one request can bring several; elsewhere it is one.
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
    stop: float = 0.3
    most: int = 32
    draws: int = 5
    temperature: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.stop < 1:
            raise InputError(f"readers cannot stop at {self.stop:g}", remedy="give a share from 0 to 1, such as 0.3")
        if min(self.most, self.draws) < 1:
            raise InputError("readers must be asked at least once", remedy="give most and draws of 1 or more")

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

    def stops(self, method: str) -> bool:
        """Whether readers of a method stop once an item's entropy is known; scored ones answer once, all of them."""
        return self.stop > 0 and not self.scores(find_method(method))

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
        chosen: dict[str, Any] = {"seed": self.seed, "settings": with_several(self.model, self.settings)}
        if not scoring:
            chosen |= {"samples": self.samples, "temperature": self.temperature, "max_tokens": self.max_tokens}
        base = f"{self.model_name}+detect-{method.name}"
        if not method.voice:
            return [ChatRater(self.model, method.style(scoring), name=base, **chosen)]
        return [
            ChatRater(self.model, method.style(scoring), persona=one, name=f"{base}/{one.id}", **chosen)
            for one in self.people()
        ]


def with_several(model: str | ChatModel, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model, which asks for several samples at a time where its protocol can.

    >>> with_several("openai:x", {}), with_several("embedded", {})
    ({'several': 20}, {})
    """
    able = isinstance(model, str) and gives_several(model)
    return {**({"several": SEVERAL} if able else {}), **settings}


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
        calls, prompt, completion = cls.of_items(store, *numbers).select(pl.col(COST).sum()).row(0)
        # Option scoring reports no tokens; none at all is not the same as none counted.
        return cls(calls, prompt or None, completion if prompt else None)

    @staticmethod
    def of_items(store: RunStore, *numbers: int) -> pl.DataFrame:
        """The calls and tokens of each item of some runs."""
        runs = ", ".join("?" * len(numbers))
        rows = store.select(
            "SELECT item, COUNT(*), SUM(prompt_tokens), SUM(completion_tokens) FROM calls "  # noqa: S608
            f"WHERE run IN ({runs}) OR id IN (SELECT call FROM uses WHERE run IN ({runs})) GROUP BY item",
            numbers * 2,
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
