"""The raters to look at first: consistency, bias, spread, straight-lining, opt-outs and speed, with reasons.

Nothing here says that a rater is wrong. A rater is flagged for standing out from the other raters of the
same group, and the reasons are words that a person can check against the judgments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.base import measure, table
from vantage.measures.intervals import ALIKE
from vantage.measures.parts import Part, check_level, counts, parts
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import OPTED_OUT, UNIT, By, Floats, Judgments, has_column, left_out_of

Correlation: TypeAlias = Literal["pearson", "spearman"]

OUTLIER: Final = 3.5
"""From how many robust standard deviations a rater stands out (Iglewicz and Hoaglin 1993)."""
UNLIKELY: Final = 0.001
"""A run of equal answers is flagged when chance makes one so long less often than this."""
RARE: Final = 5
"""How often the rarer of two answers must be given for a correlation."""


VIEW: Final = View(
    "How well each rater follows the others",
    columns={
        "estimate": Column("correlation with the others", digits=2),
        "bias": Column("mean minus the others'", digits=2, signed=True),
        "agreement": Column("same answer as others", percent=True, digits=0),
        "flags": Column("what stands out"),
    },
    show=("rater", "estimate", "bias", "agreement", "judgments", "flags"),
    notes=("Standing out is not a fault: look at the answers before you leave anyone out.",),
)


@measure("rater-quality", "reliability", view=VIEW, pools_questions=True, follows=True)
def rater_quality(
    data: Judgments,
    *,
    by: By = (),
    correlation: Correlation = "pearson",
    min_items: int = 5,
) -> pl.DataFrame:
    """Each rater's consistency with the others, and the reasons to look at some raters first.

    `estimate` is the leave-one-out correlation: that of the rater's answers with the mean of the other
    raters' answers to the same units, with a 95 % interval by Fisher's (1915) transformation. Further columns, all on
    units that somebody else answered too:

    * `bias`: the mean of the rater's answer minus the others' mean; `spread`: the standard deviation of
      the rater's answers over that of the others' answers to the same units;
    * `agreement`: the share of the others' answers that are equal to the rater's;
    * `top_share`: the share of the rater's most frequent answer; `longest_run`: the longest run of equal
      answers in the order of the rows; `expected_run`: how long chance makes it, given the rater's shares
      of answers (Schilling 1990);
    * `opt_outs`: the share of opt-outs among all the rater's judgments; `seconds`: the median time per
      judgment, where the table has a column of that name.

    `flags` says in words where a rater stands out by 3.5 robust standard deviations from the raters of the
    group (Iglewicz and Hoaglin 1993), runs against the others (the whole interval lies below zero), or gives one
    answer throughout. Raters with fewer than `min_items` answers are not flagged. The most flagged and least consistent
    stand first.

    >>> ratings = [[1, 2, 3, 4, 5, 6], [1, 2, 4, 4, 5, 6], [2, 2, 3, 5, 5, 7], [6, 5, 4, 3, 2, 1]]
    >>> worst = rater_quality(ratings).row(0, named=True)
    >>> worst["rater"], worst["flags"][0]
    (3, 'answers run against the others (r = -1.00, 95 % CI -1.00 to -0.96)')
    """
    timed = has_column(data, "seconds")
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=["seconds"] if timed else []):
        check_level(part.scale(), part.frame, "a correlation of raters", distances=True)
        about = counts(part.answered, part.frame)
        quality = _with_interval(_profiles(part, correlation, timed))
        deviation = part.frame["value"].std()
        two = part.answered["value"].n_unique() < 3  # of two answers, the spread says what the bias says
        looked_at = quality.drop("spread") if two else quality
        flags = _flags(looked_at, min_items, deviation if isinstance(deviation, float) else 0.0)
        missing = left_out_of(part.frame.lazy(), ["rater"])
        profiles = [
            {
                **part.key,
                "rater": row["rater"],
                "flags": reasons,
                **about,
                **row,
                "left_out": missing.get((row["rater"],), {}),
            }
            for row, reasons in zip(quality.rows(named=True), flags, strict=True)
        ]
        # Sorting keeps the order of names among equals.
        rows += sorted(profiles, key=lambda row: (-len(row["flags"]), row["reason"] or "", row["estimate"] or 0.0))
    if not rows:
        return table(rows, by)
    return table(rows, by).with_columns(pl.col("flags").cast(pl.List(pl.String))).drop("run_chance", "asked")


def _with_interval(profiles: pl.DataFrame) -> pl.DataFrame:
    """The profiles with the 95 % interval of each correlation, by Fisher's (1915) transformation."""
    reach, centre = 1.959964 / (pl.col("units") - 3).clip(1).sqrt(), pl.col("estimate").arctanh()
    perfect = pl.col("estimate").abs() > 1 - 1e-12  # which has no finite transform
    known = pl.col("estimate").is_not_null() & (pl.col("units") > 3) & ~perfect
    stated = {"low": (centre - reach).tanh(), "high": (centre + reach).tanh(), "over": pl.lit("items")}
    ends = [pl.when(known).then(end).alias(name) for name, end in stated.items()]
    return profiles.with_columns(*ends, reason=pl.when(perfect).then(pl.lit(ALIKE)).otherwise("reason"))


def _profiles(part: Part, correlation: Correlation, timed: bool) -> pl.DataFrame:
    """One row per rater, in the order of their names, with all that is known of them."""
    answered = pl.col("value").is_not_null()
    given = part.answered
    alone = pl.lit("shares fewer than three items with other raters")
    everything = part.frame.group_by("rater").agg(
        pl.len().alias("asked"),
        answered.sum().cast(pl.Int64).alias("judgments"),
        OPTED_OUT.mean().alias("opt_outs"),
        *([pl.col("seconds").cast(pl.Float64).median()] if timed else []),
    )
    return (
        _against_others(given, correlation)
        .join(_sameness(given), on="rater", how="full", coalesce=True)
        .join(everything, on="rater", how="right")
        .with_columns(pl.col("items", "units").fill_null(0))
        .with_columns(reason=pl.when(pl.col("estimate").is_null()).then(pl.coalesce("reason", alone)))
        .sort("rater")
    )


def _against_others(given: pl.DataFrame, correlation: Correlation) -> pl.DataFrame:
    """What the rater's answers are like beside those of others to the same units."""
    # Variances are differences of large sums; centred answers keep their digits.
    centred = pl.col("value") - (pl.col("value").mean() if len(given) else 0.0)
    # Numbers are sorted and grouped several times as fast as names; sums of floating-point numbers depend on order,
    # so there is one.
    names = given["rater"].unique().sort()
    rows = given.with_columns(*(_placed(given[name]) for name in (*UNIT, "rater")), value=centred)
    rows = rows.sort([*UNIT, "rater", "value"])
    same = rows.with_columns(same=pl.len().over([*UNIT, "value"]) - pl.len().over([*UNIT, "rater", "value"]))
    sums = {
        "n": pl.lit(1.0),
        "sum": pl.col("value"),
        "squares": pl.col("value") ** 2,
        "pairs_same": pl.col("same"),
    }
    cells = same.with_columns(**sums)
    if rows.select(pl.all_horizontal(pl.col(c) == pl.col(c).shift() for c in (*UNIT, "rater")).any()).item():
        cells = cells.group_by([*UNIT, "rater"], maintain_order=True).agg(pl.col(*sums).sum())
    others = [(pl.col(c).sum().over(UNIT) - pl.col(c)).alias(f"other_{c}") for c in ("n", "sum", "squares")]
    beside = (
        cells.with_columns(others)
        .filter(pl.col("other_n") > 0)
        .with_columns((pl.col("sum") / pl.col("n")).alias("x"), (pl.col("other_sum") / pl.col("other_n")).alias("y"))
    )
    if correlation == "spearman":
        # Means that are equal on paper can differ in the last digit, which a rank would make much of.
        ranks = [
            (pl.col(c) / pl.col(c).abs().max()).round(9).rank("average").over("rater").alias(f"{c}_rank")
            for c in ("x", "y")
        ]
        beside = beside.with_columns(ranks)
    a, b = ("x_rank", "y_rank") if correlation == "spearman" else ("x", "y")
    varies = [pl.col(c).max() - pl.col(c).min() > 1e-9 * pl.col(c).abs().max() for c in ("x", "y")]
    theirs = _deviation("other_n", "other_sum", "other_squares")
    # Of two answers of which one is hardly ever given, a correlation says little and has no interval.
    rarest = pl.min_horizontal(pl.len() - pl.col(c).round(9).unique_counts().max() for c in ("x", "y"))
    rare = (pl.col("x").round(9).n_unique() == 2) & (rarest < RARE)
    profiles = beside.group_by("rater").agg(
        pl.when(pl.len() > 2, *varies, ~rare).then(pl.corr(a, b)).alias("estimate"),
        (pl.col("x") - pl.col("y")).mean().alias("bias"),
        pl.when(theirs > 0).then(_deviation("n", "sum", "squares") / theirs).alias("spread"),
        (pl.col("pairs_same").sum() / (pl.col("n") * pl.col("other_n")).sum()).alias("agreement"),
        pl.col("item").n_unique().cast(pl.Int64).alias("items"),
        pl.len().cast(pl.Int64).alias("units"),
        pl.when(pl.len() < 3)
        .then(pl.lit("shares fewer than three items with other raters"))
        .when(~varies[0])
        .then(pl.lit("gives one answer throughout"))
        .when(~varies[1])
        .then(pl.lit("the others' means do not vary"))
        .when(rare)
        .then(pl.lit(f"one of two answers was given fewer than {RARE} times"))
        .alias("reason"),
    )
    return profiles.with_columns(rater=names.gather(profiles["rater"]))


def _placed(column: pl.Series) -> pl.Series:
    """The place of each value among the values in their order, from 0."""
    if column.dtype == pl.String:
        return column.cast(pl.Enum(column.unique().sort())).to_physical()
    return column.rank("dense") - 1


def _deviation(n: str, total: str, squares: str) -> pl.Expr:
    """The standard deviation of answers known by their number, sum and squares; null for one answer."""
    count = pl.col(n).sum()
    variance = (pl.col(squares).sum() - pl.col(total).sum() ** 2 / count) / (count - 1)
    rounding = 1e-12 * pl.col(squares).sum()
    return pl.when(count > 1).then(pl.when(variance > rounding).then(variance.sqrt()).otherwise(0.0))


def _sameness(given: pl.DataFrame) -> pl.DataFrame:
    """How much a rater repeats one answer: its share, the longest run, what chance makes of it."""
    shares = given.group_by("rater", "value").len("n").with_columns(p=pl.col("n") / pl.col("n").sum().over("rater"))
    changed = (pl.col("value") != pl.col("value").shift()).fill_null(True)
    lengths = (
        given.select("rater", changed.cum_sum().over("rater").alias("run"))
        .group_by("rater", "run")
        .len("length")
        .group_by("rater")
        .agg(pl.col("length").max().cast(pl.Int64).alias("longest_run"))
    )
    top, n = pl.col("p").max(), pl.col("n").sum()
    chance = ((n * (1 - top)).log() + np.euler_gamma) / (1 / top).log() - 0.5
    runs = (pl.col("n") * (1 - pl.col("p")) * pl.col("p") ** (pl.col("longest_run") - 1)).sum()
    return (
        shares.join(lengths, on="rater")
        .group_by("rater")
        .agg(
            top.alias("top_share"),
            pl.col("longest_run").first(),
            pl.when(top < 1).then(chance.clip(1, n)).otherwise(n.cast(pl.Float64)).alias("expected_run"),
            # Runs of at least this length are rare and nearly independent, so their number is Poisson.
            pl.when(top < 1).then(1 - (-runs).exp()).otherwise(1.0).alias("run_chance"),
        )
    )


@dataclass(frozen=True, slots=True)
class _Check:
    """When a column makes a rater stand out, and how to say so."""

    column: str
    side: int
    least: float
    """A difference from the typical rater that matters; in standard deviations of answers for a bias."""
    words: str
    ratio: bool = False
    """Whether differences are ratios: compared as logarithms."""

    def standing_out(self, values: Floats, unit: float) -> tuple[NDArray[np.bool_], float]:
        """Which raters stand out, and what is typical."""
        compared = np.log(np.maximum(values, 1e-9)) if self.ratio else values
        typical = float(np.nanmedian(compared))
        far = np.nan_to_num(robust_z(compared)) * self.side > OUTLIER
        far &= np.nan_to_num(compared - typical) * self.side >= self.least * unit
        return far, float(np.exp(typical)) if self.ratio else typical


_CHECKS: Final = (
    _Check("estimate", -1, 0.2, "agrees little with the others (r = {0:.2f}, typically {1:.2f})"),
    *(
        _Check("bias", side, 0.5, "lies {0:+.2f} points from the others on the same items (typically {1:+.2f})")
        for side in (1, -1)
    ),
    _Check("spread", -1, 0.4, "uses a narrow part of the scale ({0:.2f} of the others' spread)", ratio=True),
    _Check("spread", 1, 0.4, "uses the ends of the scale ({0:.2f} times the others' spread)", ratio=True),
    _Check("top_share", 1, 0.2, "gives one answer in {0:.0%} of judgments (typically {1:.0%})"),
    _Check("opt_outs", 1, 0.1, "opts out of {0:.0%} of judgments (typically {1:.0%})"),
    _Check("seconds", -1, 0.7, "is fast: {0:.1f} seconds a judgment (typically {1:.1f})", ratio=True),
    _Check("seconds", 1, 0.7, "is slow: {0:.1f} seconds a judgment (typically {1:.1f})", ratio=True),
)


def _flags(profiles: pl.DataFrame, min_items: int, deviation: float) -> list[list[str]]:
    """For each rater the reasons to look at them."""
    flags: list[list[str]] = [[] for _ in range(len(profiles))]
    known = np.flatnonzero(profiles["asked"].to_numpy() >= min_items)
    certain = {(int(i), column) for i in known for column in _always(profiles.row(int(i), named=True), flags[i])}
    for check in _CHECKS:
        if check.column not in profiles.columns:
            continue
        values = profiles[check.column].cast(pl.Float64).to_numpy()[known]
        if np.isfinite(values).sum() < 3:
            continue
        far, typical = check.standing_out(values, deviation if check.column == "bias" else 1.0)
        for i, value in zip(known[far].tolist(), values[far].tolist(), strict=True):
            if (i, check.column) not in certain:
                flags[i].append(check.words.format(value, typical).replace("-", "−").replace("%", " %"))
    return flags


def _always(rater: Mapping[str, Any], flags: list[str]) -> list[str]:
    """Flags what needs no comparison with other raters; the columns that it has spoken of."""
    columns = []
    if rater["high"] is not None and rater["high"] < 0:
        ends = f"{rater['low']:.2f} to {rater['high']:.2f}"
        flags.append(f"answers run against the others (r = {rater['estimate']:.2f}, 95 % CI {ends})")
        columns.append("estimate")
    if rater["top_share"] == 1 and rater["judgments"] > 1:
        flags.append(f"gave the same answer all {rater['judgments']} times")
        columns += ["top_share", "spread"]
    elif rater["run_chance"] is not None and rater["run_chance"] < UNLIKELY:
        run, chance = rater["longest_run"], rater["expected_run"]
        flags.append(f"gave {run} equal answers in a row (by chance about {chance:.0f})")
    return columns


def robust_z(values: Floats) -> Floats:
    """Distances from the median in robust standard deviations (Iglewicz and Hoaglin 1993); NaN stays NaN.

    Their rule divides by the median absolute deviation, and where that is zero, because more than half of
    the values are equal, by the mean absolute deviation.

    >>> robust_z(np.array([1.0, 2.0, 3.0, 4.0, 100.0])).round(2).tolist()
    [-1.35, -0.67, 0.0, 0.67, 65.43]
    >>> robust_z(np.array([0.0, 0.0, 0.0, 1.0])).round(2).tolist()
    [0.0, 0.0, 0.0, 3.19]
    """
    away = values - np.nanmedian(values)
    spread = np.nanmedian(np.abs(away)) / 0.6745 or 1.253314 * np.nanmean(np.abs(away))
    return away / spread if spread > 0 else away
