"""Reasons that nearly copy others about the same item: a reason to look at a rater, never proof.

A person's reasons are compared with those of the models in the study's corpus, and with those of other people. Two
texts are compared by their runs of three words (shingles; Broder 1997): the share of the shingles of either that both
have. Short reasons resemble each other by chance and are not compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

import polars as pl

WORDS: Final = 3
FEWEST: Final = 8
"""Words that a reason must have to be compared."""
NEAR: Final = 0.5
"""From this likeness on, a reason nearly copies another."""
Runs = frozenset[tuple[str, ...]]


def shingles(text: str) -> Runs:
    """The runs of three words of a text, without case and punctuation; none of a text that is too short."""
    words = re.findall(r"\w+", text.casefold())
    if len(words) < FEWEST:
        return frozenset()
    return frozenset(tuple(words[i : i + WORDS]) for i in range(len(words) - WORDS + 1))


def likeness(first: Runs, second: Runs) -> float:
    """The share of the shingles of two texts that both have; 0 where one is too short.

    >>> one = "The reply says the opposite of what the post asks for, so it is ironic."
    >>> other = "I took it at face value because nothing in it hints at a joke."
    >>> likeness(shingles(one), shingles(one.upper())), likeness(shingles(one), shingles(other))
    (1.0, 0.0)
    """
    return len(first & second) / len(first | second) if first and second else 0.0


class GivenReasons:
    """Reasons that raters gave, by item and question, to compare others with."""

    def __init__(self, judgments: pl.DataFrame) -> None:
        self._given: dict[tuple[str, str], list[tuple[str, Runs]]] = {}
        rows = judgments.select("item", "question", "rater", "rationale").drop_nulls()
        for item, question, rater, text in rows.iter_rows():
            if runs := shingles(text):
                self._given.setdefault((item, question), []).append((rater, runs))

    def copied(self, reasons: Iterable[tuple[str, str, str]], own: str = "") -> tuple[Counter[str], int]:
        """How many reasons (item, question, text) nearly copy each rater's but one's own, and how many were compared.

        A reason counts for the rater whose it resembles most.
        """
        counts: Counter[str] = Counter()
        compared = 0
        for item, question, text in reasons:
            runs = shingles(text)
            others = [one for one in self._given.get((item, question), ()) if one[0] != own]
            if runs and others:
                compared += 1
                most, rater = max((likeness(runs, theirs), rater) for rater, theirs in others)
                counts.update([rater] if most >= NEAR else [])
        return counts, compared
