"""Claims: several processes on one store, each call asked by one of them.

A process claims the calls that it is about to send. Another that wants the same call waits until the reply is there.
Whether the claimant still lives is told by a lock on a file, which the system lets go when a process ends in whatever
way, so that no clock is involved. (A store in write-ahead mode is for the processes of one machine.)
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from vantage.runs.tables import among
from vantage.runs.writer import StoreWriter


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

    def others(self) -> bool:
        """Whether another process has claims on the store."""
        self.clear_dead()
        if self._writer is None:
            return False
        sql, owner = "SELECT 1 FROM claims WHERE owner != ?", (self.owner,)
        return self._writer.do(lambda connection: connection.execute(sql, owner).fetchone()) is not None

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
