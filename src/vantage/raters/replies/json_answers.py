"""Answers in JSON: under which key the answer stands, and under which the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vantage.raters.replies.labels import words
from vantage.raters.replies.loose_json import Cut

_ANSWERS = {
    *("answer", "rating", "score", "likert", "label", "value", "choice", "response", "rate", "result", "prediction"),
    *("judgment", "judgement", "verdict", "option", "selection", "selected", "code", "grade", "final"),
}
_REASONS = {
    *("reason", "reasons", "reasoning", "rationale", "explanation", "why", "justification", "thought", "thoughts"),
    *("analysis", "comment", "because", "evidence", "thinking"),
}
_ASIDE = {
    *("error", "status", "confidence", "certainty", "probability", "id", "index", "item", "question", "text"),
    *("scale", "max", "maximum", "min", "minimum", "n"),
}

_DEGREES = {"level", "degree", "amount", "extent", "of", "the", "overall", "perceived"}


@dataclass(frozen=True, slots=True)
class AnswerField:
    """A value of an object that may be the answer."""

    key: str
    value: Any
    final: bool


def answer_fields(data: Any, names: frozenset[str], *, strict: bool = False) -> list[AnswerField]:
    """The values of parsed JSON that stand under an answer's key, or under a name of the question.

    In recorded replies a single value beside the reason may also stand under the question's name with words of degree.
    Strictly, the answer stands under one of the keys that a prompt of Vantage asks for; other keys can only contradict
    it.

    >>> [field.value for field in answer_fields({"result": {"Final answer": 4, "why": "so"}}, frozenset())]
    [4]
    >>> [field.value for field in answer_fields({"level of irony": 4, "reason": "so"}, frozenset({"irony"}))]
    [4]
    >>> answer_fields({"number_of_sentences": 4}, frozenset({"irony"}))
    []
    >>> answer_fields({"stars": 4, "reason": "so"}, frozenset(), strict=True)
    []
    """
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    named = [field for field in _walk(data, 0) if words(field.key) in names]
    if named:
        return [inner for field in named for inner in _opened(field, strict=strict)]
    if strict and not (isinstance(data, dict) and any(words(key) == "answer" for key in data)):
        return []
    fields = [field for field in _walk(data, 0) if _names_answer(field.key) and not isinstance(field.value, dict)]
    if fields or strict:
        return fields
    rest = [f for f in _walk(data, 0) if not (set(words(f.key).split()) & (_REASONS | _ASIDE))]
    is_answer = len(rest) == 1 and not isinstance(rest[0].value, dict) and _names_question(rest[0].key, names)
    return rest if is_answer else []


def reason_of(data: Any) -> str | None:
    """The reason that parsed JSON gives.

    >>> reason_of({"rating": 3, "Explanation": "It is dull."})
    'It is dull.'
    """
    for field in _walk(data, 0):
        if set(words(field.key).split()) & _REASONS:
            parts = field.value if isinstance(field.value, list) else [field.value]
            text = " ".join(
                part.text if isinstance(part, Cut) else part for part in parts if isinstance(part, str | Cut)
            )
            if text.strip():
                return text.strip()
    return None


def _names_answer(key: str) -> bool:
    parts = words(key).split()
    return bool(set(parts) & _ANSWERS) and not set(parts) & (_REASONS | _ASIDE)


def _names_question(key: str, names: frozenset[str]) -> bool:
    """Whether a key is a name of the question and words of degree."""
    left = (f" {words(key)} ".replace(f" {name} ", " ").split() for name in names if f" {name} " in f" {words(key)} ")
    return any(set(rest) <= _DEGREES for rest in left)


def _opened(field: AnswerField, *, strict: bool) -> Iterator[AnswerField]:
    """A question's value, or the answer inside it where it is an object of its own."""
    if isinstance(field.value, dict):
        yield from answer_fields(field.value, frozenset(), strict=strict)
    else:
        yield field


def _walk(data: Any, depth: int) -> Iterator[AnswerField]:
    """The fields of objects inside objects, outer ones first."""
    if isinstance(data, list) and depth < 4:
        for entry in data[:200]:
            if isinstance(entry, dict | list):
                yield from _walk(entry, depth + 1)
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        yield AnswerField(key, value, "final" in words(key).split())
    for value in data.values():
        if isinstance(value, dict | list) and depth < 4:
            yield from _walk(value, depth + 1)
