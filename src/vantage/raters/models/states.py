"""What a language model has made of a text: its inner state at chosen places, instead of what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.prefix_scorer import Tokens, batches


@runtime_checkable
class Stateful(Protocol):
    """A model whose inner states can be read."""

    def states(self, rows: Sequence[Sequence[str]], longest: int) -> tuple[NDArray[np.float64], int]:
        """The states behind every piece of a row but its first, and how many first pieces had to be cut.

        Args:
            rows: Per row a text and, one after the other, what is read behind it; as many pieces in every row.
            longest: The most tokens that are read of a text.

        Returns:
            Row, piece, dimension.
        """
        ...


@dataclass(frozen=True, slots=True)
class Marked:
    """Tokens of a row, and the places of those whose states are wanted."""

    tokens: list[int]
    places: list[int]
    cut: bool


def marked(
    tokens: Callable[[str], Sequence[int]], pieces: Sequence[str], longest: int, begin: Sequence[int] = ()
) -> Marked:
    """A text and what is read behind it as tokens.

    >>> marked(lambda text: [ord(c) for c in text], ["abc", "d", "ef"], 2)
    Marked(tokens=[97, 98, 100, 101, 102], places=[2, 4], cut=True)
    """
    first = list(tokens(pieces[0]))
    row, places = [*begin, *first[:longest]], []
    for piece in pieces[1:]:
        row += tokens(piece)
        places.append(len(row) - 1)
    return Marked(row, places, len(first) > longest)


def states_of(
    rows: Sequence[Marked], read: Callable[[Sequence[Tokens], int], NDArray[Any]], most: int
) -> NDArray[np.float64]:
    """The wanted states of all rows, read in batches of rows of similar length with at most so many tokens.

    `read` gives the states behind the last so many of each of some rows of tokens.
    """
    hidden: NDArray[np.float64] | None = None
    for chosen in batches(range(len(rows)), [len(row.tokens) for row in rows], most, len(rows)):
        last = max(len(rows[n].tokens) - rows[n].places[0] for n in chosen)
        states = read([rows[n].tokens for n in chosen], last)
        for n, mine in zip(chosen, states, strict=True):
            places = [place - len(rows[n].tokens) for place in rows[n].places]
            if hidden is None:
                hidden = np.zeros((len(rows), len(places), mine.shape[-1]))
            hidden[n] = mine[places]
    return np.zeros((0, 0, 0)) if hidden is None else hidden
