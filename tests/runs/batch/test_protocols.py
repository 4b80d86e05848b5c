"""Which protocol an endpoint speaks, and what the lines of each mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from vantage import InputError
from vantage.raters.models.base import ModelError
from vantage.raters.models.remote import RemoteModel
from vantage.runs.batch.protocols import Wire, load_protocol, read_result
from vantage.runs.batch.providers import AnthropicBatches, CohereBatches, GeminiBatches, OpenAIBatches


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com", "openai"),
        ("https://api.groq.com", "openai"),
        ("https://api.together.xyz", "together"),
        ("https://nottogether.ai", "openai"),
        ("http://127.0.0.1:8000", "openai"),
    ],
)
def test_the_address_tells_the_protocol(url: str, name: str) -> None:
    model = cast(RemoteModel, SimpleNamespace(url=url, batches="openai"))
    assert load_protocol(model)[0] == name
    assert load_protocol(cast(RemoteModel, SimpleNamespace(url=url, batches="gemini")))[0] == "gemini"


def test_a_provider_with_a_protocol_of_its_own_is_named() -> None:
    model = cast(RemoteModel, SimpleNamespace(url="https://api.anthropic.com", batches="openai"))
    with pytest.raises(InputError, match="write --model anthropic:NAME"):
        load_protocol(model)


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


@pytest.mark.parametrize(("code", "status"), [(8, 429), (14, 503), (3, 400), (503, 503), (4, 504)])
def test_errors_at_google_have_the_status_of_a_single_request(code: int, status: int) -> None:
    told = GeminiBatches().result({"metadata": {"key": "a"}, "error": {"code": code, "message": "No."}})
    assert (told.name, told.status, told.error) == ("a", status, "No.")


def test_a_batch_that_google_refuses_says_why() -> None:
    class Line:
        def get(self, path: str) -> Any:
            assert path == "/v1beta/batches/1"
            return {"done": True, "error": {"code": 3, "message": "No such model."}, "metadata": {}}

    standing = GeminiBatches().standing(cast(Wire, Line()), "batches/1")
    assert (standing.state, standing.sentence) == ("refused", "The batch was refused (No such model.).")


def test_results_of_cohere_that_cannot_be_read_end_in_a_sentence() -> None:
    class Line:
        def get(self, path: str) -> Any:
            parts = [{"url": "https://storage.example/part"}]
            batch = {"status": "BATCH_STATUS_COMPLETED", "output_dataset_id": "o"}
            return {"batch": batch, "dataset": {"dataset_parts": parts}}

        def file(self, url: str) -> bytes:
            assert url == "https://storage.example/part"
            return b"PK"

    standing = CohereBatches().standing(cast(Wire, Line()), "b")
    with pytest.raises(ModelError, match=r"Cohere's results cannot be read \(it ends too early\)"):
        list(standing.results)


def test_a_batch_that_cohere_gives_up_says_why() -> None:
    class Line:
        def get(self, path: str) -> Any:
            return {"batch": {"status": "BATCH_STATUS_FAILED", "status_reason": "no capacity"}}

    standing = CohereBatches().standing(cast(Wire, Line()), "b")
    assert (standing.state, standing.sentence) == ("refused", "The batch was refused (no capacity).")


def test_thinking_and_text_are_written_as_data_sets_of_cohere_take_them() -> None:
    body = {"model": "m", "stream": False, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
    asked = {**body, "thinking": {"type": "enabled", "token_budget": 9}, "response_format": {"type": "json_object"}}
    told = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "max_tokens": 4}
    assert CohereBatches().line("a", body) == {"custom_id": "a", "body": told}
    assert CohereBatches().line("a", asked)["body"] == {**told, "reasoning": True, "thinking_budget": 9}
