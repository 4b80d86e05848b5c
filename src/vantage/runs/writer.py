"""The one thread that writes into a store: many calls in one transaction, acknowledged once they are durable.

Where several processes work on one store, each claims the calls that it is about to send, and each call is asked by one
of them. Another that wants the same call waits until the reply is there. Whether the claimant still lives is told by a
lock on a file, which the system lets go when a process ends in whatever way, so that no clock is involved. (A store in
write-ahead mode is for the processes of one machine.)
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from filelock import FileLock, Timeout

from vantage.runs.tables import FinishedCall, Inserts, StoreError, among, store_error

T = TypeVar("T")
Acknowledge: TypeAlias = Callable[[Sequence[FinishedCall], StoreError | None], None]
"""Told which calls are durable now, or why they are not."""

GATHER: Final = 0.005
"""Seconds for which calls are gathered before they are written together."""
MOST: Final = 2000
"""Calls in one transaction."""


class StoreWriter:
    """Writes what it is given, in the order in which it came, through a connection and a thread of its own.

    Calls that arrive while a transaction is being made durable wait for the next one, so that a disk that is
    slow to confirm makes the groups larger and not the run slower.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], path: Path) -> None:
        self._path = path
        self._waiting: deque[tuple[FinishedCall, Acknowledge]] = deque()
        self._lock = threading.Lock()
        self._due = self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="run store")
        self._connection = self._thread.submit(connect).result()
        self._inserts = Inserts(self._connection)

    def put(self, finished: FinishedCall, acknowledge: Acknowledge) -> None:
        """Hands over a call; `acknowledge` is called, in the writer's thread, when it is durable."""
        self._waiting.append((finished, acknowledge))
        self._plan()

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs other work in a transaction of its own, after all that was handed over before, and waits for it."""
        results: list[T] = []

        def done() -> None:
            results.append(work(self._connection))
            # Work may have removed texts or restored another file.
            self._inserts.forget()

        error = self._thread.submit(self._transaction, done).result()
        if error is not None:
            raise store_error(error, self._path) from None
        return results[0]

    def close(self) -> None:
        """Writes what is left and ends the thread."""
        self._closing = True
        self._thread.submit(self._finish).result()
        self._thread.shutdown()

    def _plan(self) -> None:
        """Has the waiting calls written soon, unless that is planned already."""
        with self._lock:
            planned, self._due = self._due, True
        if not planned and not self._closing:
            self._thread.submit(self._gather)

    def _gather(self) -> None:
        time.sleep(GATHER)
        with self._lock:
            self._due = False
        self._write()
        if self._waiting:
            self._plan()

    def _write(self) -> None:
        """Writes waiting calls, as many as one transaction takes, and tells those who wait for it."""
        group: dict[Acknowledge, list[FinishedCall]] = {}
        for _ in range(min(MOST, len(self._waiting))):
            finished, acknowledge = self._waiting.popleft()
            group.setdefault(acknowledge, []).append(finished)
        if not group:
            return
        error = self._transaction(lambda: self._inserts.add([one for batch in group.values() for one in batch]))
        for acknowledge, batch in group.items():
            acknowledge(batch, store_error(error, self._path) if error else None)

    def _finish(self) -> None:
        while self._waiting:
            self._write()
        self._connection.close()

    def _transaction(self, work: Callable[[], Any]) -> Exception | None:
        """Work as a whole or not at all; what went wrong, if anything did."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            work()
            self._connection.execute("COMMIT")
        except Exception as error:
            # Whatever it was, the thread must live on, for others wait for it.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._inserts.forget()
            return error
        return None


class Claims:
    """The claims of this process on a store."""

    def __init__(self, path: Path, writer: StoreWriter | None) -> None:
        self._path, self._writer = path, writer
        self.owner = secrets.token_hex(8)
        self._lock: FileLock | None = None

    def take(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the calls that are this process's to send; the others are under way elsewhere."""
        if self._writer is None or not keys:
            return set(keys)
        if self._lock is None:
            self._lock = FileLock(self._file(self.owner))
            self._lock.acquire(timeout=0)
            self._writer.do(self._clear_dead)
        return self._writer.do(lambda connection: self._take(connection, keys))

    def clear_dead(self) -> None:
        """Gives up the claims of processes that are gone."""
        if self._writer is not None:
            self._writer.do(self._clear_dead)

    def release(self) -> None:
        """Gives up what this process had claimed."""
        if self._lock is None or self._writer is None:
            return
        owner = (self.owner,)
        with contextlib.suppress(Exception):
            # A store that cannot be written any more keeps claims of a process that is gone, which do no harm.
            self._writer.do(lambda connection: connection.execute("DELETE FROM claims WHERE owner = ?", owner))
        self._lock.release()
        self._file(self.owner).unlink(missing_ok=True)
        self._lock = None

    def _take(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> set[bytes]:
        # A call that was answered between looking and claiming is not claimed; it will be found at the next look.
        answered = {key for (key,) in among(connection.execute, "SELECT key FROM calls WHERE key IN ({})", keys)}
        wanted = [(key, self.owner) for key in keys if key not in answered]
        connection.executemany("INSERT OR IGNORE INTO claims VALUES (?, ?)", wanted)
        sql = "SELECT key FROM claims WHERE owner = ? AND key IN ({})"
        return {key for (key,) in among(connection.execute, sql, keys, self.owner)}

    def _clear_dead(self, connection: sqlite3.Connection) -> None:
        for (owner,) in connection.execute("SELECT DISTINCT owner FROM claims").fetchall():
            if owner != self.owner and not self._lives(owner):
                connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
                self._file(owner).unlink(missing_ok=True)

    def _lives(self, owner: str) -> bool:
        try:
            with FileLock(self._file(owner), timeout=0):
                return False
        except Timeout:
            return True
        except OSError:
            return False

    def _file(self, owner: str) -> Path:
        return self._path.with_name(f".{self._path.name}-{owner}.lock")
