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

import numpy as np
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


def rasch() -> pl.DataFrame:
    """Simulated answers of eight raters, yes or no, to 300 items, of which everyone saw five in eight."""
    rng = np.random.default_rng(11)
    item, rater = (grid.ravel() for grid in np.indices((300, 8)))
    yes = rng.logistic(size=2400) < 1.2 * rng.normal(size=300)[item] - np.linspace(-1, 1, 8)[rater]
    seen = np.argsort(np.argsort(rng.random((300, 8)), axis=1), axis=1).ravel() < 5
    return pl.DataFrame({"item": item, "rater": rater, "value": yes.astype(float)}).filter(pl.Series(seen))


def main() -> None:
    """Writes the tables where R can read them, and prints what R estimates."""
    folder = Path(os.environ["VANTAGE_DATA"])
    with tempfile.TemporaryDirectory() as place:
        wcsent(folder).write_csv(Path(place) / "wcsent.csv")
        ironic = multipico(folder).with_columns_of(list(TRAITS)).drop_nulls(list(TRAITS))
        ironic.select("item", "rater", "value", *TRAITS).write_csv(Path(place) / "multipico.csv")
        rasch().write_csv(Path(place) / "rasch.csv")
        script = Path(__file__).with_suffix(".R")
        result = subprocess.run(["Rscript", str(script), place], capture_output=True, text=True, check=True)  # noqa: S603, S607
    sys.stdout.write(result.stdout)


if __name__ == "__main__":
    main()
