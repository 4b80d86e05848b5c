"""Goals of a collection: what is reached with so many items and raters, and what that assumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeAlias

from vantage.errors import InputError
from vantage.measures.ratings import Floats
from vantage.planning.model import Components, RatingModel
from vantage.planning.pilot import Pilot
from vantage.planning.precision import (
    Advance,
    AlphaVariance,
    AltTestPower,
    StudyLayout,
    difference_power,
    mean_variance,
    mean_width,
    power,
    reliability,
)

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
    """The same for each of many components that fit the pilot; none where it is simulated or typed in."""
    least: int = 1
    """The fewest answers per item."""
    most_items: int = 1_000_000
    everyone: bool = False
    """Whether every rater judges every item."""

    @property
    def width(self) -> bool:
        """Whether it is a width."""
        return self.name in ("alpha", "mean")

    def reached(self, layout: StudyLayout) -> bool:
        """Whether a layout reaches the target."""
        value = self.value(layout)
        return value <= self.target if self.width else value >= self.target


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
            f"the options of the question have no order, so that there is no plan for the goal '{name}'",
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
    delta, compared, assumes = settings.delta, pilot, [CROSSED]
    if name == "models":
        if pilot is None:
            raise InputError("ranking two models needs a pilot that both judged", remedy="give a pilot corpus")
        compared, observed, pair = pilot.between_models(settings.models)
        components = compared.components
        delta = observed if delta is None else delta
        assumes.append(f"{pair[0]} and {pair[1]} lie {abs(delta):.3g} apart in their distance from a person")
    elif name in ("groups", "items") and delta is None:
        raise InputError(f"the goal '{name}' has no difference", remedy="pass delta, the difference you want to find")
    if name == "groups":
        assumes.append("two groups of raters of the same size who judge the same items, in a mixed model")
    if name == "items":
        assumes.append("two groups of items of the same size, judged by the same raters")

    def values(variances: Floats, layout: StudyLayout) -> Floats:
        if name == "mean":
            return mean_width(variances, layout, settings.confidence, share=components.share)
        if name == "reliability":
            return reliability(variances, layout)
        if name == "models":
            return power(delta or 0.0, *mean_variance(variances, layout), settings.confidence)
        between = "raters" if name == "groups" else "items"
        return difference_power(variances, layout, delta or 0.0, settings.confidence, between=between)

    def value(layout: StudyLayout) -> float:
        return float(values(components.row, layout)[0])

    draws = None if compared is None else partial(values, compared.draws)
    return PlanGoal(name, aim, value, assumes, draws, least=2 if name == "groups" else 1)


def _alpha(aim: float, settings: GoalSettings, pilot: Pilot | None, model: RatingModel, advance: Advance) -> PlanGoal:
    variance = AlphaVariance.simulated(model, settings.most, settings.simulations, settings.seed, advance)
    assumes = [f"an alpha of {variance.alpha:.2f} ({model.level} level)", LATENT]
    if pilot is not None:
        variance = variance.measured(pilot.layout, *pilot.alpha_variances)
        assumes[-1] += ", as variable as those of the pilot"
    return PlanGoal("alpha", aim, lambda layout: variance.width(layout, settings.confidence), assumes, least=2)
