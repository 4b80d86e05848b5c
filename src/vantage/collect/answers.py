"""Answers: what may be answered on a page, and how it is stored."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.collect.flow_document import TraitPart
from vantage.collect.views import InvalidAnswers, QuestionAnswer
from vantage.instruments import Question
from vantage.presentations import PLAIN, Presentation
from vantage.scales import Scale, show_code

LONGEST: Final = 10_000
"""Most characters of a reason."""
NOT_OFFERED: Final = "This is not one of the answers."
LINE: Final = 500
"""Most characters of a trait given as text."""


def checked(
    questions: Sequence[Question], given: Mapping[str, QuestionAnswer], ways: Sequence[Presentation] = ()
) -> str:
    """The answers as they are stored, in the codes meant; `InvalidAnswers` where one is missing or not possible.

    Where the study decides how questions are put, `ways` says so, and it is stored with the answers.

    >>> from vantage import Instrument
    >>> questions = Instrument.load("irony").questions
    >>> checked(questions, {"irony": QuestionAnswer(1.0)})
    '{"irony": [1.0, "answered", null]}'
    >>> checked(questions, {"irony": QuestionAnswer(1.0)}, [Presentation(order="down")])
    '{"irony": [1.0, "answered", null, "order=down"]}'
    >>> checked(questions, {"irony": QuestionAnswer(7.0)})
    Traceback (most recent call last):
        ...
    vantage.collect.views.InvalidAnswers: irony: This is not one of the answers.
    """
    names = {question.id for question in questions}
    problems = {name: "This question is not on the page." for name in given if name not in names}
    reasons: dict[str, str] = {}
    stored: dict[str, list[Any]] = {}
    for question, way in zip(questions, ways or [PLAIN] * len(questions), strict=True):
        answer = given.get(question.id, QuestionAnswer())
        reason = cleaned(answer.rationale or "") if question.rationale != "no" else ""
        if problem := _problem(question.scale, answer):
            problems[question.id] = problem
        if question.rationale == "required" and not reason:
            reasons[question.id] = "Please give a reason."
        elif len(reason) > LONGEST:
            reasons[question.id] = f"Please shorten the reason to {LONGEST:,} characters; it has {len(reason):,}."
        value = None if answer.value is None else float(way.decoded(question, answer.value))
        stored[question.id] = [value, answer.status, reason or None, *([str(way)] if str(way) else [])]
    if problems or reasons:
        raise InvalidAnswers(problems, reasons)
    return json.dumps(stored)


def _problem(scale: Scale, answer: QuestionAnswer) -> str:
    if answer.status == "answered":
        valid = answer.value is not None and math.isfinite(answer.value) and scale.holds(answer.value)
    else:
        valid = answer.value is None and answer.status in {o.status for o in scale.opt_outs}
    if valid:
        return ""
    if scale.range is not None:
        otherwise = ", or choose the other answer" if scale.opt_outs else ""
        return f"Please enter a number from {show_code(scale.ends[0])} to {show_code(scale.ends[1])}{otherwise}."
    return "Please choose an answer." if answer == QuestionAnswer(rationale=answer.rationale) else NOT_OFFERED


def read(stored: str) -> dict[str, QuestionAnswer]:
    """Stored answers by question."""
    return {name: QuestionAnswer(*told[:3]) for name, told in json.loads(stored).items()}


def check_traits(traits: Sequence[TraitPart], given: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """The answers to the trait questions as they are stored; unanswered ones are null.

    >>> age = TraitPart(id="age", ask="How old are you?", kind="number", **{"from": 18})
    >>> check_traits([age], {"age": "34"})
    {'age': 34}
    """
    problems: dict[str, str] = {}
    stored: dict[str, Any] = {}
    for trait in traits:
        try:
            stored[trait.id] = _trait(trait, given.get(trait.id, ""))
        except ValueError as error:
            problems[trait.id] = str(error)
            continue
        if trait.required and stored[trait.id] in (None, []):
            problems[trait.id] = "Please answer this question."
    if problems:
        raise InvalidAnswers(problems)
    return stored


def _trait(trait: TraitPart, given: str | Sequence[str]) -> Any:
    texts = [cleaned(text) for text in ([given] if isinstance(given, str) else given)]
    texts = [text for text in texts if text]
    if trait.kind in ("choice", "several"):
        if any(text not in trait.options for text in texts) or (trait.kind == "choice" and len(texts) > 1):
            raise ValueError(NOT_OFFERED)
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
        raise ValueError("Please enter a whole number.")
    if (trait.from_ is not None and number < trait.from_) or (trait.to is not None and number > trait.to):
        span = f"from {trait.from_} to {trait.to}"
        if trait.from_ is None or trait.to is None:
            span = f"of at least {trait.from_}" if trait.to is None else f"of at most {trait.to}"
        raise ValueError(f"Please enter a number {span}.")
    return number


def cleaned(text: str) -> str:
    """Text without control characters and lone surrogates, which neither database nor table can store.

    >>> cleaned(" a" + chr(0) + "b ")
    'ab'
    """
    kept = (c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(kept).strip()
