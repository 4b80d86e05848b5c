"""A reader of our own: `vantage corpora import lab --from FILE --to FOLDER`."""

from pathlib import Path

import polars as pl

from vantage import Corpus, Instrument
from vantage.corpora.readers import Reader
from vantage.corpora.readers.files import read_csv


def read(path: Path, *, least: str = "1") -> Corpus:
    """Reads our export: one row per rating, with the columns ID, Sentence, Rater and Stars."""
    table = read_csv(path)
    table.require("ID", "Sentence", "Rater", "Stars")
    frame = table.frame.with_columns(table.numbers("Stars").alias("value")).filter(pl.col("value") >= float(least))
    return Corpus(
        items=frame.select(pl.col("ID").alias("item"), pl.col("Sentence").alias("text")).unique(maintain_order=True),
        raters=frame.select(pl.col("Rater").alias("rater")).unique(maintain_order=True),
        judgments=frame.select(
            pl.col("ID").alias("item"), pl.lit("stars").alias("question"), pl.col("Rater").alias("rater"), "value"
        ),
        instruments=Instrument.load("lab-stars"),
    )


READER = Reader(
    "lab",
    "The ratings of our laboratory",
    "lab.example.org",
    "a CSV file",
    function=read,
    options={"least": "leave out ratings with fewer stars"},
)
