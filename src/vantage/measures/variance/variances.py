"""Components of the variance of answers with crossed random effects, and how uncertain they are.

Variances are those of restricted maximum likelihood. Intervals come from pivots: a sum of squares over its expectation
is χ² distributed, whatever the variances are. Drawing the χ² and solving for the variances gives values that fit the
data (Weerahandi 1993; for two crossed factors Burdick, Borror and Montgomery 2005), and any function of them, a share
or a reliability, has an interval from the same draws. With gaps the rater variance solves
Σ zⱼ² / (dⱼσ² + σₑ²) = χ², the exact pivot of Harville and Fenech (1985), where z are the raters' sums, items
eliminated, along the eigenvectors of their design. Few raters give few degrees of freedom and long intervals. Where a
table has no gaps, the pivots with their degrees of freedom in place of χ² are the analysis of variance, which is what
restricted maximum likelihood gives there unless a variance is zero; they also serve for very many answers.

The levels of a trait are not a sample of levels: their variance is that of these levels, from the non-central χ² of
what lies between them. Effects that are not normal have other degrees of freedom (Bonett 2006): they are divided by
(kurtosis − 1)/2, estimated where there are twenty or more. Where there are ten
raters or more, they are also drawn with how much their answers scatter and how well these follow the items: among
other raters, more or fewer might be careless (see `RaterHeterogeneity`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl

from vantage.measures.codes import dense
from vantage.measures.intervals import Bounds
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.gaussian import Gaussian
from vantage.measures.ratings import UNIT, By, Floats, Ints
from vantage.measures.resampling import item_codes
from vantage.measures.variance.item_blocks import ItemBlocks

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
MANY_ANSWERS: Final = 200_000
"""With more answers than this the pivots are precise enough, and quicker than a likelihood."""
FITS: Final = 64
"""How many tables' variances are kept, since a report asks for the same ones several times."""
_FITTED: Final[dict[bytes, Floats]] = {}
NOTHING: Final = 1e-5
"""A share of the variance below this is none."""
UNTOLD: Final = "the design cannot tell the components apart"


@dataclass(frozen=True, slots=True)
class Factor:
    """A random effect: which of its levels each answer has, and whether a level belongs to one item."""

    name: str
    code: Ints
    levels: int
    in_item: bool

    @classmethod
    def of(cls, name: str, code: Ints, in_item: bool) -> Factor:
        """A factor with its levels renumbered."""
        code, levels = dense(code)
        return cls(name, code, levels, in_item)


@dataclass(frozen=True)
class VarianceDesign:
    """The answers, in the order of units, raters and samples, with their level of every factor.

    >>> from vantage.measures.ratings import judgments_frame
    >>> design = VarianceDesign.of(judgments_frame([[1, 2, 3, 4], [2, 3, 4, 5], [1, 3, 3, 5]]))
    >>> design.names, design.variances.round(3).tolist()
    (['item', 'rater', 'residual'], [1.889, 0.222, 0.111])
    """

    value: Floats
    factors: list[Factor]
    presented: bool = False
    """Whether answers of one rater are told apart by presentations, whose levels stay as they are."""

    @classmethod
    def of(cls, used: pl.DataFrame, traits: list[str] | None = None, interaction: bool = False) -> VarianceDesign:
        """The factors that a table of answers has."""
        used = used.sort([*UNIT, "rater", "sample"])
        unit = _code(used, UNIT)
        rater = _code(used, ["rater"])
        factors = [Factor.of("item", unit, True), Factor.of("rater", rater, False)]
        for name in traits or ():
            code = _code(used, [name])
            factors.append(Factor.of(name, code, False))
            if interaction:
                factors.append(Factor.of(f"item × {name}", crossed_codes(unit, code), True))
        pairs = Factor.of("item × rater", crossed_codes(unit, rater), True)
        if pairs.levels < len(used):
            factors.append(pairs)
        value = used["value"].to_numpy()
        return cls(value - value.mean() if len(value) else value, factors)

    @property
    def names(self) -> list[str]:
        """The components, the residual last."""
        return [*(factor.name for factor in self.factors), "residual"]

    def problem(self) -> str | None:
        """Why the components cannot be estimated, if so."""
        for factor in self.factors:
            if factor.levels < 2:
                return f"there are fewer than two levels of {factor.name}"
        return None if self.pivots.told_apart else UNTOLD

    @cached_property
    def pivots(self) -> Pivots:
        """The sums of squares from which variances are drawn."""
        return Pivots.of(self)

    @cached_property
    def variances(self) -> Floats:
        """One variance per component, none below zero; NaN where they cannot be told apart."""
        if self.problem() is not None:
            return np.full(len(self.names), np.nan)
        if np.ptp(self.value) == 0:
            return np.zeros(len(self.names))
        plain = not self.presented and not self.pivots.groups
        if plain and (len(self.value) > MANY_ANSWERS or (self._complete and self.pivots.centre.all())):
            return self.pivots.centre
        return self._likeliest()

    @property
    def _complete(self) -> bool:
        """Whether every rater answered every item equally often."""
        item, rater = self.factors[:2]
        sizes = np.unique(crossed_codes(item.code, rater.code), return_counts=True)[1]
        return len(sizes) == item.levels * rater.levels and int(sizes.min()) == int(sizes.max())

    def _likeliest(self) -> Floats:
        """The variances of restricted maximum likelihood, none below zero; the same answers are fitted only once."""
        digest = blake2b(self.value.tobytes(), digest_size=16)
        for factor in self.factors:
            digest.update(factor.code.tobytes())
        key = digest.digest()
        if (known := _FITTED.get(key)) is None:
            known = _FITTED[key] = self._fitted()
            for old in list(_FITTED)[:-FITS]:
                _FITTED.pop(old, None)
        return known.copy()

    def _fitted(self) -> Floats:
        if self.presented:
            inner = [factor.in_item for factor in self.factors]
            codes = [factor.code for factor in self.factors]
            within, across = (
                [code for code, one in zip(codes, inner, strict=True) if one is of] for of in (True, False)
            )
            by_place = ItemBlocks.of(self.value, self.factors[0].code, within, across).variances()
            # They come with the effects within items first.
            fitted = np.empty(len(by_place))
            fitted[np.argsort([not one for one in inner] + [2], kind="stable")] = by_place
        else:
            start = self.pivots.centre
            ratio = start[:-1] / max(start[-1], 1e-3 * start.max(), 1e-12)
            design = Crossed([factor.code for factor in self.factors])
            fitted = Gaussian(self.value, np.ones((len(self.value), 1)), design).fit(np.sqrt(ratio)).variances
        # Close to zero the likelihood is flat, so a search can end anywhere.
        return np.asarray(np.where(fitted > NOTHING * fitted.sum(), fitted, 0.0))


def variance_draws(design: VarianceDesign, over: str = "both", *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """One row per draw and one column per component of the design, the residual last.

    Over `items` the raters' effects stay as they are, over `raters` those of the items; presentations always stay.

    >>> from vantage.measures.ratings import judgments_frame
    >>> table = judgments_frame(np.random.default_rng(0).normal(size=(8, 30)) + np.arange(30))
    >>> result = variance_draws(VarianceDesign.of(table))
    >>> result.shape, bool(np.quantile(result[:, 0], 0.025) < 77.5 < np.quantile(result[:, 0], 0.975))
    ((2000, 3), True)
    """
    return design.pivots.drawn("items" if design.presented else over, draws, seed)


@dataclass(frozen=True)
class Pivots:
    """The sums of squares of a design with their degrees of freedom, one after the other eliminated."""

    design: VarianceDesign
    table: CrossedTable
    repeated: tuple[float, float, float] | None
    """Around the means of repeated answers: squares, freedom, and the mean of one over the number of repetitions."""
    crossed: dict[str, tuple[float, float, float]]
    """Of items × groups: squares, freedom, and what a unit of variance adds."""
    squares: float
    freedom: float
    groups: dict[str, Ints]
    """The level of each trait that each rater has, or of each factor of the presentation."""
    scatter: RaterHeterogeneity | None

    @classmethod
    def of(cls, design: VarianceDesign) -> Pivots:
        """The sums of squares of a design; presentations are columns of the table as raters are."""
        factors = {factor.name: factor for factor in design.factors}
        item, value = factors["item"], design.value
        unit, rater = item.code, factors.get("rater")
        if design.presented or rater is None:
            whole = np.zeros(len(value), dtype=np.int64)
            for factor in design.factors:
                if not factor.in_item:
                    whole, _ = dense(crossed_codes(whole, factor.code))
            rater = Factor.of("rater", whole, False)
        who, repeated, first = rater.code, None, None
        if (pairs := factors.get("item × rater")) is not None and not design.presented:
            sizes = np.bincount(pairs.code)
            repeated = (*_around(value, pairs.code), float(np.mean(1 / sizes)))
            first = np.unique(pairs.code, return_index=True)[1]
            value = np.bincount(pairs.code, weights=value) / sizes
            unit, who = unit[first], who[first]
        table = CrossedTable.of(unit, who, value, item.levels, rater.levels)
        adjusted = value - table.effect[who]
        crossed, squares, freedom = {}, table.residual, table.freedom
        for factor in design.factors:
            if factor.in_item and factor.name != "item" and (design.presented or factor is not pairs):
                code = factor.code if first is None else factor.code[first]
                crossed[factor.name] = _within_items(adjusted, unit, code)
                squares, freedom = squares - crossed[factor.name][0], freedom - crossed[factor.name][1]
        outer = [factor for factor in design.factors if not factor.in_item]
        traits = [one for one in outer if (" × " not in one.name if design.presented else one.name != "rater")]
        groups = {trait.name: _of_raters(trait, rater) for trait in traits}
        scatter = None
        if not design.presented:
            scatter = RaterHeterogeneity.of(adjusted, table.item_effect, table.per_item, unit, who)
        return cls(design, table, repeated, crossed, squares, freedom, groups, scatter)

    @property
    def told_apart(self) -> bool:
        """Whether something is left for every variance."""
        left = self.table.answers - len(self.table.per_item)
        enough = self.table.freedom >= 1 and all(1 <= freedom < left for _, freedom, _ in self.crossed.values())
        return enough and (self.design.presented or len(self.table.z) > self.table.between(self.groups))

    @cached_property
    def centre(self) -> Floats:
        """The variances with the pivots at their degrees of freedom."""
        return np.asarray(self.drawn("none", 1, 0)[0])

    def drawn(self, over: str, draws: int, seed: int) -> Floats:
        """Draws of the variances, over items, raters or both; over `none`, where all pivots are their expectation."""
        table, rng = self.table, None if over == "none" else np.random.default_rng(seed)
        by_name: dict[str, Floats] = {}
        extra, scattered, followed = np.zeros(draws), np.ones(draws), np.ones(draws)
        if self.repeated is not None:
            by_name["residual"] = self.repeated[0] / _chi_squared(rng, self.repeated[1], draws)
            extra = by_name["residual"] * self.repeated[2]
        if over in ("raters", "both") and self.scatter is not None:
            scattered, followed = self.scatter.drawn(np.random.default_rng([seed, 1]), draws)
        error = scattered * max(self.squares, 0.0) / _chi_squared(rng, max(self.freedom, 1.0), draws)
        noise = of_items = error
        for name, (sum_of_squares, degrees, per_variance) in self.crossed.items():
            mean_square = sum_of_squares / _chi_squared(rng, degrees, draws) if degrees > 0 else error
            by_name[name] = np.maximum(mean_square - error, 0.0) * degrees / max(per_variance, 1e-300)
            noise = noise + by_name[name]
            # Answers of one item in the same group share its effect there.
            of_items = of_items + by_name[name] * (table.answers - per_variance) / len(table.per_item)
        if self.repeated is None:
            by_name["residual"] = error
        else:
            by_name["item × rater"] = np.maximum(error - extra, 0.0)
        if self.design.presented:
            for name, group in self.groups.items():
                noise = error
                if (inside := f"item × {name}") in self.crossed:
                    # An item's own effect of a level is shared by all of its answers there.
                    shared = (table.answers - self.crossed[inside][2]) / len(table.per_item)
                    noise = error + shared * by_name[inside]
                by_name[name] = table.trait_variance(group, np.zeros(draws), noise, rng)
            for factor, variance in zip(self.design.factors, self.design.variances, strict=False):
                by_name.setdefault(factor.name, np.full(draws, variance))
        else:
            by_name["rater"] = table.rater_variance(noise, list(self.groups.values()), rng if over != "items" else None)
            for name, group in self.groups.items():
                by_name[name] = table.trait_variance(group, by_name["rater"], noise, rng)
        by_name["item"] = followed * table.item_variance(of_items, rng if over != "raters" else None)
        return np.column_stack([by_name[name] for name in self.design.names])


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

    @property
    def answers(self) -> float:
        """How many answers there are."""
        return float(self.per_item.sum())

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
        kurtosis = NORMAL if rng is None else _kurtosis(z, self.d, middle, freedom)
        target = _chi_squared(rng, freedom, len(noise), kurtosis)
        return _solved(np.square(z), self.d, noise, target)

    def between(self, groups: dict[str, Ints]) -> int:
        """How many of the comparisons of raters are between levels of their traits."""
        if not groups:
            return 0
        known = self.information > 1e-9
        columns = np.column_stack([np.eye(int(group.max()) + 1)[group][known] for group in groups.values()])
        return int(np.linalg.matrix_rank(columns)) - 1

    def trait_variance(self, group: Ints, raters: Floats, noise: Floats, rng: np.random.Generator | None) -> Floats:
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
        if rng is None:
            return np.asarray(np.maximum(between / (levels - 1) - 1, 0.0) / weight.mean(axis=1))
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
        freedom, kurtosis = len(apart) - 1, NORMAL
        if rng is not None:
            kurtosis = _kurtosis(apart * np.sqrt(self.per_item), self.per_item, float(np.median(noise)), freedom)
        return _solved(squares, sizes, noise, _chi_squared(rng, freedom, len(noise), kurtosis))


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


def _chi_squared(rng: np.random.Generator | None, freedom: float, draws: int, kurtosis: float = NORMAL) -> Floats:
    """χ² of so many degrees of freedom, spread like the variance of effects with this kurtosis; or its expectation."""
    if rng is None:
        return np.full(draws, float(freedom))
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


def shares(variances: Floats) -> Floats:
    """Each component's share of the total, one row per row of variances; negative ones count as zero."""
    positive = np.clip(variances, 0, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _code(used: pl.DataFrame, columns: By) -> Ints:
    """Codes in the order of the values, whatever the order of the rows."""
    return item_codes(used.select(pl.struct(list(columns)).rank("dense").alias("code"))["code"])[0]


def crossed_codes(first: Ints, second: Ints) -> Ints:
    """One code for each pair of codes."""
    return first * (int(second.max(initial=0)) + 1) + second
