"""Replies are text of a stranger: reading one takes time in proportion to its length, whatever it is made of."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import product

import pytest

from tests.raters.replies.questions import AGREE, NINE
from tests.raters.replies.test_fuzz import BOMBS
from vantage.raters.models.base import defused
from vantage.raters.models.dialects import DIALECTS, enclosed, split_thinking
from vantage.raters.replies import parse_reply
from vantage.raters.replies.keywords import read_keywords

SYNTAX = (
    (r"\(\?[=!][^()]*\)|\\A|\\b", ""),  # what takes no room
    (r"\(\?:[^()]*(?:\([^()]*\)[^()]*)?\)\?|\[[^\]]*\]\{[^}]*\}|\\s\*", ""),  # what need not be there
    *[(r"\(\?:([^|()]*)\|[^()]*\)", r"\1")] * 2,  # the first of several, also where these are several
    (r"\\(.)", r"\1"),
)


def written(pattern: str) -> str:
    """A mark that a pattern of the table stands for."""
    for syntax, text in SYNTAX:
        pattern = re.sub(syntax, text, pattern)
    return pattern


MARKS = {one.name: (written(one.opens), written(one.closes)) for one in DIALECTS}
SHAPES = [
    mark for name, marks in MARKS.items() if name in ("think", "thinking") or ">" not in marks[0] for mark in marks
]
SHAPES += [mark for name, marks in MARKS.items() if "|" in marks[0] for mark in marks]
"""All marks but those of further dialects that are tags, which differ in a word alone."""
READERS: dict[str, Callable[[str], object]] = {
    "thinking": split_thinking,
    "marks": lambda text: enclosed(text, "ready"),
    "defused": defused,
    "keywords": read_keywords,
    "form": lambda text: parse_reply(text, NINE, strict=True),
    "prose": lambda text: parse_reply(text, AGREE, "the quick brown fox jumped over 3 dogs"),
}


def seconds(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


def of_length(length: int, *parts: str) -> str:
    unit = "".join(parts)
    return (unit * (length // len(unit) + 1))[:length]


def test_the_marks_are_those_of_the_table() -> None:
    for one in DIALECTS:
        opens, closes = MARKS[one.name]
        assert re.match(one.opens, f"{opens} A", re.IGNORECASE), one
        assert re.fullmatch(one.closes, closes, re.IGNORECASE), one


def test_thousands_of_marks_are_gone_through_once() -> None:
    """Every mark, every pair of marks, and every mark before many of another."""
    slow = [
        (one, other)
        for one, other in product(SHAPES, ["", *SHAPES])
        if seconds(split_thinking, other + of_length(400, one) + of_length(600, one, other)) > 0.15
    ]
    assert slow == []
    long = {mark for marks in MARKS.values() for mark in marks}
    assert [mark for mark in sorted(long) if seconds(split_thinking, of_length(8_000, mark)) > 0.5] == []


@pytest.mark.parametrize("reader", READERS)
def test_what_answers_are_made_of_takes_no_longer_when_it_is_repeated(reader: str) -> None:
    """Pairs of neighbours in the list of bombs, and answers that are given a thousand times in one sentence."""
    answers = ('"rating": 4, ', "rating: agree ", "my answer is 4 and ", "<a> ", "4, not 5, ")
    texts = [of_length(8_000, one, other) for one, other in zip(answers, ("", *BOMBS[::9]), strict=False)]
    assert [text[:30] for text in texts if seconds(READERS[reader], text) > 1] == []
