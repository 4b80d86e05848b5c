"""Invented corpora, studies and participants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from vantage import Corpus, Instrument, Scale
from vantage.collect.desk import Completion, Desk, ItemPage, Participant, Reply
from vantage.collect.study import Study

Answer = Callable[[ItemPage], dict[str, Reply]]

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


def study(folder: Path, items: int = 12, **given: Any) -> Study:
    """A study of an invented corpus."""
    from vantage.documents import dump

    file = folder / "mine.yaml"
    file.write_text(dump(dict(instrument().document)), encoding="utf-8")
    return Study.of(corpus(folder, items), file, **given)


def honest(page: ItemPage) -> dict[str, Reply]:
    """Answers that depend on the item, and follow an instruction."""
    if "5" in page.instruction:
        return {q.id: Reply(5.0 if q.id == "warm" else 1.0) for q in page.questions}
    number = int("".join(c for c in str(page.record.get("text", "0")) if c.isdigit()) or 0)
    return {q.id: Reply(1.0 + number % 5 if q.id == "warm" else 1.0) for q in page.questions}


def careless(page: ItemPage) -> dict[str, Reply]:
    """The same answer throughout."""
    return {q.id: Reply(3.0 if q.id == "warm" else 0.0) for q in page.questions}


def begun(desk: Desk, params: dict[str, str] | None = None) -> Participant:
    """Somebody who stands before the first item, or who finds nothing to do."""
    person = desk.arrive(params or {})
    if desk.give_consent(person, agreed=True).kind == "guidelines":
        desk.read_guidelines(person)
    return person


def work(desk: Desk, person: Participant, answer: Answer = honest, pages: int | None = None) -> int:
    """Answers page after page; how many."""
    done = 0
    place = desk.place(person)
    while place.kind == "item" and (pages is None or done < pages):
        page = desk.page(person, place.position)
        place = desk.submit(person, place.position, answer(page), token=page.token, seconds=2.0 + done % 3).place
        done += 1
    return done


def walked(desk: Desk, params: dict[str, str] | None = None, answer: Answer = honest) -> tuple[Participant, Completion]:
    """Somebody who does it all."""
    person = begun(desk, params)
    work(desk, person, answer)
    return person, desk.finish(person)


def ratings(desk: Desk) -> dict[tuple[str, str], int]:
    """How many raters who count judged each item under each condition."""
    corpus = desk.corpus()
    counted = corpus.filter(~pl.col("excluded")).judgments if len(corpus.raters) else corpus.judgments
    pairs = counted.unique(["item", "condition", "rater"]).group_by("item", "condition").len()
    return {(item, condition): n for item, condition, n in pairs.iter_rows()}
