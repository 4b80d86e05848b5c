"""Schema versions: a new database is created, an older one upgraded, a newer one and one never released refused.

To change the schema, change `tables` and raise `VERSION`: missing tables and columns are added, in one transaction. A
new column of an old table is nullable or has a server default.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Column, Connection, inspect
from sqlalchemy.schema import CreateColumn

from vantage.collect.tables import METADATA, PERSONAL, settings
from vantage.errors import InputError

VERSION: Final = 4
FIRST: Final = 4
"""The first version that was released; databases that are older cannot be read."""


def prepare(connection: Connection) -> bool:
    """Creates or upgrades the tables, inside a transaction; true for a new database."""
    if connection.dialect.name == "postgresql":
        # Workers that start together wait here for the first one.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7263514902)")
    if not inspect(connection).has_table(settings.name):
        METADATA.create_all(connection)
        keep_out_of_statistics(connection, PERSONAL)
        connection.execute(settings.insert(), {"key": "schema", "value": str(VERSION)})
        return True
    version = _version(connection)
    if version < VERSION:
        METADATA.create_all(connection)
        for table in METADATA.sorted_tables:
            known = {column["name"] for column in inspect(connection).get_columns(table.name)}
            for column in table.columns:
                if column.name not in known:
                    shape = CreateColumn(column).compile(dialect=connection.dialect)
                    connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {shape}")
        keep_out_of_statistics(connection, PERSONAL)
        connection.execute(settings.update().where(settings.c.key == "schema").values(value=str(VERSION)))
    return False


def keep_out_of_statistics(connection: Connection, columns: Iterable[Column[Any]]) -> None:
    """Keeps PostgreSQL from copying frequent values into its statistics, from which no deletion would remove them."""
    if connection.dialect.name == "postgresql":
        for column in columns:
            connection.exec_driver_sql(f'ALTER TABLE {column.table.name} ALTER COLUMN "{column.name}" SET STATISTICS 0')


def require_current(connection: Connection) -> None:
    """Checks, without changing anything, that the database has the present version."""
    if not inspect(connection).has_table(settings.name):
        raise InputError("This database holds no study", remedy="serve the study first")
    if (version := _version(connection)) < VERSION:
        problem = f"The database has schema version {version}, and reading it needs version {VERSION}"
        raise InputError(problem, remedy="serve the study once to upgrade it")


def _version(connection: Connection) -> int:
    """The version of an existing database; one of another program or of a newer Vantage is refused."""
    stored = connection.execute(settings.select().where(settings.c.key == "schema")).one_or_none()
    if stored is None or not stored.value.isdigit():
        raise InputError("The database was not created by vantage collect", remedy="choose another database")
    version = int(stored.value)
    if version < FIRST:
        problem = f"The database has schema version {version}, from before the first release"
        raise InputError(problem, remedy="begin the study anew, or export it with the Vantage that made it")
    if version > VERSION:
        raise InputError(
            f"The database has schema version {version}, but this Vantage supports up to version {VERSION}",
            remedy="update Vantage",
        )
    return version
