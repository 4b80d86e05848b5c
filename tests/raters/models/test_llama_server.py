"""Contract with a real llama.cpp server: parameters, schemas, scores, samples, the probe, all styles."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from tests.raters.models.llama_server import check_style, llama_server, pairs
from vantage import demo_corpus
from vantage.raters.answers import answer_schema
from vantage.raters.models import Message, ModelError, Request, Sampling, load_model
from vantage.raters.models.openai import OpenAIModel
from vantage.raters.models.probe import probe

pytest.importorskip("xllamacpp")

LETTERS = (
    Message("system", "Answer with one letter, and nothing else."),
    *(Message("user", "A, B or C?"), Message("assistant", "B")),
    *(Message("user", "A, B or C?"), Message("assistant", "A")),
    Message("user", "A, B or C?"),
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        with llama_server() as address:
            yield address
    except ModelError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def model(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIModel]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    loaded = load_model("openai:smollm2", base_url=url, timeout=300)
    assert isinstance(loaded, OpenAIModel)
    yield loaded
    loaded.close()


@pytest.mark.slow
def test_scores_and_samples_agree(model: OpenAIModel) -> None:
    """The distribution from log-probabilities is the one that replies are drawn from."""
    request = Request(LETTERS)
    told = np.exp(model.score([request], ["A", "B", "C"])[0])
    assert told.sum() > 0.8
    draws = [Request(LETTERS, Sampling(1.0, 1.0, 1, seed)) for seed in range(120)]
    # llama.cpp cuts the distribution down unless it is told not to.
    whole = load_model("openai:smollm2", base_url=model._url, timeout=300, top_k=0, min_p=0, repeat_penalty=1.0)
    try:
        said = Counter(answer.text.strip()[:1] for answer in whole.complete(draws))
    finally:
        whole.close()
    shares = np.array([said[letter] for letter in "ABC"]) / 120
    # Three standard errors of a share of 120.
    assert np.abs(shares - told).max() < 3 * np.sqrt(0.25 / 120)


@pytest.mark.slow
def test_schemas_are_taken_and_replies_held_to_them(model: OpenAIModel) -> None:
    demo = demo_corpus()
    schema = answer_schema(demo.questions[:3], reason=False, together=True)
    asked = (Message("user", "Rate trust, sociability and competence of the baker."),)
    (answer,) = model.complete([Request(asked, Sampling(max_tokens=120), schema)])
    assert (answer.error, model.notes) == ("", [])
    told = json.loads(answer.text)
    assert set(told) == {question.id for question in demo.questions[:3]}


def test_a_reply_is_cut_and_tokens_are_counted(model: OpenAIModel) -> None:
    (answer,) = model.complete([Request((Message("user", "Tell a long story."),), Sampling(max_tokens=5))])
    assert (answer.finish, answer.completion_tokens) == ("length", 5)
    assert answer.prompt_tokens > 5


def test_a_prompt_that_is_too_long_fails_with_the_reason(model: OpenAIModel) -> None:
    (answer,) = model.complete([Request((Message("user", "word " * 9000),))])
    assert answer.finish == "failed"
    assert "context size" in answer.error
    assert model.notes == []


@pytest.mark.slow
def test_the_probe_finds_out_what_the_server_can_do(model: OpenAIModel) -> None:
    profile = probe(model)
    assert (profile.schema, profile.logprobs) == ("held", 20)
    assert profile.rejects == ()
    assert not profile.thinks


@pytest.mark.parametrize(("instrument", "style"), pairs(every=4))
def test_styles_end_without_a_failed_call_or_an_invented_answer(url: str, instrument: str, style: str) -> None:
    check_style(url, instrument, style)
