"""A study's database: opened, checked against the study file, and holding what both services share."""

from __future__ import annotations

import time
from typing import Final

from sqlalchemy import Connection, select

from vantage.collect.batches import Batches
from vantage.collect.pseudonyms import derived
from vantage.collect.study import AnnotationStudy
from vantage.collect.study_setup import allocations, open_database, read_setting, stored_rows, write_setting
from vantage.collect.tables import items

PAUSE_CACHED: Final = 1.0
"""Seconds for which a worker caches whether the study is paused; another worker may change it."""


class StudyDatabase:
    """A study with its database open; `read` and `write` run a function of a connection (see `sql.SqlDatabase`)."""

    def __init__(self, study: AnnotationStudy, address: str | None = None) -> None:
        self.study = study
        self.sql = open_database(study, address)
        self.read, self.write = self.sql.read, self.sql.write
        self.key = self.read(lambda c: read_setting(c, "secret") or "")
        apart = select(items.c.item, items.c.row).where(items.c.item.in_(study.kept_apart))
        rows: dict[str, int] = self.read(lambda c: {one.item: one.row for one in c.execute(apart)})
        made = allocations(study, self.read(lambda c: stored_rows(c, study)))
        self.batches = Batches(study, made, rows)
        self._paused = (False, 0.0)

    def secret(self, purpose: str) -> bytes:
        """32 bytes for signing, different for each purpose, the same in every worker and after a restart."""
        return derived(self.key, f"page:{purpose}")

    @property
    def paused(self) -> bool:
        """Whether the study is paused."""
        return self.read(self.is_paused)

    def is_paused(self, connection: Connection) -> bool:
        """Whether the study is paused, asked inside a transaction."""
        paused, until = self._paused
        if time.monotonic() > until:
            paused = read_setting(connection, "paused") == "yes"
            self._paused = (paused, time.monotonic() + PAUSE_CACHED)
        return paused

    def pause(self, paused: bool = True) -> None:
        """Pauses or resumes the study; pages that participants have open can still be submitted."""
        self.write(lambda c: write_setting(c, "paused", "yes" if paused else ""))
        self._paused = (paused, time.monotonic() + PAUSE_CACHED)
