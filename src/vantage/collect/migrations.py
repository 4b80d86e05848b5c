"""What each version of the schema changes in a database of the one before, written with Alembic's operations.

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
    """Participants have a language."""
    op.add_column("participants", sa.Column("language", sa.Text, nullable=False, server_default=""))


def _to_6(op: Operations) -> None:
    """How answers are typed is counted, where the consent says so. Version 4 had this table, version 5 did not."""
    if not sa.inspect(op.get_bind()).has_table("evidence"):
        page = sa.BigInteger().with_variant(sa.Integer, "sqlite")
        op.create_table(
            "evidence",
            sa.Column("page", page, sa.ForeignKey("pages.id"), primary_key=True),
            sa.Column("revision", sa.Integer, primary_key=True),
            sa.Column("counts", sa.Text, nullable=False),
        )


STEPS: Final[Mapping[int, Callable[[Operations], None]]] = {5: _to_5, 6: _to_6}


def upgrade(connection: sa.Connection, version: int, to: int) -> None:
    """Migrates the tables from one version to another."""
    operations = Operations(MigrationContext.configure(connection))
    for number in range(version + 1, to + 1):
        STEPS[number](operations)
