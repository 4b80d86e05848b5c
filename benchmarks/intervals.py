"""Intervals over items and raters of MD-Agreement: 53,765 ratings by 819 people.

Run with `python -m benchmarks intervals`. Time is from the table of judgments to the result, with 1,000 resamples where
a measure resamples; imports are warmed up on a part of the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import polars as pl

import vantage
from benchmarks.calibration import DATA
from vantage import measures

CASES: Final[Mapping[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], float]]] = {
    "alpha": (partial(measures.alpha, level="nominal", ci="both"), 1.5),
    "cohen": (partial(measures.cohen, ci="both"), 3.0),
    "components": (partial(measures.reliability, show="components", ci="both"), 5.0),
}
"""What is measured, and in how many seconds it should be done."""


def main() -> None:
    corpus = vantage.read(DATA / "lewidi" / "2023" / "MD-Agreement", "md-agreement")
    frame = corpus.judgments.filter(pl.col("value").is_not_null())
    print(f"{len(frame):,} ratings: {'seconds':>12} {'processor':>10} {'goal':>5}")
    for name, (case, goal) in CASES.items():
        case(frame.head(500))
        start, busy = time.perf_counter(), time.process_time()
        case(frame)
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        print(f"{name:27} {seconds:9.2f} {busy:10.2f} {goal:5g}")


if __name__ == "__main__":
    main()
