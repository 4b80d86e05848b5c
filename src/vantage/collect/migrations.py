"""Schema versions: a new database is made, an older one upgraded, a newer one refused.

To change the schema, change `tables`, raise `VERSION` and append the step that turns the version before into it.
Steps are plain statements that both SQLite and PostgreSQL understand and run in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, inspect, text

from vantage.collect.tables import METADATA, reviews, settings
from vantage.errors import InputError

VERSION: Final = 2
STEPS: Final[dict[int, Sequence[str]]] = {
    # Version 1 kept the verdict about a participant without its reason and without its history.
    2: ("ALTER TABLE participants ADD COLUMN note TEXT NOT NULL DEFAULT ''",),
}


def prepare(connection: Connection) -> bool:
    """Brings the database to the present version, inside a transaction; true when it was empty and is new."""
    if connection.dialect.name == "postgresql":
        # Workers that start together wait here for the first of them.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7263514902)")
    if not inspect(connection).has_table(settings.name):
        METADATA.create_all(connection)
        connection.execute(settings.insert(), {"key": "schema", "value": str(VERSION)})
        return True
    found = connection.execute(settings.select().where(settings.c.key == "schema")).one_or_none()
    if found is None or not found.value.isdigit():
        raise InputError("the database was not made by vantage collect", remedy="choose another database")
    version = int(found.value)
    if version > VERSION:
        raise InputError(
            f"the database has schema version {version}, and this Vantage knows version {VERSION}",
            remedy="update Vantage",
        )
    for step in range(version + 1, VERSION + 1):
        for statement in STEPS[step]:
            connection.execute(text(statement))
        if step == 2:
            reviews.create(connection)
    if version < VERSION:
        connection.execute(settings.update().where(settings.c.key == "schema").values(value=str(VERSION)))
    return False
