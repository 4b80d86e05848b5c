"""A run under way, paused, resumed or tuned from another process: asked for in the store, and heeded by the run."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from vantage.errors import InputError
from vantage.runs.records import record
from vantage.runs.store import RunStore

LOOK: Final = 0.5
"""Seconds between two looks of a run at what it is asked for."""
ANSWER: Final = 10.0
"""Seconds in which a run that is alive has heeded what it was asked for."""


@dataclass(frozen=True, slots=True)
class Control:
    """Changes requested of a run in progress; a limit that is null stays as it was at the start."""

    paused: bool = False
    concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: float | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits that are to be changed, by their names in `RunOptions`."""
        return {name: value for name, value in asdict(self).items() if name != "paused" and value is not None}


def ask(store: RunStore, run: int, wait: float = ANSWER, **changes: Any) -> Control:
    """Requests changes of a run and waits until they are made; a run that nobody carries out is an error."""
    state = record(store, run).state
    if state not in ("running", "paused"):
        raise InputError(f"run {run} is not in progress ({state})", file=store.path, remedy="see: vantage runs list")
    engine = store.select("SELECT engine FROM sittings WHERE run = ? ORDER BY id DESC LIMIT 1", (run,))[0][0]
    if engine != "local" and (fixed := set(changes) - {"paused", "max_cost"}):
        named = ", ".join(sorted(name.replace("_", " ") for name in fixed))
        remedy = "stop it and start it again with other limits"
        raise InputError(f"the engine '{engine}' cannot change {named} of a run in progress", remedy=remedy)

    def write(connection: sqlite3.Connection) -> tuple[Control, int]:
        row = connection.execute("SELECT asked, number FROM controls WHERE run = ?", (run,)).fetchone()
        asked, number = row or ("{}", 0)
        wanted = replace(Control(**json.loads(asked)), **changes)
        cells = (run, json.dumps(asdict(wanted)), number + 1, number)
        connection.execute("INSERT OR REPLACE INTO controls VALUES (?, ?, ?, ?)", cells)
        return wanted, number + 1

    wanted, number = store.writer.do(write)
    until = time.monotonic() + wait
    while time.monotonic() < until:
        if store.select("SELECT 1 FROM controls WHERE run = ? AND heeded >= ?", (run, number)):
            return wanted
        time.sleep(0.05)
    store.change("DELETE FROM controls WHERE run = ?", (run,))
    remedy = "if it was killed, run its command again"
    raise InputError(f"no process is running run {run}", file=store.path, remedy=remedy)


class Listener:
    """Looks up now and then what a run in progress has been asked for."""

    def __init__(self, store: RunStore, run: int) -> None:
        self._store, self._run = store, run
        self._next, self._heeded = 0.0, 0
        # What an earlier sitting was asked for is over.
        store.change("DELETE FROM controls WHERE run = ?", (run,))

    def news(self) -> Control | None:
        """What is asked for, if that has changed since the last look."""
        if time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + LOOK
        rows = self._store.select("SELECT asked, number FROM controls WHERE run = ?", (self._run,))
        if not rows or rows[0][1] == self._heeded:
            return None
        self._heeded = rows[0][1]
        return Control(**json.loads(rows[0][0]))

    def heeded(self, control: Control) -> None:
        """Says that it is done."""
        state = "paused" if control.paused else "running"
        self._store.change("UPDATE runs SET state = ? WHERE id = ?", (state, self._run))
        self._store.change("UPDATE controls SET heeded = ? WHERE run = ?", (self._heeded, self._run))
