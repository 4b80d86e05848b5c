"""What the tests of contexts share: invented statements with labels."""

from __future__ import annotations

import polars as pl
import pytest

from vantage import Corpus, Instrument

STATEMENTS: dict[str, tuple[str | None, int | None]] = {
    "s1": ("I just love waiting.", 1),
    "s2": ("We had a great time at the station.", 0),
    "s3": ("My favourite part is the cold.", 1),
    "s4": ("Trains are late on Mondays.", 0),
}


def statements(rows: dict[str, tuple[str | None, int | None]] | None = None) -> Corpus:
    """A corpus of statements with their labels."""
    told = [(item, *row) for item, row in (STATEMENTS if rows is None else rows).items()]
    words = [(item, text, None if label is None else ["no", "yes"][label]) for item, text, label in told]
    schema = {"item": pl.String, "text": pl.String, "label": pl.String}
    return Corpus.of_items(pl.DataFrame(words, schema=schema, orient="row"), Instrument.load("sarcasm"))


@pytest.fixture
def corpus() -> Corpus:
    return statements()
