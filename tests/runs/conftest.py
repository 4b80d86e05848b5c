"""What the tests of runs share: a corpus of invented items, a rater at an endpoint, waits that are short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.raters.models.endpoint import Endpoint
from vantage import ChatRater, Corpus, demo_corpus
from vantage.runs import RunPlan, RunStore
from vantage.runs.engines import local

MakePlan = Callable[..., RunPlan]


def corpus(items: int) -> Corpus:
    """A corpus without judgments, about `items` invented sentences."""
    demo = demo_corpus()
    numbers = range(items)
    table = pl.DataFrame(
        {
            "item": [f"i{n:04}" for n in numbers],
            "text": [f"The baker gave back the wallet, case {n:04}." for n in numbers],
            "target": ["the baker"] * items,
        }
    )
    return Corpus(table, demo.raters, demo.judgments.clear(), demo.instruments)


def case(body: dict[str, Any]) -> int:
    """The number of the item that a request is about."""
    # The last message that names one: what is asked again about a reply does not.
    named = [text for message in body["messages"] if "case " in (text := str(message["content"]))]
    return int(named[-1].split("case ")[1][:4])


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-that-stays-secret")
    with Endpoint(lambda body: "2") as running:
        yield running


@pytest.fixture
def plan(endpoint: Endpoint) -> MakePlan:
    """`plan(items, style, **options)`: the question of trust put to the endpoint's model."""

    def make(
        items: int = 5, style: str = "zero-shot", questions: tuple[str, ...] = ("trust",), **options: Any
    ) -> RunPlan:
        settings = {"base_url": endpoint.url, "timeout": 5.0, **options.pop("settings", {})}
        rater = ChatRater("openai:tester", style, settings=settings, **options)
        return RunPlan.of(corpus(items), rater, "warmth-competence", questions=questions)

    return make


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore(tmp_path / "runs.sqlite") as opened:
        yield opened


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries are short."""
    monkeypatch.setattr(local, "FIRST_WAIT", 0.01)
