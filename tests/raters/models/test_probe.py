"""Probing: what a profile says of endpoints that behave in different ways, and what follows for a rater."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from vantage import ChatRater, Instrument
from vantage.raters.conversation import read_reply
from vantage.raters.models import Completion, ModelError, dialects, load_model
from vantage.raters.models.dialects import split_thinking
from vantage.raters.models.probe import ROOM, ModelProfile, probe
from vantage.runs import RunStore
from vantage.runs.profiles import keep, kept, profiles, suited

from .endpoint import Answer, Endpoint


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-tests")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def probed(reply: Any) -> tuple[ModelProfile, Endpoint]:
    with Endpoint(reply) as endpoint:
        model = load_model("openai:judge", base_url=endpoint.url, max_retries=0)
        try:
            return probe(model), endpoint
        finally:
            model.close()


def able(body: dict[str, Any]) -> Answer:
    """An endpoint that can do everything."""
    if body.get("logprobs"):
        return Answer("A", logprobs={"A": -0.05, "B": -3.5, "The": -6.0})
    if "response_format" in body:
        return Answer('{"answer": 2}')
    return Answer("ready")


def test_an_endpoint_that_can_do_everything() -> None:
    profile, endpoint = probed(able)
    assert (profile.schema, profile.logprobs, profile.begins) == ("held", 3, "option")
    assert profile.mass == pytest.approx(0.981, abs=0.001)
    assert (profile.thinks, profile.rejects) == (False, ())
    assert profile.calls <= 8
    assert len(endpoint.requests) <= 8
    stored = json.loads(json.dumps(profile.as_dict()))
    # What an older version has found out besides is left out.
    assert ModelProfile.of({**stored, "tokens_per_second": 60.0}) == profile


def test_an_endpoint_with_limits_and_a_model_that_thinks() -> None:
    def reply(body: dict[str, Any]) -> Answer:
        if body.get("logprobs"):
            return Answer(status=403, error={"message": "You are not allowed to request logprobs from this model"})
        if "seed" in body:
            return Answer(status=400, error={"message": "Unknown parameter: 'seed'", "param": "seed"})
        if "response_format" in body:
            return Answer("I like rain.")
        if body["max_tokens"] < 1000:
            raw = {"choices": [{"message": {"content": "", "reasoning_content": "Hm"}, "finish_reason": "length"}]}
            return Answer(raw=json.dumps({**raw, "usage": {"completion_tokens_details": {"reasoning_tokens": 32}}}))
        return Answer(f"ready {uuid4()}")

    profile, _ = probed(reply)
    assert (profile.logprobs, profile.begins, profile.mass) == (0, "not told", None)
    assert (profile.thinks, profile.thinking_tokens, profile.schema) == (True, 32, "asked for")
    assert profile.rejects == ("seed",)

    rater = ChatRater("openai:judge", "coarse+scoring", max_tokens=512)
    fitted, notes = suited(rater, profile, max_tokens=None)
    assert (fitted.parts.name, fitted.max_tokens) == ("sampling:20+coarse", ROOM)
    assert len(notes) == 2
    kept_limit, _ = suited(rater, profile, max_tokens=512)
    assert kept_limit.max_tokens == 512


def test_a_model_that_cannot_be_used_is_told() -> None:
    with pytest.raises(ModelError, match="has no model 'judge'"):
        probed(lambda _: Answer(status=404, error={"message": "not found"}))


@pytest.mark.slow
def test_a_provider_without_probabilities_is_known_without_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, notes = suited(ChatRater("anthropic:m", "scoring"), None, max_tokens=None)
    assert fitted.parts.name == "sampling:20"
    assert "reports no probabilities" in notes[0]
    same = ChatRater("openai:m", "scoring")
    assert suited(same, None, max_tokens=None) == (same, [])


@pytest.fixture
def store(tmp_path: Any) -> Iterator[RunStore]:
    with RunStore(tmp_path / "runs.sqlite") as opened:
        yield opened


def test_a_store_keeps_profiles_by_model_endpoint_and_parameters(store: RunStore) -> None:
    here = ChatRater("openai:judge", settings={"base_url": "http://localhost:1/v1"})
    there = ChatRater("openai:judge", settings={"base_url": "https://api.example.org/v1"})
    assert kept(store, here) is None
    keep(store, here, ModelProfile("openai:judge", "2026-11-14", window=10))
    keep(store, here, ModelProfile("openai:judge", "2026-11-15", window=4096))
    found = kept(store, here)
    assert found is not None
    assert (found.probed, kept(store, there), len(profiles(store))) == ("2026-11-15", None, 2)
    assert suited(here, found, max_tokens=None)[0].settings["window"] == 4096


def pondering(body: dict[str, Any]) -> Answer:
    """A model that marks its thinking in a way that no table knows."""
    if body.get("logprobs"):
        return Answer("<", logprobs={"<": -0.01, "A": -5.0})
    asked = body["messages"][-1]["content"]
    word = "steady" if "steady" in asked else "ready" if "ready" in asked else "2"
    return Answer(f"<ponder>Is it 3? Reply with 1.</ponder>\n{word}")


def test_marks_of_thinking_that_are_new_are_learned_and_kept(store: RunStore) -> None:
    reply = Completion("<ponder>I would say 3.</ponder>2")
    question = Instrument.load("warmth-competence").question("trust")
    assert read_reply(reply, [question], "")["trust"].status == "unparsed"
    table = dialects._TABLE.dialects
    try:
        profile, endpoint = probed(pondering)
        assert profile.marks == ("<ponder>", "</ponder>")
        assert (profile.thinks, profile.dialect, profile.unknown_marks) == (True, "learned", False)
        assert (profile.logprobs, profile.begins) == (2, "other")
        fitted, (said, *_) = suited(ChatRater("openai:judge", "scoring"), profile, max_tokens=None)
        assert (fitted.parts.name, "does not begin its replies with an option" in said) == ("sampling:20", True)
        assert len(endpoint.requests) <= 13
        assert read_reply(reply, [question], "")["trust"].value == 2
        assert split_thinking("<ponder>I would say 3, or").open
        keep(store, ChatRater("openai:judge"), profile)
        dialects._TABLE.dialects = ()
        dialects._TABLE.extend(*table)
        assert not split_thinking(reply.text).dialect
        with RunStore(store.path, read_only=True):
            assert split_thinking(reply.text).answer == "2"
    finally:
        dialects._TABLE.dialects = ()
        dialects._TABLE.extend(*table)


def test_marks_are_learned_only_where_two_replies_agree() -> None:
    def reply(body: dict[str, Any]) -> Answer:
        return Answer(f"<x{len(body['messages'][-1]['content'])}>Hm.</y>ready")

    assert probed(reply)[0].marks == ()
