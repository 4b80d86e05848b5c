"""Stored calls as tables for other programs, part by part, so that a million of them fit into any memory."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora.writers.cells import flat, safe
from vantage.errors import InputError
from vantage.runs.store import RunStore
from vantage.runs.tables import FACTS, FINISHES, among, unpacked

PART: Final = 5000
_ROLES: Final = {"s": "system", "u": "user", "a": "assistant"}
EVIDENCE: Final = (*FACTS, "options", "request")
_ASKED: Final = (
    *("id", "key", "run", "at", "context", "messages", "item", "question", "sample", "attempt", "seed", "tries"),
    "milliseconds",
)
_REPLY: Final = ("finish", "reply", "scores", "prompt_tokens", "completion_tokens")
COLUMNS: Final[dict[str, Any]] = {
    "key": pl.String,
    "run": pl.Int64,
    **dict.fromkeys(("at", "rater", "model", "instrument", "version", "condition", "persona", "step"), pl.String),
    **dict.fromkeys(("item", "question"), pl.String),
    **dict.fromkeys(("sample", "attempt", "seed"), pl.Int64),
    **dict.fromkeys(("finish", *EVIDENCE, "reply", "thinking", "category", "error"), pl.String),
    "scores": pl.List(pl.Float64),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "tries"), pl.Int64),
    "seconds": pl.Float64,
    "settings": pl.String,
    "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
}
"""What an exported call says; `settings` is everything that calls of a rater share, as JSON."""


def calls(
    store: RunStore, *, run: int | None = None, item: str | None = None, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Stored calls with their prompts, replies first, then failures: of one run, of one item, or all."""
    texts, left = _Texts(store), limit
    for table, more in (("calls", _REPLY), ("failures", ("error",))):
        names = (*_ASKED, *more)
        where = "" if run is None else " AND run = :run"
        if run is not None and table == "calls":
            where = " AND (run = :run OR id IN (SELECT call FROM uses WHERE uses.run = :run))"
        where += "" if item is None else " AND item = :item"
        last = 0
        while left is None or left > 0:
            sql = f"SELECT {', '.join(names)} FROM {table} WHERE id > :last{where} ORDER BY id LIMIT :most"  # noqa: S608
            most = PART if left is None else min(left, PART)
            rows = store.select(sql, {"last": last, "run": run, "item": item, "most": most})
            if not rows:
                break
            last, left = rows[-1][0], left if left is None else left - len(rows)
            stored = [dict(zip(names, row, strict=True)) for row in rows]
            texts.load(stored)
            yield from map(texts.call, stored)


class _Texts:
    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._known: dict[int, str] = {}
        self._details: dict[bytes, tuple[Any, ...]] = {}
        self._evidence: dict[bytes, dict[str, Any]] = {}

    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        wanted = {row["context"] for row in rows} | {int(word[1:]) for row in rows for word in row["messages"].split()}
        self._known = {id_: text for id_, text in self._known.items() if id_ in wanted}
        missing = [id_ for id_ in wanted if id_ not in self._known]
        bodies = among(self._store.select, "SELECT id, body FROM texts WHERE id IN ({})", missing)
        self._known |= {id_: unpacked(body) for id_, body in bodies}
        keys = [row["key"] for row in rows]
        self._details, self._evidence = self._store.details(keys), self._store.evidence(keys)

    def call(self, row: Mapping[str, Any]) -> dict[str, Any]:
        # The settings of a call can be missing only from a store that was recovered from a damaged one.
        shared = json.loads(self._known.get(row["context"], "{}"))
        thinking, category, cached, thought = self._details.get(row["key"], ("", "", 0, 0))
        known, words, answered = self._evidence.get(row["key"], {}), row["messages"].split(), "reply" in row
        record = {
            **{name: known.get(name) or None for name in EVIDENCE},
            "key": row["key"].hex(),
            "at": datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="milliseconds"),
            "version": str(shared.get("version", "")),
            "finish": FINISHES.get(row.get("finish", ""), "failed"),
            "reply": unpacked(row["reply"]) if answered else None,
            "thinking": unpacked(thinking) or None,
            "category": category or None,
            "scores": _finite(row["scores"]) if row.get("scores") is not None else None,
            **({} if answered else {"prompt_tokens": 0, "completion_tokens": 0}),
            "cached_tokens": cached,
            "reasoning_tokens": thought,
            "seconds": row["milliseconds"] / 1000,
            "settings": json.dumps(shared, ensure_ascii=False),
            "messages": [{"role": _ROLES[one[0]], "content": self._known.get(int(one[1:]), "")} for one in words],
        }
        every = {**shared, **row, **record}
        return {name: every.get(name) for name in COLUMNS}


def _finite(scores: bytes) -> list[float | None]:
    """Scores as JSON can hold them: an option that was not among the tokens told has none."""
    return [score if math.isfinite(score) else None for score in np.frombuffer(scores, dtype="<f8").tolist()]


def export(store: RunStore, to: Path, *, run: int | None = None, prompts: bool = True) -> int:
    """Writes stored calls to a `.jsonl`, `.csv` or `.parquet` file; how many there were."""
    sinks: dict[str, Callable[..., Any]]
    sinks = {".jsonl": pl.LazyFrame.sink_ndjson, ".csv": pl.LazyFrame.sink_csv, ".parquet": pl.LazyFrame.sink_parquet}
    if to.suffix not in sinks:
        raise InputError(f"'{to.suffix}' is not a format for calls", file=to, remedy=f"use {', '.join(sinks)}")
    schema = {name: COLUMNS[name] for name in COLUMNS if prompts or name != "messages"}
    every, count = calls(store, run=run), 0
    with tempfile.TemporaryDirectory(prefix="vantage-export-") as folder:
        # One part more than there are, so that a store without calls has a header too.
        while (part := list(islice(every, PART))) or not count:
            frame = pl.DataFrame([{name: call[name] for name in schema} for call in part], schema=schema)
            frame = safe(flat(frame)) if to.suffix == ".csv" else frame
            frame.write_parquet(Path(folder) / f"{count:012}.parquet")
            count += len(part)
            if not part:
                break
        try:
            sinks[to.suffix](pl.scan_parquet(sorted(Path(folder).iterdir())), to)
        except OSError as error:
            raise InputError(f"the file cannot be written ({error.strerror or error})", file=to) from None
    return count
