"""Vantage's own formats: the corpus folder, and long CSV with one row per judgment.

A row of the CSV file has the fields of its item and the kind and traits of its rater. Columns of the judgments come
first, then those of the items, then those of the raters; where two tables have a column of the same name, the later one
gets `item.` or `rater.` in front. Conversations and other nested columns are JSON text. Cells that a spreadsheet would
run as a formula get an apostrophe in front (see `cells.defused`); numbers stay numbers. The reader `table` reads the
file again: it finds the judgments, the text and the kind of rater by itself, and is told the rest. `cells.restored`
takes the apostrophes away.

    vantage.load("table", path, map={"target": "target"}, traits=["age"], instrument="warmth-competence")
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from vantage.corpora import storage
from vantage.corpora.corpus import Corpus
from vantage.corpora.writers.cells import flat, safe
from vantage.corpora.writers.place import put_file
from vantage.errors import InputError


def write_folder(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the corpus folder; one that holds a corpus already is only replaced if told so."""
    if storage.is_corpus(path) and not overwrite:
        remedy = "choose another folder or pass --overwrite"
        raise InputError("the folder holds a corpus already", file=path, remedy=remedy)
    return corpus.write(path)


def write_csv(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the judgments with everything that is known of their items and raters.

    Items and raters without any judgment do not appear; use the corpus folder to keep them.
    """
    judgments = flat(corpus.judgments)
    value = judgments["value"]
    if ((value % 1 == 0) & (value.abs() < 2**53)).all():
        judgments = judgments.with_columns(value.cast(pl.Int64))
    items = _beside(judgments, flat(corpus.items), "item")
    joined = judgments.join(items, on="item", how="left", maintain_order="left")
    raters = _beside(joined, flat(corpus.raters), "rater")
    joined = joined.join(raters, on="rater", how="left", maintain_order="left")
    return put_file(path, safe(joined).write_csv, overwrite=overwrite)


def _beside(left: pl.DataFrame, right: pl.DataFrame, key: str) -> pl.DataFrame:
    """The right table with names that the left one does not have."""
    return right.rename({name: f"{key}.{name}" for name in right.columns if name != key and name in left.columns})
