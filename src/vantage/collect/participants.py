"""What participants can do, from entering the study to leaving with a completion code."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from sqlalchemy import Connection, bindparam, func, select, update
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from vantage.collect import assignment, drafts, entry
from vantage.collect.answers import check_traits, checked
from vantage.collect.database import StudyDatabase
from vantage.collect.events import record, store_wording
from vantage.collect.languages import sentence
from vantage.collect.pseudonyms import code_of
from vantage.collect.reviewing import apply_rules
from vantage.collect.submissions import Submission, already_saved, item_page, page_number, save
from vantage.collect.tables import pages, participants
from vantage.collect.views import (
    CompletionPath,
    ItemPage,
    Known,
    Participant,
    QuestionAnswer,
    QuizResult,
    Receipt,
    Refused,
    Step,
    StepKind,
    Submitted,
)
from vantage.collect.withdrawal import anonymous, erase, receipt

K = TypeVar("K")
V = TypeVar("V")
RESERVING: Final = ("traits", "guidelines", "quiz", "working")
"""The stages in which work is reserved for a participant."""
PATIENCE: Final = 3.0
"""Seconds that a withdrawal waits for the last remains to be removed."""
CACHED: Final = 100_000
"""How many participants are cached at most."""
PROLIFIC: Final = "https://app.prolific.com/submissions/complete?cc={code}"

_BY_ID = select(participants.c.id, participants.c.number).where(participants.c.id == bindparam("id"))
_BY_NUMBER = select(participants).where(participants.c.number == bindparam("number"))
_LOCKED = _BY_NUMBER.with_for_update()


class ParticipantService:
    """What participants can do. See `service` for the rules that hold for every method."""

    def __init__(self, database: StudyDatabase) -> None:
        self.database, self.study = database, database.study
        self._batches = database.batches
        self._by_id: dict[str, Participant] = {}
        self._question_sets: dict[int, int] = {}

    def enter(self, params: Mapping[str, str]) -> Participant:
        """Admits a visitor by the parameters of their link: a known participant returns, a new one is created.

        Prolific: PROLIFIC_PID, STUDY_ID, SESSION_ID. MTurk: workerId, assignmentId, hitId. Any study: invitation. A
        plain link creates a new participant on every call, or one per `form` (the number of a consent form). Raises
        `Refused` when the study needs parameters that are missing or malformed.
        """
        source, external, links = entry.identify(self.study.plan.recruitment, params)

        def job(connection: Connection) -> Row[Any]:
            return entry.find_or_create(connection, self.database.key, source, external, time.time())

        try:
            row = self.database.write(job)
        except IntegrityError:
            # The same person arrived twice at the same moment, and the other request was first.
            row = self.database.write(job)
        if external is not None and source != "link" and row.stage != "withdrawn":
            self.database.private.remember(row.rater, source, external, links)
        return Participant(row.id, row.number)

    def known(self, params: Mapping[str, str]) -> Known | None:
        """The participant that a link's parameters name, or null; nothing is stored.

        A platform id is not a password: it lets somebody in only as long as they have answered nothing, and in the same
        session of the platform. An invitation is a secret of its own.
        """
        source, external, links = entry.identify(self.study.plan.recruitment, params)
        if external is None or source == "link":
            return None
        row = self.database.read(lambda c: entry.known(c, self.database.key, source, external))
        if row is None:
            return None
        sessions = [one["links"] for one in self.database.private.identities(row.rater)]
        untouched = row.traits is None and not row.answered and row.batch <= 1 and row.stage != "finished"
        opens = source == "invitation" or (untouched and (not sessions or links in sessions))
        return Known(Participant(row.id, row.number), opens)

    def arrival(self) -> Step:
        """What a visitor finds who has not agreed yet: `consent`, `full` or `paused`; nothing is stored."""

        def job(connection: Connection) -> Step:
            if self.database.is_paused(connection):
                return Step("paused")
            return Step("consent" if self._batches.work_left(connection, time.time()) else "full")

        return self.database.read(job)

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

    def give_consent(self, participant: Participant, agreed: bool, wording: str | None = None) -> Step:
        """Records the decision and reserves work for those who agree; of those who decline nothing is kept.

        `wording` is the text that the participant was shown, by default the study's consent. Its hash and the time are
        stored with the participant, the text once.
        """
        if self.database.paused:
            return Step("paused")
        text = self.study.consent if wording is None else wording
        declined: list[str] = []

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage not in ("consent", "full"):
                return
            if not agreed:
                declined.append(person.rater)
                anonymous(connection, person)
                return
            agreement = {"consented_at": time.time(), "wording": store_wording(connection, text)}
            record(connection, "consented", person.rater, wording=agreement["wording"])
            if self._batches.begin(connection, person, time.time()):
                _move(connection, person, "traits" if self.study.plan.traits else "guidelines", **agreement)
            else:
                _move(connection, person, "full", **agreement)

        step = self._change(participant, job)
        if declined:
            self._by_id.pop(participant.id, None)
            self.database.private.forget(declined[0])
            self.database.complete_deletions(PATIENCE)
        return step

    def give_traits(self, participant: Participant, answers: Mapping[str, str | Sequence[str]]) -> Step:
        """Stores the answers to the study's trait questions, by trait id, as the form sends them.

        A choice is the option's text (several: a sequence of them), a number its digits. Missing or empty means no
        answer. Raises `InvalidAnswers` with a sentence per trait.
        """
        traits = json.dumps(check_traits(self.study.plan.traits, answers))

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage != "traits":
                return
            drafts.drop(connection, person.number)
            _move(connection, person, "guidelines", traits=traits)
            if self.study.plan.adaptive and self.study.plan.adaptive.balance:
                again = self._row(connection, person.number)
                if not self._batches.begin_again(connection, again, time.time()):
                    _move(connection, person, "full", lease=None)

        return self._change(participant, job)

    def confirm_guidelines(self, participant: Participant) -> Step:
        """The participant confirms having read the guidelines."""

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "guidelines":
                _move(connection, person, "quiz" if self.study.plan.quiz else "working")

        return self._change(participant, job)

    def answer_quiz(self, participant: Participant, answers: Sequence[int | None]) -> QuizResult:
        """One attempt: for each question the chosen option, counted from 0, or null. Then ask for `step` again."""
        quiz = self.study.plan.quiz
        if quiz is None:
            raise Refused("This study has no quiz.", "conflict")
        given = [*answers, *[None] * len(quiz.questions)]
        wrong = tuple(n for n, (q, a) in enumerate(zip(quiz.questions, given, strict=False)) if a != q.answer - 1)
        passed = len(quiz.questions) - len(wrong) >= (quiz.needed or len(quiz.questions))

        def job(connection: Connection) -> QuizResult:
            person = self._row(connection, participant.number, lock=True)
            if person.stage != "quiz":
                raise Refused(sentence("You have already taken the quiz."), "conflict")
            attempts = person.attempts + 1
            if passed:
                _move(connection, person, "working", attempts=attempts)
            elif attempts < quiz.attempts:
                _move(connection, person, "quiz", attempts=attempts)
            else:
                assignment.release(connection, person.number, ["open"], becomes="lapsed")
                _move(connection, person, "screened_out", attempts=attempts, lease=None)
                record(connection, "screened_out", person.rater, rule="quiz")
            return QuizResult(passed, wrong, max(quiz.attempts - attempts, 0))

        return self.database.write(job)

    def page(self, participant: Participant, position: int) -> ItemPage:
        """The page at a position (counted from 1) of the current batch; `Refused` for one that does not exist.

        Only while `step` is `item` or `review`; every page up to the first unanswered one may be opened.
        """

        def job(connection: Connection) -> ItemPage:
            person = self._row(connection, participant.number)
            step = self._step(connection, person)
            if step is None or step.kind not in ("item", "review"):
                raise Refused(sentence("You have no page to answer now."), "conflict")
            if not 0 < position <= (step.position or step.pages):
                raise Refused(sentence("There is no such page."), "unknown")
            return item_page(connection, self.study, person, step, position)

        return self.database.read(job)

    def submit(
        self,
        participant: Participant,
        position: int,
        answers: Mapping[str, QuestionAnswer],
        *,
        token: str,
        seconds: float | None = None,
        evidence: str | None = None,
    ) -> Submitted:
        """Stores the answers of a page, durably. Repeating a token, or the same answers, changes nothing.

        `token` comes from the `ItemPage` and names the page that was answered, whatever is at the position by now.
        Raises `InvalidAnswers` with a sentence per question, and `Refused` when the batch is final or the item was
        reassigned.
        """
        page = page_number(token)
        questions, ways = self.study.shown(self._group_of(participant), participant.number, page)
        submission = Submission(
            participant.number,
            page,
            position,
            token,
            checked(questions, answers, ways),
            None if seconds is None else round(min(max(seconds, 0.0), 86_400.0), 3),
            evidence if self.study.plan.evidence else None,
        )

        def job(connection: Connection) -> Submitted:
            saved = save(connection, submission, self._batches.lease)
            if saved.expired:
                self._renew(connection, self._row(connection, participant.number))
            step = saved.step or self._step(connection, self._row(connection, participant.number)) or Step("full")
            return Submitted(saved.position, saved.revision, saved.repeated, step)

        return self.database.write(job)

    def finish(self, participant: Participant) -> CompletionPath:
        """Makes the batch final (possible at `review`); may be repeated. Nothing can be changed afterwards."""

        def job(connection: Connection) -> CompletionPath:
            person = self._row(connection, participant.number, lock=True)
            if person.stage == "working":
                if not person.pages or person.answered < person.pages:
                    raise Refused(sentence("Some pages are not answered yet."), "conflict")
                drafts.drop(connection, person.number)
                _move(connection, person, "finished", lease=None, finished_at=time.time())
                record(connection, "finished", person.rater, batch=person.batch)
                apply_rules(connection, self.study, self._row(connection, participant.number))
                person = self._row(connection, participant.number)
            if person.stage != "finished":
                raise Refused(sentence("You have nothing to submit yet."), "conflict")
            return self._completion(person.stage, person.source, person.rater)

        return self.database.write(job)

    def completion(self, participant: Participant) -> CompletionPath:
        """How a participant leaves from `finished`, `screened_out`, `declined`, `full` or `withdrawn`."""
        person = self.database.read(lambda c: self._row(c, participant.number))
        return self._completion(person.stage, person.source, person.rater, excluded=person.verdict == "excluded")

    def departure(self, step: Step) -> CompletionPath:
        """How a visitor leaves who never became a participant, from `declined` or `full`."""
        return self._completion(step.kind, self.study.plan.recruitment.via, "")

    def another_batch(self, participant: Participant) -> Step:
        """Reserves more work for a participant who has finished and may do more (`Step.more`)."""

        def job(connection: Connection, person: Row[Any]) -> None:
            if not self._may_do_more(person):
                raise Refused(sentence("There is no more work for you in this study. Thank you!"), "conflict")
            if not self._batches.begin(connection, person, time.time()):
                raise Refused(sentence("All texts have been judged. Thank you!"), "conflict")
            _move(connection, person, "working", finished_at=None)

        return self._change(participant, job)

    def withdraw(self, participant: Participant) -> Step:
        """Ends participation; answers are deleted or kept as the study says. Unfinished work goes to others.

        The remains in the database's files are removed, too, before this returns or soon after (see `receipt`).
        """

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "withdrawn":
                return
            drafts.drop(connection, person.number)
            if self.study.plan.withdrawal == "delete":
                erase(connection, person)
                return
            assignment.release(connection, person.number, ["open"], becomes="lapsed")
            _move(connection, person, "withdrawn", lease=None)
            record(connection, "withdrawn", person.rater)

        step = self._change(participant, job)
        if self.study.plan.withdrawal == "delete":
            self.database.complete_deletions(PATIENCE)
        return step

    def receipt(self, participant: Participant) -> Receipt | None:
        """What was deleted for a participant who withdrew, or null."""
        return self.database.read(lambda c: receipt(c, participant.number))

    def save_draft(
        self, participant: Participant, place: str, fields: drafts.Fields, *, token: str = ""
    ) -> float | None:
        """Keeps what a participant has not sent yet, and their reservation; the seconds until it expires.

        `place` is where the form is: `traits`, or `drafts.item_place` of a page. Without fields only the reservation
        is extended. A draft that arrives after the form with its `token` was sent is not kept. Returns 0 where the
        reservation has expired, and null where nothing is reserved.
        """

        def job(connection: Connection) -> float | None:
            person = self._row(connection, participant.number, lock=True)
            if person.stage not in RESERVING or person.verdict == "excluded":
                return None
            if fields and not (token and already_saved(connection, token)):
                drafts.store(connection, person.number, place, fields)
            if person.lease is None:
                return 0.0
            own = update(participants).where(participants.c.number == person.number)
            connection.execute(own.values(lease=time.time() + self._batches.lease))
            return self._batches.lease

        return self.database.write(job)

    def draft(self, participant: Participant, place: str) -> dict[str, list[str]]:
        """The draft of a place; empty where there is none."""
        return self.database.read(lambda c: drafts.read(c, participant.number, place))

    def _row(self, connection: Connection, number: int, *, lock: bool = False) -> Row[Any]:
        row = connection.execute(_LOCKED if lock else _BY_NUMBER, {"number": number}).one_or_none()
        if row is None:
            raise Refused(
                sentence("We do not know who you are. Please open the study from the link you were sent."), "unknown"
            )
        return row

    def _change(self, participant: Participant, job: Callable[[Connection, Row[Any]], None]) -> Step:
        """Changes one participant in a transaction; their step afterwards."""

        def whole(connection: Connection) -> Step:
            job(connection, self._row(connection, participant.number, lock=True))
            person = self._row(connection, participant.number)
            step = self._step(connection, person)
            if step is None:
                self._renew(connection, person)
                step = self._step(connection, self._row(connection, participant.number))
            return step or Step("full")

        return self.database.write(whole)

    def _renew(self, connection: Connection, person: Row[Any]) -> None:
        """Reserves work again for a participant whose reservation expired; `full` where none is left."""
        self._batches.renew(connection, person, time.time())
        own = (pages.c.participant == person.number, pages.c.batch == person.batch, pages.c.kind == "item")
        left = select(pages.c.id).where(*own, pages.c.position > 0, pages.c.state != "lapsed").limit(1)
        if connection.execute(left).first() is None:
            assignment.release(connection, person.number, ["open"], becomes="lapsed")
            _move(connection, person, "full", lease=None)

    def _step(self, connection: Connection, person: Row[Any]) -> Step | None:
        """A participant's step; null where work must be reserved again first, which needs a write."""
        stage = person.stage
        if person.verdict == "excluded" and stage in ("consent", *RESERVING):
            return Step("screened_out")
        if stage in ("consent", "full", *RESERVING) and self.database.is_paused(connection):
            return Step("paused")
        if stage in ("consent", "full"):
            begun = person.batch > 0
            return Step("consent") if self._batches.work_left(connection, time.time()) else Step("full", lapsed=begun)
        if stage in RESERVING and person.lease is None:
            return None
        left = None if person.lease is None else max(person.lease - time.time(), 0.0)
        if stage == "quiz":
            assert self.study.plan.quiz is not None  # noqa: S101
            return Step("quiz", attempts_left=self.study.plan.quiz.attempts - person.attempts, left=left)
        if stage == "working":
            return replace(Step.in_batch(person.pages, person.answered), left=left)
        if stage == "finished":
            return Step("finished", more=self._may_do_more(person) and self._has_more(connection, person))
        return Step(cast("StepKind", stage), left=left)

    def _may_do_more(self, person: Row[Any]) -> bool:
        return bool(
            person.stage == "finished"
            and person.verdict != "excluded"
            and person.batch < self.study.plan.batch.per_participant
        )

    def _has_more(self, connection: Connection, person: Row[Any]) -> bool:
        """Whether there are items that this participant has not seen, and any work at all."""
        own = select(func.count()).where(pages.c.participant == person.number, pages.c.kind == "item")
        seen: int = connection.execute(own).scalar_one()
        return seen < self._batches.arms[0].pool and self._batches.work_left(connection, time.time())

    def _completion(self, stage: str, source: str, rater: str, *, excluded: bool = False) -> CompletionPath:
        plan = self.study.plan.recruitment
        if stage == "withdrawn":
            return CompletionPath()
        done = stage == "finished"
        if plan.via == "prolific" and source == "prolific":
            code = plan.completion_code if done else self._code(stage, excluded=excluded)
            url = plan.completion_url if done and plan.completion_url else PROLIFIC
        elif not done:
            return CompletionPath()
        else:
            code = code_of(self.database.key, rater) if source == "mturk" else plan.completion_code
            url = plan.completion_url or ""
        if not url or ("{code}" in url and not code):
            return CompletionPath(code)
        if "{id}" in url:
            url = url.replace("{id}", next((one["external"] for one in self.database.private.identities(rater)), ""))
        return CompletionPath(code, url.replace("{code}", code or ""))

    def _code(self, stage: str, *, excluded: bool) -> str | None:
        """Prolific's code for those who leave without finishing."""
        plan = self.study.plan.recruitment
        if stage == "full":
            return plan.full_code
        own = plan.failed_check_code if excluded else plan.no_consent_code if stage == "declined" else None
        return own or plan.screen_out_code

    def _group_of(self, participant: Participant) -> int:
        """Which questions a participant is asked, which never change once they have a batch."""
        chosen = self._question_sets.get(participant.number)
        if chosen is None:
            chosen = self.database.read(lambda c: self._row(c, participant.number)).question_set
            if chosen is None:
                raise Refused(sentence("You have no page to answer now."), "conflict")
            _cache(self._question_sets, participant.number, chosen)
        return chosen


def _cache(cache: dict[K, V], key: K, value: V) -> V:
    if len(cache) >= CACHED:
        cache.clear()
    cache[key] = value
    return value


def _move(connection: Connection, person: Row[Any], stage: str, **values: Any) -> None:
    own = update(participants).where(participants.c.number == person.number)
    connection.execute(own.values(stage=stage, **values))
