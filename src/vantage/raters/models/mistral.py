"""Mistral's models: Chat Completions with another name for the seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.raters.models.base import Completion, Request
from vantage.raters.models.chat_protocol import WITHOUT, ChatProtocol
from vantage.raters.models.remote import RemoteModel

_DEPTH: Final = 5


class MistralModel(RemoteModel):
    """`mistral:NAME`: a model of Mistral's."""

    kind = "mistral"
    hosted = "https://api.mistral.ai"
    path = "/v1/chat/completions"
    usual_key = "MISTRAL_API_KEY"
    batches = "mistral"
    without: Mapping[str, str] = {
        "random_seed": WITHOUT["seed"],
        **{name: WITHOUT[name] for name in ("response_format", "temperature", "top_p")},
    }

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer of the endpoint says: a reply, or the scores of options."""
        return ChatProtocol().read(answer, options)

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent: Chat Completions with another name for the seed."""
        body = ChatProtocol().body(self._model, request, frozenset(), _DEPTH if options else 0)
        if "seed" in body:
            body["random_seed"] = body.pop("seed")
        return self._sent(body)
