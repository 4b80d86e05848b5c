"""Clusters of items on a few scores: k-means, names from positions, which number fits, and how sure clusters are.

k-means depends on its starts, so their number is fixed here and never left to a library's default; clusters are
named by where their centroids lie, never by which item they hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from vantage.errors import InputError
from vantage.measures.intervals import percentile
from vantage.measures.ratings import Floats, Ints

N_INIT: Final = 100
"""How many starts a clustering gets."""
APART: Final = 0.125
"""This share of a scale's range (half a point of 1 to 5) parts high and low from the middle, and two unlike scores."""
TABLE_STARTS: Final = 20
CLOUD_STARTS: Final = 2
"""How many starts the clusterings of the table over k get, and those of clouds without clusters."""
LEVEL: Final = 0.015
"""Clusters are accepted where fewer than this share of clouds without clusters separate as well."""
LEVELS: Final = {"L": "low", "M": "middle", "H": "high"}


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A clustering: which cluster each item is in, where the centroids are, and what they are called."""

    items: tuple[str, ...]
    axes: tuple[str, ...]
    points: Floats
    """One row per item, one column per axis."""
    labels: Ints
    """The cluster of each item, a row of `centroids`."""
    centroids: Floats
    """From the highest to the lowest mean over the axes."""
    names: tuple[str, ...]

    def of(self, item: str) -> str:
        """The name of an item's cluster."""
        return self.names[int(self.labels[self.items.index(item)])]

    def table(self) -> pl.DataFrame:
        """One row per cluster: its name, its centroid and how many items it has."""
        sizes = np.bincount(self.labels, minlength=len(self.names))
        return pl.DataFrame(
            {
                "cluster": self.names,
                **{axis: self.centroids[:, n] for n, axis in enumerate(self.axes)},
                "items": sizes.astype(np.int64),
            }
        )


def kmeans(
    items: Sequence[str],
    points: Floats,
    *,
    axes: Sequence[str] = ("competence", "warmth"),
    k: int = 5,
    scale: tuple[float, float] = (1, 5),
    n_init: int = N_INIT,
    seed: int = 0,
) -> Clusters:
    """Clusters by k-means (Lloyd 1982): the best of `n_init` k-means++ starts (Arthur and Vassilvitskii 2007).

    `points` has one row per item and one column per axis, all known; `scale`, its ends, names the clusters.

    >>> points = np.array([[4.5, 2.0], [4.4, 2.1], [2.0, 4.4], [2.1, 4.5], [1.2, 1.1], [1.1, 1.2]])
    >>> result = kmeans(["rich", "ceos", "elderly", "children", "a", "b"], points, k=3)
    >>> result.of("rich"), result.of("elderly"), result.of("a")
    ('HC-LW', 'LC-HW', 'LC-LW')
    """
    _check(len(items), points, k)
    with one_thread():
        best = fitted(points, k, n_init=n_init, seed=seed)
    centroids = best.cluster_centers_
    order = np.lexsort((-centroids[:, 0], -centroids.mean(axis=1).round(9)))
    place = np.argsort(order)
    centroids = centroids[order]
    names = position_names(centroids, axes=axes, scale=scale)
    return Clusters(tuple(items), tuple(axes), points, place[best.labels_], centroids, names)


def position_names(
    centroids: Floats, *, axes: Sequence[str] = ("competence", "warmth"), scale: tuple[float, float]
) -> tuple[str, ...]:
    """Names from where centroids lie on the scale, so that the same place has the same name for every source.

    The level of each axis comes first: high or low where the centroid is more than an eighth of the scale's range from
    its middle (above 3.5 and below 2.5 of 1 to 5), else middle. Where both of two axes have the same level and differ
    by an eighth of the range or more, the sign says which is higher: `MC>MW`. Where one of two is in the middle and
    three sixteenths of the range or more below a high one (.75 of 1 to 5), it is low beside it, and high beside a low
    one, as the theory names such places (Fiske et al. 2002). Clusters that would share a name are numbered, in the
    order given.

    >>> people = np.array([[4.29, 3.23], [2.28, 3.73], [1.97, 2.42], [3.78, 3.79], [3.16, 3.14]])
    >>> position_names(people, scale=(1, 5))
    ('HC-LW', 'LC-HW', 'LC-LW', 'HC-HW', 'MC-MW')
    >>> position_names(np.array([[2.08, 2.68], [3.4, 2.6]]), scale=(1, 5))
    ('LC-MW', 'MC>MW')
    """
    middle, apart = sum(scale) / 2, APART * (scale[1] - scale[0])
    short = initials(axes)
    plain = []
    for centroid in centroids.round(9):
        levels = ["H" if value > middle + apart else "L" if value < middle - apart else "M" for value in centroid]
        if len(axes) == 2 and levels.count("M") == 1 and abs(centroid[0] - centroid[1]) >= 1.5 * apart:
            levels = [level if level != "M" else "L" if "H" in levels else "H" for level in levels]
        even = len(axes) != 2 or levels[0] != levels[1] or abs(centroid[0] - centroid[1]) < apart
        sign = "-" if even else ">" if centroid[0] > centroid[1] else "<"
        plain.append(sign.join(f"{level}{axis}" for level, axis in zip(levels, short, strict=True)))
    shared = {name for name in plain if plain.count(name) > 1}
    return tuple(f"{name} {plain[: n + 1].count(name)}" if name in shared else name for n, name in enumerate(plain))


def initials(axes: Sequence[str]) -> list[str]:
    """The shortest beginnings that tell axes apart, at least a capital.

    >>> initials(["competence", "warmth"]), initials(["agency", "beliefs", "ability"])
    (['C', 'W'], ['Ag', 'Be', 'Ab'])
    """
    longest = max(map(len, axes))
    length = next((n for n in range(1, longest) if len({axis[:n].casefold() for axis in axes}) == len(axes)), longest)
    return [axis[:length].capitalize() for axis in axes]


def described(name: str, axes: Sequence[str] = ("competence", "warmth")) -> str:
    """A cluster's name in words.

    >>> described("HC-LW"), described("MC-MW 2")
    ('high competence, low warmth', 'middle competence, middle warmth (2)')
    >>> described("LC<LW")
    'low competence, low warmth, warmth above competence'
    """
    code, _, number = name.partition(" ")
    words = [f"{LEVELS[part[0]]} {axis}" for part, axis in zip(re.split("[-<>]", code), axes, strict=True)]
    if ">" in code or "<" in code:
        words.append(" above ".join(axes if ">" in code else reversed(axes)))
    return ", ".join(words) + (f" ({number})" if number else "")


def k_table(points: Floats, *, most: int = 8, references: int = 20, seed: int = 0) -> pl.DataFrame:
    """How well each number of clusters fits, and whether there are clusters at all.

    `silhouette` is the mean over items of (b − a) / max(a, b), with *a* the mean distance to the items of the same
    cluster and *b* that to the nearest other one (Rousseeuw 1987). k-means parts any cloud, and some silhouette is the
    largest: `p` is how likely one more cloud without clusters has a silhouette as large for some k, by Student's t over
    the largest ones of `references` such clouds, which are uniform in the box of the points along their principal axes;
    normal clouds part less well. `chosen` marks the k with the largest silhouette where its p is below `LEVEL`, and 1
    elsewhere. `again` is how sure the number is: in which share of random parts of the items, four fifths of them, this
    k has the largest silhouette.
    """
    distinct = len(np.unique(points, axis=0))
    places = distinct if 2 * distinct <= len(points) else distinct - 1
    counts = range(2, min(most, places, len(points) - 1) + 1)
    rows: list[dict[str, Any]] = [{"k": 1}]
    chosen = 1
    if counts:
        with one_thread():
            silhouettes = _silhouettes(points, counts, TABLE_STARTS, seed)
            clouds = [
                max(_silhouettes(cloud, counts, CLOUD_STARTS, seed).values())
                for cloud in _without_clusters(points, references, seed)
            ]
            again = _largest_again(points, counts, references, seed)
        error = np.std(clouds, ddof=1) * np.sqrt(1 + 1 / references)
        p = {k: float(stats.t.sf((one - np.mean(clouds)) / error, references - 1)) for k, one in silhouettes.items()}
        rows += [
            {"k": k, "silhouette": one, "p": p[k], "again": again.get(k, 0.0) if again else None}
            for k, one in silhouettes.items()
        ]
        best = max(silhouettes, key=lambda k: silhouettes[k])
        chosen = best if p[best] < LEVEL else 1
    schema = {"k": pl.Int64, **dict.fromkeys(("silhouette", "p", "again"), pl.Float64)}
    return pl.DataFrame(rows, schema=schema).with_columns((pl.col("k") == chosen).alias("chosen"))


def _silhouettes(points: Floats, counts: Iterable[int], n_init: int, seed: int) -> dict[int, float]:
    """The silhouette of each number of clusters."""
    from sklearn.metrics import silhouette_score

    fits = {k: fitted(points, k, n_init=n_init, seed=seed) for k in counts}
    return {k: float(silhouette_score(points, one.labels_)) for k, one in fits.items()}


def _largest_again(points: Floats, counts: Sequence[int], parts: int, seed: int) -> dict[int, float]:
    """In which share of random parts of the points each number of clusters has the largest silhouette."""
    rng, size, best = np.random.default_rng(seed), round(0.8 * len(points)), list[int]()
    for _ in range(parts):
        some = points[rng.permutation(len(points))[:size]]
        possible = [k for k in counts if k < min(size, len(np.unique(some, axis=0)))]
        if possible:
            silhouettes = _silhouettes(some, possible, CLOUD_STARTS, seed)
            best.append(max(silhouettes, key=lambda k: silhouettes[k]))
    return {k: best.count(k) / len(best) for k in set(best)}


def _without_clusters(points: Floats, count: int, seed: int) -> Floats:
    """Clouds of as many points without clusters: uniform in a box along the principal axes."""
    middle = points.mean(axis=0)
    axes = np.linalg.svd(points - middle, full_matrices=False)[2]
    along = (points - middle) @ axes.T
    shape = (count, len(points), len(axes))
    boxes = np.random.default_rng(seed).uniform(along.min(axis=0), along.max(axis=0), shape)
    return np.asarray(boxes @ axes + middle)


def _check(items: int, points: Floats, k: int) -> None:
    if points.shape[0] != items:
        raise InputError(f"there are {items} items and {points.shape[0]} rows of scores")
    if not np.isfinite(points).all():
        raise InputError("an item without a score cannot be clustered", remedy="leave it out")
    if k < 1:
        raise InputError(f"{k} clusters cannot be made", remedy="ask for at least one")
    if items < k:
        raise InputError(f"{items} items cannot make {k} clusters", remedy="name more items or a smaller k")
    if (distinct := len(np.unique(points, axis=0))) < k:
        raise InputError(
            f"the {items} items have only {distinct} different scores, too few for {k} clusters",
            remedy="use a smaller k",
        )


def fitted(points: Floats, k: int, *, n_init: int, seed: int) -> Any:
    """Scikit-learn's k-means, moved on until nothing changes; many small ones are faster under `one_thread`.

    >>> sorted(fitted(np.array([[0.0], [1.0], [9.0], [10.0]]), 2, n_init=5, seed=0).cluster_centers_.ravel().tolist())
    [0.5, 9.5]
    """
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=n_init, tol=0, random_state=seed).fit(points)


def one_thread() -> Any:
    """Keeps scikit-learn to one thread, which is faster for few points."""
    import sklearn.cluster  # noqa: F401 - limits hold for libraries that are already loaded
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


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
    """Clusters every replicate of the points (resamples × items × axes) anew, and compares each with the clusters."""
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
    rows, columns = (float((n * (n - 1)).sum() / 2) for n in (table.sum(axis=0), np.bincount(two).astype(np.float64)))
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
