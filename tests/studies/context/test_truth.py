"""Every sentence of the report is true to its numbers: on noise, turned round, and on the least data there can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.noise import SEEDS, Claiming, claiming, few
from tests.report.truth import check_all, check_intervals, claims
from tests.studies.context.judged import analysed, judged_corpus
from tests.studies.context.pipeline.planted import Planted, planted_corpus
from vantage import Corpus
from vantage.context import METHODS, SURFACE, Simulator, simulate
from vantage.report.parts import Result
from vantage.report.record import Record
from vantage.studies import run
from vantage.studies.base import find
from vantage.studies.context import changes, contexts, detection, models
from vantage.studies.context.analysis import ContextAnalysis
from vantage.studies.execution import Context

CHANCE = {"m:a": (0.5, 0.5), "m:b": (0.5, 0.5)}


class Guessing(Planted):
    """Readers and judges that answer at random, whatever they read."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def _yes(self, request: Any) -> float:
        return float(self.rng.random())

    def _knows(self, request: Any) -> bool:
        return bool(self.rng.random() < 0.5)


def noise(seed: int, people: int = 4) -> Corpus:
    """Models and people that guess, without and with context."""
    return judged_corpus(24, CHANCE, runs=1, seed=seed, people=people, luck=0.5)


@pytest.mark.usefixtures("models")
def test_the_small_study(planted_data: Path) -> None:
    few: dict[str, Any] = {"items": 12, "persona_count": 3, "answers": "scoring", "runs": 1, "resamples": 20}
    few |= {"methods": "constant,length,direct,selective", "styles": "zero-shot", "controls": "label,blind"}
    report = run(
        "context", data=planted_data, models=["planted"], writer="writer", tasks="sarcasm", first_person=False, **few
    )
    check_all(report.result)
    check_intervals(report.result)
    assert any(table.name.startswith("context-label") for table in report.result.tables)


@pytest.mark.slow
def test_random_readers_are_never_better_than_chance() -> None:
    """The best of ten methods, on readers that answered at random."""
    told = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        corpus = planted_corpus(rng.choice(["clear", "ambiguous"], 24).tolist())
        words = [" ".join(rng.choice(["ash", "birch", "elm", "fir", "oak", "yew"], 6)) for _ in range(24)]
        items = corpus.items.with_columns(pl.Series("text", words), pl.lit("sarcasm").alias("task"))
        corpus = Corpus(items, corpus.raters, corpus.judgments, corpus.instruments)
        for method in ("direct", "persona", "selective"):
            corpus = simulate(
                corpus, "sarcasm", Simulator(Guessing(seed), count=3, answers="scoring", samples=2), method
            ).corpus
        result = analysed(corpus, methods=",".join([*SURFACE, *METHODS]), resamples=20)
        check_all(result)
        told += [text for text in claims(result) if "chance with" in text or "best" in text]
    assert told == []


SAYING = Claiming("vantage.studies.context", detection, contexts, models, changes)


def guessed(seed: int) -> Result:
    options = find("context").options(tasks="sarcasm", methods="length", resamples=100)
    return SAYING.result(ContextAnalysis.of(noise(seed), Context(options, Record("context", "Context"))))


@pytest.mark.slow
def test_noise_claims_nothing() -> None:
    assert claiming(guessed, range(3)) == {}


@pytest.mark.slow
def test_noise_claims_nothing_in_nearly_all_of_200_seeds() -> None:
    assert len(claiming(guessed, range(SEEDS))) <= few(SEEDS)


@pytest.mark.slow
def test_labels_turned_round_turn_the_sentences_round() -> None:
    corpus = judged_corpus(60, runs=1)
    other = {"yes": "no", "no": "yes"}
    turned = Corpus(
        corpus.items.with_columns(pl.col("label").replace(other)), corpus.raters, corpus.judgments, corpus.instruments
    )
    one, two = analysed(corpus), analysed(turned)
    check_all(one)
    check_all(two)
    assert any("F1 is higher than without for m:a" in text for text in claims(one))
    assert any("F1 is lower than without for m:a" in text or "m:a" in text for text in claims(two) if "lower" in text)
    assert not any("F1 is higher than without for m:a" in text for text in claims(two) if "original" in text)


@pytest.mark.parametrize(
    "least",
    [
        {"items": 1},
        {"items": 2, "skills": {"m:a": (0.5, 1.0)}},
        {"items": 9, "skills": {"m:a": (0.0, 1.0), "m:b": (1.0, 0.0)}},
        {"items": 12, "skills": {}, "people": 1},
        {"items": 30, "skills": {"m:a": (0.0, 1.0)}, "people": 1},
    ],
)
def test_the_least_data_claim_no_more_than_they_can(least: dict[str, Any]) -> None:
    result = analysed(judged_corpus(runs=1, **least), resamples=50)
    check_all(result)
    if least["items"] < 10:
        assert claims(result) == []
