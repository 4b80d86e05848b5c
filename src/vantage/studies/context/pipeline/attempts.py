"""Attempts at contexts: all items take each step together, and those that fail a check begin anew, up to a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.replies.clean import without_thought
from vantage.raters.replies.refusals import refuses
from vantage.studies.context.pipeline.controls import Control
from vantage.studies.context.pipeline.dialogue import CONVERSATION, Turn, cell, fault, read_turns, script
from vantage.studies.context.pipeline.first_person import NOT_FIRST_PERSON
from vantage.studies.context.pipeline.insertion import NO_PLACE, insert, insertion_fault, read_place
from vantage.studies.context.pipeline.record import Record
from vantage.studies.context.pipeline.verification import Candidate, Verdict, cost_of, meaning, own_labels, verified
from vantage.studies.context.pipeline.wording import Wording
from vantage.studies.context.pipeline.writing import Asking, writer, writing_instrument

REFUSED: Final = "the model refused"
NOTHING: Final = "the reply is empty"
UNREAD: Final = "the reply on the first person cannot be read"
FAILED: Final = "the call failed"
_SHORT: Final = 400
"""Characters up to which a reply can be nothing but a refusal."""


Read = Callable[[Candidate, str], tuple[Sequence[Turn], str | None]]
"""From a draft and a reply to the turns of its conversation, and what is wrong with them."""


@dataclass(frozen=True)
class Attempts:
    """Writes contexts for statements.

    Args:
        asking: How calls are carried out.
        generator: Who writes.
        verifier: Who checks.
        instrument: The task.
        question: The question whose label counts.
        wording: What the generator is told.
        record: Where steps are put down.
        seed: The seed of the first attempt.
        insertion: `position` or `written`.
        least: The least answer of the verifier that passes.
        control: What contexts are written for.
    """

    asking: Asking
    generator: ChatRater
    verifier: ChatRater
    instrument: Instrument
    question: Question
    wording: Wording
    record: Record
    seed: int
    insertion: str
    least: float
    control: Control

    def first_person(self, statements: Sequence[Candidate]) -> list[Candidate]:
        """The statements that the generator takes for first-person ones; the others are dropped."""
        kept = []
        for one, row in self._asked("first-person", statements, 0, {}):
            reason = {1: "", 0: NOT_FIRST_PERSON}.get(row["value"], UNREAD)
            self._note(one, "first-person", 0, "rejected" if reason else "passed", row, reason, row["reply"])
            if reason:
                self.record.drop(one.item, reason)
            else:
                kept.append(one)
        return kept

    def run(self, statements: Sequence[Candidate], attempts: int) -> dict[str, list[Turn]]:
        """The contexts that passed, by item, in the order of the statements."""
        kept: dict[str, list[Turn]] = {}
        open_, reasons = list(statements), dict[str, str]()
        for attempt in range(1, attempts + 1):
            if not open_:
                break
            failed: dict[str, str] = {}
            drafts = self._scenarios(open_, attempt, reasons, failed)
            drafts = self._step("conversation", "conversation", drafts, attempt, reasons, failed, _talk)
            inserted = _anew if self.insertion == "written" else _put_in
            drafts = self._step(self.insertion, "insertion", drafts, attempt, {}, failed, inserted)
            for draft in self._verified(drafts, attempt, failed):
                kept[draft.item] = list(draft.turns)
            open_ = [one for one in open_ if one.item not in kept]
            reasons = failed
        for one in open_:
            self.record.drop(one.item, reasons[one.item], attempt=attempts)
        return {one.item: kept[one.item] for one in statements if one.item in kept}

    def _scenarios(
        self, drafts: Sequence[Candidate], attempt: int, reasons: Mapping[str, str], failed: dict[str, str]
    ) -> list[Candidate]:
        written = []
        for draft, row in self._asked("scenario", drafts, attempt, reasons):
            text, reason = _text(row)
            if self._passes(draft, "scenario", attempt, row, reason, text, failed):
                written.append(replace(draft, scenario=text))
        return written

    def _step(
        self,
        step: str,
        recorded: str,
        drafts: Sequence[Candidate],
        attempt: int,
        reasons: Mapping[str, str],
        failed: dict[str, str],
        read: Read,
    ) -> list[Candidate]:
        """The drafts that have got through a step, each with the conversation that was read from its reply."""
        written = []
        for draft, row in self._asked(step, drafts, attempt, reasons):
            text, reason = _text(row)
            turns, fault_ = read(draft, text) if not reason else ((), None)
            reason = reason or fault_ or ""
            if self._passes(draft, recorded, attempt, row, reason, text if reason else script(turns), failed):
                written.append(replace(draft, turns=tuple(turns)))
        return written

    def _verified(self, drafts: Sequence[Candidate], attempt: int, failed: dict[str, str]) -> list[Candidate]:
        if not drafts:
            return []
        verdicts = verified(self.asking, self.verifier, drafts, self.question, control=self.control, least=self.least)
        for draft in drafts:
            verdict = verdicts[draft.item]
            self._verdict(draft.item, "verification", attempt, verdict, "rejected", self.verifier)
            if verdict.reason:
                failed[draft.item] = verdict.reason
        passed = [draft for draft in drafts if not verdicts[draft.item].reason]
        own = own_labels(self.asking, self.generator, passed, self.instrument, self.question) if passed else {}
        for draft in passed:
            self._verdict(draft.item, "own-label", attempt, own[draft.item], "differs", self.generator)
            self.record.keep(draft.item, attempt)
        return passed

    def _verdict(self, item: str, step: str, attempt: int, verdict: Verdict, bad: str, who: ChatRater) -> None:
        status = bad if verdict.reason else "passed"
        text, reason, cost = verdict.text, verdict.reason, verdict.cost
        self.record.add(item, step, attempt, status, text=text, reason=reason, model=who.model_name, cost=cost)

    def _asked(
        self, step: str, drafts: Sequence[Candidate], attempt: int, reasons: Mapping[str, str]
    ) -> list[tuple[Candidate, dict[str, Any]]]:
        """Each draft with the reply to its step."""
        if not drafts:
            return []
        rows = [
            {
                "item": draft.item,
                "text": draft.statement,
                "meaning": None if draft.label is None else meaning(self.question.scale, draft.label),
                "question": self.question.title,
                "scenario": draft.scenario,
                "conversation": cell(draft.turns),
                "reason": reasons.get(draft.item),
            }
            for draft in drafts
        ]
        texts = dict.fromkeys(("item", "text", "meaning", "question", "scenario", "reason"), pl.String)
        items = pl.DataFrame(rows, schema={**texts, "conversation": CONVERSATION})
        rater = writer(self.generator, step, self.wording, attempt, self.seed)
        found = self.asking.ask(rater, items, writing_instrument(), [step])
        by_item = {row["item"]: row for row in found.iter_rows(named=True)}
        return [(draft, by_item[draft.item]) for draft in drafts]

    def _passes(
        self,
        draft: Candidate,
        step: str,
        attempt: int,
        row: Mapping[str, Any],
        reason: str,
        text: str,
        failed: dict[str, str],
    ) -> bool:
        self._note(draft, step, attempt, "rejected" if reason else "written", row, reason, text)
        if reason:
            failed[draft.item] = reason
        return not reason

    def _note(
        self, one: Candidate, step: str, attempt: int, status: str, row: Mapping[str, Any], reason: str, text: str
    ) -> None:
        who = self.generator.model_name
        self.record.add(one.item, step, attempt, status, text=text, reason=reason, model=who, cost=cost_of(row))


def _talk(draft: Candidate, text: str) -> tuple[Sequence[Turn], str | None]:
    """A conversation without the statement."""
    turns = read_turns(text)
    return turns, fault(turns, draft.statement)


def _put_in(draft: Candidate, text: str) -> tuple[Sequence[Turn], str | None]:
    """The conversation with the statement at the place that was named."""
    place = read_place(text, draft.turns)
    if place is None:
        return (), NO_PLACE
    turns = insert(draft.turns, draft.statement, place)
    return turns, insertion_fault(turns, draft.statement)


def _anew(draft: Candidate, text: str) -> tuple[Sequence[Turn], str | None]:
    """The conversation that was written anew, with the statement in it."""
    turns = read_turns(text)
    return turns, insertion_fault(turns, draft.statement)


def _text(row: Mapping[str, Any]) -> tuple[str, str]:
    """The text of a reply, and why it is none: the call failed, or the model refused or said nothing."""
    reply = row["reply"] or ""
    if row["status"] == "failed":
        return reply, FAILED
    text, _ = without_thought(reply)
    if not text.strip():
        return reply, NOTHING
    if len(text) <= _SHORT and refuses(text):
        return reply, REFUSED
    return text, ""
