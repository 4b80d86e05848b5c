"""Any endpoint that speaks the chat-completions protocol: hosted models, vLLM, Ollama, llama.cpp, TGI."""

from __future__ import annotations

import asyncio
import math
import os
import re
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np
import openai

from vantage.raters.models.base import Completion, Finish, LogProbs, ModelError, Passing, Request, Sampling, note_once
from vantage.raters.models.faults import named, named_in, raise_if_passing, sentence
from vantage.raters.models.first_tokens import first_tokens
from vantage.raters.models.plain import estimate_tokens

T = TypeVar("T")

_HOSTED: Final = "https://api.openai.com/v1"
_MOST_TOP_TOKENS: Final = 20
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
            api_key=self._key or "none",
            base_url=self._url,
            timeout=timeout,
            max_retries=max_retries,
            http_client=_transport(timeout),
        )
        self.concurrency = concurrency
        self._room = asyncio.Semaphore(concurrency)
        # A loop of its own, so that `complete` also works where a loop is running already, as in a notebook.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=self.name, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the endpoint is, as it may be shown."""
        return f"{urlsplit(self._url).scheme}://{self._host}"

    @property
    def left_out(self) -> frozenset[str]:
        """The parameters that the endpoint rejects."""
        return frozenset(self._left_out)

    def __repr__(self) -> str:
        return f"<model {self.name} at {self._host}>"

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers requests side by side, in their order; one that fails is a completion that says so."""
        return self.wait(self._all(requests))

    async def acomplete(self, request: Request) -> Completion:
        """Answers one request, from any event loop."""
        return await asyncio.wrap_future(self._submit(self._complete(request)))

    async def attempt(self, request: Request, options: Sequence[str] = ()) -> Completion:
        """One try, without the client's own retries and with a limit on the whole of it; for `wait`.

        A reply that drips in never makes the client's timeout ring, which only watches single reads.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await (self._scored(request, options, 0) if options else self._answered(request, 0))
        except openai.OpenAIError as error:
            raise_if_passing(error, self.sentence(error, tries=1))
            return Completion("", "failed", error=self.sentence(error, tries=1))
        except TimeoutError:
            raise Passing(f"{self._host} did not answer within {self._timeout:g} seconds.") from None
        except (AttributeError, LookupError, TypeError, ValueError):
            raise Passing(f"{self._host} did not answer with a chat completion.") from None

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """The log-probabilities of options whose first tokens differ, from those of the first token.

        The protocol tells the 20 likeliest tokens with which a reply begins. A token with which two options
        begin cannot tell them apart: then whole options would have to be compared, which only `gguf:`,
        `hf:` and `embedded` can do, and this raises `ModelError`. An option that is not among the 20 gets
        the probability of the last of them, which is an upper bound, and a note says so. A request that
        fails is a row of not-a-numbers, with a note.
        """
        _check_options(options)
        rows = self.wait(self._all_scored(requests, options))
        return np.array(rows, dtype=np.float64).reshape(len(requests), len(options))

    def count_tokens(self, text: str) -> int:
        """An upper estimate: endpoints keep their tokenizers to themselves."""
        return estimate_tokens(text)

    def close(self) -> None:
        """Closes the connections."""
        if self._loop.is_closed():
            return
        self.wait(self._shut())
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

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs work to its end on the loop on which the connections live."""
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
            async with self._room:
                return await self._answered(request)
        except openai.OpenAIError as error:
            return Completion("", "failed", error=self.sentence(error))
        except (AttributeError, LookupError, TypeError, ValueError):
            return Completion("", "failed", error=f"{self._host} did not answer with a chat completion.")

    async def _answered(self, request: Request, retries: int | None = None) -> Completion:
        return self.read(await self._send(request, (), retries))

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer of the endpoint says: a reply, or the scores of options."""
        choice = answer["choices"][0]
        if options:
            return Completion("", scores=tuple(self._first_tokens(choice, options)), **_usage(answer))
        text = choice["message"].get("content") or choice["message"].get("refusal") or ""
        finish = _FINISHES.get(choice.get("finish_reason"), "stop")
        return Completion(self.scrubbed(str(text)), finish, **_usage(answer))

    async def _all_scored(self, requests: Sequence[Request], options: Sequence[str]) -> list[list[float]]:
        return await asyncio.gather(*(self._score(request, options) for request in requests))

    async def _score(self, request: Request, options: Sequence[str]) -> list[float]:
        try:
            async with self._room:
                return list((await self._scored(request, options)).scores or ())
        except openai.OpenAIError as error:
            note_once(self.notes, self.sentence(error))
        except (AttributeError, LookupError, TypeError, ValueError):
            note_once(self.notes, f"{self._host} did not answer with a chat completion.")
        return [math.nan] * len(options)

    async def _scored(self, request: Request, options: Sequence[str], retries: int | None = None) -> Completion:
        try:
            answer = await self._send(request, options, retries)
        except openai.OpenAIError as error:
            if named(error, ("logprobs", "top_logprobs")):
                raise ModelError(
                    f"{self._host} gives no log-probabilities of '{self._model}'; use a style that reads replies."
                ) from None
            raise
        return self.read(answer, options)

    def _first_tokens(self, choice: Any, options: Sequence[str]) -> list[float]:
        told = choice.get("logprobs") or {}
        first = (told.get("content") or [{}])[0]
        top = [(str(t["token"]), float(t["logprob"])) for t in first.get("top_logprobs") or ()]
        if not top:
            raise ModelError(f"{self._host} answers without log-probabilities; use a style that reads replies.")
        return first_tokens(top, options, self.notes)

    async def _send(self, request: Request, scored: Sequence[str], retries: int | None = None) -> Any:
        """The endpoint's answer as plain data.

        The client's typed objects would cost more than the request itself: 3.2 ms of processor time for
        each call against 1.2 ms this way.
        """
        options: Any = {} if retries is None else {"max_retries": retries}
        while True:
            body = self.body(request, scored)
            try:
                return await self._client.post("/chat/completions", body=body, cast_to=object, options=options)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if not self.leaves_out(f"{error.param or ''} {error.message} {error.body}", body):
                    raise

    def leaves_out(self, refusal: str, body: Mapping[str, Any]) -> bool:
        """Whether a refusal names a parameter of what was sent without which it can be sent; from now on it is."""
        rejected = named_in(refusal, [name for name in _WITHOUT if name in body])
        if rejected is None or _ABOUT_LENGTH.search(refusal):
            return False
        self._left_out.add(rejected)
        note_once(self.notes, f"{self._host} rejects '{rejected}': {_WITHOUT[rejected]}.")
        return True

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent for a request, or to score options, without the parameters that the endpoint rejects."""
        if options:
            body = self._body(Request(request.messages, Sampling(max_tokens=1)))
            body |= {"logprobs": True, "top_logprobs": _MOST_TOP_TOKENS}
        else:
            body = self._body(request)
        for name in self._left_out & body.keys():
            del body[name]
        return body

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

    def synchronous(self, headers: Mapping[str, str]) -> openai.OpenAI:
        """A client without retries for what is not a chat, such as batches; `{KEY}` in a header stands for the key."""
        told = {name: value.format(KEY=self._key) for name, value in headers.items()}
        key, url, timeout = self._key or "none", self._url, self._timeout
        return openai.OpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=0, default_headers=told)

    def sentence(self, error: openai.OpenAIError, tries: int | None = None) -> str:
        """What went wrong, without anything that could hold the key."""
        count = self._tries if tries is None else tries
        told = sentence(error, self._host, self._model, self._timeout, self._key_variable, count)
        return self.scrubbed(told)

    def scrubbed(self, text: str) -> str:
        """A text in which the key, should it stand there, is not to be read."""
        return text.replace(self._key, "[key]") if self._key else text


def _usage(answer: Any) -> dict[str, Any]:
    """The tokens that an answer took, as a completion keeps them."""
    usage = answer.get("usage") or {}
    return {name: int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")}


def _transport(timeout: float) -> Any:
    """The client's aiohttp transport where aiohttp is installed: half the processor time of its default one."""
    try:
        return openai.DefaultAioHttpClient(timeout=timeout)
    except RuntimeError:
        return None


def _check_options(options: Sequence[str]) -> None:
    if not options or not all(options) or len(set(options)) < len(options):
        raise ModelError("Options to be scored must differ and have at least one character each.")


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
