"""Any endpoint that speaks the chat-completions protocol: hosted models, vLLM, Ollama, llama.cpp, TGI."""

from __future__ import annotations

import asyncio
import math
import os
import re
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np
import openai

from vantage.raters.models.base import Completion, Finish, LogProbs, ModelError, Request, Sampling, note_once
from vantage.raters.models.plain import estimate_tokens

T = TypeVar("T")

_HOSTED: Final = "https://api.openai.com/v1"
_MOST_TOP_TOKENS: Final = 20
_DOUBT: Final = 0.01
"""The share of the options' probability that may lie on tokens with which several of them begin."""
_FINISHES: Final[dict[str, Finish]] = {"stop": "stop", "length": "length", "content_filter": "filtered"}
_WITHOUT: Final = {
    "seed": "replies to the same prompt may differ from run to run",
    "response_format": "the form of the reply is asked for in words only",
    "temperature": "replies are drawn at the endpoint's own temperature",
    "top_p": "replies are drawn from the endpoint's own choice of tokens",
    "max_tokens": "the limit is sent as max_completion_tokens",
    "max_completion_tokens": "replies are as long as the endpoint lets them be",
}
"""What follows when a parameter is left out because the endpoint rejects it."""
_ABOUT_LENGTH: Final = re.compile(r"context|too (?:long|large|many)|exceed", re.IGNORECASE)


class OpenAIModel:
    """`openai:NAME`: a model behind an endpoint, through the official client.

    The key is read from the environment only; it is never part of a note, an error or a reply. Parameters
    that the endpoint rejects are left out for as long as the model lives, and a note says so once.

    Args:
        model: The name that the endpoint knows the model by.
        base_url: Where the endpoint is; otherwise `OPENAI_BASE_URL`, otherwise OpenAI's own.
        key_variable: The environment variable that holds the key. A server of one's own may need none.
        concurrency: How many requests are under way at a time.
        timeout: Seconds to wait for one reply.
        max_retries: How often a request is repeated after a timeout, a full server or an error of the server.
        window: How many tokens prompt and reply may have together, where that is known.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 8,
        timeout: float = 120.0,
        max_retries: int = 2,
        window: int | None = None,
    ) -> None:
        self.name = f"openai:{model}"
        self.window = window
        self.notes: list[str] = []
        self._model = model
        self._url = base_url or os.environ.get("OPENAI_BASE_URL") or _HOSTED
        self._host = _host(self._url)
        self._key_variable = key_variable
        self._key = _key(self._url, key_variable)
        self._timeout = timeout
        self._tries = max_retries + 1
        self._left_out: set[str] = set()
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none", base_url=self._url, timeout=timeout, max_retries=max_retries
        )
        self._room = asyncio.Semaphore(concurrency)
        # A loop of its own, so that `complete` also works where a loop is running already, as in a notebook.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=self.name, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<model {self.name} at {self._host}>"

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers requests side by side, in their order; one that fails is a completion that says so."""
        return self._wait(self._all(requests))

    async def acomplete(self, request: Request) -> Completion:
        """Answers one request, from any event loop."""
        return await asyncio.wrap_future(self._submit(self._complete(request)))

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """The log-probabilities of options whose first tokens differ, from those of the first token.

        The protocol tells the 20 likeliest tokens with which a reply begins. A token with which two options
        begin cannot tell them apart: then whole options would have to be compared, which only `gguf:`,
        `hf:` and `embedded` can do, and this raises `ModelError`. An option that is not among the 20 gets
        the probability of the last of them, which is an upper bound, and a note says so. A request that
        fails is a row of not-a-numbers, with a note.
        """
        if not options or not all(options) or len(set(options)) < len(options):
            raise ModelError("Options to be scored must differ and have at least one character each.")
        rows = self._wait(self._all_scored(requests, options))
        return np.array(rows, dtype=np.float64).reshape(len(requests), len(options))

    def count_tokens(self, text: str) -> int:
        """An upper estimate: endpoints keep their tokenizers to themselves."""
        return estimate_tokens(text)

    def close(self) -> None:
        """Closes the connections."""
        if self._loop.is_closed():
            return
        self._wait(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Any:
        if self._loop.is_closed():
            work.close()
            raise ModelError(f"The model {self.name} was closed; load it again.")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = self._submit(work)
        try:
            result: T = future.result()
        except BaseException:
            future.cancel()
            raise
        return result

    async def _all(self, requests: Sequence[Request]) -> list[Completion]:
        return await asyncio.gather(*(self._complete(request) for request in requests))

    async def _complete(self, request: Request) -> Completion:
        try:
            answer = await self._send(request, {})
            choice = answer.choices[0]
            text = choice.message.content or choice.message.refusal or ""
            finish = _FINISHES.get(choice.finish_reason, "stop")
        except openai.OpenAIError as error:
            return Completion("", "failed", error=self._sentence(error))
        except (AttributeError, IndexError, TypeError, ValueError):
            return Completion("", "failed", error=f"{self._host} did not answer with a chat completion.")
        usage = answer.usage
        return Completion(
            self._scrubbed(text),
            finish,
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
        )

    async def _all_scored(self, requests: Sequence[Request], options: Sequence[str]) -> list[list[float]]:
        return await asyncio.gather(*(self._score(request, options) for request in requests))

    async def _score(self, request: Request, options: Sequence[str]) -> list[float]:
        asked = Request(request.messages, Sampling(max_tokens=1))
        try:
            answer = await self._send(asked, {"logprobs": True, "top_logprobs": _MOST_TOP_TOKENS})
            top = [(t.token, t.logprob) for t in answer.choices[0].logprobs.content[0].top_logprobs]
        except openai.OpenAIError as error:
            if _named(error, ("logprobs", "top_logprobs")):
                raise ModelError(
                    f"{self._host} gives no log-probabilities of '{self._model}'; use a style that reads replies."
                ) from None
            note_once(self.notes, self._sentence(error))
            return [math.nan] * len(options)
        except (AttributeError, IndexError, TypeError, ValueError):
            top = []
        if not top:
            raise ModelError(f"{self._host} answers without log-probabilities; use a style that reads replies.")
        return self._first_tokens(top, options)

    def _first_tokens(self, top: Sequence[tuple[str, float]], options: Sequence[str]) -> list[float]:
        tokens = [(token.strip(), logprob) for token, logprob in top if token.strip()]
        found: dict[str, float] = {}
        doubtful: list[tuple[str, float, list[str]]] = []
        for token, logprob in tokens:
            begun = [option for option in options if option.startswith(token)]
            if len(begun) > 1 and token in begun:
                # "1" beside "10" is no doubt where the endpoint writes "10" as a token of its own.
                apart = [o for o in begun if any(len(t) > len(token) and o.startswith(t) for t, _ in tokens)]
                begun = [option for option in begun if option not in apart]
            if len(begun) == 1:
                found[begun[0]] = float(np.logaddexp(found.get(begun[0], -math.inf), logprob))
            elif begun:
                doubtful.append((token, logprob, begun))
        for token, logprob, begun in doubtful:
            if math.exp(logprob) > _DOUBT * sum(map(math.exp, found.values())):
                raise ModelError(
                    f"'{begun[0]}' and '{begun[1]}' begin with the same token '{token}', so whole options "
                    "must be compared, which an endpoint cannot do; use hf:, gguf: or a style that reads "
                    "replies."
                )
        if len(found) < len(options):
            note_once(
                self.notes,
                f"Options beyond the {len(top)} likeliest tokens get the probability of the last of these, "
                "which is an upper bound.",
            )
        last = min(logprob for _, logprob in top)
        return [found.get(option, last) for option in options]

    async def _send(self, request: Request, extra: dict[str, Any]) -> Any:
        client: Any = self._client
        async with self._room:
            while True:
                body = {**self._body(request), **extra}
                for name in self._left_out & body.keys():
                    del body[name]
                try:
                    return await client.chat.completions.create(**body)
                except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                    rejected = _named(error, [name for name in _WITHOUT if name in body])
                    if rejected is None or _ABOUT_LENGTH.search(error.message):
                        raise
                    self._left_out.add(rejected)
                    note_once(self.notes, f"{self._host} rejects '{rejected}': {_WITHOUT[rejected]}.")

    def _body(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        limit = "max_completion_tokens" if "max_tokens" in self._left_out else "max_tokens"
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": sampling.temperature,
            limit: sampling.max_tokens,
        }
        if sampling.top_p != 1.0:
            body["top_p"] = sampling.top_p
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if request.schema is not None:
            schema = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _sentence(self, error: openai.OpenAIError) -> str:
        """What went wrong, without anything that could hold the key."""
        told = " ".join(_told(error).split())[:300].rstrip(".")
        tries = "" if self._tries == 1 else f" after {self._tries} tries"
        match error:
            case openai.APITimeoutError():
                sentence = f"{self._host} did not answer within {self._timeout:g} seconds{tries}."
            case openai.APIConnectionError():
                sentence = f"{self._host} cannot be reached{tries}; check the base URL and the network."
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                # Such messages often repeat a part of the key.
                sentence = (
                    f"{self._host} refuses the key ({error.status_code}); check the environment variable "
                    f"{self._key_variable}."
                )
            case openai.NotFoundError():
                sentence = f"{self._host} has no model '{self._model}' at this base URL (404: {told})."
            case openai.RateLimitError():
                sentence = f"{self._host} is at its limit{tries} (429: {told})."
            case openai.APIStatusError() if error.status_code >= 500:
                sentence = f"{self._host} failed{tries} ({error.status_code}: {told})."
            case openai.APIStatusError():
                sentence = f"{self._host} refuses the request ({error.status_code}: {told})."
            case _:
                sentence = f"{self._host} did not answer with a chat completion ({told})."
        return self._scrubbed(sentence)

    def _scrubbed(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _key(url: str, variable: str) -> str:
    """The key from the environment; OpenAI's own endpoint and a variable asked for by name must have one."""
    key = os.environ.get(variable, "").strip()
    if not key and (variable != "OPENAI_API_KEY" or _host(url) == _host(_HOSTED)):
        raise ModelError(f"There is no key for {_host(url)}; set the environment variable {variable}.")
    return key


def _host(url: str) -> str:
    """The endpoint as it may be shown: without a user, a password or a query."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelError("The base URL is not one; write it as http://localhost:8000/v1.")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname


def _told(error: openai.OpenAIError) -> str:
    """What the endpoint itself said, where it said something."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    return str(said or getattr(error, "message", error))


def _named(error: openai.OpenAIError, parameters: Sequence[str]) -> str | None:
    """The first of these parameters that a refusal names."""
    if not isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError)):
        return None
    told = f"{error.param or ''} {error.message} {error.body}"
    found = {name: m.start() for name in parameters if (m := re.search(rf"\b{name}\b", told))}
    return min(found, key=found.__getitem__) if found else None
