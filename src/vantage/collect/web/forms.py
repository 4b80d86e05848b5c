"""Questions as a form, and a completed form as answers: pure functions, independent of requests.

Inputs are named by the position of their question on the page (`a0`, `r0`), since question ids may contain spaces. The
value of an answer is a code of the scale (`3`, `-0.5`) or the name of an opt-out (`ambiguous`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Literal

from vantage.collect.views import InvalidAnswers, QuestionAnswer
from vantage.instruments import Question
from vantage.scales import Scale, Status, show_code

Layout = Literal["points", "list", "inline", "number"]
"""A row of numbers with labels at its ends, a list of labels, a few short labels side by side, or a number to enter."""


def layout(scale: Scale) -> Layout:
    """How the answers of a scale are laid out.

    >>> layout(Scale.labels("no", "yes")), layout(Scale.points(1, 7))
    ('inline', 'points')
    """
    if scale.range is not None:
        return "number"
    if not all(option.label for option in scale.options) and len(scale.options) <= 11:
        return "points"
    short = not any(len(option.label) > 16 or option.description for option in scale.options)
    return "inline" if short and len(scale.options) <= 4 else "list"


def signed(code: float, scale: Scale) -> str:
    """A code as shown beside its label: with its sign where the scale has two sides.

    Short labelled scales and names show no code, since guidelines and people use the labels. A presentation may call
    the options otherwise.

    >>> signed(3, Scale.points(-3, 3)), signed(-1, Scale.points(-3, 3)), signed(3, Scale.points(1, 5))
    ('+3', '−1', '3')
    >>> signed(1, Scale.labels("no", "yes"))
    ''
    """
    if scale.called == "letters":
        return ascii_uppercase[[o.code for o in scale.shown].index(code)]
    whole = all(c.is_integer() for c in scale.codes)
    if scale.called == "words":
        return ""
    if (
        scale.called is None
        and all(o.label for o in scale.options)
        and not (scale.ordered and whole and len(scale.options) >= 5)
    ):
        return ""
    if scale.ends[0] >= 0:
        return show_code(code)
    return f"+{show_code(code)}" if code > 0 else show_code(code).replace("-", "−")


def inputs(questions: Sequence[Question], answers: Mapping[str, QuestionAnswer]) -> dict[str, str]:
    """The inputs' values for earlier answers: the inverse of `read`."""
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


def read(questions: Sequence[Question], form: Mapping[str, str]) -> dict[str, QuestionAnswer]:
    """The answers of a completed form by question; a value that the page does not offer counts as no answer.

    >>> from vantage import Instrument
    >>> read(Instrument.load("sarcasm").questions, {"a0": "ambiguous"})
    {'sarcasm': QuestionAnswer(value=None, status='ambiguous', rationale=None)}
    >>> read(Instrument.load("sarcasm").questions, {"a0": "7", "r0": "why"})
    {'sarcasm': QuestionAnswer(value=None, status='answered', rationale='why')}
    """
    return {
        question.id: QuestionAnswer(
            *_answer(question.scale, form.get(f"a{index}", "").strip(), form.get(f"o{index}", "").strip()),
            form.get(f"r{index}") or None,
        )
        for index, question in enumerate(questions)
    }


def errors(questions: Sequence[Question], invalid: InvalidAnswers) -> dict[str, str]:
    """What is wrong with the answers, by input, in the order of the page."""
    messages: dict[str, str] = {}
    for index, question in enumerate(questions):
        for kind, problems in (("a", invalid.problems), ("r", invalid.reasons)):
            if question.id in problems:
                messages[f"{kind}{index}"] = problems[question.id]
    return messages


def _answer(scale: Scale, value: str, opt_out: str) -> tuple[float | None, Status]:
    """The code and the status in the inputs of a question."""
    if scale.range is None:
        for status in _statuses(scale):
            if value == status:
                return None, status
        # Only values that the page offers are accepted: neither "1e0" nor "１" is a button.
        return next((option.code for option in scale.options if show_code(option.code) == value), None), "answered"
    try:
        number = float(value.replace(",", ".")) if value else None
    except ValueError:
        number = None
    return number, next((status for status in _statuses(scale) if status == opt_out), "answered")


def _statuses(scale: Scale) -> tuple[Status, ...]:
    return tuple(o.status for o in scale.opt_outs)
