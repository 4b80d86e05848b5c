"""Which beginnings many prompts share, which of them are worth computing once, and what is computed side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np

Tokens: TypeAlias = Sequence[int]


@dataclass(slots=True)
class Stem:
    """A beginning that prompts share and that is computed once, behind that of the stem it grows from."""

    start: int
    stop: int
    """Its tokens are those from `start` to before `stop` of any of its prompts."""
    first: int
    """One of its prompts, by number."""
    rows: list[int] = field(default_factory=list)
    """The prompts that go on from here on their own."""
    stems: list[Stem] = field(default_factory=list)
    """Longer beginnings that some of its prompts share."""


def stems(prompts: Sequence[Tokens], worth: int) -> Stem:
    """The beginnings that are worth a pass of their own, as a tree.

    A beginning of n tokens that k prompts share saves n × (k − 1) tokens and costs a pass, which on a GPU takes as
    long as thousands of tokens. Each prompt keeps at least its last token to itself, since what follows that token
    is what is asked.

    Args:
        prompts: The tokens of each prompt.
        worth: How many tokens a beginning must save.

    >>> tree = stems([[1, 2, 3, 4, 9], [1, 2, 3, 4, 8], [1, 2, 5]], worth=2)
    >>> (tree.start, tree.stop, tree.rows), [(stem.start, stem.stop, sorted(stem.rows)) for stem in tree.stems]
    ((0, 2, [2]), [(2, 4, [0, 1])])
    """
    # Neighbours in this order share the longest beginnings.
    order = sorted(range(len(prompts)), key=lambda row: list(prompts[row]))
    shared = np.array([0, *(_shared(prompts[a], prompts[b]) for a, b in pairwise(order))])
    root = Stem(0, int(shared[1:].min()) if len(order) > 1 else len(prompts[order[0]]) - 1, order[0])
    waiting = [(0, len(order), root)]
    while waiting:
        low, high, stem = waiting.pop()
        if high - low == 1:
            stem.rows.append(order[low])
            continue
        inner = shared[low + 1 : high]
        stop = int(inner.min())
        if stop > stem.stop and (stop - stem.stop) * (high - low - 1) >= worth:
            grown = Stem(stem.stop, stop, order[low])
            stem.stems.append(grown)
            stem = grown
        cuts = [low, *(low + 1 + int(i) for i in np.flatnonzero(inner == stop)), high]
        waiting += [(a, b, stem) for a, b in pairwise(cuts)]
    return root


def batches(rows: Sequence[int], lengths: Sequence[int], room: int, most: int) -> Iterator[list[int]]:
    """Rows in batches of like length, so that little is padded: the longest times the number is within the room.

    >>> list(batches([0, 1, 2, 3], [9, 2, 3, 8], room=18, most=8))
    [[1, 2], [3, 0]]
    """
    batch: list[int] = []
    for row in sorted(rows, key=lambda row: lengths[row]):
        if batch and (len(batch) == most or (len(batch) + 1) * lengths[row] > room):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _shared(one: Tokens, other: Tokens) -> int:
    """How many tokens two prompts begin with in common, the last of each aside."""
    length = min(len(one), len(other)) - 1
    differ = np.flatnonzero(np.asarray(one[:length]) != np.asarray(other[:length]))
    return int(differ[0]) if len(differ) else length
