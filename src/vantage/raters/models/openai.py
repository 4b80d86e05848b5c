"""Endpoints that speak OpenAI's protocols: OpenAI itself, Azure, OpenRouter, Mistral, and servers of one's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import openai

from vantage.raters.models.base import Completion, ModelError, Request, note_once
from vantage.raters.models.chat_protocol import WITHOUT, ChatProtocol, ResponsesProtocol, one_each
from vantage.raters.models.faults import Fault
from vantage.raters.models.remote import SIZES, RemoteModel

_DEPTH: Final = 20
"""The most of the likeliest first tokens that the protocol tells; some endpoints tell fewer."""
_CAPPED: Final = 5
"""How many Mistral's tell, and others that tell fewer and do not say how many."""
_AZURE_VERSION: Final = "2024-10-21"
"""The newest version of Azure's interface that is not a preview."""
_PROTOCOLS: Final[dict[str, type[ChatProtocol] | type[ResponsesProtocol]]] = {
    "chat": ChatProtocol,
    "responses": ResponsesProtocol,
}


class OpenAIModel(RemoteModel):
    """`openai:NAME`: a model behind an endpoint that speaks OpenAI's protocols.

    `api` is `chat` for Chat Completions or `responses` for Responses; `several` is how many samples one request may
    ask for (`n` of the protocol); the other arguments are those of all remote models. The endpoint is `base_url`,
    otherwise `OPENAI_BASE_URL`, otherwise OpenAI's own.
    """

    kind = "openai"
    hosted = "https://api.openai.com/v1"
    usual_key = "OPENAI_API_KEY"
    batches = "openai"

    def __init__(self, model: str, *, api: str = "chat", several: int = 1, **others: Any) -> None:
        if api not in _PROTOCOLS:
            raise ModelError(f"The setting 'api' is chat or responses, not '{api}'.")
        self._protocol = _PROTOCOLS[api]()
        self.without = self._protocol.without
        self.depth = _DEPTH
        """How many of the likeliest first tokens the endpoint tells, as far as is known."""
        self.several = several if api == "chat" else 1
        super().__init__(model, **others)

    @property
    def received(self) -> int:
        """How many of the likeliest first tokens the endpoint told when options were last scored."""
        return self._protocol.received

    @classmethod
    def _default_url(cls) -> str:
        return os.environ.get("OPENAI_BASE_URL") or cls.hosted

    @property
    def path(self) -> str:
        """Where requests go."""
        return self._protocol.path

    async def attempt_several(self, request: Request, count: int) -> list[Completion]:
        """One try at so many replies, each drawn anew; fewer come back where the endpoint gives fewer."""

        def body() -> dict[str, Any]:
            made = self.body(request)
            return made if "n" in self._left_out else {**made, "n": count}

        def read(answer: Any) -> list[Completion]:
            return [self.clean(self.read(one)) for one in one_each(answer)]

        completions = await self._timed(self.exchanged(body, read))
        if isinstance(completions, Completion):
            return [completions] * count
        if len(completions) < count:
            self.several = 1
            note_once(self.notes, f"{self._host} gives one reply per request, so that {self.without['n']}.")
        return completions[:count]

    def _shallower(self, fault: Fault) -> bool:
        """Whether fewer of the likeliest tokens can be asked for, where the endpoint tells at most so many."""
        said = re.search(r"(?:<=?|at most|maximum(?: of| is|:)?|equal to|and|up to)\s*(\d{1,2})\b", fault.message)
        most = int(said[1]) if said else _CAPPED
        if "top_logprobs" not in f"{fault.where} {fault.message}" or not 0 < most < self.depth:
            return False
        self.depth = most
        return True

    def described(self) -> Mapping[str, Any]:
        """What the endpoint's list of models says of this one; nothing where there is no such list."""

        async def listed() -> Any:
            return await self._client.get("/models", cast_to=object)

        wrong: tuple[type[Exception], ...] = (*self.errors, AttributeError, LookupError, TypeError, ValueError)
        try:
            listing = self.wait(listed())
            models = listing.get("data") or []
            return next((one for one in models if one.get("id") == self._model), models[0] if len(models) == 1 else {})
        except wrong:
            return {}

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer of the endpoint says: a reply, or the scores of options."""
        return self._protocol.read(answer, options)

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent for a request, or to score options, without the parameters that the endpoint rejects."""
        depth = self.depth if options else 0
        return self._sent(self._protocol.body(self._model, request, frozenset(self._left_out), depth))


class OpenRouterModel(OpenAIModel):
    """`openrouter:NAME`: a model of any provider, through OpenRouter.

    Options are scored only by providers that tell log-probabilities, which OpenRouter is asked to choose.
    """

    kind = "openrouter"
    hosted = "https://openrouter.ai/api/v1"
    usual_key = "OPENROUTER_API_KEY"
    batches = ""

    @classmethod
    def _default_url(cls) -> str:
        return cls.hosted

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent; where options are scored, only to providers that do what is asked."""
        body = super().body(request, options)
        return {"provider": {"require_parameters": True}, **body} if options else body


class MistralModel(RemoteModel):
    """`mistral:NAME`: a model of Mistral's, which speak Chat Completions with another name for the seed."""

    kind = batches = "mistral"
    hosted, path = "https://api.mistral.ai", "/v1/chat/completions"
    usual_key = "MISTRAL_API_KEY"
    without: Mapping[str, str] = {
        "random_seed": WITHOUT["seed"],
        **{name: WITHOUT[name] for name in ("response_format", "temperature", "top_p")},
    }

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer of the endpoint says: a reply, or the scores of options."""
        return ChatProtocol().read(answer, options)

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent."""
        body = ChatProtocol().body(self._model, request, frozenset(), _CAPPED if options else 0)
        if "seed" in body:
            body["random_seed"] = body.pop("seed")
        return self._sent(body)


class AzureModel(OpenAIModel):
    """`azure:DEPLOYMENT`: a deployment of Azure OpenAI, at `AZURE_OPENAI_ENDPOINT` or `base_url`.

    `OPENAI_API_VERSION` chooses the version of the interface.
    """

    kind, refused_keywords = "azure", SIZES
    hosted = "https://openai.azure.com"
    usual_key = "AZURE_OPENAI_API_KEY"
    batches, batch_root = "azure", "/openai"
    headers: Mapping[str, Any] = {"api-key": "{KEY}", "Authorization": openai.Omit()}

    @classmethod
    def _default_url(cls) -> str:
        url = os.environ.get("AZURE_OPENAI_ENDPOINT")
        if not url:
            raise ModelError("Where is the Azure resource? Set AZURE_OPENAI_ENDPOINT or pass --base-url.")
        return url

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent."""
        return super().body(replace(request, schema=self.shape(request)), options)

    @property
    def path(self) -> str:
        """Where requests go: chats name the deployment, responses have it in the body."""
        deployment = f"/deployments/{self._model}" if isinstance(self._protocol, ChatProtocol) else ""
        return f"{self.batch_root}{deployment}{self._protocol.path}"

    @property
    def query(self) -> Mapping[str, str]:
        """The version of the interface."""
        return {"api-version": os.environ.get("OPENAI_API_VERSION") or _AZURE_VERSION}
