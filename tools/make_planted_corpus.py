"""Writes the ratings of the bundled corpus `planted`, and what its generative model makes true of them.

The sentences and the scores that they are meant to carry are in `sentences.csv`. The ratings are synthetic. Rater r
answers question q about item i with

    value = round(clip(width_r · (meant_iq + leniency_r + noise_q · ε), −3, 3)),  ε ~ N(0, 1)

where `leniency` is N(0, 0.3) plus 0.6 for raters from the coast, and `noise` is 0.6 for trust and 1.5 for competence. A
rater reads an ambiguous sentence as praise (+2) or as criticism (−2), each with probability one half. What is planted
besides: two careless raters (one answers at random, one nearly always +1), one who uses less than half of the scale
(`width` 0.4; 1 for all others), and two synthetic models, one that answers as a careful person does (half of the noise)
and one that hardly follows the sentences. Handedness has no effect on anything.

Run it from the root of the project: `python -m tools.make_planted_corpus` writes the ratings, and with `--truth` also
what is true in the generative model and how often intervals hold it, from corpora drawn afresh (some minutes).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Instrument

ROOT: Final = Path(__file__).resolve().parents[1] / "src" / "vantage"
BUNDLED: Final = ROOT / "corpora" / "bundled"
TRUTH: Final = ROOT / "studies" / "demo" / "planted.csv"
SEED: Final = 1
CORPORA: Final = 100
"""How many corpora are drawn to find what is true."""
NOISE: Final = {"trust": 0.6, "competence": 1.5}
SKIPPED: Final = 0.05
COAST: Final = 0.6
LENIENCY: Final = 0.3


@dataclass(frozen=True, slots=True)
class Rater:
    """A synthetic rater: how it answers, and what is planted in it."""

    name: str
    home: str | None = None
    hand: str | None = None
    planted: str = ""
    leniency: float = 0.0
    width: float = 1.0

    @property
    def kind(self) -> str:
        """A person, or a model where there is no home."""
        return "person" if self.home else "model"


def raters(rng: np.random.Generator) -> list[Rater]:
    """Twenty-four people, half of them from the coast and a third left-handed, and two models."""
    planted = {7: "answers at random", 11: "uses less than half of the scale", 19: "gives one answer"}
    people = []
    for number in range(1, 25):
        home, hand = ("coast", "hills")[number % 2], "left" if number % 6 in (1, 4) else "right"
        leniency = LENIENCY * rng.normal() + (COAST if home == "coast" else 0.0)
        width = 0.4 if number == 11 else 1.0
        people.append(Rater(f"p{number:02}", home, hand, planted.get(number, ""), leniency, width))
    return [
        *people,
        Rater("model-a", planted="as good as a careful person", leniency=COAST / 2),
        Rater("model-b", planted="hardly follows the sentences"),
    ]


def ratings(items: pl.DataFrame, who: list[Rater], rng: np.random.Generator) -> pl.DataFrame:
    """Every rater's answers to both questions about the items, less a few that people skip."""
    rows = []
    meant = items.select("item", "reading", *NOISE).rows()
    for rater in who:
        for item, reading, *scores in meant:
            praise = rng.choice([-2.0, 2.0])
            if rng.random() < SKIPPED and rater.kind == "person":
                continue
            for (question, noise), score in zip(NOISE.items(), scores, strict=True):
                value = _answer(rater, praise if reading == "ambiguous" else score, noise, rng)
                rows.append((item, question, rater.name, float(np.clip(np.rint(value), -3, 3))))
    return pl.DataFrame(rows, schema=["item", "question", "rater", "value"], orient="row")


def _answer(rater: Rater, meant: float, noise: float, rng: np.random.Generator) -> float:
    if rater.planted == "answers at random":
        return float(rng.integers(-3, 4))
    if rater.planted == "gives one answer":
        return float(rng.choice([0, 1, 2], p=[0.1, 0.8, 0.1]))
    if rater.planted == "hardly follows the sentences":
        return 0.3 * meant + 0.8 + 1.6 * rng.normal()
    if rater.kind == "model":
        noise /= 2
    return rater.width * (meant + rater.leniency + noise * rng.normal())


def sentences() -> pl.DataFrame:
    """The sentences with their meant scores, as they were written."""
    return pl.read_csv(BUNDLED / "sentences.csv")


def tables(seed: int = SEED) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The raters and the ratings that are bundled."""
    rng = np.random.default_rng(seed)
    who = raters(rng)
    return _described(who), ratings(sentences(), who, rng).with_columns(pl.col("value").cast(pl.Int8))


def _described(who: list[Rater]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"rater": r.name, "kind": r.kind, "home": r.home, "hand": r.hand, "planted": r.planted} for r in who]
    )


def drawn(number: int, *, same_raters: bool) -> Corpus:
    """A corpus drawn afresh: other sentences of the same kinds, other ratings and, unless told, other raters."""
    rng = np.random.default_rng([SEED, number])
    who = raters(np.random.default_rng(SEED) if same_raters else rng)
    # Sentences are drawn with replacement from those that were written, as many of each reading.
    parts = [part[rng.integers(0, len(part), len(part))] for part in sentences().partition_by("reading")]
    items = pl.concat(parts).with_columns(pl.format("d{}", pl.int_range(pl.len())).alias("item"))
    known = [replace(rater) for rater in who]
    frame = ratings(items, known, rng)
    return Corpus(
        items.select("item", "text", "target", "reading"),
        _described(known),
        frame,
        Instrument.load("warmth-competence"),
    )


def truth(corpora: int = CORPORA) -> pl.DataFrame:
    """What is true in the generative model, and how often the intervals of Vantage hold it.

    The truth is the mean estimate over corpora drawn afresh, or exactly 0 where nothing is planted. An interval over
    items is compared with corpora of the same raters, every other one with corpora of other raters.
    """
    from vantage.studies.demo.study import estimates

    # Over which corpora a truth is meant: those with the same raters, or with others.
    frames_of = {
        same: [estimates(drawn(number, same_raters=same), resamples=200) for number in range(corpora)]
        for same in (True, False)
    }
    rows = []
    for entry in frames_of[True][0].iter_rows(named=True):
        frames = [frame.filter(pl.col("id") == entry["id"]) for frame in frames_of[entry["over"] == "items"]]
        each = pl.concat(frames)
        exact = entry["id"] in ("hand", "random", "constant")
        mean = each["estimate"].mean()
        value = 0.0 if exact else round(mean, 3) if isinstance(mean, float) else None
        held = each.filter(pl.col("low") <= value, pl.col("high") >= value).height / max(len(each.drop_nulls("low")), 1)
        rows.append({"id": entry["id"], "planted": value, "coverage": round(held, 3), "corpora": corpora})
    return pl.DataFrame(rows)


if __name__ == "__main__":
    people, answers = tables()
    people.write_csv(BUNDLED / "planted-raters.csv")
    answers.write_parquet(BUNDLED / "planted-ratings.parquet", compression="zstd")
    if "--truth" in sys.argv:
        truth().write_csv(TRUTH)
    sys.stdout.write("written\n")
