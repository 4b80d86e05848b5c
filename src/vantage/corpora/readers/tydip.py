"""TyDiP, English part (Srinivasan and Choi 2022): requests of Wikipedia editors with a politeness score each.

The sentences and scores are those of the Stanford Politeness Corpus (Danescu-Niculescu-Mizil et al. 2013).
Several people's ratings were standardised and averaged; they are not in this release, so that the score is
the one judgment there is. The binary files hold the top and the bottom quarter.
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
from vantage.scales import Scale

SPLITS: Final = ("train", "test")
QUESTION: Final = "politeness-score"
RATER: Final = "released-score"


def read(path: Path) -> Corpus:
    """Reads both splits; the binary label of a sentence is a column of the items where it has one."""
    if path.is_file():
        raise InputError("this is a file", file=path, remedy="name the folder with all/ and binary/")
    items = pl.concat(_split(path, split) for split in SPLITS)
    judgments = items.select("item", pl.lit(QUESTION).alias("question"), pl.lit(RATER).alias("rater"), "value")
    raters = pl.DataFrame({"rater": [RATER], "kind": ["aggregate"]})
    title = "TyDiP: standardised politeness score"
    asked = Instrument.of_questions("tydip-score", title, {QUESTION: Scale.continuous(-4, 4)})
    return release("tydip", items.drop("value"), raters, judgments, asked)


def _split(path: Path, split: str) -> pl.DataFrame:
    """The sentences of one split, with their scores and binary labels."""
    table = _table(path, f"all/en_{split}.csv")
    binary = _table(path, f"binary/en_{split}_binary.csv").frame.group_by("sentence").agg(pl.len())
    if len(strangers := binary.join(table.frame, on="sentence", how="anti").sort("sentence")):
        raise InputError(
            f"the binary file has a sentence that is not here: '{strangers['sentence'][0][:60]}'",
            file=table.path,
            remedy="download both files again",
        )
    # A sentence that stands once in the binary file and twice here was chosen for its more extreme score.
    rank = pl.col("value").abs().rank("ordinal", descending=True).over("sentence")
    return (
        table.frame.with_columns(_scores(table).alias("value"))
        .join(binary, on="sentence", how="left", maintain_order="left")
        .with_row_index("n", offset=1)
        .select(
            pl.format(f"{split}-{{}}", "n").alias("item"),
            pl.col("sentence").alias("text"),
            pl.lit(split).alias("split"),
            pl.when(rank <= pl.col("len"))
            .then(pl.when(pl.col("value") > 0).then(pl.lit("polite")).otherwise(pl.lit("impolite")))
            .alias("binary"),
            "value",
        )
    )


def _table(path: Path, name: str) -> FileTable:
    table = read_csv(find(path, name))
    table.require("sentence", "score")
    table.refuse(table.frame["sentence"].is_null(), "sentence", "the cell is empty", "download the file again")
    return table


def _scores(table: FileTable) -> pl.Series:
    scores = table.numbers("score")
    wrong = scores.is_null() | scores.is_nan() | (scores.abs() > 4)
    table.refuse(wrong, "score", "'{}' is not a standardised score between -4 and 4", "download the file again")
    return scores
