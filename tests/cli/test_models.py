from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from tests.raters.models.endpoint import Endpoint
from tests.raters.models.test_probe import able
from vantage import Corpus
from vantage.runs import RunStore
from vantage.runs.records import records


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-tests")


def test_a_model_is_probed_and_its_profile_kept(vantage: Vantage, demo: Path) -> None:
    with Endpoint(able) as endpoint:
        done = vantage("models", "probe", "openai:judge", "--base-url", endpoint.url, "--store", demo)
        told = vantage("models", "probe", "openai:judge", "--base-url", endpoint.url, "--json")
    assert "schema: held" in done.out
    assert "logprobs: 3" in done.out
    assert told.json["begins"] == "option"
    listed = vantage("models", "profiles", demo)
    assert "openai:judge" in listed.out


def test_rating_probes_once_and_uses_what_it_found(vantage: Vantage, demo: Path) -> None:
    def thinking(body: dict[str, object]) -> str:
        return "<think>Let me see.</think>2"

    words = (
        "rate",
        demo,
        "--instrument",
        "warmth-competence",
        "--question",
        "trust",
        "--limit",
        "2",
        "--model",
        "openai:t",
    )
    with Endpoint(thinking) as endpoint:
        first = vantage(*words, "--base-url", endpoint.url)
        probing = len(endpoint.requests) - 2
        again = vantage(*words, "--base-url", endpoint.url, "--samples", "2", "--temperature", "1", "--name", "warm")
    assert 5 < probing <= 12
    assert len(endpoint.requests) == probing + 2 + 4
    assert "thinks before it answers" in first.out
    assert endpoint.requests[-1]["max_tokens"] == 4096
    assert again.code == 0
    judged = Corpus.read(demo).judgments.filter(rater="openai:t+zero-shot")
    assert set(judged["thinking"]) == {"Let me see."}
    assert set(judged["reply"]) == {"2"}
    with RunStore(demo, read_only=True) as store:
        assert records(store)[0].plan["parts"][0]["max_tokens"] == 4096


def test_an_endpoint_that_cannot_be_used_is_told_before_anything_is_asked(vantage: Vantage, demo: Path) -> None:
    with Endpoint() as endpoint:
        pass
    words = ("rate", demo, "--instrument", "warmth-competence", "--model", "openai:t", "--base-url", endpoint.url)
    done = vantage(*words)
    assert done.code != 0
    assert "cannot be reached" in done.err
    assert "Traceback" not in done.err
