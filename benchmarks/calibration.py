"""Coverage of intervals and size of tests, by simulation: what docs/calibration.md says, and the suite guards.

`python -m benchmarks calibration [replications]` runs every design; `python -m benchmarks.calibration 100 sparse` those
whose names hold a word. Counts are kept in benchmarks/calibration.json, design by design, so that a long run can be
made in pieces, and docs/calibration.md is written from them after each design.
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
        found = self.rater_sd * rng.normal(size=self.raters)
        found[: self.models] = 0.6 + 0.1 * rng.normal(size=self.models)
        return found

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
    found = vantage.measures.components(frame, ci=ci, seed=seed)
    return [_row(found, component=name) for name in ("item", "rater")]


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
    found: dict[str, Row] = {}
    for together, rows in INTERVALS.items():
        if set(together) & set(names):
            found |= dict(zip(together, rows(frame, seed, ci), strict=True))
    return {name: found[name] for name in names}


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

    @property
    def share(self) -> float:
        """The coverage."""
        return self.held / self.of


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
        covered[name].held += row["low"] is not None and row["low"] <= truth[name] <= row["high"]


def sizes(design: Design, replications: int, seed: int = 0) -> dict[str, list[bool]]:
    """Whether tests find what is not there, at the level .05, in each replication."""
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
        if n % 2 == 0:
            distance = _row(
                vantage.measures.distance(traits, between="trait", relabellings=39, ci="items", resamples=50)
            )
            note("distance, p over raters", distance["p"] <= 0.05)
            share = _row(
                vantage.measures.components(traits, trait="trait", interaction=False, seed=n), component="trait"
            )
            note("components, trait's interval above 0", share["low"] > 1e-9)
    return found


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
    whole: pl.DataFrame, names: Sequence[str], replications: int, *, per_item: int | None
) -> dict[str, Covered]:
    """Coverage without any model: random items and raters of a table in which everyone judged everything."""
    truth = estimates([whole], names)
    items, raters = (whole[column].unique().sort().to_numpy() for column in ("item", "rater"))
    covered = {name: Covered() for name in names}
    for n in range(replications):
        rng = np.random.default_rng(n)
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


_INTRODUCTION = """# Calibration

Do the intervals cover, and do the tests have their size? `python -m benchmarks calibration` writes this page, with
{resamples} resamples per interval. With 100 replications the standard error of a coverage of 95 % is 2.2 points, with
200 it is 1.5. A fast version with fixed seeds is part of the test suite.

## Intervals

Share of nominal 95 % intervals that hold the value of the population, in percent, with the default options. Where fewer
than ten raters judged several items the default is over items, marked ⁱ: the value is then that of these raters with
other items. All others are over both, items and raters. The goal is 93–97 %.
"""
_BETWEEN = """
Answers are a latent value (item, rater, noise) cut into points; unless the name says otherwise there are 80 items, 20
raters, four ratings an item and five points. The value of the population is that of tables with {large} times as many
items and raters. DICES-350 needs no model: there are all answers of 123 people to 350 conversations, and designs are
drawn from them. What depends on the number of answers an item has cannot be compared with the whole, and is left out.

Further from the goal than chance allows (two standard errors): {off}.

## Tests

Share of p < .05 where there is nothing to find, in percent; the goal is 3–7. Trait labels are assigned to raters at
random, the property of items is their parity, and the two questions are unrelated but answered by the same raters. The
interval of a trait's share should lie above 0 by mistake in 2.5 % or fewer; it and the distance are tested in every
second replication.
"""
_FURTHER = """
## Further intervals

The same for the other measures that give intervals, with {least} replications or more (half as many for correlate and
calibration, which are slow). ⁱ marks intervals over items: the value is that of these raters with {others} times as many
other items. Accuracy is the mean absolute error of a simulated model against the mean of people, calibration its Brier
score from three samples, alt-test the mean advantage, and ranks the rank correlation of six models under two conditions;
bands is the share of items below the middle, and refusals, opt-outs and ambiguity are about the answers at the top of
the scale, which depend on item and rater. Rater-quality and rater-matrix look at the first rater and the first pair,
which must share ten items. An empty cell means that the design gives no interval.
"""
_TESTED = """
The size of further tests, as above. On two occasions the same raters judge the same items again; the two conditions of
the ranks are unrelated; the person of the alternative annotator test stands against a twin, who answers from the same
distribution, with ε = 0.
"""
_LIMITS = """
## What was done about it

* Resamples of items vary less than other items do, by (n − 1)/n, and the percentiles of a few hundred resamples stop
  short: plain percentile intervals over 60 items hold the value of five raters in 90–93 % of cases. Intervals are as much
  longer as Student's t is (Hesterberg 2015). Alpha and kappas of few items are too small on average; their intervals are
  moved by the bias that resamples show.
* Shares near 0 and 1 are skewed, and so are the shares of single raters. Intervals that reach as far down as up miss on one
  side: of 400 each in the sparse design and with strong rater effects, those of ambiguity lay below the value in 5.8 and
  5.5 % and above it in 1.5 and 1.2 %. Wilson's interval of as many independent units as have the same variance lies below
  it in 3.2 and 2.8 % and above it in 1.8 and 2.0 %.
* 40 replications tell a coverage of 95 % only to 7 points, two standard errors. {more}

## What cannot be had

* The bootstrap over items alone says nothing about other raters; with rater effects it holds the value of the
  population too rarely. That is why the default is over both from ten raters on; with fewer it is over items, and `reason`
  says so.
* Over both, the bootstrap over items is widened by what raters add beyond the noise of single answers, found by leaving
  them out in turn. With few answers per item that addition is itself uncertain, so that it cannot fall below 0 makes
  intervals a little too long where raters do not differ.
* Skewed items have a few that decide the variance, as do those of DICES-350, where most answers are the same; the
  items' share and what is made of it (needed raters, ICC) cover less often, however the degrees of freedom are
  corrected. Where the items' means are skewed, `reason` says so in the result.
* The intervals of ICC(2,1) for complete tables take normal effects for granted (McGraw and Wong 1996); on three answers
  such as those of DICES-350 they cover less often.
* 100 replications tell a size of 5 % only to about four points. Where they came out high, more were run with other
  seeds: of 300 of the batches a trait of raters was found in 6.0 % (Welch) and 5.7 % (permutation) and a property of
  items in 5.7 %, of 200 with 200 raters a property of items in 4.0 %, and of 200 each of the crossed and the sparse
  design with 20 raters a distance in 6.5 % and 4.5 %.
* Cohen's kappa and Scott's pi averaged over pairs of raters are biased where pairs share few items, Scott's pi most: in
  the sparse designs a pair shares two or three. `reason` says so below ten shared items (30 for Scott's pi); Fleiss'
  kappa and alpha do not average over pairs.
* Whether an item is split depends on how many answers it has: of four a fourth is one answer, of five it is two. Leaving
  raters out therefore changes more than other raters would, and intervals of split-items over both are too long.
* Five raters have a variance with four degrees of freedom: the interval of their share is long, not wrong.
"""


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "calibration"]
    numbers = [int(word) for word in words if word.isdecimal()]
    parts = [word for word in words if not word.isdecimal()]
    replications = numbers[0] if numbers else 400
    counts: dict[str, Any] = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    whole = dices()
    some = [name for name in NAMES if name not in ("entropy", "split-half")]  # they depend on the number of answers
    for name in [design.name for design in DESIGNS] + [*SUBSAMPLED]:
        if parts and not any(part in name for part in parts):
            continue
        start = time.perf_counter()
        found: dict[str, list[int]] = {}
        if name not in SUBSAMPLED:
            design = next(design for design in DESIGNS if design.name == name)
            covered = coverage(design, NAMES, replications)
            found = {test: [sum(hits), len(hits)] for test, hits in sizes(design, replications).items()}
        elif whole is not None:
            covered = subsampled(whole, some, replications, per_item=5 if name == SUBSAMPLED[1] else None)
        else:
            continue
        counts[name] = counts.get(name, {}) | {
            "covered": {key: [c.held, c.of, c.over] for key, c in covered.items()},
            "found": found,
        }
        COUNTS.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        PAGE.write_text(page(counts), encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


def page(counts: dict[str, Any]) -> str:
    """The page of the documentation."""
    ran = [name for name in (*(design.name for design in DESIGNS), *SUBSAMPLED) if name in counts]
    rows, off = [], []
    for design in ran:
        covered = {name: Covered(*found) for name, found in counts[design]["covered"].items()}
        cells = [str(max(c.of for c in covered.values()))]
        for name in NAMES:
            c = covered.get(name)
            cells.append("" if c is None else _cell(c))
            if c is not None and _is_off(c):
                off.append(f"{name} ({design}: {100 * c.share:.0f} %)")
        rows.append([design, *cells])
    tests, tested = _sizes({design: counts[design]["found"] for design in ran})
    missing = [name for name in (*(design.name for design in DESIGNS), *SUBSAMPLED) if name not in counts]
    return "\n".join(
        [
            _INTRODUCTION.format(resamples=RESAMPLES),
            *_table(["design", "replications", *NAMES], rows),
            *(["", f"Not run yet: {', '.join(missing)}."] if missing else []),
            _BETWEEN.format(off="; ".join(off) if off else "none", large=LARGE),
            *_table(["design", "replications", *tests], tested),
            *_further(counts),
            *_tested(counts),
            _LIMITS,
        ]
    )


def _sizes(found: dict[str, dict[str, list[int]]]) -> tuple[list[str], list[list[str]]]:
    """The names of tests, and a row for each design in which they were tried."""
    tests = list(dict.fromkeys(test for tried in found.values() for test in tried))
    rows = []
    for design, tried in found.items():
        if tried:
            shares = [f"{100 * tried[test][0] / tried[test][1]:.1f}" if test in tried else "" for test in tests]
            rows.append([design, str(max(of for _, of in tried.values())), *shares])
    return tests, rows


def _tested(counts: dict[str, Any]) -> list[str]:
    """The second table of tests."""
    tests, rows = _sizes({d.name: counts[d.name].get("tested", {}) for d in DESIGNS if d.name in counts})
    return [_TESTED, *_table(["design", "replications", *tests], rows)] if rows else []


def _further(counts: dict[str, Any]) -> list[str]:
    """The second table of intervals, and what in it is off."""
    ran = {d.name: counts[d.name]["further"] for d in DESIGNS if counts.get(d.name, {}).get("further")}
    if not ran:
        return []
    names = list(dict.fromkeys(name for found in ran.values() for name in found))
    rows, off = [], []
    for design, found in ran.items():
        covered = {name: Covered(*values) for name, values in found.items()}
        cells = [_cell(covered[name]) if name in covered else "" for name in names]
        rows.append([design, str(max(c.of for c in covered.values())), *cells])
        off += [f"{name} ({design}: {100 * c.share:.0f} %)" for name, c in covered.items() if _is_off(c)]
    least = min(int(row[1]) for row in rows)
    missing = [design.name for design in DESIGNS if design.name not in ran]
    return [
        _FURTHER.format(least=least, others=30),
        *_table(["design", "replications", *names], rows),
        *(["", f"Not run yet: {', '.join(missing)}."] if missing else []),
        "",
        f"Further from the goal than chance allows (two standard errors): {'; '.join(off) if off else 'none'}.",
    ]


def _cell(c: Covered) -> str:
    return f"{100 * c.share:.1f}{'ⁱ' if c.over == 'items' else ''}"


def _is_off(c: Covered) -> bool:
    return not 0.93 - 2 * _error(c.of) <= c.share <= 0.97 + 2 * _error(c.of)


def _error(n: int) -> float:
    """The standard error of a coverage of 95 %."""
    return float((0.95 * 0.05 / n) ** 0.5)


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


if __name__ == "__main__":
    main()
