"""Adaptive allocation of a running study: seats beyond the core go to the items whose answers are known least.

The core is what every item gets (`raters.min`), assigned without a look at any answer (see `assignment`); measures of
the whole study rest on it alone. A seat beyond it has the number `core + turn · items + index`, so that an item has
no more than `raters.max` ratings, whoever hands them out.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, bindparam, func, or_, select
from sqlalchemy.engine import Row

from vantage.adaptive.sequential import AlwaysValid, always_valid
from vantage.adaptive.until import Distributions, Until
from vantage.collect.assignment import ArmAllocation, Reserved
from vantage.collect.document import RatersPart
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import arms, pages, participants, returned, reviews, submissions
from vantage.instruments import Question
from vantage.measures import Floats

OVERLAP: Final = 1000
"""Submissions that are read again, since a transaction may commit after one with a larger number."""

_ANSWERS = (
    select(pages.c.id, pages.c.arm, pages.c.row, pages.c.participant, submissions.c.id, submissions.c.answers)
    .join(submissions, and_(submissions.c.page == pages.c.id, submissions.c.revision == pages.c.revision))
    .where(pages.c.seat.is_not(None), pages.c.state == "answered", submissions.c.id > bindparam("after"))
)
_CHANGED = select(
    select(func.max(reviews.c.id)).scalar_subquery(),
    select(func.count()).where(participants.c.stage == "withdrawn").scalar_subquery(),
)
_HELD = select(pages.c.row, pages.c.seat, pages.c.state).where(
    pages.c.arm == bindparam("arm"),
    pages.c.seat.is_not(None),
    or_(pages.c.seat >= bindparam("core"), pages.c.state == "open"),
)
Answer = tuple[int, int, int, Mapping[str, Any]]
"""Arm, row and participant of a page, and its answers."""


@dataclass(frozen=True, slots=True)
class ArmState:
    """How far the items of an arm are known."""

    condition: str
    questions: tuple[str, ...]
    until: str
    known: int
    """Items that are known well enough."""
    open: int
    """Items that get more ratings."""
    at_most: int
    """Items with the largest number of ratings that are not known well enough."""
    extra: int
    """Ratings given or reserved beyond the core."""
    expected: int
    """Ratings beyond the core that are expected to be wanted still."""


class Adapting:
    """The adaptive part of a study: which items are open, and who gets their next seats."""

    def __init__(self, study: AnnotationStudy, part: RatersPart, allocations: Sequence[ArmAllocation]) -> None:
        self.study, self.part, self.arms = study, part, allocations
        self.until = Until.parse(part.until)
        self._rows = {arm.arm: np.array(arm.rows, dtype=np.int64) for arm in allocations}
        self._answers: dict[int, Answer] = {}
        self._counts: dict[tuple[int, str], Floats] = {}
        self._last, self._changed = 0, (None, 0)
        self._lock = threading.Lock()

    def reserve(
        self, connection: Connection, person: Row[Any], wanted: Mapping[int, int], had: Sequence[Reserved]
    ) -> list[Reserved]:
        """Seats beyond the core for what is still wanted per arm; the arms are locked."""
        if not self.until.by_item:
            return []
        mine = select(pages.c.row).where(pages.c.participant == person.number, pages.c.row.is_not(None))
        taken = {*connection.execute(mine).scalars(), *(one.row for one in had)}
        reserved: list[Reserved] = []
        for number, count in wanted.items():
            missing = count - sum(one.arm == number for one in had)
            reserved += self._reserve(connection, number, person, taken, missing)
        for number in wanted:
            missing = sum(wanted.values()) - len(had) - len(reserved)
            reserved += self._reserve(connection, number, person, taken, missing)
        for one in reserved:
            given = and_(returned.c.arm == one.arm, returned.c.seat == one.seat)
            connection.execute(returned.delete().where(given))
        return reserved

    def _reserve(
        self, connection: Connection, number: int, person: Row[Any], taken: set[int], count: int
    ) -> list[Reserved]:
        if count <= 0:
            return []
        core: int = connection.execute(select(arms.c.seats).where(arms.c.arm == number)).scalar_one()
        state = self._state(connection, number)
        gain = np.where(state.open, state.gain, -1.0)
        if self.part.balance:
            unseen = ~self._seen(connection, number, _traits(person.traits))
            # A perspective that has not seen an item comes before all others.
            gain = np.where(unseen & state.free, 1.0 + state.gain, gain)
        rows = self._rows[number]
        gain[np.isin(rows, list(taken))] = -1.0
        rng = np.random.default_rng([self.study.plan.order.seed, person.number, person.batch, number])
        order = np.lexsort((rng.random(len(gain)), -gain))
        made = []
        for index in (int(index) for index in order[:count] if gain[index] >= 0):
            turn = next(turn for turn in range(self.part.extra) if (index, turn) not in state.turns)
            seat = core + turn * len(rows) + index
            made.append(Reserved(number, seat, int(rows[index]), self.study.block_of_arm(number).condition(number)))
        taken.update(one.row for one in made)
        return made

    def work_left(self, connection: Connection) -> bool:
        """Whether any item is open beyond the core."""
        if not self.until.by_item:
            return False
        for arm in self.arms:
            state = self._state(connection, arm.arm)
            if state.open.any():
                return True
            for trait in self.study.traits:
                for value in trait.options if trait.id in self.part.balance else ():
                    seen = self._seen(connection, arm.arm, {trait.id: value}, trait.id)
                    if (state.free & ~seen).any():
                        return True
        return False

    def enough(self, connection: Connection) -> bool:
        """Whether the study's estimate is known well enough, so that nobody gets new work."""
        if self.until.by_item:
            return False
        for arm in connection.execute(select(arms)):
            if arm.next_seat < self.arms[arm.arm].pool * self.part.min:
                return False
        with self._lock:
            self._read(connection)
            answers = list(self._answers.values())
        return all(
            self._alpha(arm, question, answers).more == 0 for arm in self.arms for question in self._questions(arm.arm)
        )

    def _alpha(self, arm: ArmAllocation, question: Question, answers: Sequence[Answer]) -> AlwaysValid:
        given = [
            (row, who, answer[question.id][0])
            for number, row, who, answer in answers
            if number == arm.arm and question.id in answer and answer[question.id][0] is not None
        ]
        table = np.array(given, dtype=np.float64).reshape(-1, 3)
        unit, rater = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
        return always_valid(unit, rater, table[:, 2], question.scale.level, aim=self.until.target, items=arm.pool)

    def avoid(self, connection: Connection, person: Row[Any], wanted: Mapping[int, int]) -> set[int]:
        """Items that participants with the same traits have been assigned, where a study is balanced."""
        if not self.part.balance or not person.traits:
            return set()
        seen = [set(self._rows[n][self._seen(connection, n, _traits(person.traits))].tolist()) for n in wanted]
        return set.intersection(*seen)

    def arm_states(self, connection: Connection) -> list[ArmState]:
        """How far the items of every arm are known."""
        states = []
        for arm in self.arms if self.until.by_item else ():
            state = self._state(connection, arm.arm)
            wide = self.until.open(state.now)
            stuck = int((wide & ~state.free).sum())
            states.append(
                ArmState(
                    self.study.block_of_arm(arm.arm).condition(arm.arm),
                    tuple(question.id for question in self._questions(arm.arm)),
                    str(self.until),
                    int((~wide).sum()),
                    int(wide.sum()) - stuck,
                    stuck,
                    len(state.turns),
                    round(float((self.until.missing(state.soon, self.part.max) * state.open).sum())),
                )
            )
        return states

    def _state(self, connection: Connection, number: int) -> _State:
        with self._lock:
            self._read(connection)
            now = [Distributions(counts.copy()) for (arm, _), counts in self._counts.items() if arm == number]
        core: int = connection.execute(select(arms.c.seats).where(arms.c.arm == number)).scalar_one()
        size = len(self._rows[number])
        turns, reserved = set(), np.zeros(size)
        for row, seat, state in connection.execute(_HELD, {"arm": number, "core": core}):
            index = self._index(number, row)
            if seat >= core:
                turns.add((index, (seat - core) // size))
            reserved[index] += state == "open"
        # Ratings that are on their way count as if they were like those that are expected.
        soon = [Distributions(known.counts + reserved[:, None] * known.expected) for known in now]
        free = np.bincount([index for index, _ in turns], minlength=size) < self.part.extra
        return _State(now, soon, self.until.open(soon) & free, self.until.gain(soon), free, turns)

    def _seen(
        self, connection: Connection, number: int, traits: Mapping[str, Any], only: str | None = None
    ) -> NDArray[np.bool_]:
        """Which items have been assigned to someone with these values of all traits that are balanced."""
        held = (
            select(pages.c.row, participants.c.traits)
            .join(participants, participants.c.number == pages.c.participant)
            .where(pages.c.arm == number, pages.c.seat.is_not(None), participants.c.traits.is_not(None))
        )
        balanced = [only] if only else list(self.part.balance)
        seen = np.zeros((len(balanced), len(self._rows[number])), dtype=np.bool_)
        for row, text in connection.execute(held):
            theirs, index = _traits(text), self._index(number, row)
            for which, trait in enumerate(balanced):
                seen[which, index] |= theirs.get(trait) == traits.get(trait)
        return np.asarray(seen.all(axis=0))

    def _read(self, connection: Connection) -> None:
        """Adds new answers; reads all again after a decision about a rater or a withdrawal."""
        changed = tuple(connection.execute(_CHANGED).one())
        if changed != self._changed or not self._counts:
            self._answers, self._last, self._changed = {}, 0, changed
            self._counts = {
                (arm.arm, question.id): np.zeros((arm.pool, len(_options(question))))
                for arm in self.arms
                for question in self._questions(arm.arm)
            }
        for page, arm, row, who, number, text in connection.execute(_ANSWERS, {"after": self._last - OVERLAP}):
            given = (arm, row, who, json.loads(text))
            if self._answers.get(page) != given:
                self._count(self._answers.get(page), -1)
                self._count(given, 1)
                self._answers[page] = given
            self._last = max(self._last, number)

    def _count(self, answer: Answer | None, sign: int) -> None:
        if answer is None or not self.until.by_item:
            return
        arm, row, _, given = answer
        for question in self._questions(arm):
            if question.id in given:
                value, status = given[question.id][:2]
                column = _options(question).index(status if value is None else value)
                self._counts[arm, question.id][self._index(arm, row), column] += sign

    def _index(self, arm: int, row: int) -> int:
        return int(np.searchsorted(self._rows[arm], row))

    def _questions(self, arm: int) -> tuple[Question, ...]:
        asked = self.study.group(self.study.block_of_arm(arm).set_of(arm))
        return tuple(question for question in asked if question in self.study.rated)


@dataclass(frozen=True, slots=True)
class _State:
    now: Sequence[Distributions]
    soon: Sequence[Distributions]
    open: NDArray[np.bool_]
    gain: Floats
    free: NDArray[np.bool_]
    turns: set[tuple[int, int]]


def _options(question: Question) -> list[Any]:
    return [*question.scale.codes, *(opt_out.status for opt_out in question.scale.opt_outs)]


def _traits(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}
