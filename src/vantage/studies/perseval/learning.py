"""Raters that learn from the training part of each split, and what they predict for the users of the test part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from vantage.errors import InputError
from vantage.perspective import Split
from vantage.raters.models.base import ModelError
from vantage.raters.trained.pairs import PAIR_METHODS, fit_pairs
from vantage.raters.trained.rater import TrainedRater
from vantage.studies.execution import NO_ENCODER, Context, hundredths
from vantage.studies.perseval.cells import GridCell, PersevalOptions
from vantage.studies.perseval.sources import CorpusTask
from vantage.studies.perseval.stored import Predictions

ONE_TRAIT: Final = "tfidf-users"
"""The method that is also told one trait at a time, as a model is prompted."""
QUICK_EPOCHS: Final = 2


def learn(task: CorpusTask, cells: list[GridCell], context: Context[PersevalOptions], kept: Predictions) -> None:
    """Runs every trained cell that is not finished, then the raters that are told one trait."""
    wanted = [cell for cell in cells if cell.kind == "trained" and not cell.reason]
    fitted: dict[str, TrainedRater] = {}
    missing = False
    with context.step(f"{task.name}: learning", len(wanted)) as moved:
        for cell in wanted:
            torch, known = PAIR_METHODS[cell.rater].torch, (cell.rater, cell.variant) in kept
            learns = f"{len(_split(task, cell).train):,} judgments"
            if not known and not (torch and missing) and context.trains(f"{task.name}: {cell.name}", learns):
                try:
                    kept[cell.rater, cell.variant] = _rater(task, cell, context, fitted).judge()
                except (ModelError, InputError) as error:
                    if not torch or context.options.encoder != "auto":
                        raise
                    # What is not installed is mentioned once.
                    missing, why = True, str(error).rstrip(".")
                    context.warn(NO_ENCODER.format(why=f"{why[0].upper()}{why[1:]}."))
            moved(1)
    if task.traits and ONE_TRAIT in {cell.rater for cell in wanted}:
        _one_by_one(task, context, kept)


def _rater(
    task: CorpusTask, cell: GridCell, context: Context[PersevalOptions], fitted: dict[str, TrainedRater]
) -> TrainedRater:
    """The rater of a cell; those of other cells are in `fitted`."""
    if PAIR_METHODS[cell.rater].torch and cell.adaptation == "none":
        # What users say beforehand moves predictions and trains nothing: without it, it is the same network.
        return replace(_rater(task, replace(cell, adaptation="test"), context, fitted), offsets={})
    key = f"{cell.rater}-{cell.variant.replace('/', '-')}"
    if key not in fitted:
        given: dict[str, Any] = {"seed": context.seed}
        if PAIR_METHODS[cell.rater].torch:
            given["model"] = "embedded" if context.options.encoder == "auto" else context.options.encoder
            if context.options.quick:
                given["settings"] = {"epochs": QUICK_EPOCHS}
            if context.folder is not None:
                given["checkpoint"] = context.folder / "checkpoints" / f"{task.name}-{key}"
            with context.step(f"{task.name}: training {key}", 100) as moved:
                fitted[key] = fit_pairs(_split(task, cell), cell.rater, progress=hundredths(moved), **given)
        else:
            fitted[key] = fit_pairs(_split(task, cell), cell.rater, **given)
        for note in fitted[key].notes:
            if "never predicted" in note:
                context.warn(f"{task.name}: {note}")
    return fitted[key]


def _split(task: CorpusTask, cell: GridCell) -> Split:
    """What the rater of a cell learns from."""
    if cell.users is None or cell.adaptation is None:
        # A rater that is blind to users learns from the training annotators alone, as the paper's baseline.
        return task.split(extended=bool(cell.extended))
    return task.split(cell.users, cell.adaptation, extended=bool(cell.extended))


def _one_by_one(task: CorpusTask, context: Context[PersevalOptions], kept: Predictions) -> None:
    """A rater that is told one trait, for each trait: the learned counterpart of one prompt per trait."""
    split = task.split("named", "none")
    people = task.people.raters.join(split.train, on="rater", how="semi")
    for trait in task.traits:
        if people[trait].drop_nulls().n_unique() < 2 or (ONE_TRAIT, f"trait:{trait}") in kept:
            continue
        if context.trains(f"{task.name}: {ONE_TRAIT} ({trait} alone)", f"{len(split.train):,} judgments"):
            rater = fit_pairs(split, ONE_TRAIT, traits=[trait], seed=context.seed)
            kept[ONE_TRAIT, f"trait:{trait}"] = rater.judge()
