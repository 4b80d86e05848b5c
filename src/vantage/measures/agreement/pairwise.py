"""Agreement that needs no model of chance: agreeing pairs of raters, and how far apart raters are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.counts import Counts, centre, coarse_columns
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions, Statistic, wilson
from vantage.measures.parts import Part
from vantage.measures.powered.contributions import Contribution
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_bootstrap import Formula, Resamples, counted_answers, either_interval, quotient
from vantage.measures.ratings import ALONE, UNIT, By, Floats, Judgments
from vantage.measures.resampling import per_item, ratio
from vantage.measures.sources import coarse as coarsened

PAIRWISE_VIEW: Final = View(
    "Share of pairs of raters who give the same answer",
    columns={"estimate": Column("pairs who agree", percent=True)},
    chart="points",
    says=(Extremes(most="Pairs of raters agree most often about {rows}", least="They agree least often about {rows}"),),
    method="Raw agreement is the share of pairs of raters who give the same answer.",
)


def _contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
    """What each item adds: the share of agreeing pairs of each unit, or their number and that of all pairs."""
    answered = part.answered
    if options["coarse"] is not False and len(answered):
        values, column = np.unique(answered["value"].to_numpy(), return_inverse=True)
        questions = answered["question"].unique().sort().to_list()
        merged = coarse_columns(values, options["coarse"], part.scale(), questions)[1]
        answered = answered.with_columns(pl.Series("value", merged[column.ravel()].astype(np.float64)))
    cells = answered.group_by([*UNIT, "value"]).len("n")
    units = cells.group_by(UNIT).agg(
        (pl.col("n") * (pl.col("n") - 1)).sum().cast(pl.Float64).alias("agreeing"),
        (pl.col("n").sum() * (pl.col("n").sum() - 1)).cast(pl.Float64).alias("pairs"),
    )
    units = units.filter(pl.col("pairs") > 0)
    if units.is_empty():
        return
    agreeing, pairs = units["agreeing"].to_numpy(), units["pairs"].to_numpy()
    columns = [agreeing, pairs] if options["over"] == "pairs" else [agreeing / pairs, np.ones(len(pairs))]
    sums = per_item(units["item"], np.column_stack(columns))
    yield Contribution(units["item"].unique().sort(), sums, ratio, limits=(0.0, 1.0))


@measure("pairwise", family="agreement", view=PAIRWISE_VIEW, powered=Powered(_contributions))
def pairwise(
    data: Judgments,
    *,
    by: By = (),
    coarse: bool | Literal["sign"] = False,
    over: Literal["items", "pairs"] = "items",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Average pairwise agreement: how often two raters of the same item give the same answer.

    With two raters this is percent agreement. Items with a single answer are left out as `unpaired`.

    >>> votes = [[1, 2, -3, -3], [2, 2, -1, 3], [3, 2, -2, 1]]
    >>> round(pairwise(votes, ci="none")["estimate"][0], 4)
    0.25
    >>> round(pairwise(votes, coarse="sign", ci="none")["estimate"][0], 4)
    0.8333

    Args:
        data: A corpus, a frame, columns or an array.
        by: Grouping columns.
        coarse: Compare the answers as they are (false), their coarse bands on the question's scale (true), or
            their signs ("sign").
        over: "items" averages the agreement of the items, each counting once; "pairs" pools all pairs, so
            that an item with more answers counts more.
        resampling: `ci`, `interval`, `resamples`, `confidence` and `seed`, as for `alpha`.

    `powered_by` names a rater that judged these and further items, such as a model: see docs/powered.md.
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    rows: list[dict[str, Any]] = []
    for part, given, how in counted_answers(data, by, bootstrap, paired=True):
        row = part.row
        if not part.counts.units:
            rows.append({**row, "reason": ALONE})
            continue
        counts = coarsened(part, coarse)[0].counts.canonical()
        n = counts.size
        agreeing = (counts.mapped(np.square) - n) / 2
        statistic = _average(agreeing, n * (n - 1) / 2, over)
        answers = given
        if given is not None and coarse is not False:
            names, column = coarse_columns(given.values, coarse, part.scale, part.questions)
            answers = given.merged(column, np.arange(len(names), dtype=np.float64))
        bounds = either_interval(how, counts, statistic, answers, _agreement_over_raters(over), limits=(0.0, 1.0))
        estimate = float(statistic(counts.weight)[0])
        if estimate in (0.0, 1.0) and bounds.get("over") is not None:
            # No resample can show what did not happen; items are what could have turned out otherwise.
            low, high = wilson(estimate * counts.units, counts.units, how.confidence)
            bounds |= {"low": low, "high": high}
        rows.append({**row, "estimate": estimate, **bounds})
    return table(rows, by)


DIFFERENCE_VIEW: Final = View(
    "How far apart the raters of an item are, in points of the scale",
    columns={"estimate": Column("points", digits=2)},
    show=("statistic", "estimate", "items"),
)


@measure("difference", family="agreement", view=DIFFERENCE_VIEW)
def difference(
    data: Judgments,
    *,
    by: By = (),
    sd: Literal["sample", "population"] = "sample",
    over: Literal["items", "pairs"] = "items",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """How far apart the raters of an item are: mean absolute difference and standard deviation.

    Two rows per group, told apart by `statistic`. The absolute difference is averaged over the pairs of
    raters of an item and then over items, or over all pairs at once. The standard deviation is that of an
    item's answers (divided by n − 1, or by n for "population"), averaged over items. Items with a single
    answer are left out as `unpaired`. Bootstrap interval over items, raters or both; under copies of raters
    the variance is half the mean squared difference of two answers that are not copies of each other, which
    is the same thing where there are no copies, and the resampled standard deviations are moved by their
    mean bias, since fewer different answers have a smaller one on average.

    >>> votes = [[1, 2, 3], [3, 2, 5]]
    >>> difference(votes, ci="none").select("statistic", "estimate").rows()
    [('mean absolute difference', 1.333...), ('standard deviation', 0.942...)]
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    rows: list[dict[str, Any]] = []
    for part, answers, how in counted_answers(data, by, bootstrap, paired=True):
        if part.counts.units and part.scale is not None:
            part.level("interval")  # refuses differences of a nominal scale
        counts = part.counts.canonical()
        n = counts.size
        apart = _average(_apart(counts), n * (n - 1) / 2, over)
        deviation = _average(_deviation(counts, sd), np.ones(len(n)), "items")
        # Fewer different answers have a smaller standard deviation on average, though not a smaller variance.
        for name, statistic, formula, centred in (
            ("mean absolute difference", apart, _apart_over_raters(over), False),
            ("standard deviation", deviation, _deviation_over_raters(sd), True),
        ):
            row = {**part.row, "statistic": name}
            if not counts.units:
                rows.append({**row, "reason": ALONE})
                continue
            limits = (0.0, np.inf)
            bounds = either_interval(how, counts, statistic, answers, formula, limits=limits, centred=centred)
            rows.append({**row, "estimate": float(statistic(counts.weight)[0]), **bounds})
    return table(rows, by)


def _average(amount: Floats, pairs: Floats, over: str) -> Statistic:
    """The average of an amount per pair: of the averages of units, or of all pairs at once."""
    columns = np.column_stack([amount, pairs] if over == "pairs" else [amount / pairs, np.ones(len(pairs))])

    def statistic(weight: Floats) -> Floats:
        total, number = (weight @ columns).T
        return np.asarray(total / number)

    return statistic


def _apart(counts: Counts) -> Floats:
    """The absolute differences of all pairs of answers, added up per kind of unit."""
    apart = np.zeros(len(counts.size))
    for kind, first, second, product in counts.pairs():
        lengths = product * np.abs(counts.values[first] - counts.values[second])
        apart += np.bincount(kind, weights=lengths, minlength=len(apart))
    return apart


def _deviation(counts: Counts, sd: str) -> Floats:
    moments = counts.moments()
    n = moments.size
    around = np.maximum(moments.second - moments.squared / n, 0)
    return np.asarray(np.sqrt(around / (n - 1 if sd == "sample" else n)))


def _agreement_over_raters(over: str) -> Formula:
    return lambda resamples: _pairs_averaged(resamples, resamples.agreeing(), over)


def _apart_over_raters(over: str) -> Formula:
    def formula(resamples: Resamples) -> Floats:
        values = resamples.answers.values
        apart = resamples.apart(lambda first, second: np.abs(values[first] - values[second]))
        return _pairs_averaged(resamples, apart, over)

    return formula


def _deviation_over_raters(sd: str) -> Formula:
    def formula(resamples: Resamples) -> Floats:
        values = resamples.answers.values
        x = (values - centre(values))[resamples.answers.cell_column, None]
        first = resamples.per_unit(resamples.cells * x)
        second = resamples.per_unit(resamples.cells * x**2)
        around = np.maximum(resamples.size * second - first**2, 0)
        variance = quotient(around, resamples.pairs, empty=0)
        if sd == "population":
            variance *= quotient(resamples.size - 1, resamples.size, empty=0)
        return resamples.mean(np.sqrt(variance), (resamples.pairs > 0).astype(np.float64))

    return formula


def _pairs_averaged(resamples: Resamples, amount: Floats, over: str) -> Floats:
    """The average of an amount per pair: of the averages of units, or of all pairs at once."""
    average = resamples.mean if over == "pairs" else resamples.mean_of_units
    return average(amount, resamples.pairs)
