"""Cells of a table as people read them: rounded, with thousands apart, nothing where nothing is known."""

from __future__ import annotations

import math
import re
from typing import Any, Final

MISSING: Final = "–"
"""Stands where there is no value."""
_NEGATIVE: Final = re.compile(r"(?<![\w.)\]-])-(?=\.?\d)")
_ZERO: Final = re.compile(r"(?<![\w.)\]-])-(0(?:\.0+)?)(?![\d.])")


def show(value: Any, digits: int | None = None) -> str:
    """A cell for people; floats with three digits unless told otherwise.

    >>> show(0.59731), show(25777), show(None), show({"refused": 2, "failed": 0}), show(-0.0004, 2)
    ('0.597', '25,777', '–', '2 refused', '0.00')
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value, digits)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{show(count)} {name}" for name, count in value.items() if count) or MISSING
    if isinstance(value, list | tuple):
        return ", ".join(show(v, digits) for v in value)
    return printable(str(value))


def _number(value: float, digits: int | None) -> str:
    if not math.isfinite(value):
        return MISSING
    if digits is None and value.is_integer():
        return f"{value:,.0f}"
    places = 3 if digits is None else digits
    # Adding zero turns a rounded -0.0 into 0.0.
    return f"{round(value, places) + 0.0:,.{places}f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the right number.

    >>> counted(1, "rater"), counted(1200, "row"), counted(0, "person", "people")
    ('1 rater', '1,200 rows', '0 people')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def minus(text: str) -> str:
    """Text in which the hyphen before a number is a minus sign, and nothing is called minus zero.

    >>> minus("r = -0.15, between -0.00 and 0.3 (e-mail)")
    'r = −0.15, between 0.00 and 0.3 (e-mail)'
    """
    return _NEGATIVE.sub("−", _ZERO.sub(r"\1", text))


def printable(text: str) -> str:
    """Text without control characters, which could otherwise drive a terminal or break a page."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def shortened(text: str, most: int) -> str:
    """Text cut to a length, with an ellipsis where something was cut.

    >>> shortened("people with a very long name", 12)
    'people with…'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
