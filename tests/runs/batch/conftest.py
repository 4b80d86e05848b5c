"""What the tests of batches share: a provider, a plan put to it, polls that are quick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.batch.provider import Provider
from tests.runs.conftest import MakePlan, corpus
from vantage import ChatRater
from vantage.runs import RunPlan
from vantage.runs.batch import engine
from vantage.runs.engines import local


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-that-stays-secret")
    monkeypatch.setattr(engine, "FIRST_POLL", 0.02)
    monkeypatch.setattr(engine, "LONGEST_POLL", 0.02)
    monkeypatch.setattr(local, "FIRST_WAIT", 0.01)
    with Provider() as running:
        yield running


@pytest.fixture
def plan(provider: Provider) -> MakePlan:
    """`plan(items, style, **options)`: the question of trust put to the provider's model."""

    def make(
        items: int = 5, style: str = "zero-shot", questions: tuple[str, ...] = ("trust",), **options: Any
    ) -> RunPlan:
        rater = ChatRater("openai:tester", style, settings={"base_url": provider.url, "timeout": 5.0}, **options)
        return RunPlan.of(corpus(items), rater, "warmth-competence", questions=questions)

    return make
