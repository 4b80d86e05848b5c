"""Detection on the items of one task: every method's scores beside people's votes, and the items that are flagged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from vantage.context.ambiguity import Detected, Spread, detected, votes
from vantage.context.detection import Judging
from vantage.context.readers import find_method
from vantage.context.simulation import METHOD, STATIC, Cost, Simulation
from vantage.context.surface import SURFACE, by_surface
from vantage.context.thresholds import LEAST, Target, in_order
from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.studies.context.tasks import Task, question_of

if TYPE_CHECKING:
    from vantage.studies.context.study import Options

TITLES: Final = {
    "constant": "always the average answer",
    "length": "short texts first",
    "words": "words (TF-IDF): entropy",
    "words-doubt": "words (TF-IDF): doubt",
    "direct": "no persona, direct",
    "reasoning": "no persona, reasoning",
    "persona": "all personas, direct",
    "persona-reasoning": "all personas, reasoning",
    "selective": "selective personas, direct",
    "selective-reasoning": "selective personas, reasoning",
}


@dataclass(frozen=True)
class Detection:
    """All methods on the items of one task, beside people's votes."""

    task: Task
    question: Question
    items: pl.DataFrame
    votes: pl.DataFrame
    methods: list[Detected]
    judging: Judging
    after: pl.DataFrame
    """People's votes under context; empty where nobody judged with context."""

    @property
    def judged(self) -> bool:
        """Whether there are votes enough to judge methods by."""
        return len(self.votes) >= LEAST

    def selector(self) -> Detected | None:
        """The method that flags items: the last one named that uses a model, or else the last one."""
        modelled = [one for one in self.methods if one.cost is not None]
        return next(reversed(modelled or self.methods), None)

    def flagged(self) -> list[str]:
        """The items that the selector flags: by held-out thresholds where there are votes, else within the budget."""
        chosen = self.selector()
        if chosen is None:
            return []
        if self.judged:
            try:
                flags = self.judging.flags(chosen, self.votes)
            except InputError:
                flags = None
            if flags is not None and not flags.reason:
                return flags.table.filter(pl.col("flagged"))["item"].to_list()
        scored = chosen.table.drop_nulls("score")
        places = [int(n) for tie in in_order(scored["score"]) for n in tie]
        return scored["item"].gather(places[: round(self.judging.budget * len(chosen.table))]).to_list()


def detection_of(
    corpus: Corpus,
    task: Task,
    *,
    surfaces: Sequence[str],
    costs: Mapping[tuple[str, str, str], Cost],
    spread: Spread,
    judging: Judging,
) -> Detection:
    """Every method's scores for the items of a task, read off the corpus."""
    question = question_of(task)
    told = votes(corpus, question, condition=STATIC)
    models = _models(corpus)
    named: list[Detected] = []
    if len(told) >= LEAST:
        plain = spread if bool(told["ambiguity"].sum()) else Spread(spread.score, spread.base, spread.normalise, False)
        for name in surfaces:
            found = by_surface(
                corpus.items, told, question.scale, name, spread=plain, folds=judging.folds, seed=judging.seed
            )
            named.append(Detected(TITLES[name], found.table))
    for model, method in models:
        raters = corpus.raters.filter(pl.col("model") == model, pl.col(METHOD) == method)["rater"]
        cost = costs.get((task.name, model, method)) or Cost(0, None, None)
        simulation = Simulation(find_method(method).name, corpus, question, tuple(raters), cost)
        title = TITLES[method] if len({m for m, _ in models}) == 1 else f"{model}: {TITLES[method]}"
        named.append(Detected(title, detected(simulation, spread).table, cost))
    after = votes(corpus, question, condition="context")
    return Detection(task, question, corpus.items, told, named, judging, after)


def _models(corpus: Corpus) -> list[tuple[str, str]]:
    """The models and methods whose readers are in a corpus, in the order of the raters."""
    if METHOD not in corpus.raters.columns:
        return []
    known = corpus.raters.drop_nulls(METHOD).select("model", METHOD).unique(maintain_order=True)
    return list(known.iter_rows())


def spread_of(options: Options) -> Spread:
    """How the study's options read ambiguity off answers."""
    return Spread(options.score, options.base, normalise=options.base == "k", opt_outs=options.ambiguous_in)


def judging_of(options: Options, seed: int) -> Judging:
    """How the study's options judge methods of detection."""
    target = Target(options.target, options.mark)
    how = (options.threshold, options.budget, options.folds, None, options.resamples, seed)
    return Judging(target, *how)


def surface_names(names: list[str]) -> list[str]:
    """Those of the methods that need no model."""
    return [name for name in names if name in SURFACE]
