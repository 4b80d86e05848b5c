"""Prices of models, as they ship or from a file of the user's: what a million tokens cost, and what a run does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final, NotRequired, cast

from pydantic import Field, RootModel
from typing_extensions import TypedDict

from vantage.documents import Document
from vantage.errors import InputError
from vantage.raters.models import is_remote
from vantage.raters.models.base import Completion


class Price(TypedDict):
    """The price of a model per million tokens, in the currency of your file."""

    input: float
    output: float
    cached: NotRequired[float]
    """Of prompt tokens that the endpoint had in its cache; as any other where it is not given."""
    written: NotRequired[float]
    """Of prompt tokens that the endpoint put into its cache; as any other where it is not given."""
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


@cache
def shipped_prices() -> dict[str, Price]:
    """The prices that come with Vantage, with the date on which they were looked up (`prices.yaml`)."""
    return read_prices(Path(__file__).with_name("prices.yaml"))


_NO_DISCOUNT: Final = ("cohere",)
"""Providers that take batches and document no other price for them."""


def batch_share(model: str) -> float:
    """What a token costs in a batch, as a share of its price.

    >>> batch_share("openai:gpt-5"), batch_share("cohere:command-a")
    (0.5, 1.0)
    """
    return 1.0 if model.partition(":")[0] in _NO_DISCOUNT else 0.5


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model; one that runs here costs nothing, another is looked up."""
    if model in prices:
        return prices[model]
    return None if is_remote(model) else Price(input=0.0, output=0.0)


def discounted(price: Price, share: float) -> Price:
    """A price of which only a share is paid, as in batches.

    >>> discounted({"input": 1.0, "output": 4.0}, 0.5)
    {'input': 0.5, 'output': 2.0}
    """
    return cast(Price, {name: one * share if isinstance(one, int | float) else one for name, one in price.items()})


def cost_of(
    price: Price, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0, written_tokens: int = 0
) -> float:
    """What tokens cost, at a price per million; those read from or put into a cache may have prices of their own.

    >>> cost_of({"input": 2.0, "output": 8.0, "cached": 0.5}, 1_000_000, 100_000, 600_000)
    1.9
    """
    cached = min(cached_tokens, prompt_tokens)
    written = min(written_tokens, prompt_tokens - cached)
    fresh = (prompt_tokens - cached - written) * price["input"] + cached * price.get("cached", price["input"])
    return (fresh + written * price.get("written", price["input"]) + completion_tokens * price["output"]) / 1e6


def paid(price: Price | None, completion: Completion) -> float | None:
    """What a call cost: what the endpoint says, else by its price; null where neither is known."""
    if completion.cost is not None or price is None:
        return completion.cost
    one = completion
    return cost_of(price, one.prompt_tokens, one.completion_tokens, one.cached_tokens, one.written_tokens)
