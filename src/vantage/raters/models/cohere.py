"""Cohere's models, through their own chat interface (version 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vantage.raters.models.base import Completion, Request
from vantage.raters.models.chat_protocol import WITHOUT, ChatProtocol, parted
from vantage.raters.models.evidence import ending, served
from vantage.raters.models.remote import SIZES, RemoteModel


class CohereModel(RemoteModel):
    """`cohere:NAME`: a model of Cohere's. Thinking is set with `thinking.type=disabled` or `thinking.token_budget=500`.

    Cohere reports the probability of the tokens that were written, not of those that could have been.
    """

    kind = "cohere"
    tells_probabilities = False
    refused_keywords = (*SIZES, "additionalProperties")
    hosted, path = "https://api.cohere.com", "/v2/chat"
    usual_key = "CO_API_KEY"
    batches = "cohere"
    without: Mapping[str, str] = {
        "p": WITHOUT["top_p"],
        **{name: WITHOUT[name] for name in ("response_format", "seed", "temperature")},
    }

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """A chat, with other names for `top_p` and the schema."""
        body = {"stream": False, **ChatProtocol().body(self._model, request, frozenset(), 0)}
        if "top_p" in body:
            body["p"] = body.pop("top_p")
        if request.schema is not None:
            body["response_format"] = {"type": "json_object", "json_schema": self.shape(request)}
        return self._sent(body)

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """The reply; tokens are those that are billed."""
        text, thinking = parted(answer["message"])
        reason, usage = answer.get("finish_reason"), answer.get("usage") or {}
        finish, billed = ending("cohere", reason), usage.get("billed_units") or usage.get("tokens") or {}
        return Completion(
            text,
            finish,
            prompt_tokens=int(billed.get("input_tokens") or 0),
            completion_tokens=int(billed.get("output_tokens") or 0),
            thinking=thinking,
            category="content filter" if finish == "filtered" else "",
            cached_tokens=int(usage.get("cached_tokens") or 0),
            **served(answer, reason=reason),
        )
