"""Confidence intervals by resampling, formulated as weights × per-unit sums instead of recomputation.

A resample of *n* units with replacement is a vector of *n* counts that add up to *n*. A statistic that is a
function of sums over units therefore needs one matrix product for a whole block of resamples
(Efron and Tibshirani 1993). Units that look the same to the statistic are one *kind*: how often each kind is
drawn is multinomial, so 200,000 items that show 126 different patterns of answers cost as much as 126 items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final, Literal, Self, TypeAlias, TypedDict, get_args

import numpy as np

from vantage.errors import InputError, nearest
from vantage.measures.ratings import Floats, Ints

Method: TypeAlias = Literal["percentile", "bca"]
Over: TypeAlias = Literal["auto", "items", "raters", "both", "none"]
"""What a measure of single answers can be resampled over; "auto" takes the answer from the design."""
Resampled: TypeAlias = Literal["auto", "items", "none"]
"""What a measure of items can be resampled over; "auto" is items."""
Bounds: TypeAlias = tuple[float | None, float | None]
Statistic: TypeAlias = Callable[[Floats], Floats]
"""From weights, one row per resample and one column per kind of unit, to one estimate per row, or NaN."""

OVER: Final[tuple[str, ...]] = get_args(Over)
ENOUGH_RATERS: Final = 10
"""With so many raters who each judged several items, a resample of them stands for other people."""
TOO_FEW_RATERS: Final = "the interval is over items, since fewer than ten raters judged several items each"
MODELLED: Final = (
    "the interval is over items and raters, although fewer than ten raters judged several items each: it comes from a "
    "model with normal effects, and few raters make it long"
)
NOT_HELD: Final = "the interval is over items, since a table that is streamed or this large does not hold its raters"
ALIKE: Final = "no interval: its ends would be the same, which does not make the estimate certain"
BLOCK_BYTES: Final = 8 * 2**20
"""How much memory one block of resampling weights may take."""

LIMITS: Final = (-np.inf, np.inf)
SHARES: Final = (0.0, 1.0)
"""What lies between these is a share, whose interval is Wilson's."""
JACKKNIFE: Final = 1000
"""At most so many leave-out estimates; beyond, units are left out in this many groups of equal size."""


def weights(n: int, resamples: int, seed: int, *, multiplicity: Ints | None = None) -> Iterator[Floats]:
    """Blocks of resampling weights, one row per resample: how often each of `n` units was drawn.

    With `multiplicity` the *n* columns are kinds of units, of which there are so many each, and one at least.

    >>> [block.sum(axis=1).tolist() for block in weights(4, 3, seed=0)]
    [[4.0, 4.0, 4.0]]
    >>> [block.sum(axis=1).tolist() for block in weights(2, 2, seed=0, multiplicity=np.array([900, 100]))]
    [[1000.0, 1000.0]]
    """
    rng = np.random.default_rng(seed)
    units = n if multiplicity is None else int(multiplicity.sum())
    # One draw per kind is dearer than one draw per unit, so kinds must be few to be worth it.
    by_kind = multiplicity is not None and 8 * n < units
    begin = None
    if multiplicity is not None and n < units and not by_kind:
        begin = np.cumsum(multiplicity) - multiplicity
    whole = np.int32 if units < 2**31 else np.int64
    for rows in blocks(n, resamples):
        if multiplicity is not None and by_kind:
            yield rng.multinomial(units, multiplicity / units, size=rows).astype(np.float64)
            continue
        block = np.empty((rows, n))
        for row in block:
            drawn = rng.integers(0, units, units, dtype=whole)
            times = np.bincount(drawn, minlength=units)
            row[:] = times if begin is None else np.add.reduceat(times, begin)
        yield block


def blocks(columns: int, rows: int) -> Iterator[int]:
    """How many rows to take at a time so that a block of so many columns stays small.

    >>> list(blocks(columns=500_000, rows=5))
    [2, 2, 1]
    """
    at_once = max(1, min(rows, BLOCK_BYTES // (8 * max(columns, 1))))
    for start in range(0, rows, at_once):
        yield min(at_once, rows - start)


class IntervalOptions(TypedDict, total=False):
    """The options of a measure of single answers that say how its interval is made; defaults are those of `Bootstrap`.

    A measure declares them as `**resampling: Unpack[IntervalOptions]`, and `@measure` writes them into its signature.
    """

    ci: Over
    interval: Method
    resamples: int
    confidence: float
    seed: int


class ItemIntervalOptions(TypedDict, total=False):
    """The same of a measure that resamples items only."""

    ci: Resampled
    interval: Method
    resamples: int
    confidence: float
    seed: int


class PercentileOptions(TypedDict, total=False):
    """The same of a measure with one kind of interval."""

    ci: Over
    resamples: int
    confidence: float
    seed: int


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How the interval of a measure is made: what is resampled, how often, and how the bounds are read off.

    >>> values = np.arange(100.0)
    >>> mean = lambda weight: weight @ values / weight.sum(axis=1)
    >>> low, high = Bootstrap().bounds(mean, np.ones(100, dtype=np.int64))
    >>> 43 < low < 45 and 54 < high < 56
    True
    """

    ci: str = "auto"
    interval: Method = "percentile"
    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    over: tuple[str, ...] = ("auto", "items", "none")
    """What the measure can be resampled over."""
    because: str = ""
    """Why it is over items, where it could be over both."""

    def __post_init__(self) -> None:
        if self.ci not in self.over:
            raise InputError(f"there is no interval over '{self.ci}'", remedy=nearest(self.ci, self.over))
        if self.interval not in ("percentile", "bca"):
            raise InputError(f"there is no interval '{self.interval}'", remedy="use percentile or bca")
        if self.ci in ("raters", "both") and self.interval == "bca":
            raise InputError("this measure has a BCa interval over items only", remedy="use percentile")
        if self.resamples < 1:
            raise InputError(f"{self.resamples} resamples cannot be drawn", remedy="use 1000, or ci none")
        if not 0 < self.confidence < 1:
            raise InputError(f"the confidence {self.confidence} does not lie between 0 and 1", remedy="use 0.95")
        if self.ci == "auto" and (self.interval == "bca" or "both" not in self.over):
            object.__setattr__(self, "ci", "items")

    def chosen(self, raters: int) -> Self:
        """The bootstrap for a group in which so many raters judged several items each.

        >>> [Bootstrap(over=OVER).chosen(raters).ci for raters in (9, 10)]
        ['items', 'both']
        """
        if self.ci != "auto":
            return self
        if raters >= ENOUGH_RATERS:
            return replace(self, ci="both")
        return replace(self, ci="items", because=TOO_FEW_RATERS if raters != 1 else "")

    def modelled(self, raters: int) -> Self:
        """The same for intervals from a model of raters, which few raters make long and not wrong: over both.

        >>> Bootstrap(over=OVER).modelled(9).ci, Bootstrap(over=OVER).modelled(10).because
        ('both', '')
        """
        if self.ci != "auto":
            return self
        return replace(self, ci="both", because=MODELLED if raters < ENOUGH_RATERS else "")

    def stated(self, bounds: Bounds) -> dict[str, Any]:
        """Bounds as the columns of a result row, with what they are over."""
        low, high = bounds
        if low is None or high is None:
            return {"low": low, "high": high, "over": None}
        if high - low <= 1e-12 * max(1.0, abs(low)):
            return {"low": None, "high": None, "over": None, "because": ALIKE}
        return {"low": low, "high": high, "over": self.ci, **({"because": self.because} if self.because else {})}

    def bounds(
        self,
        statistic: Statistic,
        multiplicity: Ints,
        limits: tuple[float, float] = LIMITS,
        *,
        centred: bool = False,
    ) -> Bounds:
        """The bounds over items of a statistic of weights on kinds of units; null for fewer than two units.

        `limits` are what the statistic never exceeds. `centred` moves the replicates so that their mean is the
        estimate, for a statistic that copies bias more than other items would.
        """
        if self.ci != "items" or multiplicity.sum() < 2:
            return None, None
        replicates = self.replicates(statistic, multiplicity)
        estimate = float(statistic(multiplicity[None, :].astype(np.float64))[0])
        if centred:
            replicates = moved(replicates, estimate)
        if self.interval == "percentile":
            return bootstrap_interval(replicates, estimate, int(multiplicity.sum()), self.confidence, limits)
        return bca(estimate, replicates, jackknife(statistic, multiplicity, self.seed), self.confidence)

    def replicates(self, statistic: Statistic, multiplicity: Ints) -> Floats:
        """The statistic of every resample of kinds of units."""
        drawn = weights(len(multiplicity), self.resamples, self.seed, multiplicity=multiplicity)
        return np.concatenate([statistic(block) for block in drawn])


def jackknife(statistic: Statistic, multiplicity: Ints, seed: int = 0) -> Floats:
    """The estimates that leave out one unit each, or one of 1,000 random groups of units when there are more.

    The acceleration of a BCa interval is the same from units and from groups of them: the skewness of a sum
    of *d* units shrinks by √d, and there are *d* times fewer sums (Efron and Tibshirani 1993, section 11.5).
    """
    kinds, units = len(multiplicity), int(multiplicity.sum())
    estimates: list[Floats] = []
    if kinds <= JACKKNIFE:
        for kind in range(kinds):
            left = multiplicity.astype(np.float64)
            left[kind] -= 1
            estimates.append(np.repeat(statistic(left[None, :]), multiplicity[kind]))
        return np.concatenate(estimates)
    kind_of = np.random.default_rng(seed).permutation(np.repeat(np.arange(kinds), multiplicity))
    for left_out in np.array_split(kind_of, min(JACKKNIFE, units)):
        remaining = multiplicity - np.bincount(left_out, minlength=kinds)
        estimates.append(statistic(remaining[None, :].astype(np.float64)))
    return np.concatenate(estimates)


def jackknife_interval(
    estimate: float,
    without: Floats,
    confidence: float,
    there: Callable[[Floats], Floats] = np.asarray,
    back: Callable[[Floats], Floats] = np.asarray,
) -> Bounds:
    """The interval from estimates that leave out a group of units each (Efron and Stein 1981); null for under three.

    `there` leads to a scale on which the estimate is closer to normal, such as logarithms or Fisher's z, and `back`.

    >>> [round(bound, 2) for bound in jackknife_interval(2.0, np.array([1.9, 2.0, 2.1]), 0.95, np.log, np.exp)]
    [1.56, 2.56]
    """
    defined = there(without[np.isfinite(without)])
    groups = len(defined)
    if groups < 3:
        return None, None
    error = float(np.sqrt((groups - 1) / groups * np.square(defined - defined.mean()).sum()))
    reach = student(groups - 1, confidence) * error
    low, high = (float(back(there(np.asarray(estimate)) + side * reach)) for side in (-1, 1))
    return low, high


def wilson(count: float, n: float, confidence: float) -> tuple[float, float]:
    """The interval of a share by inverting the score test (Wilson 1927); never a point, even at 0 and at 1.

    >>> [round(bound, 4) for bound in wilson(0, 1500, 0.95)]
    [0.0, 0.0026]
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = count / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, centre - half) if count > 0 else 0.0, min(1.0, centre + half) if count < n else 1.0


def bootstrap_interval(
    replicates: Floats,
    estimate: float,
    units: int,
    confidence: float,
    limits: tuple[float, float] = LIMITS,
    *,
    added: float = 0.0,
    from_variance: tuple[float, float] | None = None,
) -> Bounds:
    """The interval around an estimate from resamples of so many units; null when no replicate is defined.

    Resamples vary less than samples do, by (n − 1)/n, and how much is itself estimated: the interval is as much longer
    as Student's t is (Hesterberg 2015), and it is moved by the bias that resamples show. `added` is a variance from
    another source, found from a variance with so many degrees of freedom. What lies between 0 and 1 is a share, whose
    interval is Wilson's (1927) of as many units as have its variance: near 0 it reaches farther up than down.

    >>> replicates = np.random.default_rng(0).normal(5, 1, 100_000)
    >>> [round(bound, 1) for bound in bootstrap_interval(replicates, 5.0, 10**6, 0.95, added=3.0)]
    [1.1, 8.9]
    """
    defined = replicates[np.isfinite(replicates)]
    if len(defined) == 0 or units < 2:
        return None, None
    drawn = float(defined.var())
    items = drawn * units / (units - 1)
    variance = items + added
    alike = variance <= (1e-12 * estimate) ** 2  # what rounding leaves where all units are alike
    if limits == SHARES and (alike or not 0 < estimate < 1):
        return wilson(estimate * units, units, confidence)
    if alike:
        return estimate, estimate
    sources = [(items, units - 1), *([from_variance] if from_variance and added > 0 else [])]
    reach = student(degrees_of_freedom(variance, *sources), confidence)
    if limits == SHARES:
        return share_interval(estimate, variance, reach, confidence)
    if items < 1e-6 * variance:
        low, high = -reach * variance**0.5, reach * variance**0.5
    else:
        longer = reach / student(np.inf, confidence) * (variance / drawn) ** 0.5
        bias = float(defined.mean()) - estimate
        low, high = longer * (tails(defined, (1 - confidence) / 2) - defined.mean()) - bias
    low, high = min(low, 0.0), max(high, 0.0)
    return float(max(limits[0], estimate + low)), float(min(limits[1], estimate + high))


def share_interval(share: float, variance: float, reach: float, confidence: float) -> Bounds:
    """Wilson's interval of a share with this variance, where an interval reaches so many standard errors."""
    units = share * (1 - share) / variance * (student(np.inf, confidence) / reach) ** 2
    return wilson(share * units, units, confidence)


def degrees_of_freedom(total: Any, *sources: tuple[Any, float]) -> Any:
    """Those of a variance that is made of several, each with its own (Satterthwaite 1946).

    Where one was subtracted from another, little may be left and nearly none of them. Half of the fewest that a source
    has are taken then, with which intervals cover as they should (docs/calibration.md).

    >>> float(degrees_of_freedom(2.0, (1.0, 10), (1.0, 10))), float(degrees_of_freedom(0.1, (1.0, 12), (0.1, 59)))
    (20.0, 6.0)
    """
    unsure = sum(np.square(variance) / freedom for variance, freedom in sources)
    return np.maximum(np.square(total) / np.maximum(unsure, 1e-300), min(freedom for _, freedom in sources) / 2)


def student(freedom: float, confidence: float) -> float:
    """How many standard errors an interval reaches to either side (Student 1908).

    >>> round(student(4, 0.95), 3), round(student(np.inf, 0.95), 3)
    (2.776, 1.96)
    """
    from scipy.special import stdtrit

    return float(stdtrit(min(freedom, 1e9), (1 + confidence) / 2))


def student_interval(values: Floats, confidence: float = 0.95) -> Bounds:
    """Student's interval of a mean, which covers with few values too; null for fewer than two.

    >>> [round(end, 2) for end in student_interval(np.array([0.0, 0.2, 0.1, 0.3]))]
    [-0.06, 0.36]
    """
    if len(values) < 2:
        return None, None
    reach = student(len(values) - 1, confidence) * float(values.std(ddof=1)) / len(values) ** 0.5
    return float(values.mean()) - reach, float(values.mean()) + reach


TAIL: Final = 0.6
"""Skewness of items' means from which on intervals of their variance are doubted. Means of symmetric items reach 0.4 by
chance in the designs of docs/calibration.md, skewed ones lie around 1."""
SKEWED: Final = (
    "the items' means are skewed: a few items decide their variance, and 95 % intervals then hold the value in some "
    "86 to 90 % of cases"
)


def doubted(row: dict[str, Any], unit: Ints, value: Floats) -> dict[str, Any]:
    """The row of what rests on the variance of items, with a reason where its interval covers less than it states.

    >>> doubted({"low": 0.1}, np.arange(20), np.arange(20.0))
    {'low': 0.1}
    >>> doubted({"low": 0.1}, np.arange(20), np.exp(np.arange(20.0)))["reason"].split(":")[0]
    "the items' means are skewed"
    """
    if row.get("low") is None or row.get("reason") is not None or not len(unit):
        return row
    times = np.bincount(unit)
    means = np.bincount(unit, value)[times > 0] / times[times > 0]
    away = means - means.mean()
    spread = float(np.mean(away**2)) ** 1.5
    # The skewness of n normal values has a standard error of about √(6/n).
    beyond = max(TAIL, 2 * np.sqrt(6 / len(means)))
    return {**row, "reason": SKEWED} if spread > 0 and abs(np.mean(away**3)) / spread > beyond else row


def moved(replicates: Floats, estimate: float) -> Floats:
    """The replicates, moved so that their mean is the estimate.

    >>> moved(np.array([1.0, 2.0, np.nan]), 2.0).tolist()
    [1.5, 2.5, nan]
    """
    defined = replicates[np.isfinite(replicates)]
    return replicates + (estimate - defined.mean()) if len(defined) else replicates


def percentile(replicates: Floats, confidence: float = 0.95, units: int | None = None) -> Bounds:
    """The percentile interval; null when no replicate is defined.

    Resamples of few `units` vary too little, by (n − 1)/n, and their length is uncertain: with their number given the
    tails are those that make the interval of a mean as long as Student's (Hesterberg 2015).

    >>> percentile(np.arange(101.0), 0.5)
    (25.0, 75.0)
    >>> [round(bound) for bound in percentile(np.arange(1001.0), 0.95, units=20)]
    [15, 985]
    """
    defined = replicates[np.isfinite(replicates)]
    if len(defined) == 0:
        return None, None
    tail = (1 - confidence) / 2
    if units is None:
        low, high = np.quantile(defined, [tail, 1 - tail])
    else:
        low, high = tails(defined, student_tail(units, tail))
    return float(low), float(high)


def tails(replicates: Floats, tail: float) -> Floats:
    """The values beyond which another replicate would lie with this chance, on either side."""
    return np.asarray(np.quantile(replicates, [tail, 1 - tail], method="weibull"))


def student_tail(units: int, tail: float) -> float:
    """The tail of the normal distribution that reaches as far as that of Student's for so many units.

    >>> [round(student_tail(units, 0.025), 4) for units in (10, 60, 10000)]
    [0.0086, 0.0218, 0.025]
    """
    if units < 2:
        return tail
    return NormalDist().cdf(-student(units - 1, 1 - 2 * tail) * (units / (units - 1)) ** 0.5)


def bca(estimate: float, replicates: Floats, jackknife: Floats, confidence: float = 0.95) -> Bounds:
    """The bias-corrected and accelerated interval (Efron 1987), from leave-one-unit-out estimates.

    Without bias and skewness it is the percentile interval.

    >>> low, high = bca(50.0, np.arange(101.0), np.array([1.0, 2.0, 3.0]), 0.9)
    >>> round(low, 6), round(high, 6)
    (5.0, 95.0)
    """
    defined = replicates[np.isfinite(replicates)]
    left_out = jackknife[np.isfinite(jackknife)]
    if len(defined) == 0 or len(left_out) == 0:
        return None, None
    below = (np.sum(defined < estimate) + 0.5 * np.sum(defined == estimate)) / len(defined)
    normal = NormalDist()
    bias = normal.inv_cdf(float(np.clip(below, 0.5 / len(defined), 1 - 0.5 / len(defined))))
    deviations = left_out.mean() - left_out
    spread = np.sum(deviations**2) ** 1.5
    acceleration = float(np.sum(deviations**3) / (6 * spread)) if spread > 0 else 0.0
    shifted = [bias + normal.inv_cdf(tail) for tail in ((1 - confidence) / 2, (1 + confidence) / 2)]
    tails = [normal.cdf(bias + z / (1 - acceleration * z)) for z in shifted]
    low, high = np.quantile(defined, tails)
    return float(low), float(high)
