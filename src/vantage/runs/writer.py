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
from concurrent.futures import Future
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
    """Writes what it is given, in the order in which it came, through a connection of its own.

    Calls that arrive while a transaction is being made durable wait for the next one, so that a disk that is
    slow to confirm makes the groups larger and not the run slower.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], path: Path) -> None:
        self._path = path
        self._waiting: deque[tuple[FinishedCall, Acknowledge] | tuple[Callable[..., Any], Future[Any]]] = deque()
        self._news = threading.Condition()
        self._closing = False
        opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._work, args=(connect, opened), name="run store", daemon=True)
        self._thread.start()
        opened.result()

    def put(self, finished: FinishedCall, acknowledge: Acknowledge) -> None:
        """Hands over a call; `acknowledge` is called, in the writer's thread, when it is durable."""
        self._waiting.append((finished, acknowledge))
        with self._news:
            self._news.notify()

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs other work in a transaction of its own, after all that was handed over before, and waits for it."""
        future: Future[T] = Future()
        self._waiting.append((work, future))
        with self._news:
            self._news.notify()
        return future.result()

    def close(self) -> None:
        """Writes what is left and ends the thread."""
        with self._news:
            self._closing = True
            self._news.notify()
        self._thread.join()

    def _work(self, connect: Callable[[], sqlite3.Connection], opened: Future[None]) -> None:
        try:
            connection = connect()
        except BaseException as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        inserts = Inserts(connection)
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._closing)
                if not self._waiting:
                    break
            if isinstance(self._waiting[0][1], Future):
                self._other(connection, inserts)
            else:
                self._calls(connection, inserts)
        connection.close()

    def _calls(self, connection: sqlite3.Connection, inserts: Inserts) -> None:
        if not self._closing:
            time.sleep(GATHER)
        group: dict[Acknowledge, list[FinishedCall]] = {}
        for _ in range(MOST):
            if not self._waiting or isinstance(self._waiting[0][1], Future):
                break
            finished, acknowledge = self._waiting.popleft()
            group.setdefault(acknowledge, []).append(finished)  # type: ignore[arg-type]
        error = self._transaction(
            connection, inserts, lambda: inserts.add([one for batch in group.values() for one in batch])
        )
        for acknowledge, batch in group.items():
            acknowledge(batch, store_error(error, self._path) if error else None)

    def _other(self, connection: sqlite3.Connection, inserts: Inserts) -> None:
        work, future = self._waiting.popleft()
        results: list[Any] = []
        error = self._transaction(connection, inserts, lambda: results.append(work(connection)))  # type: ignore[operator]
        # Work may have removed texts or restored another file.
        inserts.forget()
        if error:
            future.set_exception(store_error(error, self._path))  # type: ignore[union-attr]
        else:
            future.set_result(results[0])  # type: ignore[union-attr]

    def _transaction(
        self, connection: sqlite3.Connection, inserts: Inserts, work: Callable[[], Any]
    ) -> Exception | None:
        """Work as a whole or not at all; what went wrong, if anything did."""
        try:
            connection.execute("BEGIN IMMEDIATE")
            work()
            connection.execute("COMMIT")
        except Exception as error:
            # Whatever it was, the thread must live on, for others wait for it.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            inserts.forget()
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
