"""Invented judgments: a latent value of each item, people on some items, and a model on all."""

from __future__ import annotations

import numpy as np
import polars as pl


def judgments(
    *, items: int = 240, judged: int = 80, people: int = 12, samples: int = 4, noise: float = 1.0, seed: int = 0
) -> pl.DataFrame:
    """Answers from 0 to 4 of people `p0` … to the first items, and of a model `bot` to all."""
    rng = np.random.default_rng(seed)
    latent, effect = rng.normal(size=items), 0.4 * rng.normal(size=people)

    def cut(value: np.ndarray) -> np.ndarray:
        return np.digitize(value, [-1.2, -0.4, 0.4, 1.2]).astype(np.float64)

    item, rater = (grid.ravel() for grid in np.indices((judged, people)))
    asked = pl.DataFrame(
        {
            "item": item,
            "rater": [f"p{n}" for n in rater],
            "sample": 0,
            "value": cut(latent[item] + effect[rater] + rng.normal(size=len(item))),
            "kind": "person",
        }
    )
    place, sample = (grid.ravel() for grid in np.indices((items, samples)))
    said = pl.DataFrame(
        {
            "item": place,
            "rater": "bot",
            "sample": sample.astype(np.int32),
            "value": cut(latent[place] + noise * rng.normal(size=len(place))),
            "kind": "model",
        }
    )
    named = pl.format("i{}", pl.col("item").cast(pl.String).str.zfill(4)).alias("item")
    return pl.concat([asked, said], how="vertical_relaxed").with_columns(named, long=pl.col("item") % 3)
