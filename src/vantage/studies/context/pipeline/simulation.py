"""Simulated readers: a model answers so often, plainly or as many personas, that its doubt shows.

Their answers go into the judgments table like anyone's. Every reply is stored: nothing is asked twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.raters.answers import choices
from vantage.raters.chat import ChatRater
from vantage.raters.models import gives_several
from vantage.raters.models.base import ChatModel
from vantage.raters.models.chat_protocol import WITHOUT
from vantage.raters.personas import Persona, Personas, sample
from vantage.raters.prompts import RELEVANT
from vantage.runs import PlanPart, RunOptions, RunPlan, RunStore, added
from vantage.runs.rating import carried_out, opened_store
from vantage.studies.context.pipeline.ambiguity import counted, entropy, known_entropies, pooled
from vantage.studies.context.pipeline.controls import COST, STATIC

METHODS: Final = {
    "direct": "zero-shot",
    "reasoning": "reasoning",
    "persona": "persona",
    "persona-reasoning": "reasoning+persona",
    "selective": "selective-persona",
    "selective-reasoning": "reasoning+selective-persona",
}
"""Who reads, with the prompting style: the plain model, every persona, or personas to whom the item is relevant, each
with or without reasons. The last one is the paper's ("Selective Persona - CoT")."""
METHOD: Final = "method"
"""The column of the raters table with the method of a simulated reader."""
SEVERAL: Final = 20
"""Samples that one request may ask for."""
STEP: Final = 8
"""Readers who are asked about an item in one round."""
NONE_RELEVANT: Final = "the item is relevant to none of the personas"
NO_ANSWER: Final = "none of the replies is an answer"
NO_OPTION: Final = "every answer is an opt-out"
_NOT_RELEVANT: Final = pl.col("question").str.ends_with("-relevance") & (
    pl.col("value").is_null() | (pl.col("value") < RELEVANT)
)


@dataclass(frozen=True)
class Simulator:
    """A model and how it is asked.

    Args:
        model: A name or an object; a `ChatRater` where its settings matter.
        personas: `pool`, a file, or persona objects, for the methods that need personas.
        count: How many of them, drawn so that traits keep their shares; 0 for all.
        answers: Whether replies are sampled or options scored; `auto` scores the embedded model and samples others.
            Methods with reasons and selective personas always sample: what they say comes before their answer.
        samples: The most sampled answers of a reader to an item.
        stop: Readers are no longer asked about an item once the error of its entropy is this share of the items'
            spread (see `Turns`); 0 asks for all samples.
        most: The most readers asked about an item, each for `draws` answers.
        draws: Answers at a time where one request can bring several, else one.
        seed: Random seed.
    """

    model: str | ChatModel | ChatRater
    personas: str | Path | Sequence[Persona] = "pool"
    count: int = 0
    answers: Literal["auto", "sampling", "scoring"] = "auto"
    samples: int = 20
    stop: float = 0.3
    most: int = 32
    draws: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.stop < 1:
            raise InputError(f"readers cannot stop at {self.stop:g}", remedy="give a share from 0 to 1, such as 0.3")
        if min(self.most, self.draws) < 1:
            raise InputError("readers must be asked at least once", remedy="give most and draws of 1 or more")

    @property
    def plain(self) -> ChatRater:
        """The model as a rater, sampled at a temperature of 1 where it has none of its own."""
        known = self.model if isinstance(self.model, ChatRater) else ChatRater(self.model)
        settings = with_several(known.model, known.settings)
        return replace(known, settings=settings, temperature=known.temperature or 1.0, seed=self.seed)

    def scores(self, method: str) -> bool:
        """Whether a method reads the probabilities of options."""
        if "reasoning" in method or "selective" in method:
            return False
        return self.plain.model_name == "embedded" if self.answers == "auto" else self.answers == "scoring"

    def stops(self, method: str) -> bool:
        """Whether readers of a method stop once an item's entropy is known; scored ones answer once, all of them."""
        return self.stop > 0 and not self.scores(method)

    def people(self) -> tuple[Persona, ...]:
        """The personas that take part."""
        given = self.personas
        known = tuple(Personas.load(given)) if isinstance(given, str | Path) else tuple(given)
        if not known:
            raise InputError("there are no personas", remedy="name 'pool', a file, or some personas")
        return sample(known, self.count, self.seed) if self.count else known

    def raters(self, method: str) -> list[ChatRater]:
        """The raters of a method, whose names keep them apart from the same model when it is itself judged."""
        if method not in METHODS:
            raise InputError(f"there is no method of detection '{method}'", remedy=nearest(method, list(METHODS)))
        style, rater = METHODS[method], replace(self.plain, samples=self.samples)
        if self.scores(method):
            style, rater = f"scoring+{style}", replace(rater, samples=1, temperature=0.0)
        name = f"{rater.model_name}+detect-{method}"
        if "persona" not in style:
            return [replace(rater, style=style, name=name)]
        return [replace(rater, style=style, persona=one, name=f"{name}/{one.id}") for one in self.people()]


def with_several(model: str | ChatModel, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model, which asks for several samples at a time where its protocol can.

    >>> with_several("openai:x", {}), with_several("embedded", {})
    ({'several': 20}, {})
    """
    able = isinstance(model, str) and gives_several(model)
    return {**({"several": SEVERAL} if able else {}), **settings}


class Cost(NamedTuple):
    """What a method took: requests and tokens; tokens are null where the model does not count them.

    A request that brought several replies is one call.
    """

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0

    @staticmethod
    def of_items(store: RunStore, *numbers: int) -> pl.DataFrame:
        """The calls and tokens of each item that runs rest on, in whatever sitting and by whomever they were made."""
        runs = ", ".join("?" * len(numbers))
        rows = store.select(
            "SELECT item, COUNT(DISTINCT COALESCE(messages || ' ' || NULLIF(request, ''), calls.id)), "  # noqa: S608
            "SUM(prompt_tokens), SUM(completion_tokens) FROM calls LEFT JOIN evidence USING (key) "
            f"WHERE run IN ({runs}) OR calls.id IN (SELECT call FROM uses WHERE run IN ({runs})) GROUP BY item",
            numbers * 2,
        )
        return pl.DataFrame(rows, schema={"item": pl.String, **dict.fromkeys(COST, pl.Int64)}, orient="row")


@dataclass(frozen=True)
class Simulation:
    """What simulated readers answered, who they are, and what it took; `notes` are for the reader of a report."""

    method: str
    corpus: Corpus
    question: Question
    raters: tuple[str, ...]
    cost: Cost
    notes: tuple[str, ...] = ()


def simulate(
    corpus: Corpus,
    instrument: Instrument | str,
    simulator: Simulator | ChatRater | ChatModel | str,
    method: str = "selective",
    *,
    store: RunStore | str | Path | None = None,
    options: RunOptions | None = None,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Has simulated readers answer the first question of an instrument about every item, without context.

    A selective persona first says from 1 to 10 how relevant the item is to its life and recalls an occasion, and
    answers from there if it is 5 or more. Sampled readers are asked until `Simulator.stop` is met.

    Args:
        corpus: The items.
        instrument: What is asked.
        simulator: The model, or a `Simulator` with more about how it is asked.
        method: A name in `METHODS`.
        store: Where replies are kept.
        options: Concurrency, retries and limits of the run.
        progress: Called with the number of answered requests.
    """
    how = simulator if isinstance(simulator, Simulator) else Simulator(simulator)
    parts = _parts(corpus, instrument, how, method)
    question = parts[0].instrument.questions[0]
    runs, notes = list[int](), dict[str, None]()
    with opened_store(store) as opened:

        def ask(asked: Sequence[PlanPart]) -> Corpus:
            outcome = carried_out(RunPlan(tuple(asked)), opened, options, progress)
            runs.append(outcome.run)
            notes.update({note: None for judged in outcome.judged for note in judged.notes})
            return added(corpus, *outcome.judged)

        if how.stops(method):
            turns = Turns(corpus, parts, how)
            while turns.open:
                if asked := turns.next(corpus, min(STEP, how.most)):
                    corpus = ask(asked)
                if any(WITHOUT["n"] in note for note in notes):
                    turns.draws = 1
                turns.close(corpus, question)
        else:
            corpus = ask(parts)
        calls, prompt, completion = Cost.of_items(opened, *runs).select(pl.col(COST).sum()).row(0)
    # Option scoring reports no tokens; none at all is not the same as none counted.
    cost = Cost(calls, prompt or None, completion if prompt else None) if calls else Cost()
    ids = tuple(part.rater.id for part in parts)
    known = pl.col(METHOD) if METHOD in corpus.raters.columns else pl.lit(None, dtype=pl.String)
    whose = pl.when(pl.col("rater").is_in(ids)).then(pl.lit(method)).otherwise(known).alias(METHOD)
    corpus = corpus._with(raters=corpus.raters.with_columns(whose))
    return Simulation(method, corpus, question, ids, cost, tuple(notes))


class Turns:
    """Whose turn it is to answer about which item.

    Readers come in a random order and in rounds. An item is closed once its entropy is known well enough to rank it:
    its posterior standard deviation (`ambiguity.known_entropies`) against the spread over items. Each reader is asked
    about an item once before any is asked twice, and all about equally many items.
    """

    def __init__(self, corpus: Corpus, parts: Sequence[PlanPart], how: Simulator) -> None:
        self.how = how
        self.parts = [parts[place] for place in np.random.default_rng(how.seed).permutation(len(parts))]
        self.open = dict.fromkeys(corpus.items["item"], 0)
        self.draws = min(how.draws if parts[0].rater.several > 1 else 1, how.samples)
        self._places = {item: place for place, item in enumerate(self.open)}
        # How many readers were turned to about each item, and to how many of these it is irrelevant.
        self._asked, self._lost = Counter[str](), Counter[str]()

    @property
    def turns(self) -> int:
        """How many turns there are about an item."""
        return len(self.parts) * -(-self.how.samples // self.draws)

    def next(self, corpus: Corpus, count: int) -> list[PlanPart]:
        """The next turns about each open item, without readers who found it irrelevant."""
        samples: dict[tuple[int, str], int] = {}
        irrelevant = set(corpus.judgments.filter(_NOT_RELEVANT).select("item", "rater").iter_rows())
        readers = len(self.parts)
        for item, first in self.open.items():
            turn, wanted = first, min(count, self.how.most - self._asked[item] + self._lost[item])
            self._asked[item] += wanted
            while wanted and turn < self.turns:
                reader = (turn + self._places[item] * STEP) % readers
                if (item, self.parts[reader].rater.id) not in irrelevant:
                    # A reader asked twice in a round gives all samples at once.
                    samples[reader, item] = min((turn // readers + 1) * self.draws, self.how.samples)
                    wanted -= 1
                turn += 1
            self.open[item] = turn
        asked: dict[tuple[int, int], list[str]] = {}
        for (reader, item), times in samples.items():
            asked.setdefault((reader, times), []).append(item)
        return [
            replace(part, rater=replace(part.rater, samples=times), corpus=corpus.filter(item=items))
            for (reader, times), items in sorted(asked.items())
            for part in [self.parts[reader]]
        ]

    def close(self, corpus: Corpus, question: Question) -> None:
        """Closes items that are known well enough, and those about which nobody is left to be asked."""
        ids = [part.rater.id for part in self.parts]
        mine = corpus.judgments.filter(pl.col("rater").is_in(ids))
        known = known_entropies(mine.filter(question=question.id), question.scale)
        signal = max(float(known["mean"].var() or 0) - float((known["sd"] ** 2).mean() or 0), 0.0)  # type: ignore[arg-type]
        ranked = set(known.filter(pl.col("sd") <= self.how.stop * signal**0.5)["item"])
        self._lost = Counter(mine.filter(_NOT_RELEVANT)["item"].to_list())
        self.open = {
            item: turn
            for item, turn in self.open.items()
            if item not in ranked and turn < self.turns and self._asked[item] - self._lost[item] < self.how.most
        }


def simulation_plan(corpus: Corpus, instrument: Instrument | str, simulator: Simulator, method: str) -> RunPlan:
    """The most that `simulate` may ask: readers that never stop early, and find every item relevant."""
    parts = _parts(corpus, instrument, simulator, method)
    if simulator.stops(method):
        parts = Turns(corpus, parts, simulator).next(corpus, simulator.most)
    return RunPlan(tuple(parts))


def _parts(corpus: Corpus, instrument: Instrument | str, how: Simulator, method: str) -> list[PlanPart]:
    """What all readers of a method would be asked about all items."""
    used = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    where = STATIC if STATIC in used.conditions else ""
    return [PlanPart(rater, corpus, used, (used.questions[0].id,), where) for rater in how.raters(method)]


@dataclass(frozen=True)
class Detected:
    """What a method says about the ambiguity of items.

    Args:
        table: One row per item: `item`, `score`, `shares` (null without a distribution), `reason` where there is no
            score, and for personas how many were `asked` and how many found it `relevant`.
        cost: What it took; null for a method without a model.
        readers: The ids of the simulated readers.
    """

    method: str
    table: pl.DataFrame
    cost: Cost | None = None
    readers: tuple[str, ...] = ()

    @property
    def unscored(self) -> dict[str, int]:
        """How many items have no score, by reason."""
        lost = self.table.filter(pl.col("score").is_null())
        return dict(lost.group_by("reason").len().sort("reason").iter_rows())


def detected(simulation: Simulation, *, opt_outs: bool = True) -> Detected:
    """The ambiguity of every item to simulated readers: the entropy of their pooled answers.

    Every answer counts the same, so a persona that answered more often weighs more; a scored persona counts as one
    answer. An item that is relevant to no persona has no score. `opt_outs` counts "ambiguous" as an answer.
    """
    question = simulation.question
    judgments = simulation.corpus.judgments.filter(pl.col("rater").is_in(simulation.raters))
    answers = pooled(judgments.filter(pl.col("question") == question.id), question.scale)
    gate = judgments.filter(pl.col("question").str.ends_with("-relevance"))
    counts = gate.group_by("item").agg(
        pl.col("rater").n_unique().alias("asked"),
        pl.col("rater").filter(pl.col("value") >= RELEVANT).n_unique().alias("relevant"),
    )
    table = simulation.corpus.items.select("item")
    for known in (answers, counts):
        table = table.join(known, on="item", how="left", maintain_order="left")
    unknown = [float("nan")] * len(choices(question.scale))
    shares = np.array([one or unknown for one in table["shares"].to_list()]).reshape(-1, len(unknown))
    scores = pl.Series("score", entropy(counted(shares, question.scale, opt_outs=opt_outs))).fill_nan(None)
    table = table.with_columns(scores)
    answered = pl.lit(gate.is_empty()) | (pl.col("relevant") > 0)
    reason = pl.when(answered).then(pl.lit(NO_ANSWER)).otherwise(pl.lit(NONE_RELEVANT))
    reason = pl.when(pl.col("shares").is_not_null()).then(pl.lit(NO_OPTION)).otherwise(reason)
    table = table.with_columns(pl.when(pl.col("score").is_null()).then(reason).alias("reason"))
    return Detected(simulation.method, table, simulation.cost, simulation.raters)
