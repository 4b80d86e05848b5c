"""Answers that are missing where they would have been high or low: recognised, said, and bounded.

A refusal that has nothing to do with the answer costs precision; one that goes with it moves every number made of the
answers that are left. What raters would have said is unknown, but more refusals on items whose other raters answered
high mean that high answers are refused, and so may fewer answers where no judgment says that any are missing. In the
same way items may go to raters by what these would say of them: severe raters who judge the low items agree more with
each other than any two raters would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from vantage.measures.codes import dense
from vantage.measures.ratings import OPTED_OUT, UNIT, By, Floats, Ints, Judgments, Key, by_columns, judgments_query
from vantage.measures.relations.correlations import coefficient, p_of_pearson, p_value, weighted_correlation

CHANCE: Final = 0.005
"""Below this p, what is missing goes with the answers. Every table is checked, so few may be suspected by chance."""
LEAST_UNITS: Final = 10
LEAST_RATERS: Final = 10
LEAST_ANSWERS: Final = 5
"""Raters with fewer answers do not show how they answer."""
MOST_CELLS: Final = 250_000
"""Larger tables, of units by raters, are not checked for who was given what."""
BEYOND: Final = (-3.9, 2.6)
"""How far, in standard errors of Fisher's z, raters' answers go with those to their items beyond chance. Errors in how
high a rater answers take from the level of the items, so that chance is below zero."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The judgments of a group that have neither a value nor an opt-out, and how they go with the answers."""

    missing: int
    asked: int
    correlation: float
    """Of the share that is missing with the mean of the answers given, over units."""
    p: float
    share: float
    """The share of what was asked that is missing, on average over units that have an answer."""
    kept: float
    """What the answers given add to the mean of all."""

    @property
    def note(self) -> str | None:
        """What to say of it, where it matters."""
        if self.p >= CHANCE:
            return None
        where = "high" if self.correlation > 0 else "low"
        return (
            f"{self.missing} of {self.asked} answers are missing, more of them on items with {where} answers "
            f"(r = {self.correlation:.2f}), so those given may not represent them"
        )

    def bounds(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Between what values the mean of all answers lies, whatever the missing ones are (Manski 1989)."""
        low, high = ends
        return self.kept + self.share * low, self.kept + self.share * high


def gaps(data: Judgments, by: By) -> Mapping[Key, Gap]:
    """What is missing in each group of which something is.

    >>> said = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    >>> rows = [(i, r, v if r > v - 2 else None) for i, v in enumerate(said) for r in range(4)]
    >>> table = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")
    >>> gap = gaps(table, ())[()]
    >>> gap.missing, round(gap.correlation, 2), gap.bounds((0.0, 4.0))
    (15, 0.98, (1.1, 2.6))
    """
    columns = by_columns(by)
    query = judgments_query(data, columns)
    unit = [column for column in UNIT if column in query.collect_schema() and column not in columns]
    lost = (pl.col("value").is_null() & ~OPTED_OUT).sum().cast(pl.Float64)
    units = query.group_by([*columns, *unit]).agg(
        mean=pl.col("value").mean(), lost=lost, answered=pl.col("value").count().cast(pl.Float64)
    )
    units = units.with_columns(asked=pl.col("lost") + pl.col("answered")).filter(pl.col("answered") > 0)
    table = units.collect()
    groups = table.partition_by(columns, as_dict=True) if columns else {(): table}
    return {key: gap for key, part in groups.items() if (gap := _gap(part)) is not None}


def _gap(units: pl.DataFrame) -> Gap | None:
    lost, asked, mean = (units[name].to_numpy() for name in ("lost", "asked", "mean"))
    if not lost.any():
        return None
    share = lost / asked
    correlation, p = 0.0, 1.0
    if len(units) >= LEAST_UNITS and np.ptp(share) > 0 and np.ptp(mean) > 0:
        correlation, p = coefficient(share, mean, "pearson"), p_value(share, mean, "pearson") or 0.0
    return Gap(
        int(lost.sum()), int(asked.sum()), correlation, p, float(share.mean()), float(((1 - share) * mean).mean())
    )


def thinned(size: Floats, mean: Floats, times: Ints) -> str | None:
    """What to say of a mean where units with high answers have fewer answers, or those with low ones.

    Answers that were never recorded leave no status behind, but they leave the units that they belong to with fewer.
    `times` says how many units have each size and mean.

    >>> mean = np.repeat([1.0, 2.0, 3.0, 4.0], 5)
    >>> thinned(9 - 2 * mean + np.tile([0.0, 1.0], 10), mean, np.ones(20, dtype=np.int64)).split(" (")[0]
    'items with high answers have fewer answers'
    >>> thinned(np.full(20, 3.0), mean, np.ones(20, dtype=np.int64)) is None
    True
    """
    units = int(times.sum())
    if units < LEAST_UNITS or np.ptp(size) == 0 or np.ptp(mean) == 0:
        return None
    r = float(weighted_correlation(size, mean, times[None, :].astype(np.float64), "pearson")[0])
    if p_of_pearson(r, units) >= CHANCE:
        return None
    end, side = ("high", "low") if r < 0 else ("low", "high")
    return (
        f"items with {end} answers have fewer answers (r = {r:.2f}); if {end} answers are missing, the estimate is too "
        f"{side}"
    )


def allocated(unit: Ints, rater: Ints, value: Floats) -> str | None:
    """What to say where raters who answer high were given the items with high answers, or with low ones.

    How high raters answer is known from comparisons within items, what their items are like from answers freed of that.

    >>> rng = np.random.default_rng(0)
    >>> item = np.repeat(np.arange(60), 4)
    >>> rater = np.clip(item // 3 + rng.integers(-4, 5, 240), 0, 19)
    >>> value = item / 10 + rater / 5 + rng.normal(size=240)
    >>> allocated(item, rater, value).split(" (")[0]
    'raters who answer higher judged items with higher answers'
    """
    rater, raters = dense(rater)
    units = int(unit.max(initial=-1)) + 1
    gaps = len(value) < units * raters <= MOST_CELLS
    if not gaps or raters < LEAST_RATERS or units < LEAST_UNITS:
        return None
    met = np.bincount(unit * raters + rater, minlength=units * raters).reshape(units, raters).astype(np.float64)
    size, given = met.sum(axis=1), met.sum(axis=0)
    within = value - (np.bincount(unit, value) / size)[unit]
    left = np.diag(given) - met.T @ (met / size[:, None]) + 1e-8 * given.mean() * np.eye(raters)
    high = np.linalg.solve(left, np.bincount(rater, within))
    items = np.bincount(unit, value - high[rater]) / size
    level = np.bincount(rater, items[unit]) / given
    enough = given >= LEAST_ANSWERS
    high, level = high[enough], level[enough]
    if len(high) < LEAST_RATERS or min(high.std(), level.std()) < 1e-9 * max(np.abs(value).max(), 1e-300):
        return None
    r = coefficient(high, level, "pearson")
    z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) * (len(high) - 3) ** 0.5
    if BEYOND[0] < z < BEYOND[1]:
        return None
    return (
        f"raters who answer higher judged items with {'higher' if r > 0 else 'lower'} answers (r = {r:.2f}), so that "
        "agreement is not that of raters who get their items by chance"
    )
