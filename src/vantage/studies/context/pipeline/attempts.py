"""Attempts at contexts: all items take each step together, and those that fail a check begin anew, up to a bound.

A model rater answers the bundled `context-quality` instrument about each context: label alignment, natural flow and
absence of redundancy must all reach a least answer. Besides, the generator is asked for the label of its own context
without being told what it was written for; where it gives another, that is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.replies.clean import without_thought
from vantage.raters.replies.refusals import refuses
from vantage.scales import Scale, show_code
from vantage.studies.context.pipeline.controls import CONTEXT, COST, Control, StepRecord, context_fields
from vantage.studies.context.pipeline.dialogue import (
    CONVERSATION,
    NO_PLACE,
    NOT_FIRST_PERSON,
    SpokenTurn,
    cell,
    fault,
    insert,
    insertion_fault,
    read_place,
    read_turns,
    script,
)
from vantage.studies.context.pipeline.writing import QUALITY, Asking, Wording, writer, writing_instrument

ALIGNMENT: Final = "label-alignment"
LEAST: Final = 4.0
"""The least answer that passes: agree, on a scale from 1 (strongly disagree) to 5."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement and as much of its context as is written."""

    item: str
    statement: str
    turns: tuple[SpokenTurn, ...] = ()
    label: float | None = None
    """What the context is written for; null where it is written for no label."""
    scenario: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check came to: the answers in words, why they are not enough (empty where they are), and the cost."""

    text: str
    reason: str = ""
    cost: Mapping[str, int] | None = None


def verified(
    asking: Asking,
    verifier: ChatRater,
    candidates: Sequence[Candidate],
    question: Question,
    *,
    control: Control = "label",
    least: float = LEAST,
) -> dict[str, Verdict]:
    """The verdict on each candidate, by item; one whose answer cannot be read has not passed.

    A context that was written for no label cannot agree with it, so that question is then left out.
    """
    instrument = Instrument.load(QUALITY)
    asked = [q.id for q in instrument.questions if q.id != ALIGNMENT or control != "blind"]
    labels = ["" if one.label is None else label_in_words(question, one.label) for one in candidates]
    items = _items(candidates, "statement", "conversation").with_columns(label=pl.Series(labels, dtype=pl.String))
    replies = asking.ask(verifier, items, instrument, asked)
    verdicts: dict[str, Verdict] = {}
    for (item,), mine in replies.group_by("item", maintain_order=True):
        answers = {row["question"]: (row["value"], row["status"]) for row in mine.iter_rows(named=True)}
        words = {q: status if value is None else show_code(value) for q, (value, status) in answers.items()}
        weak = next((q for q in asked if answers[q][0] is None or answers[q][0] < least), None)
        reason = "" if weak is None else f"{weak} is {words[weak]}, below {show_code(least)}"
        if weak is not None and answers[weak][0] is None:
            reason = f"{weak} has no answer ({words[weak]})"
        text = ", ".join(f"{q} {words[q]}" for q in asked)
        verdicts[str(item)] = Verdict(text, reason, cost_of(mine.row(0, named=True)))
    return verdicts


def own_labels(
    asking: Asking, generator: ChatRater, candidates: Iterable[Candidate], instrument: Instrument, question: Question
) -> dict[str, Verdict]:
    """The label that the generator itself gives each statement in the context that it wrote, not told what for.

    The reason is filled where it gives another label than the one that the context was written for.
    """
    statement, conversation = context_fields(instrument)
    known = {one.item: one for one in candidates}
    items = _items(known.values(), statement.name, conversation.name)
    style = "scoring" if generator.model_name == "embedded" else "zero-shot"
    rater = replace(generator, style=style, temperature=0.0, samples=1, name=f"{generator.model_name}+own-label")
    answers = asking.ask(rater, items, instrument, [question.id], condition=CONTEXT)
    verdicts: dict[str, Verdict] = {}
    for row in answers.iter_rows(named=True):
        value, wanted = row["value"], known[row["item"]].label
        text = row["status"] if value is None else question.scale.label(value)
        reason = ""
        if wanted is not None and value != wanted:
            reason = f"written for {question.scale.label(wanted)}, labelled {text}"
        verdicts[row["item"]] = Verdict(text, reason, cost_of(row))
    return verdicts


def _items(candidates: Iterable[Candidate], statement: str, conversation: str) -> pl.DataFrame:
    """Candidates as items, their statements and conversations in the fields of these names."""
    rows = [{"item": one.item, statement: one.statement, conversation: cell(one.turns)} for one in candidates]
    return pl.DataFrame(rows, schema={"item": pl.String, statement: pl.String, conversation: CONVERSATION})


def label_in_words(question: Question, code: float) -> str:
    """A label as a reader who does not know the task understands it.

    >>> label_in_words(Instrument.load("sarcasm").questions[0], 1)
    'Sarcasm: yes'
    """
    return f"{question.title}: {question.scale.label(code)}"


def meaning(scale: Scale, code: float) -> str:
    """What an answer says about a statement: its description, or its label."""
    option = next((one for one in scale.options if one.code == code), None)
    return (option.description or option.name) if option else show_code(code)


def shared_models(generator: str, verifier: str, judged: Iterable[str] = ()) -> list[str]:
    """A warning for every model that has two roles: writing contexts, checking them, and being judged with them.

    >>> shared_models("openai:a", "openai:b", ["openai:c"])
    []
    """
    warnings = []
    if generator and generator == verifier:
        warnings.append(f"{generator} checked the contexts that it wrote itself; name another verifier.")
    judges = set(judged)
    for model, role in ((generator, "wrote"), (verifier, "checked")):
        if model and model in judges and (role == "wrote" or model != generator):
            warnings.append(f"{model} {role} the contexts with which it is judged itself; name another one for them.")
    return warnings


def cost_of(row: Mapping[str, Any]) -> dict[str, int]:
    """What the calls behind an item's row took."""
    return {name: int(row[name] or 0) for name in COST}


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
        meant = [None if one.label is None else meaning(self.question.scale, one.label) for one in drafts]
        items = _items(drafts, "text", "conversation").with_columns(
            pl.lit(self.question.title).alias("question"),
            pl.Series("meaning", meant, dtype=pl.String),
            pl.Series("scenario", [one.scenario for one in drafts], dtype=pl.String),
            pl.Series("reason", [reasons.get(one.item) for one in drafts], dtype=pl.String),
        )
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
        details = {"text": verdict.text, "reason": verdict.reason, "model": (who or self.generator).model_name}
        self.record.add(one.item, step, attempt, bad if verdict.reason else good, cost=verdict.cost, **details)


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
    return _whole(draft, insert(draft.turns, draft.statement, place)) if place else NO_PLACE


def _anew(draft: Candidate, text: str) -> Candidate | str:
    """The conversation that was written anew, with the statement in it."""
    return _whole(draft, read_turns(text))


def _whole(draft: Candidate, turns: list[SpokenTurn]) -> Candidate | str:
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
