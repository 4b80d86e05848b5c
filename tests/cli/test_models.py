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


def test_a_study_probes_once_and_uses_what_it_found(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    Corpus.read(demo).filter(item=["s01", "s02", "s03"]).write(tmp_path / "small")
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(
        "title: Mine\nask: {styles: [zero-shot, scoring], questions: [trust]}\n"
        "sections: [{title: S, show: [{measure: mean, by: [question]}]}]\n"
    )

    def thinking(body: dict[str, object]) -> str:
        return "<think>Let me see.</think>2"

    with Endpoint(thinking) as endpoint:
        words = ("study", recipe, "--data", tmp_path / "small", "--model", "openai:t", "--base-url", endpoint.url)
        done = vantage(*words, "--to", tmp_path / "out")
        asked = len(endpoint.requests)
        again = vantage(*words, "--to", tmp_path / "out")
        assert len(endpoint.requests) == asked, "what is stored is found again with the profile that is kept"
        unprobed = vantage(*words, "--to", tmp_path / "unprobed", "--no-probe", "--max-tokens", "99")
        assert endpoint.requests[asked]["max_tokens"] == 99
    assert done.code == again.code == 0, done.err + again.err
    assert "answers without log-probabilities" in unprobed.err
    assert 5 < asked - 3 * (1 + 20) <= 12, "one answer in one style, 20 samples in the other, and the probe"
    assert endpoint.requests[asked - 1]["max_tokens"] == 4096
    assert "thinks before it answers" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_an_endpoint_that_cannot_be_used_is_told_before_anything_is_asked(vantage: Vantage, demo: Path) -> None:
    with Endpoint() as endpoint:
        pass
    words = ("rate", demo, "--instrument", "warmth-competence", "--model", "openai:t", "--base-url", endpoint.url)
    done = vantage(*words)
    assert done.code != 0
    assert "cannot be reached" in done.err
    assert "Traceback" not in done.err
