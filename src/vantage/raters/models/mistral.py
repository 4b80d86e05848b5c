"""Mistral's models, through the official client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.raters.models.base import Completion, ModelError, Request, require
from vantage.raters.models.chat_protocol import WITHOUT, ChatProtocol, ToldError
from vantage.raters.models.faults import Fault
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
    without: Mapping[str, str] = {
        "random_seed": WITHOUT["seed"],
        **{name: WITHOUT[name] for name in ("response_format", "temperature", "top_p")},
    }

    def _new_client(self) -> Any:
        return sdk.Mistral(api_key=self._key or "none", server_url=self._url, timeout_ms=int(self._timeout * 1000))

    async def _answered(self, request: Request) -> Completion:
        return await self._read(request, 0, ())

    async def _scored(self, request: Request, options: Sequence[str]) -> Completion:
        try:
            return await self._read(request, _DEPTH, options)
        except errors_.MistralError as error:
            if self._fault(error).rejected(("logprobs", "top_logprobs")):
                raise ModelError(self.no_probabilities) from None
            raise

    async def _read(self, request: Request, depth: int, options: Sequence[str]) -> Completion:
        send = self._client.chat.complete_async
        answer = await self.sent(lambda: self._body(request, depth), lambda body: send(**body))
        return ChatProtocol().read(answer.model_dump(mode="json", warnings=False), options)

    def _body(self, request: Request, depth: int) -> dict[str, Any]:
        body = ChatProtocol().body(self._model, request, frozenset(), depth)
        if "seed" in body:
            body["random_seed"] = body.pop("seed")
        if "response_format" in body:
            # The client's own name for the schema, which it sends as `schema`.
            shape = body["response_format"]["json_schema"]
            shape["schema_definition"] = shape.pop("schema")
        return {name: value for name, value in {**body, **self._parameters}.items() if name not in self._left_out}

    def _fault(self, error: Any) -> Fault:
        if isinstance(error, ToldError):
            return error.fault
        if isinstance(error, errors_.MistralError):
            return Fault.of(error.status_code, error.body, error.headers, error.message)
        return Fault(str(error), late="Timeout" in type(error).__name__)

    async def _close_client(self) -> None:
        await self._client.__aexit__(None, None, None)
