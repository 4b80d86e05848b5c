"""An open benchmark: a split as files, and predictions from any file."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.disclosure import K, guard, shown
from vantage.corpora.readers.files import read_table
from vantage.corpora.readers.table_file import FileTable
from vantage.corpora.storage import is_corpus
from vantage.corpora.writers.cells import csv_text, restored
from vantage.errors import InputError, Problems
from vantage.instruments import Question
from vantage.interop.predictions import predictions_in
from vantage.perspective.evaluation import Evaluation, evaluate
from vantage.perspective.splits import Split, split
from vantage.perspective.tally import CLOSENESS

FILE: Final = "split.json"
ENOUGH: Final = 10
"""From how many test users on intervals resample users; with fewer, texts."""
NAMES: Final = {
    "item": ("item", "text_id", "item_id", "text", "id"),
    "rater": ("rater", "user", "annotator", "user_id", "annotator_id", "rater_id"),
    "value": ("value", "prediction", "predicted", "label", "answer"),
}
"""What the columns of a file of predictions may be called, the first that is there."""


def headline(question: Question) -> str:
    """What is scored: F1 of the positive class of two, closeness on an ordered scale, else macro F1."""
    scale = question.scale
    if len(scale.codes) == 2:
        return scale.label(max(scale.codes))
    return CLOSENESS if scale.ordered else "macro"


def write_split(
    corpus: Corpus, folder: str | Path, *, k: int = K, strict: bool = False, allow_unique: bool = False, **options: Any
) -> Split:
    """Splits a corpus and leaves the parts as files: everything a system may see, and the pairs to be predicted.

    `train.csv` and `adaptation.csv` have answers, `test.csv` has none; `texts.csv` and `users.csv` tell texts and
    traits (of test users only where users are named); `split.json` says how to make the same split again.

    Args:
        corpus: A corpus whose raters are people.
        folder: Where the files go.
        k: How many people must share a combination of traits.
        strict: Refuse where traits single out a person, instead of a warning.
        allow_unique: Traits may single out a person.
        options: Those of `split`.
    """
    folder = Path(folder)
    if (folder / FILE).exists():
        raise InputError("there is a split already", file=folder, remedy="choose another folder")
    parts, texts = split(corpus, **options), shown(corpus).items
    known = pl.col("rater").is_in(parts.train_users) | pl.lit(parts.users == "named")
    users = guard(corpus.of_raters(corpus.raters.filter(known)), k=k, strict=strict, allow_unique=allow_unique).raters
    tables = {
        "train": parts.train.sort("item", "rater"),
        "adaptation": parts.adaptation.sort("item", "rater"),
        "test": parts.test.select("item", "rater").sort("item", "rater"),
        "texts": texts.select(name for name, kind in texts.schema.items() if not kind.is_nested()),
        "users": users.select("rater", *corpus.traits),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(csv_text(table), "utf-8")
    about = {"corpus": corpus.about.name, "options": {**options, "question": parts.question}, "test": _digest(parts)}
    (folder / FILE).write_text(json.dumps({**about, "counts": parts.counts.to_dicts()}, indent=2) + "\n", "utf-8")
    return parts


def read_split(corpus: Corpus, folder: str | Path) -> Split:
    """The split that `write_split` left in a folder, with people's answers from the corpus."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise InputError("there is no split", file=folder, remedy="make one with: vantage perspective split")
    try:
        about = json.loads(path.read_text("utf-8"))
        parts = split(corpus, **about["options"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("the file is not a split", file=path, remedy="make it again") from error
    if _digest(parts) != about["test"]:
        raise InputError(
            f"the test pairs of '{corpus.about.name}' are not those of the split",
            file=path,
            remedy="name the corpus that was split, or split this one again",
        )
    return parts


def read_predictions(source: str | Path, corpus: Corpus, question: str) -> pl.DataFrame:
    """Predictions of any system: a table with text, user and answer, or a corpus that holds them.

    Answers are codes of the scale or its labels; an empty one is no answer. Columns may have any of `NAMES`. A column
    `probabilities` has distributions instead, as lists or as the text of lists, in the order of the codes; then users
    may be left out, where a distribution is that of a text.
    """
    path = Path(source)
    if is_corpus(path):
        return predictions_in(Corpus.read(path), question)
    table = read_table(path)
    shared = "probabilities" in table.frame.columns
    columns: dict[str, str] = {}
    for name, known in NAMES.items():
        known_column = next((column for column in known if column in table.frame.columns), None)
        if known_column is not None:
            columns[name] = known_column
        elif not (shared and name != "item"):
            remedy = f"name it {' or '.join(known[:3])}; the file has {', '.join(table.frame.columns)}"
            raise InputError(f"there is no column of the {name}", file=path, remedy=remedy)
    if shared:
        columns.pop("value", None)
    asked = [pl.col("question").cast(pl.String)] if "question" in table.frame.columns else []
    # Ids that a spreadsheet would run have an apostrophe in front in the files of a split.
    cells = (restored(pl.col(column).cast(pl.String)).alias(name) for name, column in columns.items())
    frame = table.frame.select(*cells, *asked)
    scale = corpus.question(question).scale
    if shared:
        given = table.frame["probabilities"]
        lists = [_distribution(table, n, cell) for n, cell in enumerate(given)]
        return frame.with_columns(pl.Series("probabilities", lists, dtype=pl.List(pl.Float64)))
    values: list[float | None] = []
    for number, answer in enumerate(frame["value"]):
        code = None if answer is None or not answer.strip() else scale.code(answer)
        if code is None and answer is not None and answer.strip():
            try:
                code = float(answer)
            except ValueError:
                labels = ", ".join(scale.label(one) for one in scale.codes)
                problem = f"'{answer}' is not an answer to '{question}'"
                raise table.fault(problem, f"use {labels}", number, columns["value"]) from None
        values.append(code)
    return frame.with_columns(pl.Series("value", values, dtype=pl.Float64))


def _distribution(table: FileTable, number: int, cell: Any) -> list[float] | None:
    """A cell of distributions: a list, the text of one, or nothing."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell) if cell.strip() else None
        except (ValueError, RecursionError):
            cell = [None]
    if cell is not None and not all(isinstance(share, int | float) for share in cell):
        raise table.fault("this is not a list of numbers", "write it as [0.2, 0.8]", number, "probabilities")
    return None if cell is None else [float(share) for share in cell]


def scored(
    predictions: pl.DataFrame, parts: Split, *, resamples: int = 1000, seed: int = 0, source: object = "predictions"
) -> Evaluation:
    """Predictions for a split at all levels; intervals are over users where there are enough of them.

    Errors name the `source` of the predictions.
    """
    over: Literal["users", "texts"] = "users" if parts.test["rater"].n_unique() >= ENOUGH else "texts"
    try:
        return evaluate(predictions, parts, resamples=resamples, seed=seed, over=over)
    except Problems as error:
        raise Problems(source, error.problems) from None


def _digest(parts: Split) -> str:
    """What the test pairs are, in few characters."""
    pairs = parts.test.select("item", "rater").sort("item", "rater").rows()
    return sha256(json.dumps(pairs).encode()).hexdigest()[:16]
