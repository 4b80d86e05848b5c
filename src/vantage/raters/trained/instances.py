"""What a rater judges: texts, or pairs of a text and a user; a rater of texts is a rater of pairs without users.

No text stands on both sides of a split, so that nothing is tested on what was learned by heart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Field, Instrument
from vantage.raters.item_words import content_words, item_words, key
from vantage.raters.trained.base import ItemTexts
from vantage.raters.trained.people import Profile, profiles_of

Rows: TypeAlias = NDArray[np.intp]


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


@dataclass(frozen=True, slots=True)
class Instances:
    """Some texts or pairs, with everything that a model may know of them; each text is there once."""

    texts: ItemTexts
    text: Rows
    """Per instance the row of its text."""
    users: tuple[str, ...] = ()
    """Per pair the user; empty where texts are judged."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """The trait values of each user."""
    items: tuple[str, ...] = ()
    """The ids of the texts."""

    def __len__(self) -> int:
        return len(self.text)

    @classmethod
    def of_texts(cls, texts: ItemTexts, items: tuple[str, ...] = ()) -> Instances:
        """Each text once, without users."""
        return cls(texts, np.arange(len(texts), dtype=np.intp), items=items)

    @classmethod
    def of_pairs(cls, pairs: pl.DataFrame, corpus: Corpus, question: str, traits: Sequence[str]) -> Instances:
        """From rows of `item` and `rater`, with texts and traits from a corpus."""
        for column in ("item", "rater"):
            if column not in pairs.columns:
                raise InputError(
                    f"the pairs have no column '{column}'", remedy=nearest(column, pairs.columns) or "they need it"
                )
        wanted = pairs["item"].cast(pl.String)
        items = corpus.items.join(pl.DataFrame({"item": wanted.unique()}), on="item", how="semi")
        row = {item: n for n, item in enumerate(items["item"])}
        if strange := [item for item in wanted.unique(maintain_order=True) if item not in row]:
            some = ", ".join(f"'{item}'" for item in strange[:3])
            raise InputError(f"{len(strange)} texts are not in the corpus, such as {some}", remedy="check the ids")
        users = tuple(pairs["rater"].cast(pl.String))
        return cls(
            reading(items, fields_of(corpus.instruments, [question])),
            np.array([row[item] for item in wanted], dtype=np.intp),
            users,
            profiles_of(corpus, users, traits),
            tuple(items["item"]),
        )

    def take(self, rows: Rows) -> Instances:
        """Some of the instances; the texts stay as they are."""
        users = tuple(self.users[row] for row in rows) if self.users else ()
        return replace(self, text=self.text[rows], users=users)

    def split(self, parts: int, seed: int, kept: frozenset[str] = frozenset()) -> tuple[Rows, Rows]:
        """Rows to learn from, and rows that decide when to stop: one part of the texts, all pairs of each.

        Texts of the items in `kept` are learned from, unless more than half of all texts are in it.
        """
        if 2 * len(kept & set(self.items)) > len(self.items):
            kept = frozenset()
        folds = grouped_folds(self.texts.first, parts, seed)
        # Equal texts under two ids stay on one side, also where only one of the two is kept.
        keys = [key(text) for text in self.texts.first]
        learned = {text for item, text in zip(self.items, keys, strict=True) if item in kept}
        held = np.array([fold == 0 and text not in learned for fold, text in zip(folds, keys, strict=True)])
        aside = (held if held.any() else folds == 0)[self.text]
        return np.flatnonzero(~aside), np.flatnonzero(aside)


def fields_of(instruments: Iterable[Instrument], questions: Sequence[str]) -> tuple[Field, ...]:
    """What an item shows to those who answer the questions."""
    fields: dict[str, Field] = {}
    for instrument in instruments:
        if {question.id for question in instrument.questions} & set(questions):
            fields |= {field.name: field for field in instrument.fields if field.name not in fields}
    return tuple(fields.values())


def reading(items: pl.DataFrame, fields: Sequence[Field]) -> ItemTexts:
    """The texts of items: targets as the second part, everything else that is there as the first."""
    shown = [field for field in fields if field.name in items.columns]
    texts = [field for field in shown if field.kind != "target"]
    if not texts:
        wanted = ", ".join(f"'{field.name}'" for field in fields if field.kind != "target")
        raise InputError(f"the items have none of the columns {wanted}", remedy=f"they have {', '.join(items.columns)}")
    targets = [field for field in shown if field.kind == "target"]
    rows = items.select([field.name for field in shown]).to_dicts()
    first = tuple(item_words(row, texts) for row in rows)
    if not targets:
        return ItemTexts(first)
    return ItemTexts(first, tuple(", ".join(content_words(row[field.name]) for field in targets) for row in rows))
