"""The part of a report on how answers are spread: shares of options, distributions of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.report.parts import Figure, Section, Table
from vantage.scales import STATUSES, Scale, show_code

SHOWN: Final = 16
"""How many questions are drawn in one figure."""


def answers(corpus: Corpus, questions: Sequence[dict[str, Any]]) -> Section:
    """One figure per scale, and a table of what became of every question where not all was answered.

    Args:
        corpus: The corpus.
        questions: Its questions as `vantage.describe` tells them.
    """
    parts: list[Table | Figure] = []
    by_scale: dict[tuple[float, ...], list[dict[str, Any]]] = {}
    for question in questions:
        if question["values"] and sum(question["values"].values()):
            by_scale.setdefault(corpus.question(question["question"]).scale.codes, []).append(question)
    for number, found in enumerate(by_scale.values(), 1):
        parts.append(_shares(corpus, found, f"answers-{number}" if len(by_scale) > 1 else "answers"))
    continuous = [q.id for q in corpus.questions if q.scale.range is not None]
    values = corpus.judgments.filter(pl.col("question").is_in(continuous), pl.col("value").is_not_null())
    if len(values):
        parts.append(
            Figure(
                "values",
                "The values given: median, quartiles, and whiskers to 1.5 times their distance.",
                "Boxes of the values, one per question.",
                "distribution",
                values.select("question", "value"),
                {"category": "question", "kind": "box", "label": "value"},
            )
        )
    statuses = {status for question in questions for status in question["statuses"]}
    if statuses - {"answered"}:
        rows = [
            {"question": q["question"]} | {s: q["statuses"].get(s, 0) for s in STATUSES if s in statuses}
            for q in questions
        ]
        caption = "What became of every question: answers, opt-outs, and why there is no value."
        parts.append(Table("statuses", caption, pl.DataFrame(rows), keys=("question",)))
    return Section("How the answers are spread", [], parts)


def _shares(corpus: Corpus, questions: Sequence[dict[str, Any]], name: str) -> Figure:
    scales = [corpus.question(q["question"]).scale for q in questions]
    labels = _labels(scales)
    drawn = questions[:SHOWN]
    frame = pl.DataFrame(
        [
            {"question": q["question"], "answer": label, "judgments": count}
            for q in drawn
            for label, count in zip(labels, q["values"].values(), strict=True)
        ]
    )
    caption = "The share of each answer among all answers to a question."
    if len(questions) > SHOWN:
        caption += f" The first {SHOWN} of {len(questions)} questions are drawn."
    in_words = "; ".join(_in_words(q, labels) for q in drawn)
    options: dict[str, Any] = {"category": "question", "part": "answer", "value": "judgments", "order": labels}
    options |= {"sequential": scales[0].ordered, "label": "share of the answers"}
    return Figure(name, caption, f"Stacked bars, one per question: {in_words}.", "shares", frame, options)


def _labels(scales: Sequence[Scale]) -> list[str]:
    """The answers in words where all questions use the same, as numbers where they do not."""
    first = scales[0]
    same = all([o.label for o in scale.options] == [o.label for o in first.options] for scale in scales)
    if not same:
        return [show_code(code) for code in first.codes]
    numbered = first.ordered and not all(o.label for o in first.options)
    return [f"{show_code(o.code)} {o.label}".strip() if numbered else o.name for o in first.options]


def _in_words(question: dict[str, Any], labels: Sequence[str]) -> str:
    counts = list(question["values"].values())
    most = max(range(len(counts)), key=lambda n: counts[n])
    return f"{question['question']}: most often {labels[most]} ({counts[most] / sum(counts):.0%})"
