"""Coverage of intervals and size of tests, by simulation: what docs/calibration.md says, and the suite guards.

`python -m benchmarks calibration [replications]` runs every design; `python -m benchmarks.calibration 100 sparse` those
whose names hold a word. Counts are kept in benchmarks/calibration.json, design by design, so that a long run can be
made in pieces, and docs/calibration.md is written from them after each design; `seed=1` adds other tables to those
counted before, and `tests` leaves the intervals as they are. Further intervals and tests follow
(benchmarks/calibration_further.py), where `only=accuracy;cohen` measures these intervals and leaves all else as it is.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
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
COUNTS = Path(__file__).with_suffix(".json")
DATA = Path(os.environ.get("VANTAGE_DATA") or Path(__file__).parents[2] / "shared" / "data")
RESAMPLES = 200
LARGE = 40
"""How many times more items and raters than in a design stand for its population."""
TABLES = 4
"""Over how many such tables the value of the population is averaged."""


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
        severities = self.rater_sd * rng.normal(size=self.raters)
        severities[: self.models] = 0.6 + 0.1 * rng.normal(size=self.models)
        return severities

    def answers(self, rng: np.random.Generator, effects: Effects | None = None) -> pl.DataFrame:
        """One table of judgments, with these raters or with others."""
        return self.with_latent(rng, effects).drop("latent")

    def with_latent(self, rng: np.random.Generator, effects: Effects | None = None) -> pl.DataFrame:
        """The same with what each item is like before raters and noise, which a model may be simulated from."""
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
        return pl.DataFrame({"item": item, "rater": rater, "value": self.cut(value), "latent": latent[item]})

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
        return [large.answers(np.random.default_rng([seed, n])) for n in range(TABLES)]


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


def _row(frame: pl.DataFrame, **where: Any) -> Row:
    return frame.filter(**where).row(0, named=True) if where else frame.row(0, named=True)


def _components(frame: pl.DataFrame, seed: int, ci: Any) -> list[Row]:
    variances = vantage.measures.components(frame, ci=ci, seed=seed)
    return [_row(variances, component=name) for name in ("item", "rater")]


def _measured(function: Callable[..., pl.DataFrame], **options: Any) -> Callable[[pl.DataFrame, int, Any], list[Row]]:
    return lambda f, seed, ci: [_row(function(f, ci=ci, resamples=RESAMPLES, seed=seed, **options))]


INTERVALS: dict[tuple[str, ...], Callable[[pl.DataFrame, int, Any], list[Row]]] = {
    ("alpha",): _measured(vantage.measures.alpha, level="ordinal"),
    ("fleiss",): _measured(vantage.measures.fleiss),
    ("ac1",): _measured(vantage.measures.ac1),
    ("pairwise",): _measured(vantage.measures.pairwise),
    ("difference",): _measured(vantage.measures.difference),
    ("entropy",): _measured(vantage.measures.entropy),
    ("split-half",): _measured(vantage.measures.split_half, splits=30),
    ("needed-raters",): _measured(vantage.measures.needed_raters, up_to=1),
    ("components, item", "components, rater"): _components,
    # Its population value is the share of the items, which is quicker to estimate.
    ("icc(2,1)",): lambda f, s, ci: [
        _row(vantage.measures.icc(f), form="ICC(2,1)") if ci != "none" else _components(f, s, ci)[0]
    ],
}
NAMES = [name for names in INTERVALS for name in names]


def measured(frame: pl.DataFrame, names: Sequence[str], seed: int, ci: str) -> dict[str, Row]:
    """The rows of the measures that are named."""
    rows_of: dict[str, Row] = {}
    for together, rows in INTERVALS.items():
        if set(together) & set(names):
            rows_of |= dict(zip(together, rows(frame, seed, ci), strict=True))
    return {name: rows_of[name] for name in names}


def estimates(frames: Sequence[pl.DataFrame], names: Sequence[str]) -> dict[str, float]:
    """What the measures give for tables so large that this is taken for the truth."""
    rows = [measured(frame, names, 0, "none") for frame in frames]
    return {name: float(np.mean([row[name]["estimate"] for row in rows])) for name in names}


@dataclass(slots=True)
class Covered:
    """How often an interval held the true value."""

    held: int = 0
    of: int = 0
    over: str = "none"
    length: float = 0.0
    """That of all intervals together."""

    @property
    def share(self) -> float:
        """The coverage."""
        return self.held / self.of

    def add(self, row: Row, value: float) -> None:
        """Counts an interval that is given."""
        self.held += row["low"] <= value <= row["high"]
        self.length += row["high"] - row["low"]


def coverage(design: Design, names: Sequence[str], replications: int, seed: int = 0) -> dict[str, Covered]:
    """How often the default intervals hold the value of the population that they are over."""
    truth = estimates(design.population(), names)
    covered = {name: Covered() for name in names}
    for n in range(replications):
        rng = np.random.default_rng([seed, n])
        effects = design.effects(rng)
        rows = measured(design.answers(rng, effects), names, n, "auto")
        over_items = [name for name in names if rows[name]["over"] == "items"]
        mine = truth
        if over_items:  # these raters, other items
            others = replace(design, items=2000).answers(np.random.default_rng([seed, n, 1]), effects)
            mine = truth | estimates([others], over_items)
        _count(covered, rows, mine)
    return covered


def _count(covered: dict[str, Covered], rows: dict[str, Row], truth: dict[str, float]) -> None:
    for name, row in rows.items():
        covered[name].of += 1
        covered[name].over = row["over"] or covered[name].over
        if row["low"] is not None:
            covered[name].add(row, truth[name])


def sizes(design: Design, replications: int, seed: int = 0) -> dict[str, list[bool]]:
    """Whether tests find what is not there, at the level .05, in each replication."""
    rejected: dict[str, list[bool]] = {}

    def note(name: str, hit: bool) -> None:
        rejected.setdefault(name, []).append(hit)

    for n in range(replications):
        rng = np.random.default_rng([seed, n])
        frame = design.answers(rng)
        raters = frame["rater"].unique().sort()
        label = np.where(rng.permutation(len(raters)) < len(raters) // 2, "a", "b")
        traits = frame.join(pl.DataFrame({"rater": raters, "trait": label}), on="rater")
        row = _row(vantage.measures.compare(traits, between="trait", test="welch", ci="none", permutations=400))
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
        if n % 2 == 0:
            distance = _row(
                vantage.measures.distance(traits, between="trait", relabellings=39, ci="items", resamples=50)
            )
            note("distance, p over raters", distance["p"] <= 0.05)
            share = _row(
                vantage.measures.components(traits, trait="trait", interaction=False, seed=n), component="trait"
            )
            note("components, trait's interval above 0", share["low"] > 1e-9)
    return rejected


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


def subsampled(
    whole: pl.DataFrame, names: Sequence[str], replications: int, *, per_item: int | None, seed: int = 0
) -> dict[str, Covered]:
    """Coverage without any model: random items and raters of a table in which everyone judged everything."""
    truth = estimates([whole], names)
    items, raters = (whole[column].unique().sort().to_numpy() for column in ("item", "rater"))
    covered = {name: Covered() for name in names}
    for n in range(replications):
        rng = np.random.default_rng([seed, n] if seed else n)
        mine = rng.choice(items, 60, replace=False)
        if per_item is None:
            who = rng.choice(raters, 20, replace=False)
            frame = whole.filter(pl.col("item").is_in(mine), pl.col("rater").is_in(who))
        else:
            some = rng.choice(raters, 60, replace=False)
            pairs = [(i, r) for i in mine for r in rng.choice(some, per_item, replace=False)]
            frame = whole.join(pl.DataFrame(pairs, schema=["item", "rater"], orient="row"), on=["item", "rater"])
        _count(covered, measured(frame, names, n, "auto"), truth)
    return covered


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for: how many tables of which designs, and whether they are added to others."""

    replications: int
    parts: list[str]
    seed: int
    tests: bool
    only: tuple[str, ...] = ()
    """Intervals that are simulated without the others."""

    @classmethod
    def of(cls, words: Sequence[str], replications: int) -> Asked:
        """The words after the name of the benchmark."""
        numbers = [int(word) for word in words if word.isdecimal()]
        seed = next((int(word[5:]) for word in words if word.startswith("seed=")), 0)
        only = tuple(name for word in words if word.startswith("only=") for name in word[5:].split(";"))
        options = ("seed=", "only=")
        parts = [w for w in words if not (w.isdecimal() or w.startswith(options) or w in ("tests", "calibration"))]
        return cls(numbers[0] if numbers else replications, parts, seed, "tests" in words, only)

    def has(self, design: str) -> bool:
        """Whether a design is asked for."""
        return not self.parts or any(part in design for part in self.parts)

    def write(self, design: str, **counted: dict[str, list[Any]]) -> None:
        """Keeps counts, added to those of other seeds, and writes the page."""
        from benchmarks.calibration_page import page

        counts: dict[str, Any] = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
        mine = counts.setdefault(design, {"covered": {}, "found": {}})
        for kind, found in counted.items():
            before = mine.get(kind, {}) if self.seed else {}
            others = {name: hits for name, hits in mine.get(kind, {}).items() if self.only and name not in self.only}
            mine[kind] = (
                others
                | before
                | {
                    name: [hits + before.get(name, [0, 0])[0], of + before.get(name, [0, 0])[1], *rest]
                    for name, (hits, of, *rest) in found.items()
                }
            )
        COUNTS.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        PAGE.write_text(page(counts), encoding="utf-8")


def counted(covered: dict[str, Covered]) -> dict[str, list[Any]]:
    """Coverages as they are kept."""
    return {name: [c.held, c.of, c.over] for name, c in covered.items()}


def main() -> None:
    from benchmarks import calibration_further

    asked = Asked.of(sys.argv[1:], 400)
    whole = dices()
    some = [name for name in NAMES if name not in ("entropy", "split-half")]  # they depend on the number of answers
    for design in (design for design in DESIGNS if asked.has(design.name)):
        start = time.perf_counter()
        tested = sizes(design, asked.replications, asked.seed)
        asked.write(design.name, found={test: [sum(hits), len(hits)] for test, hits in tested.items()})
        if not asked.tests:
            covered = coverage(design, NAMES, asked.replications, asked.seed)
            asked.write(design.name, covered=counted(covered))
        print(f"{design.name}: {time.perf_counter() - start:.0f} s", flush=True)
    for name in SUBSAMPLED:
        if asked.has(name) and whole is not None and not asked.tests:
            per_item = 5 if name == SUBSAMPLED[1] else None
            covered = subsampled(whole, some, asked.replications, per_item=per_item, seed=asked.seed)
            asked.write(name, covered=counted(covered))
    if not asked.tests:
        calibration_further.main()


if __name__ == "__main__":
    main()
