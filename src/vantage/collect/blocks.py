"""Blocks: an instrument, a selection of items and the conditions under which a participant judges them.

Nothing is stored to know which presentation of the questions a participant gets: the seed of the study, the
participant's number and the page decide. What was shown is stored with every answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from random import Random
from typing import TypeAlias

import polars as pl

from vantage.collect.assignment import ArmAllocation
from vantage.collect.document import StudyDocument
from vantage.collect.flow_document import (
    AttentionPart,
    BlockPart,
    DoublePart,
    GoldItemPart,
    GoldPart,
    PhasePart,
    PresentationPart,
    Questions,
    RangePart,
    SelectionPart,
)
from vantage.collect.views import QuestionAnswer
from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Check, Instrument, Question, grouped
from vantage.presentations import PLAIN, Presentation, seeded

Shown: TypeAlias = tuple[tuple[Question, ...], tuple[Presentation, ...]]
"""Questions as they are shown, in their order on the page, and how each is put."""


def assigned(part: PresentationPart | None, seed: int, participant: int, page: int = 0) -> Presentation:
    """The presentation of a participant, or of one of their pages.

    Combinations of levels are given out in shuffled blocks, so that each is used equally often.

    >>> part = PresentationPart(order=["up", "down"])
    >>> sorted(str(assigned(part, 0, number)) for number in (1, 2, 3, 4))
    ['order=down', 'order=down', 'order=up', 'order=up']
    """
    if part is None:
        return PLAIN
    levels = part.levels
    cells = [dict(zip(levels, chosen, strict=True)) for chosen in product(*levels.values())]
    block, place = divmod((page if part.drawn == "page" else participant) - 1, len(cells))
    seeded(seed, "presentation", block).shuffle(cells)
    return Presentation(**cells[place])


def shown(
    part: PresentationPart | None, seed: int, questions: Sequence[Question], participant: int, page: int
) -> Shown:
    """The questions as a participant sees them on a page."""
    if part is None:
        return tuple(questions), (PLAIN,) * len(questions)
    way = assigned(part, seed, participant, page)
    key = (seed, participant, page) if part.drawn == "page" else (seed, participant)
    asked = way.arranged(questions, *key)
    ways = tuple(way.drawn(question, *key) for question in asked)
    return tuple(one.shown(question) for question, one in zip(asked, ways, strict=True)), ways


def decoded(answers: Mapping[str, QuestionAnswer], seen: Shown) -> dict[str, QuestionAnswer]:
    """Answers as they were given in the codes of the questions, and vice versa."""
    turned = dict(answers)
    for question, way in zip(*seen, strict=True):
        answer = answers.get(question.id)
        if answer is not None and answer.value is not None:
            turned[question.id] = replace(answer, value=way.decoded(question, answer.value))
    return turned


MAIN = "main"


@dataclass(frozen=True)
class Block:
    """A block with everything that it takes from the study.

    Question sets and arms (a condition with a question set) are numbered through all blocks of a study.
    """

    id: str
    title: str
    instrument: Instrument
    selection: SelectionPart
    conditions: tuple[str, ...]
    """`("",)` for a block without conditions."""
    within: bool
    """Whether a participant works under all conditions."""
    question_sets: tuple[tuple[str, ...], ...]
    """The questions shown together on a page; a participant gets one of the sets."""
    raters: int
    double: DoublePart | None
    size: int
    fixed: bool
    """Whether items are shown in the order of the corpus."""
    seed: int
    presentation: PresentationPart | None
    attention: AttentionPart | None
    gold_plan: GoldPart | None
    comments: bool
    seconds: float | None
    """The time limit of the block."""
    page_seconds: float | None
    first_set: int
    first_arm: int

    @property
    def repeats(self) -> str | None:
        """The block whose items are judged again here."""
        return self.selection.same_as

    @cached_property
    def sets(self) -> range:
        """The numbers of the question sets."""
        return range(self.first_set, self.first_set + len(self.question_sets))

    @cached_property
    def arms(self) -> range:
        """The numbers of the arms: each question set has one arm per condition."""
        return range(self.first_arm, self.first_arm + len(self.question_sets) * len(self.conditions))

    def condition(self, arm: int) -> str:
        """The condition of an arm."""
        return self.conditions[(arm - self.first_arm) % len(self.conditions)]

    def set_of(self, arm: int) -> int:
        """The question set of an arm."""
        return self.first_set + (arm - self.first_arm) // len(self.conditions)

    def arms_of(self, question_set: int) -> list[int]:
        """The arms of a question set, one per condition."""
        return [arm for arm in self.arms if self.set_of(arm) == question_set]

    @cached_property
    def groups(self) -> tuple[tuple[Question, ...], ...]:
        """The question sets with the instrument's questions, and room for a comment where the block has that."""
        asked = tuple(tuple(self.instrument.question(name) for name in group) for group in self.question_sets)
        if not self.comments:
            return asked
        return tuple(
            tuple(replace(q, rationale="optional") if q.rationale == "no" else q for q in group) for group in asked
        )

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The questions of all sets."""
        return tuple(dict.fromkeys(name for group in self.question_sets for name in group))

    @cached_property
    def checks(self) -> Mapping[str, Check]:
        """The attention checks in use, by id."""
        if self.attention is None:
            return {}
        known = {check.id: check for check in self.instrument.checks}
        if not self.attention.checks:
            return known
        chosen = (
            known.get(one) if isinstance(one, str) else Check(one.id, one.instruction, one.question, tuple(one.accept))
            for one in self.attention.checks
        )
        return {check.id: check for check in chosen if check is not None}

    @cached_property
    def gold(self) -> Mapping[str, GoldItemPart]:
        """The gold items by their id."""
        return {part.item: part for part in self.gold_plan.items} if self.gold_plan else {}

    def accepted(self, kind: str, check: str) -> Mapping[str, Sequence[float] | RangePart]:
        """The answers that pass an attention check or a gold item, by question, in the codes of the question."""
        if kind == "gold":
            return self.gold[check].accept if check in self.gold else {}
        asked = self.checks.get(check) if kind == "attention" else None
        return {asked.question: asked.accept} if asked else {}

    def allocation(self, arm: int, rows: Sequence[int]) -> ArmAllocation:
        """The seats of one of the block's arms, for the rows of its items."""
        share, extra = (self.double.share, self.double.raters - self.raters) if self.double else (0.0, 0)
        return ArmAllocation(rows, self.raters, self.seed, arm, share, extra, self.fixed)

    def rows(self, corpus: Corpus, apart: Collection[str]) -> Sequence[int]:
        """The rows of the block's items, ascending: all but those kept apart, or what its selection leaves."""
        rows, sample = selected(self.selection, corpus, apart), self.selection.sample
        if sample is None:
            return rows
        if sample > len(rows):
            raise InputError(f"{sample} items are asked for, but there are {len(rows)}", remedy="ask for fewer")
        return sorted(Random(f"{self.seed}:{self.id}:sample").sample(rows, sample))  # noqa: S311 - not secrecy

    def presented(self, participant: int) -> Presentation:
        """How a participant is shown what is the same on all pages; plainly where every page differs."""
        part = self.presentation
        return PLAIN if part is None or part.drawn == "page" else assigned(part, self.seed, participant)


def blocks_of(plan: StudyDocument, instruments: Mapping[str, Instrument]) -> tuple[Block, ...]:
    """The blocks of a study in the order of its file, with instruments by `instrument_key`."""
    made: dict[str, Block] = {}
    sets = arms = 0
    for part in (part for phase in phases_of(plan) for part in phase.blocks_here):
        own = bool(part.instrument)  # what the study says about its questions concerns its own instrument only
        instrument = instruments[instrument_key(part)]
        selection = part.items if isinstance(part.items, SelectionPart) else SelectionPart(where={})
        source = made.get(selection.same_as or "")
        conditions = part.conditions or (None if own or part.condition or source else plan.conditions)
        asked: Questions = part.questions or ("together" if own else plan.questions)
        if source is not None and part.questions is None and source.instrument == instrument:
            asked = [list(group) for group in source.question_sets]
        block = made[part.id] = Block(
            id=part.id,
            title=part.title,
            instrument=instrument,
            selection=selection,
            conditions=tuple(conditions.names) if conditions else (part.condition,),
            within=conditions is not None and bool(conditions.within),
            question_sets=question_sets(asked, instrument),
            raters=part.raters or plan.core,
            double=None if own or source else plan.double,
            size=part.batch or plan.batch.size,
            fixed=(part.order or plan.order.items) == "fixed",
            seed=plan.order.seed,
            presentation=part.presentation or (None if own else plan.presentation),
            attention=part.attention or (None if own else plan.attention),
            gold_plan=part.gold or (None if own else plan.gold),
            comments=part.comments,
            seconds=part.minutes * 60 if part.minutes else None,
            page_seconds=part.page_minutes * 60 if part.page_minutes else None,
            first_set=sets,
            first_arm=arms,
        )
        sets, arms = block.sets.stop, block.arms.stop
    return tuple(made.values())


def phases_of(plan: StudyDocument) -> tuple[PhasePart, ...]:
    """The phases of a study; a file without a flow has those that its keys imply."""
    if plan.flow:
        return plan.flow
    phases = [
        {"consent": {}},
        *([{"questionnaire": {"questions": plan.traits}}] if plan.traits else []),
        {"guidelines": {}},
        *([{"quiz": plan.quiz}] if plan.quiz else []),
        {"block": {"id": MAIN}},
    ]
    return tuple(PhasePart.model_validate(phase) for phase in phases)


def instrument_key(part: BlockPart) -> str:
    """The name of a block's instrument among those of the study; empty for the study's own."""
    return " ".join([part.instrument, *(f"{name}={value}" for name, value in sorted(part.parameters.items()))])


def question_sets(asked: Questions, instrument: Instrument) -> tuple[tuple[str, ...], ...]:
    """The sets of questions that are shown together.

    >>> question_sets("one per participant", Instrument.load("warmth-competence"))
    (('trust',), ('sociability',), ('competence',))
    """
    every = tuple(question.id for question in instrument.questions)
    if asked == "together":
        return (every,)
    if isinstance(asked, str):
        return tuple(tuple(question.id for question in group) for group in grouped(instrument.questions))
    parts: dict[str, list[str]] = {}  # the questions about the options of one
    for question in instrument.questions:
        parts.setdefault(question.whole.id if question.whole else question.id, []).append(question.id)
    return tuple(tuple(id_ for name in group for id_ in parts.get(name, [name])) for group in asked)


def selected(selection: SelectionPart, corpus: Corpus, apart: Collection[str]) -> Sequence[int]:
    """The rows that a selection leaves before anything is drawn from them."""
    items = corpus.scan("items")
    columns = items.collect_schema()
    table = items.select("item", *(name for name in selection.where if name in columns and name != "item")).collect()
    if not (selection.where or selection.ids or apart):
        return range(len(table))
    kept = ~pl.col("item").is_in(list(apart))
    for name, wanted in selection.where.items():
        if name not in columns:
            raise InputError(f"the items have no column '{name}'", remedy=nearest(name, columns.names()))
        values = wanted if isinstance(wanted, list) else [wanted]
        if columns[name].is_numeric():
            numbers = [float(value) for value in values if not isinstance(value, str)]
            kept &= pl.col(name).cast(pl.Float64).is_in(numbers)
        else:
            kept &= pl.col(name).cast(pl.String).is_in([str(value) for value in values])
    if selection.ids:
        unknown = [item for item in selection.ids if item not in set(table["item"])]
        if unknown:
            raise InputError(f"the corpus has no item '{unknown[0]}'", remedy="check 'ids'")
        kept &= pl.col("item").is_in(list(selection.ids))
    return table.with_row_index("row").filter(kept)["row"].to_list()


def spaced(rows: Sequence[int], between: int, distance: int, choose: Random) -> list[int]:
    """A random order for rows that were shown in the given order, with `between` pages since the last of them.

    At least `distance` pages lie between the two times that a row is shown, where that is possible.

    >>> spaced([1, 2, 3], 0, 2, Random(1))
    [1, 2, 3]
    """
    count, order, waiting = len(rows), list[int](), dict(enumerate(rows, 1))
    for position in range(1, count + 1):
        far = [place for place in waiting if count - place + between + position - 1 >= distance]
        order.append(waiting.pop(choose.choice(far or [min(waiting)])))
    return order
