"""The participant's side of the desk: from arriving to leaving with a code."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from sqlalchemy import Connection, bindparam, delete, func, select, update
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from vantage.collect import arrivals, assignment
from vantage.collect.answers import traits_taken
from vantage.collect.opened import Opened
from vantage.collect.pseudonyms import withdrawn
from vantage.collect.study import Study
from vantage.collect.tables import pages, participants, submissions
from vantage.collect.views import Completion, Participant, Place, PlaceKind, QuizResult, Refused

UNDER_WAY: Final = ("traits", "guidelines", "quiz", "working")
"""The stages of somebody for whom work is reserved."""

MET: Final = 100_000
"""How many participants are remembered by their ids."""

_BY_ID = select(participants.c.id, participants.c.number).where(participants.c.id == bindparam("id"))


def at_work(pages: int, answered: int) -> Place:
    """Where somebody is who has answered so many of their pages: these are answered in order.

    >>> at_work(3, 1).position, at_work(3, 3).kind
    (2, 'review')
    """
    if answered >= pages:
        return Place("review", 0, pages, answered)
    return Place("item", answered + 1, pages, answered)


class Reception(Opened):
    """What participants can do, apart from answering pages (see `work`)."""

    def __init__(self, study: Study, database: str | None = None) -> None:
        super().__init__(study, database)
        self._met: dict[str, Participant] = {}

    def arrive(self, params: Mapping[str, str]) -> Participant:
        """A visitor with the parameters of the link: a known participant comes back, a new one is entered.

        Prolific: PROLIFIC_PID, STUDY_ID, SESSION_ID. MTurk style: workerId, assignmentId, hitId. Invitations, in
        any study: invitation. A plain link makes a new participant on every call, so ask `participant` first.
        Raises `Refused` when the study needs parameters that are missing or not well formed.
        """
        source, external, links = arrivals.identified(self.study.recruitment, params)

        def job(connection: Connection) -> Participant:
            row = arrivals.enter(connection, self._secret, source, external, links, time.time())
            return Participant(row.id, row.number)

        try:
            return self.store.write(job)
        except IntegrityError:
            # The same person arrived twice in the same moment, and the other one was first.
            return self.store.write(job)

    def participant(self, id: str) -> Participant | None:  # noqa: A002
        """The participant of a cookie; null when there is none."""
        known = self._met.get(id)
        if known is None:
            row = self.store.read(lambda c: c.execute(_BY_ID, {"id": id}).one_or_none())
            if row is None:
                return None
            if len(self._met) >= MET:
                self._met.clear()
            # Participants are never deleted, nor do their numbers change, so that this stays true.
            known = self._met[id] = Participant(row.id, row.number)
        return known

    def place(self, participant: Participant) -> Place:
        """Where the participant is now."""
        found = self.store.read(lambda c: self._place(c, self._person(c, participant.number)))
        return found if found is not None else self._change(participant, lambda connection, person: None)

    def give_consent(self, participant: Participant, agreed: bool) -> Place:
        """Notes the decision; work is reserved for those who agree. Declining leads to `declined`."""
        if self.paused:
            return Place("paused")

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage not in ("consent", "full"):
                return
            if not agreed:
                self._move(connection, person, "declined")
            elif self._batches.begin(connection, person, time.time()):
                self._move(connection, person, "traits" if self.study.traits else "guidelines")
            else:
                self._move(connection, person, "full")

        return self._change(participant, job)

    def give_traits(self, participant: Participant, answers: Mapping[str, str | Sequence[str]]) -> Place:
        """Takes the answers to the study's trait questions by trait id, as they stand in the form.

        A choice is sent as the option's text (several: a sequence of them), a number as digits. Missing or empty
        means no answer. Raises `Unanswered` with a sentence per trait.
        """
        taken = json.dumps(traits_taken(self.study.traits, answers))

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "traits":
                self._move(connection, person, "guidelines", traits=taken)

        return self._change(participant, job)

    def read_guidelines(self, participant: Participant) -> Place:
        """The participant has read the guidelines."""

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "guidelines":
                self._move(connection, person, "quiz" if self.study.quiz else "working")

        return self._change(participant, job)

    def answer_quiz(self, participant: Participant, answers: Sequence[int | None]) -> QuizResult:
        """An attempt: for each question the chosen option, counted from 0, or null. Then ask `place` again."""
        quiz = self.study.quiz
        if quiz is None:
            raise Refused("This study has no quiz.", "conflict")
        given = [*answers, *[None] * len(quiz.questions)]
        wrong = tuple(n for n, (q, a) in enumerate(zip(quiz.questions, given, strict=False)) if a != q.answer - 1)
        right = len(quiz.questions) - len(wrong)
        passed = right >= (quiz.needed or len(quiz.questions))

        def job(connection: Connection) -> QuizResult:
            person = self._person(connection, participant.number, lock=True)
            if person.stage != "quiz":
                raise Refused("The quiz has been taken already.", "conflict")
            left = quiz.attempts - person.attempts - 1
            if passed:
                self._move(connection, person, "working", attempts=person.attempts + 1)
            elif left > 0:
                self._move(connection, person, "quiz", attempts=person.attempts + 1)
            else:
                assignment.release(connection, person.number, ["open"], becomes="lapsed")
                self._move(connection, person, "screened_out", attempts=person.attempts + 1, lease=None)
            return QuizResult(passed, wrong, max(left, 0))

        return self.store.write(job)

    def finish(self, participant: Participant) -> Completion:
        """Hands the batch in (possible at `review`); may be repeated. After it nothing can be changed."""

        def job(connection: Connection) -> Completion:
            person = self._person(connection, participant.number, lock=True)
            if person.stage == "working":
                if not person.pages or person.answered < person.pages:
                    raise Refused("Some pages are not answered yet.", "conflict")
                self._move(connection, person, "finished", lease=None, finished_at=time.time())
                person = self._person(connection, participant.number)
            if person.stage != "finished":
                raise Refused("There is nothing to hand in yet.", "conflict")
            return self._completion(person)

        return self.store.write(job)

    def completion(self, participant: Participant) -> Completion:
        """With what somebody leaves who is at `finished`, `screened_out`, `declined`, `full` or `withdrawn`."""
        return self.store.read(lambda c: self._completion(self._person(c, participant.number)))

    def another_batch(self, participant: Participant) -> Place:
        """More work for somebody who has finished and may have more (`Place.more`)."""

        def job(connection: Connection, person: Row[Any]) -> None:
            if not self._may_have_more(person):
                raise Refused("There is no further work for you in this study. Thank you!", "conflict")
            if not self._batches.begin(connection, person, time.time()):
                raise Refused("All items have been judged. Thank you!", "conflict")
            self._move(connection, person, "working", finished_at=None)

        return self._change(participant, job)

    def withdraw(self, participant: Participant) -> Place:
        """Ends taking part; answers are deleted or kept as the study says. Open work goes to others."""

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "withdrawn":
                return
            if self.study.plan.withdrawal == "keep":
                assignment.release(connection, person.number, ["open"], becomes="lapsed")
                self._move(connection, person, "withdrawn", lease=None)
                return
            assignment.release(connection, person.number, ["open", "answered"], becomes="lapsed")
            mine = select(pages.c.id).where(pages.c.participant == person.number)
            connection.execute(delete(submissions).where(submissions.c.page.in_(mine)))
            connection.execute(delete(pages).where(pages.c.participant == person.number))
            name = person.external and withdrawn(self._secret, person.source, person.external)
            self._move(connection, person, "withdrawn", lease=None, traits=None, external=name, links="{}")

        return self._change(participant, job)

    def _change(self, participant: Participant, job: Callable[[Connection, Row[Any]], None]) -> Place:
        """Runs a change of one participant and says where they are after it."""

        def whole(connection: Connection) -> Place:
            job(connection, self._person(connection, participant.number, lock=True))
            person = self._person(connection, participant.number)
            found = self._place(connection, person)
            if found is None:
                self._take_up(connection, person)
                found = self._place(connection, self._person(connection, participant.number))
            return found or Place("full")

        return self.store.write(whole)

    def _take_up(self, connection: Connection, person: Row[Any]) -> None:
        """Reserves work again for somebody whose time had run out; without any left they are at `full`."""
        self._batches.renew(connection, person, time.time())
        mine = (pages.c.participant == person.number, pages.c.batch == person.batch, pages.c.kind == "item")
        left = select(pages.c.id).where(*mine, pages.c.position > 0, pages.c.state != "lapsed").limit(1)
        if connection.execute(left).first() is None:
            assignment.release(connection, person.number, ["open"], becomes="lapsed")
            self._move(connection, person, "full", lease=None)

    def _place(self, connection: Connection, person: Row[Any]) -> Place | None:
        """Where somebody is; null where work must be reserved again first, which is a change."""
        stage = person.stage
        if person.verdict == "excluded" and stage in ("consent", *UNDER_WAY):
            return Place("screened_out")
        if stage in ("consent", "full", *UNDER_WAY) and self._is_paused(connection):
            return Place("paused")
        if stage in ("consent", "full"):
            return Place("consent" if assignment.work_left(connection, time.time()) else "full")
        if stage in UNDER_WAY and person.lease is None:
            return None
        if stage == "quiz":
            assert self.study.quiz is not None  # noqa: S101
            return Place("quiz", attempts_left=self.study.quiz.attempts - person.attempts)
        if stage == "working":
            return at_work(person.pages, person.answered)
        if stage == "finished":
            return Place("finished", more=self._may_have_more(person) and self._finds_more(connection, person))
        return Place(cast("PlaceKind", stage))

    def _may_have_more(self, person: Row[Any]) -> bool:
        return bool(
            person.stage == "finished"
            and person.verdict != "excluded"
            and person.batch < self.study.plan.batch.per_participant
        )

    def _finds_more(self, connection: Connection, person: Row[Any]) -> bool:
        """Whether there are items that this person has not met, and any work at all."""
        mine = select(func.count()).where(pages.c.participant == person.number, pages.c.kind == "item")
        met: int = connection.execute(mine).scalar_one()
        return met < self._batches.seats[0].pool and assignment.work_left(connection, time.time())

    def _move(self, connection: Connection, person: Row[Any], stage: str, **values: Any) -> None:
        changed = update(participants).where(participants.c.number == person.number)
        connection.execute(changed.values(stage=stage, **values))
