"""Drafts: what a participant has chosen and typed on a page but not sent yet.

A draft is the content of a form, by the place of the form. It is replaced as the participant goes on, deleted when they
send the form, finish or withdraw, and never read as an answer: exports do not know this table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, String, bindparam, cast, delete, literal, select

from vantage.collect.tables import drafts, pages

Fields = Mapping[str, Sequence[str]]
LARGEST: Final = 400_000
"""Most characters of a draft: 24 reasons of maximal length, and more."""

DROP: Final = delete(drafts).where(drafts.c.participant == bindparam("who"), drafts.c.place == bindparam("where"))
_ITEM = "item/"
OF_PAGE: Final = (
    select(drafts.c.fields)
    .where(drafts.c.participant == pages.c.participant, drafts.c.place == literal(_ITEM) + cast(pages.c.id, String))
    .scalar_subquery()
)


def store(connection: Connection, participant: int, place: str, fields: Fields) -> None:
    """Replaces the draft of a place; one that is too large is not kept."""
    content = json.dumps(fields, ensure_ascii=False)
    connection.execute(DROP, {"who": participant, "where": place})
    if len(content) <= LARGEST:
        row = {"participant": participant, "place": place, "fields": content, "at": time.time()}
        connection.execute(drafts.insert(), row)


def read(connection: Connection, participant: int, place: str) -> dict[str, list[str]]:
    """The draft of a place; empty where there is none."""
    query = select(drafts.c.fields).where(drafts.c.participant == participant, drafts.c.place == place)
    return decoded(connection.execute(query).scalar_one_or_none())


def decoded(content: str | None) -> dict[str, list[str]]:
    """A draft as stored; empty where there is none."""
    fields: dict[str, list[str]] = json.loads(content) if content else {}
    return fields


def drop(connection: Connection, participant: int) -> None:
    """Deletes all drafts of a participant."""
    connection.execute(delete(drafts).where(drafts.c.participant == participant))


def item_place(page: int) -> str:
    """The place of a rating page."""
    return f"{_ITEM}{page}"
