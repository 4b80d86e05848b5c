"""Mistral's models, through the official client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.raters.models.base import Completion, Request, require
from vantage.raters.models.chat_protocol import WITHOUT, ChatProtocol
from vantage.raters.models.faults import Fault, ToldError
from vantage.raters.models.remote import RemoteModel

sdk: Any = require("mistralai.client", "mistral")
errors_: Any = require("mistralai.client.errors", "mistral")
httpx: Any = require("httpx2", "mistral")

_DEPTH: Final = 5


class MistralModel(RemoteModel):
    """`mistral:NAME`: a model of Mistral's."""

    kind = "mistral"
    errors = (errors_.MistralError, errors_.NoResponseError, httpx.HTTPError, ToldError)
    hosted = "https://api.mistral.ai"
    usual_key = "MISTRAL_API_KEY"
    batches = "mistral"
    without: Mapping[str, str] = {
        "random_seed": WITHOUT["seed"],
        **{name: WITHOUT[name] for name in ("response_format", "temperature", "top_p")},
    }

    def _new_client(self) -> Any:
        return sdk.Mistral(api_key=self._key or "none", server_url=self._url, timeout_ms=int(self._timeout * 1000))

    async def _post(self, body: dict[str, Any]) -> Any:
        if shape := (body.get("response_format") or {}).get("json_schema"):
            # The client's own name for the schema, which it sends as `schema`.
            shape = {**shape, "schema_definition": shape["schema"]}
            body = {**body, "response_format": {"type": "json_schema", "json_schema": shape}}
        answer = await self._client.chat.complete_async(**body)
        return answer.model_dump(mode="json", warnings=False)

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer of the endpoint says: a reply, or the scores of options."""
        return ChatProtocol().read(answer, options)

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent: Chat Completions with another name for the seed."""
        body = ChatProtocol().body(self._model, request, frozenset(), _DEPTH if options else 0)
        if "seed" in body:
            body["random_seed"] = body.pop("seed")
        return {name: value for name, value in {**body, **self._parameters}.items() if name not in self._left_out}

    def _fault(self, error: Any) -> Fault:
        if isinstance(error, ToldError):
            return error.fault
        if isinstance(error, errors_.MistralError):
            return Fault.of(error.status_code, error.body, error.headers, error.message)
        return Fault(str(error), late="Timeout" in type(error).__name__)

    async def _close_client(self) -> None:
        await self._client.__aexit__(None, None, None)
