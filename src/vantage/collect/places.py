"""Where participants are in the flow of a study: their phase, how they move on, and what they should see now."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final, cast

from sqlalchemy import Connection, bindparam, func, select
from sqlalchemy.engine import Row

from vantage.collect import assignment, drafts
from vantage.collect.blocks import Block
from vantage.collect.database import StudyDatabase
from vantage.collect.languages import sentence
from vantage.collect.phases import Phase, Place, Quiz, TaskPhase, TrainingPhase
from vantage.collect.study import AnnotationStudy
from vantage.collect.submissions import GRACE
from vantage.collect.tables import change, pages, participants, record
from vantage.collect.views import Participant, Refused, Step, StepKind

IN_PROGRESS: Final = ("consent", "screener", "traits", "guidelines", "training", "quiz", "working", "debriefing")
_BY_NUMBER = select(participants).where(participants.c.number == bindparam("number"))
_LOCKED = _BY_NUMBER.with_for_update()


class ParticipantPlaces:
    """Keeps the participants' places: each is an index into the participant's own ordered phases."""

    def __init__(self, database: StudyDatabase) -> None:
        self.database, self.study = database, database.study
        self._batches = database.batches

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
                self._catch_up(connection, person)
                step = self._step(connection, self._row(connection, participant.number))
            return step or Step("full")

        return self.database.write(whole)

    def _answer(self, participant: Participant, stages: Sequence[str], given: Any) -> tuple[Step, Any]:
        """Hands a form to the participant's phase, if it is at one of the stages; the next step, and what it shows."""
        result: list[Any] = [None]

        def job(connection: Connection, person: Row[Any]) -> None:
            if person.stage not in stages:
                return
            place = place_of(person)
            accepted = self._phase(person).accept(place, given)
            result[0] = accepted.result
            traits = {**place.traits, **accepted.traits}
            state = {**(place.state if accepted.state is None else accepted.state)}
            values: dict[str, Any] = {"attempts": accepted.attempts or person.attempts}
            if accepted.traits:
                values["traits"] = json.dumps(traits)
                drafts.drop(connection, person.number)
            if accepted.move == "out":
                self._leave(connection, person, "screened_out", {**state, "message": accepted.message}, **values)
            elif accepted.traits and not self._admitted(connection, person, traits):
                self._leave(connection, person, "full", state, **values)
            else:
                change(connection, person.number, state=json.dumps(state), **values)
                if accepted.traits and not self._balanced(connection, person):
                    self._leave(connection, person, "full", {}, place=None, route=None)
                elif accepted.move == "next":
                    self._advance(connection, self._row(connection, person.number))

        return self._change(participant, job), result[0]

    def _balanced(self, connection: Connection, person: Row[Any]) -> bool:
        """Reserves the batch anew where it depends on traits that are known now; false where nothing is left."""
        adaptive = self.study.plan.adaptive
        if adaptive is None or not adaptive.balance or not self._reserved(person):
            return True
        again = self._row(connection, person.number)
        return self._batches.begin_again(connection, again, self.study.block(person.question_set), time.time())

    def _admitted(self, connection: Connection, person: Row[Any], traits: Mapping[str, Any]) -> bool:
        return assignment.take_quotas(connection, self.study.plan.quotas, person.number, traits)

    def _leave(
        self, connection: Connection, person: Row[Any], stage: str, state: Mapping[str, Any], **values: Any
    ) -> None:
        """Ends the study for a participant before its end; reserved work goes to others."""
        assignment.release(connection, person.number, ["open"], becomes="lapsed")
        assignment.free_quotas(connection, [person.number])
        if stage == "screened_out":
            record(connection, "screened_out", person.rater, rule=person.stage)
        change(
            connection,
            person.number,
            **{"stage": stage, "state": json.dumps(state), "lease": None, "deadline": None, **values},
        )

    def _advance(self, connection: Connection, person: Row[Any]) -> None:
        """Moves a participant to the next phase that concerns them, or to the end."""
        phases, first, now = self._phases(person), self._index(person) + 1, time.time()
        for place, phase in enumerate(phases[first:], first):
            deadline = None
            if isinstance(phase, TaskPhase):
                block = phase.block
                reserved = person.question_set is not None and person.question_set in block.sets
                if not reserved and not self._batches.begin(connection, person, block, now):
                    continue
                deadline = now + block.seconds if block.seconds else None
            elif not phase.concerns(place_of(person)):
                continue
            change(connection, person.number, stage=phase.stage, place=place, attempts=0, deadline=deadline)
            return
        end: dict[str, Any] = {"lease": None, "deadline": None, "finished_at": now}
        change(connection, person.number, stage="finished", place=len(phases), **end)

    def _route(self, connection: Connection, person: Row[Any]) -> list[int]:
        """A route for a new participant, balanced with those of the others who take part."""
        if all(isinstance(part, int) for part in self.study.flow.layout):
            return list(range(len(self.study.flow.phases)))
        state = assignment.lock_arms(connection)
        taking = select(participants.c.route, func.count()).where(
            participants.c.route.is_not(None), participants.c.stage.in_((*IN_PROGRESS, "finished"))
        )
        used = {
            tuple(json.loads(route)): count
            for route, count in connection.execute(taking.group_by(participants.c.route))
        }

        def left(number: int) -> float:
            phase = self.study.flow.phases[number]
            return assignment.left([state[arm] for arm in phase.block.arms]) if isinstance(phase, TaskPhase) else 0.0

        seed = f"{self.study.plan.order.seed}:{person.number}:route"
        return self.study.flow.route(used, left, Random(seed))  # noqa: S311 - order, not secrecy

    def _phases(self, person: Row[Any], study: AnnotationStudy | None = None) -> Sequence[Phase]:
        """The participant's phases, as they are in a language of the study; all of them before they have a route."""
        every = (study or self.study).flow.phases
        return [every[number] for number in json.loads(person.route)] if person.route else every

    def _index(self, person: Row[Any]) -> int:
        return person.place or 0

    def _phase(self, person: Row[Any], study: AnnotationStudy | None = None) -> Phase:
        phases = self._phases(person, study)
        return phases[min(self._index(person), len(phases) - 1)]

    def _share(self, person: Row[Any]) -> float:
        """How much of the study lies behind a participant, by the pages of their phases."""
        phases, here = self._phases(person), self._index(person)
        sizes, within = [self._pages(phase) for phase in phases], 0
        if person.stage == "working":
            sizes[here], within = max(person.pages, 1), person.answered
        elif isinstance(phase := self._phase(person), TrainingPhase):
            within = phase.at(place_of(person))[0]
        return round((sum(sizes[:here]) + within) / sum(sizes), 3)

    def _pages(self, phase: Phase) -> int:
        if isinstance(phase, TrainingPhase):
            return len(phase.part.items)
        if not isinstance(phase, TaskPhase):
            return 1
        block = phase.block
        items = block.selection.sample if block.repeats else self._batches.arms[block.first_arm].pool
        return min(block.size, items or block.size) + sum(
            tests.per_batch for tests in (block.attention, block.gold_plan) if tests is not None
        )

    def _place_of(self, person: Row[Any], block: Block) -> int:
        phases = enumerate(self._phases(person))
        return next(place for place, phase in phases if isinstance(phase, TaskPhase) and phase.block == block)

    def _reserved(self, person: Row[Any]) -> bool:
        """Whether the participant's current batch is not final yet."""
        if person.question_set is None:
            return False
        return self._index(person) <= self._place_of(person, self.study.block(person.question_set))

    def _catch_up(self, connection: Connection, person: Row[Any]) -> None:
        """Ends a block whose time is over, or reserves work again for a participant whose reservation expired."""
        if over(person):
            assignment.release(connection, person.number, ["open"], becomes="lapsed")
            change(connection, person.number, lease=None, deadline=None)
            self._advance(connection, self._row(connection, person.number))
            return
        if self._admitted(connection, person, place_of(person).traits):
            self._renew(connection, person)
        else:
            self._leave(connection, person, "full", place_of(person).state)

    def _drop(self, connection: Connection, person: Row[Any], number: int) -> None:
        """Takes a page whose time is over out of a participant's batch; its item goes to others."""
        assignment.release(connection, person.number, ["open"], becomes="lapsed", page=number)
        self._batches.drop(connection, connection.execute(select(pages).where(pages.c.id == number)).one())
        change(connection, person.number, pages=person.pages - 1)
        if person.pages == 1:
            change(connection, person.number, lease=None, deadline=None)
            self._advance(connection, self._row(connection, person.number))

    def _renew(self, connection: Connection, person: Row[Any]) -> None:
        """Reserves work again for a participant whose reservation expired; `full` where none is left."""
        self._batches.renew(connection, person, time.time())
        own = (pages.c.participant == person.number, pages.c.batch == person.batch, pages.c.kind == "item")
        left = select(pages.c.id).where(*own, pages.c.position > 0, pages.c.state != "lapsed").limit(1)
        if connection.execute(left).first() is None:
            self._leave(connection, person, "full", {}, place=None, route=None)

    def _step(self, connection: Connection, person: Row[Any]) -> Step | None:
        """A participant's step; null where work must be reserved again first, which needs a write."""
        stage = person.stage
        if person.verdict == "excluded" and stage in IN_PROGRESS:
            return Step("screened_out")
        returns = stage == "full" and person.place is None
        if (stage in IN_PROGRESS or returns) and self.database.is_paused(connection):
            return Step("paused")
        if stage == "consent" or returns:
            begun = person.batch > 0
            return Step("consent") if self._batches.work_left(connection, time.time()) else Step("full", lapsed=begun)
        if stage in IN_PROGRESS and ((person.lease is None and self._reserved(person)) or over(person)):
            return None
        left = None if person.lease is None else max(person.lease - time.time(), 0.0)
        if stage == "working":
            ends = None if person.deadline is None else person.deadline - time.time()
            step = Step.in_batch(person.pages, person.answered)
            return replace(step, left=left, seconds_left=ends, share=self._share(person))
        if stage == "finished":
            return Step("finished", more=self._may_do_more(connection, person))
        if stage == "quiz":
            phase = self._phase(person)
            assert isinstance(phase, Quiz)  # noqa: S101
            attempts = phase.part.attempts - person.attempts
            return Step("quiz", attempts_left=attempts, left=left, share=self._share(person))
        share = self._share(person) if stage in IN_PROGRESS else 0.0
        return Step(cast("StepKind", stage), message=place_of(person).state.get("message", ""), left=left, share=share)

    def _may_do_more(self, connection: Connection, person: Row[Any]) -> bool:
        """Whether a participant who has finished may go on, and there are items that they have not seen."""
        most = self.study.plan.batch.per_participant
        if person.stage != "finished" or person.verdict == "excluded" or person.batch >= most:
            return False
        own = select(func.count()).where(pages.c.participant == person.number, pages.c.kind == "item")
        seen: int = connection.execute(own).scalar_one()
        return seen < self._batches.arms[0].pool and self._batches.work_left(connection, time.time())


def place_of(person: Row[Any]) -> Place:
    """What a phase may know of a participant."""
    traits = json.loads(person.traits) if person.traits else {}
    return Place(traits, json.loads(person.state), person.attempts)


def over(person: Row[Any]) -> bool:
    """Whether the time for a participant's block is over."""
    return bool(person.stage == "working" and person.deadline and time.time() > person.deadline + GRACE)
