"""`vantage.plan` and `vantage.planning.during`: how many items and raters a goal needs, and are there enough?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.adaptive.simulated import VIEW as ADAPTING
from vantage.adaptive.simulated import worth_on
from vantage.errors import InputError
from vantage.measures import Column, Fact, Judgments, View, alpha
from vantage.planning.goals import (
    ASSURANCE,
    FEWEST,
    WORDS,
    Advance,
    GoalName,
    GoalSettings,
    PlanGoal,
    fewest_items,
    goal_of,
    mean_variance,
    mean_width,
)
from vantage.planning.model import Components, RatingModel, StudyLayout, component_model, prevalence_model
from vantage.planning.pilot import Pilot
from vantage.scales import Level

CURVE: Final = 15
"""How many points a curve has."""
LARGEST_BATCH: Final = 1000
"""Of a study file."""

COLUMNS: Final = {
    "per_item": Column("answers per item"),
    "raters": Column("people"),
    "cost": Column(digits=2),
    "value": Column("reached", digits=3),
    "target": Column(digits=3),
    "explained": Column("variance of items explained", percent=True, digits=0),
    "saved": Column("answers saved"),
    "worth": Column("worth this many answers", digits=0),
}
VIEWS: Final = {
    "choice": View(
        "The chosen design",
        columns={
            **COLUMNS,
            "value": Column("reached", digits=3, interval=("value_low", "value_high")),
            **dict.fromkeys(("value_low", "value_high", "assured"), Column(digits=3)),
        },
        says=(
            Fact("{items} items × {per_item} per item: {answers} answers from {raters} people, cost {cost}."),
            Fact("The {what} is then {value}; the target is {target}."),
            Fact("The pilot is compatible with anything from {value_low} to {value_high} (95 %)."),
            Fact("With 80 % assurance it is {assured} or better."),
            Fact("{verdict}"),
        ),
        sources=("westfall2014",),
    ),
    "frontier": View("The cheapest designs that reach the target, by answers per item", columns=COLUMNS),
    "budgeted": View("What the budget buys, by answers per item", columns=COLUMNS),
    "curve": View("What more items bring, for some numbers of answers per item", columns=COLUMNS),
    "powered": View(
        "What a model that judges all items would save",
        columns=COLUMNS,
        says=(
            Fact(
                "With {rater} judging {model_items} items, {items} items judged by people give the same interval, "
                "which saves {saved} answers.",
                each=True,
            ),
        ),
        sources=("angelopoulos2023b",),
    ),
    "adaptive": ADAPTING,
}
"""How each table of a plan is shown."""


@dataclass(frozen=True)
class Plan:
    """Designs for a goal: the chosen one, its frontier, what was assumed, and settings for a study file."""

    goal: GoalName
    target: float
    chosen: StudyLayout
    assumes: tuple[str, ...]
    choice: pl.DataFrame
    """The chosen design, one row."""
    frontier: pl.DataFrame
    """The cheapest design that reaches the target for each number of answers per item."""
    budgeted: pl.DataFrame
    """What the budget buys for each number of answers per item; no rows without a budget."""
    curve: pl.DataFrame
    """What is reached with more and more items."""
    powered: pl.DataFrame
    """What models of the pilot would save, for the mean; no rows without them."""
    adaptive: pl.DataFrame
    """What rules of an adaptive study would save on items like those of the pilot; no rows without one."""
    settings: str
    """Lines of a study file (YAML)."""

    @property
    def what(self) -> str:
        """What the values are."""
        return WORDS[self.goal]

    @property
    def unit(self) -> str:
        """The same in one word."""
        return self.what.split(maxsplit=1)[0]


def plan(
    pilot: Judgments | None = None,
    *,
    goal: GoalName = "alpha",
    target: float | None = None,
    question: str | None = None,
    budget: float | None = None,
    price: float = 1.0,
    components: Sequence[float] | None = None,
    prevalence: float | None = None,
    agreement: float = 0.4,
    rater_share: float = 0.1,
    delta: float | None = None,
    models: Sequence[str] | None = None,
    epsilon: float = 0.1,
    batch: int = 50,
    raters: int | None = None,
    most_per_item: int = 15,
    model_items: int = 10_000,
    level: Level | None = None,
    confidence: float = 0.95,
    simulations: int = 25,
    seed: int = 0,
    advance: Advance | None = None,
) -> Plan:
    """How many items, answers per item and raters a goal needs, and what it costs.

    It rests on a `pilot`, on `components` (variances of items, raters and residual), or on the `prevalence` of one of
    two answers with the `agreement` beyond chance and the share of the variance that is raters' bias. Goals and their
    targets are: `alpha` and `mean`, the width of the interval; `groups` and `items`, the power to find a difference of
    `delta` between two groups of raters or of items; `models`, the power to tell which of two models is closer to
    people; `alt-test`, the power of the alternative annotator test; `reliability`, that of an item's mean.

    The chosen design is the cheapest that reaches the target or, where the budget does not, the best that it buys. A
    pilot tells the components only roughly: the target is then reached with 80 % assurance, that is for four in five of
    the components that fit it, and not only for the most likely ones (the alternative annotator test is simulated from
    these alone).

    Args:
        pilot: A corpus or a table of judgments like those that are planned.
        goal: alpha, mean, groups, items, models, alt-test or reliability.
        target: A width (alpha, mean), a power, or a reliability.
        question: The question, if the pilot has several.
        budget: The most you can spend.
        price: What one answer costs.
        components: Variances of items, raters and residual, instead of a pilot.
        prevalence: The share of one of two answers, instead of a pilot.
        agreement: With a prevalence: the agreement (alpha, kappa).
        rater_share: With a prevalence: the share of the variance that is raters' bias.
        delta: The difference to find (groups, items, models).
        models: The two models to rank (default: those of the pilot).
        epsilon: The epsilon of the alternative annotator test.
        batch: Items that everyone judges.
        raters: How many people take part, instead of a batch.
        most_per_item: The largest number of answers per item to consider.
        model_items: How many items a model would judge, to see what it saves.
        level: Level of measurement; that of the scale without it.
        confidence: Of intervals.
        simulations: Repetitions where a design is simulated.
        seed: Random seed.
        advance: Called with the number of simulated designs that are done.

    >>> made = plan(prevalence=0.3, agreement=0.4, goal="mean", target=0.1, price=0.12)
    >>> made.chosen, made.choice["cost"].round(2)[0]
    (StudyLayout(items=1851, per_item=1, raters=38), 222.12)
    >>> made.settings.splitlines()[1]
    'raters: 1'
    """
    if price <= 0 or (budget is not None and budget <= 0):
        raise InputError("price and budget must be above 0", remedy="use for example 0.12 and 2000")
    if batch < 1 or (raters is not None and raters < 2) or most_per_item < 3 or simulations < 5:
        raise InputError("batch, raters, most_per_item or simulations is too small", remedy="use 1, 2, 3 and 5 or more")
    settings = GoalSettings(delta, models, epsilon, most_per_item, confidence, simulations, seed)
    read = None if pilot is None else Pilot.of(pilot, question, level)
    source = read or _typed(components, prevalence, agreement, rater_share)
    aim = goal_of(goal, target, settings, source, advance)
    if budget is not None and budget < FEWEST * aim.least * price:
        raise InputError(
            f"a budget of {budget:g} buys {int(budget / price)} answers at {price:g}, and this goal needs at least "
            f"{FEWEST} items with {aim.least} answers each",
            remedy=f"plan with {FEWEST * aim.least * price:g} or more",
        )
    return _Space(aim, batch, raters, most_per_item, price, budget).planned(read, model_items, confidence)


def _typed(
    components: Sequence[float] | None, prevalence: float | None, agreement: float, rater_share: float
) -> tuple[RatingModel, Components]:
    if (components is None) == (prevalence is None):
        raise InputError(
            "a plan needs one of three things",
            remedy="give a pilot corpus, components (variances of items, raters, residual), or a prevalence",
        )
    if prevalence is not None:
        return prevalence_model(prevalence, agreement, rater_share)
    assert components is not None  # noqa: S101 - one of the two is given
    if len(components) != 3:
        raise InputError(f"{len(components)} components were given", remedy="give three: items, raters, residual")
    return component_model(*components)


@dataclass(frozen=True, slots=True)
class _Space:
    """The designs that a plan looks at."""

    goal: PlanGoal
    batch: int
    raters: int | None
    most: int
    price: float
    budget: float | None

    def layout(self, items: int, per_item: int) -> StudyLayout:
        """So many items and answers each, by as many raters as that takes."""
        if self.goal.everyone:
            return StudyLayout(items, per_item, per_item)
        return StudyLayout(items, per_item, self.raters or max(per_item, 2, ceil(items * per_item / self.batch)))

    @property
    def each(self) -> range:
        """The numbers of answers per item that are looked at."""
        return range(self.goal.least, min(self.most, self.raters or self.most) + 1)

    def row(self, layout: StudyLayout) -> dict[str, Any]:
        """A design with its cost and what it reaches."""
        sizes = {name: getattr(layout, name) for name in ("per_item", "items", "raters", "answers")}
        return {**sizes, "cost": layout.answers * self.price, "value": self.goal.value(layout)}

    def planned(self, read: Pilot | None, model_items: int, confidence: float) -> Plan:
        """The frontier, the choice, and what follows from it."""
        goal = self.goal
        enough = [fewest_items(goal.reached, partial(self.layout, per_item=k), goal.most_items) for k in self.each]
        frontier = [layout for layout in enough if layout is not None]
        bought = [] if self.budget is None else [self.layout(*one) for one in self._affordable(self.budget)]
        cheapest = min(frontier, key=lambda layout: (layout.answers, layout.per_item), default=None)
        if cheapest is not None and (self.budget is None or cheapest.answers * self.price <= self.budget):
            chosen, verdict = cheapest, f"It is the cheapest design that reaches the target{self._surely(cheapest)}."
        elif bought:
            chosen = (min if goal.width else max)(bought, key=goal.value)
            other = "no design considered here does."
            if cheapest is not None:
                other = f"the cheapest design that does costs {cheapest.answers * self.price:,.2f}."
            verdict = f"The budget of {self.budget:g} does not reach the target{self._surely(chosen)}; {other}"
        else:
            raise InputError(
                f"no design with up to {self.most} answers per item and {goal.most_items:,} items reaches the target "
                f"of {goal.target:g} ({WORDS[goal.name]}){self._surely(self.layout(FEWEST, self.each[0]))}",
                remedy="choose a target that is easier to reach, allow more answers per item, give a budget or, with a "
                "pilot that tells too little, the difference or the components",
            )
        row = {**self.row(chosen), "what": WORDS[goal.name], "target": goal.target, "verdict": verdict}
        ends = (None, None) if goal.draws is None else np.quantile(goal.draws(chosen), [0.025, 0.975]).tolist()
        row |= {"value_low": ends[0], "value_high": ends[1], "assured": goal.assured(chosen)}
        powered: list[dict[str, Any]] = []
        if goal.name == "mean" and read is not None and len(read.others):
            powered = _powered(read, chosen, model_items, confidence)
        assumes = [*goal.assumes, f"{self.price:g} for each answer"]
        if not goal.everyone:
            assumes.append(f"{self.raters} people in all" if self.raters else f"{self.batch} items from everyone")
        if powered:
            assumes.append(f"models that judge {model_items:,} items more, drawn from the same texts")
        return Plan(
            goal.name,
            goal.target,
            chosen,
            tuple(assumes),
            pl.DataFrame([row]),
            self._frame(frontier, chosen),
            self._frame(bought, chosen),
            self._curve(chosen),
            pl.DataFrame([{**one, "model_items": model_items} for one in powered]),
            pl.DataFrame() if read is None else _adapting(read, goal.name),
            settings_of(chosen),
        )

    def _surely(self, layout: StudyLayout) -> str:
        """How sure it is that a design reaches the target, in words; nothing where there is no pilot."""
        return "" if self.goal.assured(layout) is None else f" with {ASSURANCE:.0%} assurance".replace("%", " %")

    def _affordable(self, budget: float) -> list[tuple[int, int]]:
        layouts = [(int(budget / self.price / k + 1e-9), k) for k in self.each]
        return [(min(items, self.goal.most_items), k) for items, k in layouts if items >= FEWEST]

    def _frame(self, layouts: list[StudyLayout], chosen: StudyLayout) -> pl.DataFrame:
        return pl.DataFrame([{**self.row(layout), "chosen": layout == chosen} for layout in layouts])

    def _curve(self, chosen: StudyLayout) -> pl.DataFrame:
        k = chosen.per_item
        rows = []
        for each in sorted({max(self.goal.least, k // 2), k, min(max(self.each), 2 * k)}):
            highest = min(max(2 * chosen.answers // each, FEWEST + 1), self.goal.most_items)
            sizes = {*np.geomspace(FEWEST, highest, CURVE).round().astype(int).tolist()}
            for items in sorted(sizes | ({chosen.items} if each == k else set())):
                layout = self.layout(items, each)
                rows.append({**self.row(layout), "answers_each": f"{each} per item", "chosen": layout == chosen})
        return pl.DataFrame(rows)


def _powered(pilot: Pilot, chosen: StudyLayout, model_items: int, confidence: float) -> list[dict[str, Any]]:
    """One row per model of the pilot: the items that give the chosen width with its help, and what they are worth.

    The people and the answers per item stay the same. With n items judged by people and M more by the model alone, the
    best weight takes r² · M/(M + n) off the variance of the items' means, where r is their correlation with the model's
    answers (PPI++; Angelopoulos, Duchi and Zrnic 2023).
    """
    parts, row = pilot.components, pilot.components.row + pilot.drawn_together
    aim = float(mean_width(row, chosen, confidence, share=parts.share)[0])
    rows = []
    for rater in pilot.others["rater"].unique().sort().to_list():
        explained = min(pilot.explained(rater), parts.item)

        def saved(layout: StudyLayout, explained: float = explained) -> float:
            return explained * model_items / (model_items + layout.items)

        def reached(layout: StudyLayout, saved: Callable[[StudyLayout], float] = saved) -> bool:
            width = mean_width(row, layout, confidence, share=parts.share, saved=saved(layout))
            return float(width[0]) <= aim * (1 + 1e-9)

        enough = fewest_items(reached, lambda items: replace(chosen, items=items), chosen.items) or chosen
        plain, with_model = (float(mean_variance(row, chosen, saved=one)[0][0]) for one in (0.0, saved(chosen)))
        rows.append(
            {
                "rater": rater,
                "explained": explained / parts.item if parts.item > 0 else 0.0,
                "items": enough.items,
                "answers": enough.answers,
                "saved": chosen.answers - enough.answers,
                "worth": chosen.answers * (plain / with_model - 1) if with_model > 0 else 0.0,
            }
        )
    return rows


def _adapting(pilot: Pilot, goal: GoalName) -> pl.DataFrame:
    """One row per rule with what it saves, and one for the plan's own goal; no rows where answers have no shares."""
    rows = worth_on(pilot.answers, pilot.codes)
    if rows.is_empty():
        return rows
    own = f"Adapting is not worth it for the {WORDS[goal]}: such estimates rest on the ratings that every item has."
    return pl.concat([rows, pl.DataFrame([{"until": goal, "worth": False, "sentence": own}])], how="diagonal")


def settings_of(layout: StudyLayout) -> str:
    """A design as the lines of a study file.

    >>> print(settings_of(StudyLayout(240, 3, 15)))
    # items: 240, answers per item: 3, participants: 15
    raters: 3
    batch:
      size: 48
      per_participant: 1
    """
    own = ceil(layout.answers / layout.raters)
    batches = ceil(own / LARGEST_BATCH)
    return (
        f"# items: {layout.items:,}, answers per item: {layout.per_item}, participants: {layout.raters:,}\n"
        f"raters: {layout.per_item}\nbatch:\n  size: {ceil(own / batches)}\n  per_participant: {batches}"
    )


REPEATED: Final = {
    True: "Stopping when an interval is short enough is fair to the estimate, but with few items the interval covers "
    "a little less than it says (Chow and Robbins 1965).",
    False: "Stop when the planned number is reached, not when a test becomes significant: whoever looks again and "
    "again finds something by chance; pass looks, the number of times you will look.",
}
"""What repeated looks do to an interval, and to a test."""

DURING: Final = View(
    "Whether there are enough judgments",
    columns={"value": Column("reached", digits=3), "target": Column(digits=3), "per_item": Column("answers per item")},
    says=(
        Fact("{answers} answers so far: the {what} is {value}, and the target is {target}."),
        Fact("{verdict}"),
        Fact("{caveat}"),
    ),
)


def during(
    corpus: Judgments,
    *,
    goal: GoalName = "alpha",
    target: float | None = None,
    question: str | None = None,
    delta: float | None = None,
    models: Sequence[str] | None = None,
    epsilon: float = 0.1,
    looks: int = 1,
    level: Level | None = None,
    confidence: float = 0.95,
    simulations: int = 25,
    seed: int = 0,
    advance: Advance | None = None,
) -> pl.DataFrame:
    """Is there enough already? One row: what is reached, whether to `stop`, and how many answers are `missing`.

    Goals are those of `plan`; the answers per item and per rater stay as they are. With `looks`, the number of times
    that you will look, intervals have the confidence 1 − (1 − confidence)/looks, so that looking often does no harm.

    >>> from vantage import demo_corpus
    >>> during(demo_corpus(), goal="reliability", question="trust", target=0.7).select("stop", "missing").row(0)
    (True, 0)
    """
    if looks < 1:
        raise InputError(f"{looks} looks are impossible", remedy="use 1 or more")
    strict = 1 - (1 - confidence) / looks
    read = Pilot.of(corpus, question, level)
    now = read.layout
    settings = GoalSettings(delta, models, epsilon, max(now.per_item, 3), strict, simulations, seed)
    aim = goal_of(goal, target, settings, read, advance)
    value = aim.value(now) if now.per_item >= aim.least else float("nan")
    if goal == "alpha":
        estimated = alpha(read.answers, level=read.level, confidence=strict, seed=seed, kinds="all").row(0, named=True)
        if estimated["low"] is None:
            raise InputError(f"alpha has no interval: {estimated['reason']}", remedy="collect more answers first")
        value = estimated["high"] - estimated["low"]
    stop = aim.reaches(value)
    per_rater = now.answers / now.raters

    def made(items: int) -> StudyLayout:
        many = now.per_item if aim.everyone else max(now.per_item, round(items * now.per_item / per_rater))
        return StudyLayout(items, now.per_item, many)

    need = fewest_items(lambda layout: aim.reaches(aim.value(layout)), made, aim.most_items)
    missing = 0 if stop else None if need is None else max(need.answers - now.answers, now.per_item)
    verdict = "Stop: the target is reached."
    if missing is None and goal == "reliability" and value < 1e-9:
        verdict = "So far, items do not differ beyond chance, so more answers will not reach the target."
    elif missing is None:
        verdict = f"Items with {now.per_item} answers each will not reach the target; ask more raters about each."
    elif missing:
        more = -(-missing // now.per_item)
        verdict = (
            f"Continue: about {missing:,} more answers are needed ({more:,} items with {now.per_item} answers each)."
        )
    row = {
        "items": now.items,
        "per_item": now.per_item,
        "raters": now.raters,
        "answers": len(read.answers),
        "what": WORDS[goal],
        "value": float(value),
        "target": aim.target,
        "stop": bool(stop),
        "missing": missing,
        "verdict": verdict,
        "caveat": "" if looks > 1 or goal == "reliability" else REPEATED[aim.width],
    }
    return pl.DataFrame([row])
