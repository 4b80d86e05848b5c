"""The record of runs: what was planned, when, how far it got, and what it took."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass
from typing import Any, Literal

from vantage.errors import InputError
from vantage.runs.ledger import ledger, totals
from vantage.runs.plan import RunPlan
from vantage.runs.store import RunStore
from vantage.runs.tally import RunTally

State = Literal["running", "complete", "incomplete", "interrupted", "stopped"]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run as the store knows it."""

    id: int
    started: float
    changed: float
    state: str
    plan: dict[str, Any]
    summary: dict[str, Any]


def begin(store: RunStore, plan: RunPlan) -> int:
    """The number of the run of this plan: a new one, or the one that it resumes."""
    described = plan.described()
    key, now = plan.key(described), time.time()

    def write(connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT id FROM runs WHERE key = ?", (key,)).fetchone()
        if row is not None:
            connection.execute("UPDATE runs SET changed = ?, state = 'running' WHERE id = ?", (now, row[0]))
            return int(row[0])
        cells = (key, now, now, plan.record(described), "running", "{}")
        return int(connection.execute("INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", cells).lastrowid or 0)

    return store.writer.do(write)


def end(store: RunStore, run: int, state: State, tally: RunTally) -> None:
    """Writes down how a run ended: the counts of this sitting, and what the whole run has cost."""
    # In plain ASCII, since an error may quote half a character, which no database takes.
    summary = json.dumps({**tally.as_dict(), "whole_run": totals(ledger(store, run))})
    store.writer.do(
        lambda connection: connection.execute(
            "UPDATE runs SET changed = ?, state = ?, summary = ? WHERE id = ?", (time.time(), state, summary, run)
        )
    )


def records(store: RunStore) -> list[RunRecord]:
    """All runs, the oldest first."""
    rows = store.select("SELECT id, started, changed, state, plan, summary FROM runs ORDER BY id")
    return [
        RunRecord(id_, started, changed, state, json.loads(plan), json.loads(summary))
        for id_, started, changed, state, plan, summary in rows
    ]


def record(store: RunStore, run: int) -> RunRecord:
    """One run by its number."""
    for stored in records(store):
        if stored.id == run:
            return stored
    raise InputError(f"there is no run {run}", file=store.path, remedy="see: vantage runs list")
