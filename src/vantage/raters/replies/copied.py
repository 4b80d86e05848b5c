"""Words that are not the rater's own: copied from the item, or repeated from the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from vantage.scales import Scale, show_code

COPIED = "\ue000"
"""Stands for every character that comes from the item; removed from replies before they are read."""
ECHO = "\ue001"
"""Stands for every character that comes from the prompt."""

_WORD = re.compile(r"\w++")
_RUN = 5
"""As many words in a row are no coincidence."""
_RESTATED = 12
"""As many words of the question in a row mean that it is asked again; an answer in its words has fewer."""
# Words that stand beside a rating as well as beside any number of a text.
_COMMON = frozenset(
    re.findall(
        r"[\w-]+",
        "a an the is was are were be as at of to in on or and rate rated rating score answer scale value "
        "level i it my say give gave would with about",
    )
)

Span = tuple[int, int]


def masked(text: str, spans: Iterable[Span], mask: str) -> str:
    """The text with these stretches blotted out; line breaks stay."""
    parts, done = [], 0
    for start, end in sorted(spans):
        if end > done:
            parts.append(text[done : max(start, done)])
            hidden = text[max(start, done) : end]
            parts.append("\n".join(mask * len(line) for line in hidden.split("\n")))
            done = end
    return "".join([*parts, text[done:]])


def copied(text: str, source: str) -> list[Span]:
    """Stretches of a reply that stand in the item: five words in a row, or a number with its neighbours.

    >>> copied("I waited 3 months and rate it a 4", "They waited 3 months for a letter.")
    [(9, 10)]
    """
    words = list(_WORD.finditer(text))
    folded = [word.group().casefold() for word in words]
    there = _grams(source)
    spans = _runs(words, folded, there.runs)
    for i, word in enumerate(folded):
        if word.isdigit() and _beside(folded, i, there.pairs):
            spans.append(words[i].span())
    return spans


def restated(text: str, ask: str) -> list[Span]:
    """Where a reply asks the question again, in as many of its words in a row as no answer has."""
    words = list(_WORD.finditer(text))
    runs = _runs(words, [word.group().casefold() for word in words], _grams(ask).runs)
    return [span for span in runs if len(_WORD.findall(text, *span)) >= _RESTATED]


def scale_echoes(text: str, scale: Scale) -> list[Span]:
    """The range of the scale, as a prompt gives it: "on a scale from 1 to 9", "(1-9)", "1 being …".

    >>> text = "On a scale from 1 to 9, I say 4"
    >>> [text[start:end] for start, end in scale_echoes(text, Scale.points(1, 9))]
    ['On a scale from 1 to 9']
    """
    pattern = _echo_pattern(scale)
    return [match.span() for match in pattern.finditer(text)]


@lru_cache(maxsize=256)
def _echo_pattern(scale: Scale) -> re.Pattern[str]:
    low, high = (re.escape(show_code(end)) for end in scale.ends)
    codes = "|".join(sorted({re.escape(show_code(code)) for code in scale.codes}, key=len, reverse=True))
    meaning = r"(?:\s?\([^()\n]{1,80}\))?"
    ends = rf"(?<![\w.+-])\+?{low}{meaning}\s?(?:to|through|and|-|\.{{2,3}}|…)\s?\+?{high}(?!\w|\.\d|/){meaning}"
    ranged = (
        r"(?:(?:on|from|using)\s)?(?:(?:a|the)\s)?(?:\w{1,12}[ -])?(?:(?:scale|range)\s)?(?:of\s|from\s|between\s)?"
        rf"{ends}(?:\sscale\b)?"
    )
    named = r"(?:on\s)?(?:a|the)\s(?:scale|range)\s(?:of|from|between)\s[+-]?\d{1,3}\s?(?:to|and|-)\s?[+-]?\d{1,3}"
    defined = (
        rf"(?<![\w.+-])\+?(?:{codes})(?:\s(?:being|meaning|means|indicates|represents|denotes)\b)(?:\s?\"[^\"\n]{{1,80}}\")?"
        if codes
        else r"(?!)"
    )
    conditional = (
        r"\bif\b[^.!?\n]{1,160}"
        r"\b(?:mark|answer|write|say|choose|select|respond|reply|put|use)\b[^.!?\n]{0,80}"
    )
    instructed = (
        r"(?:\A|[.!?:\n]\s{0,3})(?:please\s)?(?:choose|select|pick|answer|respond|reply)\s(?:only\s)?"
        r"(?:between|from|among|either|one\sof|with\s(?:either|one\sof|only))\b[^.!?\n]{1,160}"
    )
    form = r"^[^\n]{0,80}\bof\sthe\sform\s[\"'*]{0,3}answer:\s?X\b[^\n]{0,400}?(?=$|,\s(?:the|my)\sanswer\b)"
    each = f"{ranged}|{named}|{defined}|{conditional}|{instructed}|{form}"
    return re.compile(each, re.IGNORECASE | re.MULTILINE)


class _Grams:
    """The runs of words and the pairs of number and neighbour that a text has."""

    def __init__(self, text: str) -> None:
        folded = [word.group().casefold() for word in _WORD.finditer(text)]
        self.runs = {tuple(folded[i : i + _RUN]) for i in range(len(folded) - _RUN + 1)}
        self.pairs = {pair for i, word in enumerate(folded) if word.isdigit() for pair in _neighbours(folded, i)}


@lru_cache(maxsize=512)
def _grams(text: str) -> _Grams:
    return _Grams(text)


def _neighbours(folded: Sequence[str], i: int) -> list[tuple[str, ...]]:
    """A number with the word before or behind it, or with two words if one of them tells something."""
    around: list[tuple[str, ...]] = []
    for start, end in ((i - 1, i + 1), (i, i + 2), (i - 2, i + 1), (i, i + 3)):
        group = tuple(folded[start:end]) if start >= 0 and end <= len(folded) else ()
        if any(_telling(word) for word in group):
            around.append(group)
    return around


def _telling(word: str) -> bool:
    return word not in _COMMON and not word.isdigit() and len(word) > 1


def _beside(folded: Sequence[str], i: int, pairs: set[tuple[str, ...]]) -> bool:
    return any(pair in pairs for pair in _neighbours(folded, i))


def _runs(words: Sequence[re.Match[str]], folded: Sequence[str], runs: set[tuple[str, ...]]) -> list[Span]:
    """The stretches of text that are covered by known runs."""
    spans: list[Span] = []
    last = -1
    for i in range(len(folded) - _RUN + 1):
        if tuple(folded[i : i + _RUN]) in runs:
            start, end = words[i].start(), words[i + _RUN - 1].end()
            if spans and i <= last + 1:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
            last = i + _RUN - 1
    return spans
