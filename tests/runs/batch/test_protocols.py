"""Which protocol an endpoint speaks, and what the lines of each mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from vantage import InputError
from vantage.raters.models.openai import OpenAIModel
from vantage.runs.batch.protocols import load_protocol, read_result
from vantage.runs.batch.providers import AnthropicBatches, OpenAIBatches


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.openai.com", "openai"),
        ("api.anthropic.com", "anthropic"),
        ("api.mistral.ai:443", "mistral"),
        ("notmistral.ai", "openai"),
        ("127.0.0.1:8000", "openai"),
    ],
)
def test_the_address_tells_the_protocol(host: str, name: str) -> None:
    assert load_protocol(None, host)[0] == name
    assert load_protocol("anthropic", host)[0] == "anthropic"


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'openai'"):
        load_protocol("opnai", "api.openai.com")


@pytest.mark.parametrize(
    "line", ["", "no JSON", "[]", "4", "{}", '{"custom_id": null}', '{"custom_id": "a", "result": 3}']
)
def test_a_line_that_cannot_be_read_is_about_no_request(line: str) -> None:
    told = read_result(AnthropicBatches(), line)
    assert (told.name, told.body) == ("", None)
    assert read_result(OpenAIBatches(), line).body is None


@pytest.mark.parametrize(
    ("result", "status", "error"),
    [
        ({"type": "expired"}, 408, "expired"),
        ({"type": "canceled"}, 408, "canceled"),
        ({"type": "errored", "error": {"error": {"type": "overloaded_error", "message": "Busy"}}}, 529, "Busy"),
        ({"type": "errored", "error": {"type": "invalid_request_error", "message": "No"}}, 400, "No"),
    ],
)
def test_errors_at_anthropic_have_the_status_of_a_single_request(
    result: dict[str, Any], status: int, error: str
) -> None:
    told = AnthropicBatches().result({"custom_id": "a", "result": result})
    assert (told.name, told.status) == ("a", status)
    assert error in told.error


def test_errors_at_openai_keep_their_status_and_words() -> None:
    refused = {"status_code": 400, "body": {"error": {"message": "Unsupported value", "param": "seed"}}}
    told = OpenAIBatches().result({"custom_id": "a", "response": refused, "error": None})
    assert (told.status, told.error) == (400, "seed Unsupported value")
    expired = {"code": "batch_expired", "message": "Too late."}
    assert OpenAIBatches().result({"custom_id": "a", "response": None, "error": expired}).status == 0


def test_a_message_of_a_batch_is_read_like_one_that_was_asked_for_alone() -> None:
    content = [{"type": "thinking", "thinking": "Warm?"}, {"type": "text", "text": "Rather 4, bec"}]
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 7}
    body = {"content": content, "usage": usage, "stop_reason": "model_context_window_exceeded"}
    model = cast(OpenAIModel, SimpleNamespace(scrubbed=str))
    completion = AnthropicBatches().read(model, body, ())
    assert (completion.text, completion.thinking, completion.finish) == ("Rather 4, bec", "Warm?", "length")
    assert (completion.prompt_tokens, completion.cached_tokens, completion.completion_tokens) == (100, 90, 7)
    with pytest.raises(TypeError):
        AnthropicBatches().read(model, {"content": None}, ())
