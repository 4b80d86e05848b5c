"""Coverage of intervals and size of tests, by simulation: what docs/calibration.md says.

`python -m benchmarks calibration` runs the table in benchmarks/calibration_rows.py, one row per measure, design and
target. `--only alpha` and `--design few-items` choose rows (names or parts of them, several with semicolons),
`--replications 200` says how many tables are simulated (300), `--keep` puts results with the day of the run into
benchmarks/calibration.csv, and `--seed 1` takes other tables. The page is written from the kept results. `--stale DAY`
chooses rows that were not run since that day. A row without any interval, or whose intervals never hold the value,
fails the bench.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from benchmarks import simulators
from benchmarks.calibration_rows import CASES, INTERVALS, PAIRS, TESTS, Line, lines, measured, true_row
from benchmarks.simulators import DESIGNS, Design

RESULTS: Final = Path(__file__).with_suffix(".csv")
DATA: Final = Path(os.environ.get("VANTAGE_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS: Final = 6
"""How many sets of raters are tried where an interval is about other items with the same raters."""
TABLES: Final = 3
"""Over how many large tables the value of a population is averaged."""
TRUE_ITEMS: Final = 2000


@dataclass(slots=True)
class Result:
    """What the tables of one row gave. Refusals give no interval or p; warnings are reasons beside one."""

    measure: str
    design: str
    target: str
    what: str = ""
    day: str = field(default_factory=lambda: date.today().isoformat())
    replications: int = 0
    given: int = 0
    hits: float = 0.0
    """Intervals that hold the value, or tests that reject."""
    warned: int = 0
    width: float = 0.0
    """The mean width of the intervals that are given."""
    over: str = ""
    silent: int = 0
    """Misses, or rejections, without a word."""
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def is_test(self) -> bool:
        """Whether hits are rejections."""
        return self.target == "nothing there" or self.what.endswith("rejected")

    @property
    def share(self) -> float | None:
        """The coverage, or the size."""
        return self.hits / self.given if self.given else None

    @property
    def holds_nothing(self) -> bool:
        """Whether the row cannot be right: no interval or p in any table, or intervals that never hold the value."""
        return not self.given or (not self.is_test and self.hits == 0)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a result is known by."""
        return self.measure, self.design, self.target, self.what

    def add(self, hit: bool, reason: str | None, width: float = 0.0) -> None:
        """Counts an interval or a p that is given."""
        self.given += 1
        self.hits += hit
        self.warned += bool(reason)
        self.width += (width - self.width) / self.given
        self.silent += (hit if self.is_test else not hit) and not reason

    def shown(self) -> str:
        """A line for the terminal."""
        share = "no interval" if self.share is None else f"{100 * self.share:5.1f} %"
        what = "rejected" if self.is_test else "held"
        said = f"refused {self.replications - self.given}, warned {self.warned}, silent {self.silent}"
        wide = "" if self.is_test else f", width {self.width:.3f}, over {self.over or '–'}"
        named = f"{self.measure}{f' ({self.what})' if self.what else ''}"
        lines = [f"{named} · {self.design} · {self.target}: {what} {share} of {self.given}{wide}; {said}"]
        return "\n".join([*lines, *(f"    {n} × {text}" for text, n in self.reasons.most_common(2))])


# --- what is true ----------------------------------------------------------------------------------------------------


@cache
def population_value(name: str, design: str) -> float:
    """The value of many items and raters of a design, had everyone answered."""
    known = DESIGNS[design]
    large = replace(known, items=600, raters=60, layout="crossed") if name in PAIRS else known.large
    large = replace(large, layout="random") if large.layout == "informative" else large
    values = []
    for n in range(TABLES):
        table = simulators.simulate(large, np.random.default_rng([9, n]), complete=True)
        values.append(_value(name, table, large, n))
    return float(np.mean(values))


def _value(name: str, table: pl.DataFrame, design: Design, seed: int) -> float:
    row = true_row(name)(table, design, seed, "none")
    if row is None or row["estimate"] is None:
        raise ValueError(f"{name} has no value in the population of {design.name}")
    return float(row["estimate"])


@cache
def raters_of(design: str, number: int) -> simulators.Raters:
    """One of the sets of raters that stay the same from table to table."""
    return simulators.draw_raters(DESIGNS[design], np.random.default_rng([8, number]))


@cache
def value_of_raters(name: str, design: str, number: int) -> float:
    """The value of many items judged by the same raters."""
    large = DESIGNS[design].with_items(TRUE_ITEMS)
    table = simulators.simulate(large, np.random.default_rng([7, number]), raters_of(design, number), complete=True)
    return _value(name, table, large, number)


# --- running ---------------------------------------------------------------------------------------------------------


def run(line: Line, replications: int, *, seed: int = 0) -> list[Result]:
    """The results of one row; a case has several."""
    if line.design in CASES:
        return list(_case(line, replications, seed))
    design, result = DESIGNS[line.design], Result(line.measure, line.design, line.target)
    for n in range(replications):
        result.replications += 1
        rng = np.random.default_rng([seed, n])
        raters = raters_of(design.name, n % SETS) if line.target == "items" else None
        table = simulators.simulate(design, rng, raters)
        if line.is_test:
            p, reason = TESTS[line.measure](table, design, n)
            if p is not None:
                result.add(p < 0.05, reason)
        else:
            row = measured(line.measure, table, design, n)
            reason = None if row is None else row["reason"]
            if row is not None and row["low"] is not None and row["high"] is not None:
                truth = (
                    value_of_raters(line.measure, design.name, n % SETS)
                    if line.target == "items"
                    else population_value(line.measure, design.name)
                )
                result.add(row["low"] <= truth <= row["high"], reason, row["high"] - row["low"])
                result.over = row["over"] or result.over
        if reason:
            result.reasons[reason] += 1
    return [result]


def _case(line: Line, replications: int, seed: int) -> Iterator[Result]:
    _, case, slow = CASES[line.design]
    made = [case(1000 * seed + n) for n in range(max(1, replications // slow))]
    for what in made[0]:
        hits = sum(one[what] for one in made)
        yield Result(line.measure, line.design, line.target, what, replications=len(made), given=len(made), hits=hits)


def chosen(only: Sequence[str], designs: Sequence[str]) -> list[Line]:
    """The rows whose measure and design hold one of these words; a whole name wins over parts."""

    def has(name: str, words: Sequence[str]) -> bool:
        return not words or any(word in name for word in words)

    table = lines()
    exact = {line.measure for line in table} & set(only)
    same = {line.design for line in table} & set(designs)
    return [
        line
        for line in table
        if (line.measure in exact if exact else has(line.measure, only))
        and (line.design in same if same else has(line.design, designs))
    ]


# --- results ---------------------------------------------------------------------------------------------------------

COLUMNS: Final = [column.name for column in fields(Result) if column.name != "reasons"]


def kept() -> dict[tuple[str, str, str, str], Result]:
    """The results in the file, by what they are known by."""
    if not RESULTS.exists():
        return {}
    rows: list[Result] = []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            texts: dict[str, Any] = {name: row[name] for name in ("measure", "design", "target", "what", "day", "over")}
            counts: dict[str, Any] = {name: int(row[name]) for name in ("replications", "given", "warned", "silent")}
            rows.append(Result(**texts, **counts, hits=float(row["hits"]), width=float(row["width"])))
    return {result.key: result for result in rows}


def keep(results: Sequence[Result]) -> None:
    """Writes results into the file, in the order of the table, and the page from it."""
    from benchmarks.calibration_page import PAGE, page

    order = {(line.measure, line.design): n for n, line in enumerate(lines())}
    together = kept() | {result.key: result for result in results}
    # A row that the table no longer has is not kept.
    rows = [result for result in together.values() if (result.measure, result.design) in order]
    rows.sort(key=lambda r: (order[r.measure, r.design], r.what))
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(asdict(row) | {"hits": round(row.hits, 3), "width": round(row.width, 5)} for row in rows)
    PAGE.write_text(page(rows), encoding="utf-8")


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


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks calibration", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="measures, with semicolons")
    parser.add_argument("--design", default="", help="designs, with semicolons")
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the results, and write the page from them")
    parser.add_argument("--stale", metavar="DAY", help="only rows that were not run since that day")
    asked, _ = parser.parse_known_args(sys.argv[1:])
    number = next((int(word) for word in asked.words if word.isdecimal()), asked.replications)
    words = [[part for part in given.split(";") if part] for given in (asked.only, asked.design)]
    table = chosen(*words)
    if asked.stale:
        fresh = {(result.measure, result.design) for result in kept().values() if result.day >= asked.stale}
        table = [line for line in table if (line.measure, line.design) not in fresh]
    elif not table:
        names = ", ".join(dict.fromkeys([*INTERVALS, *TESTS]))
        parser.error(f"no row has these names; measures: {names}; designs: {', '.join([*DESIGNS, *CASES])}")
    failed: list[Result] = []
    for line in table:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = run(line, number, seed=asked.seed)
        for result in results:
            print(result.shown(), flush=True)
        print(f"    {time.perf_counter() - start:.0f} s", flush=True)
        if asked.keep:
            keep(results)
        failed += [result for result in results if result.holds_nothing]
    if failed:
        rows = "; ".join(f"{one.measure} · {one.design}{f' · {one.what}' if one.what else ''}" for one in failed)
        sys.exit(f"These rows hold nothing, so that the measure or the simulation is wrong: {rows}.")


if __name__ == "__main__":
    main()
