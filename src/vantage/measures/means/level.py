"""The mean answer and the share of one answer, or their difference between two groups of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.counts import Counts, quotient
from vantage.measures.intervals import (
    LIMITS,
    OVER,
    SHARES,
    Bootstrap,
    Limits,
    MeanWithin,
    WeightedIntervalOptions,
    speaks_of_raters,
)
from vantage.measures.kernel import Statistic
from vantage.measures.missing import thinned
from vantage.measures.parts import (
    DISJOINT,
    Part,
    check_level,
    constant_within,
    names,
    of_group,
    refuse_nominal,
    scale_of,
    scales_of,
    two_values,
)
from vantage.measures.powered.contributions import Contribution, ModelAnswers
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import FEW_RATERS
from vantage.measures.ratings import UNIT, By, Floats, Ints, Judgments, judgments_frame
from vantage.measures.resampling import ratio
from vantage.measures.statistic import contribution
from vantage.measures.tables import NOBODY, CountedGroup, counted_groups
from vantage.scales import Scale

_COLUMNS: Final = ("between", "probability")
THESE_RATERS: Final = (
    "no interval: '{}' does not vary within raters, and fewer than four raters judged several items each; an interval "
    "over items would be about these people only, and ci=items asks for it"
)


def code_of(value: float | str | None, scale: Scale | None, given: Floats) -> float:
    """The answer that is asked for, by its code or its wording; of two answers the higher one where none is.

    >>> code_of(None, None, np.array([0.0, 1.0]))
    1.0
    """
    codes = list(scale.codes) if scale is not None and scale.codes else np.unique(given).tolist()
    if value is None:
        if len(codes) > 2:
            raise InputError(f"there are {len(codes)} answers", remedy="say with value whose share is meant")
        return float(codes[-1]) if codes else 1.0
    words = {scale.label(code): code for code in scale.codes} if scale is not None else {}
    if value in words:
        return float(words[str(value)])
    try:
        code = float(value)
    except ValueError:
        raise InputError(f"there is no answer '{value}'", remedy=nearest(str(value), list(words))) from None
    if scale is not None and scale.codes and code not in scale.codes:
        raise InputError(
            f"the scale has no answer {value}", remedy=f"it has {', '.join(f'{c:g}' for c in scale.codes)}"
        )
    return code


@dataclass(frozen=True, eq=False)
class NumberedAnswers:
    """Judgments with a number for each combination of an answer, its group and the weight of its item.

    The kernel counts how often each number was given to a unit, which is all that a weighted mean or the difference of
    two means needs to know.

    >>> frame = pl.DataFrame({"item": ["a", "a", "b"], "value": [1.0, 3.0, 1.0], "era": ["new", "old", "new"]})
    >>> coded = NumberedAnswers.of(frame, {"between": "era", "values": None, "probability": None})
    >>> coded.compared, coded.frame["value"].to_list(), coded.value.tolist(), coded.side.tolist()
    (('new', 'old'), [0.0, 1.0, 0.0], [1.0, 3.0], [0, 1])
    """

    frame: pl.DataFrame
    """The judgments of the groups that are compared, with numbers for values."""
    value: Floats
    """What each number stands for."""
    side: Ints
    weight: Floats
    compared: tuple[Any, Any] | None
    """The two groups."""

    @classmethod
    def of(cls, frame: pl.DataFrame, options: Mapping[str, Any]) -> NumberedAnswers:
        """The judgments of a frame that has the columns which the options name."""
        between, probability, compared = options["between"], options["probability"], None
        frame = frame.with_columns(__side=pl.lit(0), __weight=pl.lit(1.0))
        if between is not None:
            compared = two_values(frame.filter(pl.col("value").is_not_null()), between, options["values"])
            frame = frame.with_columns(__side=pl.col(between).eq_missing(compared[1]).cast(pl.Int32))
            frame = frame.filter(pl.any_horizontal(pl.col(between).eq_missing(one) for one in compared))
        if probability is not None:
            items = frame.drop_nulls("value")["item"].unique().sort()
            weights = design_weights(frame.drop_nulls("value"), items, probability)
            frame = frame.drop("__weight").join(
                pl.DataFrame({"item": items, "__weight": weights}), on="item", how="left", maintain_order="left"
            )
        key = ["__side", "value", "__weight"]
        known = frame.drop_nulls("value").select(key).unique().sort(key)
        numbers = known.with_columns(__number=pl.int_range(pl.len()).cast(pl.Float64))
        coded = frame.join(numbers, on=key, how="left", maintain_order="left")
        coded = coded.with_columns(value=pl.col("__number")).drop("__number", "__weight")
        value, side, weight = (known[name].to_numpy() for name in ("value", "__side", "__weight"))
        return cls(coded, value, side.astype(np.int64), weight, compared)

    def statistic(self, numbers: Floats, code: float | None, limits: Limits) -> Statistic:
        """The mean of answers, or the share of one, or its difference; of the numbers that occur."""
        place = numbers.astype(np.int64)
        value, side, weight = self.value[place], self.side[place], self.weight[place]
        said = value if code is None else (value == code).astype(np.float64)

        def rows(table: Counts) -> Floats:
            columns = []
            for one in range(1 if self.compared is None else 2):
                mine = (side == one).astype(np.float64)
                given = table.table @ mine
                columns += [quotient(table.table @ (mine * weight * part), given, 0.0) for part in (said, 1.0)]
            return np.column_stack(columns)

        return Statistic(rows, ratio if self.compared is None else _difference, limits)

    def problem(self, held: pl.DataFrame, over: str | None, *, asked: bool) -> str | None:
        """Why the difference between two groups of raters has no interval, if so."""
        answered = held.drop_nulls("value")
        if self.compared is None or not constant_within(answered, "__side", ["rater"]):
            return None
        if answered.group_by(UNIT).agg(pl.col("__side").n_unique())["__side"].max() == 1:
            return DISJOINT
        if speaks_of_raters(over) and answered.group_by("__side").agg(pl.col("rater").n_unique())["rater"].min() == 1:
            return FEW_RATERS
        return THESE_RATERS if over == "items" and not asked else None


def _contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds, where every group has an answer."""
    answered, scale, code = part.answered, part.scale(), None
    if "value" in options:
        code = code_of(options["value"], scale, answered["value"].to_numpy())
    else:
        check_level(scale, answered, "a mean")
    coded, between, probability = NumberedAnswers.of(part.frame, options), options["between"], options["probability"]
    limits = _limits(scale, coded.value, code, between)
    plain = contribution(replace(part, frame=coded.frame), lambda counts: coded.statistic(counts.values, code, limits))
    for one in plain:
        if np.isfinite(one.estimate):
            said = partial(_said, code)
            if coded.compared is not None:
                said = partial(_said_of_sides, code, between, coded.compared)
            weights = None if probability is None else design_weights(answered, one.items, probability)
            yield replace(one, features=said, direct=between is None, weights=weights)


def _limits(scale: Scale | None, values: Floats, code: float | None, between: str | None) -> Limits:
    """Between what values an estimate lies."""
    if between is not None:
        return LIMITS if code is None else (-1.0, 1.0)
    return ends_of(scale, values) if code is None else SHARES


def ends_of(scale: Scale | None, given: Floats) -> Limits:
    """Between what values a mean lies: the ends of the scale, or 0 and 1 where a plain table has nothing else."""
    if scale is not None:
        return MeanWithin(scale.ends)
    return SHARES if len(given) and np.isin(given, (0.0, 1.0)).all() else LIMITS


def _said(code: float | None, model: ModelAnswers) -> Floats:
    """The model's mean answer, or the share it gives to one answer."""
    return (model.mean if code is None else model.share(code))[:, None]


def _said_of_sides(code: float | None, between: str, compared: Sequence[Any], model: ModelAnswers) -> Floats:
    """The same within each of two groups of items; of groups of people a model knows nothing."""
    sides = model.frame.group_by("item").agg(pl.col(between).first()).sort("item")[between]
    if sides.null_count() == len(sides):
        return model.features()
    within = np.column_stack([(sides == one).fill_null(value=False).to_numpy() for one in compared])
    return np.hstack([within * _said(code, model), within])


def _difference(sums: Floats) -> Floats:
    return ratio(sums[:, :2]) - ratio(sums[:, 2:])


def design_weights(answered: pl.DataFrame, items: pl.Series, column: str) -> Floats:
    """One over the probability with which people were asked about each item."""
    known = answered.group_by("item").agg(pl.col(column).n_unique().alias("several"), pl.col(column).first())
    for item, several, chance in known.sort("item").iter_rows():
        if several > 1 or not isinstance(chance, int | float) or not 0 < chance <= 1:
            raise InputError(
                f"item '{item}' has no probability above 0 and up to 1 of being judged",
                column=column,
                remedy="give each item the probability with which it was drawn for people",
            )
    return np.asarray(1 / items.to_frame().join(known, on="item", maintain_order="left")[column].to_numpy())


MEAN_VIEW: Final = View(
    "Mean answer",
    columns={"estimate": Column("mean", digits=2)},
    chart="points",
    # Means of different scales have no order.
    says=(Extremes(most="Answers are highest for {rows}", least="Answers are lowest for {rows}", among=("scale",)),),
    method="Means give every item the same weight.",
    sources=("angelopoulos2023b",),
)


@measure(
    "mean",
    "means",
    view=MEAN_VIEW,
    powered=Powered(_contributions, _COLUMNS),
    interval=("raters", "sources", "weights"),
)
def mean(
    data: Judgments,
    *,
    by: By = (),
    between: str | None = None,
    values: Sequence[object] | None = None,
    probability: str | None = None,
    **resampling: Unpack[WeightedIntervalOptions],
) -> pl.DataFrame:
    """The mean answer: of the means of items, so that each item counts once.

    With `between` it is the difference between two groups of people (the first less the second of `values`, or of the
    two values that the column has); items that one group judged count in that group alone, and there is no interval
    where groups of raters share none. Where items were drawn for
    people with known probabilities, `probability` names their column, and each item counts one over it.

    The interval is over items, raters or both; "auto" is both where at least four raters judged several items each.

    `powered_by` names a rater that judged these and further items, such as a model: see docs/powered.md.

    >>> answers = {"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "value": [1, 3, 4]}
    >>> mean(answers)["estimate"].to_list()
    [3.0]
    >>> said = {"item": [*"abcd"] + ["a", "b"], "rater": ["bot"] * 4 + ["ann"] * 2, "value": [0, 1, 1, 1, 1, 2]}
    >>> mean(said, powered_by="bot").select("judged_by", pl.col("estimate", "lambda").round(2)).rows()
    [('people', 1.5, None), ('model', 0.75, None), ('both', 1.75, 0.5)]
    """
    options = {"between": between, "values": values, "probability": probability}
    return _rows(data, by, options, Bootstrap(**resampling, over=OVER))


PREVALENCE_VIEW: Final = View(
    "Share of an answer",
    columns={"estimate": Column("share", percent=True, digits=1)},
    chart="points",
    says=(Extremes(most="The answer is most frequent for {rows}", least="It is least frequent for {rows}"),),
    method="Shares give every item the same weight.",
    sources=("angelopoulos2023b", "wilson1927"),
)


@measure(
    "prevalence",
    "means",
    view=PREVALENCE_VIEW,
    powered=Powered(_contributions, _COLUMNS),
    interval=("raters", "sources", "weights"),
)
def prevalence(
    data: Judgments,
    *,
    by: By = (),
    value: float | str | None = None,
    between: str | None = None,
    values: Sequence[object] | None = None,
    probability: str | None = None,
    **resampling: Unpack[WeightedIntervalOptions],
) -> pl.DataFrame:
    """How frequent an answer is: its share of the answers to an item, on average over items.

    `value` is the answer, by its code or its wording; of two answers it is the higher one by default. The other options
    are those of `mean`.

    >>> answers = {"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "value": [1, 0, 1]}
    >>> prevalence(answers)["estimate"].to_list()
    [0.75]
    """
    options = {"value": value, "between": between, "values": values, "probability": probability}
    return _rows(data, by, options, Bootstrap(**resampling, over=OVER))


def _rows(data: Judgments, by: By, options: Mapping[str, Any], how: Bootstrap) -> pl.DataFrame:
    if how.weights is not None and (options["between"] is not None or options["probability"] is not None):
        other = "between" if options["between"] is not None else "probability"
        raise InputError(f"rater weights cannot be combined with {other}", remedy="leave one of them out, or use by")
    if options["between"] is None and options["probability"] is None:
        plain = [_plain(group, options, chosen) for group, chosen in counted_groups(data, by, how)]
        return _shown(table(plain, names(by)), options)
    scales, columns = scales_of(data), names(by)
    extra = [str(options[name]) for name in _COLUMNS if options[name] is not None]
    coded = NumberedAnswers.of(judgments_frame(data, list(dict.fromkeys([*columns, *extra]))), options)
    rows: list[dict[str, Any]] = []
    for group, chosen in counted_groups(coded.frame, by, how):
        held = of_group(coded.frame, group.key)
        scale = scale_of(held, scales, group.key)
        row = {**group.row, "note": None, "scale": None if scale is None else scale.describe()}
        row["between"] = None if coded.compared is None else "{} − {}".format(*coded.compared)
        given, code = coded.value[group.counts.values.astype(np.int64)], None
        if "value" in options:
            code = code_of(options["value"], scale, given)
        else:
            check_level(scale, held, "a mean")
        limits = _limits(scale, given, code, options["between"])
        row |= group.estimated(coded.statistic(group.counts.values, code, limits), chosen, NOBODY)
        problem = coded.problem(held, row.get("over"), asked=how.ci != "auto")
        if problem is not None:
            row |= {**dict.fromkeys(("low", "high", "over")), "reason": problem.format(options["between"])}
        rows.append(row)
    return _shown(table(rows, columns), options)


def _plain(group: CountedGroup[Counts], options: Mapping[str, Any], how: Bootstrap) -> dict[str, Any]:
    """The mean or the share of one group, from how often each value was given to its units."""
    scale, values = group.scale, group.counts.values
    row = {**group.row, "note": group.notes[1], "scale": None if scale is None else scale.describe()}
    if "value" in options:
        said, ends = (values == code_of(options["value"], scale, values)).astype(np.float64), SHARES
    else:
        refuse_nominal(scale, group.questions, "a mean")
        said, ends = values, ends_of(scale, values)
    if not group.counts.units:
        return {**row, "reason": NOBODY}
    statistic = Statistic(lambda table: table.table @ said / table.size, limits=ends)
    if group.gap is None:
        row["note"] = thinned(group.counts.answers, statistic.rows(group.counts), group.counts.multiplicity)
    elif group.gap.note is not None and "value" not in options:
        low, high = group.gap.bounds(ends if np.isfinite(ends).all() else (values[0], values[-1]))
        row["note"] = f"{group.gap.note}; with all of them the estimate would lie between {low:.2f} and {high:.2f}"
    return row | group.estimated(statistic, how)


def _shown(result: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """The rows without columns that say nothing here."""
    between = options["between"]
    alike = "value" in options or result["scale"].n_unique() < 2
    return result.drop([*(["scale"] if alike else []), *(["between"] if between is None else [])], strict=False)
