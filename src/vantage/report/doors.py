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

BEHIND: Final = {"item": "item", "rater": "rater", "trait": "spectrum", "question": "spectrum"}
"""Columns that say what is behind a row, and the view of the explorer that shows it."""
FURTHER: Final = ("condition",)
"""Columns that narrow what is shown."""


def door(row: Mapping[str, Any]) -> str:
    """The address of what is behind a row; empty where it does not say."""
    given = {name: row[name] for name in (*BEHIND, *FURTHER) if isinstance(row.get(name), str) and row[name]}
    view = next((view for name, view in BEHIND.items() if name in given), "")
    return f"/{view}?{urlencode(sorted(given.items()))}" if view else ""


def doors(table: Table, limit: int) -> tuple[int | None, list[str]]:
    """The column whose numbers lead somewhere, and where each row does."""
    numbers = [at for at, head in enumerate(table.heads()) if head.numeric]
    estimate = [at for at in numbers if table.heads()[at].column == "estimate"]
    named = [name for name in (*BEHIND, *FURTHER) if table.frame.schema.get(name) == pl.String]
    addresses = [door(row) for row in table.frame.select(named).head(limit).iter_rows(named=True)] if named else []
    return ([*estimate, *numbers][0] if numbers and any(addresses) else None), addresses
