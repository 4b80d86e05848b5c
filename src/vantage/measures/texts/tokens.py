"""Many texts cut into words at once: whatever recurs between two blanks is cut only once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final

import numpy as np

from vantage.measures.ratings import Ints

_LARGEST: Final = 2**62
"""The largest number of an n-gram."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words(text: str) -> list[str]:
    """The words of a text in lower case.

    >>> words("Well-paid, they say; don't you?")
    ['well-paid', 'they', 'say', "don't", 'you']
    """
    return _WORD.findall(text.casefold())


@dataclass(frozen=True, eq=False)
class CutTexts:
    """The words of texts as numbers, text after text.

    >>> tokens = CutTexts.of(["To be, or", "not to be"])
    >>> tokens.known, tokens.numbers.tolist(), tokens.sizes.tolist()
    (['to', 'be', 'or', 'not'], [0, 1, 2, 3, 0, 1], [3, 3])
    """

    numbers: Ints
    sizes: Ints
    """How many words each text has."""
    known: list[str]
    """The different words, by their numbers."""

    @classmethod
    def of(cls, texts: Sequence[str], cut: Callable[[str], Sequence[str]] = words) -> CutTexts:
        """Texts whose words do not depend on what stands beyond blanks."""
        return cls.split([text.split() for text in texts]).cut(cut)

    @classmethod
    def split(cls, texts: Sequence[Sequence[str]]) -> CutTexts:
        """Texts that are cut already."""
        known: defaultdict[str, int] = defaultdict(count().__next__)
        numbers = np.array(list(map(known.__getitem__, chain.from_iterable(texts))), dtype=np.int64)
        return cls(numbers, np.array(list(map(len, texts)), dtype=np.int64), list(known))

    def cut(self, cut: Callable[[str], Sequence[str]]) -> CutTexts:
        """The same texts with every word cut further."""
        return self.replaced(self.numbers, map(cut, self.known))

    def replaced(self, numbers: Ints, parts: Iterable[Sequence[str]]) -> CutTexts:
        """The same texts with parts in place of words: `numbers` says which parts replace each word."""
        pieces = CutTexts.split(list(parts))
        starts = np.cumsum(pieces.sizes) - pieces.sizes
        times = pieces.sizes[numbers]
        within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        ends = np.concatenate([[0], np.cumsum(times)])[np.concatenate([[0], np.cumsum(self.sizes)])]
        return CutTexts(pieces.numbers[np.repeat(starts[numbers], times) + within], np.diff(ends), pieces.known)

    def lists(self) -> Iterator[list[int]]:
        """The numbers of each text."""
        numbers, end = self.numbers.tolist(), 0
        for size in self.sizes.tolist():
            yield numbers[end : end + size]
            end += size

    def ngrams(self, n: int) -> tuple[Ints, Ints]:
        """The text and the number of every n-gram; n-grams that are equal have one number."""
        text = np.repeat(np.arange(len(self.sizes)), self.sizes)
        grams = ngram_numbers(self.numbers, n)
        inside = text[: len(grams)] == text[len(text) - len(grams) :]
        return text[: len(grams)][inside], grams[inside]

    def counts(self, n: int) -> Any:
        """How often each text has each n-gram: a sparse matrix of texts × n-grams."""
        from scipy.sparse import csr_matrix

        text, gram = self.ngrams(n)
        return csr_matrix((np.ones(len(gram)), (text, gram)), (len(self.sizes), int(gram.max(initial=0)) + 1))


def ngram_numbers(words: Ints, n: int) -> Ints:
    """A number for every n words in a row, equal where they are, from the numbers of the words.

    >>> ngram_numbers(np.array([0, 1, 0, 1]), 2).tolist()
    [1, 2, 1]
    """
    grams, base = words, int(words.max(initial=0)) + 1
    for length in range(1, n):
        if int(grams.max(initial=0)) >= _LARGEST // base:
            grams = np.unique(grams, return_inverse=True)[1]
        grams = grams[:-1] * base + words[length:]
    return grams
