"""A store that was cut off or damaged: what can be read is copied into a new file, and the old one is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from vantage.runs.tables import APPLICATION, LATER, SCHEMA, SOUND, VERSION, is_sound, store_error

_STRETCH: Final = 256
_SILENT: Final = 40
"""Stretches without a readable row after which a table is taken to have ended."""


def is_cut(path: Path) -> bool:
    """Whether the header of a store tells of more than the file has, of which SQLite sees only whole pages."""
    with path.open("rb") as file:
        header = file.read(100)
    ahead = path.with_name(f"{path.name}-wal")
    if len(header) < 100 or header[24:28] != header[92:96] or (ahead.is_file() and ahead.stat().st_size):
        return False
    size, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    return path.stat().st_size < pages * (65536 if size == 1 else size)


def recover(path: Path) -> str:
    """Copies what can be read of a damaged store into a new one under the same name."""
    fresh = path.with_name(f".{path.name}-recovered")
    fresh.unlink(missing_ok=True)
    try:
        saved, holes = _copy(path, fresh)
    except (sqlite3.Error, OSError) as error:
        fresh.unlink(missing_ok=True)
        raise store_error(error, path) from None
    kept = _aside(path)
    fresh.rename(path)
    rest = "others could not be read and will be asked again" if holes else "and no other was found"
    return f"The store was damaged: {saved:,} replies were saved, {rest}; the damaged file is kept as {kept.name}."


def _copy(path: Path, fresh: Path) -> tuple[int, bool]:
    """How many replies were copied, and whether others could not be read."""
    counts = {"calls": (0, False)}
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(fresh)) as new:
        # Without this, SQLite refuses to read a file that is shorter than its header says.
        old.execute("PRAGMA writable_schema = ON")
        new.executescript(SCHEMA + LATER)
        new.execute(f"PRAGMA application_id = {APPLICATION}")
        new.execute(f"PRAGMA user_version = {VERSION}")
        there = {name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in (name for name in SOUND if name in there):
            saved, holes = 0, [0]
            for rows in _readable(old, table, holes):
                good = [row for row in rows if is_sound(table, row)]
                holes[0] += len(rows) - len(good)
                marks = ", ".join("?" for _ in rows[0])
                new.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", good)  # noqa: S608
                saved += len(good)
            counts[table] = (saved, bool(holes[0]))
        new.commit()
        new.execute("PRAGMA journal_mode = WAL")
    return counts["calls"]


def _readable(old: sqlite3.Connection, table: str, holes: list[int]) -> Iterator[list[Any]]:
    """The rows of a table, stretch by stretch; a stretch with a hole in it is read row by row.

    Where the end of a table is gone, nothing says how far it went: the search ends after a long stretch of nothing.
    """
    last, start, silent = _last(old, table), 1, 0
    while start <= last and silent < _SILENT:
        rows = _rows(old, table, start, start + _STRETCH - 1)
        if rows is None:
            singles = [_rows(old, table, id_, id_) for id_ in range(start, start + _STRETCH)]
            rows = [row for one in singles if one for row in one]
            holes[0] += sum(one is None for one in singles)
        silent = 0 if rows else silent + 1
        if rows:
            yield rows
        start += _STRETCH


def _last(old: sqlite3.Connection, table: str) -> int:
    """The highest row number, or a number beyond any where the end of the table is gone."""
    try:
        return int(old.execute(f"SELECT MAX(id) FROM {table}").fetchone()[0] or 0)  # noqa: S608
    except sqlite3.DatabaseError:
        return 2**40


def _rows(old: sqlite3.Connection, table: str, first: int, last: int) -> list[Any] | None:
    try:
        return old.execute(f"SELECT * FROM {table} WHERE id BETWEEN ? AND ?", (first, last)).fetchall()  # noqa: S608
    except sqlite3.DatabaseError:
        return None


def _aside(path: Path) -> Path:
    number = 1
    while path.with_name(f"{path.name}.damaged-{number}").exists():
        number += 1
    kept = path.with_name(f"{path.name}.damaged-{number}")
    path.rename(kept)
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    return kept
