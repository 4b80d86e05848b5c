"""Distances between the answer distributions of two groups of raters, item by item.

The two groups are the two values of any column: a trait, people against models, two conditions, two
rater sets. Everything is computed on the answers that occur, so a slider costs no more than a yes/no.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure
from vantage.measures.codes import dense, encode
from vantage.measures.intervals import OVER, Method, Over
from vantage.measures.parts import (
    Part,
    check_level,
    constant_within,
    counts,
    names,
    parts,
    scales_of,
    stacked,
    two_values,
    unit_table,
)
from vantage.measures.presentation import Column, View
from vantage.measures.rater_variance import several_items, without_raters
from vantage.measures.ratings import By, Judgments, judgments_frame
from vantage.measures.resampling import Resampling, mean_with_interval
from vantage.measures.variation.spread import Per
from vantage.scales import OPT_OUTS

Distance: TypeAlias = Literal["jsd", "js_distance", "kl", "cross_entropy", "manhattan", "euclidean", "wasserstein"]
DISTANCES: Final[tuple[Distance, ...]] = get_args(Distance)

_UNBOUNDED: Final = {"kl", "cross_entropy"}


VIEW: Final = View(
    "Distance between the answers of two groups to the same item",
    columns={"estimate": Column("distance", digits=3), "floor": Column("noise floor", digits=3)},
    show=("first", "second", "metric", "estimate", "floor", "items", "reason"),
    method="The distance between two groups' answers to an item is the {metric}.",
)


@measure("distance", "variation", view=VIEW)
def distance(
    data: Judgments,
    *,
    between: str,
    by: By = (),
    values: Sequence[object] | None = None,
    metric: Distance | Sequence[Distance] = "jsd",
    base: Literal["nats", "bits"] = "nats",
    smoothing: float = 0.0,
    normalise: bool = False,
    opt_outs: bool = False,
    match: By = ("item", "question"),
    per: Per = "mean",
    relabellings: int = 100,
    ci: Over = "auto",
    interval: Method = "percentile",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """How far apart two groups' answers to the same item are, on average over items.

    With the shares p (first group in sorted order, unless `values` orders them) and q (second), and
    m = (p + q) / 2:

    * `jsd`: ½ KL(p‖m) + ½ KL(q‖m), the divergence (Lin 1991); at most log 2;
    * `js_distance`: its square root, a metric (Endres and Schindelin 2003);
    * `kl`: Σ p log(p / q), and `cross_entropy`: −Σ p log q. Both need q > 0 wherever p > 0; `smoothing`
      adds that many pseudo-answers to each of the k categories of the second group. Without it a group
      with such an item has no estimate. k counts the options of the scale (and its opt-outs, when they are
      in), or the distinct answers of the whole table;
    * `manhattan`: Σ |p − q|; `euclidean`: √Σ (p − q)²;
    * `wasserstein`: the area between the cumulative shares, in steps of the codes; ordered scales only.

    `normalise` divides by the largest possible value: log 2, its root, 2, √2, or the length of the scale.
    Opt-outs are left out, or categories of their own with `opt_outs`. The answers of a group to an item are
    pooled over everything that `match` does not name. Items that only one group answered are left out;
    their judgments are counted as `one_sided`.

    `ci` resamples items, leaves out raters of either group, or both.

    Few answers make any two groups differ. Where raters belong to one group each, `floor` is what the same people
    give when they are dealt at random into groups of these sizes, on average over `relabellings`; `excess` is the
    distance beyond it, with its interval over items, and `p` the share of the dealings (these groups among them) that
    are as far apart: a permutation test over raters. Left out with `ci="none"`.

    >>> votes = {"item": ["a"] * 4, "rater": [1, 2, 3, 4], "value": [0, 0, 0, 1],
    ...          "age": ["old", "old", "young", "young"]}
    >>> distance(votes, between="age", metric=["manhattan", "wasserstein"])["estimate"].to_list()
    [1.0, 0.5]
    """
    metrics = [metric] if isinstance(metric, str) else list(metric)
    _check(metrics, base, smoothing, normalise, opt_outs)
    bootstrap = Resampling(ci, interval, resamples, confidence, seed, OVER)
    keys = [column for column in names(match) if column != between]
    ends = _ends(data)
    first, second = two_values(judgments_frame(data, [between]), between, values)
    rows, frames = [], []
    for part in parts(data, by, extra=[between, *keys]):
        if "wasserstein" in metrics:
            check_level(part.scale(), part.frame, "a Wasserstein distance")
        used = pl.col("value").is_not_null()
        if opt_outs:
            used |= pl.col("status").cast(pl.String).is_in(list(OPT_OUTS))
        used &= pl.col(between).is_in([first, second])
        mine = part.frame.filter(used)
        shares = _shares(mine, keys, between, first)
        how = bootstrap.chosen(several_items(mine))
        rest = []
        if per == "mean" and how.ci in ("raters", "both"):
            rest = [_shares(frame, keys, between, first) for frame in without_raters(mine, seed)]
        scale = part.scale()
        low, high = scale.ends if scale is not None else ends
        categories = _categories(data, part, opt_outs)
        floors = None
        if per == "mean" and how.ci != "none" and relabellings > 0:
            floors = _floors(mine, keys, between, first, metrics, smoothing, categories, relabellings, seed)
        for name in metrics:
            named = {"first": str(first), "second": str(second), "metric": name}
            if scale is not None and scale.range is not None and name != "wasserstein":
                reason = "the scale is continuous, so answers do not fall into categories; use wasserstein"
                rows.append({**part.key, **named, **counts(mine, part.frame), "reason": reason})
                continue
            unit = _scale(name, base, normalise, high - low)

            def distances(
                shares: pl.DataFrame, name: str = name, unit: float = unit, categories: int = categories
            ) -> pl.DataFrame:
                found = _unit_distances(shares, keys, name, smoothing, categories).sort(keys)
                return found.with_columns(pl.col("estimate") / unit)

            units = distances(shares)
            if per == "item":
                infinite = "an answer of the first group never occurs in the second; pass smoothing"
                undefined = pl.when(pl.col("estimate").is_null()).then(pl.lit(infinite))
                units = units.with_columns(
                    undefined.alias("reason"), *(pl.lit(value).alias(key) for key, value in named.items())
                )
                frames.append(unit_table(units, part, by, keys, list(named), used))
            else:
                row = _average(units, part, used, keys, how, [distances(shares) for shares in rest])
                if floors is not None and row.get("estimate") is not None:
                    floor = floors[name].with_columns(pl.col("floor") / unit)
                    row |= _beyond(units, floor, keys, replace(how, ci="items"))
                rows.append({**part.key, **named, **row})
    return stacked(rows, frames, by)


def _floors(
    used: pl.DataFrame,
    keys: Sequence[str],
    between: str,
    first: Any,
    metrics: Sequence[str],
    smoothing: float,
    categories: int,
    relabellings: int,
    seed: int,
) -> dict[str, pl.DataFrame] | None:
    """For each metric the distances of all units, in nats or codes, when the raters are dealt anew into the two groups.

    Null where raters are in both groups, or are too few to be dealt in another way.
    """
    if between == "rater" or not constant_within(used, between, ["rater"]):
        return None
    rater, raters = dense(encode(used, ["rater"]))
    if raters < 3:
        return None
    in_first = np.zeros(raters, dtype=bool)
    in_first[rater] = (used[between] == first).to_numpy()
    unit = used.select(pl.struct(keys).rank("dense").alias("__unit"))["__unit"]
    rows = used.select("value", "status", unit)
    named = used.select(keys).with_columns(unit).unique()
    rng = np.random.default_rng(seed)
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in metrics}
    for number in range(relabellings):
        dealt = rows.with_columns(pl.Series("__side", rng.permutation(in_first)[rater]))
        shares = _shares(dealt, ["__unit"], "__side", True)
        for name in metrics:
            distances = _unit_distances(shares, ["__unit"], name, smoothing, categories)
            found[name].append(distances.with_columns(pl.lit(number).alias("number")))
    return {
        name: pl.concat(frames).rename({"estimate": "floor"}).join(named, on="__unit") for name, frames in found.items()
    }


def _beyond(units: pl.DataFrame, floor: pl.DataFrame, keys: Sequence[str], how: Resampling) -> dict[str, Any]:
    """How far a distance lies beyond what chance gives: the floor, the excess over it, and a permutation test."""
    dealt = floor.group_by("number").agg(pl.col("floor").mean())["floor"].drop_nulls().to_numpy()
    both = units.join(floor.group_by(list(keys)).agg(pl.col("floor").mean()), on=list(keys), nulls_equal=True)
    both = both.drop_nulls(["estimate", "floor"]).sort(list(keys))
    if not len(dealt) or both.is_empty():
        return {}
    excess = mean_with_interval(_item(both, keys), (both["estimate"] - both["floor"]).to_numpy(), how)
    observed = float(units["estimate"].to_numpy().mean())
    return {
        "floor": float(dealt.mean()),
        "excess": excess["estimate"],
        "excess_low": excess["low"],
        "excess_high": excess["high"],
        "p": float((1 + np.sum(dealt >= observed - 1e-12)) / (1 + len(dealt))),
    }


def _check(metrics: Sequence[str], base: str, smoothing: float, normalise: bool, opt_outs: bool) -> None:
    for name in metrics:
        if name not in DISTANCES:
            raise InputError(f"metric '{name}' is not known", remedy=nearest(name, DISTANCES))
        if normalise and name in _UNBOUNDED:
            raise InputError(f"{name} has no largest value to divide by", remedy="leave normalise out")
        if opt_outs and name == "wasserstein":
            raise InputError(
                "an opt-out has no place on the scale, so wasserstein cannot count it",
                remedy="leave opt_outs out",
            )
    if base not in {"nats", "bits"}:
        raise InputError(f"base '{base}' is not known", remedy="use nats or bits")
    if smoothing < 0:
        raise InputError(f"smoothing {smoothing} is negative", remedy="use for example 0.5")


def _shares(used: pl.DataFrame, keys: Sequence[str], between: str, first: Any) -> pl.DataFrame:
    """One row per unit and answer that occurs in it: the two groups' counts and totals."""
    kind = pl.when(pl.col("value").is_null()).then(pl.col("status").cast(pl.String)).otherwise(pl.lit(""))
    in_first = (pl.col(between) == first).cast(pl.Int64)
    return (
        used.with_columns(kind.alias("kind"), in_first.alias("in_first"))
        .group_by([*keys, "kind", "value"])
        .agg(pl.col("in_first").sum().alias("a"), (1 - pl.col("in_first")).sum().alias("b"))
        .sort([*keys, "kind", "value"])
        .with_columns(pl.col("a").sum().over(keys).alias("n_a"), pl.col("b").sum().over(keys).alias("n_b"))
        .filter((pl.col("n_a") > 0) & (pl.col("n_b") > 0))
        .with_columns((pl.col("a") / pl.col("n_a")).alias("p"), (pl.col("b") / pl.col("n_b")).alias("q"))
    )


def _unit_distances(
    shares: pl.DataFrame, keys: Sequence[str], metric: str, smoothing: float, categories: int
) -> pl.DataFrame:
    p, q = pl.col("p"), pl.col("q")
    if metric == "wasserstein":
        gap = pl.col("value").shift(-1) - pl.col("value")
        total = ((p - q).cum_sum().abs() * gap).sum()
    elif metric == "manhattan":
        total = (p - q).abs().sum()
    elif metric == "euclidean":
        total = ((p - q) ** 2).sum().sqrt()
    elif metric in _UNBOUNDED:
        smoothed = (pl.col("b") + smoothing) / (pl.col("n_b") + smoothing * categories)
        # Nothing to encode costs nothing, whatever the second group's share is (0 log q = 0).
        term = -p * smoothed.log() if metric == "cross_entropy" else p * (p / smoothed).log()
        cost = pl.when(p > 0).then(term).otherwise(0.0).sum()
        total = pl.when(cost.is_finite()).then(cost)
    else:
        m = (p + q) / 2
        divergence = (_xlogy(p, p / m) + _xlogy(q, q / m)).sum() / 2
        # Rounding may leave a negative zero for equal distributions.
        total = divergence.clip(lower_bound=0.0)
        if metric == "js_distance":
            total = total.sqrt()
    return shares.group_by(keys, maintain_order=True).agg(total.alias("estimate"))


def _xlogy(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    return pl.when(x > 0).then(x * y.log()).otherwise(0.0)


def _scale(metric: str, base: str, normalise: bool, length: float) -> float:
    """What a distance in nats, or in codes, is divided by."""
    if normalise:
        largest = {
            "jsd": np.log(2),
            "js_distance": np.sqrt(np.log(2)),
            "manhattan": 2.0,
            "euclidean": np.sqrt(2),
        }
        return float(largest.get(metric, length))
    if base == "bits" and metric in {"jsd", "kl", "cross_entropy", "js_distance"}:
        return float(np.sqrt(np.log(2)) if metric == "js_distance" else np.log(2))
    return 1.0


def _average(
    units: pl.DataFrame,
    part: Part,
    used: pl.Expr,
    keys: Sequence[str],
    how: Resampling,
    without: Sequence[pl.DataFrame],
) -> dict[str, Any]:
    within = part.frame.filter(used)
    both = within.join(units, on=list(keys), how="semi", nulls_equal=True)
    unused = part.frame.filter(~used & pl.col("value").is_null())
    row = counts(both, unused, one_sided=len(within) - len(both))
    if len(units) == 0:
        return {**row, "reason": "no item was answered by both groups"}
    if infinite := units["estimate"].null_count():
        return {
            **row,
            "reason": f"{infinite} items have an answer that the second group never gave; pass smoothing",
        }
    if not np.isfinite(units["estimate"].to_numpy()).all():
        return {**row, "reason": "the scale has no length"}
    known = [each.drop_nulls("estimate") for each in (units, *without)]
    whole, *rest = [(_item(each, keys), each["estimate"].to_numpy()) for each in known]
    return {**row, **mean_with_interval(*whole, how, without=lambda: rest)}


def _item(units: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """What is drawn with each unit: its item, or itself where `match` does not name items."""
    if "item" in units.columns:
        return units["item"]
    return units.select(pl.concat_str(pl.col(keys).cast(pl.String).fill_null(""), separator="\x1f")).to_series()


def _categories(data: Judgments, part: Part, opt_outs: bool) -> int:
    scale = part.scale()
    if scale is not None and scale.options:
        return len(scale.options) + (len(scale.opt_outs) if opt_outs else 0)
    frame = judgments_frame(data)
    declined = frame.filter(pl.col("status").cast(pl.String).is_in(list(OPT_OUTS)))["status"].n_unique()
    return frame["value"].drop_nulls().n_unique() + (declined if opt_outs else 0)


def _ends(data: Judgments) -> tuple[float, float]:
    """The lowest and the highest answer of the whole table, for tables without a scale."""
    if scales_of(data):
        return 0.0, 0.0
    value = judgments_frame(data)["value"].drop_nulls().to_numpy()
    return (float(value.min()), float(value.max())) if len(value) else (0.0, 0.0)
