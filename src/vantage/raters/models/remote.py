"""What all models behind a network share: connections on a loop of their own, side by side, keys kept secret, faults.

An adapter says what is sent for a request (`body`) and where to (`path`), and reads what comes back (`read`). One
client sends plain JSON to all of them: OpenAI's own, which keeps connections, tells faults alike and knows nothing of
the bodies. Batches are made of the same bodies and read by the same readers.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np
import openai

from vantage.raters.models.base import (
    AccountError,
    Completion,
    LogProbs,
    ModelError,
    Passing,
    Request,
    estimate_tokens,
    note_once,
)
from vantage.raters.models.faults import Fault, ToldError, of_client, retry_after

T = TypeVar("T")
_FIRST_WAIT: Final = 0.5
LOGPROBS: Final = ("logprobs", "top_logprobs", "response_logprobs", "responseLogprobs")
"""What providers call the parameters with which log-probabilities are asked for."""
SIZES: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
"""Keywords of JSON Schema that several providers refuse."""
_LONGEST_WAIT: Final = 300.0
"""Seconds that a model waits that is used without a run; a run waits as long as it is asked to."""


class RemoteModel(ABC):
    """A model behind a network.

    docs/models.md has the settings; `parameters` are sent with every request besides. The key is read from the
    environment only; it is never part of a note, an error or a reply. Parameters that the endpoint rejects are left out
    for as long as the model lives, and a note says so once.
    """

    kind: ClassVar[str]
    tells_probabilities: ClassVar[bool] = True
    """Whether the protocol can tell how probable the tokens are with which a reply begins."""
    refused_keywords: ClassVar[Sequence[str]] = ()
    """Keywords that the provider refuses in a JSON Schema; the prompt says what they would have said."""
    errors: ClassVar[tuple[type[Exception], ...]] = (openai.OpenAIError, ToldError)
    """What the client raises."""
    batch_root: ClassVar[str] = ""
    """What stands before the paths of batches."""
    headers: Mapping[str, Any] = {}
    """What stands in the head of every request besides; `{KEY}` stands for the key."""
    without: Mapping[str, str] = {}
    """Parameters that can be left out, and what follows when they are."""
    hosted: ClassVar[str]
    """Where the provider's own endpoint is."""
    usual_key: ClassVar[str]
    """The environment variable that holds the key unless another is named."""
    batches: ClassVar[str] = ""
    """The protocol of the provider's batch API (`vantage.runs.batch`), where it has one."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str | None = None,
        concurrency: int = 8,
        timeout: float = 120.0,
        max_retries: int = 2,
        window: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        url, key, variable = self._place(base_url, key_variable)
        # A provider's own endpoint and a variable that was named must have a key; a server of one's own may need none.
        needed = key_variable is not None or shown_host(url) == shown_host(self.hosted)
        if not key and needed:
            raise ModelError(f"There is no key for {shown_host(url)}; set the environment variable {variable}.")
        self.name = f"{self.kind}:{model}"
        self.window = window
        self.notes: list[str] = []
        self.concurrency = concurrency
        self._model, self._url, self._host = model, url, shown_host(url)
        self._key, self._key_variable = key, variable
        self.account = self.account_of(base_url, key_variable)
        """What the account is known by; models on one account stop together when it is at fault."""
        self._timeout, self._tries = timeout, max_retries + 1
        self._parameters = dict(parameters or {})
        self._left_out: set[str] = set()
        self._room = asyncio.Semaphore(concurrency)
        # A loop of its own, so that `complete` also works where a loop is running already, as in a notebook.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=self.name, daemon=True)
        self._thread.start()
        self._client: Any = self._new_client()

    @classmethod
    def _default_url(cls) -> str:
        return cls.hosted

    @classmethod
    def _place(cls, base_url: str | None, key_variable: str | None) -> tuple[str, str, str]:
        """Where the endpoint is, the key, from the environment and from nowhere else, and its variable."""
        variable = key_variable or cls.usual_key
        return base_url or cls._default_url(), os.environ.get(variable, "").strip(), variable

    @classmethod
    def account_of(cls, base_url: str | None, key_variable: str | None) -> str:
        """What an account is known by: the host of the endpoint and a fingerprint of the key, never the key itself."""
        url, key, _ = cls._place(base_url, key_variable)
        return f"{shown_host(url)} {blake2b(key.encode(), digest_size=8).hexdigest()}"

    @property
    def path(self) -> str:
        """Where requests go, behind the base URL."""
        raise NotImplementedError

    @property
    def query(self) -> Mapping[str, str]:
        """What stands in every address behind the question mark."""
        return {}

    @property
    def sent_headers(self) -> dict[str, Any]:
        """The headers with the key in its place.

        They go with every request, as the client takes none that are to be left out in any other way.
        """
        return {
            name: one.format(KEY=self._key or "none") if isinstance(one, str) else one
            for name, one in self.headers.items()
        }

    def _client_settings(self, url: str) -> dict[str, Any]:
        where = {"base_url": url, "api_key": self._key or "none", "default_query": self.query}
        return {**where, "timeout": self._timeout, "max_retries": 0}

    def _new_client(self) -> Any:
        """The client, without retries of its own."""
        try:
            # Takes half the processor time of the default transport; certificates, which take as long as ten requests,
            # are loaded only where there are any to check.
            secure = not self._url.startswith("http:")
            transport = openai.DefaultAioHttpClient(timeout=self._timeout, verify=secure)
        except RuntimeError:
            transport = None
        return openai.AsyncOpenAI(http_client=transport, **self._client_settings(self._url))

    @property
    def url(self) -> str:
        """Where the endpoint is, as it can be shown."""
        return f"{urlsplit(self._url).scheme}://{self._host}"

    @property
    def left_out(self) -> frozenset[str]:
        """The parameters that the endpoint rejects."""
        return frozenset(self._left_out)

    def __repr__(self) -> str:
        return f"<model {self.name} at {self._host}>"

    @abstractmethod
    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent for a request, or to score options, without the parameters that the endpoint rejects."""

    def shape(self, request: Request) -> Mapping[str, Any] | None:
        """The JSON Schema of the reply, in keywords that the provider takes."""
        schema: Mapping[str, Any] | None = _without(request.schema, self.refused_keywords)
        return schema

    def _sent(self, body: Mapping[str, Any], own: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A body with the user's parameters, those of `own` in their place, and without what the endpoint rejects."""
        every = {**body, **self._parameters, **(own or {})}
        return {name: value for name, value in every.items() if name not in self._left_out}

    def wire(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A body in the form in which it is sent."""
        return dict(body)

    async def _post(self, body: dict[str, Any]) -> Any:
        """The endpoint's answer to a body; raises the client's errors."""
        # The client's typed objects would cost more than the request itself: 3.2 ms of processor time for each call
        # against 1.2 ms with plain data.
        options: Any = {"headers": self.sent_headers}
        return await self._client.post(self.path, body=self.wire(body), cast_to=object, options=options)

    @abstractmethod
    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer of the endpoint says: a reply, or the scores of options."""

    def fault(self, error: Any) -> Fault:
        """What an error of the client says, or one that came in the body of a success."""
        return error.fault if isinstance(error, ToldError) else of_client(error)

    async def _close_client(self) -> None:
        await self._client.close()

    @property
    def no_probabilities(self) -> str:
        """Why options cannot be scored here, and what to do instead."""
        return f"{self._host} gives no log-probabilities of '{self._model}'; use the style sampling or read replies."

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers requests side by side, in their order; one that fails is a completion that says so."""
        return self.wait(self._all(requests, ()))

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """The log-probabilities of options whose first tokens differ, from those of the first token.

        The protocol tells the likeliest tokens with which a reply begins. An option that is not among them has
        probability 0. A token with which two options begin cannot tell them apart and raises `ModelError`. A
        request that fails is a row of not-a-numbers, with a note.
        """
        if not options or not all(options) or len(set(options)) < len(options):
            raise ModelError("Options to be scored must differ and have at least one character each.")
        rows = []
        for answer in self.wait(self._all(requests, options)):
            if answer.scores is None:
                note_once(self.notes, answer.error)
            rows.append(answer.scores or [math.nan] * len(options))
        return np.array(rows, dtype=np.float64).reshape(len(requests), len(options))

    async def attempt(self, request: Request, options: Sequence[str] = ()) -> Completion:
        """One try, without retries and with a limit on the whole of it; for `wait`.

        A reply that drips in never makes a client's timeout ring, which only watches single reads.
        """
        if options and not self.tells_probabilities:
            raise ModelError(self.no_probabilities)
        work = self.exchanged(lambda: self.body(request, options), lambda answer: self.read(answer, options))
        return self.clean(await self._timed(work))

    async def _timed(self, work: Coroutine[Any, Any, T]) -> T | Completion:
        """The result of one try, or the completion that a lasting fault amounts to."""
        try:
            async with asyncio.timeout(self._timeout):
                return await work
        except self.errors as error:
            return self.ended(self.fault(error))
        except TimeoutError:
            raise Passing(f"{self._host} did not answer within {self._timeout:g} seconds.") from None

    def synchronous(self) -> Any:
        """A client without retries for batches; each request needs `sent_headers`."""
        return openai.OpenAI(**self._client_settings(self._url.rstrip("/") + self.batch_root))

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

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs work to its end on the loop on which the connections live."""
        if self._loop.is_closed():
            work.close()
            raise ModelError(f"The model {self.name} was closed; load it again.")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def exchanged(self, body: Callable[[], dict[str, Any]], read: Callable[[Any], T]) -> T:
        """What an answer to a body says; the body is made anew without each parameter that is rejected."""
        while True:
            sent = body()
            try:
                return read(await self._post(sent))
            except self.errors as error:
                if not self._amended(self.fault(error), sent):
                    raise
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                # Whatever came back, it is not what the protocol says.
                raise Passing(f"{self._host} did not answer with a chat completion.") from error

    def _amended(self, fault: Fault, sent: Mapping[str, Any]) -> bool:
        """Whether what was sent can go otherwise: with fewer log-probabilities, or without a parameter."""
        if not any(name in sent for name in LOGPROBS) or fault.rejected(LOGPROBS) is None:
            return self.leaves_out(fault, sent)
        if not self._shallower(fault):
            raise ModelError(self.no_probabilities)
        return True

    def _shallower(self, fault: Fault) -> bool:
        """Whether fewer of the likeliest tokens can be asked for."""
        return False

    def leaves_out(self, fault: Fault, sent: Mapping[str, Any]) -> bool:
        """Whether a fault names a parameter of what was sent without which it can be sent; from now on it is."""
        rejected = fault.rejected([name for name in self.without if name in sent])
        if rejected is None:
            return False
        self._left_out.add(rejected)
        note_once(self.notes, f"{self._host} rejects '{rejected}': {self.without[rejected]}.")
        return True

    def sentence(self, fault: Fault) -> str:
        """What went wrong, without anything that could hold the key."""
        variable = f"the environment variable {self._key_variable}"
        return self.scrubbed(fault.sentence(self._host, self._model, self._timeout, variable))

    def clean(self, completion: Completion) -> Completion:
        """A reply in which the key, should it stand there, is not to be read."""
        if not self._key or self._key not in completion.text + completion.thinking:
            return completion
        text, thinking = self.scrubbed(completion.text), self.scrubbed(completion.thinking)
        return replace(completion, text=text, thinking=thinking)

    def scrubbed(self, text: str) -> str:
        """A text in which the key, should it stand there, is not to be read.

        What servers without keys are given in place of one, such as "none" or "x", is no secret and may be an answer.
        """
        return text.replace(self._key, "[key]") if is_secret(self._key) else text

    def ended(self, fault: Fault) -> Completion:
        """What becomes of a request that met a fault; one that may pass raises `Passing`."""
        if fault.filtered:
            return Completion(self.scrubbed(fault.message), "filtered", category=fault.category or "content filter")
        if fault.status is not None and fault.status < 400:
            raise Passing(f"{self._host} did not answer with a chat completion.") from None
        if fault.of_account:
            raise AccountError(self.sentence(fault), alone=fault.of_model) from None
        if fault.passing:
            after = retry_after(fault.headers)
            raise Passing(self.sentence(fault), overload=fault.overload, after=after, down=fault.down) from None
        return Completion("", "failed", error=self.sentence(fault))

    async def _all(self, requests: Sequence[Request], options: Sequence[str]) -> list[Completion]:
        return await asyncio.gather(*(self._through(request, options) for request in requests))

    async def _through(self, request: Request, options: Sequence[str]) -> Completion:
        """A request to its end, through faults that pass, for a model that is used directly."""
        async with self._room:
            for tries in range(1, self._tries + 1):
                try:
                    return await self.attempt(request, options)
                except AccountError as fault:
                    return Completion("", "failed", error=str(fault))
                except Passing as fault:
                    message = str(fault)
                    if tries < self._tries:
                        after = _FIRST_WAIT * 2 ** (tries - 1) if fault.after is None else fault.after
                        await asyncio.sleep(min(after, _LONGEST_WAIT))
            return Completion(
                "", "failed", error=message if self._tries == 1 else f"{message.rstrip('.')} (after {tries} tries)."
            )

    async def _shut(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._close_client()


def _without(schema: Any, keywords: Sequence[str]) -> Any:
    """A schema without some keywords; a question may be called like one.

    >>> _without({"properties": {"minimum": {"type": "string", "maxLength": 9}}}, SIZES)
    {'properties': {'minimum': {'type': 'string'}}}
    """
    if isinstance(schema, Mapping):
        kept = {k: one for k, one in schema.items() if k not in keywords or isinstance(one, Mapping)}
        return {k: _without(one, keywords) for k, one in kept.items()}
    return [_without(one, keywords) for one in schema] if isinstance(schema, list) else schema


def is_secret(key: str) -> bool:
    """Whether a key is one, and not a word or a number put in the place of one.

    >>> [key for key in ("none", "EMPTY", "1234", "lm-studio", "sk-1234", "q8Zk1w7Tg5Xu2Rb9") if is_secret(key)]
    ['sk-1234', 'q8Zk1w7Tg5Xu2Rb9']
    """
    mixed = any(letter.isdecimal() for letter in key) and any(letter.isalpha() for letter in key)
    return len(key) >= 16 or (len(key) >= 6 and mixed)


def shown_host(url: str) -> str:
    """The endpoint as it can be shown: without a user, a password or a query."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelError("The base URL is not one; write it as http://localhost:8000/v1.")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
