from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vantage.raters.models import Message, ModelError, Request, Sampling, load_model
from vantage.raters.models.chat_protocol import ResponsesProtocol
from vantage.raters.models.openai import OpenAIModel

from .endpoint import Answer, Endpoint, Reply, rejecting

KEY = "sk-not-a-real-key-0123456789"
QUESTION = (Message("system", "Rate."), Message("user", "A lovely day"))
SCHEMA = {"type": "object", "properties": {"rating": {"type": "integer"}}, "required": ["rating"]}

Make = Callable[..., OpenAIModel]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made: list[OpenAIModel] = []

    def model(endpoint: Endpoint | None, **settings: Any) -> OpenAIModel:
        url = {} if endpoint is None else {"base_url": endpoint.url}
        loaded = load_model("openai:judge-1", **{"max_retries": 0, **url, **settings})
        assert isinstance(loaded, OpenAIModel)
        made.append(loaded)
        return loaded

    yield model
    for loaded in made:
        loaded.close()


def failed(make: Make, reply: Reply, **settings: Any) -> str:
    with Endpoint(reply) as endpoint:
        answer = make(endpoint, **settings).complete([Request(QUESTION)])[0]
    assert (answer.finish, answer.text) == ("failed", "")
    return answer.error


def test_a_request_says_everything_that_was_asked_for(make: Make) -> None:
    with Endpoint(lambda body: '{"rating": 4}') as endpoint:
        sampling = Sampling(temperature=0.7, top_p=0.9, max_tokens=40, seed=11)
        answer = make(endpoint).complete([Request(QUESTION, sampling, SCHEMA)])[0]
    assert (answer.text, answer.finish) == ('{"rating": 4}', "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (4, 2)
    assert endpoint.paths == ["/v1/chat/completions"]
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    body = endpoint.requests[0]
    assert body["messages"] == [
        {"role": "system", "content": "Rate."},
        {"role": "user", "content": "A lovely day"},
    ]
    assert (body["model"], body["temperature"], body["top_p"]) == ("judge-1", 0.7, 0.9)
    assert (body["max_tokens"], body["seed"]) == (40, 11)
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_replies_keep_the_order_and_the_bound_on_concurrency(make: Make) -> None:
    with Endpoint(lambda body: Answer(body["messages"][0]["content"], wait=0.02)) as endpoint:
        requests = [Request((Message("user", f"number {i}"),)) for i in range(24)]
        answers = make(endpoint, concurrency=3).complete(requests)
    assert [answer.text for answer in answers] == [f"number {i}" for i in range(24)]
    assert 1 < endpoint.busiest <= 3


def test_it_works_where_an_event_loop_is_running_already(make: Make) -> None:
    async def notebook() -> str:
        return make(endpoint).complete([Request(QUESTION)])[0].text

    with Endpoint() as endpoint:
        assert asyncio.run(notebook()) == "4"


@pytest.mark.parametrize("parameter", ["seed", "response_format", "temperature", "top_p"])
@pytest.mark.parametrize("status", [400, 422])
def test_a_rejected_parameter_is_left_out_from_then_on_and_noted_once(make: Make, parameter: str, status: int) -> None:
    request = Request(QUESTION, Sampling(temperature=1.0, top_p=0.5, seed=3), SCHEMA)
    with Endpoint(rejecting(parameter, status=status)) as endpoint:
        model = make(endpoint, concurrency=1)
        answers = model.complete([request, request, request])
    assert [answer.text for answer in answers] == ["4", "4", "4"]
    assert [parameter in body for body in endpoint.requests] == [True, False, False, False]
    assert len(model.notes) == 1
    assert f"rejects '{parameter}'" in model.notes[0]


def test_requests_under_way_together_note_a_rejection_once(make: Make) -> None:
    with Endpoint(rejecting("seed")) as endpoint:
        model = make(endpoint)
        answers = model.complete([Request(QUESTION, Sampling(seed=i)) for i in range(12)])
    assert {answer.text for answer in answers} == {"4"}
    assert len(model.notes) == 1


def test_the_limit_is_sent_under_its_newer_name_where_the_older_is_refused(make: Make) -> None:
    message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    with Endpoint(rejecting("max_tokens", message=message)) as endpoint:
        answer = make(endpoint).complete([Request(QUESTION, Sampling(max_tokens=9))])[0]
    assert answer.text == "4"
    assert endpoint.requests[1]["max_completion_tokens"] == 9
    assert "max_tokens" not in endpoint.requests[1]


def test_several_rejected_parameters_are_left_out_one_after_the_other(make: Make) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        for name in ("temperature", "response_format", "seed"):
            if name in body:
                return Answer(status=400, error={"message": f"{name}: extra fields not permitted"})
        return Answer("4")

    with Endpoint(reply) as endpoint:
        model = make(endpoint)
        assert model.complete([Request(QUESTION, Sampling(seed=1), SCHEMA)])[0].text == "4"
    assert len(model.notes) == 3


def test_a_server_that_repeats_the_request_takes_no_limit_off(make: Make) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        if "seed" in body:
            detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs", "input": body}]
            return Answer(status=422, raw=json.dumps({"detail": detail}))
        return Answer("4")

    with Endpoint(reply) as endpoint:
        assert make(endpoint).complete([Request(QUESTION, Sampling(seed=1, max_tokens=7))])[0].text == "4"
    assert [(body["max_tokens"], "seed" in body) for body in endpoint.requests] == [(7, True), (7, False)]


def test_a_limit_that_is_refused_under_both_names_fails_and_is_never_left_out(make: Make) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        name = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
        return Answer(status=400, error={"message": "Unknown parameter", "param": name})

    with Endpoint(reply) as endpoint:
        assert make(endpoint).complete([Request(QUESTION)])[0].finish == "failed"
    assert all({"max_tokens", "max_completion_tokens"} & set(body) for body in endpoint.requests)


def test_a_strict_server_that_refuses_the_schema_is_asked_in_words(make: Make) -> None:
    told = "Invalid schema for response_format 'reply': In context=('properties', 'answer'), 'type' is missing."
    with Endpoint(rejecting("response_format", message=told)) as endpoint:
        model = make(endpoint)
        assert model.complete([Request(QUESTION, schema=SCHEMA)])[0].text == "4"
    assert "asked for in words only" in model.notes[0]


def test_a_provider_that_fails_behind_a_router_is_asked_again(make: Make) -> None:
    failed = {"choices": [{"message": {"content": "half an ans"}, "finish_reason": "error"}]}
    told = {"error": {"code": 502, "message": "Provider returned error"}}
    answers = iter([Answer(raw=json.dumps(failed)), Answer(raw=json.dumps(told)), Answer("4")])
    with Endpoint(lambda _: next(answers)) as endpoint:
        model = make(endpoint, max_retries=2)
        assert model.complete([Request(QUESTION)])[0].text == "4"
    assert len(endpoint.requests) == 3


def test_a_content_filter_is_a_refusal_and_not_a_failure(make: Make) -> None:
    inner = {"content_filter_result": {"hate": {"filtered": True}}}
    error = {"message": "filtered", "code": "content_filter", "innererror": inner}
    with Endpoint(lambda _: Answer(status=400, error=error)) as endpoint:
        answer = make(endpoint, max_retries=3).complete([Request(QUESTION)])[0]
    assert (answer.finish, answer.category) == ("filtered", "hate")
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("message", "text", "thinking"),
    [
        ({"content": "4", "reasoning_content": "Warm."}, "4", "Warm."),
        ({"content": "4", "reasoning": "Warm."}, "4", "Warm."),
        ({"content": [{"type": "text", "text": "4"}]}, "4", ""),
        ({"content": [{"type": "thinking", "thinking": [{"text": "Hm."}]}, {"type": "text", "text": "4"}]}, "4", "Hm."),
        ({"content": None, "reasoning_content": "Still at it"}, "", "Still at it"),
    ],
)  # fmt: skip
def test_thinking_is_kept_apart_in_whatever_form_it_comes(
    make: Make, message: dict[str, Any], text: str, thinking: str
) -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    raw = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
    with Endpoint(lambda _: Answer(raw=raw)) as endpoint:
        answer = make(endpoint).complete([Request(QUESTION)])[0]
    assert (answer.text, answer.thinking) == (text, thinking)
    assert (answer.cached_tokens, answer.reasoning_tokens) == (8, 4)


def test_settings_that_the_model_does_not_know_are_sent_along(make: Make) -> None:
    told = {"top_k": 20, "reasoning_effort": "low", "extra_body.chat_template_kwargs.enable_thinking": "false"}
    with Endpoint() as endpoint:
        make(endpoint, **told).complete([Request(QUESTION)])
        with pytest.raises(ModelError, match="did you mean 'concurrency'"):
            make(endpoint, concurency=4)
    body = endpoint.requests[0]
    assert (body["top_k"], body["reasoning_effort"]) == (20, "low")
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_prompt_that_is_too_long_is_no_rejected_parameter(make: Make) -> None:
    told = "'max_tokens' is too large: 512. This model's maximum context length is 4096 tokens."
    with Endpoint(rejecting("max_tokens", message=told)) as endpoint:
        model = make(endpoint)
        answer = model.complete([Request(QUESTION)])[0]
    assert answer.finish == "failed"
    assert "maximum context length" in answer.error
    assert model.notes == []
    assert len(endpoint.requests) == 1


def test_failures_are_told_in_one_sentence(make: Make) -> None:
    assert "no model 'judge-1'" in failed(make, lambda _: Answer(status=404, error={"message": "not found"}))
    assert "at its limit (429: slow down)" in failed(make, lambda _: Answer(status=429, error={"message": "slow down"}))
    assert "failed (500: boom)" in failed(make, lambda _: Answer(status=500, error={"message": "boom"}))
    assert "within 0.2 seconds" in failed(make, lambda _: Answer("4", wait=0.6), timeout=0.2)
    assert "not answer with a chat completion" in failed(make, lambda _: Answer(raw='{"choices": ['))
    assert "not answer with a chat completion" in failed(make, lambda _: Answer(raw="<html>busy</html>"))
    assert "not answer with a chat completion" in failed(make, lambda _: Answer(raw='{"choices": []}'))
    assert "not answer with a chat completion" in failed(make, lambda _: Answer(raw="[]"))


def test_an_endpoint_that_is_not_there_is_told(make: Make) -> None:
    with Endpoint() as endpoint:
        pass
    answer = make(endpoint).complete([Request(QUESTION)])[0]
    assert "cannot be reached" in answer.error


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_request_is_repeated_after_a_passing_fault(make: Make, status: int) -> None:
    answers = iter([Answer(status=status, error={"message": "wait"}, headers={"retry-after-ms": "1"}), Answer("4")])
    with Endpoint(lambda _: next(answers)) as endpoint:
        assert make(endpoint, max_retries=2).complete([Request(QUESTION)])[0].text == "4"
    assert len(endpoint.requests) == 2


def test_one_failure_leaves_the_other_replies_alone(make: Make) -> None:
    def reply(body: dict[str, Any]) -> Answer | str:
        bad = body["messages"][0]["content"] == "1"
        return Answer(status=500, error={"message": "boom"}) if bad else "4"

    with Endpoint(reply) as endpoint:
        answers = make(endpoint).complete([Request((Message("user", str(i)),)) for i in range(3)])
    assert [answer.finish for answer in answers] == ["stop", "failed", "stop"]


def test_how_a_reply_ended_and_refusals_are_kept(make: Make) -> None:
    ends = iter([Answer("4 because", finish="length"), Answer("", finish="content_filter"), Answer(refusal="No.")])
    with Endpoint(lambda _: next(ends)) as endpoint:
        model = make(endpoint)
        answers = [model.complete([Request(QUESTION)])[0] for _ in range(3)]
    assert [(a.text, a.finish) for a in answers] == [
        ("4 because", "length"),
        ("", "filtered"),
        ("No.", "filtered"),
    ]
    assert [a.category for a in answers] == ["", "content filter", "refusal"]


class TestKeys:
    def test_the_key_is_nowhere_to_be_seen(self, make: Make, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)

        def echo(body: dict[str, Any]) -> Answer:
            if "seed" in body:
                return Answer(status=400, error={"message": f"seed not allowed for {KEY}", "param": "seed"})
            return Answer(status=418, error={"message": f"your key is {KEY}, is it not"})

        with Endpoint(echo) as endpoint:
            model = make(endpoint)
            answer = model.complete([Request(QUESTION, Sampling(seed=1))])[0]
        assert "your key is [key]" in answer.error
        everything = [repr(model), str(model), *model.notes, answer.error, repr(answer), caplog.text]
        assert not any(KEY in text or KEY[-10:] in text for text in everything)

    def test_a_refused_key_is_not_quoted_even_in_part(self, make: Make) -> None:
        told = {"message": f"Incorrect API key provided: {KEY[:7]}*****{KEY[-4:]}."}
        sentence = failed(make, lambda _: Answer(status=401, error=told))
        assert sentence.endswith("refuses the key (401); check the environment variable OPENAI_API_KEY.")
        assert KEY[:7] not in sentence

    def test_a_reply_that_quotes_the_key_loses_it(self, make: Make) -> None:
        with Endpoint(lambda _: f"4 {KEY}") as endpoint:
            assert make(endpoint).complete([Request(QUESTION)])[0].text == "4 [key]"

    @pytest.mark.parametrize("placeholder", ["none", "4", "EMPTY", "x"])
    def test_a_word_in_place_of_a_key_is_left_in_replies(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, placeholder: str
    ) -> None:
        monkeypatch.setenv("JUDGE_KEY", placeholder)
        with Endpoint(lambda _: "4, none exceptional: EMPTY") as endpoint:
            model = make(endpoint, key_variable="JUDGE_KEY")
            assert model.complete([Request(QUESTION)])[0].text == "4, none exceptional: EMPTY"

    def test_another_variable_can_hold_the_key(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JUDGE_KEY", "another-key-987654321")
        with Endpoint() as endpoint:
            make(endpoint, key_variable="JUDGE_KEY").complete([Request(QUESTION)])
        assert endpoint.headers[0]["authorization"] == "Bearer another-key-987654321"
        with pytest.raises(ModelError, match="set the environment variable NO_SUCH_KEY"):
            make(endpoint, key_variable="NO_SUCH_KEY")

    def test_a_server_of_ones_own_needs_no_key(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        with Endpoint(lambda _: "none of it") as endpoint:
            assert make(endpoint).complete([Request(QUESTION)])[0].text == "none of it"

    def test_the_hosted_endpoint_needs_one(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        with pytest.raises(ModelError, match=r"no key for api\.openai\.com; set .* OPENAI_API_KEY"):
            make(None)

    def test_a_password_in_the_base_url_is_not_shown(self, make: Make) -> None:
        model = make(None, base_url="http://me:secret@localhost:9/v1?token=abc")
        assert repr(model) == "<model openai:judge-1 at localhost:9>"
        with pytest.raises(ModelError, match="base URL is not one"):
            make(None, base_url="localhost")


def test_the_base_url_comes_from_the_environment_too(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        assert make(None).complete([Request(QUESTION)])[0].text == "4"


class TestScores:
    def test_options_are_read_off_the_first_token(self, make: Make) -> None:
        tops = {"4": math.log(0.5), " 4": math.log(0.1), "2": math.log(0.2), "The": math.log(0.1)}
        with Endpoint(lambda _: Answer("4", logprobs=tops)) as endpoint:
            model = make(endpoint)
            scored = model.score([Request(QUESTION)] * 2, ["2", "4", "5"])
        assert np.exp(scored) == pytest.approx(np.array([[0.2, 0.6, 0.0]] * 2))
        assert model.notes == []
        body = endpoint.requests[0]
        assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)

    @pytest.mark.parametrize(
        "options", [["very warm", "not warm"], ["no", "yes"], ["1", "10"], ["-1", "1"], ["a", "b"]]
    )
    def test_options_that_a_sentence_may_begin_with_are_refused(self, make: Make, options: list[str]) -> None:
        with Endpoint(lambda _: Answer("x", logprobs={"In": -0.1, "no": -3.0})) as endpoint:
            model = make(endpoint)
            with pytest.raises(ModelError, match="is not a single digit or capital letter"):
                model.score([Request(QUESTION)], options)

    def test_the_beginning_of_a_sentence_is_no_option(self, make: Make) -> None:
        tops = {"In": -0.01, "It": -5.0, "b": -6.0, "Because": -7.0, "B": -8.0}
        with Endpoint(lambda _: Answer("In", logprobs=tops)) as endpoint:
            assert make(endpoint).score([Request(QUESTION)], ["B", "C"]).tolist() == [[-8.0, -math.inf]]

    def test_an_endpoint_without_log_probabilities_is_told(self, make: Make) -> None:
        with Endpoint(rejecting("logprobs")) as endpoint:
            model = make(endpoint)
            with pytest.raises(ModelError, match="gives no log-probabilities of 'judge-1'"):
                model.score([Request(QUESTION)], ["1", "2"])
        with Endpoint() as endpoint:
            model = make(endpoint)
            with pytest.raises(ModelError, match="without log-probabilities"):
                model.score([Request(QUESTION)] * 3, ["1", "2"])

    def test_a_403_about_log_probabilities_is_told_as_such(self, make: Make) -> None:
        told = {"message": "You are not allowed to request logprobs from this model."}
        with Endpoint(lambda _: Answer(status=403, error=told)) as endpoint:
            model = make(endpoint)
            with pytest.raises(ModelError, match=r"gives no log-probabilities of 'judge-1'; use the style sampling"):
                model.score([Request(QUESTION)], ["1", "2"])

    @pytest.mark.parametrize(
        "message", ["top_logprobs must be <= 5", "top_logprobs: Input should be less than or equal to 5"]
    )
    def test_an_endpoint_that_tells_five_tokens_is_asked_for_five(self, make: Make, message: str) -> None:
        def reply(body: dict[str, Any]) -> Answer:
            if body["top_logprobs"] > 5:
                return Answer(status=400, error={"message": message, "param": "top_logprobs"})
            return Answer("1", logprobs={"1": -0.1, "2": -3.0})

        with Endpoint(reply) as endpoint:
            model = make(endpoint, concurrency=1)
            assert model.score([Request(QUESTION)] * 2, ["1", "2"]).tolist() == [[-0.1, -3.0]] * 2
        assert [body["top_logprobs"] for body in endpoint.requests] == [20, 5, 5]

    def test_a_failed_request_is_a_row_without_numbers(self, make: Make) -> None:
        with Endpoint(lambda _: Answer(status=500, error={"message": "boom"})) as endpoint:
            model = make(endpoint)
            assert np.isnan(model.score([Request(QUESTION)], ["1", "2"])).all()
        assert "boom" in model.notes[0]

    def test_options_must_be_sensible(self, make: Make) -> None:
        model = make(None, base_url="http://localhost:9/v1")
        with pytest.raises(ModelError, match="must differ"):
            model.score([Request(QUESTION)], ["1", "1"])


def test_a_closed_model_says_so(make: Make) -> None:
    model = make(None, base_url="http://localhost:9/v1")
    model.close()
    model.close()
    with pytest.raises(ModelError, match="was closed"):
        model.complete([Request(QUESTION)])


def test_a_response_without_likely_tokens_is_no_score() -> None:
    block = {"type": "output_text", "text": "A", "logprobs": [{"token": "A", "logprob": -0.1, "top_logprobs": []}]}
    answer = {"output": [{"type": "message", "content": [block]}]}
    with pytest.raises(ModelError, match="without log-probabilities"):
        ResponsesProtocol().read(answer, ["A", "B"])
