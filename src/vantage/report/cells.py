"""Cells of a table as people read them: rounded, with thousands apart, nothing where nothing is known."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from vantage.report import marks

MISSING: Final = "–"
"""Stands where there is no value."""
_NEGATIVE: Final = re.compile(r"(?<![\w.)\]-])-(?=\.?\d)")
_ZERO: Final = re.compile(r"(?<![\w.)\]-])-(0(?:\.0+)?)(?![\d.])")
_NO_CHANCE: Final = re.compile(r"\b([pP]\w*\s*)=\s*0?\.000+(?!\d)")


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
        if not math.isfinite(value):
            return MISSING
        places = digits if digits is not None else 0 if value.is_integer() else 3
        # Adding zero turns a rounded -0.0 into 0.0.
        return f"{round(value, places) + 0.0:,.{places}f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{show(count)} {name}" for name, count in value.items() if count) or MISSING
    if marks.is_mark(value):
        return printable(f"{marks.blocks(value)} {marks.words(value)}")
    if isinstance(value, list | tuple):
        texts = [show(v, digits) for v in value]
        return ", ".join(texts) if any(one != MISSING for one in texts) else MISSING
    return printable(str(value))


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "row"), counted(2500, "row"), counted(0, "query", "queries")
    ('1 row', '2,500 rows', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def p_value(value: float) -> str:
    """A p value: three digits without the zero before the point, and never naught.

    >>> p_value(0.0342), p_value(0.00004), p_value(0.0009999), p_value(1.0)
    ('.034', '< .001', '< .001', '1.000')
    """
    if not math.isfinite(value):
        return MISSING
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def minus(text: str) -> str:
    """Text in which the hyphen before a number is a minus sign, nothing is minus zero and no p value is naught.

    >>> minus("r = -0.15, between -0.00 and 0.3 (e-mail), p = 0.000")
    'r = −0.15, between 0.00 and 0.3 (e-mail), p < .001'
    """
    return _NO_CHANCE.sub(r"\1< .001", _NEGATIVE.sub("−", _ZERO.sub(r"\1", text)))


def printable(text: str) -> str:
    """Text without control characters, which could otherwise drive a terminal or break a page."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def finite(data: Any) -> Any:
    """Plain data without NaN and infinities, which JSON does not have.

    >>> finite({1: [float("nan"), 2.5]})
    {'1': [None, 2.5]}
    """
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): finite(value) for key, value in data.items()}
    return [finite(value) for value in data] if isinstance(data, list | tuple) else data


def as_json(data: Any, **how: Any) -> str:
    """Plain data as JSON, which has no NaN and no infinities; they are looked for only where there are some.

    >>> as_json({"item": [0.5, float("inf")]})
    '{"item": [0.5, null]}'
    """
    how = {"ensure_ascii": False, "default": str, **how}
    try:
        return json.dumps(data, allow_nan=False, **how)
    except ValueError:
        return json.dumps(finite(data), **how)


def shortened(text: str, most: int) -> str:
    """Text cut to a length, with an ellipsis where something was cut.

    >>> shortened("people with a very long name", 12)
    'people with…'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
