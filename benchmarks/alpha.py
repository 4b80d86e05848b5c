"""Krippendorff's alpha from a long table: ours beside the `krippendorff` package.

Run with `python -m benchmarks alpha`; `--full` adds 100,000,000 ratings streamed from Parquet files. Time starts from
the long table with string names and includes each side's own conversion. The peer is taken by its faster route: the
table of raters × items where it fits, the table of value counts otherwise. It does not resample, so its 1,000
resamples are recomputations on resampled rows of counts; 20 and 60 of them are timed, and the rest is extrapolated.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

import krippendorff
import numpy as np
import pandas as pd
import polars as pl

from benchmarks.harness import Taken, measured
from vantage.measures.agreement.alpha import alpha
from vantage.scales import Level

LEVELS: Final[tuple[Level, ...]] = ("nominal", "ordinal", "interval")
RESAMPLES = 1000
REPEATS = {5: 9, 101: 3}
"""How often the small table is measured, by the points of the scale; the peer takes seconds for a slider."""
PEER_RESAMPLES = 20
SIZES = {"53,765": (10_753, 819), "1,000,000": (200_000, 10_000)}
"""Items and raters; every item has five answers."""


def ratings(items: int, raters: int, points: int, seed: int = 0) -> pl.DataFrame:
    """A latent score of the item, a bias of the rater and noise, on a scale of so many points."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 5)
    rater = (np.repeat(rng.integers(0, raters, items), 5) + np.tile(np.arange(5), items)) % raters
    latent = rng.normal(0, 1, items)[item] + rng.normal(0, 0.5, raters)[rater] + rng.normal(0, 1, len(item))
    value = np.clip(np.round((latent + 3) / 6 * (points - 1)), 0, points - 1)
    order = rng.permutation(len(item))
    names = pl.format("item {}", "item"), pl.format("rater {}", "rater"), "value"
    return pl.DataFrame({"item": item[order], "rater": rater[order], "value": value[order]}).select(*names)


def ours(rows: pl.DataFrame, level: Level, resamples: int) -> float:
    if resamples:
        return float(alpha(rows, level=level, resamples=resamples)["estimate"][0])
    return float(alpha(rows, level=level, ci="none")["estimate"][0])


def peer(rows: pd.DataFrame, level: Level, resamples: int) -> float:
    if resamples == 0 and rows["rater"].nunique() < 1000:
        table = rows.pivot(index="rater", columns="item", values="value").to_numpy()
        return float(krippendorff.alpha(reliability_data=table, level_of_measurement=level))
    counts = pd.crosstab(rows["item"], rows["value"])
    domain, table = counts.columns.to_numpy(), counts.to_numpy()
    rng = np.random.default_rng(0)
    for _ in range(resamples):
        drawn = table[rng.integers(0, len(table), len(table))]
        krippendorff.alpha(value_counts=drawn, value_domain=domain, level_of_measurement=level)
    return float(krippendorff.alpha(value_counts=table, value_domain=domain, level_of_measurement=level))


def taken(side: str, file: Path, points: int, level: Level, resamples: int, repeats: int) -> Taken:
    """One case; the peer's thousand resamples stand for a few of them.

    Both sides are warmed up on a small table with as many points, so that no import is timed.
    """
    if side == "ours":
        case: Any = partial(ours, level=level, resamples=resamples)
        return measured(case, partial(pl.read_parquet, file), warm=partial(ratings, 30, 9, points), repeats=repeats)
    case = partial(peer, level=level, resamples=PEER_RESAMPLES if resamples == RESAMPLES else resamples)
    return measured(case, partial(pd.read_parquet, file), warm=partial(_small, points), repeats=repeats)


def _small(points: int) -> pd.DataFrame:
    return ratings(30, 9, points).to_pandas()


def streamed(folder: Path, level: Level) -> float:
    return float(alpha(pl.scan_parquet(folder / "*.parquet"), level=level, ci="none")["estimate"][0])


def write_many(folder: Path, millions: int) -> None:
    """Files of a million ratings each; the answers to an item are spread over the files."""
    rng = np.random.default_rng(0)
    items = millions * 200_000
    for index in range(millions):
        item = (np.arange(index * 1_000_000, (index + 1) * 1_000_000) * 7919) % items
        value = np.clip(np.round(item * 2_654_435_761 % 1000 / 200 + rng.normal(0, 1, len(item))), 0, 4)
        frame = pl.DataFrame({"item": item, "rater": rng.integers(0, 100_000, len(item)), "value": value})
        named = frame.select(pl.format("item {}", "item"), pl.format("rater {}", "rater"), "value")
        named.write_parquet(folder / f"{index:04}.parquet")


def compare(folder: Path) -> None:
    print(f"{'ratings':>10} {'points':>6} {'level':8} {'resamples':>9}", end=" ")
    print(f"{'peer s':>9} {'MB':>6} {'ours s':>9} {'MB':>6} {'ratio':>7} {'alpha':>8}")
    for size, (items, raters) in SIZES.items():
        for points in (5, 101):
            file = folder / f"{items}-{points}.parquet"
            ratings(items, raters, points).write_parquet(file)
            for resamples in (0, RESAMPLES):
                # As many repeats on both sides: a single cold one would make the peer look slower than it is.
                repeats = 1 if resamples or items >= 100_000 else REPEATS[points]
                for level in LEVELS:
                    got = taken("ours", file, points, level, resamples, repeats)
                    print(f"{size:>10} {points:6} {level:8} {resamples:9,}", end=" ")
                    # Counts of 101 values per item hold gigabytes in the peer; only the small table is tried.
                    if points > 5 and (size != "53,765" or resamples):
                        print(f"{'–':>9} {'–':>6} {got.seconds:9.4f} {got.megabytes:6.0f} {'–':>7} {got.result:8.4f}")
                        continue
                    theirs = taken("peer", file, points, level, resamples, repeats)
                    slow = theirs.seconds
                    if resamples:
                        # What is done once, building the counts, must not be multiplied with the resamples.
                        more = taken("peer", file, points, level, 3 * PEER_RESAMPLES, 1)
                        each = (more.seconds - theirs.seconds) / (2 * PEER_RESAMPLES)
                        slow += max(each, 0.0) * (RESAMPLES - PEER_RESAMPLES)
                    print(f"{slow:9.3f} {theirs.megabytes:6.0f} {got.seconds:9.4f} {got.megabytes:6.0f}", end=" ")
                    print(f"{slow / got.seconds:6.0f}x {got.result:8.4f}")
                    assert abs(got.result - theirs.result) < 1e-9


def stream(folder: Path, millions: int) -> None:
    write_many(folder, millions)
    for level in LEVELS:
        got = measured(partial(streamed, level=level), partial(Path, folder))
        print(f"{millions * 1_000_000:>11,} streamed, {level:8}", end=" ")
        print(f"{got.seconds:6.1f} s {got.megabytes:6.0f} MB {got.result:8.4f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        compare(Path(name))
    for millions in (10, 100) if "--full" in sys.argv else (10,):
        with tempfile.TemporaryDirectory() as name:
            stream(Path(name), millions)


if __name__ == "__main__":
    main()
