"""How providers speak of batches, and the line to them: what each must be told, and what it tells."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Final, Literal, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import openai

from vantage.errors import InputError, VantageError
from vantage.raters.models.base import ModelError, Passing
from vantage.raters.models.remote import RemoteModel
from vantage.runs.engines.local import OUTAGE, back_off

T = TypeVar("T")
TRIES: Final = 8
"""How often a question about a batch is asked before the run ends; the batch stays where it is."""


class Uncertain(VantageError):  # noqa: N818 - it says what is not known
    """Something was sent, and whether it arrived is not known."""


class BatchStopped(VantageError):  # noqa: N818 - it is no error
    """The run was stopped while it waited."""


class Wire:
    """Sends to one provider, with the model's key, from the thread of an engine; `stopping` ends all waiting."""

    def __init__(self, model: RemoteModel, stopping: threading.Event) -> None:
        self.model, self._stopping = model, stopping
        self.client: Any = model.synchronous()
        self._options = cast(Any, {"headers": model.sent_headers})
        self._answered = False
        self._draw = random.Random()  # noqa: S311 - spreads retries, decides nothing

    def get(self, path: str) -> Any:
        """The JSON at a path: an object or a list."""
        return self.ask(lambda: _data(self.client.get(path, cast_to=object, options=self._options)))

    def lines(self, path: str) -> list[str]:
        """The lines of a file at a path."""
        text = self.ask(lambda: self.client.get(path, cast_to=str, options=self._options))
        return [line for line in text.split("\n") if line.strip()]

    def file(self, url: str) -> bytes:
        """A file at an address that the provider has told, to which no key is sent."""
        options: Any = {"headers": dict.fromkeys(("Authorization", *self._options["headers"]), openai.Omit())}
        kind = openai.HttpxBinaryResponseContent
        return bytes(self.ask(lambda: self.client.get(url, cast_to=kind, options=options)).content)

    def upload(self, path: str, name: str, lines: Sequence[bytes], part: str = "file", **fields: str) -> Any:
        """Uploads a file of lines; a second copy does no harm, since nothing is done with it yet."""
        file = (part, (name, b"\n".join(lines) + b"\n", "application/jsonl"))
        options: Any = {"headers": {"Content-Type": "multipart/form-data", **self._options["headers"]}}
        return self.ask(
            lambda: _data(self.client.post(path, cast_to=object, body=fields, files=[file], options=options))
        )

    def post_once(self, path: str, body: Mapping[str, Any]) -> Any:
        """Posts what must not arrive twice (see `once`)."""
        return self.once(lambda: _data(self.client.post(path, cast_to=object, body=dict(body), options=self._options)))

    def once(self, send: Callable[[], T]) -> T:
        """Sends what must not arrive twice: repeated only when the provider says that it did not take it.

        Where the answer is lost this raises `Uncertain`.
        """

        def sent() -> T:
            try:
                return send()
            except self.model.errors as error:
                fault = self.model.fault(error)
                if fault.status is None or fault.status == 408 or fault.status >= 500:
                    raise Uncertain(self.model.sentence(fault)) from None
                raise
            except Passing as fault:
                raise Uncertain(str(fault)) from None

        return self.ask(sent)

    def ask(self, send: Callable[[], T]) -> T:
        """Sends, through faults that pass; an outage of a provider that has answered before costs no tries."""
        tries, until = 0, time.monotonic() + OUTAGE
        while True:
            tries += 1
            try:
                answer = self._tried(send)
            except Passing as fault:
                waited_for = fault.down and self._answered and time.monotonic() < until
                if tries >= TRIES and not waited_for:
                    raise ModelError(f"{str(fault).rstrip('.')} (after {tries} tries).") from None
                self.wait(max(back_off(tries, self._draw), fault.after or 0.0))
                continue
            self._answered = True
            return answer

    def wait(self, seconds: float) -> None:
        """Waits, unless the run is stopped meanwhile."""
        if self._stopping.wait(seconds):
            raise BatchStopped("The run was stopped.")

    def close(self) -> None:
        """Closes the connections."""
        self.client.close()

    def _tried(self, send: Callable[[], T]) -> T:
        try:
            return send()
        except self.model.errors as error:
            fault = self.model.fault(error)
        if fault.status == 404:
            said = " ".join(fault.message.split())[:200].rstrip(".")
            raise ModelError(f"{self.model.url} has no batch API here ({said}); leave --batch out.")
        self.model.ended(fault)
        raise ModelError(self.model.sentence(fault))


def _data(answer: Any) -> Any:
    if not isinstance(answer, dict | list):
        raise Passing("The endpoint did not answer with JSON.")
    return answer


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a batch has come."""

    state: Literal["running", "ended", "refused", "overloaded"]
    """`refused` as a whole, for good; `overloaded`: more is queued than the provider allows, so it may go later."""
    sentence: str = ""
    """Why it was refused, or why requests without a result have none."""
    results: Iterable[Any] = ()
    """The results, one for each request, as they stand in a file: read when they are gone through."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of one request of a batch."""

    name: str
    """The name under which it was submitted."""
    body: Any = None
    """The answer, as a single request would have got it, also where it tells an error; nothing where there is none."""
    error: str = ""
    status: int = 0
    """The HTTP status that a single request would have got; 0 where none is told."""


class BatchProtocol(Protocol):
    """One provider's batch API."""

    most: int = 20_000
    """Requests in one batch."""
    largest: int = 90_000_000
    """Bytes of one batch."""

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in a batch."""

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Submits a batch under a token of ours; the name that the provider gives it."""

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """The name of the batch that was submitted under a token, if it arrived, for when the answer was lost.

        `since` is when that was, `size` its number of requests, and `known` the names of other batches of ours.
        """

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far a batch has come."""

    def result(self, line: Any) -> BatchResult:
        """One line of the results, which come in any order; what cannot be read raises whatever it is."""


PROTOCOLS: Final = {
    "openai": "vantage.runs.batch.providers:OpenAIBatches",
    "anthropic": "vantage.runs.batch.providers:AnthropicBatches",
    "azure": "vantage.runs.batch.providers:AzureBatches",
    "bedrock": "vantage.runs.batch.providers:BedrockBatches",
    "cohere": "vantage.runs.batch.providers:CohereBatches",
    "gemini": "vantage.runs.batch.providers:GeminiBatches",
    "mistral": "vantage.runs.batch.providers:MistralBatches",
    "together": "vantage.runs.batch.providers:TogetherBatches",
}
"""Name: module and class."""
HOSTS: Final = {
    "together.ai": "together",
    "together.xyz": "together",
    "anthropic.com": "anthropic",
    "azure.com": "azure",
    "cohere.ai": "cohere",
    "cohere.com": "cohere",
    "googleapis.com": "gemini",
    "mistral.ai": "mistral",
}
"""Providers whose chats can be had in OpenAI's protocol and whose batches cannot."""


def load_protocol(model: RemoteModel) -> tuple[str, BatchProtocol]:
    """The protocol in which batches go to a model's provider, and its name."""
    host, name = urlsplit(model.url).hostname or "", model.batches
    if name == "openai":
        name = next((known for end, known in HOSTS.items() if f".{host}".endswith(f".{end}")), name)
        if name not in ("openai", "together"):
            raise InputError(f"{host} takes batches in its own protocol only", remedy=f"write --model {name}:NAME")
    return name, cast(BatchProtocol, resolve_name(PROTOCOLS[name])())


def read_result(protocol: BatchProtocol, line: Any) -> BatchResult:
    """One of the results; one that cannot be read names no request, which is then asked again."""
    try:
        return protocol.result(json.loads(line) if isinstance(line, str) else line)
    except (AttributeError, LookupError, TypeError, ValueError):
        return BatchResult("", error="The line cannot be read.")
