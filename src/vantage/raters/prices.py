"""Prices of models, from a file of the user's: what a million tokens cost."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final, NotRequired

from pydantic import Field, RootModel
from typing_extensions import TypedDict

from vantage.documents import Document
from vantage.errors import InputError

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
