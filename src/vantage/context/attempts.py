"""Attempts at contexts: all items take each step together, and those that fail a check begin anew, up to a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from vantage.context.controls import Control
from vantage.context.dialogue import CONVERSATION, Turn, cell, fault, read_turns, script
from vantage.context.first_person import NOT_FIRST_PERSON
from vantage.context.insertion import NO_PLACE, insert, insertion_fault, read_place
from vantage.context.record import Record
from vantage.context.verification import Candidate, Verdict, cost_of, meaning, own_labels, verified
from vantage.context.wording import Wording
from vantage.context.writing import Asks, writer, writing_instrument
from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.replies.clean import without_thought
from vantage.raters.replies.refusals import refuses

REFUSED: Final = "the model refused"
NOTHING: Final = "the reply is empty"
UNREAD: Final = "the reply on the first person cannot be read"
FAILED: Final = "the call failed"
_SHORT: Final = 400
"""Characters up to which a reply can be nothing but a refusal."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, and the label that its context is written for."""

    item: str
    text: str
    aim: float | None


@dataclass(frozen=True, slots=True)
class _Draft:
    """A context as far as it has come."""

    about: Statement
    scenario: str = ""
    turns: tuple[Turn, ...] = ()


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

    asking: Asks
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

    def first_person(self, statements: Sequence[Statement]) -> list[Statement]:
        """The statements that the generator takes for first-person ones; the others are dropped."""
        drafts = [_Draft(one) for one in statements]
        kept = []
        for draft, row in self._asked("first-person", drafts, 0, {}):
            item, value = draft.about.item, row["value"]
            reason = "" if value == 1 else NOT_FIRST_PERSON if value == 0 else UNREAD
            self._note(item, "first-person", 0, "rejected" if reason else "passed", row, reason, row["reply"])
            if reason:
                self.record.drop(item, reason)
            else:
                kept.append(draft.about)
        return kept

    def run(self, statements: Sequence[Statement], attempts: int) -> dict[str, list[Turn]]:
        """The contexts that passed, by item, in the order of the statements."""
        kept: dict[str, list[Turn]] = {}
        open_, reasons = list(statements), dict[str, str]()
        for attempt in range(1, attempts + 1):
            if not open_:
                break
            failed: dict[str, str] = {}
            drafts = self._scenarios([_Draft(one) for one in open_], attempt, reasons, failed)
            drafts = self._conversations(drafts, attempt, reasons, failed)
            drafts = self._insertions(drafts, attempt, failed)
            for draft in self._verified(drafts, attempt, failed):
                kept[draft.about.item] = list(draft.turns)
            open_ = [one for one in open_ if one.item not in kept]
            reasons = failed
        for one in open_:
            self.record.drop(one.item, reasons[one.item], attempt=attempts)
        return {one.item: kept[one.item] for one in statements if one.item in kept}

    def _scenarios(
        self, drafts: Sequence[_Draft], attempt: int, reasons: Mapping[str, str], failed: dict[str, str]
    ) -> list[_Draft]:
        written = []
        for draft, row in self._asked("scenario", drafts, attempt, reasons):
            text, reason = _text(row)
            if self._passes(draft, "scenario", attempt, row, reason, text, failed):
                written.append(_Draft(draft.about, text))
        return written

    def _conversations(
        self, drafts: Sequence[_Draft], attempt: int, reasons: Mapping[str, str], failed: dict[str, str]
    ) -> list[_Draft]:
        written = []
        for draft, row in self._asked("conversation", drafts, attempt, reasons):
            text, reason = _text(row)
            turns = read_turns(text) if not reason else []
            reason = reason or fault(turns, draft.about.text) or ""
            if self._passes(draft, "conversation", attempt, row, reason, text if reason else script(turns), failed):
                written.append(_Draft(draft.about, draft.scenario, tuple(turns)))
        return written

    def _insertions(self, drafts: Sequence[_Draft], attempt: int, failed: dict[str, str]) -> list[_Draft]:
        written = []
        for draft, row in self._asked(self.insertion, drafts, attempt, {}):
            text, reason = _text(row)
            turns: list[Turn] = []
            if not reason and self.insertion == "written":
                turns = read_turns(text)
            elif not reason and (place := read_place(text, draft.turns)) is not None:
                turns = insert(draft.turns, draft.about.text, place)
            elif not reason:
                reason = NO_PLACE
            reason = reason or insertion_fault(turns, draft.about.text) or ""
            if self._passes(draft, "insertion", attempt, row, reason, text if reason else script(turns), failed):
                written.append(_Draft(draft.about, draft.scenario, tuple(turns)))
        return written

    def _verified(self, drafts: Sequence[_Draft], attempt: int, failed: dict[str, str]) -> list[_Draft]:
        if not drafts:
            return []
        candidates = [Candidate(d.about.item, d.about.text, d.turns, d.about.aim) for d in drafts]
        verdicts = verified(
            self.asking, self.verifier, candidates, self.question, control=self.control, least=self.least
        )
        passed = [draft for draft in drafts if not verdicts[draft.about.item].reason]
        for draft in drafts:
            item, verdict = draft.about.item, verdicts[draft.about.item]
            self._verdict(item, "verification", attempt, verdict, "rejected", self.verifier)
            if verdict.reason:
                failed[item] = verdict.reason
        going = [one for one in candidates if not verdicts[one.item].reason]
        own = own_labels(self.asking, self.generator, going, self.instrument, self.question) if going else {}
        for draft in passed:
            item = draft.about.item
            self._verdict(item, "own-label", attempt, own[item], "differs", self.generator)
            self.record.keep(item, attempt)
        return passed

    def _verdict(self, item: str, step: str, attempt: int, verdict: Verdict, bad: str, who: ChatRater) -> None:
        status = bad if verdict.reason else "passed"
        text, reason, cost = verdict.text, verdict.reason, verdict.cost
        self.record.add(item, step, attempt, status, text=text, reason=reason, model=who.model_name, cost=cost)

    def _asked(
        self, step: str, drafts: Sequence[_Draft], attempt: int, reasons: Mapping[str, str]
    ) -> list[tuple[_Draft, dict[str, Any]]]:
        """Each draft with the reply to its step."""
        if not drafts:
            return []
        scale = self.question.scale
        rows = [
            {
                "item": draft.about.item,
                "text": draft.about.text,
                "meaning": None if draft.about.aim is None else meaning(scale, draft.about.aim),
                "question": self.question.title,
                "scenario": draft.scenario,
                "conversation": cell(draft.turns),
                "reason": reasons.get(draft.about.item),
            }
            for draft in drafts
        ]
        texts = dict.fromkeys(("item", "text", "meaning", "question", "scenario", "reason"), pl.String)
        items = pl.DataFrame(rows, schema={**texts, "conversation": CONVERSATION})
        rater = writer(self.generator, step, self.wording, attempt, self.seed)
        found = self.asking.ask(rater, items, writing_instrument(), [step])
        by_item = {row["item"]: row for row in found.iter_rows(named=True)}
        return [(draft, by_item[draft.about.item]) for draft in drafts]

    def _passes(
        self,
        draft: _Draft,
        step: str,
        attempt: int,
        row: Mapping[str, Any],
        reason: str,
        text: str,
        failed: dict[str, str],
    ) -> bool:
        self._note(draft.about.item, step, attempt, "rejected" if reason else "written", row, reason, text)
        if reason:
            failed[draft.about.item] = reason
        return not reason

    def _note(
        self, item: str, step: str, attempt: int, status: str, row: Mapping[str, Any], reason: str, text: str | None
    ) -> None:
        who = self.generator.model_name
        self.record.add(item, step, attempt, status, text=text, reason=reason, model=who, cost=cost_of(row))


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
