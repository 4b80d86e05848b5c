"""The words of a reply by which it was read: those without which the parser would read something else.

Nothing is assumed about how the parser works. Parts of the reply are left out, halves first, and the rest is read
again; a word counts when value, status or form of the answer change without it. Words that say the same thing twice
cover for each other, so where no single word counts, the shortest run of words that is read the same way is marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from vantage.instruments import Question
from vantage.raters.replies import ParsedReply, parse_reply

Span: TypeAlias = tuple[int, int]
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

    def same(text: str) -> bool:
        return _read(parse_reply(text, question, source, cut=cut)) == _read(read)

    spans = _deciding(reply, words, same)
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


def _deciding(reply: str, words: list[Span], same: Callable[[str], bool]) -> list[Span]:
    """The words without which the reply is read differently."""
    if not words:
        return []
    start, end = words[0][0], words[-1][1]
    if same(reply[:start] + " " * (end - start) + reply[end:]):
        return []
    if len(words) == 1:
        return words
    middle = len(words) // 2
    return _deciding(reply, words[:middle], same) + _deciding(reply, words[middle:], same)


def _shortest(reply: str, words: list[Span], same: Callable[[str], bool]) -> Span:
    """The shortest run of words that is read the same way, cut off at the start and then at the end."""
    end = words[-1][1]
    first = _last(len(words), lambda number: same(reply[words[number][0] : end]))
    start = words[first][0]
    cut = _last(len(words) - first, lambda number: same(reply[start : words[len(words) - 1 - number][1]]))
    return start, words[len(words) - 1 - cut][1]


def _last(count: int, holds: Callable[[int], bool]) -> int:
    """The last of the numbers below a count for which something holds, which holds for 0 and ends somewhere."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _joined(spans: list[Span], reply: str) -> list[Span]:
    """Neighbouring words as one span."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and not reply[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
