"""A run as people see it under way: a bar with rate, cost, failures and time left, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vantage.runs.options import RunTally


@contextmanager
def run_progress(title: str) -> Iterator[Callable[[RunTally], None]]:
    """A bar for as long as the block lasts; call what it gives with the counts."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    from vantage.cli.output import printable

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}", markup=False),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(Text(printable(title)).plain, total=None, status="")

        def show(tally: RunTally) -> None:
            bar.update(
                task,
                total=tally.planned,
                completed=tally.skipped + tally.conversations,
                status=progress_text(tally, time.monotonic() - started),
            )

        yield show


def progress_text(tally: RunTally, seconds: float) -> str:
    """Rate, cost and failures in a few words.

    >>> from vantage.runs.options import RunTally
    >>> progress_text(RunTally(sent=120, failed=2, cost=0.25), 10.0)
    '12.0/s · cost 0.25 · 2 failed'
    """
    parts = [f"{tally.sent / max(seconds, 1e-9):.1f}/s"]
    if tally.cost:
        parts.append(f"cost {tally.cost:.2f}" if tally.cost >= 0.01 else f"cost {tally.cost:.4f}")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    return " · ".join(parts)
