"""Words and phrases by which replies are read: `phrases.yaml`, as patterns."""

from __future__ import annotations

import re
from typing import Final

from vantage.documents import Document

_LISTS: Final[dict[str, list[str]]] = Document.bundled("vantage.raters.replies", "phrases.yaml").data


def choice(name: str) -> str:
    """A choice of all phrases of a list, as a pattern; ⟨name⟩ in one of them stands for the choice of another list.

    >>> choice("item").split("|")[:2]
    ['text', 'post']
    """
    return re.sub("⟨([a-z_]+)⟩", lambda part: f"(?:{choice(part[1])})", "|".join(_LISTS[name]))
