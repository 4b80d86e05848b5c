"""Auditing the reading of replies: a person reads some of them blind, and the parser is compared with that.

Replies are drawn by strata of model and rule, so that rare rules are seen too; each stratum counts by its share of all
replies. The person sees the question and the reply, and neither what the parser made of it nor whose it is. A reply
that was read wrongly can be marked with what was meant, which never changes the corpus.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import KEY
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.measures import wilson
from vantage.runs.reparse import KEPT
from vantage.scales import show_code

NAME: Final = "audit.json"
"""The file of an audit in its corpus folder."""
MARKS: Final = "marks.jsonl"
"""The file of marks there."""
FIXTURE: Final = ("question", "scale", "reply", "read", "meant")
NONE: Final = "unparsed"
"""What a person says of a reply that has no usable answer."""


@dataclass(frozen=True, slots=True)
class Case:
    """A reply to be read, with what the parser made of it."""

    key: tuple[str, ...]
    model: str
    rule: str
    weight: float
    """How many replies of its stratum it stands for."""
    question: str
    reply: str
    read: str
    """The parser's reading: a code, or a status."""
    meant: str = ""
    """The person's reading; empty until there is one."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How well the replies of a model are read."""

    model: str
    audited: int
    replies: int
    right: float
    """The share of all its replies that are read as meant, each stratum weighted by its size."""
    low: float
    high: float
    invented: int
    """Audited replies for which the parser has a value and the person has another or none."""


def draw(corpus: Corpus, count: int, seed: int = 0) -> list[Case]:
    """So many replies of a corpus, spread over models and rules."""
    if "reply" not in corpus.judgments.columns or "rule" not in corpus.judgments.columns:
        raise InputError("the judgments have no replies", remedy="audit a corpus that vantage rate has written to")
    models = corpus.raters.select(
        "rater", model=pl.col("model") if "model" in corpus.raters.columns else pl.col("rater")
    )
    rows = corpus.judgments.filter(
        pl.col("reply").is_not_null(), pl.col("reply") != "", ~pl.col("rule").is_in(KEPT).fill_null(value=True)
    ).join(models, on="rater", how="left")
    if rows.is_empty():
        raise InputError("there are no replies that were read", remedy="rate with a style that reads replies")
    random = np.random.default_rng(seed)
    strata = [
        part[random.permutation(len(part)).tolist()] for _, part in rows.group_by("model", "rule", maintain_order=True)
    ]
    sizes = [1] * len(strata)
    # One of each first, then in turn wherever most replies stand for one that is drawn.
    for _ in range(min(count, len(rows)) - len(strata)):
        gains = [len(part) / size if size < len(part) else 0.0 for part, size in zip(strata, sizes, strict=True)]
        sizes[int(np.argmax(gains))] += 1
    cases = [
        _case(row, len(part) / size)
        for part, size in zip(strata, sizes, strict=True)
        for row in part[:size].iter_rows(named=True)
    ]
    return [cases[place] for place in random.permutation(len(cases))]


def accuracies(cases: Sequence[Case], confidence: float = 0.95) -> list[Accuracy]:
    """How well each model's replies are read, from the cases that a person has read.

    Cases are read in the order in which they were drawn. One that is known beforehand, since it was marked as read
    wrongly, counts once those before it are read: replies that are read rightly are not marked. The interval is
    Wilson's (1927) at the size of a simple random sample of the same precision.
    """
    accuracies_of: list[Accuracy] = []
    known = list(takewhile(lambda case: case.meant, cases))
    for model in sorted({case.model for case in known}):
        done = [case for case in known if case.model == model]
        total, right, variance = sum(case.weight for case in done), 0.0, 0.0
        for rule in {case.rule for case in done}:
            part = [case for case in done if case.rule == rule]
            share = sum(case.weight for case in part) / total
            hits = sum(case.read == case.meant for case in part)
            right += share * hits / len(part)
            # One hit and one miss more, so that a stratum with few cases is not taken to be certain (Agresti-Coull).
            smooth = (hits + 1) / (len(part) + 2)
            variance += share**2 * smooth * (1 - smooth) / len(part)
        smooth = (right * len(done) + 1) / (len(done) + 2)
        effective = max(1, round(smooth * (1 - smooth) / variance)) if variance else len(done)
        low, high = wilson(right * effective, effective, confidence)
        invented = sum(_is_value(case.read) and case.read != case.meant for case in done)
        accuracies_of.append(Accuracy(model, len(done), round(total), right, low, high, invented))
    return accuracies_of


def save(folder: Path, cases: Sequence[Case]) -> None:
    """Writes an audit into its corpus folder, whole or not at all."""
    content = {"cases": [asdict(case) for case in cases], "accuracy": [asdict(one) for one in accuracies(cases)]}
    place = folder / NAME
    fresh = place.with_suffix(".new")
    fresh.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")
    fresh.replace(place)


def reread(cases: Sequence[Case], corpus: Corpus) -> list[Case]:
    """The cases with what the parser makes of their replies now, without those whose reply is another one or gone."""
    keys = pl.DataFrame([case.key for case in cases], schema=dict.fromkeys(KEY, pl.String), orient="row")
    rows = corpus.judgments.with_columns(pl.col(KEY).cast(pl.String)).join(keys, on=list(KEY), how="semi")
    now = {known.key: known for known in (_case({"model": "", **row}, 0.0) for row in rows.iter_rows(named=True))}
    same = [(case, now[case.key]) for case in cases if case.key in now and now[case.key].reply == case.reply]
    return [replace(case, read=known.read) for case, known in same]


def load(folder: Path) -> list[Case]:
    """The audit of a corpus folder; none where there is no file."""
    place = folder / NAME
    if not place.is_file():
        return []
    try:
        cases = json.loads(place.read_text("utf-8"))["cases"]
        return [Case(**{**case, "key": tuple(case["key"])}) for case in cases]
    except (LookupError, TypeError, ValueError):
        raise InputError("this is no audit", file=place, remedy="remove the file and audit again") from None


def answers(question: Question) -> Iterator[tuple[str, str]]:
    """What a person may say that a reply means: the word that stands for it, and what is shown."""
    for option in question.scale.options:
        code = show_code(option.code)
        yield code, f"{code} = {option.label}" if option.label else code
    for opt_out in question.scale.opt_outs:
        yield opt_out.status, opt_out.label or opt_out.status
    yield "refused", "it refuses to judge"
    yield NONE, "no usable answer, or not clear"


def _case(row: Mapping[str, Any], weight: float) -> Case:
    read = str(row["status"]) if row["value"] is None else show_code(row["value"])
    key = tuple(str(row[name]) for name in KEY)
    return Case(key, str(row["model"]), str(row["rule"]), weight, str(row["question"]), str(row["reply"]), read)


def _is_value(read: str) -> bool:
    try:
        float(read)
    except ValueError:
        return False
    return True


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


def add_mark(folder: Path, corpus: Corpus, mark: Mark) -> None:
    """Appends a mark to the file in the corpus folder."""
    known = dict(answers(corpus.question(mark.question)))
    if mark.meant not in known:
        raise InputError(f"'{mark.meant}' is no answer to '{mark.question}'", remedy=f"use one of {', '.join(known)}")
    with (folder / MARKS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(mark), ensure_ascii=False) + "\n")


def marks(folder: Path) -> list[Mark]:
    """The marks of a corpus folder; of a reply that was marked again, the last."""
    place = folder / MARKS
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
