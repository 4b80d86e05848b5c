"""The run store: one SQLite file in which every call stands as it came back, and from which any run can go on.

The file is in write-ahead mode and every group of calls is synced to the disk before it is acknowledged, so that
neither `kill -9` nor a power cut loses a finished call.
"""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from vantage.corpora import storage
from vantage.errors import InputError
from vantage.raters.models.base import Completion
from vantage.raters.models.dialects import learn
from vantage.runs.recovery import is_cut
from vantage.runs.tables import (
    APPLICATION,
    LATER,
    SCHEMA,
    VERSION,
    FinishedCall,
    Stored,
    StoreError,
    among,
    checksum,
    completion_of,
    store_error,
    unpacked,
)
from vantage.runs.writer import Acknowledge, Claims, StoreWriter

NAME: Final = "runs.sqlite"
"""The name of the store inside a corpus folder."""
PATIENCE: Final = 60.0
"""Seconds to wait for another process that is writing."""


class RunStore:
    """A run store; a context manager that closes it.

    >>> with RunStore.temporary() as store:
    ...     store.count()
    0

    Args:
        path: The file; made when it is not there. A corpus folder stands for the store inside it.
        read_only: Only looks; nothing is made or changed.
    """

    def __init__(
        self, path: str | Path, *, read_only: bool = False, _temporary: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        self.path = place(path)
        self.read_only = read_only
        self._temporary = _temporary
        self._open()
        # Replies of models that were probed are read with what was learned of their thinking.
        for (profile,) in self.select("SELECT profile FROM profiles"):
            if marks := json.loads(profile).get("marks"):
                learn(*marks)

    @classmethod
    def temporary(cls) -> RunStore:
        """A store that is gone when it is closed, for results that are used at once."""
        folder = tempfile.TemporaryDirectory(prefix="vantage-run-")
        return cls(folder.name, _temporary=folder)

    def close(self) -> None:
        """Writes what is left and closes the file."""
        self.claims.release()
        if self._writer is not None:
            self._writer.close()
        self._reader.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def lasting(self) -> bool:
        """Whether the file is there for a later run."""
        return self._temporary is None and not self.read_only

    @property
    def writer(self) -> StoreWriter:
        """The thread that writes."""
        if self._writer is None:
            raise StoreError("the store was opened for reading only", file=self.path)
        return self._writer

    def put(self, finished: FinishedCall, acknowledge: Acknowledge) -> None:
        """Hands over a call; it counts as finished once it is acknowledged."""
        self.writer.put(finished, acknowledge)

    def lookup(self, keys: Sequence[bytes], *, failures: bool = False) -> dict[bytes, Stored]:
        """The calls among these that are answered and, if asked for, those that last failed."""
        columns = "key, id, run, checksum, finish, reply, scores, prompt_tokens, completion_tokens"
        rows = among(self.select, f"SELECT {columns} FROM calls WHERE key IN ({{}})", keys)  # noqa: S608
        details = self.details([row[0] for row in rows])
        replies: dict[bytes, Stored] = {}
        for key, id_, run, check, finish, reply, scores, *tokens in rows:
            if checksum(key, finish, reply, scores) != check:
                raise store_error(sqlite3.DatabaseError("a reply is malformed"), self.path)
            replies[key] = Stored(completion_of(finish, reply, scores, tokens, details.get(key)), id_, run)
        if failures:
            open_ = [key for key in keys if key not in replies]
            rows = among(self.select, "SELECT key, error FROM failures WHERE key IN ({}) ORDER BY id", open_)
            replies |= {key: Stored(Completion("", "failed", error=error), 0, 0) for key, error in rows}
        return replies

    def details(self, keys: Sequence[bytes]) -> dict[bytes, tuple[Any, ...]]:
        """Thinking, category, cached and reasoning tokens of those among these calls that have any of them."""
        columns = "key, thinking, category, cached_tokens, reasoning_tokens"
        rows = among(self.select, f"SELECT {columns} FROM details WHERE key IN ({{}})", keys)  # noqa: S608
        return {key: tuple(more) for key, *more in rows}

    def evidence(self, keys: Sequence[bytes]) -> dict[bytes, dict[str, Any]]:
        """How replies ended and what served them, of those among these calls of which it was recorded."""
        sql = "SELECT evidence.key, body, request, cost FROM evidence JOIN texts ON texts.id = facts "
        rows = among(self.select, f"{sql}WHERE evidence.key IN ({{}})", keys)
        return {k: {**json.loads(unpacked(body)), "request": id_, "cost": cost} for k, body, id_, cost in rows}

    def count(self) -> int:
        """How many replies there are."""
        return int(self.select("SELECT COUNT(*) FROM calls")[0][0])

    def select(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Rows of the store; a damaged file raises an error of one sentence."""
        try:
            return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise store_error(error, self.path) from None

    def change(self, sql: str, *rows: Sequence[Any]) -> None:
        """Executes a statement with each of the rows, in a transaction of its own."""
        self.writer.do(lambda connection: connection.executemany(sql, rows))

    def _open(self) -> None:
        if self.read_only:
            if not self.path.is_file():
                raise InputError(
                    "there is no run store here", file=self.path, remedy="name a store, or a corpus folder that has one"
                )
            self._writer = None
            self._reader = self._looking()
            self.claims = Claims(self.path, None)
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the store cannot be made ({error.strerror})", file=self.path) from None
        if self.path.is_file() and is_cut(self.path):
            raise store_error(sqlite3.DatabaseError("malformed: its end is missing"), self.path)
        self._writer = StoreWriter(self._connect, self.path)
        self._reader = self._connect()
        self.claims = Claims(self.path, self._writer)

    def _looking(self) -> sqlite3.Connection:
        """A connection that cannot write; where not even a lock file can be made, the file is read as it is."""
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            try:
                connection = sqlite3.connect(f"{self.path.absolute().as_uri()}?{mode}", uri=True, timeout=PATIENCE)
                _check(connection, self.path)
                _complete(connection)
            except sqlite3.OperationalError as error:
                failed = error
                continue
            except sqlite3.Error as error:
                raise store_error(error, self.path) from None
            return connection
        raise store_error(failed, self.path) from None

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            # FULL syncs each transaction: with many calls in each, that costs little and survives a power cut.
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._temporary is None else 'OFF'}")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            connection.execute("PRAGMA cache_size = -16000")
            connection.execute("BEGIN IMMEDIATE")
            try:
                _prepare(connection, self.path)
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise store_error(error, self.path) from None
        return connection


def place(path: str | Path) -> Path:
    """The store's file: the one named, or the one inside a folder."""
    path = Path(path).expanduser()
    return path / NAME if path.is_dir() or storage.is_corpus(path) else path


def begun(path: Path) -> bool:
    """Whether a file has tables yet, which a store that another process is just creating does not."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            return bool(connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0])
        except sqlite3.DatabaseError:
            return True  # what is wrong with it is said when it is read


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new file; an older file is brought up to date, a newer one is refused."""
    if is_old := connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        _check(connection, path)
    # Version 1 lacks tables only; what its calls do not tell stays unknown.
    _execute(connection, LATER + ("" if is_old else SCHEMA))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _complete(connection: sqlite3.Connection) -> None:
    """Gives a connection that cannot write the tables that an older file lacks; they are empty."""
    connection.execute("PRAGMA temp_store = MEMORY")
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    for name, columns in re.findall(r"CREATE TABLE IF NOT EXISTS (\w+) ([^;]+);", LATER):
        if name not in there:
            connection.execute(f"CREATE TEMP TABLE {name} {columns}")


def _execute(connection: sqlite3.Connection, statements: str) -> None:
    """Executes statements inside the transaction that is open, which `executescript` would end."""
    for statement in statements.split(";"):
        if statement.strip():
            connection.execute(statement)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise InputError("this is an SQLite file, but not a run store", file=path, remedy="name another --store")
    if version > VERSION:
        raise InputError(
            f"the store has version {version}, this Vantage reads version {VERSION}", file=path, remedy="update Vantage"
        )
