"""Schema versions: a new database is created, an older one upgraded, a newer one refused.

To change the schema, change `tables`, raise `VERSION` and append the step from the previous version.
Steps are plain statements that both SQLite and PostgreSQL understand and run in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, inspect, text

from vantage.collect.tables import METADATA, decisions, drafts, evidence, reviews, settings
from vantage.errors import InputError

VERSION: Final = 3
STEPS: Final[dict[int, Sequence[str]]] = {
    # Version 1 stored a participant's verdict without note and history.
    2: ("ALTER TABLE participants ADD COLUMN note TEXT NOT NULL DEFAULT ''",),
    # Version 2 had no drafts, and stored neither who made a decision nor how answers were typed.
    3: (),
}


def prepare(connection: Connection) -> bool:
    """Creates or upgrades the tables, inside a transaction; true for a new database."""
    if connection.dialect.name == "postgresql":
        # Workers that start together wait here for the first one.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7263514902)")
    if not inspect(connection).has_table(settings.name):
        METADATA.create_all(connection)
        connection.execute(settings.insert(), {"key": "schema", "value": str(VERSION)})
        return True
    stored = connection.execute(settings.select().where(settings.c.key == "schema")).one_or_none()
    if stored is None or not stored.value.isdigit():
        raise InputError("The database was not created by vantage collect", remedy="choose another database")
    version = int(stored.value)
    if version > VERSION:
        raise InputError(
            f"The database has schema version {version}, but this Vantage supports up to version {VERSION}",
            remedy="update Vantage",
        )
    for step in range(version + 1, VERSION + 1):
        for statement in STEPS[step]:
            connection.execute(text(statement))
        if step == 2:
            reviews.create(connection)
        if step == 3:
            for table in (drafts, decisions, evidence):
                table.create(connection, checkfirst=True)
    if version < VERSION:
        connection.execute(settings.update().where(settings.c.key == "schema").values(value=str(VERSION)))
    return False
