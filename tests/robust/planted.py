"""Planted corpora: labels of people and models whose effects, biases and risks are known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from vantage import Corpus, Instrument, Scale

PROMPTS = ("plain", "strict", "polite")


def planted(
    *,
    items: int = 120,
    people: int = 6,
    effect: float = 0.0,
    models: Mapping[str, float] | None = None,
    prompts: Mapping[str, float] | None = None,
    judged: int | None = None,
    seed: int = 0,
) -> Corpus:
    """Half of the items are new, and `effect` higher; models add a bias to new items, prompts of `bot` another.

    People judge the first `judged` items, models all of them.
    """
    rng = np.random.default_rng(seed)
    names = [f"i{n:04}" for n in range(items)]
    new = np.arange(items) % 2
    latent = 4 + rng.normal(size=items) + effect * new

    def answers(rater: str, bias: float, number: int, condition: str = "") -> pl.DataFrame:
        value = np.clip(np.round(latent + bias * new + rng.normal(size=items)), 1, 7)[:number]
        return pl.DataFrame({"item": names[:number], "rater": rater, "condition": condition, "value": value})

    rows = [answers(f"p{n}", 0.0, judged or items) for n in range(people)]
    rows += [answers(name, bias, items) for name, bias in (models or {}).items()]
    rows += [answers("bot", bias, items, prompt) for prompt, bias in (prompts or {}).items()]
    machines = [*(models or {}), *(["bot"] if prompts else [])]
    raters = pl.DataFrame(
        {
            "rater": [*(f"p{n}" for n in range(people)), *machines],
            "kind": ["person"] * people + ["model"] * len(machines),
        }
    )
    table = pl.DataFrame({"item": names, "era": np.where(new, "new", "old").tolist()})
    instrument = Instrument.of_questions("mine", "Trust", {"trust": Scale.points(1, 7)})
    return Corpus(table, raters, pl.concat(rows).with_columns(question=pl.lit("trust")), instrument)
