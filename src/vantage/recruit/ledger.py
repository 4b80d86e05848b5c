"""The ledger of recruiting: what was asked of a platform and what became of it, in a table that is only added to.

An entry with the state `intent` is durable before the platform is called, and one with `done` follows when the platform
shows the result. A key has each state once, so that two processes cannot make the same payment. What was killed in
between is an intent without an end: the recruiter compares it with the platform before it does anything else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from vantage.collect.private import recruiting as entries
from vantage.collect.sql import SqlDatabase
from vantage.collect.tables import acting

Act = Literal["create", "publish", "top-up", "approve", "reject", "bonus", "stop", "accept", "event"]
State = Literal["intent", "paying", "done", "failed", "cancelled"]
"""`paying`: a bonus is set up, and the call that pays it is about to be made."""
ENDS: Final[tuple[State, ...]] = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class RecruitmentEntry:
    """One line of the ledger."""

    at: float
    act: Act
    key: str
    state: State
    study: str = ""
    submission: str = ""
    amount: int = 0
    """In the hundredth part of the currency."""
    currency: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


class RecruitmentLedger:
    """The ledger among the private tables of a study."""

    def __init__(self, database: SqlDatabase, by: str = "") -> None:
        self._database, self._by = database, by

    def note(self, act: Act, key: str, state: State, **more: Any) -> bool:
        """Adds an entry, durably; false where the key already has this state, and then nothing was added."""
        return self.note_all([RecruitmentEntry(time.time(), act, key, state, **more)])

    def note_all(self, new: Sequence[RecruitmentEntry]) -> bool:
        """Adds entries together; false where one of the keys already has this state, and then none was added."""
        by = acting(self._by)
        rows = [{**asdict(one), "detail": json.dumps({**one.detail, **by}, sort_keys=True)} for one in new]
        try:
            self._database.write(lambda connection: connection.execute(entries.insert(), rows).close())
        except IntegrityError:
            return False
        return True

    def all(self, *acts: Act) -> list[RecruitmentEntry]:
        """The entries in their order, all or those of some acts."""

        def job(connection: Connection) -> list[RecruitmentEntry]:
            query = select(entries).order_by(entries.c.id)
            rows = connection.execute(query.where(entries.c.act.in_(acts)) if acts else query)
            kept = [{**row, "detail": json.loads(row["detail"])} for row in rows.mappings()]
            return [RecruitmentEntry(**{name: row[name] for name in RecruitmentEntry.__slots__}) for row in kept]

        return self._database.read(job)

    def states(self, *acts: Act) -> dict[str, list[RecruitmentEntry]]:
        """The entries of each key, in their order."""
        by_key: dict[str, list[RecruitmentEntry]] = {}
        for entry in self.all(*acts):
            by_key.setdefault(entry.key, []).append(entry)
        return by_key

    def unfinished(self, *acts: Act) -> dict[str, RecruitmentEntry]:
        """The last entry of what was begun and has no end yet, by key."""
        return {key: entries[-1] for key, entries in self.states(*acts).items() if entries[-1].state not in ENDS}

    def end(self, entry: RecruitmentEntry, state: State, **detail: object) -> None:
        """Ends what an entry began."""
        self.note_all([replace(entry, at=time.time(), state=state, detail={**entry.detail, **detail})])

    def attempts(self, keys: Sequence[str]) -> list[str]:
        """The key of the present attempt at each payment: the first that has not failed and was not cancelled."""
        known, present = self.states(), []
        for key in keys:
            tried, number = key, 1
            while tried in known and known[tried][-1].state in ("failed", "cancelled"):
                number += 1
                tried = f"{key}#{number}"
            present.append(tried)
        return present

    def last(self, *acts: Act) -> RecruitmentEntry | None:
        """The last entry that is done, of some acts."""
        return next((entry for entry in reversed(self.all(*acts)) if entry.state == "done"), None)
