"""Scores of answer options behind prompts that begin alike, with everything that they share computed once.

First it is found out which beginnings many prompts share, which are worth a pass, and what is computed side by side.
In the same batches, a model's inner states are read: what it has made of a text, instead of what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.base import LogProbs, never
from vantage.raters.models.options import OptionTree, TokenPath

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
    is what is asked. A beginning must save `worth` tokens.

    >>> tree = stems([[1, 2, 3, 4, 9], [1, 2, 3, 4, 8], [1, 2, 5]], worth=2)
    >>> (tree.start, tree.stop, tree.rows), [(stem.start, stem.stop, sorted(stem.rows)) for stem in tree.stems]
    ((0, 2, [2]), [(2, 4, [0, 1])])
    """
    # Neighbours in this order share the longest beginnings; what all share is looked at once.
    first, last = min(prompts, key=list), max(prompts, key=list)
    start = _shared(first, last) if len(prompts) > 1 else len(first) - 1
    tails = [list(prompt[start:]) for prompt in prompts]
    order = sorted(range(len(prompts)), key=tails.__getitem__)
    shared = start + np.array([0, *(_shared(tails[a], tails[b]) for a, b in pairwise(order))])
    root = Stem(0, start, order[0])
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


Pending: TypeAlias = Callable[[], NDArray[Any]]
"""Fetches log-probabilities that a GPU may still be working on: row × node × token."""


class Net(Protocol):
    """A language model as scoring sees it; a past is what it keeps of tokens that it has read."""

    def extended(self, past: Any, tokens: Tokens) -> Any:
        """The past with more tokens read behind it; the one that was given stays as it is."""

    def cut(self, past: Any, length: int) -> Any:
        """The past of the first tokens only; the one that was given stays as it is."""

    def following(self, past: Any, rests: Sequence[Tokens], nodes: Sequence[TokenPath], tokens: Tokens) -> Pending:
        """The log-probabilities of some tokens behind each rest of a prompt and each node written behind that."""


@dataclass(frozen=True, slots=True)
class ScoringBudget:
    """How much is computed at a time."""

    tokens: int
    """Tokens of a batch, padding included; those of the past count for a sixteenth each."""
    worth: int
    """How many tokens a shared beginning must save to be worth a pass of its own."""
    rows: int = 1024
    """The most sequences of a batch."""


PROCESSOR = ScoringBudget(tokens=512, worth=64)
"""More side by side is hardly faster on a processor, and every token that is saved counts."""
GPU = ScoringBudget(tokens=16384, worth=8192)
"""On a GPU a pass takes some thousand tokens before it takes longer."""


class PrefixScorer:
    """Log-probabilities of options behind prompts that begin alike.

    What prompts have in common (guidelines, examples) is computed once, equal prompts are computed once, and all
    options are computed in one pass together with the rest of their prompt, each seeing only what stands before it.
    Prompts of like length share a batch. What all prompts of a call begin with is kept for the next call.
    """

    def __init__(self, net: Net, budget: ScoringBudget) -> None:
        self._net, self._budget = net, budget
        self._kept: tuple[Tokens, Any] = ((), None)

    def begin(
        self, prompts: Sequence[Tokens], tree: OptionTree, stopped: Callable[[], bool] = never
    ) -> Callable[[], LogProbs]:
        """Hands everything to the model; what is returned waits for the scores, so that a GPU can work meanwhile.

        They are one row per prompt, one column per option; not a number where it was stopped before that was known.
        """
        unique = list(dict.fromkeys(tuple(prompt) for prompt in prompts))
        asked: list[tuple[list[int], Pending]] = []
        root = stems(unique, self._budget.worth)
        waiting: list[tuple[Stem, Any]] = [(root, None)]
        while waiting and not stopped():
            stem, past = waiting.pop()
            if stem is root:
                past = self._begun(unique[stem.first][: stem.stop])
            elif stem.stop > stem.start:
                past = self._net.extended(past, unique[stem.first][stem.start : stem.stop])
            waiting += [(grown, past) for grown in stem.stems]
            asked += self._go_on(past, stem, unique, tree, stopped)
        numbers = {prompt: number for number, prompt in enumerate(unique)}
        places = [numbers[tuple(prompt)] for prompt in prompts]
        return lambda: self._fetched(asked, tree, len(unique))[places]

    def _fetched(self, asked: Sequence[tuple[list[int], Pending]], tree: OptionTree, count: int) -> LogProbs:
        table = np.full((count, len(tree.options)), np.nan)
        places = {token: place for place, token in enumerate(tree.tokens)}
        for rows, pending in asked:
            chances = pending()
            table[rows] = tree.logprobs(
                {
                    node: {token: chances[:, n, places[token]] for token in behind}
                    for n, (node, behind) in enumerate(tree.nodes.items())
                }
            )
        return table

    def _begun(self, tokens: Tokens) -> Any:
        """What all prompts begin with, from what those of the last call began with as far as it goes."""
        known, past = self._kept
        same = next((i for i, (a, b) in enumerate(zip(known, tokens, strict=False)) if a != b), None)
        same = min(len(known), len(tokens)) if same is None else same
        past = self._net.cut(past, same) if same else None
        if len(tokens) > same:
            past = self._net.extended(past, tokens[same:])
        self._kept = (tokens, past)
        return past

    def _go_on(
        self, past: Any, stem: Stem, prompts: Sequence[Tokens], tree: OptionTree, stopped: Callable[[], bool]
    ) -> Iterator[tuple[list[int], Pending]]:
        """The prompts that go on from a stem on their own, batch by batch, and what fetches their chances."""
        nodes = list(tree.nodes)
        lengths = [len(prompt) - stem.stop + len(nodes) - 1 for prompt in prompts]
        most = max(1, min(self._budget.rows, 16 * self._budget.tokens // max(stem.stop, 1)))
        for rows in batches(stem.rows, lengths, self._budget.tokens, most):
            if not stopped():
                rests = [prompts[row][stem.stop :] for row in rows]
                yield rows, self._net.following(past, rests, nodes, tree.tokens)


def side_by_side(rows: Sequence[Tokens], pad: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of unequal length that end together, and the place of each token in its row; below 0 where it fills up."""
    width = max(len(row) for row in rows)
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    for n, row in enumerate(rows):
        ids[n, width - len(row) :] = row
    return ids, np.arange(width)[None] - np.array([width - len(row) for row in rows])[:, None]


def laid_out(
    rests: Sequence[Tokens], written: Sequence[TokenPath], start: int, pad: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Rests of prompts with all nodes written behind each: the tokens, their places behind a past, which are real."""
    read, columns = side_by_side(rests, pad)
    last = np.array([node[-1] for node in written], dtype=np.int64)
    depths = np.array([len(node) for node in written], dtype=np.int64)
    lengths = np.array([len(rest) for rest in rests])[:, None]
    ids = np.concatenate([read, np.broadcast_to(last, (len(rests), len(written)))], axis=1)
    places = start + np.concatenate([columns.clip(min=0), lengths + depths[None] - 1], axis=1)
    real = np.concatenate([columns >= 0, np.ones((len(rests), len(written)), dtype=bool)], axis=1)
    return ids, places, real


def sees(nodes: Sequence[TokenPath]) -> NDArray[np.bool_]:
    """Which node sees which: each sees itself and those that it continues.

    >>> sees([(5,), (5, 6), (7,)]).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    return np.array([[node[: len(other)] == other for other in nodes] for node in nodes], dtype=bool).reshape(
        len(nodes), len(nodes)
    )


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
