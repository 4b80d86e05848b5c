"""Is it still the same model? Fixed prompts, asked in every sitting, tell a model that has changed from others."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from vantage import ChatRater
from vantage.raters.models.base import Completion, Request
from vantage.runs import RunOptions, RunPlan, RunStore, canary, run
from vantage.runs.records import ledger, totals

from .conftest import corpus
from .test_local import Here

OPTIONS = RunOptions(canary=True, concurrency=8, clarify=False)
PROMPTS = 8 * canary.SAMPLES


class Model(Here):
    """Grades around a mean that a new version shifts."""

    def __init__(self) -> None:
        super().__init__()
        self.shift, self.draw, self.gone = 0, random.Random(3), False  # noqa: S311 - draws test cases

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.batches.append(len(requests))
        return [Completion(self._grade(one), "failed" if self.gone else "stop") for one in requests]

    def _grade(self, request: Request) -> str:
        mean = 3 + len(request.messages[-1].content) % 3 + self.shift
        return str(max(1, min(9, mean + self.draw.choice([-1, 0, 0, 1]))))

    @property
    def asked(self) -> int:
        return sum(self.batches)


def rating(model: Model, items: int) -> RunPlan:
    return RunPlan.of(corpus(items), ChatRater(model), "warmth-competence", questions=["trust"])


def test_a_model_that_changes_is_told_from_one_that_does_not(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    times = iter(f"2026-11-{day:02}T08:00:00+00:00" for day in (1, 2, 3, 4))
    monkeypatch.setattr(canary, "_now", lambda: next(times))
    monkeypatch.setattr(canary, "SITTING", 0.0)

    def notes(items: int) -> list[str]:
        outcome = run(rating(model, items), store, OPTIONS)
        caveats = [note for note in outcome.judged[0].notes if "canary prompts" in note]
        return caveats or [note for note in outcome.tally.notes if "canary prompts" in note]

    assert notes(1) == ["here answered the 8 canary prompts; the next sitting will be compared with these answers."]
    assert totals(ledger(store))["calls"] == model.asked == PROMPTS + 1
    (same,) = notes(2)
    assert same.startswith("here still answers the canary prompts as on 2026-11-01: ")
    model.shift = 2
    first, last = notes(3)
    assert first.startswith("here no longer answers the canary prompts as on 2026-11-01: ")
    assert "as on 2026-11-02" in last
    assert "chance alone" in first
    assert "p = 0.0005" in first
    assert model.asked == 3 * PROMPTS + 3
    model.gone = True
    assert notes(4) == ["here did not answer all canary prompts, so nothing was compared."]


def test_what_is_started_within_an_hour_belongs_to_one_sitting(store: RunStore) -> None:
    model = Model()
    run(rating(model, 1), store, OPTIONS)
    run(rating(model, 2), store, OPTIONS)
    assert model.asked == PROMPTS + 2


def test_drift_has_its_size_and_its_level() -> None:
    draw = np.random.default_rng(1)
    items = np.repeat([f"c{n}" for n in range(8)], 10)

    def table(shares: list[float]) -> pl.DataFrame:
        return pl.DataFrame({"item": items, "answer": draw.choice(["1", "2", "3"], 80, p=shares)})

    size, chance, likely = canary.drift(table([1, 0, 0]), table([0, 1, 0]))
    assert (size, likely < 0.001) == (1.0, True)
    assert chance < 0.3
    levels = [canary.drift(table([0.5, 0.3, 0.2]), table([0.5, 0.3, 0.2]))[2] for _ in range(40)]
    assert sum(level < 0.1 for level in levels) <= 9
    assert canary.drift(table([0.5, 0.3, 0.2]), table([0.1, 0.3, 0.6]))[2] < 0.01
