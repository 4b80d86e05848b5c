"""What participants can do, from entering the study to leaving with a completion code."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from vantage.collect import assignment, entry, quotas
from vantage.collect.answers import checked
from vantage.collect.database import StudyDatabase
from vantage.collect.flow_document import TraitPart
from vantage.collect.phases import Guidelines, Phase, Questionnaire, Task, Training
from vantage.collect.places import ParticipantPlaces, move, place_of
from vantage.collect.pseudonyms import code_of, withdrawn
from vantage.collect.submissions import Submission, item_page, page_number, save, show
from vantage.collect.tables import items, pages, participants, submissions
from vantage.collect.views import (
    CompletionPath,
    ItemPage,
    Participant,
    Practice,
    QuestionAnswer,
    QuizResult,
    Refused,
    Step,
    Submitted,
)

K = TypeVar("K")
V = TypeVar("V")
CACHED: Final = 100_000
"""How many participants are cached at most."""
PROLIFIC: Final = "https://app.prolific.com/submissions/complete?cc={code}"

_BY_ID = select(participants.c.id, participants.c.number).where(participants.c.id == bindparam("id"))
_ASKED = (
    select(pages.c.question_set, participants.c.question_set)
    .join(participants, participants.c.number == pages.c.participant)
    .where(pages.c.id == bindparam("page"), participants.c.number == bindparam("number"))
)


class ParticipantService(ParticipantPlaces):
    """What participants can do. See `service` for the rules that hold for every method."""

    def __init__(self, database: StudyDatabase) -> None:
        super().__init__(database)
        self._by_id: dict[str, Participant] = {}
        self._question_sets: dict[tuple[int, int], int] = {}

    def enter(self, params: Mapping[str, str]) -> Participant:
        """Admits a visitor by the parameters of their link: a known participant returns, a new one is created.

        Prolific: PROLIFIC_PID, STUDY_ID, SESSION_ID. MTurk: workerId, assignmentId, hitId. Any study: invitation. A
        plain link creates a new participant on every call, or one per `form` (the number of a consent form). Raises
        `Refused` when the study needs parameters that are missing or malformed.
        """
        source, external, links = entry.identify(self.study.plan.recruitment, params)

        def job(connection: Connection) -> Participant:
            row = entry.find_or_create(connection, self.database.key, source, external, links, time.time())
            return Participant(row.id, row.number)

        try:
            return self.database.write(job)
        except IntegrityError:
            # The same person arrived twice at the same moment, and the other request was first.
            return self.database.write(job)

    def find(self, id: str) -> Participant | None:  # noqa: A002
        """The participant with the id of a cookie, or null."""
        known = self._by_id.get(id)
        if known is None:
            row = self.database.read(lambda c: c.execute(_BY_ID, {"id": id}).one_or_none())
            if row is None:
                return None
            # Participants are never deleted and keep their numbers, so the cache stays valid.
            known = _cache(self._by_id, id, Participant(row.id, row.number))
        return known

    def step(self, participant: Participant) -> Step:
        """The participant's current step."""
        step = self.database.read(lambda c: self._step(c, self._row(c, participant.number)))
        return step if step is not None else self._change(participant, lambda connection, person: None)

    def give_consent(self, participant: Participant, agreed: bool) -> Step:
        """Records the decision; those who agree get their route through the study, and work is reserved for them.

        Declining leads to `declined`.
        """
        if self.database.paused:
            return Step("paused")

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage not in ("consent", "full") or (person.stage == "full" and person.place is not None):
                return
            if not agreed:
                move(connection, person, "declined")
                return
            route = self._route(connection, person)
            # Blocks that are full are left out; somebody for whom there is no work is not asked anything.
            while (first := self._task(route)) is not None:
                if self._batches.begin(connection, person, first.block, time.time()):
                    break
                route.remove(first.number)
            if first is None:
                move(connection, person, "full")
                return
            values = {"route": json.dumps(route), "place": 0, "state": "{}", "traits": None}
            move(connection, person, "consent", **values)
            self._advance(connection, self._row(connection, person.number))

        return self._change(participant, job)

    def asked(self, participant: Participant) -> tuple[TraitPart, ...]:
        """The questions about the participant that are asked now, at `screener` and `traits`."""
        person = self.database.read(lambda c: self._row(c, participant.number))
        phase = self._phase(person)
        return phase.asked(place_of(person).traits) if isinstance(phase, Questionnaire) else ()

    def phase(self, participant: Participant) -> Phase:
        """The participant's phase."""
        return self._phase(self.database.read(lambda c: self._row(c, participant.number)))

    def guide(self, participant: Participant) -> Guidelines | None:
        """The guidelines that a participant may read now: those of their phase or block, else the last they read."""
        person = self.database.read(lambda c: self._row(c, participant.number))
        phases = [self.study.flow.phases[number] for number in self._route_of(person)]
        here = self._index(person)
        before = [phase for phase in phases[: here + 1] if isinstance(phase, Guidelines)]
        phase = phases[min(here, len(phases) - 1)]
        if isinstance(phase, Task):
            return next((one for one in reversed(before) if phase.block in one.blocks), None)
        return before[-1] if before and person.stage != "consent" else None

    def practice(self, participant: Participant) -> Practice:
        """The item that a participant practises on, at `training`."""
        person = self.database.read(lambda c: self._row(c, participant.number))
        phase = self._phase(person)
        if not isinstance(phase, Training):
            raise Refused("You have no page to answer now.", "conflict")
        index, answers = phase.at(place_of(person))
        part = phase.part.items[index]
        record: Mapping[str, Any] = part.item if isinstance(part.item, dict) else self._record(part.item)
        return Practice(
            position=index + 1,
            items=len(phase.part.items),
            condition=part.condition,
            record=record,
            instrument=phase.instrument,
            questions=phase.questions(index),
            answers=answers or {},
            right=phase.right(index, answers) if answers else {},
            explain=part.explain,
        )

    def give_traits(self, participant: Participant, answers: Mapping[str, str | Sequence[str]]) -> Step:
        """Stores the answers to the questions about the participant, by id, as the form sends them.

        A choice is the option's text (several: a sequence of them), a number its digits. Missing or empty means no
        answer. Raises `InvalidAnswers` with a sentence per question. The screener's rules and the quotas apply.
        """
        return self._answer(participant, ("traits", "screener"), answers)[0]

    def confirm(self, participant: Participant) -> Step:
        """The participant goes on from a page that is only read: guidelines, feedback or debriefing."""
        return self._answer(participant, ("guidelines", "training", "debriefing"), None)[0]

    def confirm_guidelines(self, participant: Participant) -> Step:
        """The participant confirms having read the guidelines."""
        return self._answer(participant, ("guidelines",), None)[0]

    def give_practice(self, participant: Participant, answers: Mapping[str, QuestionAnswer]) -> Step:
        """Answers about the item of `practice`; feedback follows, then `confirm`."""
        return self._answer(participant, ("training",), answers)[0]

    def answer_quiz(self, participant: Participant, answers: Sequence[int | None]) -> QuizResult:
        """One attempt: for each question the chosen option, counted from 0, or null. Then ask for `step` again."""
        result = self._answer(participant, ("quiz",), answers)[1]
        if not isinstance(result, QuizResult):
            raise Refused("You have already taken the quiz.", "conflict")
        return result

    def page(self, participant: Participant, position: int) -> ItemPage:
        """The page at a position (counted from 1) of the current batch; `Refused` for one that does not exist.

        Only while `step` is `item` or `review`; every page up to the first unanswered one may be opened.
        """

        def job(connection: Connection) -> ItemPage:
            person = self._row(connection, participant.number)
            step = self._step(connection, person)
            if step is None or step.kind not in ("item", "review"):
                raise Refused("You have no page to answer now.", "conflict")
            if not 0 < position <= (step.position or step.pages):
                raise Refused("There is no such page, or it comes later.", "unknown")
            return item_page(connection, self.study, person, step, position)

        page = self.database.read(job)
        _cache(self._question_sets, (participant.number, page_number(page.token)), page.group)
        if page.seconds_left is not None and self.study.block(page.group).page_seconds:
            number = page_number(page.token)
            self.database.write(lambda c: show(c, number))
        return page

    def submit(
        self,
        participant: Participant,
        position: int,
        answers: Mapping[str, QuestionAnswer],
        *,
        token: str,
        seconds: float | None = None,
    ) -> Submitted:
        """Stores the answers of a page, durably. Repeating a token, or the same answers, changes nothing.

        `token` comes from the `ItemPage` and names the page that was answered, whatever is at the position by now.
        Raises `InvalidAnswers` with a sentence per question, and `Refused` when the batch is final or the item was
        reassigned.
        """
        page = page_number(token)
        group = self._group_of(participant, page)
        questions, ways = self.study.shown(group, participant.number, page)
        submission = Submission(
            participant.number,
            page,
            position,
            token,
            checked(questions, answers, ways),
            None if seconds is None else round(min(max(seconds, 0.0), 86_400.0), 3),
        )

        def job(connection: Connection) -> Submitted:
            limit = self.study.block(group).page_seconds
            saved = save(connection, submission, self._batches.lease, limit)
            if saved.late is not None:
                self._drop(connection, self._row(connection, participant.number), saved.late)
                step = self._step(connection, self._row(connection, participant.number)) or Step("full")
                return Submitted(saved.position, saved.revision, repeated=False, step=step, late=True)
            if saved.expired:
                self._renew(connection, self._row(connection, participant.number))
            step = saved.step or self._step(connection, self._row(connection, participant.number)) or Step("full")
            return Submitted(saved.position, saved.revision, saved.repeated, step)

        return self.database.write(job)

    def finish(self, participant: Participant) -> CompletionPath:
        """Makes the block final (possible at `review`) and goes to the next phase; may be repeated after the last.

        Nothing can be changed afterwards. The path is empty while there are further phases.
        """

        def job(connection: Connection) -> CompletionPath:
            person = self._row(connection, participant.number, lock=True)
            if person.stage == "working":
                if not person.pages or person.answered < person.pages:
                    raise Refused("Some pages are not answered yet.", "conflict")
                move(connection, person, "working", lease=None, deadline=None)
                self._advance(connection, self._row(connection, participant.number))
                person = self._row(connection, participant.number)
            elif person.stage != "finished" and (person.place is None or not person.batch or self._reserved(person)):
                raise Refused("You have nothing to submit yet.", "conflict")
            return self._completion(person) if person.stage == "finished" else CompletionPath()

        return self.database.write(job)

    def completion(self, participant: Participant) -> CompletionPath:
        """How a participant leaves from `finished`, `screened_out`, `declined`, `full` or `withdrawn`."""
        return self.database.read(lambda c: self._completion(self._row(c, participant.number)))

    def another_batch(self, participant: Participant) -> Step:
        """Reserves more work for a participant who has finished and may do more (`Step.more`)."""

        def job(connection: Connection, person: Row[Any]) -> None:
            if not self._may_do_more(person):
                raise Refused("There is no more work for you in this study. Thank you!", "conflict")
            block = self.study.block(person.question_set)
            if not self._batches.begin(connection, person, block, time.time()):
                raise Refused("All items have been judged. Thank you!", "conflict")
            move(connection, person, "working", finished_at=None, place=self._place_of(person, block))

        return self._change(participant, job)

    def withdraw(self, participant: Participant) -> Step:
        """Ends participation; answers are deleted or kept as the study says. Unfinished work goes to others."""

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "withdrawn":
                return
            if self.study.plan.withdrawal == "keep":
                assignment.release(connection, person.number, ["open"], becomes="lapsed")
                move(connection, person, "withdrawn", lease=None)
                quotas.give_back(connection, [person.number])
                return
            quotas.give_back(connection, [person.number])
            assignment.release(connection, person.number, ["open", "answered"], becomes="lapsed")
            own = select(pages.c.id).where(pages.c.participant == person.number)
            connection.execute(delete(submissions).where(submissions.c.page.in_(own)))
            connection.execute(delete(pages).where(pages.c.participant == person.number))
            name = person.external and withdrawn(self.database.key, person.source, person.external)
            move(connection, person, "withdrawn", lease=None, traits=None, state="{}", external=name, links="{}")

        return self._change(participant, job)

    def _completion(self, person: Row[Any]) -> CompletionPath:
        plan = self.study.plan.recruitment
        if person.stage == "withdrawn":
            return CompletionPath()
        done = person.stage == "finished"
        if plan.via == "prolific" and person.source == "prolific":
            code = plan.completion_code if done else plan.screen_out_code
            code = plan.full_code if person.stage == "full" else code
            url = plan.completion_url if done and plan.completion_url else PROLIFIC
            return CompletionPath(code, url.replace("{code}", code or "") if code or "{code}" not in url else None)
        if not done:
            return CompletionPath()
        code = code_of(self.database.key, person.rater) if person.source == "mturk" else plan.completion_code
        return CompletionPath(code, plan.completion_url.replace("{code}", code or "") if plan.completion_url else None)

    def _record(self, item: str) -> Mapping[str, Any]:
        """The fields of an item of the corpus."""
        query = select(items.c.record).where(items.c.item == item)
        record: Mapping[str, Any] = json.loads(self.database.read(lambda c: c.execute(query).scalar_one()))
        return record

    def _group_of(self, participant: Participant, page: int) -> int:
        """Which questions a page asks, which never change."""
        key = (participant.number, page)
        chosen = self._question_sets.get(key)
        if chosen is None:
            own = {"page": page, "number": participant.number}
            row = self.database.read(lambda c: c.execute(_ASKED, own).one_or_none())
            if row is None:
                raise Refused("There is no such page.", "unknown")
            chosen = _cache(self._question_sets, key, row[0] if row[0] is not None else row[1])
        return chosen


def _cache(cache: dict[K, V], key: K, value: V) -> V:
    if len(cache) >= CACHED:
        cache.clear()
    cache[key] = value
    return value
