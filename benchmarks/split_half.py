"""Split-half reliability over 1,000 splits: ours beside the idiomatic pandas loop.

Run with `python -m benchmarks split_half`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl

from benchmarks.harness import Taken, measured
from vantage.measures.variance.split_half import split_half

Rows: TypeAlias = Mapping[str, Any]
Case: TypeAlias = Callable[[Rows], Any]

SPLITS = 1000
PEER_SPLITS = 100
"""The peer's time grows with the number of splits, so a tenth of them is timed and multiplied."""


def ratings(items: int, per_item: int, raters: int, *, seed: int = 0, continuous: bool = False) -> Rows:
    """Five-point ratings: a latent score of the item, a bias of the rater, and noise."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), per_item)
    # Distinct raters within an item: consecutive numbers from a random start, on shuffled names.
    rater = (np.repeat(rng.integers(0, raters, items), per_item) + np.tile(np.arange(per_item), items)) % raters
    rater = rng.permutation(raters)[rater]
    latent = rng.normal(0, 1, items)[item] + rng.normal(0, 0.5, raters)[rater] + rng.normal(0, 1, len(item))
    value = latent if continuous else np.digitize(latent, [-1.8, -0.6, 0.4, 1.5]) + 1.0
    order = rng.permutation(len(item))
    return {"item": item[order], "rater": rater[order], "value": value[order]}


def taken(case: Case, load: Callable[[], Rows]) -> Taken:
    return measured(case, load, warm=partial(ratings, 20, 5, 9))


def ours(rows: Rows) -> float:
    return float(split_half(pl.DataFrame(rows), spearman_brown=True, splits=SPLITS)["estimate"][0])


def ours_median_spearman(rows: Rows) -> float:
    reliability = split_half(pl.DataFrame(rows), aggregate="median", correlation="spearman", splits=SPLITS)
    return float(reliability["estimate"][0])


def ours_by_rater(rows: Rows) -> float:
    reliability = split_half(pl.DataFrame(rows), split="raters", spearman_brown=True, splits=SPLITS)
    return float(reliability["estimate"][0])


def pandas_loop(rows: Rows) -> float:
    data = pd.DataFrame(rows)
    rng = np.random.default_rng(0)
    coefficients = []
    for _ in range(PEER_SPLITS):
        shuffled = data.iloc[rng.permutation(len(data))]
        half = shuffled.groupby("item").cumcount() % 2
        means = shuffled.groupby(["item", half])["value"].mean().unstack()
        r = float(means.corr().to_numpy()[0, 1])
        coefficients.append(2 * r / (1 + r))
    return float(np.mean(coefficients))


def main() -> None:
    load = partial(ratings, 10_753, 5, 819)
    print(f"split-half reliability, {SPLITS:,} splits, {len(load()['value']):,} ratings")
    loop = taken(pandas_loop, load)
    slow = loop.seconds * SPLITS / PEER_SPLITS
    print(f"{'case':44} {'seconds':>8} {'ratio':>7} {'MB':>6} {'value':>7}")
    name = f"pandas loop, mean, Pearson (from {PEER_SPLITS} splits)"
    print(f"{name:44} {slow:8.2f} {1:6.0f}x {loop.megabytes:6.0f} {loop.result:7.4f}")
    for name, case in (
        ("ours, mean, Pearson", ours),
        ("ours, median, Spearman", ours_median_spearman),
        ("ours, mean, Pearson, by rater", ours_by_rater),
    ):
        got = taken(case, load)
        print(f"{name:44} {got.seconds:8.2f} {slow / got.seconds:6.0f}x {got.megabytes:6.0f} {got.result:7.4f}")
    for name, more in (
        ("ours, mean, Pearson, continuous answers", partial(ratings, 10_753, 5, 819, continuous=True)),
        ("ours, mean, Pearson, 1,000,000 ratings", partial(ratings, 200_000, 5, 10_000)),
    ):
        got = taken(ours, more)
        print(f"{name:44} {got.seconds:8.2f} {'':7} {got.megabytes:6.0f} {got.result:7.4f}")


if __name__ == "__main__":
    main()
