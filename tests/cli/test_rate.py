from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from tests.raters.models.endpoint import Endpoint
from tests.runs.test_rating import answering
from vantage import Corpus


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    with Endpoint(answering) as running:
        yield running


def test_a_model_rates_a_corpus(vantage: Vantage, demo: Path, endpoint: Endpoint) -> None:
    words = (
        "rate",
        demo,
        "--instrument",
        "warmth-competence",
        "--model",
        "openai:tester",
        "--no-probe",
        "--base-url",
        endpoint.url,
    )
    done = vantage(*words, "--limit", 4, "--question", "trust")
    assert done.code == 0, done.err
    assert "openai:tester+zero-shot" in done.out
    rated = Corpus.read(demo)
    assert rated.judgments.filter(rater="openai:tester+zero-shot").height == 4
    rows = vantage(*words, "--limit", 6, "--question", "trust", "--json").json["raters"]
    assert (rows[0]["calls"], rows[0]["already_there"], rows[0]["answered"]) == (2, 4, 2)
    assert len(endpoint.requests) == 6


def test_personas_are_drawn_from_the_pool(vantage: Vantage, demo: Path, tmp_path: Path, endpoint: Endpoint) -> None:
    words = (
        "rate",
        demo,
        "--instrument",
        "warmth-competence",
        "--model",
        "openai:tester",
        "--no-probe",
        "--base-url",
        endpoint.url,
    )
    more = ("--style", "persona", "--persona", "pool", "--personas", 3, "--limit", 1, "--question", "trust")
    done = vantage(*words, *more, "--to", tmp_path / "out", "--json")
    assert len(done.json["raters"]) == 3
    out = Corpus.read(tmp_path / "out")
    assert out.raters.filter(kind="persona")["occupation"].null_count() == 0
    assert Corpus.read(demo).raters.height == 9


def test_prompts_are_shown_and_nothing_is_sent(vantage: Vantage, demo: Path) -> None:
    done = vantage("rate", demo, "--instrument", "warmth-competence", "--style", "few-shot:2", "--show", 2)
    assert done.code == 0, done.err
    assert done.out.count("━━━ prompt") == 2
    assert "Reply with -3, -2, -1, 0, 1, 2 or 3, and nothing else." in done.out
    assert done.out.rstrip().endswith("Nothing was sent.")


def test_calls_and_cost_are_estimated(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    words = ("rate", demo, "--instrument", "warmth-competence", "--model", "openai:x", "--estimate")
    assert "not known" in vantage(*words).out
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:x: {input: 1, output: 4}\n", encoding="utf-8")
    rows = vantage(*words, "--prices", prices, "--json").json
    assert rows[0]["calls"] == 90
    assert rows[0]["cost"] > 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--model", "opnai:x"), "did you mean 'openai'?"),
        (("--model", "gguf:nowhere.gguf"), "nowhere.gguf"),
        (("--style", "few-shots"), "did you mean 'few-shot'?"),
        (("--style", "persona"), "needs a persona"),
        (("--style", "persona", "--persona", "nowhere.yaml"), "nowhere.yaml"),
        (("--style", "few-shot:50"), "50 were asked for"),
        (("--question", "trst"), "did you mean 'trust'?"),
        (("--limit", "0"), "no items are left"),
        (("--setting", "threads"), "--setting takes NAME=VALUE"),
    ],
)
def test_bad_input_gets_one_sentence(vantage: Vantage, demo: Path, words: tuple[str, ...], sentence: str) -> None:
    done = vantage("rate", demo, "--instrument", "warmth-competence", *words)
    assert done.code == 2, done.out
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_a_missing_key_is_told(vantage: Vantage, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    done = vantage("rate", demo, "--instrument", "warmth-competence", "--model", "openai:x")
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err


def test_every_turn_that_would_be_sent_is_shown(vantage: Vantage, demo: Path) -> None:
    words = ("rate", demo, "--instrument", "warmth-competence", "--question", "trust", "--show", 1)
    selective = vantage(*words, "--style", "selective-persona+reasoning", "--persona", "control").out
    assert "how relevant is it to your own life?" in selective
    assert "━━ then, in a new chat: answer" in selective or "── then: answer" in selective
    assert "Answer: X" in selective
    assert "Why is this your answer?" in vantage(*words, "--style", "two-step").out
    scored = vantage(*words, "--style", "reasoning+scoring", "--model", "openai:x").out
    assert "Now give your answer." in scored
    assert "── scored\nA, B, C, D, E, F, G" in scored
    assert "── asked 5 times" in vantage(*words, "--style", "sampling:5").out


def test_samples_without_temperature_are_warned_about(vantage: Vantage, demo: Path) -> None:
    done = vantage("rate", demo, "--instrument", "warmth-competence", "--samples", 3, "--show", 1)
    assert "3 samples at temperature 0 are 3 times the likeliest reply" in done.err
