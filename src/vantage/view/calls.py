"""Stored calls: what was asked and said, what it cost, and what failed and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from vantage.runs.export import calls as exported
from vantage.runs.store import RunStore, begun

PAGE: Final = 25


@dataclass(frozen=True, slots=True)
class Calls:
    """The run stores of what is looked at, opened for reading each time, so that a run can go on meanwhile."""

    stores: Sequence[Path]

    def calls(self, *, item: str = "", rater: str = "", run: int | None = None, page: int = 0) -> dict[str, Any]:
        """A page of calls with prompt and reply, failures last."""
        wanted = (page + 1) * PAGE + 1
        every = (call for store in self._open() for call in exported(store, run=run, item=item or None))
        matching = list(islice((call for call in every if not rater or call["rater"] == rater), wanted))
        shown = [
            {name: value for name, value in call.items() if value is not None and name != "settings"}
            for call in matching[page * PAGE : (page + 1) * PAGE]
        ]
        return {"page": page, "more": len(matching) == wanted, "calls": shown}

    def _open(self) -> Iterator[RunStore]:
        for path in filter(begun, self.stores):
            with RunStore(path, read_only=True) as store:
                yield store
