"""The words of an item: what tells two items apart to a reader, and what makes two of them similar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from vantage.instruments import Field


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
