"""Cleaning a store: calls that no run needs any more, failures that were made good, texts that nobody refers to."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np

from vantage.errors import InputError
from vantage.runs.records import records
from vantage.runs.store import RunStore
from vantage.runs.tables import store_error

_COLLECTED: Final = "SELECT id FROM batches WHERE state = 'collected'"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was removed, or would be."""

    runs: int
    calls: int
    failures: int
    texts: int
    bytes_before: int
    bytes_after: int | None
    """Null when nothing was removed yet."""


def clean(store: RunStore, drop: Sequence[int] = (), *, dry_run: bool = False) -> Cleaned:
    """Removes runs and what only they used, and gives the space back.

    Args:
        store: The store; no run may be under way on it.
        drop: The runs to forget. Calls that another run uses too stay.
        dry_run: Only counts.
    """
    known = {stored.id for stored in records(store)}
    if unknown := [number for number in drop if number not in known]:
        raise InputError(f"there is no run {unknown[0]}", file=store.path, remedy="see: vantage runs list")
    if store.claims.others():
        raise InputError("another process is at work on the store", file=store.path, remedy="wait until it has ended")
    before = _size(store)
    calls = failures = texts = 0

    def work(connection: sqlite3.Connection) -> None:
        nonlocal calls, failures, texts
        connection.execute("SAVEPOINT cleaning")
        for number in drop:
            connection.execute("DELETE FROM runs WHERE id = ?", (number,))
            connection.execute("DELETE FROM uses WHERE run = ?", (number,))
            # A call that another run rests on becomes that run's, with the prices at which it was made.
            heirs = connection.execute(
                "UPDATE calls SET run = (SELECT MIN(uses.run) FROM uses WHERE uses.call = calls.id) "
                "WHERE run = ? AND id IN (SELECT call FROM uses) RETURNING run",
                (number,),
            )
            inherited = "INSERT INTO sittings SELECT NULL, ?, started, engine, prices FROM sittings WHERE run = ?"
            connection.executemany(inherited, [(heir, number) for heir in {row[0] for row in heirs.fetchall()}])
            connection.execute("DELETE FROM sittings WHERE run = ?", (number,))
        orphans = "run NOT IN (SELECT id FROM runs)"
        calls = connection.execute(f"DELETE FROM calls WHERE {orphans}").rowcount  # noqa: S608
        made_good = "key IN (SELECT key FROM calls)"
        failures = connection.execute(f"DELETE FROM failures WHERE {orphans} OR {made_good}").rowcount  # noqa: S608
        for table in ("details", "evidence"):
            connection.execute(f"DELETE FROM {table} WHERE key NOT IN (SELECT key FROM calls)")  # noqa: S608
        texts = _remove_texts(connection)
        connection.execute("DELETE FROM uses WHERE call NOT IN (SELECT id FROM calls)")
        connection.execute(f"DELETE FROM batched WHERE batch IN ({_COLLECTED}) AND key NOT IN (SELECT key FROM calls)")  # noqa: S608
        connection.execute(f"DELETE FROM batches WHERE id IN ({_COLLECTED}) AND id NOT IN (SELECT batch FROM batched)")  # noqa: S608
        connection.execute("ROLLBACK TO cleaning" if dry_run else "RELEASE cleaning")

    store.writer.do(work)
    after = None if dry_run else _vacuum(store)
    return Cleaned(len(drop), calls, failures, texts, before, after)


def _remove_texts(connection: sqlite3.Connection) -> int:
    """Removes the texts that no call and no failure refers to."""
    last = connection.execute("SELECT COALESCE(MAX(id), 0) FROM texts").fetchone()[0]
    used = np.zeros(last + 1, dtype=bool)
    for table in ("calls", "failures"):
        for context, messages in connection.execute(f"SELECT context, messages FROM {table}"):  # noqa: S608
            used[context] = True
            for word in messages.split():
                used[int(word[1:])] = True
    for (facts,) in connection.execute("SELECT facts FROM evidence"):
        used[facts] = True
    unused = [(int(id_),) for (id_,) in connection.execute("SELECT id FROM texts").fetchall() if not used[id_]]
    connection.executemany("DELETE FROM texts WHERE id = ?", unused)
    return len(unused)


def _vacuum(store: RunStore) -> int:
    try:
        with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise store_error(error, store.path) from None
    return _size(store)


def _size(store: RunStore) -> int:
    """The bytes of the file, and of what is written ahead of it."""
    files = (store.path, store.path.with_name(f"{store.path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
