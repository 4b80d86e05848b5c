"""Simulated time: people's seconds are drawn, not slept."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

PACKAGES = ("vantage.collect", "vantage.recruit")


class SimulatedTime:
    """Stands for the module `time`, with a time of its own."""

    def __init__(self, start: float) -> None:
        self.now = start

    def time(self) -> float:
        """The simulated time."""
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@contextmanager
def simulated_time() -> Iterator[SimulatedTime]:
    """Within the block, the servers of a study and its recruiter read a clock that only the rehearsal moves."""
    clock = SimulatedTime(time.time())
    names = [name for name in sys.modules if name.startswith(PACKAGES) and name != __name__]
    modules = [module for name in names if getattr(module := sys.modules[name], "time", None) is time]
    with ExitStack() as changed:
        for module in modules:
            changed.enter_context(patch.object(module, "time", clock))
        yield clock
