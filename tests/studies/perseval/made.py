"""A made-up corpus in which people of two sides see different things, written as a corpus folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from vantage import Corpus, Instrument, Scale
from vantage.corpora.storage import About

WORDS = ("the rain stays", "a loud crowd", "quiet streets", "taxes again", "they came here", "send them home")


def corpus(
    people: int = 16, texts: int = 60, each: int = 24, seed: int = 0, *, noise: bool = False, inverted: bool = False
) -> Corpus:
    """Two sides and two ages; a text about 'them' is offensive to one side only.

    Args:
        people: How many there are.
        texts: How many there are.
        each: How many texts everyone judges.
        seed: Of the draws.
        noise: Whether answers are drawn by lot, whatever the text and whoever answers.
        inverted: Whether the two sides change places.
    """
    rng = np.random.default_rng(seed)
    words = [f"{WORDS[n % len(WORDS)]} number {n}" for n in range(texts)]
    rows = []
    for person in range(people):
        for text in rng.permutation(texts)[:each]:
            loud = "crowd" in words[text] or ("them" in words[text] and person % 2 == 1)
            value = float(loud) if rng.random() < 0.95 else float(not loud)
            if noise:
                value = float(rng.random() < 0.5)
            rows.append({"item": f"t{text:02}", "rater": f"p{person:02}", "question": "offensive", "value": value})
    return Corpus(
        items=pl.DataFrame({"item": [f"t{n:02}" for n in range(texts)], "text": words}),
        raters=pl.DataFrame(
            {
                "rater": [f"p{n:02}" for n in range(people)],
                "group": ["target" if n % 2 != inverted else "control" for n in range(people)],
                "gender": ["f" if n % 4 < 2 else "m" for n in range(people)],
            }
        ),
        judgments=pl.DataFrame(rows),
        instruments=Instrument.of_questions("made", "Made", {"offensive": Scale.labels("no", "yes")}),
        about=About(name="made"),
    )


def write(folder: Path, **options: Any) -> Path:
    """The corpus as a folder."""
    return corpus(**options).write(folder / "made")
