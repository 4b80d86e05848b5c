"""The researcher's side of the desk: progress, quality, verdicts, items, invitations, export."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import polars as pl
from sqlalchemy import Connection, and_, func, select, update

from vantage.collect import assignment, export, progress, quality
from vantage.collect.answers import cleaned
from vantage.collect.opened import Opened
from vantage.collect.opening import read_setting, write_setting
from vantage.collect.pseudonyms import password_hash, password_matches
from vantage.collect.study import Study
from vantage.collect.tables import invitations, pages, participants, reviews, submissions
from vantage.collect.views import Invitation, ItemAnswers, ItemLine, Overview, RaterRow, Refused, Verdict
from vantage.corpora import Corpus
from vantage.errors import InputError

T = TypeVar("T")
QUICK: Final = 0.2
PATIENCE: Final = 20
"""What took longer than `QUICK` seconds is computed again after so many times that long."""


class Office(Opened):
    """What the researcher can do."""

    def __init__(self, study: Study, database: str | None = None) -> None:
        super().__init__(study, database)
        self._known: dict[str, _Known] = {}
        self._computing = threading.RLock()

    def has_password(self) -> bool:
        """Whether an admin password has been set."""
        return bool(self.store.read(lambda c: read_setting(c, "password")))

    def set_password(self, password: str) -> None:
        """Stores the hash of the admin password."""
        if len(password) < 8:
            raise InputError("the password is too short", remedy="use at least 8 characters")
        hashed = password_hash(password)
        self.store.write(lambda c: write_setting(c, "password", hashed))

    def password_stamp(self) -> str:
        """Something that changes with the admin password, so that sessions end when it does."""
        stored = self.store.read(lambda c: read_setting(c, "password"))
        return hashlib.sha256((stored or "").encode()).hexdigest()[:16]

    def password_matches(self, password: str) -> bool:
        """Whether this is the admin password; slow on purpose, so rate-limit it and keep it off the event loop."""
        stored = self.store.read(lambda c: read_setting(c, "password"))
        return stored is not None and password_matches(password, stored)

    def overview(self) -> Overview:
        """How the study stands."""
        flagged = sum(1 for row in self.raters() if row.flags and row.verdict == "pending")
        return self.store.read(lambda c: progress.overview(c, self.study, flagged, self._is_paused(c)))

    def reliability(self) -> pl.DataFrame:
        """Agreement by question and condition with intervals; see `quality.reliability`.

        Excluded raters are left out. Computed anew only when answers or verdicts have changed.
        """
        return self._fresh("reliability", lambda: quality.reliability(self.study, quality.kept(self._collected())))

    def raters(self) -> list[RaterRow]:
        """Per-rater quality, those to look at first. Computed anew only when something has changed."""

        def compute() -> list[RaterRow]:
            counts = select(pages.c.participant, func.count()).where(pages.c.position > 0, pages.c.state != "lapsed")
            found = self.store.read(lambda c: c.execute(counts.group_by(pages.c.participant)).all())
            return quality.rater_rows(
                self.study, self._collected(), {one.participant: one[1] for one in found}, self._secret
            )

        return self._fresh("raters", compute)

    def judge_rater(self, rater: str, verdict: Verdict, note: str = "") -> None:
        """Approves, excludes or reopens ('pending') a rater, by pseudonym.

        Exclusion gives the rater's ratings to others to make again; the excluded ones stay, marked, in the export.
        Reopening takes them back, as far as nobody else has them by then.
        """
        note = cleaned(note)[:1000]

        def job(connection: Connection) -> None:
            person = connection.execute(
                select(participants).where(participants.c.rater == rater).with_for_update()
            ).one_or_none()
            if person is None:
                raise Refused(f"There is no rater '{rater}'.", "unknown")
            if verdict == "excluded":
                assignment.release(connection, person.number, ["answered"])
                assignment.release(connection, person.number, ["open"], becomes="lapsed")
            elif person.verdict == "excluded":
                mine = (pages.c.participant == person.number, pages.c.state == "answered", pages.c.kind == "item")
                for page in connection.execute(select(pages).where(*mine, pages.c.seat.is_(None))).all():
                    assignment.reclaim(connection, page.id, page.arm, page.row)
            # Somebody still at work takes the open pages up again when they come back.
            lease = None if verdict == "excluded" else person.lease
            mine_ = participants.c.number == person.number
            connection.execute(update(participants).where(mine_).values(verdict=verdict, note=note, lease=lease))
            told = {"participant": person.number, "verdict": verdict, "note": note, "at": time.time()}
            connection.execute(reviews.insert(), told)

        self.store.write(job)

    def items(self, start: int = 0, count: int = 50, find: str = "") -> list[ItemLine]:
        """A stretch of the items, or those whose id starts with `find`."""
        return self.store.read(lambda c: progress.item_lines(c, start, count, find))

    def item(self, item: str) -> ItemAnswers:
        """An item with the distribution of its answers and the rationales."""
        return self.store.read(lambda c: progress.item_answers(c, self.study, item))

    def invite(self, count: int, note: str = "") -> list[Invitation]:
        """New invitations."""
        if not 1 <= count <= 10_000:
            raise InputError(f"{count} invitations cannot be made", remedy="ask for 1 to 10,000")
        note = cleaned(note)[:200]
        made = [{"token": secrets.token_urlsafe(16), "note": note, "made_at": time.time()} for _ in range(count)]
        self.store.write(lambda c: c.execute(invitations.insert(), made).close())
        return [Invitation(str(one["token"]), note) for one in made]

    def invitations(self) -> list[Invitation]:
        """All invitations, the latest first, and whether somebody came with them."""
        query = (
            select(invitations.c.token, invitations.c.note, participants.c.number)
            .outerjoin(
                participants,
                and_(participants.c.external == invitations.c.token, participants.c.source == "invitation"),
            )
            .order_by(invitations.c.made_at.desc(), invitations.c.token)
        )
        found = self.store.read(lambda c: c.execute(query).all())
        return [Invitation(token, note, number is not None) for token, note, number in found]

    def corpus(self, *, platform_ids: bool = False) -> Corpus:
        """Everything collected so far as a corpus: the study's items, human raters, judgments."""
        return export.corpus_of(self.study, self._collected(now=True), platform_ids=platform_ids)

    def checks(self) -> pl.DataFrame:
        """The answers to attention checks and gold items, kept apart from the judgments."""
        return self._collected(now=True).checks

    def export_zip(self, *, platform_ids: bool = False) -> bytes:
        """The exported corpus folder and the checks as one zip file, for download."""
        return export.zipped(self.corpus(platform_ids=platform_ids), self.checks(), self.study.id)

    def _collected(self, *, now: bool = False) -> export.Collected:
        return self._fresh("collected", lambda: self.store.read(lambda c: export.collected(c, self.study)), now=now)

    def _fresh(self, name: str, compute: Callable[[], T], *, now: bool = False) -> T:
        """What was computed before, unless something has changed since; one computation at a time.

        What takes long is not computed again at once when answers arrive, so that a dashboard never slows
        participants down; the researcher's own decisions are seen at once.
        """
        with self._computing:
            state, known = self.store.read(_state), self._known.get(name)
            decided = known is not None and known.state[0] != state[0]
            if known is None or decided or (known.state != state and (now or time.monotonic() > known.until)):
                begun = time.monotonic()
                value = compute()
                took = time.monotonic() - begun
                known = _Known(state, value, time.monotonic() + (took * PATIENCE if took > QUICK else 0.0))
                self._known[name] = known
            found: T = known.value
            return found


@dataclass(frozen=True, slots=True)
class _Known:
    """Something that was computed, from which state of the database, and until when that is good enough."""

    state: tuple[object, object]
    value: Any
    until: float


def _state(connection: Connection) -> tuple[object, object]:
    """What tells that something has changed: decisions and withdrawals, and answers."""
    at = select(func.count()).select_from(participants)
    query = select(
        select(func.max(reviews.c.id)).scalar_subquery(),
        at.where(participants.c.stage == "withdrawn").scalar_subquery(),
        at.where(participants.c.stage == "finished").scalar_subquery(),
        select(func.max(submissions.c.id)).scalar_subquery(),
    )
    decided, withdrawn, finished, answered = connection.execute(query).one()
    return (decided, withdrawn), (finished, answered)
