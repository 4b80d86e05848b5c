"""Corpora with known truths, for reports: noise, planted effects, and the smallest ones."""

from __future__ import annotations

import numpy as np
import polars as pl

from vantage import Corpus, Instrument, Scale

SCALE = Scale.points(1, 7)


def made(
    seed: int = 0,
    *,
    items: int = 40,
    people: int = 16,
    models: int = 0,
    signal: float = 0.0,
    trait: float = 0.0,
    far: float = 0.0,
    against: int = 0,
    inverted: bool = False,
) -> Corpus:
    """Ratings from 1 to 7 of one question.

    Args:
        seed: The seed of the draws.
        items: How many items.
        people: How many people; `group` is a or b, in turn.
        models: How many models, who answer as people do.
        signal: The standard deviation between items, in that of the noise.
        trait: How much higher the people of group a answer.
        far: How far the last model lies from people.
        against: How many of the last people answer the other way round.
        inverted: Whether everybody's answers are turned round.
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, signal, items)
    rows, raters = [], []
    for number in range(people + models):
        person = number < people
        name = f"p{number}" if person else f"m{number - people}"
        group = ("a", "b")[number % 2] if person else None
        raters.append({"rater": name, "kind": "person" if person else "model", "group": group})
        turned = -1.0 if person and number >= people - against else 1.0
        shift = (trait if group == "a" else 0.0) + (far if number == people + models - 1 and not person else 0.0)
        values = 4 + turned * truth + shift + rng.normal(0, 1, items)
        values = np.clip(np.rint(8 - values if inverted else values), 1, 7)
        rows += [{"item": f"i{n}", "question": "q", "rater": name, "value": float(v)} for n, v in enumerate(values)]
    texts = pl.DataFrame({"item": [f"i{n}" for n in range(items)], "text": [f"Sentence {n}." for n in range(items)]})
    instrument = Instrument.of_questions("mine", "Mine", {"q": SCALE})
    return Corpus(texts, pl.DataFrame(raters), pl.DataFrame(rows), instrument)
