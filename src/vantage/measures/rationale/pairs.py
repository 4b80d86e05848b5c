"""Which rationales are compared: two people's, or a model's with people's, and what chance would give.

Likeness alone says little, since all reasons for one question share its words and all reasons about one post share the
post's. Two baselines tell how much: reasons for the same question about other items, and reasons for other questions
about the same item. Their candidates are drawn with a seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest

Direction: TypeAlias = Literal["both", "ordered"]
"""Whether each of two texts is compared with the other, or the later one in the table with the earlier."""
Writer: TypeAlias = Literal["alike", "any", "same", "other"]
"""Whose texts chance draws from: the candidate's own writer (`alike`, so that only what is compared changes), anybody,
the reference's writer, or anybody but them."""
ACTUAL: Final = "actual"
SAME_QUESTION: Final = "same question, other item"
SAME_ITEM: Final = "same item, other question"
KINDS: Final = (ACTUAL, SAME_QUESTION, SAME_ITEM)


class Compared(NamedTuple):
    """A text with its references: what it is about, and who wrote it and them."""

    item: str
    question: str
    candidate: str
    references: tuple[str, ...]
    writer: str = ""
    authors: tuple[str, ...] = ()


def peer_pairs(rationales: pl.DataFrame, direction: Direction = "both") -> list[Compared]:
    """Every two raters' rationales for the same item and question.

    `rationales` has the columns `item`, `question`, `rater` and `rationale`.

    >>> table = pl.DataFrame({"item": ["a", "a"], "question": "q", "rater": ["x", "y"], "rationale": ["one", "two"]})
    >>> [(pair.candidate, pair.references) for pair in peer_pairs(table, "ordered")]
    [('two', ('one',))]
    """
    pairs = []
    for (item, question), rows in _by_unit(rationales).items():
        for later, (writer, text) in enumerate(rows):
            for earlier, (author, reference) in enumerate(rows):
                if author != writer and (direction == "both" or earlier < later):
                    pairs.append(Compared(item, question, text, (reference,), writer, (author,)))
    return pairs


def model_pairs(candidates: pl.DataFrame, references: pl.DataFrame) -> list[Compared]:
    """Every candidate rationale with all reference rationales for the same item and question."""
    known = _by_unit(references)
    pairs = []
    for item, question, writer, text in _rows(candidates):
        if reasons := known.get((item, question)):
            texts, authors = tuple(text for _, text in reasons), tuple(author for author, _ in reasons)
            pairs.append(Compared(item, question, text, texts, writer, authors))
    return pairs


def chance_pairs(
    actual: Sequence[Compared],
    pool: pl.DataFrame,
    kind: str,
    *,
    draws: int = 3,
    writer: Writer = "alike",
    with_itself: bool = False,
    seed: int = 0,
) -> list[Compared]:
    """The references of actual pairs, each with candidates that were written about something else.

    Args:
        actual: The pairs whose references are kept.
        pool: The rationales to draw from.
        kind: `SAME_QUESTION` or `SAME_ITEM`.
        draws: How many different candidates per pair; all where there are fewer.
        writer: Whose texts are drawn.
        with_itself: With `SAME_ITEM`, whether the asked question's own texts may be drawn too: a mistake that at least
            one paper seems to have made.
        seed: Of the draws, which do not depend on the order of the pool.
    """
    if kind not in (SAME_QUESTION, SAME_ITEM):
        raise InputError(f"there is no baseline '{kind}'", remedy=nearest(kind, (SAME_QUESTION, SAME_ITEM)))
    if draws < 1:
        raise InputError(f"{draws} candidates cannot be drawn", remedy="draw at least one")
    shelves: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for row in sorted(_rows(pool)):
        shelves[row[1] if kind == SAME_QUESTION else row[0]].append(row)
    # What a pair excludes stands together on its shelf, so that drawing around it takes no search.
    fitting: dict[Hashable, tuple[list[tuple[str, str, str, str]], dict[tuple[str, str], tuple[int, int]]]] = {}
    rng = np.random.default_rng(seed)
    itself = with_itself and kind == SAME_ITEM
    pairs = []
    for pair in actual:
        shelf = pair.question if kind == SAME_QUESTION else pair.item
        whose = {"alike": pair.writer, "any": None}.get(writer, pair.authors)
        if (shelf, whose) not in fitting:
            rows = [row for row in shelves[shelf] if _fits(row[2], pair, writer)]
            units = groupby(enumerate(rows), key=lambda numbered: numbered[1][:2])
            places = {unit: [place for place, _ in numbered] for unit, numbered in units}
            fitting[shelf, whose] = rows, {unit: (at[0], len(at)) for unit, at in places.items()}
        rows, own = fitting[shelf, whose]
        first, count = (0, 0) if itself else own.get((pair.item, pair.question), (0, 0))
        for place in rng.permutation(len(rows) - count)[:draws].tolist():
            _, _, who, text = rows[place if place < first else place + count]
            pairs.append(Compared(pair.item, pair.question, text, pair.references, who, pair.authors))
    return pairs


def texts_of(pairs: Sequence[Compared]) -> list[tuple[str, tuple[str, ...]]]:
    """The texts alone, as likenesses take them."""
    return [(pair.candidate, pair.references) for pair in pairs]


def _fits(who: str, pair: Compared, writer: Writer) -> bool:
    if writer == "alike":
        return who == pair.writer
    return writer == "any" or (who in pair.authors) == (writer == "same")


def _rows(frame: pl.DataFrame) -> list[tuple[str, str, str, str]]:
    rows = frame.select("item", "question", "rater", pl.col("rationale").str.strip_chars())
    return rows.filter(pl.col("rationale").str.len_chars() > 0).rows()


def _by_unit(frame: pl.DataFrame) -> Mapping[tuple[str, str], list[tuple[str, str]]]:
    units: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for item, question, rater, text in _rows(frame):
        units[item, question].append((rater, text))
    return units
