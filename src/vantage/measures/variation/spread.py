"""Variation: how much the answers to one item differ, and in which direction.

Nothing here calls disagreement noise. A unit is an item under one question and one condition, as in
`ratings`; the average over units has an interval over items, and over raters, who are left out in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.codes import dense, encode
from vantage.measures.counts import FEW, Counts
from vantage.measures.intervals import LIMITS, OVER, SHARES, Bootstrap, IntervalOptions, WeightedIntervalOptions
from vantage.measures.kernel import Statistic
from vantage.measures.parts import (
    Part,
    Rounding,
    counts,
    neutral_point,
    parts,
    rounded,
    scales_of,
    stacked,
    unit_table,
)
from vantage.measures.powered.contributions import Contribution
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import left_out_together, without_raters
from vantage.measures.ratings import ALONE, OPTED_OUT, UNIT, By, Floats, Judgments, canonical, judgments_frame
from vantage.measures.resampling import Choice, Resampling, UnitValues, mean_with_interval
from vantage.measures.sources import CountedGroup, counted_groups
from vantage.scales import Scale

Per: TypeAlias = Literal["mean", "item"]
"""One row per group (the average, with an interval), or one row per unit."""
Base: TypeAlias = Literal["nats", "bits", "k"]

SEVERAL: Final = pl.col("answers") > 1
"""The units whose answers can differ."""
CATEGORY: Final = pl.coalesce(
    pl.col("value").rank("dense").cast(pl.Float64),
    -pl.col("status").cast(pl.String).rank("dense").cast(pl.Float64),
)
"""A number for each answer and each kind of opt-out; a value is a category whatever its status says."""


ENTROPY_VIEW: Final = View(
    "Entropy of the answers to an item",
    columns={"estimate": Column("entropy", digits=2), "answers": Column("answers per item")},
    chart="points",
    notes=(
        "0 where all raters agree; higher values mean that answers are spread more evenly. More answers per item and "
        "more options make it larger.",
    ),
    says=(
        Extremes(
            most="With {answers} answers per item, they are spread most widely for {rows}",
            least="With {answers} answers per item, they are spread least widely for {rows}",
            among=("categories", "answers"),
        ),
    ),
    method="Variation within an item is the Shannon entropy of its answers (Shannon, 1948).",
    sources=("shannon1948",),
)


def _entropy_contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds to the mean entropy."""
    opt_outs, scale = options["opt_outs"], part.scale()
    used = part.frame.filter(pl.col("value").is_not_null() | (OPTED_OUT & opt_outs))
    if used.is_empty() or (scale is not None and scale.range is not None):
        return
    known: dict[str, int] = {}
    if options["normalise"] or options["base"] == "k":
        if not part.scales:
            raise InputError(
                "a plain table does not say how many answers are possible",
                remedy="make a corpus of it with vantage.corpus, or use base nats or bits",
            )
        known = _options(part.scales, opt_outs)
    units = _unit_entropy(used).filter(SEVERAL).with_columns(pl.col("estimate") / _divisor(options["base"], known))
    yield Contribution.of_units(units["item"], units["estimate"].to_numpy(), limits=(0.0, np.inf))


@measure("entropy", "variation", view=ENTROPY_VIEW, powered=Powered(_entropy_contributions))
def entropy(
    data: Judgments,
    *,
    by: By = (),
    base: Base = "nats",
    normalise: bool = False,
    opt_outs: bool = False,
    per: Per = "mean",
    **resampling: Unpack[WeightedIntervalOptions],
) -> pl.DataFrame:
    """Shannon entropy of the answers to each unit, on average over units (Shannon 1948).

    H = −Σ p log p over the shares p of the answers. `base` is the logarithm: natural (`nats`), 2 (`bits`),
    or the number of categories k (`k`), which `normalise` asks for as well: 0 is unanimity, 1 an even
    spread over all categories. k counts the options of the scale, or the distinct answers of the whole
    table where there is no scale, plus the opt-outs when `opt_outs` makes them categories of their own.
    Otherwise opt-outs are left out. Units with one answer, which cannot differ, are left out of the average.

    `ci` resamples items, leaves out raters, or both. `powered_by` names a rater that judged these and further items,
    such as a model: see docs/powered.md. With `weights` raters count by them: see docs/population.md.

    >>> votes = {"item": ["a"] * 4, "rater": [1, 2, 3, 4], "value": [0, 0, 1, 1]}
    >>> entropy(votes, base="bits")["estimate"].to_list()
    [1.0]
    """
    how = Resampling(**resampling, over=OVER)
    known = _categories(data, opt_outs) if normalise or base == "k" else {}
    if how.weights is not None:
        if opt_outs or per == "item":
            what = "opt_outs" if opt_outs else "per item"
            raise InputError(f"weights of raters do not go with {what}", remedy="leave it out, or use soft-labels")
        return table(
            [_weighted_entropy(*group, base, known) for group in counted_groups(data, by, how, paired=True)], by
        )
    chosen = Choice.of(data, by, how)
    used, divisor = pl.col("value").is_not_null() | (OPTED_OUT & opt_outs), _divisor(base, known)
    rows, frames = [], []
    for part in parts(data, by):
        scale = part.scale()
        given = part.frame.filter(used)
        if scale is not None and scale.range is not None:
            rows.append({**part.key, **counts(given, part.frame.filter(~used)), "reason": CONTINUOUS})
            continue
        units = _unit_entropy(given).with_columns(pl.col("estimate") / divisor)
        if per == "item":
            frames.append(unit_table(units, part, by, UNIT, (), used))
        else:
            units = units.filter(SEVERAL)
            several = _of_units(given, units)
            without = _counted_without(several, CATEGORY, _entropies, divisor, 2, how.seed)
            row = _average(
                units, part, used, chosen[part.key], ALONE, unused="unpaired", limits=(0.0, np.inf), without=without
            )
            row |= {"categories": len(scale.codes) if scale is not None else None}
            row |= {"answers": round(units["answers"].sum() / len(units)) if len(units) else None}
            rows.append(row)
    return stacked(rows, frames, by)


def _weighted_entropy(
    group: CountedGroup[Counts], how: Bootstrap, base: Base, known: Mapping[str, int]
) -> dict[str, Any]:
    """The mean entropy of the answers to an item, of raters who count by their weights."""
    if not group.counts.units or (group.scale is not None and group.scale.range is not None):
        return {**group.row, "reason": ALONE if not group.counts.units else CONTINUOUS}
    sizes = {known[question] for question in group.questions or [""]} if known else set()
    if len(sizes) > 1:
        raise InputError("the questions have different numbers of answers", remedy="group by question")
    unit = np.log(max(*sizes, 2)) if sizes else np.log(2) if base == "bits" else 1.0
    return {
        **group.row,
        "categories": len(group.scale.codes) if group.scale is not None else None,
        "answers": round(group.counts.total / group.counts.units),
        **group.estimated(Statistic(lambda table: _entropies(table) / unit, limits=(0.0, np.inf), least=2), how),
    }


CONTINUOUS: Final = "the scale is continuous, so answers do not fall into categories"
AMBIGUITY_VIEW: Final = View(
    "Share of raters who found an item ambiguous",
    columns={"estimate": Column("ambiguous", percent=True)},
    chart="points",
    says=(
        Extremes(
            most="Items were called ambiguous most often for {rows}",
            least="Items were called ambiguous least often for {rows}",
        ),
    ),
)


@measure("ambiguity", "variation", view=AMBIGUITY_VIEW)
def ambiguity(
    data: Judgments, *, by: By = (), per: Per = "mean", **resampling: Unpack[IntervalOptions]
) -> pl.DataFrame:
    """The share of raters who found the item ambiguous, among those who answered or said so.

    Refusals, unparsed replies and "not mentioned" are left out and counted. The average gives every unit
    the same weight, however many raters it had. `ci` resamples items, leaves out raters, or both.

    >>> votes = {"item": ["a", "a"], "rater": [1, 2], "value": [0, None], "status": ["answered", "ambiguous"]}
    >>> ambiguity(votes)["estimate"].to_list()
    [0.5]
    """
    how = Resampling(**resampling, over=OVER)
    chosen = Choice.of(data, by, how)
    doubtful = pl.col("status").cast(pl.String) == "ambiguous"
    used = pl.col("value").is_not_null() | doubtful
    rows, frames = [], []
    for part in parts(data, by):
        given = part.frame.filter(used)
        units = given.group_by(UNIT).agg(doubtful.mean().alias("estimate")).sort(UNIT)
        if per == "item":
            frames.append(unit_table(units, part, by, UNIT, (), used))
        else:
            without = _counted_without(given, doubtful.cast(pl.Float64), _means, pl.lit(1.0), 1, how.seed)
            rows.append(_average(units, part, used, chosen[part.key], limits=SHARES, without=without))
    return stacked(rows, frames, by)


TOO_LONG: Final = (
    "leaving raters out changes how many answers an item has, and with it what is split, so that the interval may be "
    "too long"
)
SPLIT_ITEMS_VIEW: Final = View(
    "Items whose raters are split",
    columns={"estimate": Column("split", percent=True)},
    method="An item is split when at least {share} of its answers are low and at least as many are high.",
)


def _split_contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds to the share of split items."""
    if len(part.answered):
        units = _several_split(_sides(part.answered, part, part.scale(), options["neutral"]), options["share"])
        yield Contribution.of_units(units["item"], units["estimate"].to_numpy(), limits=(0.0, 1.0))


@measure("split-items", "variation", view=SPLIT_ITEMS_VIEW, powered=Powered(_split_contributions))
def split_items(
    data: Judgments,
    *,
    by: By = (),
    share: float = 0.25,
    neutral: float | None = None,
    per: Per = "mean",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Items whose raters are split: at least `share` of the answers are low and at least as many high.

    Low and high are the lowest and the highest coarse band of the scale. Without bands, or with `neutral`
    given, they are below and above the neutral point: zero where the scale has both signs, else its middle;
    a plain table whose answers all lie on one side of zero does not say it. The average is the share of split
    units among those with two answers or more; item by item, `estimate` is the smaller of the two shares and `split`
    says whether it reaches the mark. `ci` resamples items, leaves out raters, or both.
    `powered_by` names a rater that judged these and further items, such as a model: see docs/powered.md.

    >>> votes = {"item": ["a"] * 4 + ["b"] * 4, "rater": [1, 2, 3, 4] * 2,
    ...          "value": [-2, -1, 1, 3, 1, 1, 2, 0]}
    >>> split_items(votes, per="item").select("item", "low_share", "high_share", "split").rows()
    [('a', 0.5, 0.5, True), ('b', 0.0, 0.75, False)]
    """
    if not 0 < share <= 0.5:
        raise InputError(f"share {share} is not above 0 and at most 0.5", remedy="use for example 0.25")
    chosen = Choice.of(data, by, Resampling(**resampling, over=OVER))
    rows, frames = [], []
    for part in parts(data, by):
        used = pl.col("value").is_not_null()
        sides = _sides(part.answered, part, part.scale(), neutral)
        if per == "item":
            columns = ("low_share", "high_share", "split")
            frames.append(unit_table(_split(sides, share), part, by, UNIT, columns, used))
        else:
            split = partial(_several_split, share=share)
            without, how = _without(sides, split, resampling["seed"]), chosen[part.key]
            row = _average(split(sides), part, used, how, ALONE, unused="unpaired", limits=SHARES, without=without)
            rows.append(row | ({"reason": TOO_LONG} if row.get("over") in ("raters", "both") else {}))
    return stacked(rows, frames, by)


OPPOSED_ITEMS_VIEW: Final = View(
    "Items whose questions point in opposite directions",
    columns={"estimate": Column("opposed", percent=True)},
)


@measure("opposed-items", "variation", view=OPPOSED_ITEMS_VIEW, pools_questions=True)
def opposed_items(
    data: Judgments,
    *,
    by: By = (),
    aggregate: Literal["mean", "median", "votes"] = "mean",
    rounding: Rounding = "none",
    beyond: float = 0.0,
    neutral: float | None = None,
    per: Per = "mean",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Items whose questions point in opposite directions: one aggregated score is high, another low.

    The score of an item on a question is the mean or the median of its answers, after `rounding`, or the
    number of high minus the number of low answers (`votes`, neutral ones ignored). It points somewhere
    when it is away from the neutral point (see `split_items`) by more than zero and by at least `beyond`.
    Only items with answers to two or more questions count. Item by item, `estimate` is 1 or 0. `ci` resamples items,
    leaves out raters, or both.

    >>> votes = {"item": ["a", "a", "b", "b"], "question": ["trust", "skill"] * 2, "rater": [1] * 4,
    ...          "value": [-2, 1, 2, 3]}
    >>> opposed_items(votes, ci="none")["estimate"].to_list()
    [0.5]
    """
    chosen = Choice.of(data, by, Resampling(**resampling, over=OVER))
    keys = ("item", "condition")
    rows, frames = [], []
    for part in parts(data, by):
        used = pl.col("value").is_not_null()

        def opposed(answered: pl.DataFrame, part: Part = part) -> pl.DataFrame:
            directions = _directions(answered, part, aggregate, rounding, beyond, neutral)
            both = (pl.col("direction") > 0).any() & (pl.col("direction") < 0).any()
            counted = directions.group_by(keys).agg(
                questions=pl.col("question").n_unique(), estimate=both.cast(pl.Float64)
            )
            return counted.filter(pl.col("questions") > 1).sort(keys)

        units = opposed(part.answered)
        if per == "item":
            frames.append(unit_table(units, part, by, keys, ("questions",), used))
        else:
            without, how = _without(part.answered, opposed, resampling["seed"]), chosen[part.key]
            nothing = "no item has answers to two questions"
            row = _average(units, part, used, how, nothing, unused="incomplete", limits=SHARES, without=without)
            rows.append({**part.key, "opposed": int(units["estimate"].sum()), **row})
    return stacked(rows, frames, by)


def _split(sides: pl.DataFrame, share: float) -> pl.DataFrame:
    """The share of low and of high answers to every unit, and whether its raters are split."""
    return (
        sides.group_by(UNIT)
        .agg(
            pl.len().alias("answers"),
            (pl.col("side") < 0).mean().alias("low_share"),
            (pl.col("side") > 0).mean().alias("high_share"),
        )
        .with_columns(pl.min_horizontal("low_share", "high_share").alias("estimate"))
        .with_columns((pl.col("estimate") >= share - 1e-12).alias("split"))
        .sort(UNIT)
    )


def _several_split(sides: pl.DataFrame, share: float) -> pl.DataFrame:
    """Whether the raters of every unit with several answers are split: 1 or 0."""
    return _split(sides, share).filter(SEVERAL).with_columns(pl.col("split").cast(pl.Float64).alias("estimate"))


def _without(
    answered: pl.DataFrame, units: Callable[[pl.DataFrame], pl.DataFrame], seed: int
) -> Callable[[], Iterator[UnitValues]]:
    """The units' estimates in the table without each rater in turn."""
    frames = (units(rest) for rest in without_raters(answered, seed))
    return lambda: ((each["item"], each["estimate"].to_numpy()) for each in frames)


def _counted_without(
    given: pl.DataFrame,
    category: pl.Expr,
    estimates: Callable[[Counts], Floats],
    divisor: pl.Expr,
    least: int,
    seed: int,
) -> Callable[[], Iterator[UnitValues]]:
    """The same where estimates follow from how often each category was given to a unit with `least` answers."""

    def tables() -> Iterator[UnitValues]:
        named = canonical(given.with_columns(category.alias("value")))
        units = named.units.with_columns(divisor.alias("divisor"))
        ratings, values = named.ratings, np.unique(named.ratings.value)
        column = np.searchsorted(values, ratings.value)
        group = left_out_together(ratings.coders, np.random.default_rng(seed))[ratings.coder]
        for number in range(int(group.max(initial=-1)) + 1):
            kept = group != number
            rest = Counts.of_units(ratings.unit[kept], column[kept], values, ratings.units, many=len(values) > FEW)
            enough = rest.size >= least
            left = units.filter(enough)
            yield left["item"], estimates(rest.rows(enough)) / left["divisor"].to_numpy()

    return tables


def _unit_entropy(used: pl.DataFrame) -> pl.DataFrame:
    """Entropy in nats of every unit; opt-outs among the rows are categories by their status."""
    # A value is a category whatever its status says; the status only names the kinds of opt-out.
    kind = pl.when(pl.col("value").is_null()).then(pl.col("status").cast(pl.String)).otherwise(pl.lit(""))
    unit, units = dense(encode(used, UNIT))
    category, categories = dense(encode(used.select("value", kind.alias("kind")), ["value", "kind"]))
    answered = Counts.of_units(unit, category, np.arange(categories, dtype=np.float64), units, many=categories > FEW)
    first = np.unique(unit, return_index=True)[1]
    columns = pl.Series("estimate", _entropies(answered)), pl.Series("answers", np.bincount(unit, minlength=units))
    return used[first].select(UNIT).with_columns(columns).sort(UNIT)


def _means(counts: Counts) -> Floats:
    """The mean of each unit's categories."""
    return np.asarray(counts.table @ counts.values / counts.size)


def _entropies(counts: Counts) -> Floats:
    """The entropy of the answers to each unit, in nats."""
    shares = replace(counts, table=counts.scaled(1 / counts.size))
    # Unanimity leaves a negative zero.
    return np.abs(shares.mapped(lambda share: share * np.log(np.where(share > 0, share, 1.0))))


def _divisor(base: str, known: Mapping[str, int]) -> pl.Expr:
    """What natural entropies are divided by: for each question, where the number of its categories counts."""
    if known:
        by_question = {question: np.log(max(k, 2)) for question, k in known.items()}
        return pl.col("question").replace_strict(by_question, return_dtype=pl.Float64)
    return pl.lit(np.log(2) if base == "bits" else 1.0)


def _options(scales: Mapping[str, Scale], opt_outs: bool) -> dict[str, int]:
    """How many categories the scale of each question has."""
    return {q: len(s.codes) + (len(s.opt_outs) if opt_outs else 0) for q, s in scales.items()}


def _categories(data: Judgments, opt_outs: bool) -> dict[str, int]:
    """How many categories each question has: of its scale, or seen in the whole table, never per group."""
    scales = scales_of(data)
    frame = judgments_frame(data)
    if scales:
        return _options(scales, opt_outs)
    values = frame["value"].drop_nulls().n_unique()
    declined = frame.filter(OPTED_OUT)["status"].n_unique() if opt_outs else 0
    return dict.fromkeys(frame["question"].unique(), values + declined)


def _sides(answered: pl.DataFrame, part: Part, scale: Scale | None, neutral: float | None) -> pl.DataFrame:
    """The answers with their side: −1 low, 1 high, 0 neither."""
    if scale is not None and scale.bands and neutral is None:
        bands = sorted(scale.bands, key=lambda band: next(c for c in _probes(scale) if band.holds(c)))
        codes = answered["value"].unique().to_list()
        sides = {code: int(bands[-1].holds(code)) - int(bands[0].holds(code)) for code in codes}
        side = pl.col("value").replace_strict(sides, return_dtype=pl.Int8) if sides else pl.lit(0, dtype=pl.Int8)
    else:
        middle = neutral_point(scale, part.ends) if neutral is None else neutral
        side = (pl.col("value") - middle).sign().cast(pl.Int8)
    return answered.with_columns(side.alias("side"))


def _probes(scale: Scale) -> Floats:
    """Points from the lowest to the highest end that meet every band."""
    low, high = scale.ends
    edges = [e for b in scale.bands for e in (b.at_least, b.above, b.below, b.at_most) if e is not None]
    points = np.unique([low, high, *scale.codes, *(e for e in edges if low <= e <= high)])
    return np.sort(np.concatenate([points, (points[1:] + points[:-1]) / 2]))


def _directions(
    answered: pl.DataFrame,
    part: Part,
    aggregate: str,
    rounding: Rounding,
    beyond: float,
    neutral: float | None,
) -> pl.DataFrame:
    """The direction of every item on every question: −1, 0 or 1."""
    scored = []
    for (question,), answers in answered.partition_by("question", as_dict=True).items():
        scale = part.scales.get(str(question))
        middle = neutral_point(scale, part.ends) if neutral is None else neutral
        if aggregate == "votes":
            votes = pl.col("side").cast(pl.Int64).sum().cast(pl.Float64).alias("score")
            score, middle = _sides(answers, part, scale, neutral).group_by(UNIT).agg(votes), 0.0
        else:
            centre = pl.col("value").mean() if aggregate == "mean" else pl.col("value").median()
            score = answers.group_by(UNIT).agg(centre.alias("score"))
        away = rounded(score["score"].to_numpy(), rounding) - middle
        direction = np.where(np.abs(away) >= max(beyond, 1e-12), np.sign(away), 0.0)
        scored.append(score.with_columns(pl.Series("direction", direction)))
    empty = answered.select(UNIT).clear().with_columns(pl.lit(0.0).alias("score"), pl.lit(0.0).alias("direction"))
    return pl.concat(scored) if scored else empty


def _average(
    units: pl.DataFrame,
    part: Part,
    used: pl.Expr,
    how: Resampling,
    reason: str = "no item has an answer",
    *,
    unused: str = "",
    limits: tuple[float, float] = LIMITS,
    without: Callable[[], Iterator[UnitValues]] | None = None,
) -> dict[str, object]:
    """The row of a group: the mean over its units with an interval, or why there is none.

    `unused` is what answers to other units are called in `left_out`.
    """
    given = part.frame.filter(used)
    rows = _of_units(given, units)
    based_on = {**part.key, **counts(rows, part.frame.filter(~used), **{unused: len(given) - len(rows)})}
    if len(units) == 0:
        return {**based_on, "reason": reason}
    values = units["estimate"].to_numpy()
    return {**based_on, **mean_with_interval(units["item"], values, how, limits, without=without)}


def _of_units(rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """The rows of some units."""
    return rows.join(units, on=[c for c in UNIT if c in units.columns], how="semi", nulls_equal=True)
