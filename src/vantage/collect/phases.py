"""The kinds of phases that a participant goes through, each a small class: whom it concerns, and what its form does.

`Flow` puts them in order, `participants.ParticipantService` keeps every participant's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Final, Literal

from vantage.collect.answers import check_traits, checked, read
from vantage.collect.blocks import Block, instrument_key, phases_of
from vantage.collect.document import StudyDocument
from vantage.collect.flow_document import (
    BlockPart,
    ConsentPart,
    DebriefingPart,
    GuidelinesPart,
    QuestionnairePart,
    QuizPart,
    RangePart,
    ScreenerPart,
    TrainingPart,
    TraitPart,
)
from vantage.collect.views import QuestionAnswer, QuizResult
from vantage.instruments import Instrument, Question

Move = Literal["stay", "next", "out"]


@dataclass(frozen=True)
class Place:
    """What a phase may know of a participant: their answers about themselves, and what the phase itself stored."""

    traits: Mapping[str, Any]
    state: Mapping[str, Any]
    attempts: int


@dataclass(frozen=True)
class Accepted:
    """What a form led to: stay in the phase, go to the next one, or leave the study with a message."""

    move: Move = "next"
    message: str = ""
    traits: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] | None = None
    attempts: int = 0
    result: Any = None


@dataclass(frozen=True)
class Phase:
    """One phase; its number is its place among all phases of the study."""

    stage: ClassVar[str]
    """Names the phase in the database and in addresses."""
    number: int

    def concerns(self, place: Place) -> bool:
        """Whether there is anything for this participant."""
        return True

    def accept(self, place: Place, given: Any) -> Accepted:
        """What becomes of a form; `InvalidAnswers` where it must be corrected."""
        return Accepted()


@dataclass(frozen=True)
class Consent(Phase):
    """What participants agree to."""

    stage: ClassVar[str] = "consent"
    part: ConsentPart


@dataclass(frozen=True)
class Questionnaire(Phase):
    """Questions about the participant.

    Questions that depend on others of the same phase are asked on a page of their own, so that conditions hold without
    JavaScript.
    """

    stage: ClassVar[str] = "traits"
    part: QuestionnairePart | ScreenerPart

    def asked(self, traits: Mapping[str, Any]) -> tuple[TraitPart, ...]:
        """The questions to ask now: not answered yet, and with their condition met."""
        open_ = [question for question in self.part.questions if question.id not in traits]
        return tuple(q for q in open_ if q.show_if is None or q.show_if.holds(traits))

    def concerns(self, place: Place) -> bool:
        """Whether any question is to be asked."""
        return bool(self.asked(place.traits))

    def accept(self, place: Place, given: Mapping[str, str | Sequence[str]]) -> Accepted:
        """Stores the answers; further questions may depend on them."""
        new = check_traits(self.asked(place.traits), given)
        return Accepted("stay" if self.asked({**place.traits, **new}) else "next", traits=new)


@dataclass(frozen=True)
class Screener(Questionnaire):
    """Questions that decide who takes part."""

    stage: ClassVar[str] = "screener"
    part: ScreenerPart

    def accept(self, place: Place, given: Mapping[str, str | Sequence[str]]) -> Accepted:
        """The first rule that is met ends the study for the participant."""
        accepted = super().accept(place, given)
        answers = {**place.traits, **accepted.traits}
        for rule in self.part.rules:
            if rule.holds(answers):
                return Accepted("out", rule.end, accepted.traits)
        return accepted


@dataclass(frozen=True)
class Guidelines(Phase):
    """The guidelines of an instrument, for the blocks that use it."""

    stage: ClassVar[str] = "guidelines"
    key: str
    """The name of the instrument among those of the study."""
    instrument: Instrument
    blocks: tuple[Block, ...]

    def concerns(self, place: Place) -> bool:
        """Whether the participant has not read them yet."""
        return self.key not in place.state.get("read", [])

    def accept(self, place: Place, given: None) -> Accepted:
        """The participant has read them."""
        return Accepted(state={**place.state, "read": [*place.state.get("read", []), self.key]})


@dataclass(frozen=True)
class TrainingPhase(Phase):
    """Items to practise on; each answer is followed by feedback."""

    stage: ClassVar[str] = "training"
    part: TrainingPart
    instrument: Instrument
    blocks: tuple[Block, ...]

    def questions(self, index: int) -> tuple[Question, ...]:
        """The questions about one of the items."""
        return tuple(self.instrument.question(name) for name in self.part.items[index].accept)

    def stored(self, state: Mapping[str, Any]) -> list[str]:
        """The answers so far, as stored, one per item."""
        given: list[str] = state.get(f"training {self.number}", [])
        return given

    def at(self, place: Place) -> tuple[int, dict[str, QuestionAnswer] | None]:
        """The current item, counted from 0, and the answers to it, if it has been answered."""
        stored = self.stored(place.state)
        if place.state.get("feedback"):
            return len(stored) - 1, read(stored[-1])
        return len(stored), None

    def right(self, index: int, answers: Mapping[str, QuestionAnswer]) -> dict[str, bool]:
        """Which questions about an item are answered rightly."""
        return {name: accepts(accept, answers[name].value) for name, accept in self.part.items[index].accept.items()}

    def accept(self, place: Place, given: Mapping[str, QuestionAnswer] | None) -> Accepted:
        """Answers to the current item, or null to go on after the feedback."""
        index, answered = self.at(place)
        stored = self.stored(place.state)
        if (given is None) != (answered is not None):
            return Accepted("stay")
        if given is not None:
            answers = [*stored, checked(self.questions(index), given)]
            return Accepted("stay", state={**place.state, f"training {self.number}": answers, "feedback": True})
        state = {**place.state, "feedback": False}
        if index + 1 < len(self.part.items):
            return Accepted("stay", state=state)
        right = sum(all(self.right(n, read(text)).values()) for n, text in enumerate(stored))
        return Accepted("next" if right >= (self.part.needed or 0) else "out", state=state)


@dataclass(frozen=True)
class Quiz(Phase):
    """Questions on the guidelines."""

    stage: ClassVar[str] = "quiz"
    part: QuizPart

    def accept(self, place: Place, given: Sequence[int | None]) -> Accepted:
        """One attempt; participants who have used all of them are screened out."""
        questions, attempts = self.part.questions, place.attempts + 1
        answers = [*given, *[None] * len(questions)]
        wrong = tuple(n for n, (q, a) in enumerate(zip(questions, answers, strict=False)) if a != q.answer - 1)
        passed = len(questions) - len(wrong) >= (self.part.needed or len(questions))
        left = max(self.part.attempts - attempts, 0)
        move: Move = "next" if passed else "stay" if left else "out"
        return Accepted(move, attempts=attempts, result=QuizResult(passed, wrong, left))


@dataclass(frozen=True)
class TaskPhase(Phase):
    """A block of items."""

    stage: ClassVar[str] = "working"
    block: Block


@dataclass(frozen=True)
class Debriefing(Phase):
    """What participants learn after the task."""

    stage: ClassVar[str] = "debriefing"
    part: DebriefingPart


def accepts(accept: Sequence[float] | RangePart, value: float | None) -> bool:
    """Whether an answer to an item with known answers passes."""
    if value is None:
        return False
    return accept.from_ <= value <= accept.to if isinstance(accept, RangePart) else value in accept


PLAIN: Final[Mapping[str, Callable[..., Phase]]] = {
    "consent": Consent,
    "screener": Screener,
    "questionnaire": Questionnaire,
    "quiz": Quiz,
    "debriefing": Debriefing,
}
"""The phases that need nothing but their part of the file."""


@dataclass(frozen=True)
class Branches:
    """Several branches of phases in an order of their own."""

    order: Literal["fixed", "random", "counterbalanced"]
    between: bool
    """Whether a participant takes one branch instead of all."""
    of: tuple[tuple[int, ...], ...]

    def chosen(self, used: Mapping[tuple[int, ...], int], left: Callable[[int], float], rng: Random) -> list[int]:
        """The numbers of the phases for the next participant.

        `used` counts the routes of earlier participants, `left` says how much work a phase has.
        """
        if self.between:
            return list(max(self.of, key=lambda branch: (max(map(left, branch)), rng.random())))
        orders = [range(len(self.of))] if self.order != "counterbalanced" else williams(len(self.of))
        routes = [[number for index in order for number in self.of[index]] for order in orders]
        if self.order == "random":
            branches = rng.sample(self.of, len(self.of))
            return [number for branch in branches for number in branch]
        own = {number for branch in self.of for number in branch}
        taken = [[number for number in route if number in own] for route, n in used.items() for _ in range(n)]
        return min(routes, key=lambda route: (taken.count(route), rng.random()))


@dataclass(frozen=True)
class Flow:
    """The phases of a study in the order of its file, and their layout."""

    phases: tuple[Phase, ...]
    layout: tuple[int | Branches, ...]

    def route(self, used: Mapping[tuple[int, ...], int], left: Callable[[int], float], rng: Random) -> list[int]:
        """The numbers of the phases that the next participant goes through, in order."""
        route: list[int] = []
        for part in self.layout:
            route += [part] if isinstance(part, int) else part.chosen(used, left, rng)
        return route

    @property
    def questionnaires(self) -> Iterator[Questionnaire]:
        """The phases that ask about the participant."""
        return (phase for phase in self.phases if isinstance(phase, Questionnaire))


def flow_of(plan: StudyDocument, blocks: tuple[Block, ...], instruments: Mapping[str, Instrument]) -> Flow:
    """The flow that a study file describes.

    The guidelines of an instrument are shown before its first block, unless a phase of the file shows them.
    """
    phases: list[Phase] = []
    layout: list[int | Branches] = []
    by_id = {block.id: block for block in blocks}

    def add(kind: Callable[..., Phase], *parts: object) -> int:
        phases.append(kind(len(phases), *parts))
        return len(phases) - 1

    def guidelines(key: str, part: GuidelinesPart) -> tuple[int, ...]:
        instrument = instruments[key]
        own = tuple(block for block in blocks if block.instrument == instrument)
        numbers = [add(Guidelines, key, instrument, own)]
        if part.training is not None:
            numbers.append(add(TrainingPhase, part.training, instrument, own))
        return tuple(numbers)

    def branch(part: BlockPart) -> tuple[int, ...]:
        key = instrument_key(part)
        # The study's own guidelines stand where the file puts them; those read before are not shown again.
        before = guidelines(key, GuidelinesPart()) if key else ()
        return (*before, add(TaskPhase, by_id[part.id]))

    for phase in phases_of(plan):
        if phase.guidelines:
            layout += guidelines(phase.guidelines.instrument, phase.guidelines)
        elif phase.block:
            layout += branch(phase.block)
        elif phase.blocks:
            of = tuple(branch(part) for part in phase.blocks.of)
            layout.append(Branches(phase.blocks.order, phase.blocks.people == "between", of))
        else:
            layout.append(add(PLAIN[phase.kind], getattr(phase, phase.kind)))
    return Flow(tuple(phases), tuple(layout))


def williams(count: int) -> list[list[int]]:
    """Orders in which every block comes equally often at every position and after every other (Williams 1949).

    >>> williams(2)
    [[0, 1], [1, 0]]
    >>> williams(4)
    [[0, 3, 1, 2], [1, 0, 2, 3], [2, 1, 3, 0], [3, 2, 0, 1]]
    """
    first = [n // 2 if n % 2 == 0 else count - (n + 1) // 2 for n in range(count)]
    orders = [[(place + shift) % count for place in first] for shift in range(count)]
    return orders if count % 2 == 0 else orders + [order[::-1] for order in orders]
