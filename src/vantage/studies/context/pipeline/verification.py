"""Is a written context any good? A model rater answers the bundled `context-quality` instrument about it.

Label alignment, natural flow and absence of redundancy must all reach a least answer. Besides, the generator is asked
for the label of its own context without being told what it was written for; where it gives another, that is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.scales import Scale, show_code
from vantage.studies.context.pipeline.controls import CONTEXT, Control, context_fields
from vantage.studies.context.pipeline.dialogue import CONVERSATION, SpokenTurn, cell
from vantage.studies.context.pipeline.record import COST
from vantage.studies.context.pipeline.writing import Asking

QUALITY: Final = "context-quality"
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
    value: float | None = None


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
    rows = [
        {
            "item": one.item,
            "statement": one.statement,
            "label": "" if one.label is None else label_in_words(question, one.label),
            "conversation": cell(one.turns),
        }
        for one in candidates
    ]
    texts = dict.fromkeys(("item", "statement", "label"), pl.String)
    items = pl.DataFrame(rows, schema={**texts, "conversation": CONVERSATION})
    found = asking.ask(verifier, items, instrument, asked)
    verdicts: dict[str, Verdict] = {}
    for (item,), mine in found.group_by("item", maintain_order=True):
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
    rows = [
        {"item": one.item, statement.name: one.statement, conversation.name: cell(one.turns)} for one in known.values()
    ]
    schema: dict[str, Any] = {"item": pl.String, statement.name: pl.String, conversation.name: CONVERSATION}
    style = "scoring" if generator.model_name == "embedded" else "zero-shot"
    rater = replace(generator, style=style, temperature=0.0, samples=1, name=f"{generator.model_name}+own-label")
    found = asking.ask(rater, pl.DataFrame(rows, schema=schema), instrument, [question.id], condition=CONTEXT)
    verdicts: dict[str, Verdict] = {}
    for row in found.iter_rows(named=True):
        value, wanted = row["value"], known[row["item"]].label
        text = row["status"] if value is None else question.scale.label(value)
        reason = ""
        if wanted is not None and value != wanted:
            reason = f"written for {question.scale.label(wanted)}, labelled {text}"
        verdicts[row["item"]] = Verdict(text, reason, cost_of(row), value)
    return verdicts


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
