"""Alpha powered by a model on MD-Agreement: 53,765 ratings, 1,000 resamples, over items and raters.

Run with `python -m benchmarks powered`. The model answers every item and as many others five times, each with
people's share of the answer and noise.
"""

from __future__ import annotations

import time

import numpy as np
import polars as pl

import vantage
from benchmarks.calibration import DATA
from vantage.measures import alpha

SAMPLES = 5
GOAL = 5.0
"""Seconds."""


def judgments() -> pl.DataFrame:
    """All ratings of people, and five answers of a model to every item and to as many others."""
    corpus = vantage.read(DATA / "lewidi" / "2023" / "MD-Agreement", "md-agreement")
    people = corpus.judgments.filter(pl.col("value").is_not_null()).select("item", "rater", "sample", "value")
    rng = np.random.default_rng(0)
    share = people.group_by("item").agg(pl.col("value").mean()).sort("item")
    further = share.with_columns(pl.format("further {}", "item").alias("item"))
    every = pl.concat([share, further])
    noisy = np.clip(every["value"].to_numpy() + 0.2 * rng.normal(size=len(every)), 0, 1)
    said = [
        every.select(
            "item",
            rater=pl.lit("model"),
            sample=pl.lit(n, dtype=pl.Int32),
            value=pl.Series((rng.random(len(noisy)) < noisy).astype(np.float64)),
        )
        for n in range(SAMPLES)
    ]
    return pl.concat([people, *said])


def main() -> None:
    frame = judgments()
    alpha(frame.head(2000).vstack(frame.tail(20000)), level="nominal", powered_by="model", resamples=20)
    start = time.perf_counter()
    cpu = time.process_time()
    result = alpha(frame, level="nominal", powered_by="model", resamples=1000, ci="both")
    seconds, busy = time.perf_counter() - start, time.process_time() - cpu
    both = result.row(2, named=True)
    print(f"{both['judgments']:,} ratings: {seconds:.1f} s ({busy:.1f} s of processor time; goal {GOAL:g} s)")
    print(result.select("judged_by", "estimate", "low", "high", "over", "lambda", "labels_gained"))


if __name__ == "__main__":
    main()
