"""A study's database: opened, checked against the study file, and holding what both services share."""

from __future__ import annotations

import json
import time
from typing import Final

from sqlalchemy import Connection, select

from vantage.collect.adapting import Adapting
from vantage.collect.batches import Batches
from vantage.collect.pseudonyms import derived
from vantage.collect.study import AnnotationStudy
from vantage.collect.study_setup import allocations, open_database, read_setting, write_setting
from vantage.collect.tables import items

PAUSE_CACHED: Final = 1.0
"""Seconds for which a worker caches whether the study is paused; another worker may change it."""


class StudyDatabase:
    """A study with its database open; `read` and `write` run a function of a connection (see `sql.SqlDatabase`)."""

    def __init__(self, study: AnnotationStudy, address: str | None = None) -> None:
        self.study = study
        self.sql = open_database(study, address)
        self.read, self.write = self.sql.read, self.sql.write
        self.key, count, gold = self.read(lambda c: [read_setting(c, key) or "" for key in ("secret", "count", "gold")])
        gold_rows = tuple(json.loads(gold))
        gold_items = select(items.c.item, items.c.row).where(items.c.row.in_(gold_rows))
        rows: dict[str, int] = self.read(lambda c: {one.item: one.row for one in c.execute(gold_items)})
        arms, adaptive = allocations(study, int(count), gold_rows), study.plan.adaptive
        adapting = None if adaptive is None else Adapting(study, adaptive, arms)
        self.batches = Batches(study, arms, rows, adapting)
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
