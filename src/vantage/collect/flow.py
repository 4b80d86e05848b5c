"""The flow of a study: its phases, and the order in which a participant goes through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from vantage.collect.blocks import Block, instrument_key, phases_of
from vantage.collect.document import StudyDocument
from vantage.collect.flow_document import BlockPart, GuidelinesPart
from vantage.collect.phases import (
    Consent,
    Debriefing,
    Guidelines,
    Phase,
    Questionnaire,
    Quiz,
    Screener,
    TaskPhase,
    TrainingPhase,
)
from vantage.instruments import Instrument

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
    """The numbers of each branch's phases."""

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

    def first(self, stage: str) -> int:
        """The number of the first phase at a stage; 0 where there is none."""
        return next((phase.number for phase in self.phases if phase.stage == stage), 0)


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
