"""The tables of an annotation database, the same on SQLite and PostgreSQL.

`submissions` is append-only: every version of every answer stays. What counts now is the submission whose
revision the page carries. A page holds a seat (see `seats`) for as long as its rating counts towards what the
study wants; the database itself refuses a seat that is held twice and an item that one person meets twice.
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
"""The items by their row in the corpus, with the fields that are shown, as JSON."""

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
"""One condition with one set of questions: how many seats it has, the next new one, how many were given back."""

returned: Final = Table(
    "returned",
    METADATA,
    Column("arm", Integer, primary_key=True),
    Column("seat", BigInteger, primary_key=True),
    Column("row", BigInteger, nullable=False),
    Index("returned_row", "arm", "row"),
)
"""Seats that were given back, or passed over, and wait for somebody."""

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
    UniqueConstraint("source", "external", name="participants_external"),
    Index("participants_lease", "lease"),
)
"""Who takes part. `id` is secret, `rater` the pseudonym.

`lease` is when reserved work goes to others; null when none is reserved. `pages` and `answered` count the pages
of the present batch, so that nobody has to count them on every page.
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
    UniqueConstraint("participant", "batch", "position", name="pages_position"),
    UniqueConstraint("participant", "row", name="pages_item_once"),
    UniqueConstraint("arm", "seat", name="pages_seat_once"),
    Index("pages_row", "row"),
    Index("pages_next", "participant", "batch", "state", "position"),
)
"""One page of one participant: an item, an attention check or a gold item; open, answered or lapsed."""

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
"""Every submission of a page with its answers as JSON: {question: [value, status, rationale]}."""

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
"""Every decision of the researcher about a participant; the last one counts."""
