"""The words of an item: what tells two items apart to a reader, and what makes two of them similar."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from vantage.instruments import Field

MARK: Final = 6
"""Hexadecimal digits by which a word is known again."""


@lru_cache(maxsize=65_536)
def key(text: str) -> str:
    """What makes two texts the same to a reader: their letters and digits, whatever the case and the signs.

    >>> key("Good  morning, all!") == key("good morning all")
    True
    """
    letters = "".join(c for c in text.casefold() if c.isalnum())
    return letters or text.strip()


def fingerprint(text: str) -> str:
    """By what a rater knows again the texts that it learned from, without keeping them."""
    return blake2b(key(text).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def vocabulary(texts: Sequence[str]) -> dict[str, Any]:
    """What tells texts unlike these ones: marks of their words, and the largest share of new words that is usual.

    New to one of these texts is a word that no other of them has; 99 of 100 have a smaller share of them than `most`.
    """
    words = [_marks(text) for text in dict.fromkeys(texts)]
    found_in = Counter(mark for some in words for mark in some)
    shares = [sum(found_in[mark] == 1 for mark in some) / len(some) for some in words if some]
    return {"marks": "".join(sorted(found_in)), "most": float(np.quantile(shares, 0.99)) if shares else 1.0}


def unlike(texts: Sequence[str], known: Mapping[str, Any]) -> list[bool]:
    """Which texts have more new words than all but one in a hundred of those that a `vocabulary` was made of.

    >>> known = vocabulary(["the bus is late", "the bus is early", "the train is late", "the train is early"])
    >>> unlike(["the train is late", "der Zug hat Verspätung"], known)
    [False, True]
    """
    marks = {known["marks"][n : n + MARK] for n in range(0, len(known["marks"]), MARK)}
    asked = [_marks(text) for text in texts]
    return [bool(some) and len(some - marks) / len(some) > known["most"] for some in asked]


def _marks(text: str) -> set[str]:
    words = re.findall(r"\w+", text.casefold())
    return {blake2b(w.encode("utf-8", "surrogatepass"), digest_size=MARK // 2).hexdigest() for w in words}


def item_words(item: Mapping[str, Any], fields: Sequence[Field]) -> str:
    """What an item shows in some fields, one after the other."""
    return "\n".join(content_words(item.get(field.name)) for field in fields).strip()


def item_key(item: Mapping[str, Any], fields: Sequence[Field]) -> str:
    """What makes two items the same to a reader: their texts, whatever their ids, targets and conversations."""
    texts = [field for field in fields if field.kind not in ("target", "conversation")]
    return key(item_words(item, texts or fields))


def content_words(content: Any) -> str:
    """The words of a field: a text, or the turns of a conversation."""
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(content_words(turn) for turn in content)
    if isinstance(content, dict):
        return ": ".join(str(part) for part in content.values() if part is not None)
    return str(content)
