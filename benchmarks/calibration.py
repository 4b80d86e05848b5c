"""Coverage of intervals and size of tests, by simulation: what docs/calibration.md says, and the suite guards.

Run with `python -m benchmarks calibration [replications]`; it writes docs/calibration.md.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

import vantage

Row: TypeAlias = dict[str, Any]
Effects: TypeAlias = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
DATA = Path(os.environ.get("VANTAGE_DATA") or Path(__file__).parents[2] / "shared" / "data")
RESAMPLES = 200
LARGE = 12
"""How many times more items and raters than in a design stand for its population."""


@dataclass(frozen=True, slots=True)
class Design:
    """Who judges what, and how: a latent value cut into points."""

    name: str
    items: int = 80
    raters: int = 20
    per_item: int = 5
    layout: str = "random"
    """`random`, `crossed`, or `batches` of as many raters as an item has."""
    rater_sd: float = 0.5
    points: int = 5
    skewed: bool = False
    models: int = 0
    """How many raters hardly vary and answer higher, as models do."""

    def effects(self, rng: np.random.Generator) -> Effects:
        """What each rater adds."""
        found = self.rater_sd * rng.normal(size=self.raters)
        found[: self.models] = 0.6 + 0.1 * rng.normal(size=self.models)
        return found

    def answers(self, rng: np.random.Generator, effects: Effects | None = None) -> pl.DataFrame:
        """One table of judgments, with these raters or with others."""
        effects = self.effects(rng) if effects is None else effects
        k = self.raters if self.layout == "crossed" else self.per_item
        item = np.repeat(np.arange(self.items), k)
        if self.layout == "crossed":
            rater = np.tile(np.arange(self.raters), self.items)
        elif self.layout == "batches":
            size = max(1, self.items * k // self.raters)
            rater = (item // size * k + np.tile(np.arange(k), self.items)) % self.raters
        else:
            rater = np.argsort(rng.random((self.items, self.raters)), axis=1)[:, :k].ravel()
        latent = rng.exponential(1.0, self.items) - 1 if self.skewed else rng.normal(size=self.items)
        noise = np.where(rater < self.models, 0.5, 1.0) * rng.normal(size=len(item))
        value = latent[item] + effects[rater] + noise
        return pl.DataFrame({"item": item, "rater": rater, "value": self.cut(value)})

    def cut(self, value: Effects) -> Effects:
        """Latent values as answers on a scale of so many points."""
        if self.points > 10:
            return np.clip(np.rint(50 + 20 * value), 0, 100)
        edges = np.linspace(-1.6, 1.6, self.points - 1) + (0.8 if self.skewed else 0.0)
        return np.digitize(value, edges).astype(np.float64)

    def population(self, seed: int = 1) -> list[pl.DataFrame]:
        """Large tables of the same kind, whose estimates stand for the true values."""
        layout, k = ("random", self.raters) if self.layout == "crossed" else (self.layout, self.per_item)
        large = replace(self, items=self.items * LARGE, raters=self.raters * LARGE, models=self.models * LARGE)
        large = replace(large, layout=layout, per_item=k)
        return [large.answers(np.random.default_rng([seed, n])) for n in range(2)]


DESIGNS = (
    Design("crossed, 20 raters", 60, 20, layout="crossed"),
    Design("crossed, 5 raters", 60, 5, layout="crossed"),
    Design("sparse, 20 raters", 80, 20, 4),
    Design("sparse, 200 raters", 250, 200, 5),
    Design("batches of five raters (W&C-Sent)", 160, 40, 5, "batches"),
    Design("no rater effects", 80, 20, 4, rater_sd=0.0),
    Design("strong rater effects", 80, 20, 4, rater_sd=1.0),
    Design("3 points", 80, 20, 4, points=3),
    Design("7 points", 80, 20, 4, points=7),
    Design("0 to 100", 80, 20, 4, points=101),
    Design("skewed, 5 points", 80, 20, 4, skewed=True),
    Design("with three models", 80, 20, 4, models=3),
)

SUBSAMPLED = ("DICES-350, 60 × 20 of 350 × 123", "DICES-350, 60 items with 5 of 60 raters")

Interval: TypeAlias = Callable[[pl.DataFrame, int, Any], Row]


def _row(frame: pl.DataFrame, **where: Any) -> Row:
    return frame.filter(**where).row(0, named=True) if where else frame.row(0, named=True)


INTERVALS: dict[str, Interval] = {
    "alpha": lambda f, s, ci: _row(vantage.measures.alpha(f, level="ordinal", ci=ci, resamples=RESAMPLES, seed=s)),
    "fleiss": lambda f, s, ci: _row(vantage.measures.fleiss(f, ci=ci, resamples=RESAMPLES, seed=s)),
    "ac1": lambda f, s, ci: _row(vantage.measures.ac1(f, ci=ci, resamples=RESAMPLES, seed=s)),
    "pairwise": lambda f, s, ci: _row(vantage.measures.pairwise(f, ci=ci, resamples=RESAMPLES, seed=s)),
    "difference": lambda f, s, ci: _row(vantage.measures.difference(f, ci=ci, resamples=RESAMPLES, seed=s)),
    "entropy": lambda f, s, ci: _row(vantage.measures.entropy(f, ci=ci, resamples=RESAMPLES, seed=s)),
    "split-half": lambda f, s, ci: _row(vantage.measures.split_half(f, splits=30, ci=ci, resamples=RESAMPLES, seed=s)),
    "needed-raters": lambda f, s, ci: _row(
        vantage.measures.needed_raters(f, up_to=1, ci=ci, resamples=RESAMPLES, seed=s)
    ),
    "components, item": lambda f, s, ci: _row(vantage.measures.components(f, ci=ci, seed=s), component="item"),
    "components, rater": lambda f, s, ci: _row(vantage.measures.components(f, ci=ci, seed=s), component="rater"),
    "icc(2,1)": lambda f, s, ci: _row(vantage.measures.icc(f), form="ICC(2,1)"),
}


@dataclass(frozen=True, slots=True)
class Covered:
    """How often an interval held the true value."""

    held: int
    of: int
    over: str

    @property
    def share(self) -> float:
        """The coverage."""
        return self.held / self.of


def same_as(name: str) -> str:
    """The measure whose estimate of a large table is the true value: shares are ICCs, and quick to estimate."""
    return "components, item" if name == "icc(2,1)" else name


def coverage(design: Design, names: list[str], replications: int, seed: int = 0) -> dict[str, Covered]:
    """How often the default intervals hold the value of the population that they are over."""
    whole = design.population()
    truth = {
        name: float(np.mean([INTERVALS[same_as(name)](f, 0, "none")["estimate"] for f in whole])) for name in names
    }
    held, over = dict.fromkeys(names, 0), dict.fromkeys(names, "")
    for n in range(replications):
        rng = np.random.default_rng([seed, n])
        effects = design.effects(rng)
        frame = design.answers(rng, effects)
        others = None
        for name in names:
            row = INTERVALS[name](frame, n, "auto")
            over[name] = row["over"] or "none"
            true = truth[name]
            if row["over"] == "items":  # these raters, other items
                if others is None:
                    others = replace(design, items=2000).answers(np.random.default_rng([seed, n, 1]), effects)
                true = float(INTERVALS[same_as(name)](others, 0, "none")["estimate"])
            held[name] += row["low"] is not None and row["low"] <= true <= row["high"]
    return {name: Covered(held[name], replications, over[name]) for name in names}


def sizes(design: Design, replications: int, seed: int = 0) -> dict[str, float]:
    """How often tests find what is not there, at the level .05."""
    found: dict[str, list[bool]] = {}

    def note(name: str, hit: bool) -> None:
        found.setdefault(name, []).append(hit)

    for n in range(replications):
        rng = np.random.default_rng([seed, n])
        frame = design.answers(rng)
        raters = frame["rater"].unique().sort()
        label = np.where(rng.permutation(len(raters)) < len(raters) // 2, "a", "b")
        traits = frame.join(pl.DataFrame({"rater": raters, "trait": label}), on="rater")
        row = _row(vantage.measures.compare(traits, between="trait", ci="none", permutations=400))
        if row["p"] is not None:
            note("compare, a trait of raters (Welch)", row["p"] < 0.05)
            note("compare, a trait of raters (permutation)", row["p_permutation"] <= 0.05)
        genre = frame.with_columns(genre=pl.col("item") % 2)
        note(
            "compare, a property of items",
            _row(vantage.measures.compare(genre, between="genre", ci="none"))["p"] < 0.05,
        )
        again = [frame.with_columns(question=pl.lit("a")), design.answers(rng).with_columns(question=pl.lit("b"))]
        same = pl.concat([again[0], again[1].with_columns(frame["item"], frame["rater"])])
        note("correlate, two questions", _row(vantage.measures.correlate(same, ci="none"))["p"] < 0.05)
        if n % 4 == 0:
            distance = _row(vantage.measures.distance(traits, between="trait", relabellings=39, resamples=50))
            note("distance, p over raters", distance["p"] <= 0.05)
            share = _row(
                vantage.measures.components(traits, trait="trait", interaction=False, seed=n), component="trait"
            )
            note("components, trait's interval above 0", share["low"] > 1e-9)
    return {name: float(np.mean(hits)) for name, hits in found.items()}


def dices() -> pl.DataFrame | None:
    """DICES-350: 350 conversations, each judged by the same 123 people."""
    file = DATA / "dices" / "dices_350_crowdsourced.json"
    if not file.exists():
        return None
    codes = {"No": 0.0, "Unsure": 1.0, "Yes": 2.0}
    rows = [
        (entry["id"], rater, codes[answer])
        for entry in json.loads(file.read_text(encoding="utf-8"))["instances"]
        for rater, answer in enumerate(entry["annotations"]["safety"]["individual_human_scores"])
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


def subsampled(whole: pl.DataFrame, names: list[str], replications: int, *, per_item: int | None) -> dict[str, Covered]:
    """Coverage without any model: random items and raters of a table in which everyone judged everything."""
    truth = {name: float(INTERVALS[name](whole, 0, "none")["estimate"]) for name in names}
    items, raters = (whole[column].unique().sort().to_numpy() for column in ("item", "rater"))
    held, over = dict.fromkeys(names, 0), dict.fromkeys(names, "")
    for n in range(replications):
        rng = np.random.default_rng(n)
        mine = rng.choice(items, 60, replace=False)
        if per_item is None:
            who = rng.choice(raters, 20, replace=False)
            frame = whole.filter(pl.col("item").is_in(mine), pl.col("rater").is_in(who))
        else:
            pairs = [(i, r) for i in mine for r in rng.choice(raters[:60], per_item, replace=False)]
            frame = whole.join(pl.DataFrame(pairs, schema=["item", "rater"], orient="row"), on=["item", "rater"])
        for name in names:
            row = INTERVALS[name](frame, n, "auto")
            over[name] = row["over"] or "none"
            held[name] += row["low"] is not None and row["low"] <= truth[name] <= row["high"]
    return {name: Covered(held[name], replications, over[name]) for name in names}


_INTRODUCTION = """# Calibration

Do the intervals cover, and do the tests have their size? `python -m benchmarks calibration` writes this page; this one
comes from a run with {replications} replications of every design (standard error of a coverage of 95 %: {error:.1f}
points) and {resamples} resamples per interval. A fast version with fixed seeds is part of the suite.

## Intervals

Share of nominal 95 % intervals that hold the value of the population, in percent, with the default options. Where fewer
than ten raters judged several items the default is over items, marked ⁱ: the value is then that of these raters with
other items. All others are over both, items and raters. The goal is 93–97 %.
"""
_BETWEEN = """
Answers are a latent value (item, rater, noise) cut into points; unless the name says otherwise there are 80 items, 20
raters, four ratings an item and five points. The value of the population is that of tables with twelve times as many
items and raters. DICES-350 needs no model: there are all answers of 123 people to 350 conversations, and designs are
drawn from them.

Further from the goal than chance allows (two standard errors): {off}.

## Tests

Share of p < .05 where there is nothing to find, in percent; the goal is 3–7. Trait labels are dealt to raters at
random, the property of items is their parity, and the two questions are unrelated but answered by the same raters. The
interval of a trait's share should lie above 0 by mistake in 2.5 % or fewer; it and the distance are tested in every
fourth replication. The standard error of a size of 5 % is {error:.1f} points, and twice that in the last two columns.
"""
_LIMITS = """
## What cannot be had

* The bootstrap over items alone says nothing about other raters; with rater effects it holds the value of the
  population too rarely. That is why the default is over both from ten raters on.
* The bootstrap over both counts the noise of single answers more than once (Owen 2007) and is conservative where noise
  is all there is: without rater effects and with few answers per item.
* Skewed items have a few that decide the variance; the item's share and what is made of it covers less often, however
  the degrees of freedom are corrected.
* Five raters have a variance with four degrees of freedom: the interval of their share is long, not wrong.
"""


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    replications = numbers[0] if numbers else 400
    start = time.perf_counter()
    names = list(INTERVALS)
    covered: dict[str, dict[str, Covered]] = {}
    size: dict[str, dict[str, float]] = {}
    for design in DESIGNS:
        covered[design.name] = coverage(design, names, replications)
        size[design.name] = sizes(design, replications)
        told = ", ".join(f"{name} {c.share:.3f}" for name, c in covered[design.name].items())
        print(f"{design.name} ({time.perf_counter() - start:.0f} s): {told}; {size[design.name]}", flush=True)
    if (whole := dices()) is not None:
        some = [name for name in names if name != "entropy"]  # it depends on the number of answers
        covered[SUBSAMPLED[0]] = subsampled(whole, some, replications, per_item=None)
        covered[SUBSAMPLED[1]] = subsampled(whole, some, replications, per_item=5)
    PAGE.write_text(page(covered, size, replications), encoding="utf-8")


def page(covered: dict[str, dict[str, Covered]], size: dict[str, dict[str, float]], replications: int) -> str:
    """The page of the documentation."""
    names = list(INTERVALS)
    error = 100 * (0.95 * 0.05 / replications) ** 0.5
    off = [
        f"{name} ({design}: {100 * c.share:.0f} %)"
        for design, found in covered.items()
        for name, c in found.items()
        if not 0.93 - 2 * error / 100 <= c.share <= 0.97 + 2 * error / 100
    ]
    lines = [
        *_INTRODUCTION.format(replications=replications, error=error, resamples=RESAMPLES).split("\n"),
        "| design | " + " | ".join(names) + " |",
        "| --- |" + " ---: |" * len(names),
    ]
    for design, found in covered.items():
        cells = []
        for name in names:
            c = found.get(name)
            cells.append("" if c is None else f"{100 * c.share:.1f}{'ⁱ' if c.over == 'items' else ''}")
        lines.append(f"| {design} | " + " | ".join(cells) + " |")
    if missing := [name for name in (*(design.name for design in DESIGNS), *SUBSAMPLED) if name not in covered]:
        lines += ["", f"Not part of this run, though the same command runs them: {', '.join(missing)}."]
    tests = list(dict.fromkeys(name for found in size.values() for name in found))
    lines += [
        *_BETWEEN.format(error=error, off="; ".join(off) if off else "none").split("\n"),
        "| design | " + " | ".join(tests) + " |",
        "| --- |" + " ---: |" * len(tests),
    ]
    for design, rates in size.items():
        cells = [f"{100 * rates[name]:.1f}" if name in rates else "" for name in tests]
        lines.append(f"| {design} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, *_LIMITS.split("\n")])


if __name__ == "__main__":
    main()
