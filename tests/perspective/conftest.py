"""Small made-up corpora whose people differ in a trait."""

import numpy as np
import polars as pl

from vantage import Corpus, Instrument, Scale


def made(people: int = 10, texts: int = 40, each: int = 12, seed: int = 0, labels: int = 2) -> Corpus:
    """Everyone judges some of the texts; one half of the people sees more than the other."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        for text in rng.permutation(texts)[:each]:
            value = float(rng.integers(labels)) if rng.random() < 0.6 else float(person % 2)
            rows.append({"item": f"t{text}", "rater": f"p{person}", "question": "seen", "value": value})
    return Corpus(
        items=pl.DataFrame({"item": [f"t{n}" for n in range(texts)], "text": [f"Text {n}." for n in range(texts)]}),
        raters=pl.DataFrame(
            {
                "rater": [f"p{n}" for n in range(people)],
                "side": ["left" if n % 2 else "right" for n in range(people)],
                "country": ["here"] * people,
            }
        ),
        judgments=pl.DataFrame(rows),
        instruments=Instrument.of_questions("made", "Made", {"seen": Scale.labels(*"abcde"[:labels])}),
    )
