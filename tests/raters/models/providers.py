"""A local server that speaks the protocol of every provider, so that all adapters are held to the same contract.

The forms of requests and answers are those that the official clients send and read. `Served` says what the model
answers; each dialect writes it as its provider would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .endpoint import Answer, Endpoint


@dataclass(frozen=True)
class Served:
    """What a model answers, whatever protocol tells it."""

    text: str = "4"
    thinking: str = ""
    finish: str = "stop"
    """stop, length or filtered."""
    status: int = 200
    message: str = "went wrong"
    named: str = ""
    """The field that an error names."""
    headers: Mapping[str, str] = field(default_factory=dict)
    logprobs: Mapping[str, float] | None = None
    cached: int = 3
    thought: int = 0


@dataclass(frozen=True)
class Dialect:
    """How one provider's requests are read and its answers written."""

    name: str
    settings: Mapping[str, Any]
    environment: Mapping[str, str]
    answer: Callable[[Served], dict[str, Any]]
    error: Callable[[Served], dict[str, Any]]
    system: Callable[[dict[str, Any]], str]
    limit: Callable[[dict[str, Any]], int]
    schema: Callable[[dict[str, Any]], Any]
    schema_field: str
    """How the provider calls the schema when it refuses it."""
    path: str
    takes_seed: bool = True
    counts_thinking: bool = True
    unknown: tuple[str, ...] = ()
    """Keywords that the provider refuses in a schema."""
    takes_temperature: bool = True
    tells_probabilities: bool = True
    sends_thinking: bool = True
    error_headers: Callable[[Served], Mapping[str, str]] = lambda served: served.headers

    def reply(self, script: Callable[[dict[str, Any]], Served]) -> Callable[[dict[str, Any]], Answer]:
        """What the endpoint of the tests sends for a script."""

        def answer(body: dict[str, Any]) -> Answer:
            served = script(body)
            if served.status != 200:
                raw = json.dumps(self.error(served))
                return Answer(status=served.status, raw=raw, headers=dict(self.error_headers(served)))
            return Answer(raw=json.dumps(self.answer(served)))

        return answer


def _chat(served: Served) -> dict[str, Any]:
    finishes = {"stop": "stop", "length": "length", "filtered": "content_filter"}
    message: dict[str, Any] = {"role": "assistant", "content": served.text or None}
    if served.thinking:
        message["reasoning_content"] = served.thinking
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finishes[served.finish]}
    if served.logprobs:
        top = [{"token": t, "logprob": p, "bytes": list(t.encode()), "token_id": 1} for t, p in served.logprobs.items()]
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "total_tokens": 27,
        "prompt_tokens_details": {"cached_tokens": served.cached},
        "completion_tokens_details": {"reasoning_tokens": served.thought},
    }
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def _mistral(served: Served) -> dict[str, Any]:
    told = _chat(served)
    if served.thinking:
        content = [
            {"type": "thinking", "thinking": [{"type": "text", "text": served.thinking}]},
            {"type": "text", "text": served.text},
        ]
        told["choices"][0]["message"] = {"role": "assistant", "content": content}
    if served.finish == "filtered":
        told["choices"][0]["finish_reason"] = "refusal"
    return told


def _responses(served: Served) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "output_text", "text": served.text, "annotations": []}
    if served.logprobs:
        top = [{"token": t, "logprob": p, "bytes": []} for t, p in served.logprobs.items()]
        block["logprobs"] = [{**top[0], "top_logprobs": top}]
    output: list[dict[str, Any]] = []
    if served.thinking:
        output.append({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": served.thinking}]})
    output.append({"type": "message", "id": "m", "role": "assistant", "content": [block]})
    why = {"length": "max_output_tokens", "filtered": "content_filter"}.get(served.finish)
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed" if why is None else "incomplete",
        "incomplete_details": None if why is None else {"reason": why},
        "error": None,
        "output": output,
        "usage": {
            "input_tokens": 20,
            "output_tokens": 7,
            "input_tokens_details": {"cached_tokens": served.cached},
            "output_tokens_details": {"reasoning_tokens": served.thought},
        },
    }


def _anthropic(served: Served) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if served.thinking:
        content.append({"type": "thinking", "thinking": served.thinking, "signature": "s"})
    if served.text:
        content.append({"type": "text", "text": served.text})
    finishes = {"stop": "end_turn", "length": "max_tokens", "filtered": "refusal"}
    told: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": finishes[served.finish],
        "usage": {
            "input_tokens": 20 - served.cached,
            "cache_read_input_tokens": served.cached,
            "output_tokens": 7,
            "output_tokens_details": {"thinking_tokens": served.thought},
        },
    }
    if served.finish == "filtered":
        told["stop_details"] = {"type": "refusal", "category": "bio", "explanation": "No."}
    return told


def _gemini(served: Served) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if served.thinking:
        parts.append({"text": served.thinking, "thought": True})
    if served.text:
        parts.append({"text": served.text})
    finishes = {"stop": "STOP", "length": "MAX_TOKENS", "filtered": "SAFETY"}
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": parts},
        "finishReason": finishes[served.finish],
        "index": 0,
    }
    if served.logprobs:
        top = [{"token": t, "logProbability": p, "tokenId": n} for n, (t, p) in enumerate(served.logprobs.items())]
        candidate["logprobsResult"] = {"topCandidates": [{"candidates": top}], "chosenCandidates": top[:1]}
    usage = {
        "promptTokenCount": 20,
        "candidatesTokenCount": 7 - served.thought,
        "thoughtsTokenCount": served.thought,
        "cachedContentTokenCount": served.cached,
        "totalTokenCount": 27,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}


def _bedrock(served: Served) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if served.thinking:
        content.append({"reasoningContent": {"reasoningText": {"text": served.thinking, "signature": "s"}}})
    if served.text:
        content.append({"text": served.text})
    finishes = {"stop": "end_turn", "length": "max_tokens", "filtered": "content_filtered"}
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": finishes[served.finish],
        "usage": {
            "inputTokens": 20 - served.cached,
            "cacheReadInputTokens": served.cached,
            "outputTokens": 7,
            "totalTokens": 27,
        },
        "metrics": {"latencyMs": 5},
    }


def _cohere(served: Served) -> dict[str, Any]:
    content = [{"type": "thinking", "thinking": served.thinking}] if served.thinking else []
    finishes = {"stop": "COMPLETE", "length": "MAX_TOKENS", "filtered": "ERROR_TOXIC"}
    told = {"input_tokens": 20, "output_tokens": 7}
    return {
        "id": "c14c80c3",
        "finish_reason": finishes[served.finish],
        "message": {"role": "assistant", "content": [*content, {"type": "text", "text": served.text}]},
        "usage": {
            "billed_units": told,
            "tokens": {"input_tokens": 215, "output_tokens": 9},
            "cached_tokens": served.cached,
        },
    }


def _cohere_error(served: Served) -> dict[str, Any]:
    return {"id": "e1", "message": f"invalid request: {served.named} {served.message}"}


def _openai_error(served: Served) -> dict[str, Any]:
    return {"error": {"message": served.message, "type": "x", "param": served.named or None, "code": None}}


def _anthropic_error(served: Served) -> dict[str, Any]:
    named = f"{served.named}: " if served.named else ""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": f"{named}{served.message}"}}


def _mistral_error(served: Served) -> dict[str, Any]:
    if not served.named:
        return {"object": "error", "message": served.message, "type": "x", "param": None, "code": "3000"}
    where = ["body", served.named]
    return {"detail": [{"type": "extra_forbidden", "loc": where, "msg": served.message, "input": {"max_tokens": 1}}]}


def _gemini_error(served: Served) -> dict[str, Any]:
    details = [{"fieldViolations": [{"field": served.named, "description": served.message}]}] if served.named else []
    return {"error": {"code": served.status, "message": served.message, "status": "X", "details": details}}


def _bedrock_error(served: Served) -> dict[str, Any]:
    return {"message": f"{served.named} {served.message}".strip()}


def _first_system(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


SIZES = ("minimum", "maximum", "minLength", "maxLength", "minItems")
OPENAI: dict[str, Any] = {
    "answer": _chat,
    "error": _openai_error,
    "system": _first_system,
    "limit": lambda body: body["max_tokens"],
    "schema": lambda body: body["response_format"]["json_schema"]["schema"],
    "schema_field": "response_format",
}
DIALECTS = [
    Dialect("openai:m", {}, {"OPENAI_API_KEY": "k-123456"}, path="/chat/completions", **OPENAI),
    Dialect("openrouter:a/m", {}, {"OPENROUTER_API_KEY": "k-123456"}, path="/chat/completions", **OPENAI),
    Dialect(
        "azure:m",
        {},
        {"AZURE_OPENAI_API_KEY": "k-123456"},
        path="/openai/deployments/m/chat/completions?api-version=2024-10-21",
        unknown=SIZES,
        **OPENAI,
    ),
    Dialect(
        "openai:m",
        {"api": "responses"},
        {"OPENAI_API_KEY": "k-123456"},
        _responses,
        _openai_error,
        lambda body: body["instructions"],
        lambda body: body["max_output_tokens"],
        lambda body: body["text"]["format"]["schema"],
        "text.format.schema",
        "/responses",
        takes_seed=False,
    ),
    Dialect(
        "anthropic:m",
        {},
        {"ANTHROPIC_API_KEY": "k-123456"},
        _anthropic,
        _anthropic_error,
        lambda body: body["system"][0]["text"],
        lambda body: body["max_tokens"],
        lambda body: body["output_config"]["format"]["schema"],
        "output_config.format.schema",
        "/v1/messages",
        unknown=SIZES,
        takes_seed=False,
        takes_temperature=False,
        tells_probabilities=False,
    ),
    Dialect(
        "mistral:m",
        {},
        {"MISTRAL_API_KEY": "k-123456"},
        _mistral,
        _mistral_error,
        _first_system,
        lambda body: body["max_tokens"],
        lambda body: body["response_format"]["json_schema"]["schema"],
        "response_format",
        "/v1/chat/completions",
    ),
    Dialect(
        "gemini:m",
        {},
        {"GEMINI_API_KEY": "k-123456"},
        _gemini,
        _gemini_error,
        lambda body: body["systemInstruction"]["parts"][0]["text"],
        lambda body: body["generationConfig"]["maxOutputTokens"],
        lambda body: body["generationConfig"]["responseJsonSchema"],
        "generation_config.response_json_schema",
        "/models/m:generateContent",
    ),
    Dialect(
        "cohere:m",
        {},
        {"CO_API_KEY": "k-123456"},
        _cohere,
        _cohere_error,
        _first_system,
        lambda body: body["max_tokens"],
        lambda body: body["response_format"]["json_schema"],
        "response_format",
        "/v2/chat",
        unknown=(*SIZES, "additionalProperties"),
        counts_thinking=False,
        tells_probabilities=False,
    ),
    Dialect(
        "bedrock:m",
        {},
        {"AWS_ACCESS_KEY_ID": "k-123456", "AWS_SECRET_ACCESS_KEY": "s-123456", "AWS_REGION": "eu-west-1"},
        _bedrock,
        _bedrock_error,
        lambda body: body["system"][0]["text"],
        lambda body: body["inferenceConfig"]["maxTokens"],
        lambda body: json.loads(body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]),
        "outputConfig",
        "/model/m/converse",
        unknown=SIZES,
        counts_thinking=False,
        takes_seed=False,
        tells_probabilities=False,
        error_headers=lambda served: {**served.headers, "x-amzn-ErrorType": _amazon(served.status)},
    ),
]


def _amazon(status: int) -> str:
    return {429: "ThrottlingException", 503: "ServiceUnavailableException", 500: "InternalServerException"}.get(
        status, "ValidationException"
    )


def base_url(dialect: Dialect, endpoint: Endpoint) -> str:
    """Where a client of the dialect looks for the endpoint; OpenAI's clients want the version in it."""
    bare = endpoint.url.removesuffix("/v1")
    return endpoint.url if dialect.name.startswith(("openai:", "openrouter:")) else bare
