"""A study in several languages of content: what a translated instrument shares with the original, and items' columns.

Answers are stored in the codes of the original, whose ids and options a translation has in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vantage.instruments import Instrument, MultipleChoice, Question
from vantage.scales import Scale


def columns(field: str, language: str) -> tuple[str, str]:
    """The columns in which a field of items may stand in another language: `text_de` or `text:de`."""
    return f"{field}_{language}", f"{field}:{language}"


def differences(original: Instrument, other: Instrument) -> Iterator[str]:
    """Where a translation is not equivalent to the original, in clauses: other answers, another order, other fields."""
    for what, mine, theirs in (
        ("fields", _fields(original), _fields(other)),
        ("conditions", original.conditions, other.conditions),
        ("questions", [_id(q) for q in original.questions], [_id(q) for q in other.questions]),
        ("checks", [(c.id, c.accept) for c in original.checks], [(c.id, c.accept) for c in other.checks]),
    ):
        if mine != theirs:
            yield f"its {what} must be those of '{original.id}', in the same order"
            return
    for own, its in zip(original.questions, other.questions, strict=True):
        if _codes(own.scale) != _codes(its.scale):
            yield f"question '{own.id}' has other answers ({its.scale.describe()}) than in '{original.id}'"
        for key in ("rationale", "unlike", "shares", "confidence", "others", "marks"):
            if getattr(own, key) != getattr(its, key):
                yield f"question '{own.id}' has another '{key}' than in '{original.id}'"
        if len(own.wordings) != len(its.wordings) or (own.reversed is None) != (its.reversed is None):
            yield f"question '{own.id}' needs as many paraphrases, and a reversed form, as in '{original.id}'"


def aligned(original: Instrument, other: Instrument) -> Instrument:
    """A translation whose questions have the ids of the original: those about options are named after their labels."""
    ids = {theirs.id: mine.id for mine, theirs in zip(original.questions, other.questions, strict=True)}

    def renamed(question: Question) -> Question:
        whole = question.whole
        if whole is not None:
            whole = replace(whole, ids=tuple(ids[id_] for id_ in whole.part_ids))
        return replace(question, id=ids[question.id], whole=whole)

    return replace(
        other,
        questions=tuple(map(renamed, other.questions)),
        examples=tuple(replace(e, answers={ids[id_]: a for id_, a in e.answers.items()}) for e in other.examples),
        checks=tuple(replace(check, question=ids[check.question]) for check in other.checks),
    )


def _fields(instrument: Instrument) -> list[tuple[str, str]]:
    return [(field.name, field.kind) for field in instrument.fields]


def _id(question: Question) -> tuple[object, ...]:
    """What a question is called; those about options by the question, the option's code, and how they are asked."""
    whole: MultipleChoice | None = question.whole
    if whole is None:
        return (question.id,)
    return whole.id, whole.ranked, bool(whole.none), whole.part_ids.index(question.id), _codes(whole.scale)


def _codes(scale: Scale) -> tuple[object, ...]:
    return scale.level, scale.codes, scale.range, scale.order, scale.text, [one.status for one in scale.opt_outs]
