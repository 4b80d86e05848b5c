"""What the tests of contexts share: invented statements with labels."""

from __future__ import annotations

import polars as pl
import pytest

from vantage import Corpus, Instrument

STATEMENTS = {
    "s1": ("I just love waiting.", 1),
    "s2": ("We had a great time at the station.", 0),
    "s3": ("My favourite part is the cold.", 1),
    "s4": ("Trains are late on Mondays.", 0),
}


def statements(rows: dict[str, tuple[str | None, int | None]] | None = None) -> Corpus:
    """A corpus of statements with their authors' labels."""
    told = dict(rows) if rows is not None else dict(STATEMENTS)
    labelled = {item: label for item, (_, label) in told.items() if label is not None}
    return Corpus(
        pl.DataFrame(
            {"item": list(told), "text": [text for text, _ in told.values()]},
            schema={"item": pl.String, "text": pl.String},
        ),
        pl.DataFrame({"rater": ["author"], "kind": ["author"]}),
        pl.DataFrame(
            {
                "item": list(labelled),
                "question": ["sarcasm"] * len(labelled),
                "rater": ["author"] * len(labelled),
                "condition": ["author"] * len(labelled),
                "value": list(labelled.values()),
            },
            schema_overrides={"item": pl.String, "question": pl.String, "rater": pl.String, "condition": pl.String},
        ),
        Instrument.load("sarcasm"),
    )


@pytest.fixture
def corpus() -> Corpus:
    return statements()
