"""The tables of an annotation database, the same on SQLite and PostgreSQL.

`submissions` is append-only: every version of every answer stays, and the one whose revision the page names is current.
A page holds a seat (see `assignment`) as long as its rating counts; the database refuses a seat that is held twice and
an item that is shown twice to one participant, unless the study says so.

To change the schema, see `migrations`.

`events` is an append-only log under the raters' pseudonyms. Events hold no answers and no platform ids, so they stay
when a participant withdraws.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from vantage.errors import InputError


class Tables(sa.MetaData):
    """The tables of one database."""

    def table(self, name: str, *parts: SchemaItem) -> sa.Table:
        """A new table among them."""
        return sa.Table(name, self, *parts)


METADATA: Final = Tables()


def columns(
    kind: type[TypeEngine[Any]], *names: str, nullable: bool = False, default: str | None = None
) -> list[sa.Column[Any]]:
    """Columns of one type, which are never empty unless they are `nullable`."""
    return [sa.Column(name, kind, nullable=nullable, server_default=default) for name in names]


_Number: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")

settings: Final = METADATA.table("settings", sa.Column("key", sa.Text, primary_key=True), *columns(sa.Text, "value"))
"""The version of the schema, the study file, its instrument, secrets, and whether the study is paused."""

items: Final = METADATA.table(
    "items",
    sa.Column("row", _Number, primary_key=True, autoincrement=False),
    sa.Column("item", sa.Text, nullable=False, unique=True),
    sa.Column("record", sa.Text, nullable=False),
)
"""The items by their row in the corpus, with the fields shown, as JSON."""

arms: Final = METADATA.table(
    "arms",
    sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
    *columns(sa.Text, "condition"),
    *columns(sa.Integer, "question_set"),
    *columns(sa.BigInteger, "seats", "next_seat", "returned"),
)
"""One condition with one set of questions: its number of seats, the next new one, and how many were returned."""

returned: Final = METADATA.table(
    "returned",
    sa.Column("arm", sa.Integer, primary_key=True),
    sa.Column("seat", sa.BigInteger, primary_key=True),
    sa.Column("row", sa.BigInteger, nullable=False),
    sa.Index("returned_row", "arm", "row"),
)
"""Seats that were returned or skipped and can be reserved again."""

participants: Final = METADATA.table(
    "participants",
    sa.Column("number", _Number, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("rater", sa.Text, nullable=False, unique=True),
    *columns(sa.Text, "source", "links", "stage", "verdict"),
    *columns(sa.Text, "note", "rule", "language", default=""),
    *columns(sa.Text, "state", default="{}"),
    *columns(sa.Text, "external", "traits", "wording", "route", nullable=True),
    *columns(sa.Integer, "batch", "pages", "answered", "attempts"),
    *columns(sa.Integer, "question_set", "arm", "place", nullable=True),
    *columns(sa.Float, "arrived_at"),
    *columns(sa.Float, "consented_at", "lease", "deadline", "finished_at", nullable=True),
    sa.UniqueConstraint("source", "external", name="participants_external"),
    sa.Index("participants_lease", "lease"),
)
"""`id` is secret, `rater` the pseudonym, from which a person is recognised.

`external` and `links` are empty: platform ids are stored elsewhere (see `private`). `rule` and `note` explain the
verdict. `wording` is the SHA-256 of the text that the participant agreed to. `lease` is when the reservation expires;
null when nothing is reserved. `pages` and `answered` count the pages of the current batch, so that they need not be
counted on every page. `route` holds the numbers of the participant's phases in their order, as JSON, and `place` an
index into it; both are null before consent. `state` is what phases store, `deadline` when the time for the current
block is over. `language` is that of the content, where there are several.
"""

pages: Final = METADATA.table(
    "pages",
    sa.Column("id", _Number, primary_key=True, autoincrement=True),
    sa.Column("participant", sa.ForeignKey("participants.number"), nullable=False),
    *columns(sa.Text, "kind", "condition", "check", "state"),
    *columns(sa.Integer, "batch", "position", "revision"),
    *columns(sa.Integer, "occasion", default="0"),
    *columns(sa.Integer, "arm", "question_set", nullable=True),
    *columns(sa.BigInteger, "row", "seat", nullable=True),
    sa.Column("shown_at", sa.Float),
    sa.UniqueConstraint("participant", "batch", "position", name="pages_position"),
    sa.UniqueConstraint("participant", "row", "occasion", name="pages_item_once"),
    sa.UniqueConstraint("arm", "seat", name="pages_seat_once"),
    sa.Index("pages_row", "row"),
    sa.Index("pages_next", "participant", "batch", "state", "position"),
)
"""One page of one participant: an item, an attention check or a gold item; open, answered or lapsed.

`occasion` counts how often the participant has seen the item before. `shown_at` is set where pages have a time limit.
"""

submissions: Final = METADATA.table(
    "submissions",
    sa.Column("id", _Number, primary_key=True, autoincrement=True),
    sa.Column("page", sa.ForeignKey("pages.id"), nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    *columns(sa.Text, "token", "answers"),
    sa.Column("seconds", sa.Float),
    sa.Column("at", sa.Float, nullable=False),
    sa.UniqueConstraint("page", "revision", name="submissions_revision"),
    sa.UniqueConstraint("page", "token", name="submissions_token"),
)
"""Every submission of a page with its answers as JSON: {question: [value, status, rationale]}.

Where the study decides how questions are put, the presentation stands behind the rationale.
"""

invitations: Final = METADATA.table(
    "invitations",
    sa.Column("token", sa.Text, primary_key=True),
    *columns(sa.Text, "note"),
    *columns(sa.Float, "made_at"),
)

reviews: Final = METADATA.table(
    "reviews",
    sa.Column("id", _Number, primary_key=True, autoincrement=True),
    sa.Column("participant", sa.ForeignKey("participants.number"), nullable=False),
    *columns(sa.Text, "verdict", "note"),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("rule", sa.Text, nullable=False, server_default=""),
    sa.Column("decided_by", sa.Text, nullable=False, server_default="researcher"),
)
"""Every decision about a participant, by a `researcher` or by a `rule`; the latest counts."""

quota_places: Final = METADATA.table(
    "quota_places",
    sa.Column("participant", sa.ForeignKey("participants.number"), primary_key=True),
    sa.Column("trait", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Index("quota_places_value", "trait", "value"),
)
"""The places that participants hold in quotas."""

drafts: Final = METADATA.table(
    "drafts",
    sa.Column("participant", sa.ForeignKey("participants.number"), primary_key=True),
    sa.Column("place", sa.Text, primary_key=True),
    sa.Column("fields", sa.Text, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)
"""Forms that were filled in and not sent yet, as JSON: {input: [values]}; never part of an export."""

wordings: Final = METADATA.table("wordings", sa.Column("sha256", sa.Text, primary_key=True), *columns(sa.Text, "text"))
"""Texts that participants agreed to or worked by, each once."""

receipts: Final = METADATA.table(
    "receipts",
    sa.Column("code", sa.Text, primary_key=True),
    sa.Column("participant", sa.BigInteger, nullable=False, unique=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("deleted", sa.Text, nullable=False),
    sa.Column("purged_at", sa.Float),
)
"""What was deleted for a participant who withdrew, as JSON, and when the last remains of it were removed."""

events: Final = METADATA.table(
    "events",
    sa.Column("id", _Number, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("rater", sa.Text),
    sa.Column("detail", sa.Text, nullable=False),
)
"""What happened, append-only; submissions and reviews have their own times (see `progress.log`)."""

evidence: Final = METADATA.table(
    "evidence",
    sa.Column("page", sa.ForeignKey("pages.id"), primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True),
    sa.Column("counts", sa.Text, nullable=False),
)
"""How the answers of a submission were typed, as JSON, where the consent says so."""

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
        sa.event.listen(events, "after_create", sa.DDL(_ddl.format(_change)).execute_if(dialect=_dialect))  # type: ignore[no-untyped-call]


PERSONAL: Final = (
    *(participants.c.traits, participants.c.state, participants.c.note),
    *(submissions.c.answers, drafts.c.fields, evidence.c.counts),
)
"""Columns that hold what participants said."""

VERSION: Final = 6
FIRST: Final = 4
"""The first version that was released; databases that are older cannot be read."""
_WORDING = sa.text("INSERT INTO wordings (sha256, text) VALUES (:sha256, :text) ON CONFLICT DO NOTHING")


def read_setting(connection: sa.Connection, key: str, table: sa.Table = settings) -> str | None:
    """A setting, or null."""
    value: str | None = connection.execute(sa.select(table.c.value).where(table.c.key == key)).scalar_one_or_none()
    return value


def write_setting(connection: sa.Connection, key: str, value: str, table: sa.Table = settings) -> None:
    """Changes a setting."""
    changed = connection.execute(table.update().where(table.c.key == key).values(value=value))
    if not changed.rowcount:
        connection.execute(table.insert(), {"key": key, "value": value})


def change(connection: sa.Connection, number: int, **values: Any) -> None:
    """Changes columns of a participant."""
    connection.execute(participants.update().where(participants.c.number == number).values(**values))


def record(connection: sa.Connection, kind: str, rater: str | None = None, **detail: object) -> None:
    """Appends an event, inside the transaction of what happened."""
    row = {"at": time.time(), "kind": kind, "rater": rater, "detail": json.dumps(detail, ensure_ascii=False)}
    connection.execute(events.insert(), row)


def acting(researcher: str) -> dict[str, str]:
    """The detail of an event that says which researcher acted, where that is known."""
    return {"by": researcher} if researcher else {}


def store_wording(connection: sa.Connection, wording: str) -> str:
    """Stores a text once; its SHA-256."""
    digest = hashlib.sha256(wording.encode()).hexdigest()
    connection.execute(_WORDING, {"sha256": digest, "text": wording})
    return digest


def prepare(connection: sa.Connection) -> bool:
    """Creates or upgrades the tables, inside a transaction; true for a new database."""
    if connection.dialect.name == "postgresql":
        # Workers that start together wait here for the first one.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7263514902)")
    new = not sa.inspect(connection).has_table(settings.name)
    if new:
        METADATA.create_all(connection)
    elif (version := _version(connection)) < VERSION:
        from vantage.collect.migrations import upgrade

        upgrade(connection, version, VERSION)
    else:
        return False
    keep_out_of_statistics(connection, PERSONAL)
    write_setting(connection, "schema", str(VERSION))
    return new


def keep_out_of_statistics(connection: sa.Connection, columns: Iterable[sa.Column[Any]]) -> None:
    """Keeps PostgreSQL from copying frequent values into its statistics, from which no deletion would remove them."""
    if connection.dialect.name == "postgresql":
        for column in columns:
            connection.exec_driver_sql(f'ALTER TABLE {column.table.name} ALTER COLUMN "{column.name}" SET STATISTICS 0')


def require_current(connection: sa.Connection) -> None:
    """Checks, without changing anything, that the database has the present version."""
    if not sa.inspect(connection).has_table(settings.name):
        raise InputError("This database holds no study", remedy="serve the study first")
    if (version := _version(connection)) < VERSION:
        problem = f"The database has schema version {version}, and reading it needs version {VERSION}"
        raise InputError(problem, remedy="serve the study once to upgrade it")


def _version(connection: sa.Connection) -> int:
    """The version of an existing database; one of another program or of a newer Vantage is refused."""
    stored = read_setting(connection, "schema")
    if stored is None or not stored.isdigit():
        raise InputError("The database was not created by vantage collect", remedy="choose another database")
    version = int(stored)
    if version < FIRST:
        problem = f"The database has schema version {version}, from before the first release"
        raise InputError(problem, remedy="start a new study, or export it with the Vantage that made it")
    if version > VERSION:
        problem = f"The database has schema version {version}, but this Vantage supports up to version {VERSION}"
        raise InputError(problem, remedy="update Vantage")
    return version
