"""Answering pages: the page as the participant sees it, and the submission, which is durable when it returns."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.engine import Row

from vantage.collect import assignment
from vantage.collect.answers import checked, read
from vantage.collect.reception import MET, Reception, at_work
from vantage.collect.study import Study
from vantage.collect.tables import items, pages, participants, submissions
from vantage.collect.views import ItemPage, Participant, Place, Refused, Reply, Submitted
from vantage.instruments import Question

_PAGE = (
    select(pages, items.c.record)
    .outerjoin(items, items.c.row == pages.c.row)
    .where(
        pages.c.participant == bindparam("number"),
        pages.c.batch == bindparam("batch"),
        pages.c.position == bindparam("position"),
        pages.c.state != "lapsed",
    )
)
_LAST = select(submissions.c.answers).where(
    submissions.c.page == bindparam("page"), submissions.c.revision == bindparam("revision")
)
_OWN = (
    select(
        *(pages.c.id, pages.c.position, pages.c.state, pages.c.revision, pages.c.arm, pages.c.row),
        (pages.c.batch == participants.c.batch).label("present"),
        *(participants.c.number, participants.c.stage, participants.c.verdict, participants.c.lease),
        *(participants.c.pages, participants.c.answered),
    )
    .join(participants, participants.c.number == pages.c.participant)
    .where(pages.c.id == bindparam("page"), participants.c.number == bindparam("number"))
    .with_for_update()
)
_TOKEN = select(submissions.c.revision).where(
    submissions.c.page == bindparam("page"), submissions.c.token == bindparam("token")
)
_INSERT = insert(submissions)
_ANSWERED = (
    update(pages).where(pages.c.id == bindparam("page")).values(state="answered", revision=bindparam("new_revision"))
)
_LEASE = (
    update(participants)
    .where(participants.c.number == bindparam("own"))
    .values(lease=bindparam("until"), answered=participants.c.answered + bindparam("more"))
)

GONE = "You were away for a long time, and this item has been given to somebody else. Please go on with the next one."


class Work(Reception):
    """What participants can do with the pages of their batch."""

    def __init__(self, study: Study, database: str | None = None) -> None:
        super().__init__(study, database)
        self._sets: dict[int, int] = {}
        self._groups = [tuple(study.instrument.question(name) for name in group) for group in study.question_sets]

    def page(self, participant: Participant, position: int) -> ItemPage:
        """The page at a position (counted from 1) of the current batch; `Refused` for one that does not exist.

        Only while `place` is `item` or `review`; any page up to the first unanswered one may be opened.
        """

        def job(connection: Connection) -> ItemPage:
            person = self._person(connection, participant.number)
            place = self._place(connection, person)
            if place is None or place.kind not in ("item", "review"):
                raise Refused("There is no page to answer now.", "conflict")
            if not 0 < position <= (place.position or place.pages):
                raise Refused("There is no such page, or it comes later.", "unknown")
            wanted = {"number": participant.number, "batch": person.batch, "position": position}
            page = connection.execute(_PAGE, wanted).one_or_none()
            if page is None:
                raise Refused("There is no such page.", "unknown")
            earlier = {}
            if page.revision:
                last = connection.execute(_LAST, {"page": page.id, "revision": page.revision}).scalar_one()
                earlier = read(last)
            return self._drawn(page, person, place, earlier)

        return self.store.read(job)

    def submit(
        self,
        participant: Participant,
        position: int,
        answers: Mapping[str, Reply],
        *,
        token: str,
        seconds: float | None = None,
    ) -> Submitted:
        """Takes the answers of a page; durable when it returns. The same token, or the same answers, count once.

        `token` is that of the `ItemPage`; it says which page was answered, whatever stands at the position by now.
        Raises `Unanswered` with a sentence per question, and `Refused` when the batch has been handed in or the
        item was given to somebody else.
        """
        page = token.partition(".")[0]
        if not (page.isascii() and page.isdecimal()) or len(page) > 18 or len(token) > 100:
            raise Refused("This form is damaged. Please open the page again.", "conflict")
        taken = checked(self._questions_of(participant), answers)
        seconds = None if seconds is None else round(min(max(seconds, 0.0), 86_400.0), 3)
        return self.store.write(lambda c: self._submit(c, participant, int(page), position, token, taken, seconds))

    def _submit(
        self,
        connection: Connection,
        participant: Participant,
        page_id: int,
        position: int,
        token: str,
        taken: str,
        seconds: float | None,
    ) -> Submitted:
        page = connection.execute(_OWN, {"page": page_id, "number": participant.number}).one_or_none()
        if page is None:
            raise Refused("There is no such page.", "unknown")
        if page.revision:
            again = connection.execute(_TOKEN, {"page": page.id, "token": token}).scalar_one_or_none()
            last = connection.execute(_LAST, {"page": page.id, "revision": page.revision}).scalar_one()
            if again is not None or (last == taken and page.present):
                return Submitted(page.position, page.revision, True, self._now(connection, participant))
        if page.stage != "working" or not page.present or page.verdict == "excluded":
            raise Refused("Your answers have been handed in and cannot be changed any more.", "conflict")
        lapsed = page.state == "lapsed"
        if lapsed and not (page.position > 0 and assignment.reclaim(connection, page.id, page.arm, page.row)):
            raise Refused(GONE, "conflict")
        if not lapsed and (page.position != position or position > page.answered + 1):
            raise Refused("This page has moved. Please open it again.", "conflict")
        now, revision, more = time.time(), page.revision + 1, int(page.state != "answered")
        connection.execute(
            _INSERT,
            {"page": page.id, "revision": revision, "token": token, "answers": taken, "seconds": seconds, "at": now},
        )
        connection.execute(_ANSWERED, {"page": page.id, "new_revision": revision})
        if page.lease is None:
            self._take_up(connection, self._person(connection, participant.number))
            return Submitted(page.position, revision, False, self._now(connection, participant))
        connection.execute(_LEASE, {"own": page.number, "until": now + self._batches.lease, "more": more})
        return Submitted(page.position, revision, False, at_work(page.pages, page.answered + more))

    def _now(self, connection: Connection, participant: Participant) -> Place:
        return self._place(connection, self._person(connection, participant.number)) or Place("full")

    def _questions_of(self, participant: Participant) -> tuple[Question, ...]:
        """The questions that somebody is asked, which never change once they have a batch."""
        chosen = self._sets.get(participant.number)
        if chosen is None:
            chosen = self.store.read(lambda c: self._person(c, participant.number)).question_set
            if chosen is None:
                raise Refused("There is no page to answer now.", "conflict")
            if len(self._sets) >= MET:
                self._sets.clear()
            self._sets[participant.number] = chosen
        return self._groups[chosen]

    def _drawn(self, page: Row[Any], person: Row[Any], place: Place, earlier: Mapping[str, Reply]) -> ItemPage:
        instruction = self.study.checks[page.check].instruction if page.kind == "attention" else ""
        return ItemPage(
            position=page.position,
            pages=place.pages,
            answered=place.answered,
            condition=page.condition,
            record=json.loads(page.record) if page.record is not None else self._stand_in(page.check),
            questions=self._groups[person.question_set],
            instruction=instruction,
            earlier=earlier,
            # The page's number binds the answers to this page, whatever else is open in another tab.
            token=f"{page.id}.{secrets.token_urlsafe(9)}",
            opened=time.time(),
        )

    def _stand_in(self, check: str) -> Mapping[str, Any]:
        """What an attention check shows where no item can be spared: an example, or its own instruction."""
        examples = self.study.instrument.examples
        if examples:
            return examples[len(check) % len(examples)].item
        text = self.study.checks[check].instruction
        return {
            field.name: [{"speaker": "", "text": text}] if field.kind == "conversation" else text
            for field in self.study.instrument.fields
        }
