"""Error bodies as providers document them, and what each is taken for."""

# ruff: noqa: E501 - the bodies are kept as they came
from __future__ import annotations

from typing import Any

import pytest

from vantage.raters.models.faults import Fault

SENT = ("seed", "response_format", "temperature", "top_p", "max_tokens")


def openai_error(message: str, param: str | None = None, code: str | None = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code, **more}}


REJECTED = [
    # OpenAI: strict mode wants types, and says so with the word "context" in the message.
    (
        400,
        openai_error(
            "Invalid schema for response_format 'reply': In context=('properties', 'answer'), schema must have a 'type' key.",
            "response_format",
        ),
        "response_format",
    ),
    (
        400,
        openai_error(
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.",
            "temperature",
            "unsupported_value",
        ),
        "temperature",
    ),
    (
        400,
        openai_error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
        "max_tokens",
    ),
    # FastAPI (vLLM, LiteLLM, Mistral): the whole request is repeated under `input`.
    (
        422,
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "seed"],
                    "msg": "Extra inputs are not permitted",
                    "input": {"max_tokens": 512, "temperature": 0, "messages": []},
                }
            ]
        },
        "seed",
    ),
    (
        422,
        {"detail": [{"type": "missing", "loc": ["body", "input"], "msg": "Field required", "input": {"max_tokens": 9}}]},
        None,
    ),
    # Mistral
    (
        422,
        {
            "object": "error",
            "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs", "input": 3}]},
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        },
        "seed",
    ),
    # vLLM, llama.cpp, DeepSeek name no field.
    (400, {"object": "error", "message": "Failed to compile guided grammar", "type": "BadRequestError", "code": 400}, "response_format"),
    (400, {"error": {"code": 400, "message": "failed to parse grammar", "type": "invalid_request_error"}}, "response_format"),
    (400, openai_error("This response_format type is unavailable now"), "response_format"),
    # Google
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "Invalid JSON payload received.",
                "status": "INVALID_ARGUMENT",
                "details": [{"fieldViolations": [{"field": "generation_config.seed", "description": "Unknown name"}]}],
            }
        },
        "seed",
    ),
    # Too long: leaving out a parameter would not help.
    (400, openai_error("This model's maximum context length is 4096 tokens.", "messages", "context_length_exceeded"), None),
    (400, openai_error("max_tokens is too large: 90000. This model supports at most 4096 completion tokens", "max_tokens", "invalid_value"), None),
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_ctx": 256}}, None),
    (401, openai_error("Incorrect API key provided: the seed"), None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "parameter"), REJECTED)
def test_which_parameter_is_refused(status: int, body: Any, parameter: str | None) -> None:
    assert Fault.of(status, body, {}).rejected(SENT) == parameter


AZURE = openai_error(
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "prompt",
    "content_filter",
    status=400,
    innererror={
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {
            "hate": {"filtered": True, "severity": "high"},
            "violence": {"filtered": True, "severity": "medium"},
            "self_harm": {"filtered": False, "severity": "safe"},
        },
    },
)
OPENROUTER = {
    "error": {
        "code": 403,
        "message": "openai/gpt requires moderation and your input was flagged",
        "metadata": {"reasons": ["violence"], "flagged_input": "…", "provider_name": "OpenAI"},
    }
}


@pytest.mark.parametrize(
    ("status", "body", "category"), [(400, AZURE, "hate, violence"), (403, OPENROUTER, "violence")]
)
def test_a_content_filter_is_known_with_its_category(status: int, body: Any, category: str) -> None:
    fault = Fault.of(status, body, {})
    assert (fault.filtered, fault.category) == (True, category)


@pytest.mark.parametrize(
    ("status", "body", "passing", "overload"),
    [
        (429, openai_error("Rate limit reached for gpt-5", code="rate_limit_exceeded"), True, True),
        (429, openai_error("You exceeded your current quota", code="insufficient_quota"), False, True),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, True, True),
        (500, {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}, True, False),
        (503, {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}, True, True),
        (429, {"error": {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}}, True, True),
        (400, {"message": "Input is too long for requested model."}, False, False),
        (502, "<html>Bad Gateway</html>", True, False),
        (404, openai_error("The model `gpt-9` does not exist", code="model_not_found"), False, False),
    ],
)
def test_what_may_pass(status: int, body: Any, passing: bool, overload: bool) -> None:
    fault = Fault.of(status, body, {}, "as the client says")
    assert (fault.passing, fault.overload) == (passing, overload)


def test_a_403_about_log_probabilities_is_not_about_the_key() -> None:
    body = openai_error("You are not allowed to request logprobs from this model.")
    fault = Fault.of(403, body, {})
    assert fault.rejected(("logprobs", "top_logprobs")) == "logprobs"
    assert "key" not in fault.sentence("host", "m", 9, "the variable")
    assert "refuses the key" in Fault.of(403, openai_error("No."), {}).sentence("host", "m", 9, "the variable")
