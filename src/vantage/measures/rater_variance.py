"""What other raters add to the variance of an estimate, beyond the noise of single answers.

Where raters and items are crossed, an estimate varies by V_items + V_raters − V_answers, since each of the first two
holds the noise of single answers (Owen 2007; Cameron, Gelbach and Miller 2011). Drawing raters and items at once, the
pigeonhole bootstrap, counts that noise three times. Here both are those of the jackknife (Efron and Stein 1981): items
and raters are left out in turn, so that nobody has copies. `kernel` knows the noise of measures that it makes from
sums; here is what serves any other statistic. Leaving out rater *j*
changes the estimate by Σᵢ ψᵢⱼ over items; with random weights u of mean and variance 1 on the items it changes by
Σᵢ uᵢ ψᵢⱼ, and the mean square of the difference is Σᵢ ψᵢⱼ², the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from vantage.measures.intervals import LIMITS, Bootstrap, Limits, Spread, on_scale
from vantage.measures.ratings import Floats, Ints, RaterGroups, drawn_raters

LEFT_OUT: Final = 30
"""Up to this many raters are left out one by one, more in this many random groups."""
FEW_RATERS: Final = "no interval: with fewer than three raters nothing is known about other raters"
LEFT_OUT_OF_PAIRS: Final = 100
"""The same for pairs of raters, which takes little time."""
REPEATS: Final = 100
"""In how many tables with random weights on the items, at least, noise is looked for."""


def over_raters(
    statistics: Sequence[Callable[[Floats], Floats]], items: int, seed: int, limits: Sequence[Limits] | None = None
) -> list[Spread | None]:
    """How far estimates vary over raters, from statistics of item weights, one without each group of raters.

    Each takes rows of weights and gives one column per estimate; there is one spread for each of these.

    >>> means = [lambda weight, x=x: (weight @ x / weight.sum(axis=1))[:, None] for x in np.eye(4) + 1]
    >>> [round(spread.variance, 6) for spread in over_raters(means, 4, seed=0)]
    [0.0]
    """
    weights = item_weights(items, len(statistics), seed)
    without = np.stack([statistic(weights) for statistic in statistics], axis=1)
    within = limits or [LIMITS] * without.shape[2]
    return [spread_and_noise(without[:, :, column], limit) for column, limit in enumerate(within)]


def spread_and_noise(without: Floats, limits: Limits = LIMITS) -> Spread | None:
    """From the estimates without each group of raters: with the items as they are, then with random weights."""
    spread = Spread.without_raters(without[0], limits)
    if spread is None:
        return None
    known = np.isfinite(without[0])
    drawn = np.isfinite(without[:, known]).all(axis=1)  # draws in which something is undefined say nothing
    scaled = on_scale(without[drawn][:, known], limits)
    effect = scaled - scaled.mean(axis=1, keepdims=True)
    shrinkage = (spread.units - 1) / spread.units
    noise = shrinkage * float(np.square(effect[1:] - effect[0]).sum(axis=1).mean()) if len(effect) > 1 else 0.0
    return replace(spread, noise=noise)


def item_weights(items: int, groups: int, seed: int) -> Floats:
    """Weights on items for as many tables as groups are left out: the items as they are, then random weights."""
    drawn = np.random.default_rng(seed).multinomial(items, np.full(items, 1 / items), max(2, -(-REPEATS // groups)))
    return np.vstack([np.ones(items), drawn])


def left_out_together(raters: int, rng: np.random.Generator, groups: int = LEFT_OUT) -> Ints:
    """For each rater the number of the group that is left out at once: single raters where they are few enough.

    >>> left_out_together(3, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    return np.arange(raters) if raters <= groups else rng.permutation(raters) % groups


def raters_together(names: pl.Series, how: Bootstrap, most: int = LEFT_OUT) -> Ints:
    """For each rater the number of the group that is left out at once; raters drawn together stay together."""
    drawn = np.arange(len(names)) if how.groups is None else how.groups.codes(names)
    return left_out_together(int(drawn.max(initial=-1)) + 1, np.random.default_rng(how.seed), most)[drawn]


def without_raters(frame: pl.DataFrame, how: Bootstrap) -> Iterator[pl.DataFrame]:
    """The table without each rater, or group of raters, in turn; of more than thirty, without random groups of them.

    >>> table = pl.DataFrame({"rater": ["a", "b", "b"], "value": [1, 2, 3]})
    >>> [part["value"].to_list() for part in without_raters(table, Bootstrap())]
    [[2, 3], [1]]
    """
    names = frame["rater"].drop_nulls().unique().sort()
    group = raters_together(names, how)
    groups = pl.DataFrame({"rater": names, "__group": group})
    marked = frame.join(groups, on="rater", how="left")
    for number in range(int(group.max(initial=-1)) + 1):
        yield marked.filter(pl.col("__group").ne_missing(number)).drop("__group")


def several_items(answered: pl.DataFrame, groups: RaterGroups | None) -> int:
    """How many raters, or groups of raters where these were drawn, judged several items."""
    drawn = answered.select("item", drawn=pl.Series(drawn_raters(answered["rater"], groups), dtype=pl.Int64))
    return int((drawn.group_by("drawn").agg(pl.col("item").n_unique())["item"] > 1).sum())
