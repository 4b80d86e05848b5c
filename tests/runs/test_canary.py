"""Is it still the same model? Fixed prompts, asked in every sitting, tell a model that has changed from others."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage.runs import RunOptions, RunStore, canary, run
from vantage.runs.records import ledger, totals

from .conftest import MakePlan

OPTIONS = RunOptions(canary=True, concurrency=8, clarify=False)
PROMPTS = 8 * 5


@pytest.fixture(autouse=True)
def _fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "SAMPLES", 5)


class Model:
    """Grades around a mean that a new version shifts."""

    def __init__(self) -> None:
        self.shift, self.draw = 0, random.Random(3)  # noqa: S311 - draws test cases

    def __call__(self, body: dict[str, Any]) -> str:
        text = json.dumps(body["messages"])
        return str(max(1, min(9, 3 + len(text) % 3 + self.shift + self.draw.choice([-1, 0, 0, 1]))))


def test_a_model_that_changes_is_told_from_one_that_does_not(
    plan: MakePlan, store: RunStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model()
    endpoint.reply = model
    times = iter(f"2026-11-{day:02}T08:00:00+00:00" for day in (1, 2, 3, 4))
    monkeypatch.setattr(canary, "_now", lambda: next(times))
    monkeypatch.setattr(canary, "SITTING", 0.0)

    def notes(items: int) -> list[str]:
        outcome = run(plan(items), store, OPTIONS)
        caveats = [note for note in outcome.judged[0].notes if "fixed prompts" in note]
        return caveats or [note for note in outcome.tally.notes if "fixed prompts" in note]

    assert notes(1) == ["openai:tester has answered 8 fixed prompts; the next sitting is compared with this."]
    assert len(endpoint.requests) == PROMPTS + 1
    assert totals(ledger(store))["calls"] == PROMPTS + 1
    (same,) = notes(2)
    assert same.startswith("openai:tester still answers the fixed prompts of the canary as on 2026-11-01: ")
    model.shift = 2
    first, last = notes(3)
    assert first.startswith("openai:tester no longer answers the fixed prompts of the canary as on 2026-11-01: ")
    assert "as on 2026-11-02" in last
    assert "chance alone" in first
    assert "p = 0.0005" in first
    assert len(endpoint.requests) == 3 * PROMPTS + 3
    endpoint.reply = lambda body: Answer(status=401, error={"message": "revoked"})
    assert notes(4) == ["openai:tester did not answer all fixed prompts of the canary; nothing is compared."]


def test_what_is_started_within_an_hour_belongs_to_one_sitting(
    plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    run(plan(1), store, OPTIONS)
    run(plan(2), store, OPTIONS)
    assert len(endpoint.requests) == PROMPTS + 2


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
