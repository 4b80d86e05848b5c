"""How a run is to be carried out, which changes nothing of what is asked or answered, and what it took and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final, NotRequired

import polars as pl
from pydantic import Field, RootModel
from typing_extensions import TypedDict

from vantage.documents import Document
from vantage.errors import InputError
from vantage.raters.models.base import Completion
from vantage.raters.scoring import mass_note

LOCAL: Final = ("embedded", "gguf:", "hf:", "recorded:")
"""Models that run here and cost nothing per token."""


class Price(TypedDict):
    """The price of a model per million tokens, in the currency of your file."""

    input: float
    output: float
    cached: NotRequired[float]
    """Of prompt tokens that the endpoint had in its cache; as any other where it is not given."""
    date: NotRequired[str]
    """When the price was looked up."""


class Prices(RootModel[dict[str, Price | date]]):
    """A price file: from model names to prices, and under `date` when they were looked up."""

    root: dict[str, Price | date] = Field(default_factory=dict)


def read_prices(path: str | Path) -> dict[str, Price]:
    """Prices from a YAML file such as `openai:gpt-5: {input: 1.25, output: 10, cached: 0.125}`, per million tokens.

    A line `date: 2026-11-15` says when they were looked up; it goes into every run's ledger.
    """
    document = Document.read(path)
    document_prices = document.validate(Prices)
    document.check()
    listed = document_prices.root if document_prices is not None else {}
    when = listed.pop("date", None)
    prices = {model: price for model, price in listed.items() if isinstance(price, dict)}
    if wrong := [model for model in listed if model not in prices]:
        raise InputError(f"'{wrong[0]}' has a date and no price", file=path, remedy="write {input: …, output: …}")
    return {model: Price(**{"date": str(when), **price}) if when else price for model, price in prices.items()}


TRIES: Final = 6
"""How often a request is sent at most before it has failed."""
DEADLINE: Final = 900.0
"""Seconds after which a request has failed, however many tries are left."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is carried out.

    Args:
        concurrency: How many requests are under way at a time at most; the model's own setting without it.
        engine: Who sends them: `local`, `ray` (a cluster), or `batch` (the provider's batch API).
        tries: How often a request is sent before it has failed.
        deadline: Seconds after which a request has failed, all its tries and waits included.
        retry_failed: Whether calls that failed in an earlier run are sent again.
        clarify: Whether a model whose reply cannot be read is shown it and asked, once, which answer it gives.
        fail_on: Ends the run when more calls have failed than this: a count, or a share below 1.
        max_cost: Ends the run before it costs more than this, in the currency of the prices.
        prices: Prices per million tokens, by model.
        requests_per_minute: A limit on requests.
        tokens_per_minute: A limit on tokens, of prompts and replies together.
        workers: With `ray`: how many workers; one for each GPU or each machine of the cluster without it.
        ray_address: With `ray`: where the cluster is; `RAY_ADDRESS`, or this machine, without it.
        batch_protocol: With `batch`: how the endpoint speaks of batches; told by its address without it.
        batch_wait: With `batch`: seconds to wait for batches at most; as long as it takes without it.
    """

    concurrency: int | None = None
    engine: str = "local"
    tries: int = TRIES
    deadline: float = DEADLINE
    retry_failed: bool = True
    clarify: bool = False
    fail_on: float | None = None
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    workers: int | None = None
    ray_address: str | None = None
    batch_protocol: str | None = None
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


HOPELESS: Final = 50
"""When this many calls were sent and every one of them failed, nothing is sent any more."""
BATCH_SHARE: Final = 0.5
"""What the common providers charge for a token in a batch, as a share of its price."""
ENOUGH: Final = 20
"""Calls before a share of failures is taken seriously."""


@dataclass(slots=True)
class RunTally:
    """Counts of one run. `planned` counts first requests; follow-up questions come on top as they arise."""

    planned: int = 0
    skipped: int = 0
    """Planned requests whose judgments the corpus has already."""
    stored: int = 0
    """Requests that were not sent because the store holds their replies."""
    sent: int = 0
    """Requests that came to an end in this run, failed ones included."""
    failed: int = 0
    retried: int = 0
    """Tries beyond the first, after faults that passed."""
    clarified: int = 0
    """Requests that were sent to learn which answer a reply gives that could not be read."""
    elsewhere: int = 0
    """Requests that another process on the same store sent."""
    missing: int = 0
    """Planned requests without a result when the run ended or the store was read."""
    conversations: int = 0
    """Planned requests that ended, in a reply or in a failure."""
    truncated: int = 0
    """Prompts whose item was cut to fit into the model's window."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = 0.0
    """Of what was sent in this run; null when a price is not known."""
    mass: list[float] = field(default_factory=list)
    """The share of the probability that the options had: least, deciles 1 and 9, quartiles, median and most."""
    limit: int = 0
    """How many requests may be under way at the moment."""
    fault: str = ""
    """Why the last request that failed did so."""
    ended: str = ""
    """Why the run ended before its end, in a sentence."""
    capped: bool = False
    """Whether it ended at a limit that was given, where the same command would only end again."""
    notes: list[str] = field(default_factory=list)

    def tell_mass(self, scored: Sequence[tuple[pl.Series, float]]) -> None:
        """Counts what share of the probability the options had, from each rater's masses and its least mass."""
        masses = pl.concat([mass for mass, _ in scored]).drop_nulls() if scored else pl.Series([], dtype=pl.Float64)
        if len(masses):
            self.mass = [
                round(float(masses.quantile(q, "linear") or 0.0), 4) for q in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
            ]
            self.notes.append(mass_note(masses, scored[0][1]))

    def add(self, completion: Completion, price: Price | None) -> None:
        """Counts a request that came to an end."""
        self.sent += 1
        self.failed += completion.finish == "failed"
        self.fault = completion.error or self.fault
        self.prompt_tokens += completion.prompt_tokens
        self.completion_tokens += completion.completion_tokens
        self.cached_tokens += completion.cached_tokens
        self.reasoning_tokens += completion.reasoning_tokens
        if price is None:
            self.cost = None
        elif self.cost is not None:
            answer = completion
            self.cost += cost_of(price, answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens)

    def too_many_failed(self, fail_on: float | None) -> str:
        """Why to stop because of failures, in a sentence; empty when there is no reason to."""
        if self.sent == self.failed and self.failed >= HOPELESS:
            return f"The first {self.failed} requests all failed, so no more were sent; the last because: {self.fault}"
        if fail_on is None:
            return ""
        if fail_on >= 1 or fail_on == 0:
            over = self.failed > fail_on
            reason = f"{self.failed:,} requests failed, more than the {fail_on:,.0f} allowed"
        else:
            over = self.sent >= ENOUGH and self.failed > fail_on * self.sent
            reason = f"{self.failed:,} of {self.sent:,} requests failed, more than the share of {fail_on:g} allowed"
        return f"{reason} by fail-on, so no more were sent." if over else ""

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "limit"}


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model; one that runs here costs nothing, another is looked up."""
    if model in prices:
        return prices[model]
    return Price(input=0.0, output=0.0) if model.startswith(LOCAL) else None


def discounted(price: Price, share: float) -> Price:
    """A price of which only a share is paid, as in batches.

    >>> discounted({"input": 1.0, "output": 4.0}, BATCH_SHARE)
    {'input': 0.5, 'output': 2.0}
    """
    reduced = Price(input=price["input"] * share, output=price["output"] * share)
    if "cached" in price:
        reduced["cached"] = price["cached"] * share
    return reduced


def cost_of(price: Price, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
    """What tokens cost, at a price per million; those of the prompt that were cached may have a price of their own.

    >>> cost_of({"input": 2.0, "output": 8.0, "cached": 0.5}, 1_000_000, 100_000, 600_000)
    1.9
    """
    cached = min(cached_tokens, prompt_tokens)
    fresh = (prompt_tokens - cached) * price["input"] + cached * price.get("cached", price["input"])
    return (fresh + completion_tokens * price["output"]) / 1e6
