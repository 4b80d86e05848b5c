"""The tables of an annotation database, the same on SQLite and PostgreSQL.

`submissions` is append-only: every version of every answer stays, and the one whose revision the page names is current.
A page holds a seat (see `assignment`) as long as its rating counts; the database refuses a seat that is held twice and
an item that is shown twice to one participant, unless the study says so.

To change the schema, change the tables and raise `VERSION`: missing tables and columns are added, in one transaction. A
new column of an old table is nullable or has a server default.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    event,
    inspect,
)
from sqlalchemy.schema import CreateColumn
from sqlalchemy.types import TypeEngine

from vantage.errors import InputError

METADATA: Final = MetaData()


def filled(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    """Columns of one type that are never empty."""
    return [Column(name, kind, nullable=False) for name in names]


_Number: Final = BigInteger().with_variant(Integer, "sqlite")

settings: Final = Table(
    "settings",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
"""The version of the schema, the study file, its instrument, secrets, and whether the study is paused."""

items: Final = Table(
    "items",
    METADATA,
    Column("row", _Number, primary_key=True, autoincrement=False),
    Column("item", Text, nullable=False, unique=True),
    Column("record", Text, nullable=False),
)
"""The items by their row in the corpus, with the fields shown, as JSON."""

arms: Final = Table(
    "arms",
    METADATA,
    Column("arm", Integer, primary_key=True, autoincrement=False),
    Column("condition", Text, nullable=False),
    Column("question_set", Integer, nullable=False),
    *filled(BigInteger, "seats", "next_seat", "returned"),
)
"""One condition with one set of questions: its number of seats, the next new one, and how many were returned."""

returned: Final = Table(
    "returned",
    METADATA,
    Column("arm", Integer, primary_key=True),
    Column("seat", BigInteger, primary_key=True),
    Column("row", BigInteger, nullable=False),
    Index("returned_row", "arm", "row"),
)
"""Seats that were returned or skipped and can be reserved again."""

participants: Final = Table(
    "participants",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("rater", Text, nullable=False, unique=True),
    Column("source", Text, nullable=False),
    Column("external", Text),
    *filled(Text, "links", "stage"),
    Column("question_set", Integer),
    Column("arm", Integer),
    *filled(Integer, "batch", "pages", "answered", "attempts"),
    Column("traits", Text),
    Column("lease", Float),
    Column("arrived_at", Float, nullable=False),
    Column("finished_at", Float),
    Column("verdict", Text, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
    Column("rule", Text, nullable=False, server_default=""),
    Column("consented_at", Float),
    Column("wording", Text),
    Column("route", Text),
    Column("place", Integer),
    Column("state", Text, nullable=False, server_default="{}"),
    Column("deadline", Float),
    UniqueConstraint("source", "external", name="participants_external"),
    Index("participants_lease", "lease"),
)
"""`id` is secret, `rater` the pseudonym, from which a person is recognised.

`external` and `links` are empty: platform ids are stored elsewhere (see `private`). `rule` and `note` explain the
verdict. `wording` is the SHA-256 of the text that the participant agreed to. `lease` is when the reservation expires;
null when nothing is reserved. `pages` and `answered` count the pages of the current batch, so that they need not be
counted on every page. `route` holds the numbers of the participant's phases in their order, as JSON, and `place` an
index into it; both are null before consent. `state` is what phases store, `deadline` when the time for the current
block is over.
"""

pages: Final = Table(
    "pages",
    METADATA,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("participant", ForeignKey("participants.number"), nullable=False),
    *filled(Integer, "batch", "position"),
    Column("kind", Text, nullable=False),
    Column("row", BigInteger),
    *filled(Text, "condition", "check"),
    Column("arm", Integer),
    Column("seat", BigInteger),
    Column("state", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("occasion", Integer, nullable=False, server_default="0"),
    Column("question_set", Integer),
    Column("shown_at", Float),
    UniqueConstraint("participant", "batch", "position", name="pages_position"),
    UniqueConstraint("participant", "row", "occasion", name="pages_item_once"),
    UniqueConstraint("arm", "seat", name="pages_seat_once"),
    Index("pages_row", "row"),
    Index("pages_next", "participant", "batch", "state", "position"),
)
"""One page of one participant: an item, an attention check or a gold item; open, answered or lapsed.

`occasion` counts how often the participant has seen the item before. `question_set` is null on pages of studies that
began before there were blocks. `shown_at` is set where pages have a time limit.
"""

submissions: Final = Table(
    "submissions",
    METADATA,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("page", ForeignKey("pages.id"), nullable=False),
    Column("revision", Integer, nullable=False),
    *filled(Text, "token", "answers"),
    Column("seconds", Float),
    Column("at", Float, nullable=False),
    UniqueConstraint("page", "revision", name="submissions_revision"),
    UniqueConstraint("page", "token", name="submissions_token"),
)
"""Every submission of a page with its answers as JSON: {question: [value, status, rationale]}.

Where the study decides how questions are put, the presentation stands behind the rationale.
"""

invitations: Final = Table(
    "invitations",
    METADATA,
    Column("token", Text, primary_key=True),
    Column("note", Text, nullable=False),
    Column("made_at", Float, nullable=False),
)

reviews: Final = Table(
    "reviews",
    METADATA,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("participant", ForeignKey("participants.number"), nullable=False),
    *filled(Text, "verdict", "note"),
    Column("at", Float, nullable=False),
    Column("rule", Text, nullable=False, server_default=""),
    Column("decided_by", Text, nullable=False, server_default="researcher"),
)
"""Every decision about a participant, by a `researcher` or by a `rule`; the latest counts."""

quota_places: Final = Table(
    "quota_places",
    METADATA,
    Column("participant", ForeignKey("participants.number"), primary_key=True),
    Column("trait", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Index("quota_places_value", "trait", "value"),
)
"""The places that participants hold in quotas."""

drafts: Final = Table(
    "drafts",
    METADATA,
    Column("participant", ForeignKey("participants.number"), primary_key=True),
    Column("place", Text, primary_key=True),
    Column("fields", Text, nullable=False),
    Column("at", Float, nullable=False),
)
"""Forms that were filled in and not sent yet, as JSON: {input: [values]}; never part of an export."""

wordings: Final = Table(
    "wordings",
    METADATA,
    Column("sha256", Text, primary_key=True),
    Column("text", Text, nullable=False),
)
"""Texts that participants agreed to or worked by, each once."""

receipts: Final = Table(
    "receipts",
    METADATA,
    Column("code", Text, primary_key=True),
    Column("participant", BigInteger, nullable=False, unique=True),
    Column("at", Float, nullable=False),
    Column("deleted", Text, nullable=False),
    Column("purged_at", Float),
)
"""What was deleted for a participant who withdrew, as JSON, and when the last remains of it were removed."""

events: Final = Table(
    "events",
    METADATA,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("kind", Text, nullable=False),
    Column("rater", Text),
    Column("detail", Text, nullable=False),
)
"""What happened, append-only; submissions and reviews have their own times (see `events.log`)."""

for _ddl, _dialect in (
    ("CREATE TRIGGER events_no_{0} BEFORE {0} ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END", "sqlite"),
    (
        "CREATE OR REPLACE FUNCTION events_fixed() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'append-only'; END $$;"
        "CREATE TRIGGER events_no_{0} BEFORE {0} ON events EXECUTE FUNCTION events_fixed()",
        "postgresql",
    ),
):
    for _change in ("UPDATE", "DELETE"):
        event.listen(events, "after_create", DDL(_ddl.format(_change)).execute_if(dialect=_dialect))  # type: ignore[no-untyped-call]


evidence: Final = Table(
    "evidence",
    METADATA,
    Column("page", ForeignKey("pages.id"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("counts", Text, nullable=False),
)
"""How the answers of a submission were typed, as JSON, where the consent says so."""

PERSONAL: Final = (
    *(participants.c.traits, participants.c.state, participants.c.note),
    *(submissions.c.answers, drafts.c.fields, evidence.c.counts),
)
"""Columns that hold what participants said."""


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
