"""Plans against what came true, and panels against what was simulated: the figures of docs/plan.md and docs/panel.md.

`python -m benchmarks planning` prints the tables: predicted against realised widths of intervals on sub-samples of
DICES-350 and W&C-Sent, coverage of effective votes for judges with known error correlation, and how long a plan with
200 simulated designs takes. A fast version with fixed seeds is part of the test suite.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

import vantage
from benchmarks.calibration import DATA, dices
from benchmarks.simulators import judges
from vantage.planning.goals import GoalSettings, PlanGoal, difference_power, goal_of
from vantage.planning.model import StudyLayout
from vantage.planning.pilot import Pilot

RESAMPLES = 200


@dataclass(frozen=True, slots=True)
class Case:
    """A sub-sample: so many items and answers each from so many of the raters, or from whoever judged them."""

    items: int
    per_item: int
    raters: int | None = None


def wcsent(question: str = "trust") -> pl.DataFrame | None:
    """The judgments of W&C-Sent about one question."""
    if not (DATA / "wcsent").exists():
        return None
    corpus = vantage.read(DATA / "wcsent", "wcsent")
    return corpus.judgments.filter(pl.col("value").is_not_null(), question=question).select("item", "rater", "value")


def subsample(whole: pl.DataFrame, case: Case, rng: np.random.Generator) -> pl.DataFrame:
    """Random items and raters, with as many answers per item as the case has."""
    items = rng.choice(whole["item"].unique().sort().to_numpy(), case.items, replace=False)
    frame = whole.filter(pl.col("item").is_in(items.tolist()))
    if case.raters is not None:
        people = rng.choice(whole["rater"].unique().sort().to_numpy(), case.raters, replace=False)
        frame = frame.filter(pl.col("rater").is_in(people.tolist()))
    frame = frame.sort("item", "rater").with_columns(pl.Series("order", rng.random(len(frame))))
    return frame.filter(pl.col("order").rank().over("item") <= case.per_item).drop("order")


def alpha_width(frame: pl.DataFrame, seed: int) -> float:
    """The width of alpha's interval over items and raters."""
    interval = vantage.measures.alpha(frame, level="ordinal", ci="both", resamples=RESAMPLES, seed=seed)
    return float(interval["high"][0] - interval["low"][0])


def mean_width(frame: pl.DataFrame, seed: int) -> float:
    """The width of the interval of the mean over items and raters."""
    interval = vantage.measures.mean(frame, ci="both", seed=seed)
    return float(interval["high"][0] - interval["low"][0])


REALISED: dict[str, Callable[[pl.DataFrame, int], float]] = {"alpha": alpha_width, "mean": mean_width}
CASES = {
    "DICES-350": (Case(60, 20, 20), Case(60, 5, 60), Case(120, 5, 60), Case(100, 10, 40)),
    "W&C-Sent, trust": (Case(100, 5), Case(200, 5), Case(400, 3), Case(800, 4)),
}


def goals(pilot: pl.DataFrame) -> dict[str, PlanGoal]:
    """The two goals whose widths are compared, on a pilot."""
    read = Pilot.of(pilot.with_columns(question=pl.lit("")), None, "ordinal")
    settings = GoalSettings(None, None, 0.1, 15, 0.95, 25, 0)
    return {
        "alpha": goal_of("alpha", 0.2, settings, read, None),
        "mean": goal_of("mean", 0.2, settings, read, None),
    }


def compared(
    whole: pl.DataFrame, case: Case, planned: dict[str, PlanGoal], draws: int
) -> dict[str, tuple[float, float]]:
    """Predicted and realised widths, the latter on average over sub-samples."""
    realised: dict[str, list[float]] = {name: [] for name in planned}
    raters = []
    for seed in range(draws):
        frame = subsample(whole, case, np.random.default_rng([case.items, case.per_item, seed]))
        raters.append(frame["rater"].n_unique())
        for name, width in REALISED.items():
            realised[name].append(width(frame, seed))
    layout = StudyLayout(case.items, case.per_item, round(float(np.mean(raters))))
    return {name: (goal.value(layout), float(np.mean(realised[name]))) for name, goal in planned.items()}


def votes_covered(correlation: float, members: int, items: int, draws: int) -> tuple[float, float, float, float]:
    """True effective votes of such models, their mean estimate, coverage of the interval, and of correlations.

    Answers are indicators, whose errors correlate less than the numbers behind them: the truth is that of a table of
    many items.
    """
    whole = vantage.measures.panel(
        judges(np.random.default_rng(1), 20_000, correlation, members), level="ordinal", ci="none"
    )
    truth = float(whole["estimate"][0])
    rows = [
        vantage.measures.panel(
            judges(np.random.default_rng([n, members]), items, correlation, members),
            level="ordinal",
            seed=n,
        ).row(0, named=True)
        for n in range(draws)
    ]
    held = np.mean([row["low"] <= truth <= row["high"] for row in rows])
    return truth, float(np.mean([row["estimate"] for row in rows])), float(held), float(whole["correlation"][0])


TRUE = np.array([[0.5, 0.2, 0.8]])
"""Components of the pilots that plans are made from: items, raters, single answers."""


def piloted(seed: int, items: int = 20, raters: int = 9, each: int = 4) -> pl.DataFrame:
    """A pilot with these components."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :each].ravel()
    effects = np.sqrt(TRUE[0, :2, None]) * rng.normal(size=(2, max(items, raters)))
    value = effects[0, item] + effects[1, rater] + np.sqrt(TRUE[0, 2]) * rng.normal(size=len(item))
    return pl.DataFrame({"item": item, "rater": rater, "value": value})


def true_powers(goal: Literal["groups", "items"], pilots: int, delta: float = 0.4) -> list[float]:
    """The true power, for a target of .8, of the designs that are chosen from pilots."""
    between = "raters" if goal == "groups" else "items"
    chosen = [
        vantage.plan(piloted(seed), goal=goal, delta=delta, level="interval", most_per_item=6).chosen
        for seed in range(pilots)
    ]
    return [float(difference_power(TRUE, layout, delta, 0.95, between=between)[0]) for layout in chosen]


def main() -> None:
    """Prints all tables; a number on the command line is how many sub-samples are drawn."""
    draws = next((int(word) for word in sys.argv[1:] if word.isdecimal()), 15)
    print(
        "| corpus | items | answers per item | raters | alpha: predicted | realised | | mean: predicted | realised | |"
    )
    for name, whole in (("DICES-350", dices()), ("W&C-Sent, trust", wcsent())):
        if whole is None:
            continue
        planned = goals(whole)
        for case in CASES[name]:
            widths = compared(whole, case, planned, draws)
            cells = [f"{p:.3f} | {r:.3f} | {100 * (p / r - 1):+.0f} %" for p, r in widths.values()]
            print(
                f"| {name} | {case.items} | {case.per_item} | {case.raters or 'all'} | {' | '.join(cells)} |",
                flush=True,
            )
    print("\n| error correlation | models | items | true votes | mean estimate | coverage |")
    for correlation, members, items in ((0.0, 3, 150), (0.3, 4, 150), (0.6, 6, 200), (0.9, 3, 100)):
        truth, mean, held, real = votes_covered(correlation, members, items, 5 * draws)
        print(f"| {real:.2f} | {members} | {items} | {truth:.2f} | {mean:.2f} | {100 * held:.0f} % |", flush=True)
    kinds: tuple[Literal["groups", "items"], ...] = ("groups", "items")
    for kind in kinds:
        powers = np.array(true_powers(kind, 4 * draws))
        shares = f"{(powers >= 0.7).mean():.0%} at least .7, {(powers >= 0.8).mean():.0%} .8"
        print(f"\ntrue power of plans for {kind}: {shares}")
    for goal in ("alpha", "alt-test"):
        started = time.perf_counter()
        vantage.plan(prevalence=0.3, goal=goal)
        print(f"\n200 simulated designs for {goal}: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
