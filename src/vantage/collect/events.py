"""What happened in a study, when and to whom: an append-only log, under the raters' pseudonyms.

Events hold no answers and no platform ids, so they stay when a participant withdraws. Submissions and reviews are
append-only tables of their own; `log` puts all three in one order.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection, select, text

from vantage.collect.tables import events, pages, participants, reviews, submissions

COLUMNS: Final[dict[str, Any]] = {"at": pl.Datetime("ms"), "event": pl.String, "rater": pl.String, "detail": pl.String}
_WORDING = text("INSERT INTO wordings (sha256, text) VALUES (:sha256, :text) ON CONFLICT DO NOTHING")


def record(connection: Connection, kind: str, rater: str | None = None, **detail: object) -> None:
    """Appends an event, inside the transaction of what happened."""
    row = {"at": time.time(), "kind": kind, "rater": rater, "detail": json.dumps(detail, ensure_ascii=False)}
    connection.execute(events.insert(), row)


def store_wording(connection: Connection, wording: str) -> str:
    """Stores a text once; its SHA-256."""
    digest = hashlib.sha256(wording.encode()).hexdigest()
    connection.execute(_WORDING, {"sha256": digest, "text": wording})
    return digest


def log(connection: Connection) -> pl.DataFrame:
    """Everything that happened, in order (UTC): events, decisions, and every revision of every submission."""
    rows = [(row.at, row.kind, row.rater, row.detail) for row in connection.execute(select(events))]
    decided = select(reviews, participants.c.rater).join(participants, participants.c.number == reviews.c.participant)
    for row in connection.execute(decided):
        detail = json.dumps({"rule": row.rule, "reason": row.note}, ensure_ascii=False)
        rows.append((row.at, row.verdict, row.rater, detail))
    saved = (
        select(submissions.c.at, submissions.c.revision, submissions.c.page, participants.c.rater)
        .join(pages, pages.c.id == submissions.c.page)
        .join(participants, participants.c.number == pages.c.participant)
    )
    rows += [
        (row.at, "submitted", row.rater, json.dumps({"page": row.page, "revision": row.revision}))
        for row in connection.execute(saved)
    ]
    rows.sort(key=lambda row: row[0])
    return pl.DataFrame(
        [(round(at * 1000), *rest) for at, *rest in rows], schema={**COLUMNS, "at": pl.Int64}, orient="row"
    ).with_columns(pl.col("at").cast(COLUMNS["at"]))
