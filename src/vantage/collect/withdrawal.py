"""What is deleted when somebody withdraws or declines, and the receipt for it.

A participant's rows are deleted in one transaction, then who they are, then the remains in the database's files. The
receipt says when that was done. A server that stops in between completes it when it starts again.
"""

from __future__ import annotations

import json
import secrets
import time
from typing import Any, Final

from sqlalchemy import Connection, func, select
from sqlalchemy.engine import Row

from vantage.collect import assignment, tables
from vantage.collect.private import LETTERS
from vantage.collect.tables import METADATA, pages, participants, receipts, submissions
from vantage.collect.views import Receipt

OWNED: Final = tuple(
    (table, column)
    for table in reversed(METADATA.sorted_tables)
    for column in table.columns
    if any(key.column in (pages.c.id, participants.c.number) for key in column.foreign_keys)
)
"""Every table whose rows belong to a participant or to one of their pages, dependants first."""
TABLES: Final = (*dict.fromkeys(table.name for table, _ in OWNED), participants.name)


def erase(connection: Connection, person: Row[Any]) -> None:
    """Deletes all that a participant has answered, and writes the receipt; their seats go to others."""
    own = select(pages.c.id).where(pages.c.participant == person.number)
    answers = select(func.count(submissions.c.page.distinct())).where(submissions.c.page.in_(own))
    deleted = {"pages": connection.execute(answers).scalar_one(), "traits": person.traits is not None}
    assignment.release(connection, person.number, ["open", "answered"], becomes="lapsed")
    for table, column in OWNED:
        of_page = any(key.column is pages.c.id for key in column.foreign_keys)
        connection.execute(table.delete().where(column.in_(own) if of_page else column == person.number))
    empty = {"lease": None, "traits": None, "state": "{}", "note": "", "rule": "", "answered": 0, "language": ""}
    tables.change(connection, person.number, stage="withdrawn", **empty)
    code = "".join(secrets.choice(LETTERS) for _ in range(10))
    receipt = {"code": code, "participant": person.number, "at": time.time(), "deleted": json.dumps(deleted)}
    connection.execute(receipts.insert(), receipt)
    tables.record(connection, "withdrawn", person.rater, receipt=code)


def anonymous(connection: Connection, person: Row[Any]) -> None:
    """Leaves of somebody who declined no more than that somebody did."""
    nobody = secrets.token_urlsafe(24)
    tables.change(connection, person.number, id=nobody, rater=f"declined-{nobody}", stage="declined", arrived_at=0.0)


def pending(connection: Connection) -> dict[str, str]:
    """Receipts whose deletion is not complete yet, with the rater."""
    query = select(receipts.c.code, participants.c.rater)
    query = query.join(participants, participants.c.number == receipts.c.participant)
    return {row.code: row.rater for row in connection.execute(query.where(receipts.c.purged_at.is_(None)))}


def receipt(connection: Connection, number: int) -> Receipt | None:
    """The receipt of a participant; null where nothing was deleted."""
    row = connection.execute(select(receipts).where(receipts.c.participant == number)).one_or_none()
    return None if row is None else Receipt(row.code, row.at, **json.loads(row.deleted), purged_at=row.purged_at)
