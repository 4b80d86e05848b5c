"""Stored calls: what was asked and said, what it cost, and what failed and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from vantage.runs.export import calls as exported
from vantage.runs.store import RunStore, begun

PAGE: Final = 25


def stored_calls(
    stores: Sequence[Path], *, item: str, rater: str, run: int | None, page: int
) -> tuple[list[dict[str, Any]], bool]:
    """A page of calls with prompt and reply, failures last, and whether there are more.

    The stores are opened for reading each time, so that a run can go on meanwhile.
    """

    def matching() -> Iterator[dict[str, Any]]:
        for path in filter(begun, stores):
            with RunStore(path, read_only=True) as store:
                yield from (
                    call for call in exported(store, run=run, item=item or None) if rater in ("", call["rater"])
                )

    some = list(islice(matching(), page * PAGE, (page + 1) * PAGE + 1))
    known = [{name: value for name, value in call.items() if value is not None} for call in some[:PAGE]]
    return [{name: value for name, value in call.items() if name != "settings"} for call in known], len(some) > PAGE
