"""Limits wrong passwords, for all workers together, without letting anybody lock the researcher out.

Attempts are counted per address in the private store. A browser that has logged in before has a signed cookie of its
own and is counted by that alone ("device cookies", OWASP), so that strangers who use up their attempts, even behind the
same address, do not use up the researcher's.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from sqlalchemy import func, select

from vantage.collect.private import PrivateStore, failures

ALL = "all"


class Throttle:
    """Allows a number of wrong passwords per known browser or address within some seconds.

    Unknown browsers together have forty times as many, so that many addresses cannot guess together.
    """

    def __init__(
        self, store: PrivateStore, tries: int = 5, seconds: float = 900, clock: Callable[[], float] = time.time
    ) -> None:
        self.store, self.tries, self.seconds, self._clock = store, tries, seconds, clock

    def wait(self, address: str, device: str = "") -> int:
        """Seconds until the address, or the known browser, may try again; 0 for now."""
        limits = {_name(address, device): self.tries} | ({} if device else {ALL: 40 * self.tries})
        now, waits = self._clock(), [0]
        for who, most in limits.items():
            query = select(func.count(), func.min(failures.c.at))
            query = query.where(failures.c.who == who, failures.c.at > now - self.seconds)
            count, first = self.store.read(lambda c, query=query: c.execute(query).one())  # type: ignore[misc]
            waits += [int(first + self.seconds - now) + 1] if count >= most else []
        return max(waits)

    def failed(self, address: str, device: str = "") -> None:
        """Records a wrong password."""
        now = time.time()
        new = [{"who": one, "at": now} for one in (_name(address, device), *(() if device else (ALL,)))]
        old = failures.delete().where(failures.c.at < now - self.seconds)
        self.store.sql.execute(old, failures.insert().values(new))

    def passed(self, address: str, device: str = "") -> None:
        """Forgets the wrong passwords of somebody who knew the right one."""
        self.store.sql.execute(failures.delete().where(failures.c.who == _name(address, device)))


def _name(address: str, device: str) -> str:
    """Who is counted; an address is not stored as it is."""
    return f"device:{device}" if device else "address:" + hashlib.sha256(address.encode()).hexdigest()[:24]
