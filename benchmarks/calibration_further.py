"""Coverage of intervals and size of tests that benchmarks/calibration.py leaves out: shares, pairs, models, relations.

`python -m benchmarks.calibration_further 40 sparse` adds to benchmarks/calibration.json and writes docs/calibration.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from benchmarks.calibration import DESIGNS, LARGE, RESAMPLES, Asked, Covered, Design, Effects, Row, counted
from vantage import measures

Rows: TypeAlias = Callable[[pl.DataFrame, int, Any], Row | None]

MODEL = "model"
OTHERS = 30
"""How many times more items than in a design give the value of these raters."""
SYSTEMS = (0.6, 0.75, 0.95, 1.2, 1.5, 1.9)
"""How noisy the models are that are ranked in two conditions."""


def table(design: Design, rng: np.random.Generator, effects: Effects) -> pl.DataFrame:
    """Judgments of people, of two questions, and of a model that answers each item three times."""
    people = design.with_latent(rng, effects).with_columns(
        pl.format("p{}", "rater").alias("rater"), sample=pl.lit(0), kind=pl.lit("person"), question=pl.lit("a")
    )
    items = people.unique("item", maintain_order=True).select("item", "latent")
    again = people.with_columns(
        value=pl.Series(design.cut(people["latent"].to_numpy() * 0.5 + rng.normal(size=len(people)))),
        question=pl.lit("b"),
    )
    samples = [
        items.with_columns(
            rater=pl.lit(MODEL),
            value=pl.Series(design.cut(items["latent"].to_numpy() + 0.5 * rng.normal(size=len(items)))),
            sample=pl.lit(n),
            kind=pl.lit("model"),
            question=pl.lit("a"),
        )
        for n in range(3)
    ]
    return pl.concat([people, again, *samples], how="diagonal")


def _first(frame: pl.DataFrame, **where: Any) -> Row | None:
    frame = frame.filter(**where) if where and len(frame) else frame
    return frame.row(0, named=True) if len(frame) else None


def _people(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(kind="person", question="a").drop("latent", "kind", "sample", "question")


def _both(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(kind="person").drop("latent", "kind", "sample")


def _with_model(frame: pl.DataFrame, samples: int = 1) -> pl.DataFrame:
    return frame.filter(pl.col("sample") < samples, question="a").drop("latent", "question")


def _split(frame: pl.DataFrame) -> pl.DataFrame:
    return _people(frame).with_columns(trait=pl.col("rater").str.slice(1).cast(pl.Int64) % 2)


def _genre(frame: pl.DataFrame) -> pl.DataFrame:
    """Items of two kinds, which differ by one point."""
    return _people(frame).with_columns(genre=pl.col("item") % 2, value=pl.col("value") + pl.col("item") % 2)


def _opted_out(frame: pl.DataFrame, status: str) -> pl.DataFrame:
    out = pl.col("value") >= pl.col("value").max()
    return _people(frame).with_columns(
        status=pl.when(out).then(pl.lit(status)).otherwise(pl.lit("ok")),
        value=pl.when(out).then(None).otherwise(pl.col("value")),
    )


def _of(function: Callable[..., pl.DataFrame], prepare: Callable[[pl.DataFrame], Any], **options: Any) -> Rows:
    return lambda f, seed, ci: _first(function(prepare(f), ci=ci, resamples=RESAMPLES, seed=seed, **options))


def _systems(frame: pl.DataFrame, noise: tuple[tuple[float, ...], ...], seed: int) -> pl.DataFrame:
    """Errors of models on each item under two conditions, drawn with so much noise."""
    items = frame.unique("item", maintain_order=True)
    rng = np.random.default_rng([seed, 3])
    return pl.concat(
        items.select("item").with_columns(
            rater=pl.lit(f"m{n}"),
            condition=pl.lit(condition),
            value=pl.Series(np.abs(spread * rng.normal(size=len(items)))),
        )
        for condition, spreads in zip(("context", "plain"), noise, strict=True)
        for n, spread in enumerate(spreads)
    )


def _ranks(frame: pl.DataFrame, seed: int, ci: Any) -> Row | None:
    noise = (SYSTEMS, (0.75, 0.6, 1.2, 0.95, 1.9, 1.5))
    return _first(measures.ranks(_systems(frame, noise, seed), kinds="all", ci=ci, resamples=RESAMPLES, seed=seed))


def _advantage(frame: pl.DataFrame, seed: int, ci: str) -> Row | None:
    options: dict[str, Any] = {"alignment": "mae", "min_items": 5, "ci": ci, "resamples": RESAMPLES, "seed": seed}
    row = _first(measures.alt_test(_with_model(frame), **options))
    named = {"estimate": "advantage", "low": "advantage_low", "high": "advantage_high", "over": "advantage_over"}
    return None if row is None else row | {name: row[column] for name, column in named.items()}


def _neutral(design: Design) -> float:
    return 50.0 if design.points > 10 else (design.points - 1) / 2


def further(design: Design) -> dict[str, Rows]:
    """What is measured, by name."""
    middle = _neutral(design)
    return {
        "unanimity": _of(measures.unanimity, _people),
        "split-items": _of(measures.split_items, _people, neutral=middle),
        "opposed-items": _of(measures.opposed_items, _both, neutral=middle),
        "opt-outs": _of(measures.opt_outs, lambda f: _opted_out(f, "not_mentioned")),
        "ambiguity": _of(measures.ambiguity, lambda f: _opted_out(f, "ambiguous")),
        "randolph": _of(measures.randolph, _people),
        "cohen": _of(measures.cohen, _people),
        "scott": _of(measures.scott, _people),
        "distance": _of(measures.distance, _split, between="trait", relabellings=1),
        "accuracy": _of(measures.accuracy, _with_model, raters=[MODEL], reference="mean", metric="mae"),
        "calibration": _of(measures.calibration, lambda f: _with_model(f, 3), raters=[MODEL], kinds="all"),
        "correlate": _of(measures.correlate, _both),
        "compare, items": _of(measures.compare, _genre, between="genre", permutations=1),
        "compare, raters": _of(measures.compare, _split, between="trait", permutations=1),
        "alt-test": _advantage,
        "ranks": _ranks,
        "bands": lambda f, s, ci: _first(measures.bands(_people(f), neutral=middle), band="low"),
        "refusals": lambda f, s, ci: _first(measures.refusals(_opted_out(f, "refused"), by=())),
        "d-study": lambda f, s, ci: _first(measures.d_study(_people(f), raters=[5], ci=ci, seed=s)),
        "rater-quality": lambda f, s, ci: _first(measures.rater_quality(_people(f)), rater="p0"),
        "rater-matrix": lambda f, s, ci: _first(
            measures.rater_matrix(
                _people(f), min_items=10, ci="none" if ci == "none" else "items", resamples=RESAMPLES, seed=s
            ),
            rater_a="p0",
            rater_b="p1",
        ),
    }


PAIRS = ("cohen", "scott")
ONE_RATER = ("rater-quality", "rater-matrix", "bands")
"""Intervals that are about these raters, whatever `over` says."""

SLOW = ("calibration", "alt-test")
"""Measured in every second replication."""


def _truth(design: Design, names: list[str]) -> dict[str, float]:
    """The values of a population of raters and items."""
    k = design.raters if design.layout == "crossed" else design.per_item
    layout = "random" if design.layout == "crossed" else design.layout
    large = replace(
        design, items=3000, raters=design.raters * LARGE, per_item=k, models=design.models * LARGE, layout=layout
    )
    crossed = replace(design, items=600, raters=60, models=60 * design.models // design.raters, layout="crossed")
    totals: dict[str, list[float]] = {name: [] for name in names}
    for n in range(2):
        rng = np.random.default_rng([9, n])
        random, full = (table(each, rng, each.effects(rng)) for each in (large, crossed))
        for name in names:
            row = further(design)[name](full if name in PAIRS else random, 0, "none")
            if row is not None and row["estimate"] is not None:
                totals[name].append(row["estimate"])
    # Raters are divided into two groups without regard to what they answer; models come first, and are not.
    none: dict[str, float] = {} if design.models else {"compare, raters": 0.0}
    return {name: float(np.mean(values)) for name, values in totals.items() if values} | none


def coverage(design: Design, replications: int, some: tuple[str, ...] = (), seed: int = 0) -> dict[str, Covered]:
    """How often each interval holds its value; an interval that is not given is not counted."""
    rows = {name: rows for name, rows in further(design).items() if not some or name in some}
    truth = _truth(design, [name for name in rows if name not in (*ONE_RATER, "compare, raters")])
    covered = {name: Covered() for name in rows}
    for n in range(replications):
        rng = np.random.default_rng([seed, n])
        effects = design.effects(rng)
        frame = table(design, rng, effects)
        others: pl.DataFrame | None = None
        for name, of in rows.items():
            if n % 2 and name in SLOW:
                continue
            row = of(frame, n, "auto")
            if row is None or row["low"] is None:
                continue
            over = "items" if name in ONE_RATER else str(row["over"])
            value = truth.get(name)
            if over == "items":
                if others is None:
                    large = replace(design, items=OTHERS * design.items)
                    others = table(large, np.random.default_rng([seed, n, 1]), effects)
                there = of(others, n, "none")
                value = None if there is None else there["estimate"]
            if value is not None:
                covered[name].of += 1
                covered[name].over = over
                covered[name].add(row, value)
    return {name: c for name, c in covered.items() if c.of}


def sizes(design: Design, replications: int, seed: int = 0) -> dict[str, list[bool]]:
    """Whether further tests find what is not there, at the level .05, in each replication."""
    rejected: dict[str, list[bool]] = {}
    for n in range(replications):
        rng = np.random.default_rng([seed, n, 7])
        effects = design.effects(rng)
        judged = design.with_latent(rng, effects)
        frame = judged.drop("latent").with_columns(pl.format("p{}", "rater").alias("rater"))
        raters = frame["rater"].unique().sort()
        label = np.where(rng.permutation(len(raters)) < len(raters) // 2, "a", "b")
        traits = frame.join(pl.DataFrame({"rater": raters, "trait": label}), on="rater")
        again = design.cut(
            judged["latent"].to_numpy() + effects[judged["rater"].to_numpy()] + rng.normal(size=len(frame))
        )
        twice = pl.concat(
            [
                frame.with_columns(condition=pl.lit("one")),
                frame.with_columns(pl.Series("value", again), condition=pl.lit("two")),
            ]
        )
        # A twin answers as the first rater does, from the same distribution: neither wins more often.
        mine = judged.filter(pl.col("rater") == 0)
        answers = design.cut(
            mine["latent"].to_numpy() + effects[0] + (0.5 if design.models else 1.0) * rng.normal(size=len(mine))
        )
        twin = mine.select("item", rater=pl.lit("twin"), value=pl.Series(answers))
        tried = {
            "compare, raters (Mann–Whitney)": measures.compare(
                traits, between="trait", test="mann_whitney", ci="none", permutations=1
            ),
            "compare, two occasions (paired t)": measures.compare(twice, between="condition", ci="none"),
            "compare, two occasions (Wilcoxon)": measures.compare(
                twice, between="condition", test="wilcoxon", ci="none"
            ),
            "correlate (Spearman)": measures.correlate(
                pl.concat(
                    [
                        frame.with_columns(question=pl.lit("a")),
                        design.answers(rng).select("value").hstack(frame.select("item", "rater")).with_columns(
                            question=pl.lit("b")
                        ).select("item", "rater", "value", "question"),
                    ]
                ),
                correlation="spearman",
                ci="none",
            ),
            "ranks, unrelated conditions": measures.ranks(
                _systems(judged, (SYSTEMS, tuple(rng.permutation(SYSTEMS).tolist())), n), kinds="all", ci="none"
            ),
            "alt-test, p of one person": measures.alt_test(
                pl.concat([frame, twin]),
                alignment="mae", models=["twin"], epsilon=0.0, min_items=10, per="person", ci="none",
            ).filter(person="p0"),
        }  # fmt: skip
        for name, result in tried.items():
            row = _first(result)
            if row is not None and row["p"] is not None:
                rejected.setdefault(name, []).append(row["p"] < 0.05)
    return rejected


def main() -> None:
    asked = Asked.of(sys.argv[1:], 60)
    for design in (design for design in DESIGNS if asked.has(design.name)):
        start = time.perf_counter()
        if not asked.tests:
            covered = coverage(design, asked.replications, asked.only, asked.seed)
            asked.write(design.name, further=counted(covered))
        if not asked.only:
            tested = sizes(design, asked.replications, asked.seed)
            asked.write(design.name, tested={name: [sum(hits), len(hits)] for name, hits in tested.items()})
        print(f"{design.name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
