"""A corpus in which two groups of people label the same words in opposite ways."""

from __future__ import annotations

import numpy as np
import polars as pl

from tests.raters.trained.tiny import BAD, FILLER, GOOD
from vantage import Corpus, Instrument, Scale
from vantage.perspective import Split, split


def planted(people: int = 12, texts: int = 100, each: int = 40, seed: int = 0) -> Corpus:
    """Those on the left say yes to good words and no to bad ones, those on the right the reverse."""
    rng = np.random.default_rng(seed)
    good = rng.integers(0, 2, texts)
    items = []
    for n in range(texts):
        words = [str(w) for w in rng.choice(GOOD if good[n] else BAD, 2)] + [str(w) for w in rng.choice(FILLER, 3)]
        items.append({"item": f"t{n}", "text": " ".join(words[i] for i in rng.permutation(5)) + f" {n}"})
    rows = [
        {"item": f"t{t}", "rater": f"p{p:02}", "question": "seen", "value": float(good[t] if p % 2 else 1 - good[t])}
        for p in range(people)
        for t in rng.permutation(texts)[:each]
    ]
    sides = ["left" if p % 2 else "right" for p in range(people)]
    return Corpus(
        pl.DataFrame(items),
        pl.DataFrame(
            {"rater": [f"p{p:02}" for p in range(people)], "side": sides, "shoe": [f"{38 + p}" for p in range(people)]}
        ),
        pl.DataFrame(rows),
        Instrument.of_questions("planted", "Planted", {"seen": Scale.labels("no", "yes")}),
    )


def parted(adaptation: str = "none", users: str = "named", texts: int = 100, **options: object) -> Split:
    """The split of the planted corpus that most tests look at."""
    told = {"stratify": "side", "test_texts": 0.3, "adaptation_items": 1, **options}
    return split(planted(texts=texts), users=users, adaptation=adaptation, **told)  # type: ignore[arg-type]
