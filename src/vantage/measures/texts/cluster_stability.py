"""How sure clusters are, and how they compare: resampled runs, other starts, and the clusters of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.intervals import percentile
from vantage.measures.ratings import Floats, Ints
from vantage.measures.texts.clusters import Clusters, fitted, one_thread

SEEDS: Final = 20
"""How many single starts show how far a clustering depends on its start."""
RESAMPLE_STARTS: Final = 5
"""How many starts the clustering of a resample gets."""


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
    from sklearn.metrics import adjusted_rand_score

    k = len(clusters.names)
    usable = [points for points in replicates if len(np.unique(points, axis=0)) >= k]
    with one_thread():
        anew = [fitted(points, k, n_init=RESAMPLE_STARTS, seed=seed) for points in usable]
        others = [fitted(clusters.points, k, n_init=1, seed=seed + 1 + n) for n in range(SEEDS)]
    held = np.zeros(len(clusters.items))
    for one in anew:
        distance = np.linalg.norm(clusters.centroids[:, None] - one.cluster_centers_[None], axis=2)
        mine, theirs = linear_sum_assignment(distance)
        held += mine[np.argsort(theirs)][one.labels_] == clusters.labels
    agreement, seeds = (
        np.array([adjusted_rand_score(clusters.labels, one.labels_) for one in many]) for many in (anew, others)
    )
    return Stability(agreement, held / len(anew) if anew else np.full(len(held), np.nan), seeds)


def nearest_centroid(points: Floats, centroids: Floats) -> Ints:
    """The centroid next to each point."""
    distance = np.linalg.norm(points[:, None] - centroids[None], axis=2)
    return np.asarray(distance.argmin(axis=1), dtype=np.int64)


def rand_by_chance(
    first: Sequence[Any] | NDArray[Any],
    second: Sequence[Any] | NDArray[Any],
    *,
    permutations: int = 9999,
    seed: int = 0,
) -> tuple[float, float, float]:
    """The adjusted Rand index (Hubert and Arabie 1985), and what chance makes of it when items are dealt out at random.

    Returns:
        The index, the two-sided p value of its permutation test, and what 95 % of the permutations stay below.

    >>> index, p, high = rand_by_chance([0] * 6 + [1] * 6, ["a"] * 6 + ["b"] * 6)
    >>> index, p < 0.01, 0 < high < 1
    (1.0, True, True)
    """
    one, two = (np.unique(np.asarray(labels), return_inverse=True)[1] for labels in (first, second))
    table = np.eye(int(one.max()) + 1)[one]
    dealt = np.vstack([two, np.random.default_rng(seed).permuted(np.tile(two, (permutations, 1)), axis=1)])
    counts = np.stack([(dealt == label) @ table for label in range(int(two.max()) + 1)], axis=2)
    # The sizes of the clusters stay, so the index moves with the number of pairs that are together in both.
    together = (counts * (counts - 1)).sum(axis=(1, 2)) / 2
    rows, columns = _pairs(table.sum(axis=0)), _pairs(np.bincount(two).astype(np.float64))
    total = len(one) * (len(one) - 1) / 2
    chance = rows * columns / total if total else 0.0
    span = (rows + columns) / 2 - chance
    index = (together - chance) / span if span else np.ones(len(dealt))
    tails = [(index >= index[0]).sum(), (index <= index[0]).sum()]
    return float(index[0]), min(1.0, 2 * float(min(tails)) / len(index)), float(np.quantile(index[1:], 0.95))


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
