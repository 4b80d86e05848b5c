"""Anthropic's models, through the interface Messages: structured output, prompt caching, thinking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import openai

from vantage.raters.models.base import Completion, Request, note_once
from vantage.raters.models.chat_protocol import parted
from vantage.raters.models.evidence import ending, served
from vantage.raters.models.remote import SIZES, RemoteModel


class AnthropicModel(RemoteModel):
    """`anthropic:NAME`: a model of Anthropic's.

    The system message, which many prompts share, is marked for the provider's cache. Thinking is turned on with
    `thinking.type=adaptive` or another of its forms, and its effort set with `output_config.effort=low`.
    """

    kind = "anthropic"
    tells_probabilities = False
    refused_keywords = SIZES
    hosted = "https://api.anthropic.com"
    path = "/v1/messages"
    usual_key = "ANTHROPIC_API_KEY"
    batches = "anthropic"
    headers: Mapping[str, Any] = {
        "x-api-key": "{KEY}",
        "anthropic-version": "2023-06-01",
        "Authorization": openai.Omit(),
    }
    without: Mapping[str, str] = {
        "output_config": "the form of the reply is asked for in words only",
        "temperature": "replies are drawn at the endpoint's own temperature",
    }

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What a message says, whether it was asked for alone or in a batch."""
        if not isinstance(answer["content"], list):
            raise TypeError("this is no message")
        text, thinking = parted({"content": answer["content"]})
        finish = ending("anthropic", answer.get("stop_reason"))
        details, usage = answer.get("stop_details") or {}, answer.get("usage") or {}
        cached, written = (int(usage.get(f"cache_{name}_input_tokens") or 0) for name in ("read", "creation"))
        return Completion(
            text or str(details.get("explanation") or ""),
            finish,
            prompt_tokens=int(usage.get("input_tokens") or 0) + cached + written,
            completion_tokens=int(usage.get("output_tokens") or 0),
            thinking=thinking,
            category=str(details.get("category") or "refusal") if finish == "filtered" else "",
            cached_tokens=cached,
            reasoning_tokens=int((usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0),
            written_tokens=written,
            **served(answer, reason=answer.get("stop_reason")),
        )

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent: Anthropic's interface knows no temperature, so a setting of that name is sent as it is."""
        note_once(self.notes, "Anthropic takes no temperature and no seed: replies to the same prompt may differ.")
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.sampling.max_tokens,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"],
        }
        system = [m.content for m in request.messages if m.role == "system"]
        if system:
            cached = {"type": "text", "text": "\n\n".join(system), "cache_control": {"type": "ephemeral"}}
            body["system"] = [cached]
        own: dict[str, Any] = {}
        if request.schema is not None:
            shape = {"format": {"type": "json_schema", "schema": self.shape(request)}}
            own["output_config"] = {**shape, **(self._parameters.get("output_config") or {})}
        return self._sent(body, own)
