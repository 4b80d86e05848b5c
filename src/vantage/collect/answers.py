"""Answers: what may be said on a page, and how it is kept."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.collect.document import TraitPart
from vantage.collect.views import Reply, Unanswered
from vantage.instruments import Question

LONGEST: Final = 10_000
"""How many characters a reason may have."""
LINE: Final = 500
"""How many characters a written trait may have."""


def checked(questions: Sequence[Question], replies: Mapping[str, Reply]) -> str:
    """The replies as they are stored; raises what is missing or cannot be taken, question by question.

    >>> from vantage import Instrument
    >>> questions = Instrument.load("irony").questions
    >>> checked(questions, {"irony": Reply(1.0)})
    '{"irony": [1.0, "answered", null]}'
    >>> checked(questions, {"irony": Reply(7.0)})
    Traceback (most recent call last):
        ...
    vantage.collect.views.Unanswered: irony: This is not one of the answers.
    """
    problems = {name: "This question is not on the page." for name in replies if name not in {q.id for q in questions}}
    taken: dict[str, list[Any]] = {}
    for question in questions:
        reply = replies.get(question.id)
        reason = cleaned(reply.rationale or "") if reply and question.rationale != "no" else ""
        if problem := _problem(question, reply, reason):
            problems[question.id] = problem
        elif reply is not None:
            value = None if reply.value is None else float(reply.value)
            taken[question.id] = [value, reply.status, reason or None]
    if problems:
        raise Unanswered(problems)
    return json.dumps(taken)


def _problem(question: Question, reply: Reply | None, reason: str) -> str:
    if reply is None or (reply.status == "answered" and reply.value is None):
        return "Please choose an answer."
    if reply.status == "answered":
        assert reply.value is not None  # noqa: S101
        if not math.isfinite(reply.value) or not question.scale.holds(reply.value):
            return "This is not one of the answers."
    elif reply.value is not None or reply.status not in {o.status for o in question.scale.opt_outs}:
        return "This is not one of the answers."
    if question.rationale == "required" and not reason:
        return "Please give a reason."
    if len(reason) > LONGEST:
        return f"Please shorten the reason to {LONGEST:,} characters; it has {len(reason):,}."
    return ""


def read(stored: str) -> dict[str, Reply]:
    """Stored answers as replies."""
    return {name: Reply(value, status, reason) for name, (value, status, reason) in json.loads(stored).items()}


def traits_taken(traits: Sequence[TraitPart], given: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """The answers to questions about the participant, as they are stored; unanswered ones are null.

    >>> age = TraitPart(id="age", ask="How old are you?", kind="number", **{"from": 18})
    >>> traits_taken([age], {"age": "34"})
    {'age': 34}
    """
    problems: dict[str, str] = {}
    taken: dict[str, Any] = {}
    for trait in traits:
        try:
            taken[trait.id] = _trait(trait, given.get(trait.id, ""))
        except ValueError as error:
            problems[trait.id] = str(error)
            continue
        if trait.required and taken[trait.id] in (None, []):
            problems[trait.id] = "Please answer this question."
    if problems:
        raise Unanswered(problems)
    return taken


def _trait(trait: TraitPart, given: str | Sequence[str]) -> Any:
    texts = [cleaned(text) for text in ([given] if isinstance(given, str) else given)]
    texts = [text for text in texts if text]
    if trait.kind in ("choice", "several"):
        if any(text not in trait.options for text in texts) or (trait.kind == "choice" and len(texts) > 1):
            raise ValueError("This is not one of the answers.")
        chosen = [option for option in trait.options if option in texts]
        return chosen if trait.kind == "several" else next(iter(chosen), None)
    text = texts[0] if texts else ""
    if trait.kind == "text":
        if len(text) > LINE:
            raise ValueError(f"Please shorten this to {LINE} characters.")
        return text or None
    if not text:
        return None
    try:
        number = int(text) if len(text) < 10 else None
    except ValueError:
        number = None
    if number is None:
        raise ValueError("Please write a whole number.")
    if (trait.from_ is not None and number < trait.from_) or (trait.to is not None and number > trait.to):
        low, high = trait.from_, trait.to
        span = f"from {low} to {high}" if low is not None and high is not None else _end(low, high)
        raise ValueError(f"Please write a number {span}.")
    return number


def _end(low: int | None, high: int | None) -> str:
    return f"of at least {low}" if low is not None else f"of at most {high}"


def cleaned(text: str) -> str:
    """Text without control characters and halves of characters, which neither database nor table can keep.

    >>> cleaned(" a" + chr(0) + "b ")
    'ab'
    """
    kept = (c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(kept).strip()
