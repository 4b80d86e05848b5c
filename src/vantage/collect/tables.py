"""The tables of an annotation database, the same on SQLite and PostgreSQL.

`submissions` is append-only: every version of every answer stays, and the one whose revision the page names is current.
A page holds a seat (see `allocation`) as long as its rating counts; the database refuses a seat that is held twice and
an item that is shown twice to one participant, unless the study says so.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text, UniqueConstraint

METADATA: Final = MetaData()
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
    Column("seats", BigInteger, nullable=False),
    Column("next_seat", BigInteger, nullable=False),
    Column("returned", BigInteger, nullable=False),
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
    Column("links", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("question_set", Integer),
    Column("arm", Integer),
    Column("batch", Integer, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("answered", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("traits", Text),
    Column("lease", Float),
    Column("arrived_at", Float, nullable=False),
    Column("finished_at", Float),
    Column("verdict", Text, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
    Column("route", Text),
    Column("place", Integer),
    Column("state", Text, nullable=False, server_default="{}"),
    Column("deadline", Float),
    UniqueConstraint("source", "external", name="participants_external"),
    Index("participants_lease", "lease"),
)
"""`id` is secret, `rater` the pseudonym.

`lease` is when the reservation expires; null when nothing is reserved. `pages` and `answered` count the pages of the
current batch, so that they need not be counted on every page. `route` holds the numbers of the participant's phases in
their order, as JSON, and `place` an index into it; both are null before consent. `state` is what phases store,
`deadline` when the time for the current block is over.
"""

pages: Final = Table(
    "pages",
    METADATA,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("participant", ForeignKey("participants.number"), nullable=False),
    Column("batch", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("row", BigInteger),
    Column("condition", Text, nullable=False),
    Column("check", Text, nullable=False),
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
    Column("token", Text, nullable=False),
    Column("answers", Text, nullable=False),
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
    Column("verdict", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("at", Float, nullable=False),
)
"""Every decision of the researcher about a participant; the latest counts."""

quota_places: Final = Table(
    "quota_places",
    METADATA,
    Column("participant", ForeignKey("participants.number"), primary_key=True),
    Column("trait", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Index("quota_places_value", "trait", "value"),
)
"""The places that participants hold in quotas."""
