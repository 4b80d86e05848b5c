"""What a notebook shows: `shown` chooses by the kind of a part; `notebook` registers how each kind looks."""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import Any

from vantage.notebook import html
from vantage.notebook.html import Html


class Shown:
    """Something that a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # How parts look is imported when the first one is shown, since it needs the parts themselves.
        import_module("vantage.report.notebook")
        # Plain text: marimo takes nothing else.
        return str(shown(self))


@singledispatch
def shown(part: Any) -> Html:
    """The HTML of a part; of what has no look of its own, its text."""
    return html.escaped(part)
