"""Scores of predictions per user, text and trait value: ours beside one classification report per group.

Run with `python -m benchmarks perspective`; `--full` also goes through every group of the reference and evaluates
10,000,000 predictions. The library PersEval cannot be installed (it has no package), so its way is written out here:
a filter of the table and a `classification_report` of scikit-learn for every user, text and trait value, then the mean
over those in which the class occurs. Without `--full` some hundred users and texts of it are timed and the rest is
extrapolated. Ours includes all checks of the predictions, every single user and text, and without resamples unless it
says otherwise.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
from sklearn.metrics import classification_report

from benchmarks.harness import measured
from vantage import Corpus, Instrument, Scale
from vantage.perspective import evaluate

SIZES: Final = {"53,765": (10_753, 819), "1,000,000": (200_000, 10_000), "10,000,000": (2_000_000, 50_000)}
"""Texts and users; every text has five answers. The first is the size of MD-Agreement."""
SAMPLE: Final = 150
"""How many users and texts of the reference are timed."""
LEVELS: Final = ("global", "user", "text")


def made(texts: int, users: int, seed: int = 0) -> tuple[Corpus, pl.DataFrame]:
    """A corpus of two labels and two traits, and predictions that are right about three times of four."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(texts), 5)
    user = (np.repeat(rng.integers(0, users, texts), 5) + np.tile(np.arange(5), texts)) % users
    gold = (rng.random(len(item)) < 0.35).astype(float)
    predicted = np.where(rng.random(len(item)) < 0.75, gold, 1 - gold)
    pairs = pl.DataFrame({"item": item, "rater": user}).select(
        pl.format("text {}", "item").alias("item"), pl.format("user {}", "rater").alias("rater")
    )
    judgments = pairs.with_columns(pl.lit("offensive").alias("question"), pl.Series("value", gold))
    raters = pl.DataFrame({"rater": [f"user {n}" for n in range(users)]}).with_columns(
        pl.Series("gender", rng.choice(["f", "m"], users)), pl.Series("generation", rng.choice(list("XYZ"), users))
    )
    instrument = Instrument.of_questions("made", "Made", {"offensive": Scale.labels("no", "yes")})
    items = pl.DataFrame({"item": [f"text {n}" for n in range(texts)], "text": [""] * texts})
    return Corpus(items, raters, judgments, instrument), pairs.with_columns(pl.Series("value", predicted))


def ours(given: tuple[Corpus, pl.DataFrame], resamples: int) -> dict[str, Any]:
    """All four levels, every user, every text and every trait value."""
    corpus, predictions = given
    evaluation = evaluate(predictions, corpus, undefined="reference", resamples=resamples)
    scores = {level: evaluation.f1(level, "yes") for level in LEVELS}
    scores |= {trait: evaluation.f1("trait", "yes", trait) for trait in evaluation.traits}
    return {**scores, "rows": len(evaluation.users) + len(evaluation.texts) + len(evaluation.trait_values)}


def reference(given: tuple[Corpus, pl.DataFrame], most: int | None) -> dict[str, Any]:
    """One report per group, as the library computes it; with `most`, so many users and texts, and seconds for all."""
    corpus, predictions = given
    gold = corpus.judgments.select("item", "rater", pl.col("value").cast(pl.Int64).alias("gold"))
    frame: pd.DataFrame = (
        gold.join(predictions.with_columns(pl.col("value").cast(pl.Int64)), on=["item", "rater"])
        .join(corpus.raters.drop("kind"), on="rater")
        .to_pandas()
    )
    scores_of: dict[str, Any] = {}
    seconds = 0.0
    for level, column in (("global", None), ("user", "rater"), ("text", "item"), ("gender",) * 2, ("generation",) * 2):
        groups = [None] if column is None else sorted(frame[column].unique())
        chosen = groups if most is None else groups[:most]
        start, scores = time.perf_counter(), []
        for group in chosen:
            part = frame if column is None else frame[frame[column] == group]
            report = classification_report(part["gold"], part["value"], output_dict=True, zero_division=0.0)
            if "1" in report:
                scores.append(report["1"]["f1-score"])
        seconds += (time.perf_counter() - start) * len(groups) / len(chosen)
        scores_of[level] = float(np.mean(scores)) if len(chosen) == len(groups) else None
    return {**scores_of, "seconds": seconds}


def main() -> None:
    full = "--full" in sys.argv
    small = partial(made, *SIZES["53,765"])
    mine = measured(partial(ours, resamples=0), small, warm=partial(made, 100, 10), repeats=5)
    theirs = measured(partial(reference, most=None if full else SAMPLE), small)
    for level, value in theirs.result.items():
        if level in mine.result and value is not None:
            assert abs(value - mine.result[level]) < 1e-9, level
    how = "every group" if full else f"extrapolated from {SAMPLE} users and texts"
    seconds = theirs.result["seconds"]
    print(f"53,765 predictions, four levels: ours {mine.seconds:.3f} s, one report per group {seconds:.0f} s ({how})")
    print(f"ratio {seconds / mine.seconds:,.0f} (goal: 100)")
    with_intervals = measured(partial(ours, resamples=1000), small, warm=partial(made, 100, 10), repeats=3)
    print(f"with 1,000 resamples: {with_intervals.seconds:.2f} s")
    for name in list(SIZES)[1 : 3 if full else 2]:
        used = measured(partial(ours, resamples=1000 if name == "1,000,000" else 0), partial(made, *SIZES[name]))
        extra = ", with 1,000 resamples" if name == "1,000,000" else " (goal: 60 s and 4,000 MB)"
        print(f"{name} predictions: {used.seconds:.1f} s, {used.megabytes:,.0f} MB above the data{extra}")


if __name__ == "__main__":
    main()
