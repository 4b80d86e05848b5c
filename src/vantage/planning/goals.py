"""Goals of a collection: what a design reaches, by closed forms or by simulation, and what that assumes.

N items with K answers each by R raters: the mean of all answers varies by σ²ᵢ/N + σ²ᵣ/R + σ²ₑ/NK, a difference between
two halves of the raters by 4σ²ᵣ/R + 4σ²ₑ/NK and one between two halves of the items by 4σ²ᵢ/N + 4σ²ₑ/NK, where raters
of both groups judge the same items, and raters judge items of both groups (Westfall, Kenny and Judd 2014).

For the width of alpha's interval and the power of the alternative annotator test, tables are simulated from the model
of ratings for a grid of designs. The variance of alpha follows a/N + b/NK + c/NK(K − 1) + d/R over the grid, which is
fitted, so that every design learns from all others. Where there is a pilot, a, b and d follow from its measured
variances over items, single answers and raters instead: its items are seldom normal, and its raters differ by more than
their severity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy.optimize import isotonic_regression, nnls
from scipy.special import nctdtr, ndtr, stdtrit

from vantage.errors import InputError
from vantage.measures import Floats, adjusted, degrees_of_freedom
from vantage.measures.scoring.replaceability import replaced_p
from vantage.planning.model import Components, RatingModel, StudyLayout, alphas
from vantage.planning.pilot import Pilot

GoalName: TypeAlias = Literal["alpha", "mean", "groups", "items", "models", "alt-test", "reliability"]
TARGETS: Final[dict[str, float | None]] = {
    "alpha": 0.2,
    "mean": None,
    "groups": 0.8,
    "items": 0.8,
    "models": 0.8,
    "alt-test": 0.8,
    "reliability": 0.9,
}
"""What is aimed at without a target: a width, a power, or a reliability."""
WORDS: Final = {
    "alpha": "width of alpha's interval",
    "mean": "width of the mean's interval",
    "groups": "power to find the difference between groups of raters",
    "items": "power to find the difference between groups of items",
    "models": "power to rank the two models",
    "alt-test": "power of the alternative annotator test",
    "reliability": "reliability of an item's mean",
}
CROSSED: Final = "normal effects of items and raters that are crossed, with the same number of answers from everyone"
LATENT: Final = "latent normal effects of items and raters, cut into the points of the scale"
MOST_SIMULATED: Final = 1000
"""How many items the alternative annotator test is simulated for, at most."""
FEWEST: Final = 10
"""No plan has fewer items."""
DESIGNS: Final = (10, 20)
"""How many numbers of answers per item, and of items, are simulated."""
RATERS: Final = (15, 60)
"""How many raters the simulated designs have, in turn."""
FLOOR: Final = 0.25
"""The least share of a simulated variance that a small pilot, which may show none, leaves."""
ASSURANCE: Final = 0.8
"""The share of what fits a pilot in which a design must reach the target; by the point estimate alone it is half."""
DRAWS: Final = 400
"""How many values that fit a pilot a choice rests on."""
OFTEN: Final = 0.25
"""In a larger share of simulated studies alpha must not be undefined."""
Advance = Callable[[int], None]


def fewest_items(
    reached: Callable[[StudyLayout], bool], made: Callable[[int], StudyLayout], most: int
) -> StudyLayout | None:
    """The layout with the fewest items that reaches something; null where `most` are not enough.

    >>> fewest_items(lambda layout: layout.answers >= 100, lambda items: StudyLayout(items, 3, 10), 1000)
    StudyLayout(items=34, per_item=3, raters=10)
    """
    low, high = FEWEST, most
    if not reached(made(high)):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(made(middle)) else (middle + 1, high)
    return made(low)


def mean_variance(variances: Floats, layout: StudyLayout, *, saved: float = 0.0) -> tuple[Floats, Floats]:
    """The variance of the mean and its degrees of freedom, for rows of variances: item, rater, residual.

    `saved` is what a model that judges all items takes off the variance of items (see `powered`).
    """
    item, rater, residual = variances.T
    noise = residual / layout.answers
    items = np.maximum(item - saved, 0.0) / layout.items + noise
    raters = rater / layout.raters + noise
    total = items + raters - noise
    return total, degrees_of_freedom(total, (raters, max(layout.raters - 1, 1)), (items, max(layout.items - 1, 1)))


def mean_width(
    variances: Floats, layout: StudyLayout, confidence: float, *, share: float | None = None, saved: float = 0.0
) -> Floats:
    """The width of the interval of the mean over items and raters; of a share, that of Wilson (1927).

    >>> width = mean_width(np.array([[0.0, 0.0, 0.21]]), StudyLayout(400, 1, 400), 0.95, share=0.3)
    >>> from vantage.measures.intervals import wilson
    >>> low, high = wilson(120, 400, 0.95)
    >>> abs(float(width[0]) - (high - low)) < 1e-12
    True
    """
    total, freedom = mean_variance(variances, layout, saved=saved)
    if share is None:
        return np.asarray(2 * stdtrit(np.minimum(freedom, 1e9), (1 + confidence) / 2) * np.sqrt(total))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    n = share * (1 - share) / np.maximum(total, 1e-300)  # as many independent answers as would vary like this
    return np.asarray(2 * z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))


def difference_power(
    variances: Floats, layout: StudyLayout, delta: float, confidence: float, *, between: str, exact: bool = True
) -> Floats:
    """The power to find a difference between two halves of the `raters` or of the `items`."""
    item, rater, residual = variances.T
    within, units = (rater, layout.raters) if between == "raters" else (item, layout.items)
    variance = 4 * within / units + 4 * residual / layout.answers
    freedom = np.full(len(variances), max(units - 2, 1), dtype=np.float64)
    return power(delta, variance, freedom, confidence, exact=exact)


def power(delta: Floats | float, variance: Floats, freedom: Floats, confidence: float, *, exact: bool = True) -> Floats:
    """The power of a two-sided t test; for many draws by the approximation of Johnson and Welch (1940).

    >>> two_groups_of_64 = 0.5, np.array([2 / 64]), np.array([126.0]), 0.95  # d = 0.5
    >>> round(float(power(*two_groups_of_64)[0]), 3), round(float(power(*two_groups_of_64, exact=False)[0]), 3)
    (0.801, 0.801)
    """
    away = np.abs(delta) / np.sqrt(np.maximum(variance, 1e-300))
    reach = stdtrit(freedom, (1 + confidence) / 2)
    if not exact:
        middle, spread = reach * (1 - 1 / (4 * freedom)), np.sqrt(1 + reach**2 / (2 * freedom))
        return np.asarray(ndtr((away - middle) / spread) + ndtr((-away - middle) / spread))
    chance = nctdtr(freedom, away, -reach) + 1 - nctdtr(freedom, away, reach)
    return np.where((away > 30) | ~np.isfinite(chance), 1.0, np.clip(chance, 0.0, 1.0))


def reliability(variances: Floats, layout: StudyLayout) -> Floats:
    """How reliable the mean of an item's answers is, where raters differ from item to item (see `reliability`)."""
    item, rater, residual = variances.T
    return np.asarray(item / np.maximum(item + (rater + residual) / layout.per_item, 1e-300))


def grid(least: int, most: int, fewest: int, highest: int) -> list[tuple[int, int]]:
    """Numbers of answers per item and of items that are simulated: 200 designs, or fewer.

    >>> len(grid(2, 15, 30, 1000))
    200
    """
    each = np.unique(np.geomspace(least, max(most, least), DESIGNS[0] * 2).round().astype(int))
    each = each[np.linspace(0, len(each) - 1, min(DESIGNS[0], len(each))).round().astype(int)]
    items = np.unique(np.geomspace(fewest, highest, DESIGNS[1]).round().astype(int))
    return [(int(k), int(n)) for k in each for n in items]


@dataclass(frozen=True, slots=True)
class AlphaVariance:
    """The variance of alpha as a function of the design."""

    coefficients: Floats
    alpha: float

    @classmethod
    def simulated(cls, model: RatingModel, most: int, simulations: int, seed: int, advance: Advance) -> AlphaVariance:
        """Fitted to simulated designs."""
        rng = np.random.default_rng(seed)
        rows, variances, estimates = [], [], []
        for number, (k, n) in enumerate(grid(2, most, 40, 600)):
            raters = max(RATERS[number % len(RATERS)], k)
            tables = model.answers(rng, items=n, per_item=k, raters=raters, tables=simulations)
            values = alphas(tables, model.level, model.codes)
            if (undefined := float(np.isnan(values).mean())) > OFTEN:
                raise InputError(
                    f"alpha is undefined in {undefined:.0%} of simulated studies with {n} items and {k} answers each, "
                    "since nearly all answers are the same",
                    remedy="plan another goal, such as mean, or choose items of which more have the rare answer",
                )
            rows.append(_terms(StudyLayout(n, k, raters)))
            variances.append(float(np.nanvar(values, ddof=1)))
            estimates.append(float(np.nanmean(values)))
            advance(1)
        terms, variance = np.array(rows), np.maximum(variances, 1e-12)
        weight = 1 / variance
        for _ in range(4):  # the error of a variance is proportional to it
            coefficients, _ = nnls(terms * weight[:, None], variance * weight)
            weight = 1 / np.maximum(terms @ coefficients, 1e-12)
        return cls(coefficients, float(np.mean(estimates)))

    def measured(
        self, layout: StudyLayout, over_items: float, over_raters: float | None, noise: float
    ) -> AlphaVariance:
        """The same, with the variances that a pilot of this layout has over items and over raters, noise included.

        Of few raters nothing is measured but the variance over items.
        """
        a, b, c, d = self.coefficients.tolist()
        pairs = float(_terms(layout)[2] * c)
        if over_raters is None:
            noise = b / layout.answers + pairs
        else:
            b = max((noise - pairs) * layout.answers, FLOOR * b)
            d = max((over_raters - noise) * layout.raters, FLOOR * d)
        a = max((over_items - noise) * layout.items, FLOOR * a)
        return replace(self, coefficients=np.array([a, b, c, d]))

    def width(self, layout: StudyLayout, confidence: float) -> float:
        """The width of the interval over items and raters."""
        return float(alpha_widths(self.coefficients[None, :], layout, confidence)[0])


def alpha_widths(coefficients: Floats, layout: StudyLayout, confidence: float) -> Floats:
    """The widths of alpha's interval, for rows of coefficients."""
    parts = _terms(layout) * coefficients
    total, items, raters = parts.sum(axis=1), parts[:, :3].sum(axis=1), parts[:, 1] + parts[:, 3]
    sources = (raters, max(layout.raters - 1, 1)), (items, max(layout.items - 1, 1))
    freedom = np.minimum(degrees_of_freedom(total, *sources), 1e9)
    return np.asarray(2 * stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(total))


def _terms(layout: StudyLayout) -> Floats:
    n, k = layout.items, layout.per_item
    return np.array([1 / n, 1 / (n * k), 1 / (n * k * (k - 1)), 1 / layout.raters])


@dataclass(frozen=True, slots=True)
class AltTestPower:
    """How often a model that answers like one more person passes, by answers per item and items."""

    each: Sequence[int]
    items: Sequence[int]
    passed: Floats

    @classmethod
    def simulated(
        cls, model: RatingModel, most: int, epsilon: float, simulations: int, seed: int, advance: Advance
    ) -> AltTestPower:
        """Simulated for everyone judging every item; more items never lower the power."""
        rng = np.random.default_rng(seed)
        designs = grid(3, most, 30, 1000)
        each, items = (sorted({design[side] for design in designs}) for side in (0, 1))
        passed = np.empty((len(each), len(items)))
        for k, n in designs:
            tables = model.answers(rng, items=n, per_item=k + 1, raters=k + 1, tables=simulations)
            values = model.codes[tables.astype(np.int64)] if len(model.codes) else tables
            share = [passes(table, epsilon, nominal=model.level == "nominal") for table in values]
            passed[each.index(k), items.index(n)] = float(np.mean(share))
            advance(1)
        return cls(each, items, np.array([isotonic_regression(row).x for row in passed]))

    def power(self, layout: StudyLayout) -> float:
        """Interpolated between the designs; beyond them the nearest."""
        at = [float(np.interp(np.log(layout.items), np.log(self.items), row)) for row in self.passed]
        return float(np.interp(layout.per_item, self.each, at))


def passes(table: Floats, epsilon: float, *, nominal: bool, q: float = 0.05) -> bool:
    """Whether the last column, a model, passes the alternative annotator test against the others (see `alt_test`)."""
    people, model = table.T[:-1], table.T[-1]
    away = np.not_equal if nominal else lambda one, other: np.square(one - other)
    others = 1 - np.eye(len(people))
    errors = np.array([away(people[:, None], people).sum(axis=1), others @ away(people, model)]) / (len(people) - 1)
    mine, theirs = (errors if nominal else np.sqrt(errors)).round(9)  # rounding errors break no ties
    apart = (mine <= theirs).astype(float) - (theirs <= mine)
    chances = [replaced_p(one, epsilon) for one in apart]
    return float(np.mean([(p or 0.0) <= q for p in adjusted(chances, "by")])) >= 0.5


@dataclass(frozen=True, slots=True)
class GoalSettings:
    """What a goal needs to know besides the ratings."""

    delta: float | None
    models: Sequence[str] | None
    epsilon: float
    most: int
    confidence: float
    simulations: int
    seed: int


@dataclass(frozen=True, slots=True)
class PlanGoal:
    """What is reached with a layout: a width (the smaller, the better) or a share (the larger, the better)."""

    name: GoalName
    target: float
    value: Callable[[StudyLayout], float]
    assumes: Sequence[str]
    draws: Callable[[StudyLayout], Floats] | None = None
    """The same for each of many values that fit the pilot; none where they are typed in, or for the alt-test."""
    least: int = 1
    """The fewest answers per item."""
    most_items: int = 1_000_000
    everyone: bool = False
    """Whether every rater judges every item."""

    @property
    def width(self) -> bool:
        """Whether it is a width."""
        return self.name in ("alpha", "mean")

    def assured(self, layout: StudyLayout) -> float | None:
        """What is reached with 80 % assurance, given how little a pilot tells; null without draws from one."""
        if self.draws is None:
            return None
        return float(np.quantile(self.draws(layout), ASSURANCE if self.width else 1 - ASSURANCE))

    def reaches(self, value: float) -> bool:
        """Whether a value is as good as the target."""
        return value <= self.target if self.width else value >= self.target

    def reached(self, layout: StudyLayout) -> bool:
        """Whether a layout reaches the target: with assurance where there is a pilot."""
        assured = self.assured(layout)
        return self.reaches(self.value(layout)) and (assured is None or self.reaches(assured))


def goal_of(
    name: GoalName,
    target: float | None,
    settings: GoalSettings,
    source: Pilot | tuple[RatingModel, Components],
    advance: Advance | None,
) -> PlanGoal:
    """The goal of this name on a pilot, or on a model that was typed in."""
    pilot = source if isinstance(source, Pilot) else None
    progress = advance or (lambda _: None)
    if name not in TARGETS:
        raise InputError(f"goal '{name}' is not known", remedy=f"use one of {', '.join(TARGETS)}")
    aim = TARGETS[name] if target is None else target
    if aim is None:
        raise InputError(f"the goal '{name}' has no target", remedy="pass target, the width of the interval you want")
    if aim <= 0 or (name not in ("alpha", "mean") and aim >= 1):
        raise InputError(
            f"the target {aim} is not possible", remedy="use a width above 0, or a power or reliability below 1"
        )
    if pilot is not None and pilot.unordered and name not in ("alpha", "alt-test"):
        raise InputError(
            f"the options of the question have no order, so there is no plan for the goal '{name}'",
            remedy="use the goal alpha or alt-test",
        )
    model, components = (source.model, source.components) if isinstance(source, Pilot) else source
    if name == "alpha":
        return _alpha(aim, settings, pilot, model, progress)
    if name == "alt-test":
        alike = f"a model that answers like one more person, ε = {settings.epsilon:g}"
        sizes = (settings.most, settings.epsilon, settings.simulations, settings.seed)
        reached, assumed = (
            AltTestPower.simulated(model, *sizes, progress).power,
            (alike, "everyone judges every item", LATENT),
        )
        return PlanGoal(name, aim, reached, assumed, least=3, most_items=MOST_SIMULATED, everyone=True)
    delta, compared, assumes, error = settings.delta, pilot, [CROSSED], np.zeros(1)
    if name == "models":
        if pilot is None:
            raise InputError("ranking two models needs a pilot that both judged", remedy="give a pilot corpus")
        compared, observed, pair = pilot.between_models(settings.models)
        components = compared.components
        if delta is None:
            # The pilot knows the difference itself only as well as its mean.
            delta, error = observed, _errors(compared, settings.seed)
        assumes.append(f"{pair[0]} and {pair[1]} lie {abs(delta):.3g} apart in their distance from a person")
    elif name in ("groups", "items") and delta is None:
        raise InputError(f"the goal '{name}' has no difference", remedy="pass delta, the difference you want to find")
    if name == "groups":
        assumes.append("two groups of raters of the same size who judge the same items, in a mixed model")
    if name == "items":
        assumes.append("two groups of items of the same size, judged by the same raters")

    def values(variances: Floats, layout: StudyLayout, *, error: Floats | float = 0.0, exact: bool = True) -> Floats:
        if name == "mean":
            return mean_width(variances, layout, settings.confidence, share=components.share)
        if name == "reliability":
            return reliability(variances, layout)
        if name == "models":
            varies = mean_variance(variances, layout)
            return power((delta or 0.0) + error, *varies, settings.confidence, exact=exact)
        between = "raters" if name == "groups" else "items"
        return difference_power(variances, layout, delta or 0.0, settings.confidence, between=between, exact=exact)

    # A reliability is of items and raters, however they were drawn.
    more = np.zeros(3) if compared is None or name == "reliability" else compared.drawn_together
    assumes += [] if compared is None or name == "reliability" else compared.said_together

    def value(layout: StudyLayout) -> float:
        return float(values(components.row + more, layout)[0])

    draws = None if compared is None else partial(values, compared.draws[:DRAWS] + more, error=error, exact=False)
    return PlanGoal(name, aim, value, assumes, draws, least=2 if name == "groups" else 1)


def _errors(pilot: Pilot, seed: int) -> Floats:
    """How far a pilot's mean may lie from the true one: draws that go with those of its components."""
    variance, freedom = mean_variance(pilot.components.row + pilot.drawn_together, pilot.layout)
    scale = float(np.sqrt(variance[0]))
    return scale * np.random.default_rng(seed).standard_t(float(max(freedom[0], 1.0)), min(DRAWS, len(pilot.draws)))


def _alpha(aim: float, settings: GoalSettings, pilot: Pilot | None, model: RatingModel, advance: Advance) -> PlanGoal:
    simulated = AlphaVariance.simulated(model, settings.most, settings.simulations, settings.seed, advance)
    assumes = [f"an alpha of {simulated.alpha:.2f} ({model.level} level)", LATENT]
    if pilot is None:
        return PlanGoal("alpha", aim, lambda layout: simulated.width(layout, settings.confidence), assumes, least=2)
    assumes[-1] += ", as variable as those of the pilot"
    assumes += pilot.said_together
    over_items, over_raters, noise = pilot.alpha_variances
    variance = simulated.measured(pilot.layout, over_items, over_raters, noise)
    # A variance of n units is known to a χ² of n − 1 degrees of freedom.
    rng = np.random.default_rng(settings.seed)
    degrees = [max(units - 1, 1) for units in (pilot.layout.items, pilot.layout.raters)]
    spread = [one / rng.chisquare(one, DRAWS) for one in degrees]
    coefficients = np.array(
        [
            simulated.measured(
                pilot.layout, over_items * a, None if over_raters is None else over_raters * b, noise
            ).coefficients
            for a, b in zip(*spread, strict=True)
        ]
    )
    return PlanGoal(
        "alpha",
        aim,
        lambda layout: variance.width(layout, settings.confidence),
        assumes,
        lambda layout: alpha_widths(coefficients, layout, settings.confidence),
        least=2,
    )
