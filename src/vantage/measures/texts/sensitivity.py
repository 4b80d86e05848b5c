"""How far scores depend on the run and on the wording of the prompt: spread over runs, agreement between conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import table
from vantage.measures.parts import names, partitioned
from vantage.measures.ratings import By, Floats, Judgments, judgments_frame
from vantage.measures.relations.correlations import Correlation, coefficient, weighted_correlation
from vantage.measures.resampling import Resampling, mean_with_interval, ratio
from vantage.measures.texts.composites import item_means


def run_spread(
    data: Judgments,
    *,
    by: By = ("rater", "condition", "question"),
    runs: int | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """How far the runs of a rater differ: the coefficient of variation per item, its mean and its maximum.

    The coefficient is standard deviation (n − 1) over mean, of the runs of one item. `estimate` is its mean over items,
    with an interval over items; `largest` its maximum and `item` where it occurs; `deviation` the mean standard
    deviation, which does not depend on where the scale has its zero. With `runs`, only the first so many runs count,
    since a maximum grows with the number of items and a small sample of runs is noisier than a large one.

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
    how = Resampling("items", "percentile", resamples, confidence, seed)
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
    correlation: Correlation = "spearman",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """How far each other condition gives the items the same means as the `base` one.

    `estimate` is the correlation of the items' means, with an interval over items; `difference` the mean of condition
    minus base, with an interval of its own; `absolute` the mean of its size, and `cv` the mean coefficient of variation
    of an item's two means.

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
    how = Resampling("items", "percentile", resamples, confidence, seed)
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
            rows.append({**row, **_agreement(both["mean"].to_numpy(), both["mean_other"].to_numpy(), correlation, how)})
    return table(rows, columns)


def _agreement(x: Floats, y: Floats, correlation: Correlation, how: Resampling) -> dict[str, Any]:
    """The numbers of one pair of conditions."""
    pair = np.column_stack([x, y])
    centre = pair.mean(axis=1)
    spread = np.divide(pair.std(axis=1, ddof=1), centre, out=np.zeros(len(x)), where=centre != 0)
    low, high = how.of_sums(np.column_stack([y - x, np.ones(len(x))]), ratio)
    row: dict[str, Any] = {
        "difference": float((y - x).mean()),
        "difference_low": low,
        "difference_high": high,
        "absolute": float(np.abs(y - x).mean()),
        "cv": float(spread.mean()),
    }
    estimate = coefficient(x, y, correlation) if len(x) > 1 else np.nan
    if not np.isfinite(estimate):
        return {**row, "reason": "the means of one condition do not vary"}
    bounds = how.intervals(len(x), lambda w: weighted_correlation(x, y, w, correlation)[:, None])[0]
    return {**row, "estimate": estimate, **how.stated(bounds)}
