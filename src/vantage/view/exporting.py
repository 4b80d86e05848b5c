"""The explorer as one file that opens from disk: the same page, with the judgments inside.

In a notebook it stands in a frame that can reach nothing outside itself.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.disclosure import K, guard
from vantage.errors import InputError
from vantage.report import Spectrum, as_json
from vantage.report.page import policy
from vantage.view.app import asset
from vantage.view.explorer import Explorer
from vantage.view.mapping import axes

LARGEST: Final = 50_000
"""Judgments of a file; of more, whole items are drawn at random, and the page says so."""
RATER_MAPS: Final = ("agreement", "heat")
HEIGHT: Final = 700
"""Pixels of the frame in a notebook."""


def export(
    explorer: Explorer,
    file: str | Path | None = None,
    *,
    seed: int = 0,
    at: str = "",
    k: int = K,
    strict: bool = False,
    allow_unique: bool = False,
) -> str:
    """The page with everything it shows, opened `at` an address; written to `file`, guarded as other files are."""
    explorer.refresh()
    if file is not None:
        guard(explorer.corpus, k=k, strict=strict, allow_unique=allow_unique)
    sampled = _sample(explorer, seed)
    text = _page(data_of(sampled[0]) | {"sampled": sampled[1], "at": at})
    if file is not None:
        place = Path(file)
        if not place.parent.is_dir():
            raise InputError("there is no such folder", file=place.parent, remedy="create it first")
        place.write_text(text, "utf-8")
    return text


def data_of(explorer: Explorer) -> dict[str, Any]:
    """What the page would ask a server for, question by question; judgments as columns, each text once."""
    corpus, overview = explorer.corpus, explorer.overview()
    questions = [question["id"] for question in overview["questions"]]
    judgments = corpus.judgments.drop("scores", strict=False)
    columns: dict[str, Any] = {}
    for name in judgments.columns:
        series = judgments[name]
        if series.dtype.is_nested():
            continue
        values = series.cast(pl.String) if series.dtype == pl.Enum else series
        if values.dtype == pl.String:
            words = values.unique(maintain_order=True).drop_nulls()
            places = values.cast(pl.Enum(words)).to_physical()
            columns[name] = {"words": words.to_list(), "places": places.to_list()}
        else:
            columns[name] = values.to_list()
    maps: dict[str, Any] = {}
    for kind, id_ in product(RATER_MAPS, questions):
        with suppress(InputError):  # of too few raters there is no map
            maps[f"{kind} {id_}"] = explorer.map(kind, id_)
    return {
        "overview": overview,
        "items": {id_: explorer.items(id_, size=len(corpus.items)) for id_ in questions},
        "spectra": {id_: _spectrum(explorer, id_) for id_ in questions},
        "texts": {
            row["item"]: {name: str(value) for name, value in row.items() if value is not None}
            for row in corpus.items.iter_rows(named=True)
        },
        "raters": {id_: explorer.raters(id_, size=len(corpus.raters)) for id_ in questions},
        "judgments": columns,
        "maps": maps | ({"items": explorer.map("items")} if len(axes(corpus)) > 1 else {}),
    }


def _spectrum(explorer: Explorer, question: str) -> dict[str, Any]:
    """The Spectrum of a question as the ids of its texts in their order: the page has the texts already."""
    counts, drawn = explorer.distributions(question, "", None), explorer.spectrum(question)
    order = counts.items.gather(Spectrum.of(counts).order).to_list()
    return {**drawn, "order": order, "pins": [row["item"] for _, row in drawn["pins"]], "rows": [], "columns": []}


def _sample(explorer: Explorer, seed: int) -> tuple[Explorer, dict[str, int] | None]:
    """The explorer of whole items drawn at random, where there are too many judgments for one file."""
    corpus = explorer.corpus
    count = len(corpus.judgments)
    if count <= LARGEST:
        return explorer, None
    sizes = corpus.judgments.group_by("item").len().sort("item")
    order = np.random.default_rng(seed).permutation(len(sizes))
    kept = order[np.cumsum(sizes["len"].to_numpy()[order]) <= LARGEST]
    drawn = corpus.filter(pl.col("item").is_in(sizes["item"].gather(kept).implode()))
    shown = Explorer([], lambda: drawn)
    return shown, {"judgments": len(drawn.judgments), "of": count, "items": len(drawn.items), "of_items": len(sizes)}


def _page(data: dict[str, Any]) -> str:
    script, style = asset("view.js"), asset("view.css")
    # No text can end the element that holds the data.
    inside = as_json(data, separators=(",", ":")).replace("<", "\\u003c")
    allowed = policy(style, script, "data: blob:")
    page = asset("view.html")
    page = page.replace('<link rel="stylesheet" href="view.css">', f"<style>{style}</style>")
    page = page.replace("<!-- policy -->", f'<meta http-equiv="content-security-policy" content="{allowed}">')
    holder = f'<script type="application/json" id="data">{inside}</script>'
    return page.replace('<script src="view.js" defer></script>', f"{holder}<script>{script}</script>")


@dataclass(frozen=True, slots=True)
class InlineView:
    """A corpus as a notebook shows it, opened at an address such as `#/item?item=a`."""

    corpus: Corpus
    at: str = ""

    def _repr_html_(self) -> str:
        page = export(Explorer([], lambda: self.corpus), at=self.at)
        return (
            f'<iframe title="Vantage" srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #8888"></iframe>'
        )
