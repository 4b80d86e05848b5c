"""Judgments on their way from conversations to the corpus: kept on disk in parts, so that a run's memory stays flat."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.schema import KEY
from vantage.raters.conversation import ROWS, Row

HELD: Final = 20_000
"""Rows in memory before they are written away."""


class JudgmentRows:
    """Collects rows as conversations end, and gives them back in the order of the plan."""

    def __init__(self) -> None:
        self._schema: dict[str, Any] = {"__order": pl.Int64, "__key": pl.Binary, **ROWS}
        self._held: list[tuple[Any, ...]] = []
        self._whole: list[pl.DataFrame] = []
        self._files: list[Path] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, order: int, key: bytes, rows: Sequence[Row]) -> None:
        """Takes the rows of a conversation, which has its place in the plan and ended with a call of this key."""
        self._held.extend([(order, key, *row) for row in rows])
        if len(self._held) >= HELD:
            self._write()

    def put(self, tables: Sequence[pl.DataFrame]) -> None:
        """Takes all rows at once, each judgment once and in the order of the plan."""
        self._whole = list(tables)

    def table(self) -> pl.DataFrame:
        """All rows, each judgment once."""
        if self._whole:
            return pl.concat(self._whole)
        frames = [pl.read_parquet(file, columns=["__order", *ROWS]) for file in self._files]
        frames = [frame.with_columns(pl.col("status").cast(ROWS["status"])) for frame in frames]
        whole = pl.concat([*frames, self._frame().drop("__key")]).sort("__order", maintain_order=True).drop("__order")
        # The relevance of an item is told by every conversation about it.
        return whole.unique(KEY, keep="first", maintain_order=True)

    def keys(self) -> pl.Series:
        """The keys of the calls that conversations ended with, in the order of the plan."""
        columns = ["__order", "__key"]
        frames = [pl.read_parquet(file, columns=columns) for file in self._files]
        return pl.concat([*frames, self._frame().select(columns)]).unique("__order").sort("__order")["__key"]

    def close(self) -> None:
        """Removes what was written away."""
        self._held.clear()
        self._whole.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        self._files.clear()

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame(self._held, schema=self._schema, orient="row")

    def _write(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="vantage-judgments-")
        file = Path(self._folder.name) / f"{len(self._files)}.parquet"
        self._frame().with_columns(pl.col("status").cast(pl.String)).write_parquet(file, compression="lz4")
        self._files.append(file)
        self._held.clear()
