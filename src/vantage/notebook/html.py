"""Pieces of HTML for notebooks: escaped, small, without scripts, ids or colours of their own.

Jupyter and marimo call `_repr_html_` of what a cell gives. Texts of items, models and people are hostile until they
are escaped, so every function here takes plain text and escapes it; only `Html` is taken as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

LONG: Final = 160
"""Characters of a cell that are shown."""
_LINE: Final = "1px solid rgba(127,127,127,.35)"
_CELL: Final = f"padding:.2em .7em .2em 0;text-align:{{}};vertical-align:top;border:0;border-bottom:{_LINE}"


class Html(str):
    """Text that is HTML already, made by the functions of this module."""

    __slots__ = ()


def escaped(text: object, most: int = LONG) -> Html:
    """Text that shows itself, whatever stands in it; on one line and cut where it is long. Numbers are rounded.

    >>> escaped("<script>alert('x')</script>")
    '&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;'
    >>> escaped(0.59731), escaped(25777), escaped(None)
    ('0.597', '25,777', '–')
    """
    if isinstance(text, Html):
        return text
    plain = " ".join(_shown(text).split())
    plain = "".join(c if c.isprintable() else "\ufffd" for c in plain)
    return Html(escape(plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"))


def grid(heads: Sequence[object], rows: Iterable[Sequence[object]], *, numeric: Sequence[bool] = ()) -> Html:
    """A table; columns that are `numeric` are set to the right.

    >>> grid(["item", "n"], [["a<b", 1]], numeric=[False, True]).count("&lt;")
    1
    """
    sides = ["right" if place < len(numeric) and numeric[place] else "left" for place in range(len(heads))]
    head = "".join(
        f'<th style="{_CELL.format(side)};font-weight:600">{escaped(name)}</th>'
        for name, side in zip(heads, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL.format(side)}">{escaped(cell)}</td>' for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    style = "border-collapse:collapse;border:0;font-size:.92em;margin:.4em 0"
    return Html(
        f'<div style="overflow-x:auto"><table style="{style}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def line(text: object, *, faint: bool = False, most: int = 2000) -> Html:
    """A paragraph; a faint one says something about what it stands beside."""
    style = "margin:.25em 0;opacity:.75;font-size:.92em" if faint else "margin:.25em 0"
    return Html(f'<p style="{style}">{escaped(text, most)}</p>')


def listed(lines: Iterable[object], *, numbered: bool = False) -> Html:
    """A list."""
    kind, mark = ("ol", "decimal") if numbered else ("ul", "disc")
    entries = "".join(f"<li>{escaped(entry, 2000)}</li>" for entry in lines)
    return Html(f'<{kind} style="margin:.3em 0;padding-left:1.6em;list-style:{mark}">{entries}</{kind}>')


def folded(title: object, *parts: Html) -> Html:
    """Parts that are seen when their title is clicked."""
    inside = "".join(parts)
    return Html(f'<details style="margin:.3em 0"><summary>{escaped(title)}</summary>{inside}</details>')


def block(title: object, *parts: Html, note: object = "") -> Html:
    """A title with parts below it; a note stands beside the title."""
    beside = f' <span style="opacity:.75">{escaped(note)}</span>' if note else ""
    inside = "".join(parts)
    return Html(f'<div style="margin:.3em 0;max-width:62em"><div><b>{escaped(title)}</b>{beside}</div>{inside}</div>')


def _shown(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.3f}"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
