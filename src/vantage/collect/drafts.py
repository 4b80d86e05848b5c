"""Drafts: what a participant has chosen and typed on a page but not sent yet.

A draft is the content of a form, by the place of the form. It is replaced as the participant goes on, deleted when they
send the form, finish or withdraw, and never read as an answer: exports do not know this table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, String, bindparam, cast, delete, literal, select

from vantage.collect.tables import drafts, pages, submissions

Fields = Mapping[str, Sequence[str]]
LARGEST: Final = 400_000
"""Most characters of a draft: 24 reasons of maximal length, and more."""

_DROP = delete(drafts).where(drafts.c.participant == bindparam("who"), drafts.c.place == bindparam("where"))
_ITEM = "item/"
OF_PAGE: Final = (
    select(drafts.c.fields)
    .where(drafts.c.participant == pages.c.participant, drafts.c.place == literal(_ITEM) + cast(pages.c.id, String))
    .scalar_subquery()
)


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be kept of a form; without fields, nothing."""

    participant: int
    place: str
    fields: Fields
    token: str = ""
    """The token of the form: once it was sent, its draft comes too late."""
    page: int = 0


def store(connection: Connection, every: Sequence[Draft]) -> None:
    """Replaces the drafts of places; one that is too large is not kept."""
    forms = [draft for draft in every if draft.token]
    known = select(submissions.c.token).where(
        submissions.c.page.in_([draft.page for draft in forms]),
        submissions.c.token.in_([draft.token for draft in forms]),
    )
    sent = set(connection.execute(known).scalars()) if forms else ()
    kept = [draft for draft in every if draft.fields and draft.token not in sent]
    contents = [(draft, json.dumps(draft.fields, ensure_ascii=False)) for draft in kept]
    if contents:
        drop_places(connection, [(draft.participant, draft.place) for draft, _ in contents])
    rows = [
        {"participant": draft.participant, "place": draft.place, "fields": content, "at": time.time()}
        for draft, content in contents
        if len(content) <= LARGEST
    ]
    if rows:
        connection.execute(drafts.insert(), rows)


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


def drop_places(connection: Connection, places: Sequence[tuple[int, str]]) -> None:
    """Deletes drafts by participant and place."""
    connection.execute(_DROP, [{"who": participant, "where": place} for participant, place in places])


def item_place(page: int) -> str:
    """The place of a rating page."""
    return f"{_ITEM}{page}"
