"""Invented corpora, studies and participants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from vantage import Corpus, Instrument, Scale
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import CompletionPath, ItemPage, Participant, QuestionAnswer

Answer = Callable[[ItemPage], dict[str, QuestionAnswer]]

QUESTIONS = {"warm": Scale.points(1, 5), "kind": Scale.labels("no", "yes")}


def corpus(folder: Path, items: int = 12) -> Path:
    """A corpus without judgments, whose items say their own number."""
    table = pl.DataFrame({"item": [f"i{n:03}" for n in range(items)], "text": [f"Text {n}." for n in range(items)]})
    empty = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    raters = pl.DataFrame(schema={"rater": pl.String})
    return Corpus(table, raters, empty, instrument()).write(folder / "corpus")


def instrument() -> Instrument:
    """Two questions on two scales, two conditions, an example and a check."""
    data = dict(Instrument.of_questions("mine", "My questions", QUESTIONS).document)
    data["conditions"] = {"plain": {"shows": ["text"]}, "fancy": {"shows": ["text"]}}
    data["checks"] = [
        {"id": "choose-five", "instruction": "Choose 5 here.", "question": "warm", "accept": [5]},
        {"id": "choose-yes", "instruction": "Choose yes here.", "question": "kind", "accept": [1]},
    ]
    return Instrument.from_document(data)


def study(folder: Path, items: int = 12, **given: Any) -> AnnotationStudy:
    """A study of an invented corpus."""
    from vantage.documents import dump

    file = folder / "mine.yaml"
    file.write_text(dump(dict(instrument().document)), encoding="utf-8")
    return AnnotationStudy.of(corpus(folder, items), file, **given)


def honest(page: ItemPage) -> dict[str, QuestionAnswer]:
    """Answers that depend on the item, and follow an instruction."""
    if "5" in page.instruction:
        return {q.id: QuestionAnswer(5.0 if q.id == "warm" else 1.0) for q in page.questions}
    number = int("".join(c for c in str(page.record.get("text", "0")) if c.isdigit()) or 0)
    return {q.id: QuestionAnswer(1.0 + number % 5 if q.id == "warm" else 1.0) for q in page.questions}


def careless(page: ItemPage) -> dict[str, QuestionAnswer]:
    """The same answer throughout."""
    return {q.id: QuestionAnswer(3.0 if q.id == "warm" else 0.0) for q in page.questions}


def begun(service: StudyService, params: dict[str, str] | None = None) -> Participant:
    """Somebody who stands before the first item, or who finds nothing to do."""
    person = service.participants.enter(params or {})
    if service.participants.give_consent(person, agreed=True).kind == "guidelines":
        service.participants.confirm(person)
    return person


def work(service: StudyService, person: Participant, answer: Answer = honest, pages: int | None = None) -> int:
    """Answers page after page; how many."""
    done = 0
    step = service.participants.step(person)
    while step.kind == "item" and (pages is None or done < pages):
        page = service.participants.page(person, step.position)
        step = service.participants.submit(
            person, step.position, answer(page), token=page.token, seconds=2.0 + done % 3
        ).step
        done += 1
    return done


def walked(
    service: StudyService, params: dict[str, str] | None = None, answer: Answer = honest
) -> tuple[Participant, CompletionPath]:
    """Somebody who does it all."""
    person = begun(service, params)
    work(service, person, answer)
    return person, service.participants.finish(person)


def ratings(service: StudyService) -> dict[tuple[str, str], int]:
    """How many raters who count judged each item under each condition."""
    corpus = service.researchers.corpus()
    counted = corpus.filter(~pl.col("excluded")).judgments if len(corpus.raters) else corpus.judgments
    pairs = counted.unique(["item", "condition", "rater"]).group_by("item", "condition").len()
    return {(item, condition): n for item, condition, n in pairs.iter_rows()}
