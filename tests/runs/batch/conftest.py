"""What the tests of batches share: a provider, a plan put to it, polls that are quick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.batch.provider import OWN, Provider
from tests.runs.conftest import MakePlan, corpus
from vantage import ChatRater
from vantage.runs import RunPlan
from vantage.runs.batch import engine, protocols, providers
from vantage.runs.engines import local


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    names = [f"{name}_API_KEY" for name in ("OPENAI", "ANTHROPIC", "MISTRAL", "GEMINI", "AZURE_OPENAI")]
    for name in (*names, "CO_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test-key-that-stays-secret")
    monkeypatch.setattr(providers, "CHECK", 0.01)
    monkeypatch.setattr(engine, "FIRST_POLL", 0.02)
    monkeypatch.setattr(engine, "LONGEST_POLL", 0.02)
    monkeypatch.setattr(local, "FIRST_WAIT", 0.01)
    with Provider() as running:
        yield running


@pytest.fixture
def plan(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> MakePlan:
    """`plan(items, style, **options)`: the question of trust put to the provider's model."""

    def make(
        items: int = 5,
        style: str = "zero-shot",
        questions: tuple[str, ...] = ("trust",),
        protocol: str = "openai",
        **options: Any,
    ) -> RunPlan:
        name, url = provider.settings(protocol)
        if protocol == "together":
            monkeypatch.setitem(protocols.HOSTS, "127.0.0.1", "together")
        if protocol == "bedrock":
            pytest.importorskip("boto3")
        settings = {"base_url": url, "timeout": 5.0, **OWN.get(protocol, {})}
        rater = ChatRater(name, style, settings=settings, **options)
        return RunPlan.of(corpus(items), rater, "warmth-competence", questions=questions)

    return make
