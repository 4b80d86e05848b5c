"""The model of ratings in reports: Wright maps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from vantage.corpora import PEOPLE, Corpus
from vantage.errors import InputError
from vantage.measures import facets
from vantage.report.cells import counted
from vantage.report.parts import Figure, Part

LARGEST: Final = 100_000
"""How many answers have a Wright map in a report; `vantage measure facets` fits more."""


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
        return f"There is no Wright map of {of}, which has {many}; `vantage measure facets --show ruler` makes one."
    try:
        frame = facets(data, show="ruler", kinds="all", unconnected="assume", anchored=True)
    except InputError as error:
        return f"There is no common scale of raters for {of}: {error}"
    caption = (
        f"Wright map of {of}: raters by severity and items by location on one scale of logits, with 95 % intervals; "
        "dashed lines are the thresholds between two answers, for a rater of severity 0."
    )
    facets_of = set(frame["facet"]) - {"item", "threshold", "question", "condition"}
    if facets_of - set(PEOPLE) and facets_of & set(PEOPLE):
        caption += " Items and thresholds are those of people; everyone else is placed on them."
    steps = frame.filter(pl.col("facet") == "threshold")
    crossed = steps.filter(pl.col("estimate") < pl.col("estimate").shift(1))["name"].to_list()
    if crossed:
        caption += f" Thresholds are out of order ({', '.join(crossed)}): some answers are never the most likely."
    if "part" in frame.columns:
        groups = frame["part"].drop_nulls().n_unique()
        caption += (
            f" Raters fall into {groups} groups that share no items, so severity can be compared between groups "
            "only if their items are alike on average, for example because they were assigned at random."
        )
    shown = frame.select("facet", "name", "estimate", "low", "high")
    return Figure(name, caption, "", "wright", shown, {})
