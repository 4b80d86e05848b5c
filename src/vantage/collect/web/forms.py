"""An instrument's questions as a form, and a filled form as answers: pure functions without a request in sight.

Inputs are named by the place of their question on the page (`a0`, `r0`), since question ids may hold blanks. The
value of an answer is a code of the scale (`3`, `-0.5`) or the name of an opt-out (`ambiguous`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vantage.collect.answers import LONGEST, cleaned
from vantage.collect.views import Reply
from vantage.instruments import Question
from vantage.scales import OptOutStatus, Scale, show_code

Shape = Literal["points", "list", "inline", "number"]
"""A row of numbers with wording at its ends, a list of worded answers, a few short words side by side, or a number
to type (or slide) in."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One radio button."""

    value: str
    number: str
    label: str = ""
    description: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One question as it is drawn, with what was answered earlier and what was wrong with it."""

    index: int
    question: Question
    wording: str
    shape: Shape
    choices: tuple[Choice, ...]
    opt_outs: tuple[Choice, ...]
    low: str = ""
    high: str = ""
    typed: str = ""
    rationale: str = ""
    error: str = ""
    rationale_error: str = ""


def entry(
    index: int,
    question: Question,
    wording: str,
    given: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Entry:
    """One question of a form.

    `given` holds what stands in the inputs (see `inputs` and `read`), `errors` what was wrong by the input's name.

    >>> from vantage import Instrument
    >>> drawn = entry(0, Instrument.load("irony").question("irony"), "Is the reply ironic?", {"a0": "1"})
    >>> [(choice.label, choice.chosen) for choice in drawn.choices]
    [('no', False), ('yes', True)]
    """
    given, errors = given or {}, errors or {}
    return Entry(
        index,
        question,
        wording,
        *_drawn(question.scale, given.get(f"a{index}", ""), given.get(f"o{index}", "")),
        rationale=given.get(f"r{index}", ""),
        error=errors.get(f"a{index}", ""),
        rationale_error=errors.get(f"r{index}", ""),
    )


def _drawn(
    scale: Scale, value: str, opt_out: str
) -> tuple[Shape, tuple[Choice, ...], tuple[Choice, ...], str, str, str]:
    opt_outs = tuple(Choice(o.status, "", o.label, chosen=o.status in (value, opt_out)) for o in scale.opt_outs)
    low, high = scale.ends
    if scale.range is not None:
        return "number", (), opt_outs, show_code(low), show_code(high), "" if value in _statuses(scale) else value
    choices = tuple(
        Choice(show_code(o.code), signed(o.code, scale), o.label, o.description, show_code(o.code) == value)
        for o in scale.options
    )
    shape: Shape = "list"
    if not all(option.label for option in scale.options) and len(choices) <= 11:
        shape = "points"
    elif len(choices) <= 4 and not any(len(o.label) > 16 or o.description for o in scale.options):
        shape = "inline"
    return shape, choices, opt_outs, scale.label(low), scale.label(high), ""


def signed(code: float, scale: Scale) -> str:
    """A code as it stands beside its wording: with its sign where the scale has two sides.

    Short worded scales and names go without, since guidelines and people speak of them by their words.

    >>> signed(3, Scale.points(-3, 3)), signed(-1, Scale.points(-3, 3)), signed(3, Scale.points(1, 5))
    ('+3', '−1', '3')
    >>> signed(1, Scale.labels("no", "yes"))
    ''
    """
    whole = all(c.is_integer() for c in scale.codes)
    if all(o.label for o in scale.options) and not (scale.ordered and whole and len(scale.options) >= 5):
        return ""
    if scale.ends[0] >= 0:
        return show_code(code)
    return f"+{show_code(code)}" if code > 0 else show_code(code).replace("-", "−")


def inputs(questions: Sequence[Question], answers: Mapping[str, Reply]) -> dict[str, str]:
    """What stands in the inputs for answers that were given before: the inverse of `read`."""
    given: dict[str, str] = {}
    for index, question in enumerate(questions):
        answer = answers.get(question.id)
        if answer is None:
            continue
        if answer.value is not None:
            given[f"a{index}"] = show_code(answer.value) if question.scale.range is None else repr(answer.value)
        elif question.scale.range is not None:
            given[f"o{index}"] = answer.status
        else:
            given[f"a{index}"] = answer.status
        if answer.rationale:
            given[f"r{index}"] = answer.rationale
    return given


def read(questions: Sequence[Question], form: Mapping[str, str]) -> tuple[dict[str, Reply], dict[str, str]]:
    """The answers of a filled form by question, and what is wrong by the name of the input.

    >>> from vantage import Instrument
    >>> read(Instrument.load("sarcasm").questions, {"a0": "ambiguous"})
    ({'sarcasm': Reply(value=None, status='ambiguous', rationale=None)}, {})
    >>> read(Instrument.load("sarcasm").questions, {"a0": "7"})
    ({}, {'a0': 'Choose one of the answers.'})
    """
    answers: dict[str, Reply] = {}
    errors: dict[str, str] = {}
    for index, question in enumerate(questions):
        answer = _answer(question.scale, form.get(f"a{index}", "").strip(), form.get(f"o{index}", "").strip())
        reason = cleaned(form.get(f"r{index}", "")) if question.rationale != "no" else ""
        if isinstance(answer, str):
            errors[f"a{index}"] = answer
        if question.rationale == "required" and not reason:
            errors[f"r{index}"] = "Give your reason in a few words."
        elif len(reason) > LONGEST:
            errors[f"r{index}"] = f"Shorten your reason to {LONGEST} characters; it has {len(reason)}."
        if isinstance(answer, Reply) and f"r{index}" not in errors:
            answers[question.id] = Reply(answer.value, answer.status, reason or None)
    return answers, errors


def _answer(scale: Scale, value: str, opt_out: str) -> Reply | str:
    """The answer that an input holds, or what to do about it."""
    for status in _statuses(scale):
        if scale.range is not None and opt_out == status:
            return Reply(None, status) if not value else "Give a number or choose the other answer, not both."
        if value == status:
            return Reply(None, status)
    if scale.range is None:
        # Only what the page offers is taken: neither "1e0" nor "１" is a button.
        found = next((option.code for option in scale.options if show_code(option.code) == value), None)
        return Reply(found) if found is not None else "Choose one of the answers."
    low, high = scale.range
    try:
        number = float(value.replace(",", "."))
    except ValueError:
        number = math.nan
    # Comparisons with "not a number" are false, and so are those with what lies outside.
    return Reply(number) if low <= number <= high else f"Give a number from {show_code(low)} to {show_code(high)}."


def _statuses(scale: Scale) -> tuple[OptOutStatus, ...]:
    return tuple(o.status for o in scale.opt_outs)
