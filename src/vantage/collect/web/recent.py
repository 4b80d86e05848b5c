"""Results that may be a few seconds old, so that a dashboard never competes with participants for the processor."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Recent:
    """Keeps results for some seconds; while one is computed, everybody else gets the last one or waits for the first.

    >>> recent, calls = Recent(seconds=60), []
    >>> [recent.get("n", lambda: calls.append(1) or len(calls)) for _ in range(3)]
    [1, 1, 1]
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        self._results: dict[str, tuple[float, Any]] = {}
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()

    def get(self, key: str, compute: Callable[[], T]) -> T:
        """The result under this key, computed anew where the last one is too old."""
        with self._lock:
            known = self._results.get(key)
            lock = self._locks.setdefault(key, Lock())
        if known is not None and self._clock() - known[0] < self.seconds:
            return cast("T", known[1])
        if not lock.acquire(blocking=known is None):
            assert known is not None  # noqa: S101
            return cast("T", known[1])
        try:
            again = self._results.get(key)
            if again is not None and again is not known:
                return cast("T", again[1])
            result = compute()
            self._results[key] = (self._clock(), result)
            return result
        finally:
            lock.release()

    def forget(self) -> None:
        """Drops everything, after the researcher has changed something."""
        self._results.clear()
