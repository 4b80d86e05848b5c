"""Coverage of intervals and size of tests of `vantage.explain`, `vantage.facets` and `vantage.dif`, by simulation.

Run with `python -m benchmarks calibration_models [REPEATS]`. Every line should read 0.95 for intervals and 0.05 for
tests, within the error of the simulation.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from vantage.measures.models.dif import dif
from vantage.measures.models.explain import explain
from vantage.measures.models.facets import facets


def ratings(seed: int, *, raters: int = 24, items: int = 60, each: int = 6, points: int = 0) -> pl.DataFrame:
    """Items with variance 1, raters with 0.25, a trait that does nothing; on a scale of points, logistic noise."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :each].ravel()
    value = rng.normal(size=items)[item] + 0.5 * rng.normal(size=raters)[rater]
    value = value + (rng.logistic(size=len(item)) if points else rng.normal(size=len(item)))
    if points:
        value = np.digitize(value, np.linspace(-2, 2, points - 1)).astype(float)
    group = np.where(rng.permutation(raters) < raters // 2, "a", "b")[rater]
    return pl.DataFrame({"item": item, "rater": rater, "value": value, "group": group})


def rasch(seed: int) -> tuple[pl.DataFrame, Any, Any]:
    """Answers of a rating scale model, with severities (of mean zero) and locations."""
    rng = np.random.default_rng(seed)
    severity, location = np.linspace(-1, 1, 20), rng.normal(size=200)
    item = np.repeat(np.arange(200), 6)
    rater = np.argsort(rng.random((200, 20)), axis=1)[:, :6].ravel()
    raw = (location[item] - severity[rater])[:, None] * np.arange(5) - np.cumsum([0, -1.3, -0.2, 0.3, 1.2])
    p = np.exp(raw)
    value = ((p / p.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((len(item), 1))).sum(axis=1).astype(float)
    group = np.where(rater % 2 == 0, "a", "b")
    return pl.DataFrame({"item": item, "rater": rater, "value": value, "group": group}), severity, location


def effects(repeats: int, family: Any, raters: int) -> dict[str, float]:
    """Of a trait that does nothing: how often its interval holds zero and its tests reject."""
    held, rejected = 0, np.zeros(2)
    for seed in range(repeats):
        data = ratings(seed, raters=raters, points=5 if family == "ordinal" else 0)
        row = explain(data, traits="group", family=family, permutations=199, seed=seed).filter(
            pl.col("versus") == "largest difference"
        )
        held += bool(row["low"][0] <= 0 <= row["high"][0])
        rejected += [row["p_lr"][0] < 0.05, row["p_permutation"][0] < 0.05]
    name = f"{family}, {raters} raters"
    lr, permutation = (rejected / repeats).tolist()
    return {f"{name}: interval": held / repeats, f"{name}: p_lr": lr, f"{name}: p_permutation": permutation}


def variances(repeats: int, raters: int) -> dict[str, float]:
    """How often the intervals of variances hold what was planted."""
    truth, held = np.array([1.0, 0.25, 1.0]), np.zeros(3)
    for seed in range(repeats):
        rows = explain(ratings(seed, raters=raters), show="variance", family="gaussian")
        held += (rows["low"].to_numpy() <= truth) & (truth <= rows["high"].to_numpy())
    return {
        f"variance of {name}, {raters} raters": float(x)
        for name, x in zip(("item", "rater", "residual"), held / repeats, strict=True)
    }


def scale(repeats: int) -> dict[str, float]:
    """How often intervals of severities and locations hold, the mean fit of raters, and how often dif rejects."""
    held, fits, p = [], [], []
    for seed in range(repeats):
        data, severity, location = rasch(seed)
        rows = facets(data).sort("rater")
        held.append(np.mean((rows["low"].to_numpy() <= severity) & (severity <= rows["high"].to_numpy())))
        fits.append(rows.select("infit", "outfit").mean().to_numpy()[0])
        p.append(np.mean(dif(data, between="group")["p"].drop_nulls().to_numpy() < 0.05))
        items = facets(data, show="items").sort("item")
        inside = (items["low"].to_numpy() <= location) & (location <= items["high"].to_numpy())
        held[-1] = [held[-1], np.mean(inside)]
    severity_, location_ = np.mean(held, axis=0)
    infit, outfit = np.mean(fits, axis=0)
    return {
        "severity: interval": severity_, "location: interval": location_, "infit (1)": infit, "outfit (1)": outfit,
        "dif: p": float(np.mean(p)),
    }  # fmt: skip


def main() -> None:
    """Prints one line per interval and test."""
    repeats = next((int(word) for word in sys.argv if word.isdecimal()), 400)
    cases = (
        partial(effects, repeats, "gaussian", 24), partial(effects, repeats, "gaussian", 8),
        partial(effects, repeats // 4, "ordinal", 24), partial(variances, repeats, 24), partial(variances, repeats, 8),
        partial(scale, repeats // 10),
    )  # fmt: skip
    for case in cases:
        for name, value in case().items():
            print(f"{name:36} {value:.3f}", flush=True)
