"""Questions as a form, and a completed form as answers, independent of requests.

Inputs are named by the position of their question on the page (`a0`, `r0`), since question ids may contain spaces. The
value of an answer is a code of the scale (`3`, `-0.5`) or the name of an opt-out (`ambiguous`).

Questions are cached as HTML: only the wording and the chosen button change from item to item. A page of 24 questions
has 240 buttons. Rendering them for each of hundreds of pages a second would cost more than everything else together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from string import ascii_uppercase
from typing import Any, Final, Literal, TypeAlias

from jinja2 import Environment
from markupsafe import Markup, escape

from vantage.collect.answers import tokens, whole_number
from vantage.collect.views import InvalidAnswers, QuestionAnswer
from vantage.collect.web.item_view import texts
from vantage.instruments import Question, grouped
from vantage.scales import Option, Scale, Status, show_code

Parts: TypeAlias = tuple[tuple[int, Option], ...]
"""The options of a question of which several may apply, each with the number of its input."""
WORDING: Final = "\x00wording\x00"
"""Placeholder for the wording in cached HTML; cannot occur in an instrument."""
Layout = Literal["points", "list", "inline", "slider", "text"]
"""A row of numbers with labels at its ends, a list, a few labels side by side, a number to enter, or a text."""


def layout(scale: Scale) -> Layout:
    """How the answers of a scale are laid out.

    >>> layout(Scale.labels("no", "yes")), layout(Scale.points(1, 7))
    ('inline', 'points')
    """
    if scale.text or scale.slides:
        return "text" if scale.text else "slider"
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
    labelled = bool(scale.options) and all(o.label for o in scale.options)
    counts = scale.ordered and len(scale.options) >= 5 and all(c.is_integer() for c in scale.codes)
    if scale.called == "words" or (scale.called is None and labelled and not counts):
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
        if answer.value is None:
            apart = question.scale.slides or question.scale.text or question.shares or _ranked(question)
            given[f"{'o' if apart else 'a'}{index}"] = answer.status
        elif question.shares:
            given |= {f"s{index}.{n}": show_code(share) for n, share in enumerate(answer.shares or ())}
        elif question.marks:
            given |= {f"m{index}.{place}": "1" for place in answer.marked or ()}
        elif not question.scale.text:
            given[f"a{index}"] = show_code(answer.value) if question.scale.range is None else repr(answer.value)
        if answer.rationale:
            given[f"r{index}"] = answer.rationale
    for first, group in _several(questions):
        values = [answers[question.id] for question in group if question.id in answers]
        if values and not _ranked(group[0]) and not any(answer.value for answer in values):
            given[f"n{first}"] = "none" if values[0].value is not None else values[0].status
    return given


def read(questions: Sequence[Question], form: Mapping[str, str]) -> dict[str, QuestionAnswer]:
    """The answers of a completed form by question; a value that the page does not offer counts as no answer.

    >>> from vantage import Instrument
    >>> read(Instrument.load("sarcasm").questions, {"a0": "ambiguous"})
    {'sarcasm': QuestionAnswer(value=None, status='ambiguous', rationale=None)}
    >>> read(Instrument.load("sarcasm").questions, {"a0": "7", "r0": "why"})
    {'sarcasm': QuestionAnswer(value=None, status='answered', rationale='why')}
    """
    answers = {}
    for index, question in enumerate(questions):
        value, opt_out, text = (form.get(f"{kind}{index}", "").strip() for kind in "aor")
        places = [whole_number(name.partition(".")[2]) for name in form if name.startswith(f"m{index}.")]
        marked = tuple(sorted(one for one in places if one is not None)) if question.marks else None
        if question.scale.text:
            said = bool(marked if question.marks else text)
            given = float(said) if said or (question.rationale == "optional" and not opt_out) else None
            answer = given, _declined(question.scale, opt_out)
        elif question.shares:
            answer = None, _declined(question.scale, opt_out)
        else:
            answer = _answer(question.scale, value, opt_out)
        shares = _shares(question.scale, index, form) if question.shares else None
        answers[question.id] = QuestionAnswer(*answer, form.get(f"r{index}") or None, shares, marked)
    for first, group in _several(questions):
        if _ranked(group[0]):
            if (status := _declined(group[0].scale, form.get(f"o{first}", ""))) != "answered":
                status = "both" if any(answers[q.id].value is not None for q in group) else status
                answers |= {question.id: QuestionAnswer(answers[question.id].value, status) for question in group}
            continue
        answers |= _applying(group, [form.get(f"a{first + n}") for n in range(len(group))], form.get(f"n{first}", ""))
    return answers


def _ranked(question: Question) -> bool:
    return question.whole is not None and question.whole.ranked


def _shares(scale: Scale, index: int, form: Mapping[str, str]) -> tuple[float, ...] | None:
    """The shares of the options: what is left empty is 0, anything but a number is NaN; none where all is empty."""
    typed = [form.get(f"s{index}.{n}", "").strip().rstrip("%").replace(",", ".") for n in range(len(scale.codes))]
    return tuple(_number(text or "0", math.nan) for text in typed) if any(typed) else None


def _number(text: str, otherwise: float | None) -> Any:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _several(questions: Sequence[Question]) -> list[tuple[int, Sequence[Question]]]:
    return [(first, questions[first : first + len(parts)]) for first, _, parts in drawn(questions) if parts]


def _applying(group: Sequence[Question], chosen: Sequence[str | None], alone: str) -> dict[str, QuestionAnswer]:
    """The answers about options: 1 for those that were chosen, or what was chosen instead of all of them."""
    scale = group[0].scale
    if "1" in chosen:
        # Nothing else can be said beside an option; an answer that is not offered is refused when it is checked.
        status = "both" if alone else "answered"
        return {q.id: QuestionAnswer(float(one == "1"), status) for q, one in zip(group, chosen, strict=True)}
    if alone == "none":
        return {question.id: QuestionAnswer(0.0) for question in group}
    return {question.id: QuestionAnswer(None, _declined(scale, alone)) for question in group}


def errors(questions: Sequence[Question], invalid: InvalidAnswers) -> dict[str, str]:
    """What is wrong with the answers, by input, in the order of the page."""
    inputs = [(q.id, kind, n) for n, q in enumerate(questions) for kind in "ar"]
    said = {"a": invalid.problems, "r": invalid.reasons}
    return {f"{kind}{n}": said[kind][name] for name, kind, n in inputs if name in said[kind]}


def _answer(scale: Scale, value: str, opt_out: str) -> tuple[float | None, Status]:
    if not scale.slides:
        if (status := _declined(scale, value)) != "answered":
            return None, status
        # Only values that the page offers are accepted: neither "1e0" nor "１" is a button.
        return next((option.code for option in scale.options if show_code(option.code) == value), None), "answered"
    return _number(value.replace(",", "."), None), _declined(scale, opt_out)


def _declined(scale: Scale, value: str) -> Status:
    return next((o.status for o in scale.opt_outs if o.status == value), "answered")


class QuestionCache:
    """Renders the questions of one instrument, which is written in `language`, for pages in one language."""

    def __init__(self, templates: Environment, longest: int, language: str = "en") -> None:
        self._render = partial(templates.get_template("question.html").render, longest=longest, language=language)
        self._html: dict[tuple[int, int, str, str, str, str], str] = {}

    def sections(
        self,
        questions: Sequence[Question],
        item: Mapping[str, Any],
        condition: str,
        given: Mapping[str, str],
        errors: Mapping[str, str],
        ways: Sequence[str] = (),
        group: int = 0,
    ) -> list[tuple[str, Markup]]:
        """The questions about an item under their section headings, with given answers and errors.

        `ways` says how each question is put; a random order is not cached, since there are too many. `group` is the set
        of questions, since two instruments may have a question of the same name.
        """
        words = texts(item)
        grouped: list[tuple[str, list[str]]] = []
        for index, question, parts in drawn(questions):
            wording = question.wording(condition, **words)
            value, opt_out = given.get(f"a{index}", ""), given.get(f"o{index}", "")
            way = ways[index] if ways else ""
            own = [f"n{index}", *(f"a{number}" for number, _ in parts), *(f"{kind}{index}" for kind in "ar")]
            typed = bool(given.get(f"r{index}") or (value and question.scale.slides))
            typed |= any(name in given for name in own[:-2]) or any(name in errors for name in own[-2:])
            typed |= question.shares and any(name.startswith(f"s{index}.") for name in given)
            if typed or question.marks or "seen=" in way:
                html = self._render(
                    index=index,
                    question=question,
                    parts=parts,
                    wording=wording,
                    given=given,
                    errors=errors,
                    words=tokens(words.get(question.marks, "")),
                )
            else:
                # Only values that the page offers, so that the cache stays small.
                value, opt_out = _offered(question, value), _offered(question, opt_out)
                key = (group, index, question.id, way, value, opt_out)
                if key not in self._html:
                    shown = {f"a{index}": value, f"o{index}": opt_out}
                    self._html[key] = self._render(
                        index=index, question=question, parts=parts, wording=WORDING, given=shown, errors={}
                    )
                html = self._html[key].replace(WORDING, escape(wording))
            if grouped and grouped[-1][0] == question.section:
                grouped[-1][1].append(html)
            else:
                grouped.append((question.section, [html]))
        return [(title, Markup("".join(parts))) for title, parts in grouped]  # noqa: S704 - the template escapes


def drawn(questions: Sequence[Question]) -> Iterator[tuple[int, Question, Parts]]:
    """The questions that a page draws, with the number of their first input and of each option that may apply."""
    index = 0
    for group in grouped(questions):
        whole = group[0].whole
        if whole is not None and len(group) > 1:
            options = dict(zip(whole.part_ids, whole.scale.options, strict=True))
            yield index, whole, tuple((index + n, options[question.id]) for n, question in enumerate(group))
        else:
            yield from ((index + n, question, ()) for n, question in enumerate(group))
        index += len(group)


def _offered(question: Question, value: str) -> str:
    """The value where the page offers it; other values are not cached."""
    scale = question.scale
    known = value and (
        any(o.status == value for o in scale.opt_outs) or any(show_code(o.code) == value for o in scale.options)
    )
    return value if known else ""
