"""The participants of a study as a recruiter needs them: by platform id, and with the seats they hold.

This is the only module of recruiting that reads the tables of `collect`.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from vantage.collect import assignment
from vantage.collect.flow_checks import people_needed
from vantage.collect.service import StudyService
from vantage.collect.tables import participants


@dataclass(frozen=True, slots=True)
class Person:
    """A participant whom a platform sent."""

    number: int
    rater: str
    platform_id: str
    stage: str
    verdict: str
    why: str
    """The rule or the note behind the verdict."""
    seated: bool
    minutes: float | None
    """From arriving to finishing; null for others than those who finished."""


def people_by_id(service: StudyService) -> dict[str, Person]:
    """The participants whom Prolific sent, by their id there: a link may name a submission that is not theirs."""
    own = select(participants).where(participants.c.source == "prolific")
    rows = service.database.read(lambda connection: connection.execute(own).all())
    by_rater = {row.rater: row for row in rows}
    return {
        known["external"]: Person(
            number=row.number,
            rater=row.rater,
            platform_id=known["external"],
            stage=row.stage,
            verdict=row.verdict,
            why=row.rule or row.note,
            seated=row.batch > 0,
            minutes=None if row.finished_at is None else (row.finished_at - row.arrived_at) / 60,
        )
        for known in service.database.private.identities()
        if (row := by_rater.get(known["rater"])) is not None
    }


def free_seats(service: StudyService, number: int) -> None:
    """Gives a participant's unanswered pages to others at once."""

    def job(connection: Connection) -> None:
        own = (participants.c.number == number, participants.c.lease.is_not(None))
        connection.execute(update(participants).where(*own).values(lease=0.0))
        assignment.sweep(connection, time.time())

    service.database.write(job)


def failed_checks(service: StudyService) -> dict[str, str]:
    """Raters who failed more checks than the study allows, with what they failed.

    Other flags, such as agreeing little with others, are no reason to withhold pay.
    """
    known = service.researchers.raters(now=True)
    rows = {row.rater: [flag for flag in row.flags if flag.startswith("failed ")] for row in known}
    return {rater: "; ".join(flags) for rater, flags in rows.items() if flags}


def open_batches(service: StudyService) -> int:
    """How many batches the free seats take; in a flow, one of every block that a participant goes through."""
    study, arms = service.study, service.database.batches.arms
    free = Counter[str]()
    for arm in service.researchers.overview().arms:
        free[arm.block] += arm.free
    return people_needed(study.plan, study.blocks, {b.id: arms[b.first_arm].pool for b in study.blocks}, free)
