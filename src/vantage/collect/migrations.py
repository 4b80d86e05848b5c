"""What each new version of the schema changes in databases of the one before, written with Alembic's operations.

To change the schema, change `tables`, raise `tables.VERSION`, add the step here, and keep a dump of a database of the
old version under `tests/collect/schemas`: a test opens each and has Alembic compare the result with `tables`. Steps run
inside one transaction, on SQLite and PostgreSQL alike. The version stays among the settings, where every released
database and every backup has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations


def _to_5(op: Operations) -> None:
    """Participants have a language, and how answers were typed is no longer counted."""
    op.add_column("participants", sa.Column("language", sa.Text, nullable=False, server_default=""))
    op.drop_table("evidence")


STEPS: Final[Mapping[int, Callable[[Operations], None]]] = {5: _to_5}
"""The step that leads to each version."""


def upgrade(connection: sa.Connection, version: int, to: int) -> None:
    """Leads the tables from one version to another."""
    operations = Operations(MigrationContext.configure(connection))
    for number in range(version + 1, to + 1):
        STEPS[number](operations)
