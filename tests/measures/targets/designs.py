"""Samples of raters with traits, drawn from seeds, that the references of R are about (`references.R`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl


def sample(raters: int = 60, items: int = 8, seed: int = 1, *, missing: bool = False) -> pl.DataFrame:
    """Answers 0 or 1 of raters to all items, with a trait of two, one of three values, and base weights."""
    rng = np.random.default_rng(seed)
    gender = np.where(rng.random(raters) < 0.35, "f", "m")
    age = np.array(["young", "middle", "old"])[np.searchsorted([0.5, 0.8], rng.random(raters))]
    base = 0.5 + rng.random(raters)
    if missing:
        age = np.where(rng.random(raters) < 0.15, "", age)
    rater, item = (grid.ravel() for grid in np.indices((raters, items)))
    hidden = rng.normal(0, 1, items)[item] + 1.2 * (gender == "f")[rater] - 0.8 * (age == "old")[rater]
    hidden += rng.normal(0, 0.5, raters)[rater] + 0.9 * ((gender == "f")[rater] & (item % 3 == 0))
    value = (rng.random(len(item)) < 1 / (1 + np.exp(-hidden))).astype(float)
    names = [f"r{number:03d}" for number in range(raters)]
    return pl.DataFrame(
        {
            "item": [f"i{number}" for number in item],
            "rater": [names[number] for number in rater],
            "value": value,
            "gender": gender[rater],
            "age": age[rater],
            "base": base[rater],
        }
    )


def write(folder: Path) -> None:
    """The samples as files for R."""
    sample().write_csv(folder / "plain.csv")
    sample(seed=2, missing=True).write_csv(folder / "missing.csv")
    sample(seed=3, raters=80, items=30).write_csv(folder / "large.csv")
