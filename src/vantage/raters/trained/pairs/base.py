"""What every way to learn about pairs can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from vantage.instruments import Question
from vantage.raters.trained.base import Floats
from vantage.raters.trained.pairs.people import People
from vantage.raters.trained.pairs.table import PairTable


class PairPredictor(Protocol):
    """One way to learn, once it has learned."""

    notes: list[str]
    """What must be told."""

    def predict(self, table: PairTable) -> Floats:
        """One row per pair: the shares of the options."""
        ...

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Writes what it learned into files that begin with `part-`, without pickle; gives the rest as plain data."""
        ...

    @classmethod
    def load(cls, folder: Path, data: Mapping[str, Any], people: People, question: Question) -> PairPredictor:
        """Reads what `save` wrote."""
        ...
