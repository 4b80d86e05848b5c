"""Schema versions: a new database is created, an older one upgraded, a newer one refused.

To change the schema, change `tables`, raise `VERSION` and append the step from the previous version.
Steps are plain statements that both SQLite and PostgreSQL understand and run in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Column, Connection, Table, inspect, text
from sqlalchemy.schema import CreateColumn

from vantage.collect.tables import METADATA, pages, participants, quota_places, reviews, settings
from vantage.errors import InputError

VERSION: Final = 3
STEPS: Final[dict[int, Sequence[str]]] = {
    # Version 1 stored a participant's verdict without note and history.
    2: ("ALTER TABLE participants ADD COLUMN note TEXT NOT NULL DEFAULT ''",),
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
            _flows(connection)
    if version < VERSION:
        connection.execute(settings.update().where(settings.c.key == "schema").values(value=str(VERSION)))
    return False


def _flows(connection: Connection) -> None:
    """Version 2 had one block of items, each shown once to a participant."""
    quota_places.create(connection, checkfirst=True)
    for column in (participants.c.route, participants.c.place, participants.c.state, participants.c.deadline):
        _add(connection, participants, column)
    if connection.dialect.name == "sqlite":
        # SQLite cannot change a constraint, so the table is written anew.
        connection.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
        old = [column["name"] for column in inspect(connection).get_columns(pages.name)]
        for index in inspect(connection).get_indexes(pages.name):
            connection.exec_driver_sql(f'DROP INDEX "{index["name"]}"')
        connection.exec_driver_sql("CREATE TABLE pages_before AS SELECT * FROM pages")
        connection.exec_driver_sql("DROP TABLE pages")
        pages.create(connection)
        names = ", ".join(f'"{name}"' for name in old)
        connection.exec_driver_sql(f"INSERT INTO pages ({names}) SELECT {names} FROM pages_before")  # noqa: S608
        connection.exec_driver_sql("DROP TABLE pages_before")
        return
    for column in (pages.c.occasion, pages.c.question_set, pages.c.shown_at):
        _add(connection, pages, column)
    connection.exec_driver_sql("ALTER TABLE pages DROP CONSTRAINT pages_item_once")
    connection.exec_driver_sql("ALTER TABLE pages ADD CONSTRAINT pages_item_once UNIQUE (participant, row, occasion)")


def _add(connection: Connection, table: Table, column: Column[Any]) -> None:
    """Adds a column that a table does not have yet."""
    if column.name not in {known["name"] for known in inspect(connection).get_columns(table.name)}:
        shape = CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {shape}")
