"""`vantage.during`: is there enough already, while judgments are still coming in?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from vantage.errors import InputError
from vantage.measures.agreement.alpha import alpha
from vantage.measures.presentation import Column, Fact, View
from vantage.measures.ratings import Judgments
from vantage.planning.goals import WORDS, GoalName, GoalSettings, goal_of
from vantage.planning.pilot import Pilot
from vantage.planning.precision import Advance, StudyLayout, fewest_items
from vantage.scales import Level

REPEATED: Final = {
    True: "Stopping when an interval is short enough is fair to the estimate, but with few items the interval covers "
    "a little less than it says (Chow and Robbins 1965).",
    False: "Stop when the planned number is reached, not when a test becomes significant: whoever looks again and "
    "again finds something by chance; pass looks, the number of times you will look.",
}
"""What repeated looks do to an interval, and to a test."""

VIEW: Final = View(
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
        raise InputError(f"{looks} looks are not possible", remedy="use 1 or more")
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
    stop = value <= aim.target if aim.width else value >= aim.target
    per_rater = now.answers / now.raters

    def made(items: int) -> StudyLayout:
        many = now.per_item if aim.everyone else max(now.per_item, round(items * now.per_item / per_rater))
        return StudyLayout(items, now.per_item, many)

    need = fewest_items(aim.reached, made, aim.most_items)
    missing = 0 if stop else None if need is None else max(need.answers - now.answers, now.per_item)
    verdict = "Stop: the target is reached."
    if missing is None and goal == "reliability" and value < 1e-9:
        verdict = "Items do not differ beyond chance so far, so that more answers do not reach the target."
    elif missing is None:
        verdict = f"Items with {now.per_item} answers each do not reach the target; ask more raters about each."
    elif missing:
        more = -(-missing // now.per_item)
        verdict = f"Go on: some {missing:,} more answers are needed ({more:,} items with {now.per_item} answers each)."
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
