"""The works behind the measures of a report: BibTeX for a paper, and lines for the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

_ENTRY: Final = re.compile(r"^@\w+\{(\w+),.*\}$", re.MULTILINE)
_FIELD: Final = re.compile(r"(\w+) = \{((?:[^{}]|\{[^{}]*\})*)\}")
PLACES: Final = ("journal", "booktitle", "publisher", "howpublished")
"""The fields that say where a work appeared."""
ALWAYS: Final = ("benjamini2014",)
"""What opens a report is selected over its research questions."""


@cache
def entries() -> dict[str, str]:
    """Every entry of the bundled bibliography, by its key."""
    text = resources.files("vantage.measures").joinpath("references.bib").read_text("utf-8")
    return {match[1]: match[0] for match in _ENTRY.finditer(text)}


def bibtex(keys: Sequence[str]) -> str:
    """The entries of some keys, as a BibTeX file."""
    return "\n".join(entries()[key] for key in keys if key in entries()) + "\n"


def cited(keys: Sequence[str]) -> list[str]:
    """Some works as lines of a reference list, by author.

    >>> print(*cited(["shannon1948"]))
    Shannon, Claude E. (1948). A mathematical theory of communication. Bell System Technical Journal 27.
    """
    lines = []
    for key in keys:
        if key in entries():
            fields = {name: re.sub(r"[{}]", "", value) for name, value in _FIELD.findall(entries()[key])}
            where = next((fields[one] for one in PLACES if one in fields), "")
            volume = f" {fields['volume']}" if "volume" in fields else ""
            authors = fields["author"].replace(" and ", "; ")
            lines.append(f"{authors} ({fields['year']}). {fields['title']}. {where}{volume}.")
    return sorted(lines)
