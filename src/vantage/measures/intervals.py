"""The one policy for confidence intervals: how far an estimate varies over units, and the interval that follows.

How far it varies is found by leaving units out in turn (`Spread`): items or the sources they were drawn from, raters,
or both at once. Nothing is drawn at random, so that the same table always has the same interval. Which interval
follows is decided by what the statistic declares, never by who wrote it:

* a mean of values between two limits, such as a share: Wilson's interval (1927) of as many values as have its variance;
* a correlation: Student's interval on Fisher's scale (1921); a ratio: on that of logarithms;
* what jumps, such as the rank of a system: percentiles of resamples;
* everything else: Student's interval, corrected for skewness (Hall 1992) and kept within its limits.

Degrees of freedom follow from the number of units of each kind and from how unequal their contributions are
(Satterthwaite 1946), so that few units, or a few that decide, make an interval long. docs/calibration.md shows how
often these intervals hold the true value.

What jumps is resampled: a resample of *n* units with replacement is a vector of *n* counts that add up to *n*. A
statistic that is a function of sums over units needs one matrix product for a whole block of resamples (Efron and
Tibshirani 1993). Units that look the same to the statistic are one *kind*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final, Literal, Self, TypeAlias, TypedDict, get_args

import numpy as np

from vantage.errors import InputError, nearest
from vantage.measures.ratings import Floats, Ints, ItemSources, RaterGroups, RaterWeights

Over: TypeAlias = Literal["auto", "items", "raters", "both", "none"]
"""What a measure of single answers can be resampled over; "auto" takes the answer from the design."""
Resampled: TypeAlias = Literal["auto", "items", "none"]
"""What a measure of items can be resampled over; "auto" is items."""
Weighting: TypeAlias = str | None
"""The column of raters that holds their weights (see `Corpus.with_weights`); null where all count the same."""
Bounds: TypeAlias = tuple[float | None, float | None]
Statistic: TypeAlias = Callable[[Floats], Floats]
"""From weights, one row per resample and one column per kind of unit, to one estimate per row, or NaN."""

OVER: Final[tuple[str, ...]] = get_args(Over)
ENOUGH_RATERS: Final = 4
"""From so many raters who each judged several items on, intervals over raters and items hold (docs/calibration.md)."""
MANY_RATERS: Final = 10
TOO_FEW_RATERS: Final = "the interval is over items, since fewer than four raters judged several items each"
TOO_FEW_GROUPS: Final = "the interval is over items, since fewer than four groups of raters judged several items each"
MODELLED: Final = (
    "the interval is over items and raters, although fewer than ten raters judged several items each: it comes from a "
    "model with normal effects, and few raters make it long"
)
NOT_HELD: Final = "the interval is over items, since a table that is streamed or this large does not hold its raters"
ALIKE: Final = "no interval: its ends would be the same, which does not make the estimate certain"
NOT_KNOWN: Final = "no interval: too few items or raters to know how far the estimate varies"
BLOCK_BYTES: Final = 8 * 2**20
"""How much memory one block of resampling weights may take."""

Limits: TypeAlias = tuple[float, float]
"""What a statistic never exceeds."""
LIMITS: Final[Limits] = (-np.inf, np.inf)


class MeanWithin(tuple[float, float]):
    """The limits of values whose mean the statistic is."""


class Correlation(tuple[float, float]):
    """The limits of a correlation."""


class Ratio(tuple[float, float]):
    """The limits of a number above zero of which twice and half are as far away."""


class Jumping(tuple[float, float]):
    """The limits of a statistic that jumps where a unit is left out, such as a rank: percentiles are its interval."""


SHARES: Final[Limits] = MeanWithin((0.0, 1.0))
RANKS: Final[Limits] = Jumping((-np.inf, np.inf))
CORRELATIONS: Final[Limits] = Correlation((-1.0, 1.0))
RATIOS: Final[Limits] = Ratio((0.0, np.inf))
STEEPEST: Final = 0.65
"""Skewness, times the reach of an interval, that is corrected at most: beyond, Hall's cube root has no end."""
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
    # A draw by kind costs more than a draw by unit, so it pays only where kinds are few.
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
    """The options of a measure that say how its interval is made; defaults are those of `Bootstrap`.

    A measure declares them as `**resampling: Unpack[IntervalOptions]`; `@measure` writes those that it knows into its
    signature.
    """

    ci: Over
    sources: ItemSources | str | None
    resamples: int
    confidence: float
    seed: int


class WeightedIntervalOptions(IntervalOptions, total=False):
    """The same of a measure whose raters may have weights."""

    weights: Weighting


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How the interval of a measure is made: what it is over, and what it takes into account."""

    ci: str = "auto"
    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    over: tuple[str, ...] = ("auto", "items", "none")
    """What the measure can be resampled over."""
    because: str = ""
    """Why it is over items, where it could be over both."""
    sources: ItemSources | str | None = None
    """Which items were drawn together: whole sources are then left out. `@measure` finds them by a column's name."""
    groups: RaterGroups | None = None
    """Which raters were drawn together: whole groups are then left out. `@measure` takes them from the design."""
    weights: RaterWeights | str | None = None
    """How much each rater counts. `@measure` finds them by a column's name."""

    def __post_init__(self) -> None:
        if self.ci not in self.over:
            raise InputError(f"there is no interval over '{self.ci}'", remedy=nearest(self.ci, self.over))
        if isinstance(self.sources, str) or isinstance(self.weights, str):
            raise TypeError("sources and weights are named to a measure, which looks them up")
        if self.resamples < 1:
            raise InputError(f"{self.resamples} resamples cannot be drawn", remedy="use 1000, or ci none")
        if not 0 < self.confidence < 1:
            raise InputError(f"the confidence {self.confidence} does not lie between 0 and 1", remedy="use 0.95")
        if self.ci == "auto" and "both" not in self.over:
            object.__setattr__(self, "ci", "items")

    @property
    def item_sources(self) -> ItemSources | None:
        """The sources of items, once they are known."""
        return None if isinstance(self.sources, str) else self.sources

    @property
    def rater_weights(self) -> RaterWeights | None:
        """The weights of raters, once they are known."""
        return None if isinstance(self.weights, str) else self.weights

    def chosen(self, raters: int) -> Self:
        """The bootstrap for a group in which so many raters, or groups of raters, judged several items each.

        >>> [Bootstrap(over=OVER).chosen(raters).ci for raters in (3, 4)]
        ['items', 'both']
        """
        if self.ci != "auto":
            return self
        if raters >= ENOUGH_RATERS:
            return replace(self, ci="both")
        few = TOO_FEW_RATERS if self.groups is None else TOO_FEW_GROUPS
        return replace(self, ci="items", because=few if raters != 1 or self.groups is not None else "")

    def modelled(self, raters: int) -> Self:
        """The same for intervals from a model of raters, which few raters make long and not wrong: over both.

        >>> Bootstrap(over=OVER).modelled(9).ci, Bootstrap(over=OVER).modelled(10).because
        ('both', '')
        """
        if self.ci != "auto":
            return self
        return replace(self, ci="both", because=MODELLED if raters < MANY_RATERS else "")

    def stated(self, bounds: Bounds) -> dict[str, Any]:
        """Bounds as the columns of a result row, with what they are over."""
        low, high = bounds
        if low is None or high is None:
            return {"low": low, "high": high, "over": None, **({"because": NOT_KNOWN} if self.ci != "none" else {})}
        if high - low <= 1e-12 * max(1.0, abs(low)):
            return {"low": None, "high": None, "over": None, "because": ALIKE}
        stated = {"low": low, "high": high, "over": over_units(self.ci, self.sources, self.groups)}
        return {**stated, **({"because": self.because} if self.because else {})}


def over_units(over: str, sources: object, groups: object) -> str:
    """What an interval is over, where items come from sources, raters from groups, or both, as the design says.

    >>> [over_units("both", *units) for units in ((None, None), ("thread", None), (None, "team"), ("thread", "team"))]
    ['both', 'sources and raters', 'items and groups', 'sources and groups']
    """
    if over not in ("items", "raters", "both") or (sources is None and groups is None):
        return over
    items, raters = "items" if sources is None else "sources", "raters" if groups is None else "groups"
    return {"items": items, "raters": raters}.get(over, f"{items} and {raters}")


def speaks_of_raters(over: object) -> bool:
    """Whether an interval is for other raters, or other groups of raters, too."""
    return over not in (None, "none", "items", "sources")


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


@dataclass(frozen=True, slots=True)
class Spread:
    """How far an estimate varies over units of some kind, on the scale on which its interval is made."""

    variance: float
    freedom: float
    """Degrees of freedom: how well the variance itself is known."""
    third: float = 0.0
    """The third cumulant of the estimate: its sign says to which side it strays farther."""
    units: int = 0
    noise: float = 0.0
    """What single answers add to the variance, which is in that of every kind of units."""

    @classmethod
    def without(cls, estimates: Floats, limits: Limits = LIMITS, times: Ints | None = None) -> Self | None:
        """From the estimates without each unit in turn (Efron and Stein 1981); null for fewer than two of them.

        `times` says how many units give each estimate. Where few units decide, the variance is known less well than
        their number says: its degrees of freedom follow from the kurtosis of what units contribute.

        >>> spread = Spread.without(np.array([1.9, 2.0, 2.1]))
        >>> round(spread.variance, 4), spread.freedom
        (0.0133, 2.0)
        """
        known = np.isfinite(estimates)
        if isinstance(limits, Correlation) and not known.all():
            # A correlation that rests on one unit says nothing of other units.
            return None
        number = (np.ones(len(estimates)) if times is None else times.astype(np.float64))[known]
        scaled = on_scale(estimates[known], limits)
        # Sums of floating-point numbers depend on their order; units have none.
        order = np.argsort(scaled, kind="stable")
        number, scaled = number[order], scaled[order]
        units = int(number.sum())
        if units < 2:
            return None
        away = scaled - number @ scaled / units
        squares = float(number @ away**2)
        shrinkage = (units - 1) / units
        freedom = float(units - 1)
        if squares > 0:
            kurtosis = units * float(number @ away**4) / squares**2
            freedom = min(freedom, max(2 * units / max(kurtosis - 1, 1e-9), 3.0))
        third = -(shrinkage**3) * float(number @ away**3)
        return cls(shrinkage * squares, freedom, third, units)

    @classmethod
    def without_raters(cls, estimates: Floats, limits: Limits = LIMITS) -> Self | None:
        """From the estimates without each rater in turn; null for fewer than three.

        Raters are few, and how unequal they are says little about how well their variance is known.
        """
        spread = cls.without(estimates, limits)
        return None if spread is None or spread.units < 3 else replace(spread, freedom=float(spread.units - 1))

    def plus(self, other: Self | None) -> Self | None:
        """With what another kind of units adds beyond the noise that both of them hold."""
        if other is None:
            return None
        added = max(other.variance - other.noise, 0.0)
        total = self.variance + added
        sources = [(self.variance, self.freedom), *([(other.variance, other.freedom)] if added > 0 else [])]
        return type(self)(total, float(degrees_of_freedom(total, *sources)), self.third, self.units)


def bootstrap_interval(
    replicates: Floats, estimate: float, units: int, confidence: float, limits: Limits = LIMITS
) -> Bounds:
    """The interval of an estimate from resamples of so many units, for what can only be resampled.

    >>> replicates = np.random.default_rng(0).normal(5, 1, 100_000)
    >>> [round(bound, 1) for bound in bootstrap_interval(replicates, 5.0, 10**6, 0.95)]
    [3.0, 7.0]
    """
    defined = on_scale(replicates[np.isfinite(replicates)], limits)
    if len(defined) == 0 or units < 2:
        return None, None
    # Resamples vary less than samples do, by (n − 1)/n.
    larger = units / (units - 1)
    third = float(np.mean((defined - defined.mean()) ** 3)) * larger**1.5
    return interval(estimate, Spread(float(defined.var()) * larger, units - 1, third, units), confidence, limits)


def on_scale(values: Floats, limits: Limits) -> Floats:
    """Estimates on the scale on which their interval is made: Fisher's z for correlations, logarithms for ratios."""
    if isinstance(limits, Correlation):
        return np.arctanh(np.clip(values, -1 + 1e-12, 1 - 1e-12))
    return np.log(np.maximum(values, 1e-300)) if isinstance(limits, Ratio) else values


def interval(estimate: float, spread: Spread | None, confidence: float, limits: Limits = LIMITS) -> Bounds:
    """The interval of an estimate that varies so far (see the head of this module).

    >>> spread = Spread(0.01, 11.0, third=0.0005)
    >>> [[round(end, 2) for end in interval(0.5, spread, 0.95, limits)] for limits in (LIMITS, SHARES, CORRELATIONS)]
    [[0.32, 0.81], [0.3, 0.7], [0.32, 0.65]]
    """
    if spread is None or not np.isfinite(estimate):
        return None, None
    low, high = limits
    reach, error = student(spread.freedom, confidence), spread.variance**0.5
    alike = error <= 1e-9 * max(abs(estimate), 1e-9)  # what rounding leaves where all units are alike
    if isinstance(limits, MeanWithin) or limits == SHARES:
        share, width = (estimate - low) / (high - low), high - low
        spare, n = spread.variance / width**2, spread.units
        if not 0 < share < 1 or alike or abs(spare * (n - 1) - share * (1 - share)) < 1e-9:
            # No unit left out can show what did not happen; and where every unit is at a limit, how far they vary
            # follows from how many are at which.
            ends = wilson(share * n, n, confidence)
        else:
            units = share * (1 - share) / spare * (student(np.inf, confidence) / reach) ** 2
            ends = wilson(share * units, units, confidence)
        return low + width * ends[0], low + width * ends[1]
    if alike:
        return estimate, estimate
    if isinstance(limits, Correlation | Ratio):
        centre = float(on_scale(np.asarray(estimate), limits))
        scaled = np.array([centre - reach * error, centre + reach * error])
        below, above = (np.exp(scaled) if isinstance(limits, Ratio) else np.tanh(scaled)).tolist()
        return below, above
    skewness = float(np.clip(spread.third / error**3, -STEEPEST / reach, STEEPEST / reach))
    below, above = (estimate - error * _unskewed(side * reach, skewness) for side in (1, -1))
    return max(low, min(estimate, below)), min(high, max(estimate, above))


def _unskewed(reach: float, skewness: float) -> float:
    """So many standard errors of an estimate with this skewness, from the inverse of Hall's transformation (1992)."""
    if abs(skewness) < 1e-6:
        return reach
    return float(3 / skewness * (np.cbrt(1 + skewness * (reach - skewness / 6)) - 1))


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


def welch(variances: tuple[Floats, Floats], sizes: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The standard error of a difference of two means, and its degrees of freedom (Welch 1947); null for single values.

    >>> error, freedom = welch((np.array([1.0]), np.array([4.0])), (np.array([10]), np.array([20])))
    >>> error.round(3).tolist(), freedom.round(1).tolist()
    ([0.548], [28.0])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (variance / size for variance, size in zip(variances, sizes, strict=True))
        freedom = (first + second) ** 2 / sum(
            part**2 / (size - 1) for part, size in zip((first, second), sizes, strict=True)
        )
    known = (np.minimum(*sizes) > 1) & (first + second > 0)
    return np.where(known, np.sqrt(first + second), np.nan), np.where(known, freedom, np.nan)


@dataclass(frozen=True, slots=True)
class Contrast:
    """An estimate with its standard error and the degrees of freedom of that.

    >>> gap = Contrast.of_means(np.array([1.0, 2.0, 3.0]), np.array([4.0, 6.0]))
    >>> gap.estimate, round(gap.p, 3), [round(end, 2) for end in gap.ends(0.95)]
    (-3.0, 0.144, [-8.98, 2.98])
    """

    estimate: float
    error: float
    freedom: float = np.inf

    @classmethod
    def of_means(cls, first: Floats, second: Floats) -> Self:
        """The difference of two means, whose variances may be unequal (Welch 1947)."""
        variances, sizes = zip(*((one.var(ddof=1), np.asarray(len(one))) for one in (first, second)), strict=True)
        error, freedom = welch(variances, sizes)
        return cls(float(first.mean() - second.mean()), float(error), float(freedom))

    def reach(self, confidence: float) -> float:
        """How far the interval goes to either side."""
        return student(self.freedom, confidence) * self.error

    def ends(self, confidence: float) -> tuple[float, float]:
        """The ends of the interval."""
        reach = self.reach(confidence)
        return self.estimate - reach, self.estimate + reach

    def stated(self, confidence: float, name: str = "estimate") -> dict[str, float]:
        """Estimate and interval as columns of a row, under a name of their own where one is given."""
        prefix = "" if name == "estimate" else f"{name}_"
        return {name: self.estimate, **dict(zip((f"{prefix}low", f"{prefix}high"), self.ends(confidence), strict=True))}

    @property
    def p(self) -> float | None:
        """The two-sided p value against zero; null where nothing varies."""
        from scipy.special import stdtr

        return 2 * float(stdtr(min(self.freedom, 1e9), -abs(self.estimate) / self.error)) if self.error > 0 else None


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


def percentile(replicates: Floats, confidence: float = 0.95) -> Bounds:
    """The percentile interval of a bootstrap; null when no replicate is defined.

    >>> percentile(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    defined = replicates[np.isfinite(replicates)]
    if len(defined) == 0:
        return None, None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
