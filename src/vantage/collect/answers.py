"""Answers: what may be answered on a page, and how it is stored."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vantage.collect.flow_document import TraitPart
from vantage.collect.languages import Sentence, sentence
from vantage.collect.views import InvalidAnswers, QuestionAnswer
from vantage.instruments import Question
from vantage.presentations import PLAIN, Presentation
from vantage.scales import Scale

LONGEST: Final = 10_000
_SIGNS: Final = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_TOKEN: Final = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]+")
ONCE: Final = sentence("Give each place once; 1 is the first.")
MARK: Final = sentence("Mark the words that decided, at most %(most)s.", most=0)
NOT_OFFERED: Final = sentence("This is not one of the answers.")
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
    problems: dict[str, str] = {name: "This question is not on the page." for name in given if name not in names}
    reasons: dict[str, str] = {}
    stored: dict[str, list[Any]] = {}
    answered_badly: set[str] = set()
    places: set[tuple[str, float | None]] = set()
    for question, way in zip(questions, ways or [PLAIN] * len(questions), strict=True):
        answer = given.get(question.id, QuestionAnswer())
        reason = cleaned(answer.rationale or "") if question.rationale != "no" else ""
        shares: list[Any] = []
        whole = question.whole.id if question.whole else question.id
        place = (whole, answer.value)
        if question.marks:
            problem = _marks_problem(question, answer)
            shares = [None, sorted({*answer.marked})] if answer.marked and not problem else []
        elif question.scale.text:
            problem = _text_problem(question, answer, reason)
        elif question.shares and (answer.shares is not None or answer.value is not None):
            problem = _shares_problem(question.scale, answer)
            answer, shares = _distributed(question.scale, answer) if not problem else (answer, [])
        elif question.whole and question.whole.ranked and place in places and answer.value is not None:
            problem = ONCE
        elif question.unlike and answer.value is not None and answer.value == stored[question.unlike][0]:
            problem = sentence("Please choose another answer than in the question before.")
        else:
            problem = _problem(question.scale, answer)
        places.add(place)
        if problem and whole not in answered_badly:
            problems[question.id] = problem
            answered_badly.add(whole)
        if question.scale.text:
            pass
        elif question.rationale == "required" and not reason:
            reasons[question.id] = sentence("Please give a reason.")
        elif len(reason) > LONGEST:
            reasons[question.id] = sentence(
                "Please shorten the reason to %(most)s characters; it has %(length)s.", most=LONGEST, length=len(reason)
            )
        value = None if answer.value is None else float(way.decoded(question, answer.value))
        shown = [str(way)] if str(way) or shares else []
        stored[question.id] = [value, answer.status, reason or None, *shown, *shares]
    if problems or reasons:
        raise InvalidAnswers(problems, reasons)
    return json.dumps(stored)


def _marks_problem(question: Question, answer: QuestionAnswer) -> str:
    """Why marked words are no answer: none are marked, too many, or some beside an opt-out."""
    marked = answer.marked or ()
    if answer.status != "answered" and not marked:
        return _problem(question.scale, answer)
    wanted = len({*marked}) <= question.scale.text and (marked or question.rationale == "optional")
    if answer.status == "answered" and wanted and answer.value == float(bool(marked)):
        return ""
    return sentence(MARK.template, most=question.scale.text)


def tokens(text: str) -> list[str]:
    """The words of a text that can be marked: what stands between blanks, and each sign of scripts without blanks.

    >>> tokens("It rained, 雨だ")
    ['It', 'rained,', '雨', 'だ']
    """
    return _TOKEN.findall(text)


def marked_words(question: Question, record: Mapping[str, Any], positions: Sequence[int]) -> str:
    """Marked words as text: those that stand together are joined, others separated by semicolons."""
    known, runs = tokens(str(record.get(question.marks) or "")), list[list[str]]()
    inside = [place for place in positions if 0 <= place < len(known)]
    for before, place in zip([-2, *inside], inside, strict=False):
        if place != before + 1:
            runs.append([])
        runs[-1].append(known[place])
    return "; ".join(" ".join(run) for run in runs)


def _text_problem(question: Question, answer: QuestionAnswer, text: str) -> str:
    given = 1.0 if text else 0.0 if question.rationale == "optional" else None
    if answer.status == "answered" and given is not None and answer.value == given:
        longest = question.scale.text
        if len(text) <= longest:
            return ""
        return sentence(
            "Please shorten this to %(most)s characters; it has %(length)s.", most=longest, length=len(text)
        )
    if answer.status != "answered" and not text:
        return _problem(question.scale, answer)
    if not text:
        return sentence("Please write an answer.")
    return sentence("Please either write an answer or choose the other one, not both.")


def _shares_problem(scale: Scale, answer: QuestionAnswer) -> str:
    """Why shares are no distribution over the options; they may miss 100 by one, as three times 33 does."""
    shares = answer.shares or ()
    if answer.status != "answered":
        return sentence("Please either give shares or choose the other answer, not both.")
    if len(shares) != len(scale.codes) or not all(0 <= share <= 100 for share in shares):
        return sentence("Please enter a number from %(low)s to %(high)s.", low=0, high=100)
    total = sum(shares)
    if abs(total - 100) <= 1:
        return ""
    return sentence("The shares add up to %(sum)s. Please make them add up to 100.", sum=round(total, 2))


def _distributed(scale: Scale, answer: QuestionAnswer) -> tuple[QuestionAnswer, list[list[float]]]:
    """The answer whose value is the option with the largest share, the first of several; and its shares of 1."""
    given = answer.shares or ()
    value = scale.codes[given.index(max(given))]
    return replace(answer, value=value), [[round(share / sum(given), 6) for share in given]]


def _problem(scale: Scale, answer: QuestionAnswer) -> str:
    if answer.status == "answered":
        valid = answer.value is not None and math.isfinite(answer.value) and scale.holds(answer.value)
    else:
        valid = answer.value is None and answer.status in {o.status for o in scale.opt_outs}
    if valid:
        return ""
    if answer.status == "both":
        return sentence("Please choose either options or the answer below them, not both.")
    if scale.slides:
        low, high = scale.ends
        if scale.range is None:
            return sentence("Please enter a whole number from %(low)s to %(high)s.", low=low, high=high)
        if scale.opt_outs:
            return sentence(
                "Please enter a number from %(low)s to %(high)s, or choose the other answer.", low=low, high=high
            )
        return sentence("Please enter a number from %(low)s to %(high)s.", low=low, high=high)
    missing = answer == QuestionAnswer(rationale=answer.rationale)
    return sentence("Please choose an answer.") if missing else NOT_OFFERED


def read(stored: str) -> dict[str, QuestionAnswer]:
    """Stored answers by question."""
    fields: dict[str, list[Any]] = json.loads(stored)
    given = {}
    for name, (value, status, reason, *more) in fields.items():
        _, shares, marked = [*more, None, None, None][:3]
        of_100 = tuple(round(100 * share, 2) for share in shares or ())
        given[name] = QuestionAnswer(value, status, reason, of_100 or None, tuple(marked or ()) or None)
    return given


def check_traits(traits: Sequence[TraitPart], given: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """The answers to the trait questions as they are stored; unanswered ones are null.

    >>> age = TraitPart(id="age", ask="How old are you?", kind="number", **{"from": 18})
    >>> check_traits([age], {"age": "34"})
    {'age': 34}
    """
    problems: dict[str, str] = {}
    stored: dict[str, Any] = {}
    for trait in traits:
        answer = _trait(trait, given.get(trait.id, ""))
        if isinstance(answer, Sentence):
            problems[trait.id] = answer
        elif trait.required and answer in (None, []):
            problems[trait.id] = sentence("Please answer this question.")
        stored[trait.id] = answer
    if problems:
        raise InvalidAnswers(problems)
    return stored


def _trait(trait: TraitPart, given: str | Sequence[str]) -> Any:
    """The answer to a question about the participant, or the sentence that says why it is none."""
    texts = [cleaned(text) for text in ([given] if isinstance(given, str) else given)]
    texts = [text for text in texts if text]
    if trait.kind in ("choice", "several"):
        if any(text not in trait.options for text in texts) or (trait.kind == "choice" and len(texts) > 1):
            return NOT_OFFERED
        chosen = [option for option in trait.options if option in texts]
        return chosen if trait.kind == "several" else next(iter(chosen), None)
    text = texts[0] if texts else ""
    if trait.kind == "text":
        if len(text) > LINE:
            return sentence("Please shorten this to %(most)s characters.", most=LINE)
        return text or None
    if not text:
        return None
    try:
        number = int(text) if len(text) < 10 else None
    except ValueError:
        number = None
    if number is None:
        return sentence("Please enter a whole number.")
    if (trait.from_ is not None and number < trait.from_) or (trait.to is not None and number > trait.to):
        if trait.from_ is None:
            return sentence("Please enter a number of at most %(high)s.", high=trait.to or 0)
        if trait.to is None:
            return sentence("Please enter a number of at least %(low)s.", low=trait.from_)
        return sentence("Please enter a number from %(low)s to %(high)s.", low=trait.from_, high=trait.to)
    return number


def cleaned(text: str) -> str:
    """Text without control characters and lone surrogates, which neither database nor table can store.

    >>> cleaned(" a" + chr(0) + "b ")
    'ab'
    """
    kept = (c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(kept).strip()


def whole_number(text: str) -> int | None:
    """A whole number from a link or a form; null for anything else.

    >>> whole_number("12"), whole_number("-1"), whole_number("１")
    (12, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
