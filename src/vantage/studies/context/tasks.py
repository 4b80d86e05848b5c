"""The tasks of the study: where their statements come from, and a sample with labels in proportion.

Five of the six data sets are read from their releases; any can be a CSV file with `text` and `label`, or a corpus
folder whose items have them, named after the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.corpora.readers.files import read_table
from vantage.corpora.storage import About, is_corpus
from vantage.documents import Document
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.raters.item_words import key
from vantage.studies.base import listed

TASK: Final = "task"
LABEL: Final = "label"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One task: its instrument, and where its statements are looked for under `--data`."""

    name: str
    title: str
    instrument: str
    reader: str = ""
    folders: Sequence[str] = ()
    """Names of the release's folder, copied or cloned."""
    column: str = LABEL
    """The release's column of labels."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Labels of the release with another name in the instrument."""
    voted: str = ""
    """The release's column of votes, if readers voted: only statements with votes are used."""


TASKS: Final = {name: Task(name, **how) for name, how in Document.bundled(__package__, "tasks.yaml").data.items()}


def chosen_tasks(names: str) -> list[Task]:
    """The tasks that were named.

    >>> [task.name for task in chosen_tasks("politeness, sarcasm")]
    ['politeness', 'sarcasm']
    """
    wanted = listed(names, TASKS, "task")
    if not wanted:
        raise InputError("no task was named", remedy=f"tasks are {', '.join(TASKS)}")
    return [TASKS[name] for name in wanted]


@cache
def question_of(task: Task) -> Question:
    """The question of a task."""
    return Instrument.load(task.instrument).questions[0]


def read_task(data: Path, task: Task) -> Corpus:
    """All usable statements of a task, with the columns `task` and `label`, and people's votes on them.

    Ids begin with the task. Statements without text or label, and all but the first of equal ones, are left out.
    """
    whole, question = _read(data, task), question_of(task)
    items = whole.items.filter(pl.col("text").str.strip_chars().str.len_chars() > 0).drop_nulls(LABEL)
    items = items.filter(pl.Series([key(text) for text in items["text"]], dtype=pl.String).is_first_distinct())
    people = whole.people()
    kept = people.judgments.filter(question=question.id).join(items, on="item", how="semi")
    named = pl.format(f"{task.name}-{{}}", "item").alias("item")
    return Corpus(
        items=items.select(named, "text", pl.lit(task.name).alias(TASK), LABEL, pl.col("^conversation$")),
        raters=people.raters.join(kept, on="rater", how="semi"),
        judgments=kept.with_columns(named),
        instruments=Instrument.load(task.instrument),
        about=About(name="context", title="Statements with and without context", notes=whole.about.notes),
    )


def sampled(corpus: Corpus, size: int, seed: int) -> Corpus:
    """A random sample of statements with labels in proportion, and at least one of each."""
    if size < 2:
        raise InputError(f"{size} items per task are too few", remedy="ask for at least two")
    if corpus.items.is_empty():
        raise InputError("no statement has both a text and a label", remedy="check the data of the task")
    rng = np.random.default_rng(seed)
    counts = corpus.items[LABEL].value_counts().sort(LABEL)
    drawn: list[int] = []
    for label, wanted in zip(counts[LABEL], shares_out(counts["count"].to_list(), size), strict=True):
        drawn += rng.permutation(np.flatnonzero((corpus.items[LABEL] == label).to_numpy()))[:wanted].tolist()
    return corpus.filter(pl.col("item").is_in(corpus.items["item"].gather(drawn).implode()))


def shares_out(counts: list[int], size: int) -> list[int]:
    """How many of each kind a sample of this size has: in proportion, by largest remainders, and at least one.

    >>> shares_out([900, 90, 3], 120), shares_out([2, 1], 10)
    ([108, 11, 1], [2, 1])
    """
    total = sum(counts)
    if size >= total:
        return counts
    exact = [size * count / total for count in counts]
    sizes = [max(1, int(share)) for share in exact]
    while sum(sizes) < size:
        sizes[max(range(len(counts)), key=lambda n: exact[n] - sizes[n])] += 1
    while sum(sizes) > max(size, len(counts)):
        sizes[max(range(len(counts)), key=lambda n: sizes[n] - exact[n] if sizes[n] > 1 else -1.0)] -= 1
    return sizes


def labels_of(items: pl.DataFrame) -> pl.DataFrame:
    """The original labels as codes: `item`, `question` and `value`."""
    questions = {name: question_of(task) for name, task in TASKS.items()}
    codes = {(name, option.name): option.code for name, one in questions.items() for option in one.scale.options}
    rows = [
        (item, questions[task].id, codes.get((task, label)))
        for item, task, label in items.select("item", TASK, LABEL).iter_rows()
    ]
    return pl.DataFrame(rows, schema={"item": pl.String, "question": pl.String, "value": pl.Float64}, orient="row")


def _read(data: Path, task: Task) -> Corpus:
    """The statements of a task with a column `label`: one's own corpus or CSV file, or else the release."""
    instrument, table, folder = Instrument.load(task.instrument), data / f"{task.name}.csv", data / task.name
    if is_corpus(folder):
        corpus = Corpus.read(folder)
        check_scale(corpus, instrument.questions[0], folder)
        return corpus._with(items=_labelled(corpus.items, instrument.questions[0], folder))
    if table.is_file():
        items = read_table(table).frame
        if "item" not in items.columns:
            items = items.with_columns(pl.int_range(1, pl.len() + 1).cast(pl.String).alias("item"))
        return Corpus.of_items(_labelled(items, instrument.questions[0], table), instrument)
    # A folder that is itself a release of one task needs no other inside it.
    whole = data if task.reader in ("isarcasm", "tydip") else None
    release = next((data / name for name in task.folders if (data / name).is_dir()), whole)
    if release is not None:
        return _release(release, task)
    raise InputError(
        f"there are no data of the task '{task.name}'",
        file=data,
        remedy=f"put {table.name} there, with the columns text and label, or a corpus folder named {task.name}"
        + (f", or the release ({' or '.join(task.folders)})" if task.folders else ""),
    )


def _release(folder: Path, task: Task) -> Corpus:
    """One of the data sets that are read as they were released."""
    corpus = load(task.reader, folder)
    items = corpus.items.drop_nulls(task.voted) if task.voted else corpus.items
    answers = {option.name for option in question_of(task).scale.options}
    label = pl.col(task.column).cast(pl.String).replace(task.names)
    items = items.with_columns(pl.when(label.is_in(answers)).then(label).alias(LABEL))
    # Without votes, the one judgment of a statement is the label itself, which is not a person's.
    votes = corpus.judgments.join(items, on="item", how="semi", maintain_order="left")
    return corpus._with(items=items, judgments=votes if task.voted else votes.clear())


def check_scale(corpus: Corpus, question: Question, place: str | Path) -> None:
    """Refuses a corpus in which the question of a task has other answers."""
    for known in corpus.questions:
        if known.id == question.id and known.scale != question.scale:
            raise InputError(
                f"question '{question.id}' has other answers here than in the instrument of the task",
                file=place,
                remedy=f"its answers must be {question.scale.describe()}",
            )


def _labelled(items: pl.DataFrame, question: Question, place: Path) -> pl.DataFrame:
    """Items whose labels are those of the scale; one that is none is named with its row."""
    for column in ("text", LABEL):
        if column not in items.columns:
            raise InputError(f"the statements have no column '{column}'", file=place, remedy="add it")
    names = {option.code: option.name for option in question.scale.options}
    labels: list[str | None] = []
    for row, label in enumerate(items[LABEL].cast(pl.String).fill_null("").str.strip_chars(), 1):
        code = question.scale.code(label)
        if label and code is None:
            remedy = f"use {question.scale.describe()}"
            problem = f"'{label}' is not an answer to question '{question.id}'"
            raise InputError(problem, file=place, row=row, column=LABEL, remedy=remedy)
        labels.append(None if code is None else names[code])
    return items.with_columns(pl.Series(LABEL, labels, dtype=pl.String))
