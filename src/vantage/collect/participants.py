"""What participants can do, from entering the study to leaving with a completion code."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from vantage.collect import assignment, drafts, entry
from vantage.collect.answers import checked
from vantage.collect.database import StudyDatabase
from vantage.collect.languages import sentence
from vantage.collect.phases import Guidelines, Phase, Place, TaskPhase, TrainingPhase
from vantage.collect.places import IN_PROGRESS, ParticipantPlaces, place_of
from vantage.collect.private import code_of
from vantage.collect.quality import apply_rules
from vantage.collect.submissions import OPENED, Submission, already_saved, item_page, page_of, save, show
from vantage.collect.tables import change, items, participants, record, store_wording
from vantage.collect.views import (
    CompletionPath,
    ItemPage,
    Participant,
    Practice,
    QuestionAnswer,
    QuizResult,
    Receipt,
    Refused,
    Step,
    Submitted,
)
from vantage.collect.withdrawal import anonymous, erase, receipt

PATIENCE: Final = 3.0
"""Seconds that a withdrawal waits for the last remains to be removed."""
CACHED: Final = 100_000
PROLIFIC: Final = "https://app.prolific.com/submissions/complete?cc={code}"


class ParticipantService(ParticipantPlaces):
    """What participants can do. See `service` for the rules that hold for every method."""

    def __init__(self, database: StudyDatabase) -> None:
        super().__init__(database)
        self._by_id: dict[str, Participant] = {}

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
        return Participant(row.id, row.number, row.language)

    def known(self, params: Mapping[str, str]) -> tuple[Participant, bool] | None:
        """The participant that a link's parameters name, and whether the link alone lets them in; nothing is stored.

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
        return Participant(row.id, row.number, row.language), opens

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
            columns = (participants.c.id, participants.c.number, participants.c.language)
            query = select(*columns).where(participants.c.id == id)
            row = self.database.read(lambda c: c.execute(query).one_or_none())
            if row is None:
                return None
            known = Participant(row.id, row.number, row.language)
            if row.language or not self.study.plan.translations:
                # Participants are never deleted and keep their numbers and languages, so the cache stays valid.
                if len(self._by_id) >= CACHED:
                    self._by_id.clear()
                self._by_id[id] = known
        return known

    def step(self, participant: Participant) -> Step:
        """The participant's current step."""
        step = self.database.read(lambda c: self._step(c, self._row(c, participant.number)))
        return step if step is not None else self._change(participant, lambda connection, person: None)

    def give_consent(
        self, participant: Participant, agreed: bool, wording: str | None = None, language: str = ""
    ) -> Step:
        """Records the decision and reserves work for those who agree; of those who decline nothing is kept.

        `wording` is the text that the participant was shown, by default the study's consent. Its hash and the time are
        stored with the participant, the text once. `language` is that of the content, which they keep.
        """
        if self.database.paused:
            return Step("paused")
        language = language if self.study.plan.translations else ""
        text = self.study.in_language(language).consent if wording is None else wording
        declined: list[str] = []

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage not in ("consent", "full") or (person.stage == "full" and person.place is not None):
                return
            if not agreed:
                declined.append(person.rater)
                anonymous(connection, person)
                return
            agreement = {
                "consented_at": time.time(),
                "wording": store_wording(connection, text),
                "language": language,
            }
            record(connection, "consented", person.rater, wording=agreement["wording"])
            route = self._route(connection, person)
            # Blocks that are full are left out; somebody for whom there is no work is not asked anything.
            for task in [self.study.flow.phases[number] for number in route]:
                if isinstance(task, TaskPhase) and task.block.repeats is None:
                    if self._batches.begin(connection, person, task.block, time.time()):
                        break
                    route.remove(task.number)
            else:
                change(connection, person.number, stage="full", **agreement)
                return
            fresh = {"route": json.dumps(route), "place": 0, "state": "{}", "traits": None}
            change(connection, person.number, stage="consent", **fresh, **agreement)
            self._advance(connection, self._row(connection, person.number))

        step = self._change(participant, job)
        if declined:
            self._by_id.pop(participant.id, None)
            self.database.private.forget(declined[0])
            self.database.complete_deletions(PATIENCE)
        return step

    def phase(self, participant: Participant) -> tuple[Phase, Place]:
        """The participant's phase, and what it knows of them."""
        person = self.database.read(lambda c: self._row(c, participant.number))
        return self._phase(person), place_of(person)

    def guide(self, participant: Participant) -> Guidelines | None:
        """The guidelines that a participant may read now: those of their phase or block, else the last they read."""
        person = self.database.read(lambda c: self._row(c, participant.number))
        phases, here = self._phases(person, self.study.in_language(person.language)), self._index(person)
        before = [phase for phase in phases[: here + 1] if isinstance(phase, Guidelines)]
        phase = phases[min(here, len(phases) - 1)]
        if isinstance(phase, TaskPhase):
            return next((one for one in reversed(before) if phase.block in one.blocks), None)
        return before[-1] if before and person.stage != "consent" else None

    def practice(self, participant: Participant) -> Practice:
        """The item that a participant practises on, at `training`."""
        person = self.database.read(lambda c: self._row(c, participant.number))
        study = self.study.in_language(person.language)
        phase = self._phase(person, study)
        if not isinstance(phase, TrainingPhase):
            raise Refused(sentence("You have no page to answer now."), "conflict")
        index, answers = phase.at(place_of(person))
        part = phase.part.items[index]
        shown = part.item
        if isinstance(shown, str):
            query = select(items.c.record).where(items.c.item == shown)
            shown = json.loads(self.database.read(lambda c: c.execute(query).scalar_one()))
        return Practice(
            position=index + 1,
            items=len(phase.part.items),
            condition=part.condition,
            record=study.shown_item(shown),
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

    def give_practice(self, participant: Participant, answers: Mapping[str, QuestionAnswer]) -> Step:
        """Answers about the item of `practice`; feedback follows, then `confirm`."""
        return self._answer(participant, ("training",), answers)[0]

    def answer_quiz(self, participant: Participant, answers: Sequence[int | None]) -> QuizResult:
        """One attempt: for each question the chosen option, counted from 0, or null. Then ask for `step` again."""
        result = self._answer(participant, ("quiz",), answers)[1]
        if not isinstance(result, QuizResult):
            raise Refused(sentence("You have already taken the quiz."), "conflict")
        return result

    def page(self, participant: Participant, position: int) -> ItemPage:
        """The page at a position (counted from 1) of the current batch; `Refused` for one that does not exist.

        Only while `step` is `item` or `review`; every page up to the first unanswered one may be opened.
        """
        # An address may name any number; the database knows those of 32 bits.
        wanted = {"number": participant.number, "position": min(position, 2**31 - 1)}

        def job(connection: Connection) -> ItemPage:
            opened = connection.execute(OPENED, wanted).one_or_none() or self._row(connection, participant.number)
            step = self._step(connection, opened)
            if step is None or step.kind not in ("item", "review"):
                raise Refused(sentence("You have no page to answer now."), "conflict")
            if not 0 < position <= (step.position or step.pages):
                raise Refused(sentence("There is no such page."), "unknown")
            return item_page(self.study.in_language(opened.language), opened, step)

        page = self.database.read(job)
        if page.seconds_left is not None and self.study.block(page.group).page_seconds:
            self.database.write(lambda c: show(c, page_of(page.token)[0]))
        return page

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
        page, group = page_of(token)
        if not any(group in block.sets for block in self.study.blocks):
            raise Refused(sentence("There is no such page."), "unknown")
        questions, ways = self.study.shown(group, participant.number, page)
        submission = Submission(
            participant.number,
            page,
            group,
            position,
            token,
            checked(questions, answers, ways),
            None if seconds is None else round(min(max(seconds, 0.0), 86_400.0), 3),
            evidence if self.study.plan.evidence else None,
            self.study.block(group).page_seconds,
        )
        return self.database.share(self._save, submission, participant.number)

    def _save(self, connection: Connection, every: Sequence[Submission]) -> list[Submitted | Refused]:
        saved = save(connection, every, self._batches.lease)
        return [
            self._followed(connection, new, one) if isinstance(one, Submitted) else one
            for new, one in zip(every, saved, strict=True)
        ]

    def _followed(self, connection: Connection, new: Submission, saved: Submitted) -> Submitted:
        """A submission with its participant's next step, for which work may have to be reserved again."""
        if saved.late:
            self._drop(connection, self._row(connection, new.participant), new.page)
        elif saved.expired:
            self._renew(connection, self._row(connection, new.participant))
        if saved.step.kind != "full":
            return saved
        return replace(saved, step=self._step(connection, self._row(connection, new.participant)) or saved.step)

    def finish(self, participant: Participant) -> CompletionPath:
        """Makes the block final (possible at `review`) and goes to the next phase; may be repeated after the last.

        Nothing can be changed afterwards. The path is empty while there are further phases.
        """

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "working":
                if not person.pages or person.answered < person.pages:
                    raise Refused(sentence("Some pages are not answered yet."), "conflict")
                drafts.drop(connection, person.number)
                change(connection, person.number, lease=None, deadline=None)
                record(connection, "finished", person.rater, batch=person.batch)
                apply_rules(connection, self.study, self._row(connection, participant.number))
                self._advance(connection, self._row(connection, participant.number))
            elif person.stage != "finished" and (person.place is None or not person.batch or self._reserved(person)):
                raise Refused(sentence("You have nothing to submit yet."), "conflict")

        step = self._change(participant, job)
        return self.completion(participant) if step.kind == "finished" else CompletionPath()

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
            if not self._may_do_more(connection, person):
                raise Refused(sentence("There is no more work for you in this study. Thank you!"), "conflict")
            block = self.study.block(person.question_set)
            if not self._batches.begin(connection, person, block, time.time()):
                raise Refused(sentence("All texts have been judged. Thank you!"), "conflict")
            place = self._place_of(person, block)
            change(connection, person.number, stage="working", finished_at=None, place=place)

        return self._change(participant, job)

    def withdraw(self, participant: Participant) -> Step:
        """Ends participation; answers are deleted or kept as the study says. Unfinished work goes to others.

        The remains in the database's files are removed, too, before this returns or soon after (see `receipt`).
        """

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage == "withdrawn":
                return
            drafts.drop(connection, person.number)
            assignment.free_quotas(connection, [person.number])
            if self.study.plan.withdrawal == "delete":
                erase(connection, person)
                return
            assignment.release(connection, person.number, ["open"], becomes="lapsed")
            change(connection, person.number, stage="withdrawn", lease=None)
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
            if person.stage not in IN_PROGRESS or person.verdict == "excluded":
                return None
            if fields and not (token and already_saved(connection, token)):
                drafts.store(connection, person.number, place, fields)
            if person.lease is None:
                return 0.0
            change(connection, person.number, lease=time.time() + self._batches.lease)
            return self._batches.lease

        return self.database.write(job)

    def draft(self, participant: Participant, place: str) -> dict[str, list[str]]:
        """The draft of a place; empty where there is none."""
        return self.database.read(lambda c: drafts.read(c, participant.number, place))

    def _completion(self, stage: str, source: str, rater: str, *, excluded: bool = False) -> CompletionPath:
        plan = self.study.plan.recruitment
        if stage == "withdrawn":
            return CompletionPath()
        done = stage == "finished"
        if plan.via == "prolific" and source == "prolific":
            own = plan.failed_check_code if excluded else plan.no_consent_code if stage == "declined" else None
            codes = {"finished": plan.completion_code, "full": plan.full_code}
            code = codes.get(stage, own or plan.screen_out_code)
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
