"""A model that is not opened here: what planning requests and reading stored replies need to know of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vantage.raters.models.base import Completion, LogProbs, ModelError, Request
from vantage.raters.models.plain import estimate_tokens


class Unopened:
    """Represents a model whose replies are stored, or that runs elsewhere; it answers nothing."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self.window: int | None = settings.get("window")
        self.notes: list[str] = []

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Always an error."""
        raise ModelError(f"{self.name} was not opened here, so it cannot answer.")

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """Always an error."""
        raise ModelError(f"{self.name} was not opened here, so it cannot answer.")

    def count_tokens(self, text: str) -> int:
        """An upper estimate, as for the endpoint itself."""
        return estimate_tokens(text)

    def close(self) -> None:
        """There is nothing to close."""
