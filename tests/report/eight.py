"""Eight small corpora, one for each kind of answer that reports and the explorer must show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.interop.predictions import with_predictions
from vantage.scales import Scale

ITEMS, PEOPLE = 36, 14
LIKERT: Final = Scale.points(1, 5)


def made(scales: dict[str, Scale], *, models: int = 0, seed: int = 3) -> Corpus:
    """People of two homes who judge texts that are more and less of something, and models that follow them."""
    rng = np.random.default_rng(seed)
    latent, severity = rng.normal(0, 1.1, ITEMS), rng.normal(0, 0.5, PEOPLE + models)
    raters = [f"p{number:02}" for number in range(PEOPLE)] + [f"model {number + 1}" for number in range(models)]
    rows: list[dict[str, Any]] = []
    for question, scale in scales.items():
        low, high = scale.ends
        for item, rater in np.ndindex(ITEMS, PEOPLE + models):
            position = latent[item] + severity[rater] + rng.normal(0, 0.8 if rater < PEOPLE else 0.3)
            share = 1 / (1 + np.exp(-1.4 * position))
            value = low + (high - low) * share
            coded = value if scale.range else min(scale.codes, key=lambda code: abs(code - value))
            rows.append({"item": f"t{item:02}", "question": question, "rater": raters[rater], "value": float(coded)})
    items = pl.DataFrame(
        {
            "item": [f"t{n:02}" for n in range(ITEMS)],
            "text": [f"The neighbour said sentence {n}." for n in range(ITEMS)],
        }
    )
    people = {"rater": raters, "kind": ["person"] * PEOPLE + ["model"] * models}
    homes = [("north", "south")[n % 2] for n in range(PEOPLE)] + [None] * models
    judged = pl.DataFrame(rows)
    return Corpus(
        items, pl.DataFrame({**people, "home": homes}), judged, [Instrument.of_questions("try", "Try", scales)]
    )


def with_distributions() -> Corpus:
    """A model that gives a distribution for each text."""
    corpus = made({"warm": LIKERT})
    chances = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0, 2.0, 1.0], ITEMS)
    frame = corpus.items.select("item").with_columns(pl.Series("probabilities", chances.tolist()))
    return with_predictions(corpus, frame, "soft", "warm")


def compared() -> Corpus:
    """Which of two texts is warmer, as the bundled instrument for comparisons asks."""
    corpus = made({"first": Scale.labels("a", "b")})
    instrument = Instrument.load("pairwise")
    [question] = instrument.questions
    codes = question.scale.codes
    value = pl.when(pl.col("value") > corpus.judgments["value"].min()).then(codes[1]).otherwise(codes[0])
    judged = corpus.judgments.with_columns(value.alias("value"), question=pl.lit(question.id))
    texts = corpus.items["text"].to_list()
    pairs = corpus.items.select("item", text_1="text", text_2=pl.Series(texts[1:] + texts[:1]))
    return Corpus(pairs, corpus.raters, judged, [instrument])


EIGHT: Final[dict[str, Callable[[], Corpus]]] = {
    "binary": lambda: made({"hateful": Scale.labels("no", "yes")}),
    "nominal": lambda: made({"safe": Scale.labels("safe", "unsafe", "unsure")}),
    "ordinal": lambda: made({"warm": LIKERT, "able": LIKERT}),
    "slider": lambda: made({"strength": Scale.continuous(0, 100)}),
    "several": lambda: made({f"emotions.{name}": Scale.labels("no", "yes") for name in ("joy", "fear", "anger")}),
    "comparisons": compared,
    "models": lambda: made({"warm": LIKERT, "rude": Scale.labels("no", "yes")}, models=2),
    "distributions": with_distributions,
}
"""By the kind of their answers."""
