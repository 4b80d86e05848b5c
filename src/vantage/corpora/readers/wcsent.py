"""W&C-Sent (Ayesh, Mohammad and Ousidhoum 2026): 1,633 sentence–target pairs rated by 210 annotators.

The release has no item id: the key is the exact pair of text and target. `Annotator_1` … of the long file are
people; the columns of the same name in the wide file are seats and are not read. Final scores are released as
whole numbers, floor(mean + 0.5); they become columns of the items.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, read_csv
from vantage.corpora.readers.release import release
from vantage.corpora.readers.table_file import FileTable
from vantage.errors import InputError
from vantage.instruments import Instrument

LONG = "*Long*Individual*Scores*.csv"
DIMENSIONS = ("Trust", "Sociability", "Competence")


def read(path: Path) -> Corpus:
    """Reads the release: individual scores, final scores, and the official split."""
    long = read_csv(find(path, LONG))
    long.require("Target", "Text", "Score", "Dimension", "Annotator_ID")
    folder = long.path.parent
    pairs = long.frame.select("Text", "Target").unique(maintain_order=True).sort("Text", "Target")
    items = pairs.with_row_index("n", offset=1).select(
        pl.format("wc-{}", pl.col("n").cast(pl.String).str.zfill(4)).alias("item"),
        pl.col("Text").alias("text"),
        pl.col("Target").alias("target"),
    )
    key = items.select("item", pl.col("text").alias("Text"), pl.col("target").alias("Target"))
    judgments = (
        long.frame.with_columns(long.numbers("Score").alias("value"))
        .join(key, on=["Text", "Target"], how="left", maintain_order="left")
        .select(
            "item",
            pl.col("Dimension").str.to_lowercase().alias("question"),
            pl.col("Annotator_ID").alias("rater"),
            "value",
        )
    )
    raters = judgments.select("rater").unique().sort(pl.col("rater").str.extract(r"(\d+)$").cast(pl.Int64))
    final = _final_scores(folder, key)
    return release(
        "wcsent",
        items if final is None else items.join(final, on="item", how="left", maintain_order="left"),
        raters,
        judgments,
        Instrument.load("warmth-competence"),
        place=lambda _, index: {"file": long.path, "row": long.row(index)},
    )


def _final_scores(folder: Path, key: pl.DataFrame) -> pl.DataFrame | None:
    """Released scores and the split, from whichever of the four files are there."""
    parts = []
    for split, pattern in (("train", "*Train*.csv"), ("validation", "*Validation*.csv"), ("test", "*Test*.csv")):
        parts += [
            _scores(read_csv(file)).with_columns(pl.lit(split).alias("split"))
            for file in sorted(folder.glob(pattern))[:1]
        ]
    if not parts:
        parts = [_scores(read_csv(file)) for file in sorted(folder.glob("*Full*.csv"))[:1]]
    if not parts:
        return None
    scores = pl.concat(parts)
    joined = scores.join(key, on=["Text", "Target"], how="left")
    if joined["item"].null_count():
        text = joined.filter(pl.col("item").is_null())["Text"][0]
        raise InputError(f"the split names a text without individual scores: '{text[:60]}'", file=folder)
    return joined.drop("Text", "Target")


def _scores(table: FileTable) -> pl.DataFrame:
    """Final scores of one file; the test file calls its columns `Trust_mean` and so on."""
    suffix = "_mean" if "Trust_mean" in table.frame.columns else ""
    table.require("Text", "Target", *(f"{dimension}{suffix}" for dimension in DIMENSIONS))
    return table.frame.select("Text", "Target").with_columns(
        table.numbers(f"{dimension}{suffix}").alias(f"final_{dimension.lower()}") for dimension in DIMENSIONS
    )
