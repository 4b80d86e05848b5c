"""EPIC (Frenda et al. 2023): is the reply to a post ironic? 3,000 pairs, 74 annotators with demographics.

One row of the release is one annotator's label (`iro` or `not`) for one pair. Columns beyond those that are
needed go where they are constant: to the items, to the raters, or else to the judgments.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.prolific import SUBMISSION, known, snake_case
from vantage.corpora.readers.files import find
from vantage.corpora.readers.release import codes, first_of_each, ids, notes_on, one_row_each, read_flat, release
from vantage.corpora.readers.table_file import FileTable
from vantage.corpora.schema import ITEMS, JUDGMENTS, RATERS
from vantage.instruments import Instrument

LABELS: Final = {"not": 0.0, "iro": 1.0}
NEEDED: Final = ("user", "label", "id_original", "text", "parent_text")
TRAITS: Final = {"Sex": "gender", "Age": "age", "Ethnicity simplified": "ethnicity"}
"""Traits that get another name; all others keep theirs in lower_snake_case."""
DEMOGRAPHICS: Final = (
    "Age", "Sex", "Ethnicity simplified", "Country of birth", "Country of residence", "Nationality", "Language",
    "Student status", "Employment status", "Generation",
)  # fmt: skip


def read(path: Path) -> Corpus:
    """Reads the release: the Parquet or CSV file, or the folder with it."""
    table = read_flat(find(path, "*EPIC*.parquet", "*EPIC*.csv", "train-*.parquet", "*.parquet", "*.csv"))
    table.require(*NEEDED)
    frame = table.frame
    rater = ids(table, "user").alias("rater")
    pairs = frame.select(
        pl.col("parent_text").cast(pl.String).alias("post"), pl.col("text").cast(pl.String).alias("reply")
    )
    item = _item_ids(ids(table, "id_original"), pairs)
    of_items, of_raters, of_judgments = _placed(table, item, rater)
    items, unlike_items = one_row_each(pl.DataFrame([item, *pairs.get_columns(), *of_items]), "item")
    raters, unlike_raters = one_row_each(pl.DataFrame([rater, *of_raters]), "rater")
    judged = pl.DataFrame([item, rater, codes(table, "label", LABELS).alias("value"), *of_judgments])
    judgments, dropped = first_of_each(judged.drop_nulls("value").with_columns(pl.lit("irony").alias("question")))
    notes = notes_on(dropped, unlike_items, unlike_raters)
    return release("epic", items, raters, judgments, Instrument.load("irony"), notes)


def _item_ids(original: pl.Series, pairs: pl.DataFrame) -> pl.Series:
    """The original ids; where one stands for several pairs, the later ones get a number behind it."""
    distinct = pairs.with_columns(original.alias("item"))
    numbered = distinct.unique(maintain_order=True).with_columns(pl.int_range(1, pl.len() + 1).over("item").alias("n"))
    joined = distinct.join(numbered, on=["item", "post", "reply"], how="left", nulls_equal=True, maintain_order="left")
    return joined.select(
        pl.when(pl.col("n") > 1).then(pl.format("{}~{}", "item", "n")).otherwise("item").alias("item")
    ).to_series()


def _placed(table: FileTable, item: pl.Series, rater: pl.Series) -> tuple[list[pl.Series], ...]:
    """The further columns under their new names, by what they describe: items, raters, single judgments."""
    placed: tuple[list[pl.Series], ...] = ([], [], [])
    of_items, of_raters, of_judgments = placed
    for name in table.frame.columns:
        renamed = TRAITS.get(name, snake_case(name))
        if name in NEEDED or renamed in {"", *SUBMISSION} or renamed.startswith(("unnamed", "_")):
            continue
        column = known(table.frame[name]).alias(renamed)
        if name in DEMOGRAPHICS:
            of_raters.append(column)
        elif renamed in {*ITEMS, *RATERS, *JUDGMENTS, "post", "reply"}:
            of_judgments.append(column.alias(f"released_{renamed}"))
        elif _constant(column, item):
            of_items.append(column.cast(pl.String) if renamed.startswith("parent_id") else column)
        elif _constant(column, rater):
            of_raters.append(column)
        else:
            of_judgments.append(column)
    return placed


def _constant(column: pl.Series, key: pl.Series) -> bool:
    pairs = pl.DataFrame({"key": key, "value": column}).drop_nulls().unique()
    return pairs["key"].n_unique() == len(pairs)
