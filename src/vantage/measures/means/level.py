"""The mean answer and the share of one answer, or their difference between two groups of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.counts import Counts
from vantage.measures.intervals import LIMITS, OVER, SHARES, Bootstrap, Limits, MeanWithin, WeightedSourceOptions
from vantage.measures.kernel import Statistic
from vantage.measures.means.units import NumberedJudgments, UnitMeans
from vantage.measures.parts import DISJOINT, Part, names, partitioned, refuse_nominal, scales_of
from vantage.measures.powered.contributions import Contribution, ModelAnswers
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import FEW_RATERS, several_items
from vantage.measures.ratings import By, Floats, Ints, Judgments, judgments_frame, one_scale
from vantage.measures.resampling import Resampling, Statistics, ratio
from vantage.measures.sources import CountedGroup, counted_groups
from vantage.scales import Scale

NOBODY: Final = "no item has an answer"
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
            raise InputError(f"there are {len(codes)} answers", remedy="say whose share is meant with value")
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
class _Asked:
    """The judgments of one group of a table: what is asked of them, and the means of their units."""

    table: NumberedJudgments
    rows: Ints
    scale: Scale | None
    options: Mapping[str, Any]

    @cached_property
    def code(self) -> float | None:
        """The answer whose share is asked for."""
        if "value" in self.options:
            given = self.table.value[self.rows]
            return code_of(self.options["value"], self.scale, given[~np.isnan(given)])
        refuse_nominal(self.scale, self.table.asked(self.rows), "a mean")
        return None

    @cached_property
    def units(self) -> UnitMeans:
        """Of the group, or of the two whose difference is asked for."""
        return self.table.units(self.rows, self.code, self.options["values"])

    @property
    def statistic(self) -> Callable[[Floats], Floats]:
        """From sums over items to the mean, or to the difference of two."""
        return ratio if self.options["between"] is None else _difference

    def contribution(self, frame: pl.DataFrame) -> Contribution | None:
        """What each item adds, with its probability in the group's frame; null where a group has no answer."""
        units, code, probability = self.units, self.code, self.options["probability"]
        if not units.complete:
            return None
        answered = pl.col("value").is_not_null()
        weight = None if probability is None else design_weights(frame.filter(answered), units.items, probability)
        sums = units.sums if weight is None else units.sums * weight[:, None]
        if units.compared is not None:
            limits = LIMITS if code is None else (-1.0, 1.0)
            said = partial(_said_of_sides, code, self.options["between"], units.compared)
            return Contribution(units.items, sums, self.statistic, limits=limits, features=said, weights=weight)
        limits = ends_of(self.scale, units.answer) if code is None else SHARES
        said = partial(_said, code)
        return Contribution(
            units.items, sums, self.statistic, limits=limits, features=said, direct=True, weights=weight
        )


def _contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """One contribution, where there is any."""
    table = NumberedJudgments.of(part.frame, options["between"])
    made = _Asked(table, np.arange(len(part.frame)), part.scale(), options).contribution(part.frame)
    if made is not None:
        yield made


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


@measure("mean", "means", view=MEAN_VIEW, powered=Powered(_contributions, _COLUMNS))
def mean(
    data: Judgments,
    *,
    by: By = (),
    between: str | None = None,
    values: Sequence[object] | None = None,
    probability: str | None = None,
    **resampling: Unpack[WeightedSourceOptions],
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
    return _rows(data, by, options, Resampling(**resampling, over=OVER))


PREVALENCE_VIEW: Final = View(
    "Share of an answer",
    columns={"estimate": Column("share", percent=True, digits=1)},
    chart="points",
    says=(Extremes(most="The answer is most frequent for {rows}", least="It is least frequent for {rows}"),),
    method="Shares give every item the same weight.",
    sources=("angelopoulos2023b", "wilson1927"),
)


@measure("prevalence", "means", view=PREVALENCE_VIEW, powered=Powered(_contributions, _COLUMNS))
def prevalence(
    data: Judgments,
    *,
    by: By = (),
    value: float | str | None = None,
    between: str | None = None,
    values: Sequence[object] | None = None,
    probability: str | None = None,
    **resampling: Unpack[WeightedSourceOptions],
) -> pl.DataFrame:
    """How frequent an answer is: its share of the answers to an item, on average over items.

    `value` is the answer, by its code or its wording; of two answers it is the higher one by default. The other options
    are those of `mean`.

    >>> answers = {"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "value": [1, 0, 1]}
    >>> prevalence(answers)["estimate"].to_list()
    [0.75]
    """
    options = {"value": value, "between": between, "values": values, "probability": probability}
    return _rows(data, by, options, Resampling(**resampling, over=OVER))


def _rows(data: Judgments, by: By, options: Mapping[str, Any], how: Resampling) -> pl.DataFrame:
    if how.weights is not None and (options["between"] is not None or options["probability"] is not None):
        given = "between" if options["between"] is not None else "probability"
        raise InputError(f"weights of raters do not go with {given}", remedy="leave one of them out, or use by")
    if options["between"] is None and options["probability"] is None:
        plain = [_plain(group, options, chosen) for group, chosen in counted_groups(data, by, how)]
        return _shown(table(plain, names(by)), options)
    scales, columns = scales_of(data), names(by)
    between = options["between"]
    extra = [str(options[name]) for name in _COLUMNS if options[name] is not None]
    frame = judgments_frame(data, list(dict.fromkeys([*columns, *extra])))
    numbers = NumberedJudgments.of(frame, between)
    rows: list[dict[str, Any]] = []
    for key, held in partitioned(frame.select(*columns, pl.int_range(pl.len()).alias("__row")), columns):
        own = held["__row"].to_numpy()
        scale = one_scale(numbers.asked(own), scales, key) if scales else None
        asked = _Asked(numbers, own, scale, options)
        units = asked.units
        row = {**key, "scale": None if scale is None else scale.describe()}
        row |= {"between": None if units.compared is None else "{} − {}".format(*units.compared), **units.answered}
        silent = own[np.isnan(numbers.value[own])]
        row["left_out"] = dict(sorted(Counter(map(str, frame["status"][silent])).items())) if len(silent) else {}
        chosen = how.chosen(several_items(frame[own].drop_nulls("value")))
        made = _row(asked, frame, chosen)
        if units.of_raters:
            none = dict.fromkeys(("low", "high", "over"))
            if how.ci == "auto" and made.get("over") == "items":
                made |= {**none, "reason": THESE_RATERS.format(between)}
            if not units.share_items:
                made |= {**none, "reason": DISJOINT}
        rows.append({**row, **made})
    return _shown(table(rows, columns), options)


def _plain(group: CountedGroup[Counts], options: Mapping[str, Any], how: Bootstrap) -> dict[str, Any]:
    """The mean or the share of one group, from how often each value was given to its units."""
    scale, values = group.scale, group.counts.values
    row = {**group.row, "note": group.notes[1], "scale": None if scale is None else scale.describe()}
    if "value" in options:
        said = (values == code_of(options["value"], scale, values)).astype(np.float64)
        statistic = Statistic(lambda table: table.table @ said / table.size, limits=SHARES)
    else:
        refuse_nominal(scale, group.questions, "a mean")
        ends = ends_of(scale, values)
        statistic = Statistic(lambda table: table.table @ values / table.size, limits=ends)
    if not group.counts.units:
        return {**row, "reason": NOBODY}
    made = group.estimated(statistic, how)
    if group.gap is not None and group.gap.note is not None and "value" not in options:
        ends = statistic.limits if np.isfinite(statistic.limits).all() else (values[0], values[-1])
        low, high = group.gap.bounds(ends)
        row["note"] = f"{group.gap.note}; with all of them the estimate would lie between {low:.2f} and {high:.2f}"
    return row | made


def _shown(result: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """The rows without columns that say nothing here."""
    between = options["between"]
    alike = "value" in options or result["scale"].n_unique() < 2
    return result.drop([*(["scale"] if alike else []), *(["between"] if between is None else [])], strict=False)


def _row(asked: _Asked, frame: pl.DataFrame, how: Resampling) -> dict[str, Any]:
    """The estimate of a group with its interval."""
    units = asked.units
    if how.ci == "none" and asked.options["probability"] is None and units.complete:
        return {"estimate": float(asked.statistic(units.sums.sum(axis=0, keepdims=True))[0])}
    contribution = asked.contribution(frame if asked.options["probability"] is None else frame[asked.rows])
    if contribution is None:
        return {"reason": NOBODY}
    estimate, n = contribution.estimate, len(contribution.items)
    if how.ci == "none" or n < 2 or not np.isfinite(estimate):
        return {"estimate": estimate if np.isfinite(estimate) else None, "reason": None if n else NOBODY}

    def without() -> list[Statistics]:
        weight = 1.0 if contribution.weights is None else contribution.weights[:, None]
        made = [replace(contribution, sums=sums * weight) for sums in units.without_raters(how.seed)]
        # Where one person is a whole group, nothing is known about other people of that group.
        return [one.weighted for one in made] if all(np.isfinite(one.estimate) for one in made) else []

    bounds = how.intervals(n, contribution.weighted, without, [contribution.limits], contribution.items)[0]
    return {"estimate": estimate, **how.stated(bounds), "reason": FEW_RATERS if bounds[0] is None else None}
