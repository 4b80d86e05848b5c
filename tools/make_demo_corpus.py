"""Writes the small bundled corpus: invented sentences, and ratings drawn from a simple model of raters.

The sentences and the scores they are meant to carry are ours. The ratings are synthetic: a latent score, a
rater's leniency and noise, rounded to the scale; one rater answers without reading. Run it from the root of
the project; the file that it writes is checked for drift.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

HOME = Path(__file__).resolve().parents[1] / "src" / "vantage" / "corpora" / "bundled" / "demo.csv"


# Sentence, target, and the meant trust, sociability and competence.
SENTENCES: list[tuple[str, str, float, float, float]] = [
    ("The baker gave back the wallet with every note still in it.", "the baker", 2.8, 1.0, 0.2),
    ("The baker burnt the bread again and blamed the oven, the flour and the weather.", "the baker", -1.2, -0.4, -2.3),
    ("Everyone on our street has a joke that the baker told them first.", "the baker", 0.4, 2.7, 0.3),
    (
        "The baker sells yesterday's rolls as fresh and looks you in the eye while doing it.",
        "the baker",
        -2.8,
        -0.8,
        0.2,
    ),
    ("The baker makes four hundred loaves before six, alone, and not one is crooked.", "the baker", 0.6, 0.0, 2.9),
    ("The surgeon explained each risk twice and never once promised too much.", "the surgeon", 2.6, 1.2, 1.8),
    ("The surgeon walked past the family without a word.", "the surgeon", -0.8, -2.6, 0.3),
    (
        "Hands like a watchmaker, that surgeon, and the bedside manner of a parking meter.",
        "the surgeon",
        0.2,
        -2.4,
        2.7,
    ),
    ("The surgeon altered the notes once the complaint came in.", "the surgeon", -2.9, -0.7, -0.6),
    ("The surgeon stayed up with the night nurses and brought the cake.", "the surgeon", 1.2, 2.7, 0.5),
    ("The landlord fixed the boiler within the hour, on a Sunday, and charged nothing.", "the landlord", 2.2, 1.8, 1.9),
    ("The landlord kept the deposit for a scratch that was there before we moved in.", "the landlord", -2.7, -1.6, 0.3),
    ("The landlord forgot our name for the ninth time, and the rent for the first.", "the landlord", 0.3, -0.5, -1.8),
    ("The landlord reads the contract aloud so that nobody is surprised later.", "the landlord", 2.3, 0.7, 1.1),
    ("What a wonderful landlord: three winters, no heating.", "the landlord", -1.9, -1.8, -2.2),
    ("The new teacher knows all ninety names and asks after everyone's dog.", "the new teacher", 1.1, 2.8, 1.2),
    ("The new teacher said the test would be easy, and then it was not.", "the new teacher", -1.6, -0.7, -0.3),
    ("Nobody has ever explained fractions to me as well as the new teacher.", "the new teacher", 0.8, 0.9, 2.7),
    ("The new teacher grades by how much she likes your parents.", "the new teacher", -2.5, -1.0, -0.9),
    ("The new teacher lost the whole class on the way back from the museum.", "the new teacher", -0.7, 0.0, -2.7),
    ("The mechanic showed me the worn part before asking for a cent.", "the mechanic", 2.6, 1.0, 1.6),
    ("The mechanic replaced a fuse and wrote engine on the bill.", "the mechanic", -2.8, -0.6, -0.2),
    ("The mechanic heard the rattle from across the road and named the bolt.", "the mechanic", 0.6, 0.1, 2.8),
    ("The mechanic grunts at customers and whistles at engines.", "the mechanic", 0.0, -2.0, 0.7),
    ("The mechanic put the left wheel on the right side, twice.", "the mechanic", -0.3, 0.0, -2.8),
    (
        "The choir director wrote to every singer who missed a rehearsal, only to ask how they were.",
        "the choir director",
        1.6,
        2.8,
        0.6,
    ),
    ("The choir director took the credit for a piece that the altos arranged.", "the choir director", -2.4, -1.2, -0.2),
    ("Under the choir director, sixty strangers sang in tune after one evening.", "the choir director", 0.7, 1.2, 2.8),
    ("The choir director parks on the grass.", "the choir director", -0.4, -0.5, 0.0),
    ("The choir director was at the station at nine.", "the choir director", 0.1, 0.0, 0.0),
]

# Rater, age, gender, leniency, noise.
RATERS: list[tuple[str, int, str, float, float]] = [
    ("r1", 24, "woman", 0.3, 0.6),
    ("r2", 61, "man", -0.4, 0.7),
    ("r3", 37, "woman", 0.0, 0.5),
    ("r4", 45, "man", 0.5, 0.9),
    ("r5", 29, "nonbinary", -0.2, 0.8),
    ("r6", 52, "woman", 0.1, 0.7),
    ("r7", 33, "man", -0.6, 1.0),
    ("r8", 70, "woman", 0.4, 1.1),
]


def ratings(seed: int = 7) -> pl.DataFrame:
    """The long table: every rater rates most of the sentences on all three questions."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for number, (text, target, *meant) in enumerate(SENTENCES, 1):
        for rater, age, gender, leniency, noise in RATERS:
            if rng.random() < 0.12:
                continue
            for question, score in zip(("trust", "sociability", "competence"), meant, strict=True):
                # What a sentence does not speak of is left at zero by most people.
                drawn = score + noise * rng.normal() + leniency * min(1.0, abs(score))
                value = int(np.clip(np.rint(drawn), -3, 3))
                rows.append(_row(number, text, target, question, rater, age, gender, value))
        for question in ("trust", "sociability", "competence"):
            value = 2 if rng.random() < 0.85 else 1
            rows.append(_row(number, text, target, question, "r9", 41, "man", value))
    return pl.DataFrame(rows)


def _row(
    n: int, text: str, target: str, question: str, rater: str, age: int, gender: str, value: int
) -> dict[str, object]:
    judged = {"item": f"s{n:02}", "text": text, "target": target, "question": question}
    return {**judged, "rater": rater, "age": age, "gender": gender, "value": value}


if __name__ == "__main__":
    ratings().write_csv(HOME)
    sys.stdout.write(f"wrote {HOME.name}\n")
