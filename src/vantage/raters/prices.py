"""Prices of models, from a file of the user's: what a million tokens cost."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field, RootModel
from typing_extensions import TypedDict

from vantage.documents import Document

LOCAL: Final = ("embedded", "gguf:", "hf:", "recorded:")
"""Models that run here and cost nothing per token."""


class Price(TypedDict):
    """The price of a model per million tokens, in the currency of your file."""

    input: float
    output: float


class Prices(RootModel[dict[str, Price]]):
    """A price file: from model names to prices."""

    root: dict[str, Price] = Field(default_factory=dict)


def read_prices(path: str | Path) -> dict[str, Price]:
    """Prices from a YAML file such as `openai:gpt-5: {input: 1.25, output: 10}`, per million tokens."""
    document = Document.read(path)
    found = document.validate(Prices)
    document.check()
    return found.root if found is not None else {}
