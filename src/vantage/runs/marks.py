"""Replies that a person found read wrongly, with what was meant: kept beside the corpus, never changing it."""

from __future__ import annotations

import csv
import json
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.runs.audit import Case, answers

NAME: Final = "marks.jsonl"
FIXTURE: Final = ("question", "scale", "reply", "read", "meant")


@dataclass(frozen=True, slots=True)
class Mark:
    """One reply that was read wrongly."""

    item: str
    question: str
    rater: str
    condition: str
    sample: int
    reply: str
    read: str
    meant: str
    at: float = field(default_factory=time.time)


def add(folder: Path, corpus: Corpus, mark: Mark) -> None:
    """Appends a mark to the file in the corpus folder."""
    known = dict(answers(corpus.question(mark.question)))
    if mark.meant not in known:
        raise InputError(f"'{mark.meant}' is no answer to '{mark.question}'", remedy=f"use one of {', '.join(known)}")
    with (folder / NAME).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(mark), ensure_ascii=False) + "\n")


def marks(folder: Path) -> list[Mark]:
    """The marks of a corpus folder; of a reply that was marked again, the last."""
    place = folder / NAME
    if not place.is_file():
        return []
    latest: dict[tuple[str | int, ...], Mark] = {}
    for number, line in enumerate(place.read_text("utf-8").splitlines(), 1):
        try:
            mark = Mark(**json.loads(line))
        except (TypeError, ValueError):
            raise InputError("this line is no mark", file=place, row=number, remedy="remove the line") from None
        latest[mark.item, mark.question, mark.rater, mark.condition, mark.sample] = mark
    return list(latest.values())


def filled_in(cases: list[Case], folder: Path) -> list[Case]:
    """The cases of an audit with what is already known of them from marks."""
    known: dict[tuple[str, ...], str] = {
        (mark.item, mark.question, mark.rater, mark.condition, str(mark.sample)): mark.meant for mark in marks(folder)
    }
    return [case if case.meant else replace(case, meant=known.get(case.key, "")) for case in cases]


def write_fixture(folder: Path, corpus: Corpus, file: Path) -> int:
    """Writes the marked replies as a table for tests of the parser; how many there are."""
    known = marks(folder)
    with file.open("w", encoding="utf-8", newline="") as opened:
        table = csv.writer(opened)
        table.writerow(FIXTURE)
        for mark in known:
            scale = corpus.question(mark.question).scale.describe()
            table.writerow([mark.question, scale, mark.reply, mark.read, mark.meant])
    return len(known)
