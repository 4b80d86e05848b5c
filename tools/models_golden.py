"""Golden values of tests/measures/models/test_golden.py, from lme4 and ordinal in R.

Debian: apt-get install r-base-core r-cran-lme4 r-cran-ordinal. Run where the published data are:
`python -m tools.models_golden > tests/measures/models/golden.json`. The data are not stored, only the estimates.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers import load

TRAITS = ("gender", "age")


def wcsent(folder: Path) -> pl.DataFrame:
    """The ratings of W&C-Sent: every question, one row per rating."""
    frame = pl.read_csv(folder / "wcsent" / "WC-Sent_Long_with_Individual_Scores_and_Annotator_ID.csv")
    return frame.select(
        item=pl.concat_str("Text", "Target", separator="|"),
        question=pl.col("Dimension").str.to_lowercase(),
        rater="Annotator_ID",
        value=pl.col("Score").cast(pl.Float64),
    )


def multipico(folder: Path) -> Corpus:
    """MultiPICo, of which the people who told a binary gender and an age are used."""
    corpus = load("mp", folder / "lewidi" / "2025" / "MP")
    kept = pl.when(pl.col("gender").is_in(["Female", "Male"])).then(pl.col("gender"))
    raters = corpus.raters.with_columns(kept.alias("gender"))
    return Corpus(corpus.items, raters, corpus.judgments, corpus.instruments)


def main() -> None:
    """Writes the tables where R can read them, and prints what R estimates."""
    folder = Path(os.environ["VANTAGE_DATA"])
    with tempfile.TemporaryDirectory() as place:
        wcsent(folder).write_csv(Path(place) / "wcsent.csv")
        ironic = multipico(folder).with_columns_of(list(TRAITS)).drop_nulls(list(TRAITS))
        ironic.select("item", "rater", "value", *TRAITS).write_csv(Path(place) / "multipico.csv")
        script = Path(__file__).with_suffix(".R")
        result = subprocess.run(["Rscript", str(script), place], capture_output=True, text=True, check=True)  # noqa: S603, S607
    sys.stdout.write(result.stdout)


if __name__ == "__main__":
    main()
