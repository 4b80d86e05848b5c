"""Raters that learn from the training part of each split, and what they predict for the users of the test part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.perspective import Split
from vantage.raters.models.base import ModelError
from vantage.raters.trained.pairs import PAIR_METHODS, PairRater, fit_pairs
from vantage.studies.execution import NO_ENCODER, Context, hundredths
from vantage.studies.perseval.cells import GridCell, PersevalOptions
from vantage.studies.perseval.sources import CorpusTask
from vantage.studies.perseval.stored import Predictions

SEATS: Final = 2
"""How many seats of a jury each of two groups has."""
MEMBERS: Final = 6
"""From how many people of each group jurors are drawn, at most."""
JURY_TEXTS: Final = 200
"""How many texts are put before juries, at most."""
ONE_TRAIT: Final = "tfidf-users"
"""The method that is also told one trait at a time, as a model is prompted."""
QUICK_EPOCHS: Final = 2


def learn(task: CorpusTask, cells: list[GridCell], context: Context[PersevalOptions], kept: Predictions) -> None:
    """Runs every trained cell that is not finished, then the raters that are told one trait, then the jury."""
    wanted = [cell for cell in cells if cell.kind == "trained" and not cell.reason]
    school = _School(task, context, kept)
    with context.step(f"{task.name}: learning", len(wanted)) as moved:
        for cell in wanted:
            if kept.find(cell.rater, cell.variant) is None and context.trains(
                f"{task.name}: {cell.name}", f"{len(school.split(cell).train):,} judgments"
            ):
                school.run(cell)
            moved(1)
    chosen = {cell.rater for cell in wanted}
    if ONE_TRAIT in chosen and task.traits:
        _one_by_one(task, context, kept)
    if task.tested_traits and not context.plans:
        seats = next((m for m in ("tokens", ONE_TRAIT, "user-majority") if m in chosen and m not in school.shut), None)
        if seats is not None:
            _jury(task, seats, school, kept)


class _School:
    """Fits raters, each once, and remembers which methods cannot be run here."""

    def __init__(self, task: CorpusTask, context: Context[PersevalOptions], kept: Predictions) -> None:
        self.task, self.context, self.kept = task, context, kept
        self.shut: set[str] = set()
        self.fitted: dict[str, PairRater] = {}

    def run(self, cell: GridCell) -> None:
        """One cell; a method that needs what is not installed is told once and left out."""
        if cell.rater in self.shut:
            return
        rater = self.rater(cell)
        if rater is not None:
            self.kept.put(cell.rater, cell.variant, rater.judge())

    def rater(self, cell: GridCell) -> PairRater | None:
        """The rater of a cell; null where what it needs is not installed."""
        if PAIR_METHODS[cell.rater].torch and cell.adaptation == "none":
            # What users say beforehand moves predictions and trains nothing: without it, it is the same network.
            rater = self._fitted(replace(cell, adaptation="test"))
            return None if rater is None else replace(rater, offsets={})
        return self._fitted(cell)

    def _fitted(self, cell: GridCell) -> PairRater | None:
        key = f"{cell.rater}-{cell.variant.replace('/', '-')}"
        if key not in self.fitted:
            try:
                self.fitted[key] = self._fit(cell.rater, self.split(cell), key)
            except (ModelError, InputError) as error:
                if not PAIR_METHODS[cell.rater].torch or self.context.options.encoder != "auto":
                    raise
                self.context.warn(NO_ENCODER.format(why=_sentence(error)))
                self.shut |= {name for name, one in PAIR_METHODS.items() if one.torch}
                return None
            for note in self.fitted[key].notes:
                if "never predicted" in note:
                    self.context.warn(f"{self.task.name}: {note}")
        return self.fitted[key]

    def _fit(self, method: str, split: Split, key: str) -> PairRater:
        options = self.context.options
        given: dict[str, Any] = {}
        if PAIR_METHODS[method].torch:
            place = self.context.folder
            if place is not None:
                given["checkpoint"] = place / "checkpoints" / f"{self.task.name}-{key}"
            given["model"] = "embedded" if options.encoder == "auto" else options.encoder
            if options.quick:
                given["settings"] = {"epochs": QUICK_EPOCHS}
            with self.context.step(f"{self.task.name}: training {key}", 100) as moved:
                return fit_pairs(split, method, seed=self.context.seed, progress=hundredths(moved), **given)
        return fit_pairs(split, method, seed=self.context.seed)

    def split(self, cell: GridCell) -> Split:
        """What the rater of a cell learns from."""
        if cell.users is None or cell.adaptation is None:
            # A rater that is blind to users learns from the training annotators alone, as the paper's baseline.
            return self.task.split(extended=bool(cell.extended))
        return self.task.split(cell.users, cell.adaptation, extended=bool(cell.extended))


def _one_by_one(task: CorpusTask, context: Context[PersevalOptions], kept: Predictions) -> None:
    """A rater that is told one trait, for each trait: the learned counterpart of one prompt per trait."""
    split = task.split("named", "none")
    people = task.people.raters.join(split.train, on="rater", how="semi")
    for trait in task.traits:
        if people[trait].drop_nulls().n_unique() < 2 or kept.find(ONE_TRAIT, f"trait:{trait}") is not None:
            continue
        if context.trains(f"{task.name}: {ONE_TRAIT} ({trait} alone)", f"{len(split.train):,} judgments"):
            rater = fit_pairs(split, ONE_TRAIT, traits=[trait], seed=context.seed)
            kept.put(ONE_TRAIT, f"trait:{trait}", rater.judge())


def _jury(task: CorpusTask, method: str, school: _School, kept: Predictions) -> None:
    """What a rater predicts for people of two groups on the same texts, whether they judged these or not."""
    if kept.find(method, "jury") is not None:
        return
    split = task.split("named", "none")
    rater = school.rater(GridCell(method, "trained", "named", "none", extended=False))
    if rater is None:
        return
    rng = np.random.default_rng(school.context.seed)
    trait, values = composition(task)
    known = task.people.raters.select("rater", trait).sort("rater")
    jurors = []
    for value in values:
        people = known.filter(pl.col(trait) == value)["rater"]
        jurors += [people[int(n)] for n in rng.permutation(len(people))[:MEMBERS]]
    texts = split.test["item"].unique().sort()
    chosen = [texts[int(n)] for n in sorted(rng.permutation(len(texts))[:JURY_TEXTS])]
    pairs = pl.DataFrame({"item": chosen}).join(pl.DataFrame({"rater": jurors}), how="cross")
    kept.put(method, "jury", rater.judge(pairs))


def composition(task: CorpusTask) -> tuple[str, list[str]]:
    """The trait by which a jury is seated, and its two most frequent values."""
    trait = task.tested_traits[0]
    counts = task.people.raters[trait].drop_nulls().value_counts().sort(["count", trait], descending=[True, False])
    return trait, counts[trait].head(2).to_list()


def _sentence(error: Exception) -> str:
    message = str(error)
    message = message[0].upper() + message[1:]
    return message if message.endswith(".") else f"{message}."
