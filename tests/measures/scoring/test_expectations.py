"""What people expect of others: against brute force, on simulated people who know and people who do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage import Corpus, Instrument
from vantage.errors import InputError
from vantage.measures.scoring.expectations import expectations

OPINIONS = Path(__file__).parents[2] / "instruments" / "opinions.yaml"


def crowd(bias: float, *, items: int = 30, people: int = 8, seed: int = 1) -> Corpus:
    """People who expect of others what these answer, moved by a share towards their own answer; all are certain."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        chances = rng.dirichlet([1, 1, 1])
        for person in range(people):
            own = int(rng.choice(3, p=chances))
            expected = (1 - bias) * chances + bias * np.eye(3)[own]
            key = (f"i{item}", f"p{person}")
            rows.append((*key, "tone", float(own), None))
            rows.append((*key, "tone-sure", 100.0, None))
            rows.append((*key, "tone-others", float(expected.argmax()), expected.tolist()))
    schema = {"item": pl.String, "rater": pl.String, "question": pl.String, "value": pl.Float64}
    judgments = pl.DataFrame(rows, schema={**schema, "probabilities": pl.List(pl.Float64)}, orient="row")
    texts = pl.DataFrame({"item": [f"i{n}" for n in range(items)]}).with_columns(text=pl.lit("x"))
    raters = pl.DataFrame({"rater": [f"p{n}" for n in range(people)]}).with_columns(kind=pl.lit("person"))
    return Corpus(texts, raters, judgments, Instrument.load(OPINIONS))


def scores(corpus: Corpus) -> dict[str, dict[str, float]]:
    return {row["score"]: row for row in expectations(corpus).iter_rows(named=True)}


def test_scores_are_those_of_a_loop() -> None:
    corpus = crowd(0.3, items=6, people=4)
    rows = list(corpus.judgments.iter_rows(named=True))
    own = {(r["item"], r["rater"]): int(r["value"]) for r in rows if r["question"] == "tone"}
    brier, over, sure = [], [], []
    for row in (r for r in rows if r["question"] == "tone-others"):
        mine, p = own[row["item"], row["rater"]], row["probabilities"]
        rest = [a for (item, rater), a in own.items() if item == row["item"] and rater != row["rater"]]
        brier.append(np.mean([sum((p[k] - (k == a)) ** 2 for k in range(3)) for a in rest]))
        agree = np.mean([a == mine for a in rest])
        over.append(p[mine] - agree)
        sure.append(1 - agree)
    made = scores(corpus)
    assert made["brier"]["estimate"] == pytest.approx(np.mean(brier))
    assert made["false_consensus"]["estimate"] == pytest.approx(np.mean(over))
    assert made["overconfidence"]["estimate"] == pytest.approx(np.mean(sure))


def test_only_those_who_overrate_their_own_answer_are_found_to() -> None:
    fair, biased = (scores(crowd(bias))["false_consensus"] for bias in (0.0, 0.3))
    assert fair["low"] < 0 < fair["high"]
    assert 0 < biased["low"] < biased["high"]
    assert scores(crowd(0.0))["overconfidence"]["low"] > 0, "all were certain, and not all agreed"


def test_the_interval_of_false_consensus_covers() -> None:
    # A rater expects b(1 − Σp²) too much for the own answer; shares that are uniform on the simplex have Σp² = 1/2.
    made = [scores(crowd(0.3, seed=seed))["false_consensus"] for seed in range(60)]
    # Of sixty intervals that cover 95 %, fewer than 52 hold the value less than once in a hundred cases.
    assert sum(row["low"] <= 0.15 <= row["high"] for row in made) >= 52


def test_a_surprisingly_popular_answer_is_one_that_fewer_expect() -> None:
    """Everybody expects the wrong answer of most others, but a large minority knows better."""
    own = [0.0, 0.0, 0.0, 1.0, 1.0]
    rows: list[tuple[Any, ...]] = [("i", f"p{n}", "tone", value, None) for n, value in enumerate(own)]
    rows += [("i", f"p{n}", "tone-others", 0.0, [0.9, 0.1, 0.0]) for n in range(5)]
    judgments = pl.DataFrame(rows, schema=["item", "rater", "question", "value", "probabilities"], orient="row")
    people = pl.DataFrame({"rater": [f"p{n}" for n in range(5)]}).with_columns(kind=pl.lit("person"))
    corpus = Corpus(pl.DataFrame({"item": ["i"], "text": ["x"]}), people, judgments, Instrument.load(OPINIONS))
    row = expectations(corpus, per="item").row(0, named=True)
    assert (row["popular"], row["answer"]) == (0.0, 1.0)
    assert row["estimate"] == pytest.approx(0.3)
    assert row["low"] < 0.3 < row["high"]


def test_a_table_without_forecasts_is_refused() -> None:
    corpus = crowd(0.0, items=2, people=2)
    with pytest.raises(InputError, match="no question asks what others answer"):
        expectations(corpus, question="anger")
    with pytest.raises(InputError, match="no rater 'gpt'"):
        expectations(corpus, raters=["gpt"])
    alone = corpus.judgments.filter(pl.col("rater") == "p0")
    row = expectations(alone, question="tone", others="tone-others", people=["p0"]).row(0, named=True)
    assert row["reason"] == "no item has somebody else's answer beside the forecast"
