"""The explorer inside a notebook: the exported page in a frame that can reach nothing outside itself."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from vantage.corpora import Corpus
from vantage.view.explorer import Explorer
from vantage.view.exporting import export

HEIGHT = 700
"""Pixels of the frame."""


@dataclass(frozen=True, slots=True)
class InlineView:
    """A corpus as a notebook shows it."""

    corpus: Corpus

    def _repr_html_(self) -> str:
        page = export(Explorer([], lambda: self.corpus))
        return (
            f'<iframe title="Vantage" srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #8888"></iframe>'
        )
