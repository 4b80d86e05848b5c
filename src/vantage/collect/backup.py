"""Backups while a study is running: one SQLite file with everything, also of a study on PostgreSQL, and back again.

The file holds the key, the password's hash and the platform ids, so only its owner may read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Table, func, select, text

from vantage.collect import private
from vantage.collect.database import StudyDatabase
from vantage.collect.sql import SqlDatabase
from vantage.collect.tables import METADATA, read_setting, record, require_current, settings, write_setting
from vantage.errors import InputError

ROWS: Final = 2000
KEPT: Final = (private.secrets_table, private.identities, private.recruiting)
"""The private tables of a backup; sessions are not worth keeping."""


def backup(database: StudyDatabase, file: Path) -> Path:
    """Writes the state of one moment to a new file; participants go on in the meantime."""
    if file.exists():
        raise InputError("This file already exists", file=file, remedy="choose another name")
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(SqlDatabase(str(part))) as target, target.engine.begin() as connection:
        METADATA.create_all(connection)
        private.PRIVATE.create_all(connection)
        database.sql.snapshot(lambda c: _copy(c, connection, METADATA.sorted_tables, "private"))
        # Read later than the answers, so that every rater's id is there.
        database.private.sql.snapshot(lambda c: _copy(c, connection, KEPT))
    part.replace(file)
    return file


def restore(file: Path, address: str) -> str:
    """Creates a study's database from a backup; the study's id. A database that holds a study is refused."""
    if not file.is_file():
        raise InputError("There is no such file", file=file, remedy="check the path")
    with closing(SqlDatabase(str(file), read_only=True)) as source, closing(SqlDatabase(address)) as target:
        source.open(require_current)
        study = str(json.loads(source.read(lambda c: read_setting(c, "study")) or "{}").get("id"))

        def copy_private(connection: Connection) -> None:
            source.snapshot(lambda c: _copy(c, connection, KEPT))

        def fill(connection: Connection) -> None:
            source.snapshot(lambda c: _copy(c, connection, METADATA.sorted_tables, "schema"))
            if target.sqlite:
                place = private.create_private(study, copy_private)
            else:
                place = private.HERE
                private.fill_private(connection, copy_private)
            write_setting(connection, "private", place)
            record(connection, "restored")

        if not target.start(fill):
            raise InputError("The database already holds a study", file=target.name, remedy="choose another database")
    return study


def _copy(source: Connection, target: Connection, tables: Iterable[Table], without: str = "") -> None:
    """Copies tables; `without` is a setting that is left out."""
    for table in tables:
        rows = source.execution_options(yield_per=ROWS).execute(select(table))
        for part in rows.mappings().partitions():
            kept = [dict(row) for row in part if table is not settings or row["key"] != without]
            if kept:
                target.execute(table.insert(), kept)
        number = table.autoincrement_column
        if number is not None and target.dialect.name == "postgresql":
            last = select(func.max(number)).scalar_subquery()
            target.execute(select(func.setval(text(f"pg_get_serial_sequence('{table.name}', '{number.name}')"), last)))
