"""How providers speak of batches: what each must be told, and what it tells."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Final, Literal, Protocol, cast

from vantage.errors import InputError, nearest
from vantage.raters.models.base import Completion
from vantage.raters.models.openai import OpenAIModel
from vantage.runs.batch.wire import Wire
from vantage.runs.keys import KeyedCall


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a batch has come."""

    state: Literal["running", "ended", "refused", "overloaded"]
    """`refused` as a whole, for good; `overloaded`: more is queued than the provider allows, so it may go later."""
    sentence: str = ""
    """Why it was refused, or why requests without a result have none."""
    results: tuple[str, ...] = ()
    """Where the results are."""


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

    headers: Mapping[str, Any]
    most: int
    """Requests in one batch."""
    largest: int
    """Bytes of one batch."""

    def body(self, model: OpenAIModel, call: KeyedCall) -> dict[str, Any]:
        """What a single request would send."""
        ...

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in a batch."""
        ...

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Submits a batch under a token of ours; the name that the provider gives it."""
        ...

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """The name of the batch that was submitted under a token, if it arrived, for when the answer was lost.

        `since` is when that was, `size` its number of requests, and `known` the names of other batches of ours.
        """
        ...

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far a batch has come."""
        ...

    def results(self, wire: Wire, standing: Standing) -> Iterator[BatchResult]:
        """The results of a batch that has ended, in any order."""
        ...

    def read(self, model: OpenAIModel, body: Any, options: Sequence[str]) -> Completion:
        """What an answer says."""
        ...


PROTOCOLS: Final = {
    "openai": ("vantage.runs.batch.openai:OpenAIBatches", ()),
    "anthropic": ("vantage.runs.batch.anthropic:AnthropicBatches", ("anthropic.com",)),
    "mistral": ("vantage.runs.batch.mistral:MistralBatches", ("mistral.ai",)),
}
"""Name: module and class, and the hosts that speak it. Whoever is not listed is taken to speak as OpenAI does."""


def load_protocol(name: str | None, host: str) -> tuple[str, BatchProtocol]:
    """The protocol of this name or, without one, of this host.

    >>> load_protocol(None, "api.anthropic.com")[0], load_protocol(None, "api.openai.com")[0]
    ('anthropic', 'openai')
    """
    if name is None:
        name = next((known for known, (_, hosts) in PROTOCOLS.items() if _is_of(host, hosts)), "openai")
    if name not in PROTOCOLS:
        raise InputError(f"there is no batch protocol '{name}'", remedy=nearest(name, list(PROTOCOLS)))
    return name, cast(BatchProtocol, resolve_name(PROTOCOLS[name][0])())


def _is_of(host: str, known: Sequence[str]) -> bool:
    bare = host.partition(":")[0]
    return any(bare == one or bare.endswith(f".{one}") for one in known)
