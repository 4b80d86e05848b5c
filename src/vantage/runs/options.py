"""How a run is to be carried out: none of this changes what is asked or answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from vantage.errors import InputError
from vantage.runs.prices import Price

CONCURRENCY: Final = 8
"""Requests under way at a time where neither the run nor the model says otherwise."""
TRIES: Final = 6
"""How often a request is sent at most before it has failed."""
DEADLINE: Final = 900.0
"""Seconds after which a request has failed, however many tries are left."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is carried out.

    Args:
        concurrency: The most requests in flight at a time (default: the model's own setting).
        engine: Who sends requests: `local`, `ray` (a cluster), or `batch` (the provider's batch API).
        tries: How often a request is sent before it has failed.
        deadline: Seconds after which a request has failed, all its tries and waits included.
        retry_failed: Send calls again that failed in an earlier run.
        clarify: If a reply is not in the requested form, show it to the model once and ask for the answer alone.
            Recorded replies and templates have no second turn.
        fail_on: End the run once more calls than this have failed: a count, or a share below 1.
        max_cost: End the run before it costs more than this, in the currency of the prices.
        budget: What `max_cost` is for: this run, or all runs of the store, as in a study.
        fallbacks: Models that are asked, in this order and as raters of their own, what a model whose account fails
            leaves open.
        probe: Whether an endpoint without a profile in the store is first asked about ten short questions.
        canary: First send every model a few fixed prompts, to see whether its answers have changed.
        prices: Prices per million tokens, by model.
        requests_per_minute: Maximum requests per minute.
        tokens_per_minute: Maximum prompt tokens per minute.
        workers: With `ray`: how many workers (default: one per GPU, or per machine of the cluster).
        ray_address: With `ray`: where the cluster is (default: `RAY_ADDRESS`, or this machine).
        batch_wait: With `batch`: the longest wait for batches, in seconds (default: as long as it takes).
    """

    concurrency: int | None = None
    engine: str = "local"
    tries: int = TRIES
    deadline: float = DEADLINE
    retry_failed: bool = True
    clarify: bool = True
    fail_on: float | None = None
    max_cost: float | None = None
    budget: Literal["run", "store"] = "run"
    fallbacks: tuple[str, ...] = ()
    probe: bool = False
    canary: bool = False
    prices: Mapping[str, Price] = field(default_factory=dict)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    workers: int | None = None
    ray_address: str | None = None
    batch_wait: float | None = None

    def __post_init__(self) -> None:
        at_least = {"concurrency": 1, "tries": 1, "workers": 1}
        at_least |= dict.fromkeys(("max_cost", "fail_on", "batch_wait"), 0)
        for name, least in at_least.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name.replace('_', ' ')} is {value}", remedy=f"give at least {least}")
        for name in ("deadline", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"{name.replace('_', ' ')} is {value}", remedy="give a number above 0")
        if self.fail_on is not None and self.fail_on >= 1 and self.fail_on != int(self.fail_on):
            raise InputError(f"fail on is {self.fail_on}", remedy="give a share below 1, or a whole number of calls")
