"""What traits do: in people's answers, in predictions, and in votes over traits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.perspective import ablation as ablation_of
from vantage.perspective import alignment, exaggeration
from vantage.perspective import explained as explained_of
from vantage.perspective import label_change as label_change_of
from vantage.studies.perseval.analysis import Evaluated, Perspectives, Rows
from vantage.studies.perseval.cells import GridCell

TESTED: Final = 30
"""From how many texts on that two groups judged the interval of their difference is given."""


def explained(analysis: Perspectives) -> pl.DataFrame:
    """What each trait explains of people's answers to the same text."""

    def known(one: Evaluated) -> Rows:
        task = one.task
        return explained_of(task.people, task.question, seed=task.seed).to_dicts() if task.traits else ()

    return analysis.per_corpus(known)


def exaggerated(analysis: Perspectives) -> pl.DataFrame:
    """The difference between two groups among people and in what is predicted for them, of raters that know users."""

    def apart(one: Evaluated, cell: GridCell) -> Iterator[dict[str, Any]]:
        frame, task = one.predictions[cell.rater, cell.variant], one.task
        for trait in one.evaluations[cell].traits if cell.knows_users else ():
            many = max(one.resamples, 1)
            exaggeration_ = exaggeration(frame, task.people, trait, task.question, resamples=many, seed=task.seed)
            for row in exaggeration_.iter_rows(named=True):
                if row["texts"] < TESTED:
                    row |= {"reason": f"fewer than {TESTED} texts were judged by users of both values"}
                    row |= {name: None for name in row if name == "ratio" or name.endswith(("low", "high"))}
                yield {"groups": f"{row['first']} − {row['second']}", **row}

    return analysis.per_rater(apart)


def label_change(analysis: Perspectives) -> pl.DataFrame:
    """How often labels differ between users of different trait values, in predictions and among people."""

    def changed(one: Evaluated) -> Iterator[dict[str, Any]]:
        for rater in one.one_trait_raters:
            for trait, frame in one.with_one_trait(rater).items():
                changes = label_change_of(frame, one.task.people, trait, one.task.question)
                mine, people = changes.iter_rows(named=True)
                row = {"rater": rater, "trait": trait, "between": mine["between"], "people": people["between"]}
                row |= {"changed": mine["texts"], "per_annotation": mine["annotations"]}
                yield {**row, "texts": mine["compared_texts"], "annotations": mine["compared_annotations"]}

    return analysis.per_corpus(changed)


def prompt_change(analysis: Perspectives) -> pl.DataFrame:
    """How often a model's label changes when nothing but the value of the trait in the prompt does."""

    def changed(one: Evaluated) -> Iterator[dict[str, Any]]:
        for (rater, style), frame in one.predictions.items():
            if style.startswith("values:"):
                trait = style.removeprefix("values:")
                yield {"rater": rater, "trait": trait, **_between(one, frame, trait)}

    return analysis.per_corpus(changed)


def ablation(analysis: Perspectives) -> pl.DataFrame:
    """Scores of the vote over every combination of traits."""

    def voted(one: Evaluated) -> Iterator[dict[str, Any]]:
        for rater in one.one_trait_raters:
            predicted = {trait: _whole(frame, one) for trait, frame in one.with_one_trait(rater).items()}
            people = one.asked if one.asked is not None and ":" in rater else one.task.split()
            ablated = ablation_of(predicted, people, seed=one.task.seed).filter(pl.col("class") == one.task.label)
            for row in ablated.drop("class", "low", "high", "ties").iter_rows(named=True):
                named = {"rater": rater, "panel": f"{one.task.name}: {rater}", "several": len(predicted) > 1}
                yield {**named, **row}

    return analysis.per_corpus(voted)


def soft(analysis: Perspectives) -> pl.DataFrame:
    """Distances between predicted and given labels by trait value, where users of two values judged the same texts."""

    def apart(one: Evaluated, cell: GridCell) -> Iterator[dict[str, Any]]:
        for trait in one.evaluations[cell].traits:
            with suppress(InputError):
                aligned = alignment(
                    one.predictions[cell.rater, cell.variant], one.task.people, trait, one.task.question
                )
                yield from aligned.iter_rows(named=True)

    return analysis.per_rater(apart)


def _whole(frame: pl.DataFrame, one: Evaluated) -> pl.DataFrame:
    """Predictions by one trait for every pair; none where the trait of the user is not known."""
    whole = one.task.split().test if one.asked is None else one.asked.test
    pairs = one.task.split().test if len(frame) > len(whole) else whole
    return pairs.select("item", "rater").join(frame, on=["item", "rater"], how="left")


def _between(one: Evaluated, frame: pl.DataFrame, trait: str) -> dict[str, Any]:
    """Label change where the value of a trait takes the place of the user."""
    values = frame["rater"].unique().sort()
    people = one.task.people
    raters = pl.DataFrame({"rater": values, "kind": ["person"] * len(values), trait: values})
    items = people.items.join(frame, on="item", how="semi")
    judged = frame.with_columns(pl.lit(one.task.question).alias("question")).drop_nulls("value")
    corpus = Corpus(items, raters, judged, people.instruments)
    row = label_change_of(frame, corpus, trait, one.task.question).row(0, named=True)
    return {"between": row["between"], "changed": row["texts"], "texts": row["compared_texts"], "values": len(values)}
