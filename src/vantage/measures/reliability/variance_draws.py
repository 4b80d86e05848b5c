"""How far variance components may lie from their estimates, and how reliable one rater is: draws from pivots.

A sum of squares over its expectation is χ² distributed, whatever the variances are. Drawing the χ² and solving for the
variances gives values that fit the data (Weerahandi 1993; for two crossed factors Burdick, Borror and Montgomery 2005),
and any function of them, a share or a reliability, has an interval from the same draws. With gaps the rater variance
solves Σ zⱼ² / (dⱼσ² + σₑ²) = χ², the exact pivot of Harville and Fenech (1985), where z are the raters' sums, items
eliminated, along the eigenvectors of their design. Few raters give few degrees of freedom and long intervals.

The levels of a trait are not a sample of levels: their variance is that of these levels, from the non-central χ² of
what lies between them. Effects that are not normal have other degrees of freedom (Bonett 2006): they are divided by
(kurtosis − 1)/2, estimated where there are twenty or more. Where there are ten
raters or more, they are also drawn with how much their answers scatter and how well these follow the items: among
other raters, more or fewer might be careless (see `RaterHeterogeneity`).

The reliability of one rater (`OneRater`) is the ground of split halves and of needed raters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from vantage.measures.codes import dense
from vantage.measures.intervals import Bootstrap, Bounds
from vantage.measures.ratings import Floats, Group, Ints, Named, canonical
from vantage.measures.reliability.variance_design import Factor, VarianceDesign, shares
from vantage.measures.resampling import per_item

DRAWS: Final = 2000
EXACT: Final = 600
"""Up to so many raters the design is decomposed; beyond, raters are taken as if they met the same items."""
NORMAL: Final = 3.0
SEVERAL: Final = 10
"""From how many raters on their differences are estimated."""
FEW_ANSWERS: Final = 5
"""Raters with fewer answers do not show how they differ."""
MANY: Final = 20
"""From how many effects on their kurtosis is estimated."""


def variance_draws(design: VarianceDesign, over: str = "both", *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """One row per draw and one column per component of the design, the residual last.

    Over `items` the raters' effects stay as they are, over `raters` those of the items.

    >>> from vantage.measures.ratings import judgments_frame
    >>> table = judgments_frame(np.random.default_rng(0).normal(size=(8, 30)) + np.arange(30))
    >>> result = variance_draws(VarianceDesign.of(table))
    >>> result.shape, bool(np.quantile(result[:, 0], 0.025) < 77.5 < np.quantile(result[:, 0], 0.975))
    ((2000, 3), True)
    """
    rng = np.random.default_rng(seed)
    by_name: dict[str, Floats] = {}
    factors = {factor.name: factor for factor in design.factors}
    item, rater = factors["item"], factors["rater"]
    unit, who, value = item.code, rater.code, design.value
    extra = np.zeros(draws)
    if pairs := factors.get("item × rater"):
        within, freedom = _around(value, pairs.code)
        by_name["residual"] = within / _chi_squared(rng, freedom, draws)
        sizes = np.bincount(pairs.code)
        first = np.unique(pairs.code, return_index=True)[1]
        value = np.bincount(pairs.code, weights=value) / sizes
        unit, who = unit[first], who[first]
        extra = by_name["residual"] * float(np.mean(1 / sizes))
    table = CrossedTable.of(unit, who, value, item.levels, rater.levels)
    traits = [factor for factor in design.factors if not factor.in_item and factor.name != "rater"]
    crossed = [factor for factor in design.factors if factor.in_item and factor.name not in ("item", "item × rater")]
    squares, freedom = table.residual, table.freedom
    adjusted = value - table.effect[who]
    scattered, followed = np.ones(draws), np.ones(draws)
    if over != "items":
        heterogeneity = RaterHeterogeneity.of(adjusted, table.item_effect, table.per_item, unit, who)
        scattered, followed = heterogeneity.drawn(np.random.default_rng([seed, 1]), draws)
    between: dict[str, tuple[float, float, float]] = {}
    for factor in crossed:
        code = factor.code if pairs is None else factor.code[first]
        sum_of_squares, degrees, per_variance = _within_items(adjusted, unit, code)
        between[factor.name] = (sum_of_squares, degrees, per_variance)
        squares, freedom = squares - sum_of_squares, freedom - degrees
    error = scattered * max(squares, 0.0) / _chi_squared(rng, max(freedom, 1.0), draws)
    for name, (sum_of_squares, degrees, per_variance) in between.items():
        mean_square = sum_of_squares / _chi_squared(rng, degrees, draws) if degrees > 0 else error
        by_name[name] = np.maximum(mean_square - error, 0.0) * degrees / max(per_variance, 1e-300)
    noise = error + sum((by_name[name] for name in between), np.zeros(draws))
    if pairs is None:
        by_name["residual"] = error
    else:
        by_name["item × rater"] = np.maximum(error - extra, 0.0)
    groups = [_of_raters(factor, rater) for factor in traits]
    by_name["rater"] = table.rater_variance(noise, groups, rng if over != "items" else None)
    for factor, group in zip(traits, groups, strict=True):
        by_name[factor.name] = table.trait_variance(group, by_name["rater"], noise, rng)
    by_name["item"] = followed * table.item_variance(noise, rng if over != "raters" else None)
    return np.column_stack([by_name[name] for name in design.names])


@dataclass(frozen=True, slots=True)
class RaterHeterogeneity:
    """How much the answers of each rater scatter, and how well they follow the items, against the mean of all raters.

    >>> rng = np.random.default_rng(0)
    >>> item, rater = (grid.ravel() for grid in np.indices((60, 20)))
    >>> truth, careless = rng.normal(0, 1, 60), rater < 4
    >>> answers = np.where(careless, rng.normal(0, 1.5, 1200), truth[item] + rng.normal(0, 0.7, 1200))
    >>> means = np.bincount(item, answers) / 20
    >>> result = RaterHeterogeneity.of(answers, means, np.full(60, 20.0), item, rater)
    >>> bool(result.error[:4].min() > 2 * result.error[4:].max()), bool(result.discrimination[:4].max() < 0.6)
    (True, True)
    """

    error: Floats
    """The variance of each rater's answers around the items, over the mean of all."""
    discrimination: Floats
    """The slope of each rater's answers on those of the others, over the mean of all."""
    given: Floats

    @classmethod
    def of(cls, value: Floats, item_effect: Floats, per_item: Floats, unit: Ints, rater: Ints) -> RaterHeterogeneity:
        """From answers without raters' severity; what differs by chance only is taken out."""
        several = per_item[unit] > 1
        value, unit, rater = value[several], unit[several], rater[several]
        given = np.bincount(rater).astype(np.float64)
        size = per_item[unit]
        others = (item_effect[unit] * size - value) / (size - 1)
        squares = np.square(value - item_effect[unit]) * size / (size - 1)
        used = given >= FEW_ANSWERS
        if used.sum() < SEVERAL or np.ptp(others) == 0 or squares.sum() == 0:
            return cls(np.ones(1), np.ones(1), np.ones(1))
        n = given[used]
        mean = [np.bincount(rater, part)[used] / n for part in (others, value)]
        place = np.cumsum(used) - 1
        apart = others - mean[0][place[rater]]
        across = np.bincount(rater, np.square(apart))[used]
        along = np.bincount(rater, apart * value)[used] / np.maximum(across, 1e-300)
        around = np.bincount(rater, squares)[used] / n
        middle = float(np.average(around, weights=n))
        error = _beyond_chance(around, 2 * middle**2 / n, n)
        discrimination = _beyond_chance(along, middle / np.maximum(across, 1e-300), np.minimum(n, across))
        return cls(error, discrimination, n)

    def drawn(self, rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
        """What other raters like these would do to the variances of answers and of items, one number per draw."""
        raters = len(self.given)
        weight = rng.multinomial(raters, np.full(raters, 1 / raters), draws) * self.given
        weight = weight / weight.sum(axis=1, keepdims=True)
        return weight @ self.error, np.square(weight @ self.discrimination)


def _beyond_chance(means: Floats, chance: Floats, weight: Floats) -> Floats:
    """Means over their mean, drawn towards it as far as they differ from it by chance."""
    middle = float(np.average(means, weights=weight))
    if middle <= 0:
        return np.ones(len(means))
    apart = means - middle
    between = max(float(np.average(np.square(apart) - chance, weights=weight)), 0.0)
    kept = np.sqrt(between / (between + chance)) if between else np.zeros(len(means))
    return np.asarray(np.maximum(middle + kept * apart, 0.0) / middle)


@dataclass(frozen=True, slots=True)
class CrossedTable:
    """Answers in an additive model of items and raters: what is left, and the two kinds of effects."""

    residual: float
    freedom: float
    z: Floats
    """The raters' sums, items eliminated, along the axes of their design: of variance d·σ² + σₑ²."""
    d: Floats
    axes: Floats | None
    effect: Floats
    """The raters' effects, by least squares within items."""
    information: Floats
    """How many answers' worth of comparison within items each rater has."""
    item_effect: Floats
    per_item: Floats

    @classmethod
    def of(cls, unit: Ints, rater: Ints, value: Floats, units: int, raters: int) -> CrossedTable:
        """Eliminates the items, then decomposes what is left of the raters."""
        from scipy.sparse import coo_array, diags_array

        size = np.bincount(unit, minlength=units).astype(np.float64)
        given = np.bincount(rater, minlength=raters).astype(np.float64)
        means = np.bincount(unit, weights=value, minlength=units) / size
        sums = np.bincount(rater, weights=value - means[unit], minlength=raters)
        met = coo_array((np.ones(len(unit)), (unit, rater)), (units, raters)).tocsr()
        information = given - np.asarray((met.multiply(met)).T @ (1 / size))
        axes: Floats | None = None
        if raters <= EXACT:
            left = np.diag(given) - (met.T @ (diags_array(1 / size) @ met)).toarray()
            d, axes = np.linalg.eigh(left)
            real = d > 1e-9 * max(float(d.max()), 1e-300)
            d, axes = d[real], axes[:, real]
            z = (axes.T @ sums) / np.sqrt(d)
            effect = axes @ (z / np.sqrt(d))
        else:
            known = information > 1e-9
            effect = np.divide(sums, information, out=np.zeros(raters), where=known)
            d = information[known]
            z = (effect[known] - effect[known].mean()) * np.sqrt(d)
        squares = float(np.square(value - means[unit]).sum() - np.square(z).sum())
        item_effect = np.bincount(unit, weights=value - effect[rater], minlength=units) / size
        return cls(squares, len(value) - units - len(z), z, d, axes, effect, information, item_effect, size)

    def rater_variance(self, noise: Floats, groups: list[Ints], rng: np.random.Generator | None) -> Floats:
        """Draws of the variance between raters within the levels of their traits."""
        z, taken = self.z, 0
        middle = float(np.median(noise))
        if groups:
            typical = _solved(np.square(self.z), self.d, np.array([middle]), np.array([float(len(z))]))[0]
            columns = np.column_stack([np.eye(int(group.max()) + 1)[group] for group in groups])
            axes = self.axes if self.axes is not None else np.eye(len(self.effect))[:, self.information > 1e-9]
            scale = 1 / np.sqrt(self.d * typical + middle)
            design = (np.sqrt(self.d)[:, None] * (axes.T @ columns)) * scale[:, None]
            fitted, _, taken, _ = np.linalg.lstsq(design, z * scale, rcond=1e-9)
            z = z - (design @ fitted) / scale
        freedom = max(len(z) - int(taken), 1)
        if rng is None:
            target = np.full(len(noise), float(freedom))
        else:
            target = _chi_squared(rng, freedom, len(noise), _kurtosis(z, self.d, middle, freedom))
        return _solved(np.square(z), self.d, noise, target)

    def trait_variance(self, group: Ints, raters: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
        """Draws of the variance between the levels of a trait, which are these and no others."""
        from scipy.special import chndtr, chndtrinc

        known = self.information > 1e-9
        level, levels = dense(group[known])
        if levels < 2:
            return np.zeros(len(raters))
        spread = raters[:, None] + noise[:, None] / self.information[known]  # of one rater's effect
        which = np.eye(levels)[level]
        weight = (1 / np.maximum(spread, 1e-300)) @ which
        mean = ((self.effect[known] / np.maximum(spread, 1e-300)) @ which) / weight
        grand = (mean * weight).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
        between = (weight * np.square(mean - grand)).sum(axis=1)
        chance = rng.random(len(raters))
        beyond = chndtr(between, levels - 1, 0.0) > chance
        shift = np.zeros(len(raters))
        shift[beyond] = chndtrinc(np.minimum(between[beyond], 1e4), levels - 1, chance[beyond])
        shift = np.where(between > 1e4, between, shift)
        return np.asarray(shift / (levels - 1) / weight.mean(axis=1))

    def item_variance(self, noise: Floats, rng: np.random.Generator | None) -> Floats:
        """Draws of the variance between items."""
        apart = self.item_effect - np.average(self.item_effect, weights=self.per_item)
        sizes, kind = np.unique(self.per_item, return_inverse=True)
        squares = np.bincount(kind.reshape(-1), weights=np.square(apart) * self.per_item).astype(np.float64)
        freedom = len(apart) - 1
        target = np.full(len(noise), float(freedom))
        if rng is not None:
            scaled = apart * np.sqrt(self.per_item)
            kurtosis = _kurtosis(scaled, self.per_item, float(np.median(noise)), freedom)
            target = _chi_squared(rng, freedom, len(noise), kurtosis)
        return _solved(squares, sizes, noise, target)


def _solved(squares: Floats, d: Floats, noise: Floats, target: Floats) -> Floats:
    """The variance σ² ≥ 0 at which F(σ²) = Σ squares / (d σ² + noise) is the target, for each noise and target.

    1/F is a harmonic mean of straight lines and so concave: Newton's method climbs to the solution from below, and
    takes a single step where all d are the same.
    """
    largest = float((squares / d).sum())
    if largest == 0:
        return np.zeros(len(noise))
    noise = np.maximum(noise, 1e-12 * largest)
    goal = 1 / np.maximum(target, 1e-300)
    variance = np.zeros(len(noise))
    for _ in range(100):
        inverse = 1 / (variance[:, None] * d + noise[:, None])
        value = inverse @ squares
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (goal - 1 / value) * np.square(value) / (np.square(inverse) @ (squares * d))
        step = np.where(step > 0, step, 0.0)
        variance += step
        if (step <= 1e-9 * variance).all():
            break
    return variance


def _chi_squared(rng: np.random.Generator, freedom: float, draws: int, kurtosis: float = NORMAL) -> Floats:
    """χ² of so many degrees of freedom, spread like the variance of effects with this kurtosis."""
    effective = freedom * 2 / (kurtosis - 1)
    return np.maximum(rng.chisquare(effective, draws), 1e-12) * (freedom / effective)


def _kurtosis(z: Floats, d: Floats, noise: float, freedom: float) -> float:
    """The kurtosis of effects, of which z shows d σ² beside noise; that of normal ones where effects are few."""
    if len(z) < MANY:
        return NORMAL
    typical = _solved(np.square(z), d, np.array([noise]), np.array([float(freedom)]))[0]
    standard = z / np.sqrt(np.maximum(d * typical + noise, 1e-300))
    kurtosis = float(np.mean(standard**4) / max(float(np.mean(standard**2)) ** 2, 1e-300))
    return float(np.clip(kurtosis, NORMAL, 30.0))  # short tails are not taken on trust from few effects


def _around(value: Floats, code: Ints) -> tuple[float, float]:
    """The sum of squares around the means of levels, and its degrees of freedom."""
    size = np.bincount(code)
    mean = np.bincount(code, weights=value) / size
    return float(np.square(value - mean[code]).sum()), float(len(value) - len(size))


def _within_items(value: Floats, unit: Ints, code: Ints) -> tuple[float, float, float]:
    """What groups differ by within items: sum of squares, degrees of freedom, and what a unit of variance adds."""
    code, _ = dense(code)
    whole, _ = _around(value, unit)
    within, _ = _around(value, code)
    size = np.bincount(code).astype(np.float64)
    of_cell = np.zeros(len(size), dtype=np.int64)
    of_cell[code] = unit
    per_item = np.bincount(unit).astype(np.float64)
    degrees = float(len(size) - len(np.unique(unit)))
    return whole - within, degrees, float(len(value) - (np.square(size) / per_item[of_cell]).sum())


def _of_raters(trait: Factor, rater: Factor) -> Ints:
    """The level of a trait that each rater has."""
    level = np.zeros(rater.levels, dtype=np.int64)
    level[rater.code] = trait.code
    return level


def interval_of(drawn: Floats, estimate: float, confidence: float) -> Bounds:
    """The bounds of a function of the drawn variances; an estimate from other equations never falls outside them."""
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return min(float(low), estimate), max(float(high), estimate)


@dataclass(frozen=True, slots=True)
class OneRater:
    """The reliability of one rater's answers, by a one-way analysis of variance, with its interval."""

    reliability: float
    """ICC(1) of Shrout and Fleiss (1979), at least 0; NaN where the answers do not vary."""
    low: float | None
    high: float | None
    how: Bootstrap
    """What the interval is over in the end."""
    rater_share: float | None
    """The part of the variance that is raters' bias; null where the design cannot tell."""
    consistent: float | None
    """The reliability where everything is judged by the same raters, so that bias does not matter."""

    @classmethod
    def of(cls, group: Group, how: Bootstrap, *, same_raters: bool = False) -> OneRater:
        """Over items by the bootstrap, over raters or both from draws of the variance components.

        With `same_raters` the interval is that of the reliability without raters' bias.
        """
        sums = _item_sums(canonical(group.frame))
        one = float(np.maximum(one_way_reliability(sums.sum(axis=0)[None])[0], 0.0))
        design = VarianceDesign.of(group.frame)
        variances = design.best() if design.problem() is None else np.full(3, np.nan)
        share, consistent = None, None
        if apart := bool(np.isfinite(variances).all()) and np.isfinite(one):
            item, rater, *error = np.clip(variances, 0, None).tolist()
            share, consistent = rater / (item + rater + sum(error)), item / max(item + sum(error), 1e-300)
        if apart and how.ci in ("raters", "both"):
            drawn = variance_draws(design, how.ci, seed=how.seed)
            if same_raters:
                drawn = np.delete(drawn, 1, axis=1)
            low, high = interval_of(shares(drawn)[:, 0], (consistent or 0.0) if same_raters else one, how.confidence)
            return cls(one, low, high, how, share, consistent)
        how = replace(how, ci="none" if how.ci == "none" or not np.isfinite(one) else "items")
        kinds, multiplicity = np.unique(sums, axis=0, return_counts=True)
        low, high = how.bounds(
            lambda weight: np.maximum(one_way_reliability(weight @ kinds), 0), multiplicity, (-np.inf, 1.0)
        )
        return cls(one, low, high, how, share, consistent)

    def carried(self, estimate: float, *, same_raters: bool = False) -> dict[str, Any]:
        """The interval of another coefficient of the same answers, such as that of their halves.

        The coefficient is taken for the reliability of as many raters as make it out of that of one; the same number
        makes its bounds out of the bounds. Where one of the two is not positive there is none.
        """
        one = self.consistent if same_raters and self.how.ci in ("raters", "both") else self.reliability
        if one is None or self.low is None or self.high is None or not (0 < one < 1 and 0 < estimate < 1):
            return {"low": None, "high": None}
        raters = estimate * (1 - one) / (one * (1 - estimate))
        return self.how.stated((stepped_up(min(self.low, one), raters), stepped_up(max(self.high, one), raters)))


def stepped_up(reliability: float, k: float) -> float:
    """The reliability of the mean of k raters, each as reliable as one (Spearman 1910; Brown 1910).

    >>> stepped_up(0.5, 3)
    0.75
    """
    return k * reliability / (1 + (k - 1) * reliability)


def _item_sums(named: Named) -> Floats:
    """Per item the sums over its units that the variance components are made of."""
    unit, units = named.ratings.unit, named.ratings.units
    value = named.ratings.value - named.ratings.value.mean()
    value[np.abs(value) < 1e-12 * np.abs(named.ratings.value).max()] = 0.0  # rounding is not variance
    n = np.bincount(unit, minlength=units).astype(np.float64)
    total = np.bincount(unit, value, minlength=units)
    squares = np.bincount(unit, value * value, minlength=units)
    columns = np.column_stack([np.ones(units), n, n * n, total, total * total / n, squares])
    return per_item(named.units["item"], columns)


def one_way_reliability(sums: Floats) -> Floats:
    """ICC(1) with Donner's (1986) mean group size, of each row of sums over units; NaN where the answers do not vary.

    The sums are of ones, of the number of answers to a unit and its square, of their total and its square over their
    number, and of their squares.
    """
    units, n, n_squared, total, between, squares = sums.T
    defined = (units > 1) & (n > units)
    units, within_df = np.where(defined, units, 2), np.where(defined, n - units, 1)
    between_ms = (between - total * total / n) / (units - 1)
    within_ms = np.maximum(squares - between, 0) / within_df
    size = (n - n_squared / n) / (units - 1)
    variance = between_ms + (size - 1) * within_ms
    defined &= variance > 1e-12 * squares / n
    undefined = np.full(len(sums), np.nan)
    reliability: Floats = np.divide(between_ms - within_ms, variance, out=undefined, where=defined)
    return reliability
