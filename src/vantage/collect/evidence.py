"""How answers were typed, where the consent says that it is recorded, and reasons that copy a model's.

Of typing there are counts only, never what was typed. They are evidence for a person to weigh. No flag, rule or measure
looks at them: people paste from their notes, use dictation and password managers, and are called away from the screen.

Reasons that nearly copy those of models about the same item are a reason to look at a rater, too, not proof. Two texts
are compared by their runs of three words (shingles; Broder 1997): the share of the shingles of either that both have.
Short reasons resemble each other by chance and are not compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from vantage.collect.languages import sentence
from vantage.corpora import Corpus
from vantage.corpora.schema import MODELS

CONSENT: Final = sentence(
    "While you answer, we count how often you paste text, how many keys you press, and how often you leave the page. "
    "We do not record which keys you press or what you paste."
)
"""Added to the consent of a study that records it, in the language of the study."""
COUNTS: Final = {
    "pastes": "pastes: {}",
    "pasted": "characters pasted: {}",
    "keys": "keys: {}",
    "away": "times away: {}",
}
"""What is counted, and how it is shown."""
MOST: Final = 1_000_000


def read(text: str) -> str | None:
    """The counts that a page sent, as stored; null where it sent none or something else.

    >>> read('{"pastes": 2, "keys": -3, "typed": "secret"}')
    '{"pastes": 2, "keys": 0}'
    >>> read("no JavaScript") is None
    True
    """
    try:
        given = json.loads(text) if len(text) <= 500 else None
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    kept = {name: min(max(given[name], 0), MOST) for name in COUNTS if type(given.get(name)) is int}
    return json.dumps(kept) if kept else None


def summary(stored: Iterable[Mapping[str, int]]) -> str:
    """All counts of a rater in words; empty without any.

    >>> summary([{"pastes": 1, "pasted": 80, "keys": 3}, {"pastes": 0, "keys": 40}])
    'pastes: 1, characters pasted: 80, keys: 43'
    """
    pages = list(stored)
    totals = {name: sum(page.get(name, 0) for page in pages) for name in COUNTS}
    return ", ".join(words.format(f"{totals[name]:,}") for name, words in COUNTS.items() if totals[name])


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
