"""Reasons that nearly copy those of models about the same item: a reason to look at a rater, never proof.

Two texts are compared by their runs of three words (shingles; Broder 1997): the share of the shingles of either that
both have. Short reasons resemble each other by chance and are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import MODELS

WORDS: Final = 3
FEWEST: Final = 8
"""Words that a reason must have to be compared."""
NEAR: Final = 0.5
"""From this likeness on, a reason nearly copies another."""


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """The runs of three words of a text, without case and punctuation; none of a text that is too short."""
    words = re.findall(r"\w+", text.casefold())
    if len(words) < FEWEST:
        return frozenset()
    return frozenset(tuple(words[i : i + WORDS]) for i in range(len(words) - WORDS + 1))


def likeness(first: str, second: str) -> float:
    """The share of the shingles of two texts that both have; 0 where one is too short.

    >>> one = "The reply says the opposite of what the post asks for, so it is ironic."
    >>> likeness(one, one.upper()), likeness(one, "I took it at face value because nothing in it hints at a joke.")
    (1.0, 0.0)
    """
    mine, theirs = shingles(first), shingles(second)
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0


class ModelReasons:
    """The reasons that models gave in a corpus, by item and question."""

    def __init__(self, corpus: Corpus) -> None:
        models = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(MODELS))["rater"]
        given = corpus.judgments.filter(pl.col("rater").is_in(models.implode()), pl.col("rationale").is_not_null())
        self._given: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for item, question, rater, text in given.select("item", "question", "rater", "rationale").iter_rows():
            self._given.setdefault((item, question), []).append((rater, text))

    def __bool__(self) -> bool:
        return bool(self._given)

    def copied(self, reasons: Sequence[tuple[str, str, str]]) -> tuple[Mapping[str, int], int]:
        """How many of a rater's reasons (item, question, text) nearly copy each model's, and how many were compared."""
        counts: dict[str, int] = {}
        compared = [one for one in reasons if (one[0], one[1]) in self._given and shingles(one[2])]
        for item, question, text in compared:
            alike = [(rater, likeness(text, other)) for rater, other in self._given[item, question]]
            rater, most = max(alike, key=lambda one: one[1])
            if most >= NEAR:
                counts[rater] = counts.get(rater, 0) + 1
        return counts, len(compared)
