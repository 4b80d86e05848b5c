"""A figure in words, for those who cannot see it: its axes, how many points there are, and its ends."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from vantage.report.cells import counted, minus, show
from vantage.report.charts import chart
from vantage.report.charts.frames import distinct
from vantage.report.style import short

_KINDS: Final = {
    "map": "Map",
    "points": "Points",
    "bars": "Bars",
    "shares": "Stacked bars",
    "distribution": "Distributions",
    "heat": "Heat map",
    "bump": "Ranks",
    "curve": "Curves",
    "lattice": "Lattice",
    "wright": "Wright map",
    "forest": "Found beside expected",
}
_VALUE: Final = ("value", "rank", "y")
"""Options that name the column of what is drawn, the first that a chart has."""
_NAMES: Final = ("category", "row", "column", "name", "stage", "sets", "part", "x", "series", "cluster", "panel")
"""Options that name the columns by which it is drawn."""
FEW: Final = 6
"""So many names are listed; of more, their number is told."""


def in_words(kind: str, data: pl.DataFrame, options: Mapping[str, Any]) -> str:
    """What a chart draws.

    >>> frame = pl.DataFrame({"question": ["trust", "skill"], "estimate": [0.6, -0.2]})
    >>> in_words("points", frame, {"category": "question", "label": "alpha"})
    'Points: alpha by question (trust, skill). 2 points; the lowest is −0.200 (skill) and the highest is 0.600 (trust).'
    """
    defaults = {name: one.default for name, one in inspect.signature(chart(kind)).parameters.items()}
    given = {**defaults, **options}
    value = next(given[option] for option in _VALUE if given.get(option))
    by = [given[option] for option in _NAMES if given.get(option) in data.columns and given[option] != value]
    about = given.get("label") or given.get("y_label") or value
    text = f"{_KINDS.get(kind, kind)}: {short(about)}{_listed(data, by)}."
    return minus(f"{text} {_ends(data, value, by)}")


def _listed(data: pl.DataFrame, by: list[str]) -> str:
    parts = []
    for column in by:
        names = distinct(data, column)
        few = len(names) <= FEW and not data[column].dtype.is_float()
        parts.append(f"{short(column)} ({', '.join(map(short, names)) if few else len(names)})")
    return f" by {', '.join(parts)}" if parts else ""


def _ends(data: pl.DataFrame, value: str, by: list[str]) -> str:
    known = data.drop_nulls(value) if value in data.columns else data.clear()
    if known.is_empty() or not known[value].dtype.is_numeric():
        return "There are no data."
    ends = []
    if len(known) == 1:
        return f"1 point; it is {show(float(known[value][0]))}{_named(known, by, 0)}."
    for word, row in (("lowest", known[value].arg_min()), ("highest", known[value].arg_max())):
        ends.append(f"the {word} is {show(float(known[value][row or 0]))}{_named(known, by, row or 0)}")
    return f"{counted(len(known), 'point')}; {' and '.join(ends)}."


def _named(known: pl.DataFrame, by: list[str], row: int) -> str:
    names = ", ".join(short(known[column][row]) for column in by if not known[column].dtype.is_float())
    return f" ({names})" if names else ""
