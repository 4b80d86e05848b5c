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


def test_a_corpus_is_rated_by_its_own_instrument(vantage: Vantage, demo: Path) -> None:
    named = vantage("rate", demo, "--instrument", "warmth-competence", "--show", 2)
    assert vantage("rate", demo, "--show", 2).out == named.out
    assert "No corpus or instrument given" in vantage("rate", "--show", 2).err


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
        (("--limit", "0"), "no items left to judge"),
        (("--setting", "threads"), "--setting takes NAME=VALUE"),
        (("--personas", "3"), "--personas has no effect without --persona;"),
        (("--style", "persona", "--persona", "control", "--user", "r1"), "has no place for a user; leave it out"),
        (("--shots-from", "target=the baker"), "--shots-from has no effect without few-shot or history in --style"),
        (("--min-mass", "0.9"), "--min-mass has no effect without scoring or sampling in --style"),
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
    assert "── scored\nB, C, D, E, F, G, H" in scored
    assert "── asked 5 times" in vantage(*words, "--style", "sampling:5").out


def test_a_history_is_drawn_from_the_whole_corpus_however_few_items_are_judged(vantage: Vantage, demo: Path) -> None:
    words = ("rate", demo, "--instrument", "warmth-competence", "--question", "trust", "--show", 1)
    assert vantage(*words, "--style", "history:3", "--user", "r1", "--limit", 1).out.count("── assistant") == 3


def test_samples_without_temperature_are_warned_about(vantage: Vantage, demo: Path) -> None:
    done = vantage("rate", demo, "--instrument", "warmth-competence", "--samples", 3, "--show", 1)
    assert "all 3 samples are the same likeliest reply" in done.err


VARIED = ("rate", "--instrument", "warmth-competence", "--question", "trust", "--model", "openai:tester", "--no-probe")


def test_presentations_are_varied_and_averaged(vantage: Vantage, demo: Path, endpoint: Endpoint) -> None:
    words = (*VARIED, demo, "--base-url", endpoint.url, "--limit", 3)
    done = vantage(*words, "--vary", "order,labels=numbers/letters,direction", "--balanced")
    assert done.code == 0, done.err
    rated = Corpus.read(demo)
    rows = rated.judgments.filter(rater="openai:tester+zero-shot")
    assert (len(rows), rows["presentation"].n_unique()) == (12, 8)
    assert rated.judgments.filter(rater="openai:tester+zero-shot+balanced").height == 3
    sent = len(endpoint.requests)
    assert sent == 12
    again = vantage(*words, "--vary", "order,labels=numbers/letters,direction", "--estimate", "--json").json
    assert again[0]["calls"] == 0
    assert again[0]["design"]["factors"]["order"] == ["up", "down"]
    wider = vantage(
        *words, "--vary", "order,labels=numbers/letters,direction,wording", "--design", "full", "--estimate"
    )
    assert "48" not in wider.out.split("rater")[1].split("\n")[1], "what the store holds is not counted"


def test_a_presentation_is_shown_as_the_model_sees_it(vantage: Vantage, demo: Path) -> None:
    shown = vantage(*VARIED, demo, "--presentation", "order=down labels=letters direction=reversed", "--show", 1).out
    assert "item s01, trust (direction=reversed labels=letters order=down)" in shown
    assert "How untrustworthy does the sentence make the baker look?" in shown
    assert "A = very untrustworthy\nB = untrustworthy\n" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--vary", "optout"), "question 'trust' has no opt-out, so optout cannot be varied"),
        (("--vary", "odrer"), "there is no factor 'odrer'; did you mean 'order'?"),
        (("--vary", "shots"), "the style has no examples to vary; add few-shot:K to --style"),
        (("--vary", "order", "--design", "latin"), "there is no design 'latin'; use balanced or full"),
        (("--balanced",), "--balanced has no effect without --vary"),
        (("--template", "nowhere.j2"), "the template cannot be read"),
    ],
)
def test_what_cannot_be_varied_is_told(vantage: Vantage, demo: Path, words: tuple[str, ...], sentence: str) -> None:
    done = vantage(*VARIED, demo, *words)
    assert done.code == 2
    assert sentence in done.err


def test_a_budget_says_which_design_it_pays_for(
    vantage: Vantage, demo: Path, tmp_path: Path, endpoint: Endpoint
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:tester: {input: 1, output: 1}\n", encoding="utf-8")
    words = (*VARIED, demo, "--base-url", endpoint.url, "--prices", prices, "--max-cost", 0.03)
    done = vantage(*words, "--vary", "order,labels,direction")
    assert done.code == 2
    assert "the design asks about each item 6 times and costs about" in done.err
    assert "raise --max-cost, vary fewer factors, or ask about" in done.err
    assert not endpoint.requests
