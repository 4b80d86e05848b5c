"""Coverage and size of the response audit on raters with planted biases: the table in docs/audit.md.

`python -m benchmarks audit [seeds]` draws so many synthetic corpora per planted bias (200 without a number), and five
times as many without any. What is true of each is computed from the probabilities of the synthetic rater, so that an
interval can be checked against it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.biased import BiasedRater
from vantage.measures.audits.effects import audit
from vantage.scales import Scale

COUNTS: Final = Path(__file__).with_suffix(".json")
SCALE: Final = Scale.points(-3, 3)
PRESENTATIONS: Final = [
    f"direction={direction} labels={labels} order={order}"
    for direction, labels, order in product(("plain", "reversed"), ("letters", "numbers"), ("down", "up"))
]
DATES: Final = ("2026-01-01", "2026-02-01")
NOISE: Final = 0.2
REACH: Final = 1.2
"""Truths lie between minus and plus this, so that no planted shift leaves the scale."""
PLANTED: Final[dict[str, dict[str, float]]] = {
    "none": {},
    "primacy": {"primacy": 0.4},
    "letters": {"letters": 0.5},
    "acquiescence": {"acquiescence": 0.2},
    "carelessness": {"careless": 0.1},
    "drift": {"drift": 0.3},
}
CROWD: Final = {"none, by people": 0.0, "primacy, by people": 0.4}
"""What is planted where every person sees one order, drawn at random."""
EFFECTS: Final = {
    "order": "primacy",
    "letters": "letters",
    "acquiescence": "acquiescence",
    "test–retest": "carelessness",
    "drift": "drift",
}
"""The effect in which each planted bias is looked for."""


def table(seed: int, planted: dict[str, float], *, items: int = 30, people: int = 12) -> pl.DataFrame:
    """A model with planted biases, asked in all presentations on two dates, beside people who answer twice."""
    rng = np.random.default_rng(seed)
    truth = {f"item-{n}": float(value) for n, value in enumerate(rng.uniform(-REACH, REACH, items))}
    seeds = rng.integers(2**31, size=people + 1).tolist()
    model = BiasedRater("model", noise=NOISE, **planted)
    answers = model.judgments(truth, SCALE, PRESENTATIONS, samples=2, dates=DATES, seed=seeds[0])
    frames = [answers.with_columns(kind=pl.lit("model"))]
    for n in range(people):
        person = BiasedRater(f"person-{n}", noise=NOISE)
        answers = person.judgments(
            truth, SCALE, ["direction=plain labels=numbers order=up"], samples=2, seed=seeds[n + 1]
        )
        frames.append(answers.with_columns(kind=pl.lit("person")))
    return pl.concat(frames)


def crowd(seed: int, primacy: float, *, items: int = 30, people: int = 30) -> pl.DataFrame:
    """People who differ in how high they answer and who each see the options in one order."""
    rng = np.random.default_rng(seed)
    truth = {f"item-{n}": float(value) for n, value in enumerate(rng.uniform(-REACH, REACH, items))}
    frames = []
    for n, order in enumerate(rng.permutation(["order=up", "order=down"] * (people // 2))):
        severity = float(rng.normal(scale=0.3))
        own = {item: value + severity for item, value in truth.items()}
        person = BiasedRater(f"person-{n}", primacy=primacy, noise=NOISE)
        answers = person.judgments(own, SCALE, [str(order)], seed=int(rng.integers(2**31)))
        frames.append(answers.with_columns(kind=pl.lit("person")))
    return pl.concat(frames)


def true_effects(planted: dict[str, float]) -> dict[str, float]:
    """What is true of the synthetic model, from the probabilities of its answers."""
    truth = np.linspace(-REACH, REACH, 2001)
    codes = np.array(SCALE.codes)
    distance = np.abs(codes[:, None] - codes)

    def apart(rater: BiasedRater) -> float:
        chances = [rater.probabilities(truth, SCALE, one, late=late) for one in PRESENTATIONS for late in (False, True)]
        return float(np.mean([np.einsum("ni,ij,nj->n", one, distance, one) for one in chances]))

    kept = 1 - planted.get("careless", 0.0)
    shift = {effect: kept * planted.get(bias, 0.0) for effect, bias in EFFECTS.items() if bias != "carelessness"}
    plain = BiasedRater(noise=NOISE)
    once = plain.probabilities(truth, SCALE, "direction=plain labels=numbers order=up")
    people = float(np.mean(np.einsum("ni,ij,nj->n", once, distance, once)))
    return {**shift, "test–retest": apart(BiasedRater("model", noise=NOISE, **planted)) - people}


def replicated(name: str, seeds: int) -> Iterator[dict[str, float | str | bool]]:
    """Whether each interval held the truth and each test found something, seed by seed."""
    truths = true_effects(PLANTED[name])
    for seed in range(seeds):
        rows = audit(table(seed + 10_000 * list(PLANTED).index(name), PLANTED[name]), rater="model")
        for row in rows.filter(pl.col("effect").is_in(list(EFFECTS))).iter_rows(named=True):
            truth = truths[row["effect"]]
            held = row["low"] <= truth <= row["high"]
            yield {
                "planted": name,
                "effect": row["effect"],
                "truth": truth,
                "estimate": row["estimate"],
                "held": held,
                "found": row["p"] < 0.05,
                "after": row["p_adjusted"] < 0.05,
            }


def by_people(name: str, seeds: int) -> Iterator[dict[str, float | str | bool]]:
    """The same for the order effect of a crowd."""
    truth = CROWD[name]
    for seed in range(seeds):
        rows = audit(crowd(seed + 10_000 * (50 + list(CROWD).index(name)), truth)).filter(effect="order")
        row = rows.row(0, named=True)
        kept = {"planted": name, "effect": "order", "truth": truth, "estimate": row["estimate"]}
        rejected = {"found": row["p"] < 0.05, "after": row["p_adjusted"] < 0.05}
        yield {**kept, "held": row["low"] <= truth <= row["high"], **rejected}


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Coverage, and how often an effect is found, by planted bias and effect."""
    grouped = rows.group_by("planted", "effect", maintain_order=True)
    return grouped.agg(pl.col("truth").first(), pl.mean("estimate", "held", "found", "after"), pl.len().alias("seeds"))


def main() -> None:
    """Runs all planted biases, keeps the counts and prints the table of docs/audit.md."""
    seeds = next((int(word) for word in sys.argv[1:] if word.isdecimal()), 200)
    # How often something absent is found takes more corpora to tell than whether it is found where it is.
    made = [row for name in PLANTED for row in replicated(name, seeds * (5 if name == "none" else 1))]
    made += [row for name in CROWD for row in by_people(name, seeds)]
    rows = summary(pl.DataFrame(made))
    COUNTS.write_text(json.dumps(rows.to_dicts(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print("| planted | effect | truth | mean estimate | coverage | found |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for row in rows.iter_rows(named=True):
        cells = [f"{row['truth']:.2f}", f"{row['estimate']:.2f}", f"{row['held']:.1%}", f"{row['found']:.1%}"]
        print(f"| {row['planted']} | {row['effect']} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
