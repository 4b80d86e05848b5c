"""Readers are simulated in rounds, and no longer about an item once its entropy is known well enough to rank it.

After each round, the posterior standard deviation of an item's entropy (Wolpert and Wolf 1995, with a prior of one
answer in all) is compared with the spread of entropies over the items. Answers of one reader resemble each other, so
they count for as many independent ones as the correlation within readers allows (Kish 1965). Readers take turns: each
is asked about an item once before any is asked twice, and all of them are asked about as many items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from scipy.special import polygamma, psi

from vantage.corpora import Corpus
from vantage.instruments import Instrument, Question
from vantage.measures.ratings import Floats
from vantage.raters.models.base import ChatModel
from vantage.raters.models.chat_protocol import WITHOUT
from vantage.raters.prompts import RELEVANT
from vantage.runs import PlanPart, RunOptions, RunPlan, RunStore, added
from vantage.scales import Scale
from vantage.studies.context.pipeline.ambiguity import pooled, shares_of
from vantage.studies.context.pipeline.controls import STATIC
from vantage.studies.context.pipeline.simulation import (
    METHOD,
    Cost,
    Simulation,
    Simulator,
    find_method,
    finished,
    opened_store,
    scored_relevance,
)

STEP: Final = 8
"""How often readers are turned to about an item in one round."""


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
    occasion, and answers from there if it is 5 or more; readers are asked until `Simulator.stop` is met. With scoring,
    the same scale of relevance is scored, and all personas whose expected relevance is 5 or more are scored on the
    question itself; there is no occasion to be read then.

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
    how = simulator if isinstance(simulator, Simulator) else Simulator(simulator)
    chosen, gate, parts = _parts(corpus, instrument, how, method, question, condition)
    runs, notes = list[int](), dict[str, None]()
    with opened_store(store) as opened:

        def ask(asked: Sequence[PlanPart]) -> Corpus:
            if not asked:
                return corpus
            outcome = finished(RunPlan(tuple(asked)), opened, options, progress)
            runs.append(outcome.run)
            notes.update({note: None for judged in outcome.judged for note in judged.notes})
            return added(corpus, *outcome.judged)

        if gate:
            corpus = ask(gate)
            corpus = ask(_passed(corpus, parts, gate))
        elif how.stops(method):
            turns = Turns(corpus, parts, how)
            while turns.open:
                corpus = ask(turns.next(corpus, min(STEP, how.most)))
                if any(WITHOUT["n"] in note for note in notes):
                    turns.draws = 1
                turns.close(corpus, chosen)
        else:
            corpus = ask(parts)
        cost = Cost.of_runs(opened, runs) if runs else Cost()
    ids = tuple(part.rater.id for part in parts)
    return Simulation(method, _labelled(corpus, ids, method), chosen, ids, cost, tuple(notes))


def simulation_plan(
    corpus: Corpus, instrument: Instrument | str, simulator: Simulator, method: str, *, condition: str = STATIC
) -> RunPlan:
    """The most that `simulate` may ask: readers that never stop early, and find every item relevant."""
    _, gate, parts = _parts(corpus, instrument, simulator, method, "", condition)
    if simulator.stops(method):
        parts = Turns(corpus, parts, simulator).next(corpus, simulator.most)
    return RunPlan((*gate, *parts))


class Turns:
    """Whose turn it is to answer about which item: readers in a random order, and of each open item who is next."""

    def __init__(self, corpus: Corpus, parts: Sequence[PlanPart], how: Simulator) -> None:
        self.how = how
        self.parts = [parts[place] for place in np.random.default_rng(how.seed).permutation(len(parts))]
        self.open = dict.fromkeys(corpus.items["item"], 0)
        self.draws = min(how.draws if parts[0].rater.several > 1 else 1, how.samples)
        self._places = {item: place for place, item in enumerate(self.open)}
        # How many readers were turned to about each item, less those to whom it is irrelevant; and how many these are.
        self._asked, self._lost = dict.fromkeys(self.open, 0), dict[str, int]()

    @property
    def turns(self) -> int:
        """How many turns there are about an item."""
        return len(self.parts) * -(-self.how.samples // self.draws)

    def next(self, corpus: Corpus, count: int) -> list[PlanPart]:
        """What so many further turns about each open item ask for.

        A reader to whom an item was found irrelevant is not asked about it again.
        """
        samples: dict[tuple[int, str], int] = {}
        irrelevant, readers = _irrelevant(corpus), len(self.parts)
        for item, first in self.open.items():
            turn, wanted = first, min(count, self.how.most - self._asked[item])
            self._asked[item] += wanted
            while wanted and turn < self.turns:
                reader = (turn + self._places[item] * STEP) % readers
                if (item, self.parts[reader].rater.id) not in irrelevant:
                    # A reader who is turned to twice in a round gives all samples at once.
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
        lost = dict(mine.filter(_NOT_RELEVANT).group_by("item").len().iter_rows())
        for item, count in lost.items():
            self._asked[item] -= count - self._lost.get(item, 0)
        self._lost = lost
        self.open = {
            item: turn
            for item, turn in self.open.items()
            if item not in ranked and turn < self.turns and self._asked[item] < self.how.most
        }


def known_entropies(judgments: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """How well answers to one question tell the entropy of each item: its posterior `mean` and `sd`, of base k."""
    table = pooled(judgments, scale, by=("item", "rater")).drop_nulls("shares")
    if table.is_empty():
        return pl.DataFrame(schema={"item": pl.String, "mean": pl.Float64, "sd": pl.Float64})
    shares, answers = shares_of(table), table["answers"].to_numpy().astype(np.float64)
    items, place = np.unique(table["item"].to_numpy(), return_inverse=True)
    counts = np.zeros((len(items), shares.shape[1]))
    np.add.at(counts, place, shares * answers[:, None])
    mean, sd = entropy_posterior(counts / _design_effect(shares, answers, counts))
    return pl.DataFrame({"item": items.tolist(), "mean": mean, "sd": sd})


def entropy_posterior(counts: Floats) -> tuple[Floats, Floats]:
    """The posterior mean and standard deviation of entropies, of base k, one row of counts per item.

    The prior is a symmetric Dirichlet distribution that counts for one answer in all (Perks 1947).

    >>> mean, sd = entropy_posterior(np.array([[8.0, 0.0, 0.0], [4.0, 4.0, 0.0], [40.0, 40.0, 0.0]]))
    >>> mean.round(2).tolist(), sd.round(2).tolist()
    ([0.22, 0.67, 0.64], [0.18, 0.12, 0.03])
    """
    options = counts.shape[1]
    a = counts + 1 / options
    total = a.sum(axis=1)
    mean = psi(total + 1) - (a * psi(a + 1)).sum(axis=1) / total
    above = psi(a + 1) - psi(total + 2)[:, None]
    cross = a * above
    tri = polygamma(1, total + 2)
    apart = cross.sum(axis=1) ** 2 - (cross**2).sum(axis=1) - tri * (total**2 - (a**2).sum(axis=1))
    own = (psi(a + 2) - psi(total + 2)[:, None]) ** 2 + polygamma(1, a + 2) - tri[:, None]
    second = (apart + (a * (a + 1) * own).sum(axis=1)) / (total * (total + 1))
    return mean / np.log(options), np.sqrt(np.maximum(second - mean**2, 0.0)) / np.log(options)


def _design_effect(shares: Floats, answers: Floats, counts: Floats) -> float:
    """How many answers of the readers count for one independent one, from the correlation within readers."""
    several = answers > 1
    if not several.any():
        return 1.0
    within = ((1 - (shares**2).sum(axis=1)) * answers / (answers - 1 + ~several))[several].mean()
    total = (1 - ((counts / counts.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)).mean()
    correlation = float(np.clip(1 - within / total, 0.0, 1.0)) if total > 0 else 0.0
    return 1.0 + (float(answers.mean()) - 1.0) * correlation


_NOT_RELEVANT: Final = pl.col("question").str.ends_with("-relevance") & (
    pl.col("value").is_null() | (pl.col("value") < RELEVANT)
)


def _irrelevant(corpus: Corpus) -> set[tuple[str, str]]:
    """The pairs of item and reader of which the reader said that the item has nothing to do with them."""
    return set(corpus.judgments.filter(_NOT_RELEVANT).select("item", "rater").iter_rows())


def _parts(
    corpus: Corpus,
    instrument: Instrument | str,
    how: Simulator,
    method: str,
    question: str,
    condition: str,
) -> tuple[Question, list[PlanPart], list[PlanPart]]:
    """The question, what is asked of selective personas whose options are scored beforehand, and what is asked then."""
    used = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    asked = used.question(question) if question else used.questions[0]
    where = condition if condition in used.conditions else ""
    parts = [PlanPart(rater, corpus, used, (asked.id,), where) for rater in how.raters(find_method(method))]
    if not how.gates(method):
        return asked, [], parts
    gate = scored_relevance(used)
    return asked, [PlanPart(part.rater, corpus, gate, (gate.questions[0].id,), where) for part in parts], parts


def _passed(corpus: Corpus, parts: Sequence[PlanPart], gate: Sequence[PlanPart]) -> list[PlanPart]:
    """What is left to ask once relevance was scored: each persona about the items relevant to it."""
    relevant = corpus.judgments.filter(pl.col("question") == gate[0].asked[0], pl.col("expected") >= RELEVANT)
    touched = {str(rater): items["item"] for (rater,), items in relevant.group_by("rater")}
    asked = [part for part in parts if part.rater.id in touched]
    return [replace(part, corpus=corpus.filter(item=touched[part.rater.id].to_list())) for part in asked]


def _labelled(corpus: Corpus, ids: Sequence[str], method: str) -> Corpus:
    """The corpus whose raters of a method say so."""
    known = pl.col(METHOD) if METHOD in corpus.raters.columns else pl.lit(None, dtype=pl.String)
    mine = pl.when(pl.col("rater").is_in(list(ids))).then(pl.lit(method)).otherwise(known)
    return corpus._with(raters=corpus.raters.with_columns(mine.alias(METHOD)))
