"""Limits failed attempts: a sliding window per address, kept in memory and bounded in size."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock


class Throttle:
    """Allows a number of failed attempts per address within some seconds, and forty times as many overall.

    The overall limit stops many addresses from guessing together; the size limit bounds the memory.

    >>> throttle = Throttle(tries=2, seconds=60)
    >>> throttle.failed("1.2.3.4"), throttle.wait("1.2.3.4")
    (None, 0)
    >>> throttle.failed("1.2.3.4"), throttle.wait("1.2.3.4") > 0
    (None, True)
    """

    def __init__(
        self, tries: int = 5, seconds: float = 900, addresses: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.tries, self.seconds, self.addresses, self._clock = tries, seconds, addresses, clock
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._all: list[float] = []
        self._lock = Lock()

    def wait(self, address: str) -> int:
        """Seconds until the address may try again; 0 for now."""
        now = self._clock()
        with self._lock:
            own = self._fresh(self._failures.get(address, []), now)
            self._all = self._fresh(self._all, now)
            moments = [own[-self.tries]] if len(own) >= self.tries else []
            moments += [self._all[-40 * self.tries]] if len(self._all) >= 40 * self.tries else []
        return max((int(moment + self.seconds - now) + 1 for moment in moments), default=0)

    def failed(self, address: str) -> None:
        """Records a failed attempt."""
        now = self._clock()
        with self._lock:
            self._failures[address] = [*self._fresh(self._failures.pop(address, []), now), now][-self.tries :]
            self._all = [*self._all, now][-40 * self.tries :]
            while len(self._failures) > self.addresses:
                self._failures.popitem(last=False)

    def passed(self, address: str) -> None:
        """Forgets the failures of an address that succeeded."""
        with self._lock:
            self._failures.pop(address, None)

    def _fresh(self, moments: list[float], now: float) -> list[float]:
        return [moment for moment in moments if now - moment < self.seconds]
