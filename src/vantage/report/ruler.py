"""The Wright maps of a report: people, models and items of each question on one scale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.codes import dense, encode
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.facets import facets
from vantage.report.cells import counted
from vantage.report.parts import Figure, Part

LARGEST: Final = 100_000
"""How many answers to a question have a Wright map in a report; `vantage facets` fits more."""


def wright_maps(corpus: Corpus, questions: Iterable[str]) -> list[Part | str] | None:
    """A Wright map of each question, or one sentence that says why there is none; null without questions.

    Where raters fall into groups that share no items, nothing says how severe one group is beside another: the map is
    then that of the group with the most answers, and its caption says so.
    """
    parts: list[Part | str] = []
    for number, question in enumerate(questions, 1):
        answers = corpus.judgments.filter(pl.col("value").is_not_null(), question=question)
        if len(answers) > LARGEST:
            many = counted(len(answers), "answer")
            parts.append(f"There is no Wright map of {question}, which has {many}; `vantage facets` makes one.")
            continue
        groups = _groups(answers)
        part = corpus.filter(item=groups[0]["item"].unique().to_list()) if len(groups) > 1 else corpus
        try:
            frame = facets(part, question=question, show="ruler")
        except InputError as error:
            parts.append(f"There is no common scale of raters for {question}: {error}")
            continue
        caption = (
            f"Wright map of {question}: raters by severity and items by location on one scale of logits, with 95 % "
            "intervals; dashed lines are the thresholds between two answers, for a rater of severity 0."
        )
        if len(groups) > 1:
            raters, items = groups[0]["rater"].n_unique(), groups[0]["item"].n_unique()
            caption += (
                f" Raters fall into {len(groups)} groups that share no items, so severity cannot be compared "
                f"between groups; the map shows the group with the most answers ({counted(raters, 'rater')}, "
                f"{counted(items, 'item')})."
            )
        shown = frame.select("facet", "name", "estimate", "low", "high", "infit", "fair")
        parts.append(Figure(f"wright-map-{number}", caption, "", "wright", shown, {}))
    return parts or None


def _groups(answers: pl.DataFrame) -> list[pl.DataFrame]:
    """The answers of raters that are connected through common items, the largest group first."""
    if answers.is_empty():
        return []
    codes = [dense(encode(answers, [name]))[0] for name in ("item", "rater")]
    parted = answers.with_columns(__part=pl.Series(Crossed(codes).components()))
    return sorted(parted.partition_by("__part", maintain_order=True), key=len, reverse=True)
