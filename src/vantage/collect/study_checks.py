"""Checks that what a study file says about a block fits its instrument and its items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from vantage.adaptive.until import Until
from vantage.collect.blocks import Block, phases_of
from vantage.collect.document import StudyDocument
from vantage.collect.flow_document import BlockPart, BlocksPart, RangePart
from vantage.corpora import Corpus
from vantage.corpora.disclosure import TECHNICAL
from vantage.documents import Document, Loc
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.presentations import FACTORS, Presentation, levels
from vantage.scales import Scale, show_code

TAKEN: Final = ("rater", "kind", *TECHNICAL)


class StudyChecks:
    """Notes problems of a study file at their places."""

    def __init__(self, document: Document, plan: StudyDocument) -> None:
        self.document, self.plan = document, plan

    def note(self, loc: Loc, message: str) -> None:
        """Notes a problem."""
        self.document.problem(self.document.original(loc), message)

    def known(self, loc: Loc, name: str, known: Sequence[str], what: str) -> bool:
        """Whether a name is known; a problem where it is not."""
        if name not in known:
            self.note(loc, f"unknown {what} '{name}'; {nearest(name, known)}")
        return name in known

    def unique(self, loc: Loc, names: Sequence[str], what: str) -> None:
        """Notes names that occur twice."""
        for index, name in enumerate(names):
            if name in names[:index]:
                self.note((*loc, index), f"duplicate {what} '{name}'")

    def accepted(self, loc: Loc, instrument: Instrument, question: str, accept: Sequence[float] | RangePart) -> None:
        """Checks that codes, or the ends of a range, are on the scale of a question."""
        if self.known(loc, question, [q.id for q in instrument.questions], "question"):
            scale: Scale = instrument.question(question).scale
            inside = isinstance(accept, RangePart)
            for code in [accept.from_, accept.to] if isinstance(accept, RangePart) else accept:
                if not (scale.ends[0] <= code <= scale.ends[1] if inside else scale.holds(code)):
                    self.note(loc, f"{show_code(code)} is not on the scale {scale.describe()}")

    def known_answers(
        self, loc: Loc, instrument: Instrument, accept: Mapping[str, Sequence[float] | RangePart], condition: str
    ) -> None:
        """Checks the accepted answers to an item, and the condition it is shown under."""
        for question, given in accept.items():
            self.accepted((*loc, "accept", question), instrument, question, given)
        if condition:
            self.known((*loc, "condition"), condition, list(instrument.conditions), "condition")


def placed_blocks(plan: StudyDocument) -> Iterator[tuple[BlockPart, Loc, BlocksPart | None]]:
    """The blocks with their places in the file and their group; a file without a flow is itself the only block."""
    for index, phase in enumerate(phases_of(plan)):
        if phase.block:
            yield phase.block, ("flow", index, "block") if plan.flow else (), None
        for number, part in enumerate(phase.blocks.of if phase.blocks else ()):
            yield part, ("flow", index, "blocks", "of", number), phase.blocks


class BlockChecks(StudyChecks):
    """Checks what a block says, itself or through the study, against its instrument."""

    def __init__(self, whole: StudyChecks, block: Block, part: BlockPart, loc: Loc) -> None:
        super().__init__(whole.document, whole.plan)
        self.block, self.part, self.loc, self.instrument = block, part, loc, block.instrument

    def at(self, key: str) -> Loc:
        """Where the file says something that holds for the block: in the block, or at the top."""
        return (key,) if getattr(self.part, key) is None else (*self.loc, key)

    def run(self, corpus: Corpus | None, rows: Sequence[int]) -> None:
        """Reports every problem."""
        part, conditions = self.part, [name for name in self.block.conditions if name]
        if part.condition:
            self.known((*self.loc, "condition"), part.condition, list(self.instrument.conditions), "condition")
        elif conditions:
            way = "within" if self.block.within else "between"
            loc = (*self.at("conditions"), way)
            self.unique(loc, conditions, "condition")
            for index, name in enumerate(conditions):
                self.known((*loc, index), name, list(self.instrument.conditions), "condition")
        asked = part.questions or self.plan.questions
        whole = True
        if not isinstance(asked, str) and (part.questions or not part.instrument):
            for index, group in enumerate(asked):
                self.unique((*self.at("questions"), index), group, "question")
                for name in group:
                    ids = [question.id for question in self.instrument.questions]
                    ids += dict.fromkeys(one.whole.id for one in self.instrument.questions if one.whole)
                    whole &= self.known((*self.at("questions"), index), name, ids, "question")
        double, raters = self.block.double, self.block.raters
        if double and double.raters <= raters:
            self.note(("double", "raters"), f"must be more than 'raters', which is {raters}")
        self._adaptive()
        self._attention()
        self._gold()
        if whole:
            self._attention_everywhere()
            self._presentation()
        if corpus is not None and rows:
            self._items(corpus, rows)

    def _adaptive(self) -> None:
        plan = self.plan.adaptive
        if plan is None:
            return
        until = Until.parse(plan.until)
        if self.plan.double:
            self.note(("double",), "an adaptive study has no doubly annotated subset; leave it out")
        for question in self.instrument.questions if until.by_item else ():
            if question.scale.range is not None:
                problem = f"question '{question.id}' takes any number, so that answers have no shares; use 'alpha 0.2'"
                self.note(("raters", "until"), problem)
        if until.needed is not None and until.needed[0] > plan.max:
            self.note(
                ("raters", "until"),
                f"no item can be known to a width of {until.target:g} with {plan.max} ratings; 'max' must be at least "
                f"{until.needed[0]} for items on which everyone agrees, and {until.needed[1]} where people are split",
            )
        asked = (question for phase in phases_of(self.plan) for question in phase.questions_here)
        known = {trait.id: trait for trait in asked}
        for index, name in enumerate(plan.balance):
            self.known(("raters", "balance", index), name, list(known), "trait")
            if name in known and known[name].kind != "choice":
                self.note(("raters", "balance", index), f"trait '{name}' must be a choice with options")
            elif name in known and len(known[name].options) > plan.max:
                problem = f"'{name}' has {len(known[name].options)} options, but no item gets more than"
                self.note(("raters", "balance", index), f"{problem} {plan.max} ratings")

    def _attention(self) -> None:
        plan = self.block.attention
        if plan is None:
            return
        known = {check.id: check for check in self.instrument.checks}
        if not plan.checks and not known:
            self.note(self.at("attention"), f"instrument '{self.instrument.id}' has no checks; add some under 'checks'")
        for index, part in enumerate(plan.checks):
            loc: Loc = (*self.at("attention"), "checks", index)
            if isinstance(part, str):
                self.known(loc, part, list(known), "check of the instrument")
            else:
                self.accepted((*loc, "accept"), self.instrument, part.question, part.accept)
        named = [p if isinstance(p, str) else p.id for p in plan.checks]
        self.unique((*self.at("attention"), "checks"), named, "check")

    def _attention_everywhere(self) -> None:
        """Everybody must get a check, whichever questions they get."""
        asking = {check.question for check in self.block.checks.values()}
        for names in self.block.question_sets if asking and self.block.attention else ():
            if not asking & set(names):
                shown = ", ".join(f"'{name}'" for name in names)
                problem = f"participants who answer {shown} would get no check; add one that asks about it"
                self.note((*self.at("attention"), "checks"), problem)

    def _gold(self) -> None:
        plan = self.block.gold_plan
        if plan is None:
            return
        at = (*self.at("gold"), "items")
        self.unique(at, [part.item for part in plan.items], "gold item")
        for index, part in enumerate(plan.items):
            self.known_answers((*at, index), self.instrument, part.accept, part.condition)

    def _presentation(self) -> None:
        part = self.block.presentation
        if part is None:
            return
        loc = self.at("presentation")
        if not part.levels:
            self.note(loc, "no factor is given, so nothing changes; leave it out, or name one such as 'order: random'")
        questions = [question for question in self.instrument.questions if question.id in self.block.questions]
        for factor, chosen in part.levels.items():
            self.unique((*loc, factor), chosen, "level")
            try:
                known = levels(factor, self.instrument, questions)
            except InputError as error:
                self.note((*loc, factor), error.problem)
                continue
            allowed = known if factor in ("wording", "labels") else FACTORS[factor]
            for level in chosen:
                self.known((*loc, factor), level, allowed, f"level of {factor}")
        try:
            for way, words in product(part.levels.get("direction", ("",)), part.levels.get("wording", ("",))):
                for question in questions:
                    Presentation(direction=way, wording=words).shown(question)
        except InputError as error:
            self.note(loc, error.problem)
        moved = sorted(set(part.levels) - {"order", "questions"})
        if self.block.attention and moved:
            self.note(
                loc,
                "attention checks name an answer as the instrument shows it, so only 'order' and 'questions' go with "
                f"them; leave out {', '.join(moved)} or the checks",
            )

    def _items(self, corpus: Corpus, rows: Sequence[int]) -> None:
        """Checks that the items of the block have the fields that are shown, and the corpus the gold items."""
        items, instrument, gold = corpus.items, self.instrument, list(self.block.gold)
        own = items[list(rows)] if len(rows) < len(items) else items
        columns = [column.name for column in own if column.null_count() < len(own)]
        at = (*self.loc, "instrument") if self.part.instrument else ("corpus",)
        # A target alone can be judged only where the instrument asks about nothing else.
        judged = [field for field in instrument.fields if field.kind != "target"] or instrument.fields
        if not any(field.name in columns for field in judged):
            names = ", ".join(f"'{field.name}'" for field in instrument.fields)
            self.note(
                at, f"its items have none of the columns {names} that '{instrument.id}' shows ({', '.join(columns)})"
            )
            return
        conditions = [name for name in self.block.conditions if name]
        try:
            for condition in conditions or ("",):
                corpus.check_asked(instrument, self.block.questions, condition, own)
        except InputError as error:
            self.note(at, str(error).rstrip("."))
            return
        needed = {field.name for condition in conditions for field in instrument.shown(condition)}
        for question in instrument.questions:
            needed |= question.places
        for name in sorted(needed - set(columns)):
            self.note(at, f"its items have no column '{name}', which '{instrument.id}' needs")
        existing = set(items["item"].filter(items["item"].is_in(gold)))
        for index, item in enumerate(gold):
            if item not in existing:
                self.note((*self.at("gold"), "items", index, "item"), f"the corpus has no item '{item}'")
