"""Attempts at contexts: all items take each step together, and those that fail a check begin anew, up to a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.replies.clean import without_thought
from vantage.raters.replies.refusals import refuses
from vantage.studies.context.pipeline.controls import Control
from vantage.studies.context.pipeline.dialogue import CONVERSATION, SpokenTurn, cell, fault, read_turns, script
from vantage.studies.context.pipeline.first_person import NOT_FIRST_PERSON
from vantage.studies.context.pipeline.insertion import NO_PLACE, insert, insertion_fault, read_place
from vantage.studies.context.pipeline.record import StepRecord
from vantage.studies.context.pipeline.verification import Candidate, Verdict, cost_of, meaning, own_labels, verified
from vantage.studies.context.pipeline.wording import Wording
from vantage.studies.context.pipeline.writing import Asking, writer, writing_instrument

REFUSED: Final = "the model refused"
NOTHING: Final = "the reply is empty"
UNREAD: Final = "the reply on the first person cannot be read"
FAILED: Final = "the call failed"
_SHORT: Final = 400
"""Characters up to which a reply can be nothing but a refusal."""

Read = Callable[[Candidate, str], Candidate | str]
"""From a draft and a reply to the draft as it leaves the step, or to what is wrong with the reply."""


@dataclass(frozen=True)
class Attempts:
    """Writes contexts for statements; the arguments are those of `generation.generate`."""

    asking: Asking
    generator: ChatRater
    verifier: ChatRater
    instrument: Instrument
    question: Question
    wording: Wording
    record: StepRecord
    seed: int
    insertion: str
    least: float
    control: Control

    def first_person(self, statements: Sequence[Candidate]) -> list[Candidate]:
        """The statements that the generator takes for first-person ones; the others are dropped."""
        kept = []
        for one, row in self._asked("first-person", statements, 0, {}):
            reason = {1: "", 0: NOT_FIRST_PERSON}.get(row["value"], UNREAD)
            self._add(one, "first-person", 0, Verdict(row["reply"], reason, cost_of(row)), good="passed")
            if reason:
                self.record.drop(one.item, reason)
            else:
                kept.append(one)
        return kept

    def run(self, statements: Sequence[Candidate], attempts: int) -> dict[str, list[SpokenTurn]]:
        """The contexts that passed, by item, in the order of the statements."""
        kept: dict[str, list[SpokenTurn]] = {}
        open_, reasons = list(statements), dict[str, str]()
        inserted: Read = _anew if self.insertion == "written" else _put_in
        for attempt in range(1, attempts + 1):
            failed: dict[str, str] = {}
            drafts = self._step("scenario", "scenario", open_, attempt, reasons, failed, _scene)
            drafts = self._step("conversation", "conversation", drafts, attempt, reasons, failed, _talk)
            drafts = self._step(self.insertion, "insertion", drafts, attempt, {}, failed, inserted)
            kept |= {draft.item: list(draft.turns) for draft in self._verified(drafts, attempt, failed)}
            open_, reasons = [one for one in open_ if one.item not in kept], failed
        for one in open_:
            self.record.drop(one.item, reasons[one.item], attempt=attempts)
        return {one.item: kept[one.item] for one in statements if one.item in kept}

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
        """The drafts that got through a step, each with what was read from its reply."""
        passed = []
        for draft, row in self._asked(step, drafts, attempt, reasons):
            text, reason = _text(row)
            result = reason or read(draft, text)
            if isinstance(result, str):
                failed[draft.item] = reason = result
            else:
                passed.append(result)
                text = script(result.turns) if result.turns else text
            self._add(draft, recorded, attempt, Verdict(text, reason, cost_of(row)))
        return passed

    def _verified(self, drafts: Sequence[Candidate], attempt: int, failed: dict[str, str]) -> list[Candidate]:
        """The drafts that the verifier lets pass; those that their writer labels otherwise are noted."""
        if not drafts:
            return []
        verdicts = verified(self.asking, self.verifier, drafts, self.question, control=self.control, least=self.least)
        for draft in drafts:
            self._add(draft, "verification", attempt, verdicts[draft.item], good="passed", who=self.verifier)
        failed |= {item: verdict.reason for item, verdict in verdicts.items() if verdict.reason}
        passed = [draft for draft in drafts if draft.item not in failed]
        own = own_labels(self.asking, self.generator, passed, self.instrument, self.question) if passed else {}
        for draft in passed:
            self._add(draft, "own-label", attempt, own[draft.item], good="passed", bad="differs")
            self.record.keep(draft.item, attempt)
        return passed

    def _asked(
        self, step: str, drafts: Sequence[Candidate], attempt: int, reasons: Mapping[str, str]
    ) -> Iterator[tuple[Candidate, dict[str, Any]]]:
        """Each draft with the reply to its step."""
        if not drafts:
            return
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
        replies = self.asking.ask(rater, items, writing_instrument(), [step])
        by_item = {row["item"]: row for row in replies.iter_rows(named=True)}
        yield from ((draft, by_item[draft.item]) for draft in drafts)

    def _add(
        self,
        one: Candidate,
        step: str,
        attempt: int,
        verdict: Verdict,
        *,
        good: str = "written",
        bad: str = "rejected",
        who: ChatRater | None = None,
    ) -> None:
        told = {"text": verdict.text, "reason": verdict.reason, "model": (who or self.generator).model_name}
        self.record.add(one.item, step, attempt, bad if verdict.reason else good, cost=verdict.cost, **told)


def _scene(draft: Candidate, text: str) -> Candidate | str:
    """A situation."""
    return replace(draft, scenario=text)


def _talk(draft: Candidate, text: str) -> Candidate | str:
    """A conversation without the statement."""
    turns = read_turns(text)
    return fault(turns, draft.statement) or replace(draft, turns=tuple(turns))


def _put_in(draft: Candidate, text: str) -> Candidate | str:
    """The conversation with the statement at the place that was named."""
    place = read_place(text, draft.turns)
    if place is None:
        return NO_PLACE
    turns = insert(draft.turns, draft.statement, place)
    return insertion_fault(turns, draft.statement) or replace(draft, turns=tuple(turns))


def _anew(draft: Candidate, text: str) -> Candidate | str:
    """The conversation that was written anew, with the statement in it."""
    turns = read_turns(text)
    return insertion_fault(turns, draft.statement) or replace(draft, turns=tuple(turns))


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
