"""The mean answer and the share of one answer, or their difference between two groups of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.counts import Counts
from vantage.measures.intervals import LIMITS, OVER, SHARES, Bootstrap, Limits, MeanWithin, WeightedSourceOptions
from vantage.measures.kernel import Statistic
from vantage.measures.parts import (
    DISJOINT,
    Part,
    check_level,
    constant_within,
    counts,
    names,
    parts,
    refuse_nominal,
    share_items,
    two_values,
)
from vantage.measures.powered.contributions import Contribution, ModelAnswers, without_each_rater
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import FEW_RATERS, several_items
from vantage.measures.ratings import UNIT, By, Floats, Judgments
from vantage.measures.resampling import Resampling, ratio
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


def _contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """One contribution: the units' means of a group, or of two groups whose difference is asked for."""
    share, answer, code = "value" in options, pl.col("value"), None
    if share:
        code = code_of(options["value"], part.scale(), part.answered["value"].to_numpy())
        answer = (answer == code).cast(pl.Float64)
    else:
        check_level(part.scale(), part.frame, "a mean")
    answered = part.answered.with_columns(answer.alias("__answer"))
    between, probability = options["between"], options["probability"]
    groups = [answered]
    if between is not None:
        groups = [answered.filter(pl.col(between) == one) for one in two_values(answered, between, options["values"])]
    units = [group.group_by(UNIT).agg(pl.col("__answer").mean()) for group in groups]
    if not all(len(one) for one in units):
        return
    items = pl.concat([one["item"] for one in units]).unique().sort()
    sides = [Contribution.of_units(one["item"], one["__answer"].to_numpy()).within(items) for one in units]
    sums = np.hstack([side.sums for side in sides])
    weight = None if probability is None else design_weights(answered, items, probability)
    if weight is not None:
        sums = sums * weight[:, None]
    if between is not None:
        yield Contribution(items, sums, _difference, limits=(-1.0, 1.0) if share else LIMITS, weights=weight)
        return
    said = partial(_said, code)
    limits = SHARES if share else ends_of(part.scale(), answered["value"].to_numpy())
    yield Contribution(items, sums, ratio, limits=limits, features=said, direct=True, weights=weight)


def ends_of(scale: Scale | None, given: Floats) -> Limits:
    """Between what values a mean lies: the ends of the scale, or 0 and 1 where a plain table has nothing else."""
    if scale is not None:
        return MeanWithin(scale.ends)
    return SHARES if len(given) and np.isin(given, (0.0, 1.0)).all() else LIMITS


def _said(code: float | None, model: ModelAnswers) -> Floats:
    """The model's mean answer, or the share it gives to one answer."""
    return (model.mean if code is None else model.share(code))[:, None]


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
    extra = [str(options[name]) for name in _COLUMNS if options[name] is not None]
    between = options["between"]
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=extra):
        scale, answered = part.scale(), part.answered
        two = None if between is None else two_values(answered, between, options["values"])
        row = {**part.key, "scale": None if scale is None else scale.describe()}
        row |= {"between": None if two is None else "{} − {}".format(*two), **counts(answered, part.frame)}
        contributions, chosen = next(_contributions(part, options), None), how.chosen(several_items(answered))
        made = {"reason": NOBODY} if contributions is None else _row(part, options, contributions, chosen)
        if two is not None and constant_within(answered, between, ["rater"]):
            none = dict.fromkeys(("low", "high", "over"))
            if how.ci == "auto" and made.get("over") == "items":
                made |= {**none, "reason": THESE_RATERS.format(between)}
            if not share_items(answered.filter(pl.col(between).is_in(two)), between):
                made |= {**none, "reason": DISJOINT}
        rows.append({**row, **made})
    return _shown(table(rows, names(by)), options)


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


def _row(part: Part, options: Mapping[str, Any], contribution: Contribution, how: Resampling) -> dict[str, Any]:
    """The estimate of a group with its interval."""
    estimate, n = contribution.estimate, len(contribution.items)
    if how.ci == "none" or n < 2 or not np.isfinite(estimate):
        return {"estimate": estimate if np.isfinite(estimate) else None, "reason": None if n else NOBODY}
    bounds = how.intervals(
        n,
        contribution.weighted,
        lambda: without_each_rater(part, _contributions, options, contribution, how.seed),
        [contribution.limits],
        contribution.items,
    )[0]
    return {"estimate": estimate, **how.stated(bounds), "reason": FEW_RATERS if bounds[0] is None else None}
