"""Comparisons of two groups: a test, an effect size with an interval, and a correction for many tests."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import BLOCK_BYTES, Method, percentile, weights
from vantage.measures.models.two_groups import can_be_told, two_groups
from vantage.measures.multiplicity import Correction, adjusted, share_beyond
from vantage.measures.parts import DISJOINT, check_level, constant_within, counts, names, parts, share_items
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import UNIT, By, Floats, Judgments, judgments_frame
from vantage.measures.relations.correlations import midranks
from vantage.measures.reliability.rater_scores import is_complete, rater_scores
from vantage.measures.reliability.variance_design import VarianceDesign
from vantage.measures.resampling import Resampling

Test: TypeAlias = Literal["t", "welch", "mixed", "wilcoxon", "mann_whitney", "permutation"]
Effect: TypeAlias = Literal["d", "g", "dz", "rank_biserial", "cliffs_delta"]

FEW_UNITS: Final = 10
"""With fewer units in a group there is no bootstrap interval."""
MANY_UNITS: Final = 50
"""With fewer, standardised differences have the interval of the non-central t distribution. At 11 units a group and an
effect of 1, bootstrap intervals of g held it in 91 % (79 % of skewed scores) of 300 samples, these in 94 % (92 %)."""
FEW_RATERS: Final = 5
"""A group of fewer raters has no p-value: nobody can tell a group's character from a person's."""
MODELLED: Final = "p is that of a model of items and raters, the interval is about these raters"
CONFOUNDED: Final = "what sets them apart counts as a difference of the groups, and p may be too small"
SEVERAL: Final = 6
"""Raters with as many answers would hardly have one value of a column that varies from answer to answer."""
_UNTESTED: Final[dict[str, Any]] = dict.fromkeys(
    ("first_mean", "second_mean", "difference", "statistic", "p", "p_permutation")
)
_PAIRED: Final[dict[str, str]] = {"t": "dz", "wilcoxon": "rank_biserial", "permutation": "dz"}
_UNPAIRED: Final[dict[str, str]] = {
    "t": "g",
    "welch": "g",
    "mixed": "g",
    "mann_whitney": "cliffs_delta",
    "permutation": "g",
}


VIEW: Final = View(
    "Two groups compared",
    columns={
        "difference": Column(digits=2, signed=True),
        "estimate": Column("effect size", digits=2, signed=True),
        "p": Column(digits=3),
        "p_adjusted": Column("p (corrected)", digits=3),
    },
    show=("first", "second", "difference", "effect", "estimate", "test", "units", "p", "p_adjusted", "reason"),
    says=(
        Against(
            0.0,
            above="{first} give higher answers than {second}[ about {rows}]",
            below="{first} give lower answers than {second}[ about {rows}]",
            within="{first} and {second} cannot be told apart[ about {rows}]",
            value="difference",
            p="p",
        ),
    ),
    method="Groups were compared by a test of their mean answers (correction: {correction}).",
    sources=("holm1979",),
)


@measure("compare", "relations", view=VIEW)
def compare(
    data: Judgments,
    *,
    by: By = (),
    between: str,
    values: Sequence[object] | None = None,
    unit: By | None = None,
    paired: bool | None = None,
    test: Test | None = None,
    effect: Effect | None = None,
    aggregate: Literal["mean", "median"] = "mean",
    correction: Correction = "holm",
    permutations: int = 10000,
    ci: Literal["auto", "items", "raters", "runs", "none"] = "auto",
    interval: Method = "percentile",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Do two groups judge differently? A test and an effect size for every two values of a column.

    The design decides what the units are, unless `unit` and `paired` do. A column that is constant within raters (a
    trait, a condition that each person sees one of) compares raters: the unit is the rater, the two groups are
    separate samples, and each rater has one score, freed from the items that the rater happened to judge (see
    `reliability.rater_scores`). Items as units would take every answer of a person for another person's. A column
    that varies within raters compares items with themselves; one that is constant within items, separate items. Where
    it varies within some raters only, the test is `mixed`, and `reason` counts the others.
    `between="rater"` compares two raters on the items of both, and says nothing about others. For several traits at
    once `explain` is better: it holds the other traits constant.

    Otherwise a unit has one score per group: the mean or median of its answers. Paired, the units that both groups
    have are compared with themselves; unpaired, the two groups' units are separate samples.

    Tests: paired `t`, `wilcoxon` (signed ranks, zeros dropped) and `permutation` of signs; unpaired `t`
    (equal variances), `welch`, `mann_whitney`, `permutation` of group membership and, for groups of raters, `mixed`:
    the difference in a model with crossed random effects of items and raters (see `explain`), which weighs raters by
    what their answers say and compares them within items, so that it does not matter if one group was given the
    items that everyone rates higher. All two-sided. Groups of raters that share no item are not compared; `reason`
    says so. By default paired t or Welch, and `mixed` for groups of raters who did not all judge the same items;
    means and difference are then those of the model. Where raters are the units, `p_permutation` regroups them
    whatever the test, and a group of fewer than five raters has neither a p-value nor an interval: `reason` says
    so. Effect sizes, as `estimate`, positive when the first group is higher:

    * `d`: difference of means / pooled standard deviation (Cohen 1988); `g`: d corrected for small
      samples by 1 − 3 / (4(n₁ + n₂ − 2) − 1) (Hedges 1981);
    * `dz` (paired): mean of the differences / their standard deviation (Cohen 1988);
    * `rank_biserial` (paired): share of positive minus share of negative signed ranks (Kerby 2014);
    * `cliffs_delta` (unpaired): P(first > second) − P(first < second) (Cliff 1993).

    The interval resamples units, and `over` says what these are. With fewer than fifty that of d, g and dz comes from
    the non-central t distribution, since resamples of few units hold the effect too rarely; with fewer than ten the
    others have none. `p_adjusted` corrects over all rows of the result.

    >>> answers = {"item": [1, 2, 3, 4] * 2, "rater": ["a"] * 8, "value": [1, 2, 3, 4, 3, 3, 4, 5],
    ...            "condition": ["plain"] * 4 + ["context"] * 4}
    >>> compare(answers, between="condition").select("first", "difference", pl.col("p").round(4)).rows()
    [('context', 1.25, 0.0154)]
    """
    _check(between, unit)
    keys = None if unit is None else names(unit)
    how = Resampling("none" if ci == "none" else "items", interval, resamples, confidence, seed)
    present = judgments_frame(data, [between])[between].drop_nulls().unique().sort().to_list()
    levels = present if values is None else list(values)
    for value in levels:
        if value not in present:
            known = [str(v) for v in present]
            raise InputError(f"column '{between}' has no value '{value}'", remedy=nearest(str(value), known))
    if len(levels) < 2:
        raise InputError(f"column '{between}' has only one value", remedy="compare another column")
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=[between, *(keys or ())]):
        check_level(part.scale(), part.frame, "a comparison of means or ranks")
        design = Comparison.of(part.answered.filter(pl.col(between).is_in(levels)), between, keys, paired)
        usual, measured = _chosen(design.paired, test, effect)
        free = test is None and aggregate == "mean"
        if free and design.of_raters and design.uneven(part.answered):
            usual = "mixed"
        elif usual == "mixed" and not (design.unit == ["rater"] and design.of_raters):
            raise InputError("test 'mixed' compares groups of raters", remedy="leave test out")
        _check_over(ci, design.over)
        scores = design.scores(part.answered, aggregate)
        for first, second in combinations(levels, 2):
            one, two = (scores.filter(pl.col(between) == value).drop(between) for value in (first, second))
            sample = Sample.of(one, two, design.unit, design.paired)
            asked = part.frame.filter(pl.col(between).is_in([first, second]))
            used = sample.used(asked, design.unit)
            apart = design.apart(used)
            tested = "mixed" if free and unit is None and apart.modelled else usual
            row = {
                **part.key,
                "first": str(first),
                "second": str(second),
                "test": tested,
                "effect": measured,
                "unit": ", ".join(design.unit),
                "paired": design.paired,
                "units": len(sample.x) if design.paired else len(sample.x) + len(sample.y),
                **counts(used, asked, unpaired=asked["value"].count() - len(used)),
            }
            if design.of_raters and not share_items(used, between):
                rows.append({**row, **_UNTESTED, "reason": DISJOINT})
                continue
            result = _compared(sample, tested, measured, permutations, how)
            if tested == "mixed" and result["p"] is not None:
                answered, in_first = used.filter(pl.col("value").is_not_null()), pl.col(between) == first
                means, statistic, modelled, weight = two_groups(answered, in_first, within=design.of_raters)
                if weight and design.of_raters:
                    share = in_first.cast(pl.Float64).mean().over(UNIT)
                    freed = design.scores(answered.with_columns(pl.col("value") - weight * share), aggregate)
                    one, two = (freed.filter(pl.col(between) == value).drop(between) for value in (first, second))
                    sample = Sample.of(one, two, design.unit, design.paired)
                    result = _compared(sample, tested, measured, permutations, how)
                result |= {
                    "first_mean": float(means[0]),
                    "second_mean": float(means[1]),
                    "statistic": statistic,
                    "p": modelled,
                }
                result["difference"] = float(means[0] - means[1])
            rows.append(
                {**row, **design.judged(result, sample, (first, second), permutations, how, apart.reason(tested))}
            )
    for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
        row["p_adjusted"] = p
    numbers = ("statistic", "p", "p_permutation", "p_adjusted")
    return table(rows, names(by)).with_columns(pl.col(name).cast(pl.Float64) for name in numbers if rows)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared with what: the column, the units, and whether both groups have the same ones."""

    between: str
    unit: list[str]
    paired: bool
    of_raters: bool
    """Whether each rater belongs to one group, so that raters are what the groups are made of."""

    @classmethod
    def of(cls, answered: pl.DataFrame, between: str, unit: list[str] | None, paired: bool | None) -> Comparison:
        """The design that the answers have, or that was asked for where it is possible."""
        of_raters = between != "rater" and constant_within(answered, between, ["rater"])
        chosen = unit or (["rater"] if of_raters else ["item"])
        apart = constant_within(answered, between, chosen)
        if paired and apart:
            raise InputError(
                f"every {' and '.join(chosen)} has one value of '{between}' only, so nothing can be paired",
                remedy="leave paired out, or choose another unit",
            )
        alike = between == "rater" or not apart
        return cls(between, chosen, alike if paired is None else paired, of_raters)

    def apart(self, used: pl.DataFrame) -> Apart:
        """Who of the raters of two groups is in one of them only, where units are not raters."""
        if self.of_raters or self.between == "rater" or "rater" in self.unit:
            return Apart(self.between, 0, 0)
        answered = used.filter(pl.col("value").is_not_null())
        of_rater = answered.group_by("rater").agg(pl.len().alias("n"), pl.col(self.between).n_unique().alias("values"))
        several = of_rater.filter(pl.col("n") >= SEVERAL)
        return Apart(self.between, int((several["values"] == 1).sum()), len(several))

    @property
    def over(self) -> str:
        """What an interval over the units generalises to."""
        return "raters" if "rater" in self.unit else "runs" if self.unit == ["sample"] else "items"

    def scores(self, answered: pl.DataFrame, aggregate: str) -> pl.DataFrame:
        """One score per unit and group."""
        if self.of_raters and self.unit == ["rater"]:
            groups = answered.select("rater", self.between).unique()
            return rater_scores(answered, aggregate).join(groups, on="rater").sort("rater")
        centre = pl.col("value").mean() if aggregate == "mean" else pl.col("value").median()
        keys = [*self.unit, self.between]
        return answered.group_by(keys).agg(centre.alias("score")).sort(keys)

    def uneven(self, answered: pl.DataFrame) -> bool:
        """Whether raters are the units and judged different items, so that a mean of each is not all they say."""
        if self.paired or self.unit != ["rater"] or is_complete(answered):
            return False
        return can_be_told(VarianceDesign.of(answered.drop_nulls(self.between)))

    def judged(
        self,
        result: dict[str, Any],
        sample: Sample,
        groups: tuple[Any, Any],
        permutations: int,
        how: Resampling,
        apart: str | None,
    ) -> dict[str, Any]:
        """The row of a pair of groups, without what its design cannot give."""
        result = {**result, "p_permutation": None, "over": self.over if result.get("low") is not None else None}
        if not self.of_raters or (sample.paired and "rater" in self.unit):
            return result if result["p"] is None or apart is None else {**result, "reason": apart}
        if "rater" not in self.unit:
            reason = (
                f"no p-value: '{self.between}' does not vary within raters, and units other than raters would count "
                "one rater's answers as independent; leave unit out"
            )
            return {**result, "p": None, "statistic": None, "reason": reason}
        few = [(str(g), len(s)) for g, s in zip(groups, (sample.x, sample.y), strict=True) if len(s) < FEW_RATERS]
        if few:
            counted = " and ".join(f"'{name}' has {n} rater{'s' if n != 1 else ''}" for name, n in few)
            reason = f"{counted}; a p-value and an interval need at least {FEW_RATERS} in each group"
            if any(n == 1 for _, n in few):
                reason += ", or between='rater' to compare single raters on their items"
            return {**result, **dict.fromkeys(("statistic", "p", "low", "high", "over")), "reason": reason}
        if result["p"] is None:
            return result
        return {**result, "p_permutation": _permutation_p(sample, permutations, how.seed)}


@dataclass(frozen=True, slots=True)
class Apart:
    """Of the raters with several answers in two groups, how many are in one of them only."""

    between: str
    alone: int
    raters: int

    @property
    def modelled(self) -> bool:
        """Whether there are such raters, and enough raters for a model of them."""
        return self.alone > 0 and self.raters >= 2 * FEW_RATERS

    def reason(self, test: str) -> str | None:
        """What they mean for a test."""
        if not self.alone:
            return None
        count = f"{self.alone} of {self.raters} raters with several answers have one value of '{self.between}' only"
        return f"{count}: {MODELLED if test == 'mixed' else CONFOUNDED}"


@dataclass(frozen=True, slots=True)
class Sample:
    """Two columns of unit scores, aligned where they are paired."""

    x: Floats
    y: Floats
    paired: bool
    units: pl.DataFrame

    @classmethod
    def of(cls, one: pl.DataFrame, two: pl.DataFrame, keys: Sequence[str], paired: bool) -> Sample:
        """The scores of two groups, of the units that both have where they are paired."""
        if paired:
            both = one.join(two, on=list(keys), suffix="_second", nulls_equal=True).sort(list(keys))
            return cls(both["score"].to_numpy(), both["score_second"].to_numpy(), True, both.select(keys))
        units = pl.concat([one, two]).select(keys).unique()
        return cls(one["score"].to_numpy(), two["score"].to_numpy(), False, units)

    def used(self, asked: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
        """The answers behind the scores."""
        answered = asked.filter(pl.col("value").is_not_null())
        return answered.join(self.units, on=list(keys), how="semi", nulls_equal=True)


def _check(between: str, unit: By | None) -> None:
    if unit is not None and between in names(unit):
        raise InputError(f"column '{between}' cannot be both compared and the unit", remedy="choose another unit")
    if unit is None and between == "item":
        raise InputError("column 'item' cannot be both compared and the unit", remedy="pass unit, for example rater")


def _check_over(ci: str, over: str) -> None:
    if ci not in ("auto", "none", over):
        raise InputError(
            f"the units of this comparison are {over}, so it has no interval over '{ci}'",
            remedy="leave ci out, or choose another unit",
        )


def _chosen(paired: bool, test: Test | None, effect: Effect | None) -> tuple[str, str]:
    tests = _PAIRED if paired else _UNPAIRED
    allowed = ("dz", "d", "g", "rank_biserial") if paired else ("d", "g", "cliffs_delta")
    words = "paired" if paired else "unpaired"
    if test is not None and test not in tests:
        raise InputError(f"test '{test}' is not for {words} samples", remedy=f"use {', '.join(tests)}")
    name = test or ("t" if paired else "welch")
    if effect is not None and effect not in allowed:
        raise InputError(f"effect '{effect}' is not for {words} samples", remedy=f"use {', '.join(allowed)}")
    return name, effect or tests[name]


def _compared(sample: Sample, test: str, effect: str, permutations: int, how: Resampling) -> dict[str, Any]:
    """Test and effect of one pair of groups."""
    x, y = sample.x, sample.y
    if min(len(x), len(y)) < 2:
        return {
            **_UNTESTED,
            "reason": f"fewer than two units {'in both groups' if sample.paired else 'in a group'}",
        }
    means: dict[str, Any] = {
        "first_mean": float(x.mean()),
        "second_mean": float(y.mean()),
        "difference": float(x.mean() - y.mean()),
    }
    statistic, p = _tested(sample, test, permutations, how.seed)
    row = {**means, "statistic": statistic, "p": p}
    estimate = float(_effect(sample, np.ones((1, len(x))), np.ones((1, len(y))), effect)[0])
    if not np.isfinite(estimate):
        return {**row, "reason": "the scores do not vary, so the effect has no unit"}
    if how.interval == "bca" and how.ci != "none" and not sample.paired:
        raise InputError("bca is not made for two separate samples here", remedy="use interval percentile")
    standardised = effect == "dz" or (effect in ("d", "g") and not sample.paired)
    enough = MANY_UNITS if standardised and how.interval == "percentile" else FEW_UNITS
    if how.ci != "none" and min(len(x), len(y)) < enough:
        return {**row, "estimate": estimate, **_few(sample, estimate, effect, how.confidence)}
    low, high = _interval(sample, effect, how)
    return {**row, "estimate": estimate, "low": low, "high": high}


def _few(sample: Sample, estimate: float, effect: str, confidence: float) -> dict[str, Any]:
    """The interval with few units, of which a bootstrap knows too little: that of the non-central t distribution."""
    from scipy.special import nctdtrinc

    n, m = len(sample.x), len(sample.y)
    if effect == "dz":
        freedom, scale = n - 1.0, np.sqrt(n)
    elif effect in ("d", "g") and not sample.paired:
        freedom, scale = n + m - 2.0, np.sqrt(n * m / (n + m))
        scale = scale / (1 - 3 / (4 * freedom - 1)) if effect == "g" else scale
    else:
        return {"reason": f"no interval: there are fewer than {FEW_UNITS} units"}
    tail = (1 - confidence) / 2
    low, high = (float(nctdtrinc(freedom, p, estimate * scale) / scale) for p in (1 - tail, tail))
    if not (np.isfinite(low) and np.isfinite(high)):
        return {"reason": f"no interval: there are fewer than {FEW_UNITS} units"}
    return {"low": low, "high": high}


def _tested(sample: Sample, test: str, permutations: int, seed: int) -> tuple[float | None, float | None]:
    """The statistic and the two-sided p-value; null where the scores leave the test nothing to work with."""
    from scipy import stats

    x, y = sample.x, sample.y
    if test == "permutation":
        return float(x.mean() - y.mean()), _permutation_p(sample, permutations, seed)
    difference = x - y if sample.paired else np.empty(0)
    rounding = 1e-12 * max(float(np.abs(np.r_[x, y]).max(initial=0.0)), 1.0)
    if sample.paired and (np.ptp(difference) <= rounding if test == "t" else not difference.any()):
        return None, None
    if not sample.paired and (
        np.ptp(x) == 0 and np.ptp(y) == 0 if test != "mann_whitney" else np.ptp(np.r_[x, y]) == 0
    ):
        return None, None
    if test == "wilcoxon":
        result = stats.wilcoxon(difference)
    elif test == "mann_whitney":
        result = stats.mannwhitneyu(x, y)
    elif sample.paired:
        result = stats.ttest_rel(x, y)
    else:
        with warnings.catch_warnings():
            # A group whose units all score alike has no variance, which Welch's test allows for.
            warnings.filterwarnings("ignore", message="Precision loss occurred", category=RuntimeWarning)
            result = stats.ttest_ind(x, y, equal_var=test == "t")
    return float(result.statistic), float(result.pvalue)


def _permutation_p(sample: Sample, permutations: int, seed: int) -> float:
    """Share of sign flips or regroupings whose difference of means is at least as large as the one seen.

    All sign flips are tried where there are no more than `permutations` of them; otherwise they are drawn,
    and the observed arrangement counts as one of them (Phipson and Smyth 2010).
    """
    rng = np.random.default_rng(seed)
    x, y = sample.x, sample.y
    if sample.paired:
        difference = x - y
        n = len(difference)
        observed = abs(difference.sum())
        if 2**n <= permutations:
            flips = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
            return float(np.mean(np.abs(flips @ difference) >= observed * (1 - 1e-12)))
        sums = np.array([np.abs((1 - 2 * rng.integers(0, 2, n)) @ difference) for _ in range(permutations)])
    else:
        pooled = np.r_[x, y] - np.r_[x, y].mean()
        observed = abs(pooled[: len(x)].sum())
        sums = np.array([abs(rng.permutation(pooled)[: len(x)].sum()) for _ in range(permutations)])
    return share_beyond(sums >= observed * (1 - 1e-12))


def _effect(sample: Sample, wx: Floats, wy: Floats, effect: str) -> Floats:
    """The effect size for each row of unit weights; paired samples have one weight per pair."""
    x, y = sample.x, sample.y
    if effect == "cliffs_delta":
        ranks = midranks(np.r_[x, y], np.hstack([wx, wy]))[:, : len(x)]
        n, m = wx.sum(axis=1), wy.sum(axis=1)
        wins = np.einsum("ij,ij->i", wx, ranks) - n * (n + 1) / 2
        return np.asarray(2 * wins / (n * m) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if effect == "rank_biserial":
            moved = x != y
            signs, w = np.sign(x - y)[moved], wx[:, moved]
            if not moved.any():
                return np.full(len(wx), np.nan)
            ranks = w * midranks(np.abs(x - y)[moved], w)
            return np.asarray((ranks @ signs) / ranks.sum(axis=1))
        if effect == "dz":
            mean, variance = _moments(x - y, wx)
            return np.asarray(np.where(variance > 0, mean / np.sqrt(variance), np.nan))
        (mean_x, var_x), (mean_y, var_y) = _moments(x, wx), _moments(y, wy)
        freedom = wx.sum(axis=1) + wy.sum(axis=1) - 2
        pooled = ((wx.sum(axis=1) - 1) * var_x + (wy.sum(axis=1) - 1) * var_y) / freedom
        d = np.where(pooled > 0, (mean_x - mean_y) / np.sqrt(pooled), np.nan)
        return np.asarray(d * (1 - 3 / (4 * freedom - 1)) if effect == "g" else d)


def _moments(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Mean and unbiased variance under each row of weights."""
    n = weight.sum(axis=1)
    centre = values.mean()
    mean = weight @ (values - centre) / n
    variance = (weight @ (values - centre) ** 2 - n * mean**2) / (n - 1)
    floor = 1e-12 * max(float(np.max(np.abs(values))), 1e-300) ** 2
    return mean + centre, np.where(variance > floor, variance, 0.0)


def _interval(sample: Sample, effect: str, how: Resampling) -> tuple[float | None, float | None]:
    """The interval over units; separate samples are resampled separately."""
    n, m = len(sample.x), len(sample.y)
    if sample.paired:
        return how.intervals(n, lambda w: _effect(sample, w, w, effect)[:, None])[0]
    if how.ci == "none":
        return None, None
    rows = max(1, min(how.resamples, BLOCK_BYTES // (8 * (n + m))))
    starts = range(0, how.resamples, rows)
    seeds = np.random.SeedSequence(how.seed).generate_state(2 * len(starts)).reshape(-1, 2).tolist()
    replicates = []
    for start, (seed_x, seed_y) in zip(starts, seeds, strict=True):
        size = min(rows, how.resamples - start)
        (wx,), (wy,) = weights(n, size, seed_x), weights(m, size, seed_y)
        replicates.append(_effect(sample, wx, wy, effect))
    return percentile(np.concatenate(replicates), how.confidence, min(n, m))
