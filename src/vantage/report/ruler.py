"""The model of ratings in reports: Wright maps, and what the traits of raters explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.models.explain import explain
from vantage.measures.models.facets import facets
from vantage.report.cells import counted
from vantage.report.parts import Figure, Part

LARGEST: Final = 100_000
"""How many answers have a Wright map in a report; `vantage facets` fits more."""


def wright_maps(corpus: Corpus, questions: Iterable[str]) -> list[Part | str] | None:
    """A Wright map of each question, or one sentence that says why there is none; null without questions."""
    return [
        wright_map(corpus.filter(question=question), question, f"wright-map-{number}")
        for number, question in enumerate(questions, 1)
    ] or None


def wright_map(data: Corpus | pl.DataFrame, of: str, name: str = "wright-map") -> Part | str:
    """Raters and items on one scale, or one sentence that says why there is none.

    Where raters fall into groups that share no items, nothing but the likeness of the items says how severe one group
    is beside another: the caption says so.
    """
    answers = (data.judgments if isinstance(data, Corpus) else data)["value"].count()
    if answers > LARGEST:
        many = counted(answers, "answer")
        return f"There is no Wright map of {of}, which has {many}; `vantage facets` makes one."
    try:
        frame = facets(data, show="ruler", kinds="all", unconnected="assume")
    except InputError as error:
        return f"There is no common scale of raters for {of}: {error}"
    caption = (
        f"Wright map of {of}: raters by severity and items by location on one scale of logits, with 95 % intervals; "
        "dashed lines are the thresholds between two answers, for a rater of severity 0."
    )
    if "part" in frame.columns:
        groups = frame["part"].drop_nulls().n_unique()
        caption += (
            f" Raters fall into {groups} groups that share no items, so that severity can be compared between groups "
            "only if the items of each group are alike on average, as when allotted at random."
        )
    shown = frame.select("facet", "name", "estimate", "low", "high", "infit", "fair")
    return Figure(name, caption, "", "wright", shown, {})


def trait_effects(
    data: Corpus | pl.DataFrame, traits: Sequence[str], question: str | None, *, seed: int = 0
) -> pl.DataFrame | None:
    """One row per trait: its largest difference given the other traits, or why it cannot be in one model with them.

    Null where no trait has an estimate.
    """
    rows, kept, refused = None, list[str](), dict[str, str]()

    def fitted(some: Sequence[str]) -> pl.DataFrame:
        return explain(data, traits=list(some), question=question, seed=seed)

    with suppress(InputError):
        rows = fitted(traits) if traits else None
    for trait in traits if rows is None else ():
        try:
            rows = fitted([*kept, trait])
            kept.append(trait)
        except InputError as error:
            refused[trait] = str(error)
    if rows is None:
        return None
    known = rows.filter(pl.col("difference").is_not_null()).with_columns(trait="term")
    gone = [{"trait": trait, "not_estimated": reason} for trait, reason in refused.items()]
    schema = {"trait": pl.String, "not_estimated": pl.String}
    return pl.concat([known, pl.DataFrame(gone, schema=schema)], how="diagonal_relaxed").with_columns(
        pl.col("trait").str.replace_all("_", " ")
    )
