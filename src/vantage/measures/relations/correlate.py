"""Correlations between questions, and of questions with outside variables, on aggregated scores.

A strict rater lowers every item that the rater judged. Two questions answered by the same people therefore have scores
whose errors are alike from item to item in both, and correlate by chance more often than independent items would
(as neighbouring places do on a map). The variance of such a correlation is tr(PVₓPVᵧ) / (tr PVₓ · tr PVᵧ), with the
covariances V of the scores and the centring P, and the number of independent items with the same variance is its
inverse plus one (Dutilleul 1993).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import CORRELATIONS, OVER, IntervalOptions
from vantage.measures.multiplicity import Correction, adjusted
from vantage.measures.parts import Part, Rounding, check_level, counts, names, parts, rounded
from vantage.measures.powered.contributions import Contribution, ModelAnswers
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import Against, Column, Extremes, View
from vantage.measures.rater_variance import FEW_RATERS, several_items, without_raters
from vantage.measures.ratings import By, Floats, Judgments
from vantage.measures.relations.correlations import (
    Correlation,
    coefficient,
    p_value,
    pearson_of_sums,
    weighted_correlation,
)
from vantage.measures.resampling import Resampling, Statistics, per_item
from vantage.measures.variance.variances import VarianceDesign

if TYPE_CHECKING:
    from scipy.sparse import csr_array

VIEW: Final = View(
    "Correlations of item scores",
    symbol="r",
    columns={"estimate": Column("correlation", digits=2), "p": Column(digits=3), "p_adjusted": Column("p (corrected)")},
    show=("first", "second", "estimate", "items", "p_adjusted"),
    says=(
        Against(
            0.0,
            above="Scores rise together for {rows}",
            below="Scores run against each other for {rows}",
            within="No correlation is shown for {rows}",
            label="{first} and {second}",
        ),
        Extremes(most="The highest correlation is that of {rows}", label="{first} and {second}"),
    ),
    method="Relations are {correlation} correlations of item scores (the {aggregate} of an item's answers).",
)


def _contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds to the correlation of two questions, or of a question and an outside column."""
    if options["correlation"] != "pearson" or options["aggregate"] != "mean" or options["rounding"] != "none":
        raise InputError(
            "only Pearson's correlation of means can be powered by a model", remedy="leave these options out"
        )
    others, order = names(options["outside"]), options["order"] or {}
    questions = part.frame["question"].unique().sort().to_list()
    scores = _scores(part.answered, "mean", "none", others, order)
    for first, second in [*combinations(questions, 2), *product(questions, others)]:
        if first not in scores or second not in scores:
            continue
        both = scores[first].join(scores[second], on=["item", "condition"], suffix="_second")
        if both.is_empty():
            continue
        x, y = both["score"].to_numpy(), both["score_second"].to_numpy()
        # Numbers around 0 keep sums of squares exact.
        x, y = x - x.mean(), y - y.mean()
        sums = per_item(both["item"], np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]))
        said = partial(_said, first=first, second=second, outside=second in others, order=order.get(second))
        key, limits = {"first": first, "second": second}, (-1.0, 1.0)
        yield Contribution(both["item"].unique().sort(), sums, lambda sums: pearson_of_sums(*sums.T), key, limits, said)


def _said(model: ModelAnswers, *, first: str, second: str, outside: bool, order: Sequence[str] | None) -> Floats:
    """The two scores of each item as the model has them, their squares and their product; 0 where one is missing."""
    columns = []
    for name in (first, second):
        if outside and name == second:
            numbers = _numbers(model.frame[second], order)
            scores = pl.DataFrame({"item": model.frame["item"], "score": numbers}).drop_nulls().unique("item")
        else:
            asked = model.asked(name)
            scores = pl.DataFrame({"item": asked.items, "score": asked.mean})
        scored = model.items.to_frame("item").join(scores, on="item", how="left", maintain_order="left")["score"]
        columns.append((scored - scored.mean()).fill_null(0.0).to_numpy())
    x, y = columns
    return np.column_stack([x, y, x * x, y * y, x * y])


LEAST_ITEMS: Final = 4
TOO_FEW_ITEMS: Final = "no interval: resamples of fewer than four items are nearly all perfectly correlated"
RESTS_ON_ONE: Final = "no interval: without one of its {} there is no correlation"


@measure(
    "correlate",
    "relations",
    view=VIEW,
    pools_questions=True,
    powered=Powered(_contributions, ("outside",)),
    interval=("raters", "sources"),
)
def correlate(
    data: Judgments,
    *,
    by: By = (),
    outside: By = (),
    order: Mapping[str, Sequence[str]] | None = None,
    correlation: Correlation = "pearson",
    aggregate: Literal["mean", "median"] = "mean",
    rounding: Rounding = "none",
    correction: Correction = "none",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Correlations of item scores between every two questions, and of each question with outside columns.

    The score of an item on a question is the mean or median of its answers, after `rounding`. `outside`
    names numeric columns, or columns of words whose `order` from low to high is given
    (`order={"stance": ["against", "none", "favour"]}`; other words are left out). `p` is two-sided for no association,
    of as many `independent_items` as the items are worth (Dutilleul 1993), and `p_adjusted` corrects it over all rows.
    The interval is over items, raters or both; "auto" is both where at least four raters judged several items each.
    `powered_by` names a rater that judged these and further items, such as a model: see docs/powered.md.

    >>> answers = {"item": [1, 2, 3, 1, 2, 3], "question": ["trust"] * 3 + ["skill"] * 3, "rater": ["a"] * 6,
    ...            "value": [1, 2, 3, 2, 1, 3]}
    >>> correlate(answers, correlation="spearman", ci="none").select("first", "second", "estimate").rows()
    [('skill', 'trust', 0.5)]
    """
    how = Resampling(**resampling, over=OVER)
    others = names(outside)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=others):
        for question, answers in part.frame.group_by("question"):
            check_level(part.scales.get(str(question[0])), answers, "a correlation")
        questions = part.frame["question"].unique().sort().to_list()

        several = how.chosen(several_items(part.answered, how.groups))
        left = without_raters(part.answered, how) if several.ci in ("raters", "both") else ()
        scores, *rest = (
            _scores(answered, aggregate, rounding, others, order or {}) for answered in (part.answered, *left)
        )
        pairs = [*combinations(questions, 2), *product(questions, others)]
        if not pairs:
            raise InputError(
                "there is only one question to correlate", remedy="name item columns with the option outside"
            )
        rows += [_pair(part, scores, pair, correlation, several, rest) for pair in pairs]
    for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
        row["p_adjusted"] = p
    return table(rows, names(by))


def _scores(
    answered: pl.DataFrame,
    aggregate: str,
    rounding: Rounding,
    outside: Sequence[str],
    order: Mapping[str, Sequence[str]],
) -> dict[str, pl.DataFrame]:
    """A score per item and condition for every question and every outside column."""
    keys = ["item", "condition"]
    centre = pl.col("value").mean() if aggregate == "mean" else pl.col("value").median()
    scored = answered.group_by([*keys, "question"]).agg(centre.alias("score")).sort([*keys, "question"])
    scored = scored.with_columns(pl.Series("score", rounded(scored["score"].to_numpy(), rounding)))
    scores = {str(q): part.select([*keys, "score"]) for (q,), part in scored.group_by("question")}
    for column in outside:
        if column in scores:
            raise InputError(f"'{column}' is both a question and a column", remedy="rename the column")
        outer = answered.select([*keys, _numbers(answered[column], order.get(column)).alias("score")])
        scores[column] = outer.drop_nulls("score").unique()
        twice = scores[column].select(keys).is_duplicated()
        if twice.any():
            item = scores[column].filter(twice)["item"][0]
            raise InputError(f"column '{column}' has two values for item '{item}'", remedy="use a column of the items")
    return scores


def _numbers(series: pl.Series, order: Sequence[str] | None) -> pl.Series:
    if order is not None:
        places = {str(word): float(place) for place, word in enumerate(order)}
        return series.cast(pl.String).replace_strict(places, default=None, return_dtype=pl.Float64)
    if not (series.dtype.is_numeric() or series.dtype in {pl.Boolean, pl.Null}):
        raise InputError(
            f"column '{series.name}' holds words",
            remedy=f"give their order with order={{'{series.name}': [...]}}",
        )
    return series.cast(pl.Float64).fill_nan(None)


def _independent(answers: pl.DataFrame, both: pl.DataFrame, questions: tuple[str, str]) -> float | None:
    """What the items of two questions are worth as independent ones; null where that cannot be estimated."""
    units = both.select("item", "condition").with_row_index("__unit")
    raters = answers.select("rater").unique().sort("rater").with_row_index("__rater")
    first, second = (Covariance.of(answers.filter(pl.col("question") == q), units, raters) for q in questions)
    return None if first is None or second is None else independent_items(first, second)


def _pair(
    part: Part,
    scores: Mapping[str, pl.DataFrame],
    pair: tuple[str, str],
    method: Correlation,
    how: Resampling,
    rest: Sequence[Mapping[str, pl.DataFrame]],
) -> dict[str, Any]:
    """The row of one pair of questions, or of a question and an outside column; `rest` are scores without raters."""
    first, second = pair
    row: dict[str, Any] = {**part.key, "first": first, "second": second, "correlation": method}
    row |= {"p": None, "independent_items": None}
    asked = part.frame.filter(pl.col("question").is_in([first, second]))
    keys = ["item", "condition"]
    empty = part.frame.select(keys).clear().with_columns(pl.lit(0.0).alias("score"))

    def joined(scores: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        return scores.get(first, empty).join(scores.get(second, empty), on=keys, suffix="_second").sort(keys)

    both = joined(scores)
    used = asked.filter(pl.col("value").is_not_null()).join(both, on=keys, how="semi")
    row |= counts(used, asked, without_partner=asked["value"].count() - len(used))
    x, y = both["score"].to_numpy(), both["score_second"].to_numpy()
    if len(both) < 2:
        return {**row, "reason": "fewer than two items have both scores"}
    estimate = coefficient(x, y, method)
    if not np.isfinite(estimate):
        return {**row, "reason": "one of the two does not vary"}
    items = both["item"].n_unique()
    worth = None if second not in part.frame["question"].unique() else _independent(used, both, pair)
    if worth is not None:
        row["independent_items"] = worth = min(worth, items)
    # Scores of one item in several conditions are no further items.
    row |= {"p": p_value(x, y, method, items if worth is None else worth), "estimate": estimate}
    if how.ci != "none" and items < LEAST_ITEMS:
        return {**row, "reason": TOO_FEW_ITEMS}

    known = both["item"].unique().sort()

    def correlation(both: pl.DataFrame) -> Statistics:
        x, y = both["score"].to_numpy(), both["score_second"].to_numpy()
        place = np.searchsorted(known.to_numpy(), both["item"].to_numpy())
        return lambda weight: weighted_correlation(x, y, weight[:, place], method)[:, None]

    def without() -> list[Statistics]:
        return [correlation(joined(left)) for left in rest]

    bounds = how.intervals(items, correlation(both), without, [CORRELATIONS], known)[0]
    if how.ci != "none" and bounds[0] is None:
        few = how.ci != "items" and len(rest) < 3
        return {**row, "reason": FEW_RATERS if few else RESTS_ON_ONE.format(WHAT[how.ci])}
    return {**row, **how.stated(bounds)}


WHAT: Final = {"items": "items", "raters": "raters", "both": "items or raters"}


@dataclass(frozen=True, slots=True)
class Covariance:
    """The covariance of item scores: a diagonal, and what each rater adds to all items that the rater judged."""

    diagonal: Floats
    raters: csr_array
    """Items × raters: the rater's share of the item's answers, times the standard deviation of raters."""

    @classmethod
    def of(cls, answers: pl.DataFrame, units: pl.DataFrame, raters: pl.DataFrame) -> Covariance | None:
        """Of the scores of these units on one question; null where its variances cannot be estimated."""
        from scipy.sparse import coo_array

        design = VarianceDesign.of(answers)
        if design.problem() is not None:
            return None
        item, rater, *rest = design.variances.tolist()
        error = sum(rest)
        placed = answers.join(units, on=["item", "condition"]).join(raters, on="rater")
        unit, who = placed["__unit"].to_numpy(), placed["__rater"].to_numpy()
        size = np.bincount(unit, minlength=len(units)).astype(np.float64)
        share = np.sqrt(rater) / size[unit]
        return cls(item + error / size, coo_array((share, (unit, who)), (len(units), len(raters))).tocsr())

    def times(self, vector: Floats) -> Floats:
        """The product with a vector."""
        return np.asarray(self.diagonal * vector + self.raters @ (self.raters.T @ vector))

    def trace(self) -> float:
        """The trace after centring."""
        whole = float(self.diagonal.sum() + self.raters.multiply(self.raters).sum())
        return whole - float(self.times(np.ones(len(self.diagonal))).sum()) / len(self.diagonal)


def independent_items(x: Covariance, y: Covariance) -> float:
    """The number of independent items whose correlation would vary as much; at most as many as there are."""
    n = len(x.diagonal)
    squares = x.diagonal @ y.diagonal + (x.raters.T @ y.raters).power(2).sum()
    squares += x.diagonal @ np.asarray(y.raters.multiply(y.raters).sum(axis=1)).ravel()
    squares += y.diagonal @ np.asarray(x.raters.multiply(x.raters).sum(axis=1)).ravel()
    ones = np.ones(n)
    left, right = x.times(ones), y.times(ones)
    centred = float(squares) - 2 / n * float(left @ right) + float(left.sum() * right.sum()) / n**2
    both = x.trace() * y.trace()
    return float(np.clip(1 + both / centred, 3.0, n)) if centred > 0 and both > 0 else float(n)
