"""The record of a generation: one row for every step of every item, so that each can be looked at afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

OUTCOME: Final = "outcome"
KEPT: Final = "kept"
DROPPED: Final = "dropped"
COST: Final = ("calls", "prompt_tokens", "completion_tokens")
SCHEMA: Final[dict[str, Any]] = {
    "item": pl.String,
    "step": pl.String,
    "attempt": pl.Int64,
    "status": pl.String,
    "text": pl.String,
    "reason": pl.String,
    "model": pl.String,
    **dict.fromkeys(COST, pl.Int64),
}


class StepRecord:
    """Collects steps as they happen.

    >>> record = StepRecord()
    >>> record.add("a", "scenario", 1, "written", text="Two friends wait for a bus.")
    >>> record.drop("a", "the conversation is empty", attempt=1)
    >>> record.table().select("step", "attempt", "status", "reason").rows()
    [('scenario', 1, 'written', None), ('outcome', 1, 'dropped', 'the conversation is empty')]

    Args:
        progress: Called with 1 for every item that came to its end.
    """

    def __init__(self, progress: Callable[[int], None] | None = None) -> None:
        self._rows: list[dict[str, Any]] = []
        self._progress = progress or (lambda _: None)

    def add(
        self,
        item: str,
        step: str,
        attempt: int,
        status: str,
        *,
        text: str | None = None,
        reason: str | None = None,
        model: str | None = None,
        cost: Mapping[str, int] | None = None,
    ) -> None:
        """One step of one item; attempts are counted from 1."""
        row = {"item": item, "step": step, "attempt": attempt, "status": status, "text": text, "model": model}
        self._rows.append({**row, "reason": reason or None, **(cost or dict.fromkeys(COST, 0))})

    def keep(self, item: str, attempt: int) -> None:
        """The item has a context."""
        self.add(item, OUTCOME, attempt, KEPT)
        self._progress(1)

    def drop(self, item: str, reason: str, *, attempt: int = 0) -> None:
        """The item has none, for this reason."""
        self.add(item, OUTCOME, attempt, DROPPED, reason=reason)
        self._progress(1)

    def table(self) -> pl.DataFrame:
        """All steps, item by item in the order in which they happened."""
        frame = pl.DataFrame(self._rows, schema=SCHEMA)
        numbered = frame.with_row_index("__row").with_columns(pl.col("__row").min().over("item").alias("__first"))
        return numbered.sort("__first", "__row").drop("__first", "__row")
