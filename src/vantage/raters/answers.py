"""The answers a model may give to a question, as words it can write: codes, labels and opt-outs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any, Final

from vantage.instruments import MultipleChoice, Question, put
from vantage.scales import Scale, Status, show_code

ALIASES: Final = "".join(letter for letter in ascii_uppercase if letter not in "AIO")
"""Letters that stand for options where only the first token of a reply is told: "A" and "I" begin sentences."""
NONE: Final = "none"
"""What is written where no option applies."""


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One way to answer: what is written, what it means, and how it is stored."""

    word: str
    meaning: str
    value: float | None
    status: Status


def choices(scale: Scale, *, letters: bool = False) -> tuple[AnswerChoice, ...]:
    """The answers of a scale in the order shown, under the names that its presentation gives them.

    Without any, these are labels where the scale is nominal or a label is all there is, else the codes. With `letters`,
    each is written as a letter that stands for it and with which no sentence begins.

    >>> from vantage import Scale
    >>> [(choice.word, choice.meaning) for choice in choices(Scale.points(1, 3, anchors={1: "low", 3: "high"}))]
    [('1', 'low'), ('2', ''), ('3', 'high')]
    >>> [(choice.word, choice.meaning) for choice in choices(Scale.points(-1, 1, anchors={-1: "bad"}), letters=True)]
    [('B', '-1 (bad)'), ('C', '0'), ('D', '1')]
    """
    worded = all(o.label for o in scale.options)
    lettered = scale.called == "letters"
    named = not lettered and scale.named
    offered = (
        []
        if scale.text
        else [
            AnswerChoice(o.label, o.description, o.code, "answered")
            if named or (lettered and worded)
            else AnswerChoice(show_code(o.code), o.label or o.description, o.code, "answered")
            for o in scale.shown
        ]
    )
    declined = [
        AnswerChoice(o.status.replace("_", " "), _explained(o.label, o.status), None, o.status) for o in scale.opt_outs
    ]
    if not (letters or lettered):
        return (*offered, *declined)
    return tuple(
        replace(c, word=letter, meaning=f"{c.word} ({c.meaning})" if c.meaning else c.word)
        for letter, c in zip(ALIASES if letters else ascii_uppercase, (*offered, *declined), strict=False)
    )


def begin_apart(scale: Scale) -> bool:
    """Whether the first token of a reply tells which answer it is, and no ordinary sentence begins with one.

    Digits do, each alone; the beginning of a word may be that of any sentence ("In" of "inappropriate").

    >>> from vantage import Scale
    >>> begin_apart(Scale.points(1, 5)), begin_apart(Scale.points(-3, 3)), begin_apart(Scale.labels("no", "yes"))
    (True, False, False)
    """
    return all(len(choice.word) == 1 and choice.word.isdecimal() for choice in choices(scale))


def listed(scale: Scale, *, letters: bool = False) -> str:
    """The answers as a list to choose from, one a line."""
    if scale.text:
        lines = [f"any text of at most {scale.text} characters"]
    else:
        lines = [f"any {_span(scale)}", *_anchored(scale)] if _spanned(scale, letters) else []
    offered = _said(scale, letters=letters)
    return "\n".join([*lines, *(f"{c.word} = {c.meaning}" if c.meaning else c.word for c in offered)])


def words(scale: Scale, *, letters: bool = False) -> str:
    """The answers in half a sentence: `1, 2, 3, 4 or 5`."""
    numbers = [f"a {_span(scale)}"] if _spanned(scale, letters) else []
    numbers += [f"a text of at most {scale.text} characters"] if scale.text else []
    quoted = [*numbers, *(f'"{c.word}"' if " " in c.word else c.word for c in _said(scale, letters=letters))]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def anchors(scale: Scale) -> str:
    """What some of the answers mean, in brackets behind the question."""
    worded = _anchored(scale) if _spanned(scale) else []
    return "; ".join([*worded, *(f"{c.word} = {c.meaning}" for c in _said(scale) if c.meaning not in ("", c.word))])


def _spanned(scale: Scale, letters: bool = False) -> bool:
    """Whether the answers are named by their ends: numbers of a range, or of more points than a list should have."""
    return scale.slides and not letters and scale.called != "letters"


def _span(scale: Scale) -> str:
    low, high = map(show_code, scale.ends)
    return f"{'number' if scale.range is not None else 'whole number'} from {low} to {high}"


def _anchored(scale: Scale) -> list[str]:
    return [f"{show_code(point.code)} = {point.label}" for point in scale.worded]


def _said(scale: Scale, *, letters: bool = False) -> tuple[AnswerChoice, ...]:
    every = choices(scale, letters=letters)
    return tuple(c for c in every if c.value is None) if _spanned(scale, letters) else every


def listed_several(question: MultipleChoice) -> str:
    """The options of which several may apply, with the ways to choose none; or those that are ranked."""
    return listed(question.scale) + ("" if question.ranked else f"\n{NONE} = {question.none}")


def words_several(question: MultipleChoice, *, as_list: bool = False) -> str:
    """How the options that apply are written."""
    declined = "".join(f', or "{c.word}"' for c in choices(question.scale) if c.value is None)
    offered = ", ".join(f'"{c.word}"' for c in choices(question.scale) if c.value is not None)
    if question.ranked:
        form = f"a list of all of {offered} in order" if as_list else "all of them in order"
        return f"{form}, from the first place to the last{'' if as_list else ', separated by semicolons'}{declined}"
    if as_list:
        return f"a list of all that apply of {offered} (an empty list where none does){declined}"
    return f'all that apply, separated by semicolons, or "{NONE}"{declined}'


def words_shares(question: Question, *, as_object: bool = False) -> str:
    """How the shares of the options are written."""
    offered = [c.word for c in choices(question.scale) if c.value is not None]
    declined = "".join(f', or "{c.word}"' for c in choices(question.scale) if c.value is None)
    if as_object:
        inside = ", ".join(f"{json.dumps(word, ensure_ascii=False)}: …" for word in offered)
        return f"an object with the share of each answer in per cent, which add up to 100: {{{inside}}}{declined}"
    inside = "; ".join(f"{word}: …" for word in offered)
    return f'the share of each answer in per cent, which add up to 100, as in "{inside}"{declined}'


def words_marked(question: Question) -> str:
    """How marked words are written."""
    declined = "".join(f', or "{c.word}"' for c in choices(question.scale) if c.value is None)
    empty = f', or "{NONE}"' if question.rationale == "optional" else ""
    most = f"at most {question.scale.text} words that decided"
    return f"{most}, copied from the {question.marks} and separated by semicolons{empty}{declined}"


def answer_schema(
    questions: Sequence[Question], *, reason: bool, together: bool, answer_first: bool = False
) -> Mapping[str, Any]:
    """The JSON Schema of a reply: an answer, or one per question, before or after its reason where one is wanted."""
    text = {"type": "string"}
    properties: dict[str, Any] = {}
    for question in put(questions):
        several = isinstance(question, MultipleChoice) or question.shares
        ranked = isinstance(question, MultipleChoice) and question.ranked
        answer = _some_of(question.scale, question.shares, ranked) if several else _one_of(question.scale)
        if question.marks:
            answer = {"type": "string", "minLength": 1}
        both = {"answer": answer, "reason": text} if answer_first else {"reason": text, "answer": answer}
        parts = both if reason else {"answer": answer}
        if not together:
            properties = parts
        else:
            properties[question.id] = _object(parts) if reason else answer
    return _object(properties)


def _some_of(scale: Scale, shares: bool, ranked: bool) -> dict[str, Any]:
    offered = [c.word for c in choices(scale) if c.value is not None]
    several: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": offered}}
    if ranked:
        several |= {"minItems": len(offered), "maxItems": len(offered)}
    if shares:
        several = _object({word: {"type": "number", "minimum": 0, "maximum": 100} for word in offered})
    declined = [c.word for c in choices(scale) if c.value is None]
    return {"anyOf": [several, {"type": "string", "enum": declined}]} if declined else several


def _one_of(scale: Scale) -> dict[str, Any]:
    if scale.text:
        # An opt-out is a text as well, so it needs no place of its own.
        return {"type": "string", "minLength": 1, "maxLength": scale.text}
    if _spanned(scale):
        low, high = scale.ends
        number: dict[str, Any] = (
            {"type": "number", "minimum": low, "maximum": high}
            if scale.range is not None
            else {"type": "integer", "minimum": int(low), "maximum": int(high)}
        )
        declined = [c.word for c in _said(scale)]
        return {"anyOf": [number, {"type": "string", "enum": declined}]} if declined else number
    spelt = [_json_word(choice) for choice in choices(scale)]
    # Strict servers want one type: codes beside opt-outs are written as text.
    kinds = {type(word) for word in spelt}
    if kinds <= {int, float}:
        return {"type": "integer" if kinds == {int} else "number", "enum": spelt}
    return {"type": "string", "enum": [str(word) for word in spelt]}


def _json_word(choice: AnswerChoice) -> str | int | float:
    if choice.value is None or choice.word != show_code(choice.value):
        return choice.word
    return int(choice.value) if choice.value.is_integer() else choice.value


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _explained(label: str, status: str) -> str:
    """An opt-out's label without the word that is written for it."""
    word = status.replace("_", " ")
    return label.removeprefix(word).lstrip(" :,–-") if label.lower().startswith(word) else label
