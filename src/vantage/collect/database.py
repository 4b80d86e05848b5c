"""A study's database, opened, with the study that it holds and what both services share."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from sqlalchemy import Connection, select, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from vantage.collect import tables
from vantage.collect.adapting import Adapting
from vantage.collect.batches import Batches
from vantage.collect.private import PrivateStore, derived, identities, key_of
from vantage.collect.study import AnnotationStudy
from vantage.collect.study_setup import allocations, open_database, stored_rows
from vantage.collect.tables import items, participants, receipts
from vantage.collect.withdrawal import TABLES, pending

LOG: Final = logging.getLogger("vantage.collect")
PAUSE_CACHED: Final = 1.0
"""Seconds for which a worker caches whether the study is paused; another worker may change it."""


class StudyDatabase:
    """A study with its database open; `read` and `write` run a function of a connection (see `sql.SqlDatabase`)."""

    def __init__(
        self,
        study: AnnotationStudy,
        address: str | None = None,
        *,
        read_only: bool = False,
        revision: str | None = None,
        apart: bool = True,
    ) -> None:
        self.sql, study = open_database(study, address, read_only=read_only, revision=revision)
        self.study = study
        try:
            self.private = PrivateStore(self.sql, study.id, apart=apart)
        except BaseException:
            self.sql.close()
            raise
        self.read, self.write, self.share = self.sql.read, self.sql.write, self.sql.share
        earlier = study.plan.recruitment.people_of
        if earlier and not read_only and self.read(lambda c: c.execute(select(participants.c.id)).first()) is None:
            self.private.set("secret", key_of(earlier if "://" in earlier else str(study.folder / earlier)))
        self.key = self.private.setting("secret") or ""
        known = select(items.c.item, items.c.row).where(items.c.item.in_(study.kept_apart))
        rows: dict[str, int] = self.read(lambda c: {one.item: one.row for one in c.execute(known)})
        arms, adaptive = allocations(study, self.read(lambda c: stored_rows(c, study))), study.plan.adaptive
        adapting = None if adaptive is None else Adapting(study, adaptive, arms)
        self.batches = Batches(study, arms, rows, adapting)
        self._paused = (False, 0.0)
        self._purging = threading.Lock()
        self._purged = 0.0
        if not read_only and self.read(pending):
            self.complete_deletions()

    def close(self) -> None:
        """Completes pending changes and closes the database."""
        with self._purging:
            self.private.close()
            self.sql.close()

    def complete_deletions(self, wait: float = 0.0) -> None:
        """Removes the remains of deleted answers in a thread of its own, and waits so many seconds for it."""
        asked = (time.monotonic(),)
        thread = threading.Thread(target=self._complete_deletions, args=asked, name="vantage-purge", daemon=True)
        thread.start()
        thread.join(wait)

    def _complete_deletions(self, asked: float) -> None:
        with self._purging:
            if asked < self._purged:  # one purge serves everybody who waited for it
                return
            started = time.monotonic()
            try:
                waiting = self.read(pending)
                for rater in waiting.values():
                    self.private.forget(rater)
                self.sql.purge(TABLES)
                self.private.sql.purge([identities.name])
                if waiting:
                    done = update(receipts).where(receipts.c.code.in_(waiting)).values(purged_at=time.time())
                    self.sql.execute(done)
                self._purged = started
            except (DBAPIError, TimeoutError) as error:
                LOG.warning("deleted answers are not purged yet: %s", str(error).splitlines()[0])

    def answers(self) -> bool:
        """Whether the database can be read."""
        try:
            self.read(lambda c: tables.read_setting(c, "schema"))
            self.private.setting("secret")
        except SQLAlchemyError:
            return False
        return True

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
            paused = tables.read_setting(connection, "paused") == "yes"
            self._paused = (paused, time.monotonic() + PAUSE_CACHED)
        return paused

    def pause(self, paused: bool = True, by: str = "") -> None:
        """Pauses or resumes the study; pages that participants have open can still be submitted."""

        def job(connection: Connection) -> None:
            tables.write_setting(connection, "paused", "yes" if paused else "")
            tables.record(connection, "paused" if paused else "resumed", **tables.acting(by))

        self.write(job)
        self._paused = (paused, time.monotonic() + PAUSE_CACHED)
