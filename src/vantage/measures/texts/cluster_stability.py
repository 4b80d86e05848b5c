"""How sure clusters are, and how they compare: resampled runs, other starts, and the clusters of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.measures.intervals import percentile
from vantage.measures.ratings import Floats, Ints
from vantage.measures.texts.clusters import Clusters, lloyd

SEEDS: Final = 50
"""How many single starts show how far a clustering depends on its start."""


def run_replicates(cube: Floats, *, resamples: int = 200, seed: int = 0) -> Floats:
    """Item means of resampled runs: resamples × items × scores, from items × scores × runs with NaN for none.

    Runs are drawn with replacement, whole, so that what the answers of one run share is kept. An item of which no
    drawn run has an answer keeps its overall mean.

    >>> cube = np.array([[[1.0, 3.0]], [[2.0, np.nan]]])
    >>> run_replicates(cube, resamples=4).shape
    (4, 2, 1)
    """
    runs = cube.shape[2]
    drawn = np.random.default_rng(seed).multinomial(runs, np.full(runs, 1 / runs), size=resamples).astype(np.float64)
    known = np.isfinite(cube)
    sums = np.einsum("br,idr->bid", drawn, np.where(known, cube, 0.0))
    counts = np.einsum("br,idr->bid", drawn, known.astype(np.float64))
    whole = mean_over_runs(cube)
    return np.where(counts > 0, sums / np.maximum(counts, 1), whole[None])


def mean_over_runs(cube: Floats) -> Floats:
    """The mean of each item and score over the runs that have it; NaN where none has."""
    known = np.isfinite(cube)
    counts = known.sum(axis=2)
    sums = np.where(known, cube, 0.0).sum(axis=2)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """How a clustering holds when the runs behind it are drawn anew."""

    agreement: Floats
    """The adjusted Rand index of each resample's clustering with the whole one."""
    held: Floats
    """Per item: the share of resamples in which it stays in its cluster, clusters matched by their centroids."""
    seeds: Floats
    """The adjusted Rand index of clusterings of the same points from single other starts."""

    def summary(self) -> dict[str, float | None]:
        """The agreement in a few numbers."""
        low, high = percentile(self.agreement)
        mean = float(self.agreement.mean()) if len(self.agreement) else None
        return {"agreement": mean, "low": low, "high": high, "seeds": float(self.seeds.mean())}


def stability(clusters: Clusters, replicates: Floats, *, seed: int = 0) -> Stability:
    """Clusters every replicate of the points anew and compares the result with the clusters found.

    Args:
        clusters: The clustering of the points.
        replicates: The points as they might have come out: resamples × items × axes.
        seed: Of the starts of the clusterings.
    """
    from scipy.optimize import linear_sum_assignment

    k = len(clusters.names)
    usable = np.array([len(np.unique(points, axis=0)) >= k for points in replicates], dtype=bool)
    held = np.zeros(len(clusters.items))
    agreement = np.zeros(0)
    if usable.any():
        labels, centroids, _ = lloyd(replicates[usable], k, n_init=10, seed=seed)
        agreement = np.array([adjusted_rand(clusters.labels, assigned) for assigned in labels])
        for assigned, centres in zip(labels, centroids, strict=True):
            distance = np.linalg.norm(clusters.centroids[:, None] - centres[None], axis=2)
            mine, theirs = linear_sum_assignment(distance)
            held += mine[np.argsort(theirs)][assigned] == clusters.labels
    others = np.repeat(clusters.points[None], SEEDS, axis=0)
    seeds = [adjusted_rand(clusters.labels, assigned) for assigned in lloyd(others, k, n_init=1, seed=seed + 1)[0]]
    share = held / len(agreement) if len(agreement) else np.full(len(held), np.nan)
    return Stability(agreement, share, np.array(seeds))


def nearest_centroid(points: Floats, centroids: Floats) -> Ints:
    """The centroid next to each point."""
    distance = np.linalg.norm(points[:, None] - centroids[None], axis=2)
    return np.asarray(distance.argmin(axis=1), dtype=np.int64)


def adjusted_rand(first: Sequence[Any] | NDArray[Any], second: Sequence[Any] | NDArray[Any]) -> float:
    """Agreement of two clusterings of the same items, 0 by chance and 1 when they are equal (Hubert and Arabie 1985).

    >>> adjusted_rand(["a", "a", "b", "b"], [1, 1, 2, 2]), adjusted_rand([1, 1, 2, 2], [1, 2, 1, 2])
    (1.0, -0.49...)
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} items were clustered", remedy="compare the same items")
    one, two = (np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1) for labels in (first, second))
    cells = np.zeros((one.max(initial=0) + 1, two.max(initial=0) + 1))
    np.add.at(cells, (one, two), 1)
    together, rows, columns = _pairs(cells), _pairs(cells.sum(axis=1)), _pairs(cells.sum(axis=0))
    total = len(one) * (len(one) - 1) / 2
    chance = rows * columns / total if total else 0.0
    highest = (rows + columns) / 2
    return 1.0 if highest == chance else float((together - chance) / (highest - chance))


def rand_by_chance(
    first: Sequence[Any] | NDArray[Any],
    second: Sequence[Any] | NDArray[Any],
    *,
    permutations: int = 9999,
    seed: int = 0,
) -> tuple[float, float]:
    """What chance makes of the adjusted Rand index, the items of one clustering dealt out at random.

    Returns:
        The two-sided p value of the permutation test, and what 95 % of the permutations stay below.

    >>> p, high = rand_by_chance([0] * 6 + [1] * 6, ["a"] * 6 + ["b"] * 6)
    >>> p < 0.01, 0 < high < 1
    (True, True)
    """
    one, two = (np.unique(np.asarray(labels), return_inverse=True)[1] for labels in (first, second))
    table = np.eye(int(one.max()) + 1)[one]
    dealt = np.random.default_rng(seed).permuted(np.tile(two, (permutations, 1)), axis=1)
    counts = np.stack([(dealt == label) @ table for label in range(int(two.max()) + 1)], axis=2)
    # The sizes of the clusters stay, so the index moves with the number of pairs that are together in both.
    together = (counts * (counts - 1)).sum(axis=(1, 2)) / 2
    rows, columns = _pairs(table.sum(axis=0)), _pairs(np.bincount(two).astype(np.float64))
    total = len(one) * (len(one) - 1) / 2
    chance = rows * columns / total if total else 0.0
    span = (rows + columns) / 2 - chance
    index = (together - chance) / span if span else np.ones(permutations)
    observed = adjusted_rand(one, two)
    tails = [((index >= observed - 1e-12).sum() + 1), ((index <= observed + 1e-12).sum() + 1)]
    return min(1.0, 2 * float(min(tails)) / (permutations + 1)), float(np.quantile(index, 0.95))


def overlaps(first: Mapping[str, str], second: Mapping[str, str]) -> pl.DataFrame:
    """For each cluster of one clustering, the cluster of the other that shares most with it.

    Over the items that both have. `jaccard` is the share of the items of either that both hold (Jaccard 1912).

    >>> overlaps({"a": "x", "b": "x", "c": "y"}, {"a": "1", "b": "1", "c": "1"}).rows()
    [('x', '1', 2, 2, 0.66...), ('y', '1', 1, 1, 0.33...)]
    """
    shared = [item for item in first if item in second]
    rows = []
    for name in dict.fromkeys(first[item] for item in shared):
        mine = {item for item in shared if first[item] == name}
        others = {other: {i for i in shared if second[i] == other} for other in sorted({second[i] for i in mine})}
        best = max(others, key=lambda other: len(mine & others[other]) / len(mine | others[other]))
        both = mine & others[best]
        rows.append((name, best, len(mine), len(both), len(both) / len(mine | others[best])))
    columns = {"first": pl.String, "second": pl.String, "items": pl.Int64, "shared": pl.Int64, "jaccard": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def _pairs(counts: Floats) -> float:
    """How many pairs the members of groups of these sizes make."""
    return float((counts * (counts - 1)).sum() / 2)
