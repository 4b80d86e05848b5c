"""Every number is a door: the address of the explorer that shows the judgments, texts and raters behind a row.

A page leads there where the explorer lies beside it or serves it, a notebook with `corpus.view("#ADDRESS")`, a terminal
with `vantage view FOLDER#ADDRESS`.

>>> door({"question": "trust", "rater": "ann", "estimate": 0.4})
'/rater?question=trust&rater=ann'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import polars as pl

from vantage.report.parts import Table

BEHIND: Final = {"item": "item", "rater": "rater", "trait": "spectrum", "question": "spectrum", "condition": ""}
"""Columns that say what is behind a row, and the view of the explorer that shows it; a condition narrows one."""


def door(row: Mapping[str, Any]) -> str:
    """The address of what is behind a row; empty where it does not say."""
    # Verdicts are on models, each a rater of its own where no style tells several apart.
    named = row if "rater" in row or "style" in row else {**row, "rater": row.get("model")}
    given = {name: named[name] for name in BEHIND if isinstance(named.get(name), str) and named[name]}
    view = next((view for name, view in BEHIND.items() if name in given), "")
    return f"/{view}?{urlencode(sorted(given.items()))}" if view else ""


def doors(table: Table, limit: int) -> tuple[int | None, list[str]]:
    """The column whose numbers lead somewhere, and where each row does."""
    heads = list(enumerate(table.heads()))
    cells = [at for at, head in heads if head.column == "estimate"] + [at for at, head in heads if head.numeric]
    cells += [at for at, head in heads if head.column in ("rater", "model")]
    named = [name for name in (*BEHIND, "model", "style") if table.frame.schema.get(name) == pl.String]
    addresses = [door(row) for row in table.frame.select(named).head(limit).iter_rows(named=True)] if named else []
    return (cells[0] if cells and any(addresses) else None), addresses
