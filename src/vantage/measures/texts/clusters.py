"""Clusters of items on a few scores: k-means, names from positions, and which number of clusters fits.

k-means depends on its starts, so their number is fixed here and never left to a library's default; clusters are
named by where their centroids lie, never by which item they hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.intervals import BLOCK_BYTES
from vantage.measures.ratings import Floats, Ints

N_INIT: Final = 100
"""How many starts a clustering gets."""
APART: Final = 0.125
"""This share of a scale's range (half a point of 1 to 5) parts high and low from the middle, and two unlike scores."""
ROUNDS: Final = 300
"""At most so many rounds of moving centroids."""
LEVEL: Final = 0.015
"""Clusters are told from none where fewer than this share of clouds without any part as well."""
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
    inertia: float
    """Sum of squared distances to the centroids."""

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

    def members(self) -> pl.DataFrame:
        """One row per item: its scores and its cluster."""
        return pl.DataFrame(
            {
                "item": self.items,
                **{axis: self.points[:, n] for n, axis in enumerate(self.axes)},
                "cluster": [self.names[label] for label in self.labels],
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
    """Clusters by k-means (Lloyd 1982) from `n_init` k-means++ starts (Arthur and Vassilvitskii 2007).

    Args:
        items: The items' names.
        points: Their scores, one row per item and one column per axis, all known.
        axes: What the columns are.
        k: How many clusters.
        scale: The ends of the scale, for the names of the clusters.
        n_init: How many starts; the best is kept.
        seed: Of the starts.

    >>> points = np.array([[4.5, 2.0], [4.4, 2.1], [2.0, 4.4], [2.1, 4.5], [1.2, 1.1], [1.1, 1.2]])
    >>> result = kmeans(["rich", "ceos", "elderly", "children", "a", "b"], points, k=3)
    >>> result.of("rich"), result.of("elderly"), result.of("a")
    ('HC-LW', 'LC-HW', 'LC-LW')
    """
    _check(len(items), points, k)
    (labels,), (centroids,), (inertia,) = lloyd(points[None], k, n_init=n_init, seed=seed)
    order = np.lexsort((-centroids[:, 0], -centroids.mean(axis=1).round(9)))
    place = np.argsort(order)
    centroids = centroids[order]
    names = position_names(centroids, axes=axes, scale=scale)
    return Clusters(tuple(items), tuple(axes), points, place[labels], centroids, names, float(inertia))


def position_names(
    centroids: Floats, *, axes: Sequence[str] = ("competence", "warmth"), scale: tuple[float, float]
) -> tuple[str, ...]:
    """Names from where centroids lie on the scale, so that the same place has the same name for every source.

    The level of each axis comes first: high or low where the centroid is more than an eighth of the scale's range from
    its middle (above 3.5 and below 2.5 of 1 to 5), else middle. Where both of two axes have the same level and differ
    by an eighth of the range or more, the sign says which is higher: `MC>MW`. Clusters that would share a name are
    numbered, in the order given.

    >>> people = np.array([[4.29, 3.23], [2.28, 3.73], [1.97, 2.42], [3.78, 3.79], [3.16, 3.14]])
    >>> position_names(people, scale=(1, 5))
    ('HC-MW', 'LC-HW', 'LC-LW', 'HC-HW', 'MC-MW')
    >>> position_names(np.array([[2.08, 2.68], [3.4, 2.6]]), scale=(1, 5))
    ('LC-MW', 'MC>MW')
    """
    middle, apart = sum(scale) / 2, APART * (scale[1] - scale[0])
    short = initials(axes)
    plain = []
    for centroid in centroids.round(9):
        levels = ["H" if value > middle + apart else "L" if value < middle - apart else "M" for value in centroid]
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


def k_table(points: Floats, *, most: int = 8, references: int = 200, seed: int = 0) -> pl.DataFrame:
    """How well each number of clusters fits, and whether there are clusters at all.

    `silhouette` is the mean over items of (b − a) / max(a, b), with *a* the mean distance to the items of the same
    cluster and *b* that to the nearest other one (Rousseeuw 1987). k-means parts any cloud, and some silhouette is the
    largest: `p` is the share of clouds without clusters whose largest silhouette over all k is at least as large. Half
    of these `references` are uniform in the box of the points along their principal axes, half are normal with their
    covariance, and `p` is the larger one of the two shares. `chosen` marks the k with the largest silhouette where its
    p is below `LEVEL`, and 1 elsewhere. `gap` is how much smaller the logarithm of the within-cluster sum of squares is
    than that of the uniform clouds, with `gap_error` its standard error √(1 + 1/B) · sd (Tibshirani, Walther and Hastie
    2001); their rule for k finds one cluster in five clear ones in the corners and the middle of a square. Items that
    share a few places exactly have as many clusters as places, and no gap for that number.
    """
    distinct = len(np.unique(points, axis=0))
    boxes, normal = _without_clusters(points, references // 2, seed)
    places = distinct if 2 * distinct <= len(points) else distinct - 1
    rows: list[dict[str, Any]] = []
    largest = np.full((2, references // 2), -1.0)
    for k in range(1, min(most, places, len(points) - 1) + 1):
        labels, _, inertia = lloyd(points[None], k, seed=seed)
        row: dict[str, Any] = {"k": k, "inertia": float(inertia[0])}
        if k > 1:
            row["silhouette"] = float(_silhouettes(points[None], labels)[0])
        if k < distinct:
            parted = [lloyd(clouds, k, n_init=3, seed=seed) for clouds in (boxes, normal)]
            logs = np.log(parted[0][2])
            row |= {"gap": float(logs.mean() - np.log(inertia[0]))}
            row |= {"gap_error": float(logs.std() * np.sqrt(1 + 1 / len(logs)))}
            if k > 1:
                silhouettes = [
                    _silhouettes(clouds, one[0]) for clouds, one in zip((boxes, normal), parted, strict=True)
                ]
                largest = np.maximum(largest, silhouettes)
        rows.append(row)
    for row in rows[1:]:
        row["p"] = float((1 + (largest >= row["silhouette"]).sum(axis=1)).max() / (1 + largest.shape[1]))
    best = max(rows[1:], key=lambda row: row["silhouette"], default={"p": 1.0})
    chosen = best["k"] if best["p"] < LEVEL else 1
    schema = {"k": pl.Int64, **dict.fromkeys(("inertia", "silhouette", "p", "gap", "gap_error"), pl.Float64)}
    return pl.DataFrame(rows, schema=schema).with_columns((pl.col("k") == chosen).alias("chosen"))


def _without_clusters(points: Floats, count: int, seed: int) -> tuple[Floats, Floats]:
    """Clouds of as many points without clusters: uniform in a box along the principal axes, and normal."""
    rng = np.random.default_rng(seed)
    middle = points.mean(axis=0)
    _, spread, axes = np.linalg.svd(points - middle, full_matrices=False)
    along = (points - middle) @ axes.T
    boxes = rng.uniform(along.min(axis=0), along.max(axis=0), (count, len(points), len(axes)))
    normal = rng.normal(size=boxes.shape) * spread / np.sqrt(max(len(points) - 1, 1))
    return boxes @ axes + middle, normal @ axes + middle


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


def _silhouettes(sets: Floats, labels: Ints) -> Floats:
    """The mean silhouette of several clusterings; an item alone in its cluster counts as 0 (Rousseeuw 1987).

    >>> _silhouettes(np.array([[[0.0], [1.0], [9.0], [10.0]]]), np.array([[0, 0, 1, 1]])).tolist()
    [0.88...]
    """
    distance = np.sqrt(_squares(sets, sets))
    member = np.eye(int(labels.max()) + 1)[labels]
    sizes = member.sum(axis=1)
    sums = distance @ member
    own = np.take_along_axis(sizes, labels, axis=1)
    inside = np.take_along_axis(sums, labels[:, :, None], axis=2)[:, :, 0] / np.maximum(own - 1, 1)
    elsewhere = (member == 0) & (sizes[:, None] > 0)
    outside = np.where(elsewhere, sums / np.maximum(sizes, 1)[:, None], np.inf).min(axis=2)
    widest = np.maximum(inside, outside)
    known = (own > 1) & (widest > 0)
    return np.asarray(np.where(known, (outside - inside) / np.where(known, widest, 1), 0.0).mean(axis=1))


def lloyd(sets: Floats, k: int, *, n_init: int = N_INIT, seed: int = 0) -> tuple[Ints, Floats, Floats]:
    """The best k-means clustering of each of several sets of points, all starts and all sets at once.

    Args:
        sets: Sets × points × scores.
        k: How many clusters.
        n_init: How many k-means++ starts each set gets.
        seed: Of the starts.

    Returns:
        The cluster of every point, the centroids, and the sums of squared distances, set by set.

    >>> labels, centroids, inertia = lloyd(np.array([[[0.0], [1.0], [9.0], [10.0]]]), 2)
    >>> sorted(centroids.ravel().tolist()), inertia.tolist()
    ([0.5, 9.5], [1.0])
    """
    rng = np.random.default_rng(seed)
    size, width = sets.shape[1:]
    at_once = max(1, BLOCK_BYTES // (8 * n_init * size * k))
    labels = np.empty(sets.shape[:2], dtype=np.int64)
    centroids = np.empty((len(sets), k, width))
    inertia = np.empty(len(sets))
    for start in range(0, len(sets), at_once):
        block = slice(start, start + at_once)
        # Centred, the squares that are subtracted stay small and exact.
        middle = sets[block].mean(axis=1, keepdims=True)
        starts = np.repeat(sets[block] - middle, n_init, axis=0)
        nearest, centres, spread = _moved(starts, _plus_plus(starts, k, rng))
        best = spread.reshape(-1, n_init).argmin(axis=1) + np.arange(0, len(starts), n_init)
        labels[block], centroids[block], inertia[block] = nearest[best], centres[best] + middle, spread[best]
    return labels, centroids, inertia


def _plus_plus(points: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Centroids to start from: each is drawn with the square of the distance to those before, the best of a few draws.

    Keeping the draw that lowers the sum of squares most is their greedy variant (Arthur and Vassilvitskii 2007).
    """
    rows, size = np.arange(len(points)), points.shape[1]
    chosen = [points[rows, rng.integers(0, size, len(points))]]
    nearest = np.square(points - chosen[0][:, None]).sum(axis=2)
    for _ in range(1, k):
        chances = np.cumsum(nearest, axis=1)
        closer, centre = np.full_like(nearest, np.inf), chosen[0]
        for _ in range(2 + int(np.log(k))):
            drawn = (chances < (rng.random(len(points)) * chances[:, -1])[:, None]).sum(axis=1)
            offered = points[rows, np.minimum(drawn, size - 1)]
            reached = np.minimum(nearest, np.square(points - offered[:, None]).sum(axis=2))
            better = (reached.sum(axis=1) < closer.sum(axis=1))[:, None]
            closer, centre = np.where(better, reached, closer), np.where(better, offered, centre)
        chosen.append(centre)
        nearest = closer
    return np.stack(chosen, axis=1)


def _moved(points: Floats, centroids: Floats) -> tuple[Ints, Floats, Floats]:
    """Centroids moved to the means of their points until nothing changes; one without points stays where it is.

    >>> _moved(np.array([[[0.0], [1.0]]]), np.array([[[0.5], [9.0]]]))[1].tolist()
    [[[0.5], [9.0]]]
    """
    labels = np.full(points.shape[:2], -1)
    active = np.arange(len(points))
    for _ in range(ROUNDS):
        moved = _squares(points[active], centroids[active]).argmin(axis=2)
        changed = (moved != labels[active]).any(axis=1)
        labels[active] = moved
        if not changed.any():
            break
        active = active[changed]
        member = (moved[changed][:, :, None] == np.arange(centroids.shape[1])).astype(np.float64)
        sizes = member.sum(axis=1)[:, :, None]
        means = np.swapaxes(member, 1, 2) @ points[active] / np.maximum(sizes, 1)
        centroids[active] = np.where(sizes > 0, means, centroids[active])
    nearest = np.take_along_axis(centroids, labels[:, :, None], axis=1)
    return labels, centroids, np.square(points - nearest).sum(axis=(1, 2))


def _squares(points: Floats, centroids: Floats) -> Floats:
    # Score by score: a sum over a last axis of two or three takes many times longer.
    each = zip(np.moveaxis(points, 2, 0), np.moveaxis(centroids, 2, 0), strict=True)
    return np.asarray(sum(np.square(one[:, :, None] - other[:, None]) for one, other in each))
