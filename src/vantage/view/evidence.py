"""The words of a reply by which it was read: those without which the parser would read something else.

Nothing is assumed about how the parser works. Each word is left out in turn and the rest is read again; a word counts
when value, status or rule change. Words that say the same thing twice cover for each other, so where no single word
counts, the shortest beginning or end that is read the same way is marked.
"""

from __future__ import annotations

import re
from typing import Any, Final

from vantage.instruments import Question
from vantage.raters.replies import ParsedReply, parse_reply

WORDS: Final = 300
"""Replies with more words than this are marked within their first and last words only."""
_WORD: Final = re.compile(r"\S+")


def evidence(reply: str, question: Question, source: str | None = None, *, cut: bool = False) -> dict[str, Any]:
    """The rule that reads a reply, what it reads, and the spans of the words that decide it.

    >>> from vantage.instruments import Instrument
    >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
    >>> shown = evidence("Well, hard to say. Rating: 4", question)
    >>> [shown["reply"][start:end] for start, end in shown["spans"]], shown["rule"]
    (['4'], 'marker:number')
    """
    read = parse_reply(reply, question, source, cut=cut)
    words = [match.span() for match in _WORD.finditer(reply)]
    tried = words if len(words) <= WORDS else [*words[: WORDS // 2], *words[-WORDS // 2 :]]

    def same(text: str) -> bool:
        return _read(parse_reply(text, question, source, cut=cut)) == _read(read)

    spans = [(start, end) for start, end in tried if not same(reply[:start] + " " * (end - start) + reply[end:])]
    if not spans and words and read.status != "unparsed":
        spans = [_shortest(reply, words, same)]
    return {
        "reply": reply,
        "rule": read.rule,
        "value": read.value,
        "status": read.status,
        "spans": _joined(spans, reply),
    }


def _read(reply: ParsedReply) -> tuple[Any, ...]:
    return reply.value, reply.status, reply.rule.partition(":")[2] or reply.rule


def _shortest(reply: str, words: list[tuple[int, int]], same: Any) -> tuple[int, int]:
    """The shortest run of words from the end, then from the start, that is read the same way."""
    low, high = 0, len(words)
    while low + 1 < high and same(reply[words[low + 1][0] : words[high - 1][1]]):
        low += 1
    while high - 1 > low and same(reply[words[low][0] : words[high - 2][1]]):
        high -= 1
    return words[low][0], words[high - 1][1]


def _joined(spans: list[tuple[int, int]], reply: str) -> list[tuple[int, int]]:
    """Neighbouring words as one span."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and not reply[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
