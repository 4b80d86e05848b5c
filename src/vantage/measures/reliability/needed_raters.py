"""How reliable the mean of k raters is, and how many raters a target needs."""

from __future__ import annotations

from math import ceil
from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.counts import Counts
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions, doubted
from vantage.measures.kernel import Statistic
from vantage.measures.presentation import Column, Fact, View
from vantage.measures.rater_variance import several_items
from vantage.measures.ratings import ALONE, By, Floats, Group, Judgments, canonical, groups, paired
from vantage.measures.reliability.variance_draws import OneRater, one_way_reliability, stepped_up
from vantage.measures.sources import CountedGroup, counted_groups

NEEDED: Final = ("needed", "needed_low", "needed_high", "needed_consistent")

VIEW: Final = View(
    "Reliability of the mean of k raters",
    columns={
        "estimate": Column("reliability", digits=2),
        "needed": Column("raters needed", interval=("needed_low", "needed_high")),
    },
    chart="curve",
    chart_options={"x": "k", "x_label": "raters", "label": "reliability"},
    says=(
        Fact(
            "For a reliability of {target}, each item needs about {rows}.",
            row="{needed} raters[ on {group}] (95 % CI {needed_low} to {needed_high})",
        ),
    ),
    method="How many raters an item needs follows from the reliability of one rater (Spearman, 1910; Brown, 1910).",
    sources=("spearman1910", "brown1910"),
)


@measure("needed-raters", "reliability", view=VIEW, interval=("raters", "weights"))
def needed_raters(
    data: Judgments,
    *,
    by: By = (),
    target: float = 0.8,
    up_to: int = 10,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """The reliability of the mean of k = 1, 2 … `up_to` raters, and the smallest k that reaches `target`.

    ρ, the reliability of one rater, comes from a one-way analysis of variance, ICC(1) of Shrout and Fleiss
    (1979) with Donner's (1986) mean group size for unequal numbers of answers, and is stepped up to
    kρ / (1 + (k − 1)ρ) (Spearman 1910; Brown 1910). A negative ρ counts as zero. `needed_low` and `needed_high`
    follow from the interval `low`…`high`: over items a bootstrap; over raters or both from the variance components
    of items, raters and error (see `components`), the default where at least ten raters judged several items each.

    ρ charges the raters with all they differ by. `rater_share` is the part of the variance that is their bias: some
    are always stricter. Bias does not matter where the same raters judge every item: `consistent` is the reliability
    then, σ²ᵢ / (σ²ᵢ + σ²ₑ/k), and `needed_consistent` the number of raters for it. With `weights` ρ is that of a person
    drawn by them, from effective numbers of answers, and bias is not told apart.

    >>> ratings = [[1, 2, 3, 4, 5], [1, 3, 3, 4, 4], [2, 2, 3, 5, 5], [3, 2, 4, 1, 5]]
    >>> needed_raters(ratings, up_to=2, target=0.9).select("k", "estimate", "needed").rows()
    [(1, 0.54..., 8), (2, 0.70..., 8)]
    """
    if not 0 < target < 1:
        raise InputError(f"the target {target} is not between 0 and 1", remedy="use for example 0.8")
    if up_to < 1:
        raise InputError("up_to must be at least 1", remedy="use for example 10")
    how = Bootstrap(**resampling, over=OVER)
    if how.weights is not None:
        counted = counted_groups(data, by, how, paired=True)
        weighted = [row for group, own in counted for row in _weighted(group, own, target, up_to)]
        return table(weighted, by).with_columns(pl.col(NEEDED).cast(pl.Int64))
    rows: list[dict[str, Any]] = []
    for whole in groups(data, by):
        group, chosen = paired(whole), how.chosen(several_items(whole.frame))
        group.level("interval")
        about: dict[str, Any] = {**group.key, "k": None, "target": target, **dict.fromkeys(NEEDED)}
        ratings = canonical(group.frame).ratings
        about |= {"units": ratings.units, "note": group.note, **group.counts}
        if ratings.units < 3:
            reason = "fewer than three items have two answers"
            steps: list[dict[str, Any]] = [{"k": k, "reason": reason} for k in range(1, up_to + 1)]
        else:
            steps = _prophecy(group, target=target, up_to=up_to, how=chosen)
        rows += [{**about, **doubted(row, ratings.unit, ratings.value)} for row in steps]
    return table(rows, by).with_columns(pl.col(NEEDED).cast(pl.Int64))


def raters_for(target: float, reliability: float | None) -> int | None:
    """The smallest number of raters whose mean reaches the target; null where no number does.

    >>> raters_for(0.75, 0.5)
    3
    """
    if reliability is None or reliability <= 0:
        return None
    # A target that is met exactly must not need one more rater because of rounding.
    return max(1, ceil(target * (1 - reliability) / (reliability * (1 - target)) - 1e-9))


def _prophecy(group: Group, *, target: float, up_to: int, how: Bootstrap) -> list[dict[str, Any]]:
    single = OneRater.of(group, how)
    one, alone, low, high = single.reliability, single.consistent, single.low, single.high
    if not np.isfinite(one):
        return [{"k": k, "reason": "the answers do not vary"} for k in range(1, up_to + 1)]
    # The more reliable one rater is, the fewer are needed: the bounds change places.
    needed = dict(zip(NEEDED, (raters_for(target, r) for r in (one, high, low, alone)), strict=True))
    return [
        {
            "k": k,
            **needed,
            "rater_share": single.rater_share,
            "consistent": None if alone is None else stepped_up(alone, k),
            "estimate": stepped_up(one, k),
            **single.how.stated((_stepped(low, k), _stepped(high, k))),
        }
        for k in range(1, up_to + 1)
    ]


def _weighted(group: CountedGroup[Counts], how: Bootstrap, target: float, up_to: int) -> list[dict[str, Any]]:
    """The same for a rater who is drawn by weights."""
    steps = range(1, up_to + 1)
    about: dict[str, Any] = {**group.row, "k": None, "target": target, **dict.fromkeys(NEEDED)}
    if group.counts.units < 3:
        return [{**about, "k": k, "reason": ALONE} for k in steps]
    group.level("interval")
    made = group.estimated(ONE_OF_MANY, how, "the answers do not vary")
    one, low, high = (made.get(name) for name in ("estimate", "low", "high"))
    needed = dict(zip(NEEDED[:3], (raters_for(target, rho) for rho in (one, high, low)), strict=True))
    ends = [{"low": _stepped(low, k), "high": _stepped(high, k)} for k in steps]
    stepped = [None if one is None else stepped_up(max(one, 0.0), k) for k in steps]
    rows = zip(steps, stepped, ends, strict=True)
    return [{**about, **made, **needed, "k": k, "estimate": rho, **end} for k, rho, end in rows]


def _columns(table: Counts) -> Floats:
    moments = table.moments()
    n = moments.size
    return np.column_stack([np.ones(len(n)), n, n**2, moments.first, moments.squared / n, moments.second])


ONE_OF_MANY: Final = Statistic(_columns, one_way_reliability, (-1.0, 1.0), 2)
"""The reliability of one rater, of effective numbers of answers."""


def _stepped(reliability: float | None, k: int) -> float | None:
    # Below zero the formula has a pole, behind which it gives reliabilities above 1.
    return None if reliability is None else stepped_up(max(reliability, 0.0), k)
