"""Two samples of unit scores, paired or separate: tests, effect sizes and their intervals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.intervals import CORRELATIONS, LIMITS, Bounds, Spread, interval
from vantage.measures.multiplicity import share_beyond
from vantage.measures.ratings import Floats
from vantage.measures.relations.correlations import midranks
from vantage.measures.resampling import Resampling

FEW_UNITS: Final = 10
"""With fewer units in a group there is no bootstrap interval."""
MANY_UNITS: Final = 50
"""With fewer, standardised differences have the interval of the non-central t distribution. At 11 units a group and an
effect of 1, bootstrap intervals of g held it in 91 % (79 % of skewed scores) of 300 samples, these in 94 % (92 %)."""
ROWS: Final = 256
"""So many units are left out at a time."""
UNTESTED: Final[dict[str, Any]] = dict.fromkeys(("first_mean", "second_mean", "difference", "statistic", "p"))


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


def compared(sample: Sample, test: str, effect: str, permutations: int, how: Resampling) -> dict[str, Any]:
    """Test and effect of one pair of groups."""
    x, y = sample.x, sample.y
    if min(len(x), len(y)) < 2:
        return {**UNTESTED, "reason": f"fewer than two units {'in both groups' if sample.paired else 'in a group'}"}
    statistic, p = _tested(sample, test, permutations, how.seed)
    row: dict[str, Any] = {"first_mean": float(x.mean()), "second_mean": float(y.mean())}
    row |= {"difference": float(x.mean() - y.mean()), "statistic": statistic, "p": p}
    estimate = float(_effect(sample, np.ones((1, len(x))), np.ones((1, len(y))), effect)[0])
    if not np.isfinite(estimate):
        return {**row, "reason": "the scores do not vary, so the effect has no unit"}
    enough = MANY_UNITS if _standardised(sample, effect) else FEW_UNITS
    if how.ci != "none" and min(len(x), len(y)) < enough:
        return {**row, "estimate": estimate, **_few(sample, estimate, effect, how.confidence)}
    low, high = _interval(sample, effect, how)
    return {**row, "estimate": estimate, "low": low, "high": high}


def _standardised(sample: Sample, effect: str) -> bool:
    return effect == "dz" or (effect in ("d", "g") and not sample.paired)


def _few(sample: Sample, estimate: float, effect: str, confidence: float) -> dict[str, Any]:
    """The interval with few units, of which a bootstrap knows too little: that of the non-central t distribution."""
    from scipy.special import nctdtrinc

    n, m, none = len(sample.x), len(sample.y), {"reason": f"no interval: there are fewer than {FEW_UNITS} units"}
    if not _standardised(sample, effect):
        return none
    freedom, scale = (n - 1.0, np.sqrt(n)) if effect == "dz" else (n + m - 2.0, np.sqrt(n * m / (n + m)))
    if effect == "g":
        scale = scale / (1 - 3 / (4 * freedom - 1))
    tail = (1 - confidence) / 2
    low, high = (float(nctdtrinc(freedom, p, estimate * scale) / scale) for p in (1 - tail, tail))
    return {"low": low, "high": high} if np.isfinite(low) and np.isfinite(high) else none


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


def _interval(sample: Sample, effect: str, how: Resampling) -> Bounds:
    """The interval over units, which are left out in turn; separate samples add up."""
    n, m = len(sample.x), len(sample.y)
    limits = CORRELATIONS if effect in ("rank_biserial", "cliffs_delta") else LIMITS
    if sample.paired:
        return how.intervals(n, lambda w: _effect(sample, w, w, effect)[:, None], limits=[limits])[0]
    if how.ci == "none":
        return None, None

    def without(size: int, first: bool) -> Spread | None:
        estimates = []
        for start in range(0, size, ROWS):
            left = np.ones((min(ROWS, size - start), size))
            left[np.arange(len(left)), start + np.arange(len(left))] = 0.0
            other = np.ones((len(left), m if first else n))
            estimates.append(_effect(sample, *((left, other) if first else (other, left)), effect))
        return Spread.without(np.concatenate(estimates), limits)

    estimate = float(_effect(sample, np.ones((1, n)), np.ones((1, m)), effect)[0])
    spread = without(n, True)
    return interval(estimate, spread and spread.plus(without(m, False)), how.confidence, limits)
