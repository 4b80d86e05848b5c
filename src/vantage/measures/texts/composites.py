"""Composite scores: from single questions to facets and dimensions, and how far they depend on run and wording.

An instrument says which questions make a score (`aggregates`: traits → facets → dimensions). The results have the
columns of judgments, so every other measure takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.instruments.instrument import Aggregate
from vantage.measures.base import table
from vantage.measures.intervals import CORRELATIONS
from vantage.measures.parts import names, partitioned
from vantage.measures.ratings import By, Floats, Judgments, by_columns, judgments_frame
from vantage.measures.relations.correlations import coefficient, weighted_correlation
from vantage.measures.resampling import Resampling, mean_with_interval, ratio
from vantage.scales import UNANSWERED

Members: TypeAlias = Literal["all", "some"]

KEY: Final = ("item", "rater", "condition", "sample")
"""One run of one rater over one item."""
_WORST: Final = (*UNANSWERED, "ambiguous", "not_mentioned")
"""What an incomplete score is put down to, the first that applies; else another opt-out."""


def composites(
    data: Judgments, instrument: Instrument, *, by: Sequence[str] = (), members: Members = "all"
) -> pl.DataFrame:
    """The scores that an instrument declares, one per item, rater, condition and sample.

    A score is the mean of its members, questions or earlier scores, reversed ones counted from the other end of
    the scale. With `members="all"` a score with a missing member is missing, under the status of what is missing
    (a refusal before an unreadable reply); with `some` it is the mean of the members that have a value.

    >>> instrument = Instrument.load("stereotype-content:extended")
    >>> answers = {"item": ["nurses"] * 4, "rater": ["m"] * 4, "value": [5, 4, 4, 3],
    ...            "question": ["friendly", "sociable", "trustworthy", "honest"]}
    >>> result = composites(answers, instrument)
    >>> result.filter(pl.col("value").is_not_null()).select("question", "value").rows()
    [('sociability', 4.5), ('morality', 3.5), ('warmth', 4.0)]
    """
    if not instrument.aggregates:
        raise InputError(f"instrument '{instrument.id}' declares no scores", remedy="use one with aggregates")
    frame = judgments_frame(data, by).with_columns(pl.col("status").cast(pl.String))
    keys = [*KEY, *(column for column in by if column not in KEY)]
    answers = frame.select(*keys, "question", "value", "status")
    runs = frame.select(keys).unique(maintain_order=True)
    scores: list[pl.DataFrame] = []
    for aggregate in instrument.aggregates:
        score = _score(answers, runs, keys, aggregate, instrument, members)
        answers = pl.concat([answers, score])
        scores.append(score)
    return pl.concat(scores).select(*keys, "question", "value", "status")


def _score(
    answers: pl.DataFrame,
    runs: pl.DataFrame,
    keys: Sequence[str],
    aggregate: Aggregate,
    instrument: Instrument,
    members: Members,
) -> pl.DataFrame:
    """One score of every run; a member that was never asked counts as missing."""
    ends = {question.id: sum(question.scale.ends) for question in instrument.questions}
    turned = [member for member in aggregate.members if member in aggregate.reversed]
    if unknown := [member for member in turned if member not in ends]:
        raise InputError(f"score '{aggregate.id}' reverses '{unknown[0]}', which is not a question")
    value = pl.col("value")
    for member in turned:
        value = pl.when(pl.col("question") == member).then(ends[member] - value).otherwise(value)
    mine = answers.filter(pl.col("question").is_in(list(aggregate.members))).with_columns(value.alias("value"))
    least = len(aggregate.members) if members == "all" else 1
    unanswered = pl.col("status").filter(pl.col("value").is_null())
    worst: pl.Expr = unanswered.filter(unanswered != "missing").sort().first().fill_null("missing")
    for reason in reversed(_WORST):
        worst = pl.when((unanswered == reason).any()).then(pl.lit(reason)).otherwise(worst)
    scored = mine.group_by(keys).agg(
        pl.when(pl.col("value").count() >= least).then(pl.col("value").mean()).alias("value"), worst.alias("status")
    )
    joined = runs.join(scored, on=list(keys), how="left", nulls_equal=True, maintain_order="left")
    status = pl.when(pl.col("value").is_not_null()).then(pl.lit("answered")).otherwise(pl.col("status"))
    return joined.select(
        *keys,
        pl.lit(aggregate.id).alias("question"),
        "value",
        status.fill_null("missing").alias("status"),
    )


def expected_values(judgments: pl.DataFrame) -> pl.DataFrame:
    """Judgments whose values are the expected ones wherever a rater's whole distribution is known.

    The most probable answer of a model that was read by option scoring hides how close the others were.

    >>> scored = pl.DataFrame({"value": [3.0, 4.0], "expected": [2.6, None]})
    >>> expected_values(scored)["value"].to_list()
    [2.6, 4.0]
    """
    if "expected" not in judgments.columns:
        return judgments
    return judgments.with_columns(pl.coalesce("expected", "value").alias("value"))


def item_means(data: Judgments, *, by: By = ("rater", "question")) -> pl.DataFrame:
    """The mean of each item over raters and runs: with the number of runs, their variance (n − 1) and their spread.

    `cv`, the coefficient of variation, is standard deviation over mean; it depends on where the scale has its zero.

    >>> answers = {"item": ["a", "a", "b"], "rater": ["m"] * 3, "sample": [0, 1, 0], "value": [4, 2, 5]}
    >>> item_means(answers, by="rater").select("item", "mean", "variance", "runs").rows()
    [('a', 3.0, 2.0, 2), ('b', 5.0, None, 1)]
    """
    columns = by_columns(by)
    frame = judgments_frame(data, columns)
    keys = [*columns, "item"]
    value = pl.col("value")
    mean = value.mean()
    means = frame.group_by(keys).agg(
        mean.alias("mean"),
        value.var().alias("variance"),
        pl.when(mean != 0).then(value.std() / mean).alias("cv"),
        value.count().cast(pl.Int64).alias("runs"),
        value.null_count().cast(pl.Int64).alias("missing"),
    )
    return means.sort(keys)


def extremes(means: pl.DataFrame, *, by: By = ("rater", "question"), count: int = 10) -> pl.DataFrame:
    """The items with the highest and the lowest means of a result of `item_means`; equal ones by name.

    `tied` is the number of items beyond the list that have the mean of its last one.

    >>> answers = {"item": ["a", "b", "c", "d"], "rater": ["m"] * 4, "value": [5, 1, 1, 1]}
    >>> lowest = extremes(item_means(answers), count=2).filter(end="lowest")
    >>> lowest.select("place", "item", "mean", "tied").rows()
    [(1, 'b', 1.0, 1), (2, 'c', 1.0, 1)]
    """
    if count < 1:
        raise InputError(f"{count} items cannot be listed", remedy="ask for at least one")
    columns = by_columns(by)
    known = means.drop_nulls("mean").with_columns(pl.col("mean").round(9).alias("__rounded"))
    within = pl.col("place") <= count
    frames = []
    for end, descending in (("highest", True), ("lowest", False)):
        ordered = known.sort([*columns, "__rounded", "item"], descending=[False] * len(columns) + [descending, False])
        ranked = ordered.with_columns(pl.int_range(1, pl.len() + 1).over(columns).alias("place"))
        last = pl.col("__rounded").filter(within).last()
        tied = (~within & (pl.col("__rounded") == last)).sum().over(columns).cast(pl.Int64)
        frames.append(ranked.with_columns(pl.lit(end).alias("end"), tied.alias("tied")).filter(within))
    stacked = pl.concat(frames).drop("__rounded")
    own = [name for name in stacked.columns if name not in (*columns, "end", "place")]
    return stacked.select(*columns, "end", "place", *own)


def scores_by_run(scores: pl.DataFrame, questions: Sequence[str]) -> tuple[list[str], list[tuple[Any, ...]], Floats]:
    """Composite scores as an array of items × questions × runs, NaN where there is none.

    Also the items, in the order of their names, and the runs: (rater, condition, sample).
    """
    known = scores["question"].unique().to_list()
    for question in questions:
        if question not in known:
            raise InputError(f"there is no score '{question}'", remedy=nearest(question, sorted(known)))
    items = scores["item"].unique().sort().to_list()
    runs = sorted(scores.select("rater", "condition", "sample").unique().iter_rows())
    place = {item: n for n, item in enumerate(items)}, {run: n for n, run in enumerate(runs)}
    cube = np.full((len(items), len(questions), len(runs)), np.nan)
    for d, question in enumerate(questions):
        mine = scores.filter(pl.col("question") == question, pl.col("value").is_not_null())
        for item, rater, condition, sample, value in mine.select(*KEY, "value").iter_rows():
            cube[place[0][item], d, place[1][rater, condition, sample]] = value
    return items, runs, cube


def run_spread(
    data: Judgments,
    *,
    by: By = ("rater", "condition", "question"),
    runs: int | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """How far the runs of a rater differ: the coefficient of variation per item, its mean and its maximum.

    It is standard deviation (n − 1) over mean, of the runs of one item. `estimate` is its mean over items, with an
    interval over items; `largest` its maximum and `item` where it occurs; `deviation` the mean standard deviation. With
    `runs`, only the first so many count, since a maximum grows with their number.

    >>> answers = {"item": ["a", "a", "b", "b"], "rater": ["m"] * 4, "sample": [0, 1] * 2, "value": [2, 4, 3, 3]}
    >>> run_spread(answers).select(pl.col("estimate", "largest").round(3), "item").rows()
    [(0.236, 0.471, 'a')]
    """
    columns = names(by)
    frame = judgments_frame(data, columns)
    if runs is not None:
        if runs < 2:
            raise InputError(f"{runs} runs have no spread", remedy="use at least two")
        first = pl.col("sample").rank("dense").over("rater", "condition") <= runs
        frame = frame.filter(first)
    how = Resampling("items", seed=seed)
    rows: list[dict[str, Any]] = []
    for key, part in partitioned(item_means(frame, by=columns), columns):
        known = part.drop_nulls("cv")
        counted = known["runs"].to_numpy()
        row: dict[str, Any] = {**key, "largest": None, "item": None, "deviation": None, "runs": 0}
        row |= {"items": len(known), "judgments": int(counted.sum())}
        if known.is_empty():
            rows.append({**row, "reason": "no item has two runs"})
            continue
        largest = known.sort("cv", "item", descending=[True, False]).row(0, named=True)
        deviation = float(np.sqrt(known["variance"].to_numpy()).mean())
        row |= {"largest": largest["cv"], "item": largest["item"], "deviation": deviation, "runs": int(counted.max())}
        rows.append({**row, **mean_with_interval(known["item"], known["cv"].to_numpy(), how)})
    return table(rows, columns)


def condition_agreement(
    data: Judgments,
    *,
    base: str = "",
    by: By = ("rater", "question"),
    seed: int = 0,
) -> pl.DataFrame:
    """How far each other condition gives the items the same means as the `base` one.

    `estimate` is Spearman's correlation of the items' means, with an interval over items; `difference` the mean of
    condition minus base, with an interval of its own; `absolute` the mean of its size, and `cv` the mean coefficient of
    variation of an item's two means.

    >>> answers = {"item": ["a", "b", "c"] * 2, "rater": ["m"] * 6, "value": [1, 2, 3, 2, 3, 4],
    ...            "condition": [""] * 3 + ["bare"] * 3}
    >>> condition_agreement(answers).select("condition", "estimate", "difference", "absolute").rows()
    [('bare', 1.0, 1.0, 1.0)]
    """
    columns = names(by)
    frame = judgments_frame(data, columns)
    present = frame["condition"].unique().sort().to_list()
    if base not in present:
        raise InputError(f"there is no condition '{base}'", remedy=nearest(base, present))
    how = Resampling("items", seed=seed)
    rows: list[dict[str, Any]] = []
    for key, part in partitioned(frame, columns):
        means = part.group_by("item", "condition").agg(pl.col("value").mean().alias("mean")).drop_nulls("mean")
        first = means.filter(pl.col("condition") == base).select("item", "mean")
        for condition in [name for name in part["condition"].unique().sort().to_list() if name != base]:
            second = means.filter(pl.col("condition") == condition).select("item", "mean")
            both = first.join(second, on="item", suffix="_other").sort("item")
            row: dict[str, Any] = {**key, "condition": condition, "items": len(both)}
            row |= dict.fromkeys(("difference", "difference_low", "difference_high", "absolute", "cv"))
            if both.is_empty():
                rows.append({**row, "reason": "no item has both"})
                continue
            rows.append({**row, **_agreement(both["mean"].to_numpy(), both["mean_other"].to_numpy(), how)})
    return table(rows, columns)


def _agreement(x: Floats, y: Floats, how: Resampling) -> dict[str, Any]:
    """The numbers of one pair of conditions."""
    pair = np.column_stack([x, y])
    centre = pair.mean(axis=1)
    spread = np.divide(pair.std(axis=1, ddof=1), centre, out=np.zeros(len(x)), where=centre != 0)
    low, high = how.of_sums(np.column_stack([y - x, np.ones(len(x))]), ratio)
    row: dict[str, Any] = {"difference": float((y - x).mean()), "difference_low": low, "difference_high": high}
    row |= {"absolute": float(np.abs(y - x).mean()), "cv": float(spread.mean())}
    estimate = coefficient(x, y, "spearman") if len(x) > 1 else np.nan
    if not np.isfinite(estimate):
        return {**row, "reason": "the means of one condition do not vary"}

    def correlation(weight: Floats) -> Floats:
        return weighted_correlation(x, y, weight, "spearman")[:, None]

    return {**row, "estimate": estimate, **how.stated(how.intervals(len(x), correlation, limits=[CORRELATIONS])[0])}
