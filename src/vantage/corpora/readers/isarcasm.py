"""iSarcasmEval, English part (Abu Farha et al. 2022): tweets labelled by their authors and by five readers.

The author of every tweet said whether it was meant to be sarcastic. For the test tweets the release adds how
many of five outside readers took them so. All authors together are one rater, `author`; the five readers are
five seats, of which only the number of "yes" is known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, read_csv
from vantage.corpora.readers.release import release
from vantage.corpora.readers.table_file import FileTable
from vantage.errors import InputError
from vantage.instruments import Instrument

CATEGORIES: Final = ("sarcasm", "irony", "satire", "understatement", "overstatement", "rhetorical_question")
READERS: Final = 5
QUESTION: Final = "sarcasm"


def read(path: Path) -> Corpus:
    """Reads the training and test tweets of task A, their categories, and the readers' votes."""
    if path.is_file():
        raise InputError("this is a file", file=path, remedy="name the folder with train/, test/, third-party/")
    items = pl.concat([_train(path), _test(path)])
    author = items.select(
        "item", pl.lit("author").alias("rater"), pl.lit("author").alias("condition"), value="author_sarcastic"
    )
    # Seats are exchangeable: that the first ones vote yes keeps every count and does not say who voted what.
    seats = pl.DataFrame({"seat": range(1, READERS + 1)})
    votes = (
        items.filter(pl.col("votes").is_not_null())
        .join(seats, how="cross", maintain_order="left_right")
        .select(
            "item",
            pl.format("reader-{}", "seat").alias("rater"),
            pl.lit("static").alias("condition"),
            (pl.col("seat") <= pl.col("votes")).cast(pl.Int8).alias("value"),
        )
    )
    names = ["author", *(f"reader-{seat}" for seat in seats["seat"])]
    raters = pl.DataFrame({"rater": names, "kind": ["author", *["slot"] * READERS]})
    judgments = pl.concat([author, votes]).with_columns(pl.lit(QUESTION).alias("question"))
    return release("isarcasm", items, raters, judgments, Instrument.load("sarcasm"))


def _train(path: Path) -> pl.DataFrame:
    table = read_csv(find(path, "train/train.En.csv"))
    table.require("tweet", "sarcastic", "rephrase", *CATEGORIES)
    return table.frame.with_row_index("n").select(
        pl.format("train-{}", "n").alias("item"),
        pl.col("tweet").alias("text"),
        pl.lit("train").alias("split"),
        _codes(table, "sarcastic", 1).alias("author_sarcastic"),
        pl.lit(None, pl.Int8).alias("votes"),
        pl.lit(None, pl.Int8).alias("human_aggregated"),
        "rephrase",
        *(_codes(table, name, 1, empty=True).alias(f"category_{name}") for name in CATEGORIES),
    )


def _test(path: Path) -> pl.DataFrame:
    """The test tweets with the votes, which are in the same order, and the categories, which are not."""
    table = read_csv(find(path, "test/task_A_En_test.csv"))
    table.require("text", "sarcastic")
    tweets = table.frame.with_row_index("n").select(
        pl.format("test-{}", "n").alias("item"),
        _unix(table.frame["text"]).alias("text"),
        pl.lit("test").alias("split"),
        _codes(table, "sarcastic", 1).alias("author_sarcastic"),
    )
    return tweets.with_columns(
        *_votes(path, tweets), pl.lit(None, pl.String).alias("rephrase"), *_categories(path, tweets)
    )


def _votes(path: Path, tweets: pl.DataFrame) -> list[pl.Series]:
    table = read_csv(find(path, "third-party*/english_task_a.csv"))
    table.require("text", "sarcasm_ref", "human_aggregated", "#humans_sarcasm")
    labels = pl.DataFrame([_unix(table.frame["text"]), _codes(table, "sarcasm_ref", 1)])
    asked = tweets.select("text", pl.col("author_sarcastic").alias("sarcasm_ref"))
    if not labels.equals(asked):
        same = labels.head(len(asked)).to_struct() == asked.head(len(labels)).to_struct()
        index = (~same).arg_max() or 0 if not same.all() else len(same)
        problem, remedy = "the votes are not in step with the test tweets", "download both files again"
        raise table.fault(problem, remedy, min(index, len(labels) - 1))
    return [
        _codes(table, "#humans_sarcasm", READERS).alias("votes"),
        _codes(table, "human_aggregated", 1).alias("human_aggregated"),
    ]


def _categories(path: Path, tweets: pl.DataFrame) -> list[pl.Series]:
    table = read_csv(find(path, "test/task_B_En_test.csv"))
    table.require("text", *CATEGORIES)
    coded = pl.DataFrame(
        [_unix(table.frame["text"]), *(_codes(table, name, 1).alias(f"category_{name}") for name in CATEGORIES)]
    ).unique(maintain_order=True)
    joined = tweets.join(coded, on="text", how="left", maintain_order="left", nulls_equal=True)
    if len(joined) > len(tweets) or joined[f"category_{CATEGORIES[0]}"].null_count():
        raise table.fault("the categories do not name every test tweet exactly once", "download the file again")
    return [joined[f"category_{name}"] for name in CATEGORIES]


def _unix(text: pl.Series) -> pl.Series:
    return text.str.replace_all("\r\n", "\n", literal=True)


def _codes(table: FileTable, name: str, highest: int, *, empty: bool = False) -> pl.Series:
    """A column of whole numbers from 0 on; the first cell that is none is named with its row."""
    numbers = table.numbers(name)
    wrong = (~numbers.is_in([float(code) for code in range(highest + 1)])).fill_null(not empty)
    table.refuse(wrong, name, f"'{{}}' is not a whole number from 0 to {highest}", "correct the cell")
    return numbers.cast(pl.Int8)
