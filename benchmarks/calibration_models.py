"""Coverage of intervals and size of tests of models, comparisons, sets, panels and G-studies, by simulation.

`python -m benchmarks calibration_models 100` simulates 100 tables of every case;
`python -m benchmarks.calibration_models 100 ordinal` those of the cases whose names hold a word. Counts are kept in
benchmarks/calibration_models.json, and docs/calibration-models.md is written from them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import calibration_others
from vantage.measures.models.dif import dif
from vantage.measures.models.explain import explain
from vantage.measures.models.facets import facets
from vantage.measures.relations.compare import compare

COUNTS = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "calibration-models.md"
HEAD = """# Calibration of models, scores and panels

Do the intervals of [`explain`, `facets` and `dif`](explain.md), of scores from comparisons, of alpha of sets, of
[panels](panel.md) and of [G-studies](audit.md) cover, and do their tests have their size?
`python -m benchmarks calibration_models` writes this page. *Held* is the share of nominal 95 % intervals that hold what
was planted (goal 95 %), *rejected* that of p < .05 where there is nothing to find (goal 5 %), with the standard error
of a goal that is met; *mean* is an average that should be 1.

Items have variance 1 and raters 0.25 unless the name says otherwise; 60 items have six answers each. Ordinal answers
have five points. Rating scale models have 200 items and 20 raters, six answers an item; severities run from −1 to 1.
In scaling, 30 texts stand in 60 tuples of four, each judged by four raters who like texts differently; the values are
those of many tuples and raters, and the reliability is the mean over tables. Its intervals are too long: over 40 tables
with 12 raters Fisher's z of the reliability had a standard deviation of 0.089, leaving out tuples gives 0.103 and
leaving out raters 0.112, since every text stands in as many tuples as the others and what is left out is not replaced;
`reason` says so. Sets are of four options. The models of a
panel have errors that correlate 0, .16 and .36 with 3, 4 and 6 members, beside 20 people. A G-study has two orders and
three wordings, each twice; its shares are those of 20,000 items in these presentations, its reliability that of two
answers.
Order and wording do not interact, and an interval of a share of 0 starts at 0: it always holds.
"""


def ratings(
    seed: int, *, raters: int = 24, each: int = 6, points: int = 0, spread: float = 0.5, effect: float = 0.0
) -> pl.DataFrame:
    """Crossed ratings with a trait that adds `effect`; on a scale of points, logistic noise."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(60), each)
    rater = np.argsort(rng.random((60, raters)), axis=1)[:, :each].ravel()
    first = rng.permutation(raters) < raters // 2
    value = rng.normal(size=60)[item] + (spread * rng.normal(size=raters) + effect * first)[rater]
    value = value + (rng.logistic(size=len(item)) if points else rng.normal(size=len(item)))
    if points:
        value = np.digitize(value, np.linspace(-2, 2, points - 1)).astype(float)
    return pl.DataFrame({"item": item, "rater": rater, "value": value, "group": np.where(first, "a", "b")[rater]})


def rasch(seed: int, *, shift: float = 0.0) -> tuple[pl.DataFrame, Any, Any, Any]:
    """Answers of a rating scale model; severities of mean zero, locations, and differential ones of every tenth."""
    rng = np.random.default_rng(seed)
    severity, location = np.linspace(-1, 1, 20), rng.normal(size=200)
    item = np.repeat(np.arange(200), 6)
    rater = np.argsort(rng.random((200, 20)), axis=1)[:, :6].ravel()
    moved = shift * (np.arange(200) % 10 == 0)
    at = location[item] - severity[rater] + moved[item] * (rater % 2 == 0)
    raw = at[:, None] * np.arange(5) - np.cumsum([0, -1.3, -0.2, 0.3, 1.2])
    p = np.exp(raw)
    value = ((p / p.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((len(item), 1))).sum(axis=1).astype(float)
    frame = pl.DataFrame({"item": item, "rater": rater, "value": value, "group": np.where(rater % 2 == 0, "a", "b")})
    return frame, severity, location, moved


def held(rows: pl.DataFrame, truth: Any) -> Any:
    """Whether each interval holds the truth."""
    return (rows["low"].to_numpy() <= truth) & (truth <= rows["high"].to_numpy())


def effects(seed: int, family: Any, raters: int, effect: float = 0.0) -> dict[str, float]:
    """The interval of a trait, and its tests where it does nothing."""
    data = ratings(seed, raters=raters, points={"ordinal": 5, "binary": 2}.get(family, 0), effect=effect)
    # Permutations must not be made of the random numbers that made the table.
    rows = explain(data, traits="group", family=family, permutations=199, seed=seed + 10_000)
    row = rows.filter(pl.col("versus") == "clearest difference")
    if effect:
        row = rows.filter(pl.col("level") == "a", pl.col("versus") == "b")
    shares = {"trait, held": float(held(row, effect)[0])}
    if not effect:
        tests = ("p",) if family == "gaussian" else ("p_lr", "p_permutation")
        shares |= {f"{name}, rejected": float(row[name][0] < 0.05) for name in tests}
    return shares


def variances(seed: int, family: Any, raters: int, spread: float = 0.5) -> dict[str, float]:
    """The intervals of variances."""
    data = ratings(seed, raters=raters, points=5 if family == "ordinal" else 0, spread=spread)
    rows = explain(data, show="variance", family=family)
    inside = held(rows, np.array([1.0, spread**2, 1.0])[: len(rows)])
    return {f"variance of {name}, held": float(x) for name, x in zip(rows["component"], inside, strict=True)}


def mixed(seed: int, raters: int) -> dict[str, float]:
    """The test of `compare` for groups of raters with different items."""
    return {"p, rejected": float(compare(ratings(seed, raters=raters), between="group", ci="none")["p"][0] < 0.05)}


def scale(seed: int) -> dict[str, float]:
    """Intervals of severities, locations and fair averages, and the fit of raters."""
    data, severity, location, _ = rasch(seed)
    rows, items = facets(data).sort("rater"), facets(data, show="items").sort("item")
    answer = np.array([-1.3, -0.2, 0.3, 1.2])
    raw = np.exp(location[:, None] * np.arange(5) - np.concatenate([[0], np.cumsum(answer)]))
    fair = raw @ np.arange(5) / raw.sum(axis=1)
    return {
        "severity, held": float(held(rows, severity).mean()),
        "location, held": float(held(items, location).mean()),
        "fair average, held": float(held(items.rename({"low": "_", "high": "__"}).rename(
            {"fair_low": "low", "fair_high": "high"}), fair).mean()),
        "infit, mean": float(rows["infit"].mean()),  # type: ignore[arg-type]
        "outfit, mean": float(rows["outfit"].mean()),  # type: ignore[arg-type]
    }  # fmt: skip


def differential(seed: int, shift: float) -> dict[str, float]:
    """The test of single items and of all together where nothing differs; intervals where every tenth item does."""
    data, _, _, moved = rasch(seed, shift=shift)
    rows = dif(data, between="group", values=["a", "b"]).drop_nulls("p")
    if not shift:
        whole = dif(data, between="group", values=["a", "b"], show="invariance")
        return {"item, rejected": float((rows["p"] < 0.05).mean()), "all, rejected": float(whole["p"][0] < 0.05)}  # type: ignore[arg-type]
    ends = rows.with_columns(low=pl.col("logits") - 1.96 * pl.col("se"), high=pl.col("logits") + 1.96 * pl.col("se"))
    inside = held(ends, (moved - moved.mean())[ends["item"].to_numpy()])
    planted = (ends["item"] % 10 == 0).to_numpy()
    return {
        "difference of planted items, held": float(inside[planted].mean()),
        "difference of other items, held": float(inside[~planted].mean()),
    }


CASES: dict[str, tuple[Callable[[int], dict[str, float]], int]] = {
    "gaussian, 24 raters": (partial(effects, family="gaussian", raters=24), 1),
    "gaussian, 8 raters": (partial(effects, family="gaussian", raters=8), 1),
    "gaussian, 24 raters, effect 0.8": (partial(effects, family="gaussian", raters=24, effect=0.8), 1),
    "ordinal, 24 raters": (partial(effects, family="ordinal", raters=24), 2),
    "ordinal, 24 raters, effect 0.8": (partial(effects, family="ordinal", raters=24, effect=0.8), 2),
    "binary, 24 raters": (partial(effects, family="binary", raters=24), 2),
    "gaussian variances, 24 raters": (partial(variances, family="gaussian", raters=24), 1),
    "gaussian variances, 8 raters": (partial(variances, family="gaussian", raters=8), 1),
    "gaussian variances, raters alike": (partial(variances, family="gaussian", raters=24, spread=0.05), 1),
    "ordinal variances, 24 raters": (partial(variances, family="ordinal", raters=24), 2),
    "ordinal variances, raters alike": (partial(variances, family="ordinal", raters=24, spread=0.05), 2),
    "compare, mixed model, 24 raters": (partial(mixed, raters=24), 1),
    "compare, mixed model, 12 raters": (partial(mixed, raters=12), 1),
    "rating scale model": (scale, 5),
    "differential items, none": (partial(differential, shift=0.0), 2),
    "differential items, one in ten by 1 logit": (partial(differential, shift=1.0), 2),
    **calibration_others.CASES,
}
"""What is simulated, and of how many tables one is, slow ones being fewer."""


def main() -> None:
    """Runs the cases that are named, adds their counts, and writes the page."""
    words = [word for word in sys.argv[1:] if not word.isdecimal() and word != "calibration_models"]
    repeats = next((int(word) for word in sys.argv if word.isdecimal()), 100)
    for name, (case, slow) in CASES.items():
        if words and not any(word in name for word in words):
            continue
        made = [case(seed) for seed in range(repeats // slow)]
        counts: dict[str, Any] = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
        counts[name] = {key: [sum(one[key] for one in made), len(made)] for key in made[0]}
        COUNTS.write_text(json.dumps(counts, indent=1), encoding="utf-8")
        PAGE.write_text(page(counts), encoding="utf-8")
        print(name, counts[name], flush=True)


def page(counts: dict[str, Any]) -> str:
    """The page, from counts."""
    rows = ["| case | tables | what | found |", "| --- | ---: | --- | ---: |"]
    for name in (name for name in CASES if name in counts):
        for number, (what, (total, n)) in enumerate(counts[name].items()):
            share, kind = total / n, what.rpartition(", ")[2]
            goal = 0.95 if kind == "held" else 0.05
            error = f" ± {100 * float(np.sqrt(goal * (1 - goal) / n)):.1f}"
            shown = f"{share:.2f}" if kind == "mean" else f"{100 * share:.1f} %{error if _single(name) else ''}"
            rows.append(f"| {name if not number else ''} | {n if not number else ''} | {what} | {shown} |")
    left = [name for name in CASES if name not in counts]
    return "\n".join([HEAD, *rows, *(["", f"Not run yet: {', '.join(left)}."] if left else []), ""])


def _single(name: str) -> bool:
    """Whether a table counts once; the intervals of many raters or items of a table are averaged."""
    return not name.startswith(("rating scale", "differential", "best–worst", "Bradley"))


if __name__ == "__main__":
    main()
