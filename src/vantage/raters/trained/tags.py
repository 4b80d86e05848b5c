"""Hashtags and handles as the words that they are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import log
from typing import Final

_TAG: Final = re.compile(r"([#@])(\w+)")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])|_")
_SHORT: Final = frozenset("a i am an as at be by do go he if in is it me my no of on or so to up us we".split())  # noqa: SIM905
"""The words of one or two letters; a vocabulary has all letters and many pairs of them."""
_LONGEST: Final = 20
_MASK: Final = "user"
"""The handle that stands for anyone's."""


class Splitter:
    """Splits tags where their letters change from small to capital, and what is run together into known words.

    >>> split = Splitter({word: n for n, word in enumerate(["stop", "the", "war", "warm"])})
    >>> split("So true! #VoteThemOut2016 @user")
    'So true! # Vote Them Out 2016 @user'
    >>> split("@StopTheWar #stopthewar #xyzzy")
    '@ Stop The War # stop the war # xyzzy'
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._cost = _costs(vocabulary)
        self._words = lru_cache(maxsize=10_000)(self._split_words)

    def __call__(self, text: str) -> str:
        """The text with its tags split, and blanks made one each."""
        return " ".join(_TAG.sub(self._tag, text).split())

    def _tag(self, tag: re.Match[str]) -> str:
        sign, body = tag.groups()
        if sign == "@" and body == _MASK:
            return tag.group(0)
        return f"{sign} {' '.join(self._words(part) for part in _CAMEL.sub(' ', body).split())}"

    def _split_words(self, run: str) -> str:
        """The words of a run of letters: of all ways to read it as known words, the most probable one."""
        small = run.lower()
        if small in self._cost or not (small.isascii() and small.isalpha()):
            return run
        best: list[tuple[float, int]] = [(0.0, 0)]
        for end in range(1, len(small) + 1):
            starts = range(max(0, end - _LONGEST), end)
            best.append(min((best[at][0] + self._cost.get(small[at:end], float("inf")), at) for at in starts))
        if best[-1][0] == float("inf"):
            return run
        words, end = [], len(run)
        while end:
            start = best[end][1]
            words.append(run[start:end])
            end = start
        return " ".join(reversed(words))


def _costs(vocabulary: Mapping[str, int]) -> dict[str, float]:
    """What a word costs: its share of all words is taken to fall with its place in the vocabulary (Zipf's law)."""
    mark = next((sign for sign in ("Ġ", "▁") if any(token.startswith(sign) for token in vocabulary)), "")
    words: dict[str, None] = {}
    for token in sorted(vocabulary, key=vocabulary.__getitem__):
        word = token.removeprefix(mark).lower()
        if token.startswith(mark) and word.isascii() and word.isalpha() and (len(word) > 2 or word in _SHORT):
            words.setdefault(word)
    return {word: log((place + 1) * log(len(words) + 1)) for place, word in enumerate(words)}
