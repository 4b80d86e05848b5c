"""Variation: how much the answers to one item differ, and in which direction.

Nothing here calls disagreement noise. A unit is an item under one question and one condition, as in
`ratings`; the average over units has the interval of the kernel. Only items that are split between questions need more
than the counts of a unit: there the table is made again without each rater.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.counts import Counts
from vantage.measures.intervals import (
    OVER,
    SHARES,
    Bootstrap,
    IntervalOptions,
    WeightedIntervalOptions,
    speaks_of_raters,
)
from vantage.measures.kernel import Statistic
from vantage.measures.parts import (
    Part,
    Rounding,
    counts,
    neutral_point,
    parts,
    rising_bands,
    rounded,
    scales_of,
    stacked,
    unit_table,
)
from vantage.measures.powered.contributions import Contribution
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import several_items, without_raters
from vantage.measures.ratings import OPTED_OUT, UNIT, By, Floats, Judgments, judgments_frame, recoded
from vantage.measures.resampling import Resampling, UnitValues, mean_with_interval
from vantage.measures.statistic import contribution
from vantage.measures.tables import CountedGroup, counted_groups, source_for
from vantage.scales import Scale

Per: TypeAlias = Literal["mean", "item"]
"""One row per group (the average, with an interval), or one row per unit."""
Base: TypeAlias = Literal["nats", "bits", "k"]

GIVEN: Final = pl.col("value").is_not_null()
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
    scale, opt_outs = part.scale(), options["opt_outs"]
    if scale is not None and scale.range is not None:
        return
    known: dict[str, int] = {}
    if options["normalise"] or options["base"] == "k":
        if not part.scales:
            raise InputError(
                "a plain table does not say how many answers are possible",
                remedy="make a corpus of it with vantage.read, or use base nats or bits",
            )
        known = _options(part.scales, opt_outs)
    asked = part.frame["question"].unique().to_list()
    used = replace(part, frame=part.frame.with_columns(value=_category(opt_outs)))
    yield from contribution(used, lambda _: _entropy_of(options["base"], known, asked))


@measure(
    "entropy",
    "variation",
    view=ENTROPY_VIEW,
    powered=Powered(_entropy_contributions),
    interval=("raters", "sources", "weights"),
)
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

    `ci` leaves out items, raters, or both. `powered_by` names a rater that judged these and further items,
    such as a model: see docs/powered.md. With `weights` raters count by them: see docs/population.md.

    >>> votes = {"item": ["a"] * 4, "rater": [1, 2, 3, 4], "value": [0, 0, 1, 1]}
    >>> entropy(votes, base="bits")["estimate"].to_list()
    [1.0]
    """
    how = Bootstrap(**resampling, over=OVER)
    known = categories(data, opt_outs) if normalise or base == "k" else {}
    if how.weights is not None and (opt_outs or per == "item"):
        what = "opt_outs" if opt_outs else "per item"
        raise InputError(f"rater weights cannot be combined with {what}", remedy="leave it out, or use soft-labels")
    data = recoded(data, by, _category(opt_outs), scales=True) if opt_outs else data
    if per == "item":
        return _per_unit(data, by, lambda part: _unit_entropy(part, base, known))
    return table([_entropy_row(*group, base, known) for group in counted_groups(data, by, how, paired=True)], by)


def _entropy_row(group: CountedGroup[Counts], how: Bootstrap, base: Base, known: Mapping[str, int]) -> dict[str, Any]:
    """The mean entropy of the answers to an item."""
    row = {**group.row, "note": group.notes[1]}
    if group.scale is not None and group.scale.range is not None:
        return {**row, "reason": CONTINUOUS}
    row |= {"categories": len(group.scale.codes) if group.scale is not None else None, "answers": None}
    if group.counts.units:
        row["answers"] = round(group.counts.total / group.counts.units)
    return {**row, **group.estimated(_entropy_of(base, known, group.questions), how)}


def _unit_of(base: Base, known: Mapping[str, int], questions: Sequence[str]) -> float:
    """What an entropy in nats is divided by: with `known`, that of as many categories as the questions have.

    A plain table has as many for every question.
    """
    sizes = {known[question] for question in questions or known} if known else set()
    if len(sizes) > 1:
        raise InputError("the questions have different numbers of answers", remedy="group by question")
    return float(np.log(max(*sizes, 2)) if sizes else np.log(2) if base == "bits" else 1.0)


def _entropy_of(base: Base, known: Mapping[str, int], questions: Sequence[str]) -> Statistic:
    """The mean entropy of the answers to a unit."""
    unit = _unit_of(base, known, questions)

    def rows(table: Counts) -> Floats:
        shares = replace(table, table=table.scaled(1 / table.size))
        # Unanimity leaves a negative zero.
        return np.abs(shares.mapped(lambda share: share * np.log(np.where(share > 0, share, 1.0)))) / unit

    return Statistic(rows, limits=(0.0, np.inf), least=2)


def _unit_entropy(part: Part, base: Base, known: Mapping[str, int]) -> pl.DataFrame | str:
    """The entropy of every unit of a group, or why there is none."""
    scale, used = part.scale(), part.answered
    if scale is not None and scale.range is not None:
        return CONTINUOUS
    nats = pl.col("value").unique_counts().entropy(normalize=True).abs()
    unit = _unit_of(base, known, used["question"].unique().to_list())
    return used.group_by(UNIT).agg(estimate=nats / unit).sort(UNIT)


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


@measure("ambiguity", "variation", view=AMBIGUITY_VIEW, interval=("raters", "sources"))
def ambiguity(
    data: Judgments, *, by: By = (), per: Per = "mean", **resampling: Unpack[IntervalOptions]
) -> pl.DataFrame:
    """The share of raters who found the item ambiguous, among those who answered or said so.

    Refusals, unparsed replies and "not mentioned" are left out and counted. The average gives every unit
    the same weight, however many raters it had. `ci` leaves out items, raters, or both.

    >>> votes = {"item": ["a", "a"], "rater": [1, 2], "value": [0, None], "status": ["answered", "ambiguous"]}
    >>> ambiguity(votes)["estimate"].to_list()
    [0.5]
    """
    doubtful = pl.col("status").cast(pl.String) == "ambiguous"
    said = recoded(data, by, pl.when(GIVEN | doubtful).then(doubtful.cast(pl.Float64)))
    if per == "item":
        return _per_unit(said, by, lambda part: part.answered.group_by(UNIT).agg(estimate=pl.col("value").mean()))
    groups = counted_groups(said, by, Bootstrap(**resampling, over=OVER))
    return table([{**group.row, "note": None, **group.estimated(AMBIGUOUS, how)} for group, how in groups], by)


AMBIGUOUS: Final = Statistic(lambda table: table.table @ table.values / table.size, limits=SHARES)


TOO_LONG: Final = (
    "leaving raters out changes how many answers an item has, and with it what is split, so that the interval may be "
    "too long"
)
SPLIT_ITEMS_VIEW: Final = View(
    "Items whose raters are split",
    columns={"estimate": Column("split", percent=True)},
    method="An item is split when at least {share} of its answers are low and at least as many are high; between "
    "questions, when the score on one is high and that on another low.",
)


def _split_contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds to the share of split items."""
    if options["between"] == "questions":
        raise InputError("a model powers the share of items that raters are split about", remedy="leave between out")
    ends, scale = part.ends, part.scale()
    yield from contribution(
        part, lambda table: _split_of(_sides(table.values, scale, ends, options["neutral"]), options["share"])
    )


@measure(
    "split-items",
    "variation",
    view=SPLIT_ITEMS_VIEW,
    powered=Powered(_split_contributions),
    interval=("raters", "sources"),
)
def split_items(
    data: Judgments,
    *,
    by: By = (),
    between: Literal["raters", "questions"] = "raters",
    share: float = 0.25,
    aggregate: Literal["mean", "median", "votes"] = "mean",
    rounding: Rounding = "none",
    beyond: float = 0.0,
    neutral: float | None = None,
    per: Per = "mean",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Items whose raters are split: at least `share` of the answers are low and at least as many high.

    Low and high are the lowest and the highest coarse band of the scale. Without bands, or with `neutral`
    given, they are below and above the neutral point: zero where the scale has both signs, else its middle;
    a plain table whose answers all lie on one side of zero does not say it. The average is the share of split
    units among those with two answers or more; item by item, `estimate` is the smaller of the two shares and `split`
    says whether it reaches the mark. `ci` leaves out items, raters, or both.
    `powered_by` names a rater that judged these and further items, such as a model: see docs/powered.md.

    With `between="questions"` an item is split where the score on one question is high and that on another low, of
    items with answers to two questions or more; `opposed` counts them. A score is the mean or the median of the answers
    after `rounding`, or the number of high less that of low answers (`votes`), and it is high or low where it lies at
    least `beyond` away from the neutral point.

    >>> votes = {"item": ["a"] * 4 + ["b"] * 4, "rater": [1, 2, 3, 4] * 2,
    ...          "value": [-2, -1, 1, 3, 1, 1, 2, 0]}
    >>> split_items(votes, per="item").select("item", "low_share", "high_share", "split").rows()
    [('a', 0.5, 0.5, True), ('b', 0.0, 0.75, False)]
    >>> votes = {"item": ["a", "a", "b", "b"], "question": ["trust", "skill"] * 2, "rater": [1] * 4,
    ...          "value": [-2, 1, 2, 3]}
    >>> split_items(votes, between="questions", ci="none")["estimate"].to_list()
    [0.5]
    """
    if between == "questions":
        rule = aggregate, rounding, beyond, neutral
        return _opposed(data, by, rule, per, Resampling(**resampling, over=OVER))
    if not 0 < share <= 0.5:
        raise InputError(f"share {share} is not above 0 and at most 0.5", remedy="use for example 0.25")
    if per == "item":
        columns = ("low_share", "high_share", "split")
        return _per_unit(data, by, lambda part: _split(part, share, neutral), columns)
    asked = Bootstrap(**resampling, over=OVER)
    source, rows = source_for(data, by, asked), []
    ends = (float(source.values[0]), float(source.values[-1])) if len(source.values) else (0.0, 0.0)
    for group, how in counted_groups(data, by, asked, paired=True, source=source):
        sides = _sides(group.counts.values, group.scale, ends, neutral)
        row = {**group.row, "note": group.notes[1], **group.estimated(_split_of(sides, share), how)}
        rows.append(row | ({"reason": TOO_LONG} if speaks_of_raters(row.get("over")) else {}))
    return table(rows, by)


def _split_of(sides: Floats, share: float) -> Statistic:
    """Whether the raters of a unit are split, of values with these sides."""

    def rows(table: Counts) -> Floats:
        smaller = np.minimum(table.table @ (sides < 0.0), table.table @ (sides > 0.0))
        return np.asarray(smaller / table.size >= share - 1e-12, dtype=np.float64)

    return Statistic(rows, limits=SHARES, least=2)


def _opposed(
    data: Judgments,
    by: By,
    rule: tuple[str, Rounding, float, float | None],
    per: Per,
    asked: Resampling,
) -> pl.DataFrame:
    """Items of which the score on one question is high and that on another low."""
    keys = ["item", "condition"]

    def opposed(answered: pl.DataFrame, part: Part) -> pl.DataFrame:
        directions = _directions(answered, part, *rule)
        both = (pl.col("direction") > 0).any() & (pl.col("direction") < 0).any()
        counted = directions.group_by(keys).agg(questions=pl.col("question").n_unique(), estimate=both.cast(pl.Float64))
        return counted.filter(pl.col("questions") > 1).sort(keys)

    rows, frames = [], []
    for part in parts(data, by):
        units = opposed(part.answered, part)
        if per == "item":
            frames.append(unit_table(units, part, by, keys, ("questions",), GIVEN))
            continue
        used = part.answered.join(units, on=keys, how="semi", nulls_equal=True)
        row = {**part.key, "opposed": int(units["estimate"].sum())}
        row |= counts(used, part.frame, incomplete=len(part.answered) - len(used))
        if units.is_empty():
            rows.append({**row, "reason": "no item has answers to two questions"})
            continue

        def without(part: Part = part) -> Iterator[UnitValues]:
            for rest in without_raters(part.answered, asked):
                left = opposed(rest, part)
                yield left["item"], left["estimate"].to_numpy()

        values, how = units["estimate"].to_numpy(), asked.chosen(several_items(part.answered, asked.groups))
        rows.append({**row, **mean_with_interval(units["item"], values, how, SHARES, without=without)})
    return stacked(rows, frames, by)


def _per_unit(
    data: Judgments, by: By, units: Callable[[Part], pl.DataFrame | str], own: Sequence[str] = ()
) -> pl.DataFrame:
    """One row per unit; a group that has none is a row that says why."""
    rows, frames = [], []
    for part in parts(data, by):
        made = units(part)
        if isinstance(made, str):
            rows.append({**part.key, **counts(part.answered, part.frame), "reason": made})
        else:
            frames.append(unit_table(made, part, by, UNIT, own, GIVEN))
    return stacked(rows, frames, by)


def _split(part: Part, share: float, neutral: float | None) -> pl.DataFrame:
    """The share of low and of high answers to every unit of a group, and whether its raters are split."""
    side = _sides(part.answered["value"].to_numpy(), part.scale(), part.ends, neutral)
    return (
        part.answered.with_columns(side=pl.Series(side))
        .group_by(UNIT)
        .agg((pl.col("side") < 0).mean().alias("low_share"), (pl.col("side") > 0).mean().alias("high_share"))
        .with_columns(pl.min_horizontal("low_share", "high_share").alias("estimate"))
        .with_columns((pl.col("estimate") >= share - 1e-12).alias("split"))
        .sort(UNIT)
    )


def _category(opt_outs: bool) -> pl.Expr:
    """The answers as numbers of categories, of which opt-outs are some where that is asked for."""
    return pl.when(GIVEN | (OPTED_OUT & opt_outs)).then(CATEGORY)


def _options(scales: Mapping[str, Scale], opt_outs: bool) -> dict[str, int]:
    """How many categories the scale of each question has."""
    return {q: len(s.codes) + (len(s.opt_outs) if opt_outs else 0) for q, s in scales.items()}


def categories(data: Judgments, opt_outs: bool) -> dict[str, int]:
    """How many categories each question has: of its scale, or seen in the whole table, never per group."""
    scales = scales_of(data)
    frame = judgments_frame(data)
    if scales:
        return _options(scales, opt_outs)
    values = frame["value"].drop_nulls().n_unique()
    declined = frame.filter(OPTED_OUT)["status"].n_unique() if opt_outs else 0
    return dict.fromkeys(frame["question"].unique(), values + declined)


def _sides(values: Floats, scale: Scale | None, ends: tuple[float, float], neutral: float | None) -> Floats:
    """The side of each value: −1 low, 1 high, 0 neither."""
    if scale is None or not scale.bands or neutral is not None:
        return np.sign(values - (neutral_point(scale, ends) if neutral is None else neutral))
    bands = rising_bands(scale)
    codes, place = np.unique(values, return_inverse=True)
    sides = [float(bands[-1].holds(code)) - float(bands[0].holds(code)) for code in codes.tolist()]
    return np.array(sides, dtype=np.float64)[place.reshape(-1)]


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
            side = pl.Series(_sides(answers["value"].to_numpy(), scale, part.ends, neutral))
            score, middle = answers.with_columns(side=side).group_by(UNIT).agg(score=pl.col("side").sum()), 0.0
        else:
            centre = pl.col("value").mean() if aggregate == "mean" else pl.col("value").median()
            score = answers.group_by(UNIT).agg(centre.alias("score"))
        away = rounded(score["score"].to_numpy(), rounding) - middle
        direction = np.where(np.abs(away) >= max(beyond, 1e-12), np.sign(away), 0.0)
        scored.append(score.with_columns(pl.Series("direction", direction)))
    empty = answered.select(UNIT).clear().with_columns(pl.lit(0.0).alias("score"), pl.lit(0.0).alias("direction"))
    return pl.concat(scored) if scored else empty
