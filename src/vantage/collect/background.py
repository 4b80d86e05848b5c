"""Background jobs of a served study, each done periodically by one of its processes."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import Connection

from vantage.collect.database import LOG, StudyDatabase
from vantage.collect.tables import read_setting, write_setting

PAUSE: Final = 2.0
"""Seconds between two looks at what is due."""
LEASE: Final = 60.0
"""Seconds after which another process takes over from one that has died."""
Job = Callable[[], None]


class Background:
    """A thread that runs jobs periodically, so that no page waits for them."""

    def __init__(self, database: StudyDatabase, jobs: Sequence[tuple[float, Job]]) -> None:
        self.database, self._jobs, self._due = database, jobs, [0.0] * len(jobs)
        self._me, self._ended = secrets.token_hex(8), threading.Event()
        self._thread = threading.Thread(target=self._work, name="vantage-background", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        if self._jobs:
            self._thread.start()

    def stop(self) -> None:
        """Stops after the current job."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(LEASE)

    def _work(self) -> None:
        while not self._ended.wait(PAUSE):
            try:
                self.once()
            except Exception as error:  # the study goes on whatever happens here
                LOG.warning("work in the background failed: %s", type(error).__name__)

    def once(self) -> None:
        """Does what is due, where no other process does."""
        if self.database.write(self._leased):
            for number, (every, job) in enumerate(self._jobs):
                if time.time() >= self._due[number]:
                    self._due[number] = time.time() + every
                    job()

    def _leased(self, connection: Connection) -> bool:
        """Whether this process is the one at work, for a while from now on."""
        who, _, until = (read_setting(connection, "background") or " 0").partition(" ")
        mine = who == self._me or float(until) < time.time()
        if mine:
            write_setting(connection, "background", f"{self._me} {time.time() + LEASE}")
        return mine
