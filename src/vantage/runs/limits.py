"""How fast requests are sent: as many at a time as the server bears, and no more a minute than was asked for."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from typing import Final

FIRST_WAIT: Final = 0.5
"""Seconds before the second try, on average half of it."""
LONGEST_WAIT: Final = 60.0


def back_off(tries: int, draw: random.Random) -> float:
    """Seconds to wait after so many tries: exponential with full jitter (Brooker 2015).

    >>> waits = [back_off(n, random.Random(1)) for n in (1, 2, 3, 20)]
    >>> [wait <= most for wait, most in zip(waits, (0.5, 1, 2, 60))]
    [True, True, True, True]
    """
    return draw.uniform(0.0, min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(tries - 1, 20)))


class AdaptiveLimiter:
    """Lets so many requests through at a time: fewer after an overload, slowly more while all goes well.

    Additive increase, multiplicative decrease (Chiu and Jain 1989): the limit is halved when the server says that it
    is overloaded, once for all requests that were under way at that moment, and grows by one for every round of
    requests that succeed, up to the limit that was asked for.
    """

    def __init__(self, most: int) -> None:
        self.most, self.limit = most, float(most)
        self._inside = 0
        self._halved = -1.0
        self._closed_until = 0.0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> float:
        """Waits for a place; gives the moment at which the request sets out."""
        while True:
            wait = self._closed_until - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            elif self._inside < int(self.limit):
                self._inside += 1
                return time.monotonic()
            else:
                place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._queue.append(place)
                await place

    def leave(self) -> None:
        """A request has ended, and its place is free."""
        self._inside -= 1
        self._call()

    def went_well(self) -> None:
        """The server had time for a request."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
            self._call()

    def overloaded(self, since: float, after: float | None) -> None:
        """The server had no time for a request that set out at `since`, and may have asked to wait."""
        now = time.monotonic()
        if since > self._halved:
            self.limit, self._halved = max(1.0, self.limit / 2), now
        if after:
            self._closed_until = max(self._closed_until, now + after)

    def _call(self) -> None:
        free = int(self.limit) - self._inside
        while free > 0 and self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1


class PerMinute:
    """Spreads something that is limited per minute evenly over it; a second's worth may come at once."""

    def __init__(self, limit: float | None) -> None:
        self._rate = None if limit is None else limit / 60.0
        self._next = time.monotonic()

    async def spend(self, amount: float) -> None:
        """Waits until so much may be spent."""
        if self._rate is None:
            return
        now = time.monotonic()
        start = max(self._next, now - 1.0)
        self._next = start + amount / self._rate
        if start > now:
            await asyncio.sleep(start - now)
