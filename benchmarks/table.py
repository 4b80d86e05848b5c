"""Reading and checking a long CSV of a million judgments, beside `polars.read_csv` of the same file."""

from __future__ import annotations

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.harness import measured
from vantage.corpora.readers.table import read

REPEATS = 9


def write(path: Path, items: int, raters: int, *, texts: bool = False) -> None:
    """Five judgments per item, in random order."""
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(items), 5)
    rater = (item * 7 + np.tile(np.arange(5), items) * 13) % raters
    order = rng.permutation(len(item))
    frame = pl.DataFrame({"item": item[order], "rater": rater[order], "value": rng.integers(1, 6, len(item))})
    frame = frame.select(
        pl.format("item-{}", "item").alias("item"), pl.format("rater-{}", "rater").alias("rater"), "value"
    )
    if texts:
        frame = frame.with_columns(pl.format("A sentence of the usual length about {}.", "item").alias("text"))
    frame.write_csv(path)


def plain(path: Path) -> int:
    return len(pl.read_csv(path))


def ours(path: Path) -> int:
    return len(read(path).judgments)


def in_turn(path: Path) -> tuple[float, float]:
    """Both in turn, so that whatever else the machine does falls on both alike; the medians."""
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(REPEATS):
        for name, case in (("plain", plain), ("ours", ours)):
            start = time.perf_counter()
            assert case(path) == 1_000_000
            times[name].append(time.perf_counter() - start)
    return statistics.median(times["plain"]), statistics.median(times["ours"])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        small, large, wordy = (Path(name) / file for file in ("small.csv", "large.csv", "wordy.csv"))
        write(small, 20, 10)
        write(large, 200_000, 10_000)
        write(wordy, 200_000, 10_000, texts=True)
        print(f"{'1,000,000 judgments':28} {'read_csv s':>10} {'ours s':>8} {'ratio':>6} {'ours MB':>8}")
        for title, path in (("item, rater, value", large), ("item, rater, value, text", wordy)):
            plain_seconds, our_seconds = measured(in_turn, partial(Path, path)).result
            memory = measured(ours, partial(Path, path), warm=partial(Path, small)).megabytes
            ratio = our_seconds / plain_seconds
            print(f"{title:28} {plain_seconds:10.3f} {our_seconds:8.3f} {ratio:5.1f}x {memory:8.0f}")


if __name__ == "__main__":
    main()
