"""Splits in which no text stands on both sides, so that nothing is tested on what was learned by heart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.raters.trained.base import ItemTexts

Rows: TypeAlias = NDArray[np.intp]


def key(text: str) -> str:
    """What makes two texts the same to a reader: their letters and digits, whatever the case and the signs.

    >>> key("Good  morning, all!") == key("good morning all")
    True
    """
    letters = "".join(c for c in text.casefold() if c.isalnum())
    return letters or text.strip()


def shared_texts(one: ItemTexts | Sequence[str], other: ItemTexts | Sequence[str]) -> list[str]:
    """The texts of the second part that stand in the first as well, whatever their targets.

    >>> shared_texts(["A b.", "c"], ["a B", "d"])
    ['a B']
    """
    first = {key(text) for text in _texts(one)}
    return list(dict.fromkeys(text for text in _texts(other) if key(text) in first))


def refuse_shared(parts: dict[str, ItemTexts]) -> None:
    """Refuses parts of a split that share texts, and says which."""
    for (one, first), (other, second) in combinations(parts.items(), 2):
        if shared := shared_texts(first, second):
            shown = "; ".join(f"'{text[:60]}{'…' if len(text) > 60 else ''}'" for text in shared[:3])
            count = "1 text" if len(shared) == 1 else f"{len(shared):,} texts"
            more = "" if len(shared) <= 3 else " and more"
            raise InputError(
                f"{one} and {other} share {count}: {shown}{more}",
                remedy="keep every item of a text on one side of the split",
            )


def grouped_folds(texts: Sequence[str], count: int, seed: int) -> Rows:
    """The fold of each text, drawn at random; equal texts are always in the same one.

    >>> folds = grouped_folds(["a", "b", "A", "c"], 2, seed=0)
    >>> bool(folds[0] == folds[2]), sorted(set(folds.tolist()))
    (True, [0, 1])
    """
    keys = [key(text) for text in texts]
    different = sorted(set(keys))
    if len(different) < count:
        raise InputError(
            f"there are {len(different)} different texts for {count} folds", remedy="give more items or fewer folds"
        )
    order = np.random.default_rng(seed).permutation(len(different))
    fold = {different[n]: place % count for place, n in enumerate(order)}
    return np.array([fold[k] for k in keys], dtype=np.intp)


def _texts(part: ItemTexts | Sequence[str]) -> Sequence[str]:
    return part.first if isinstance(part, ItemTexts) else part
