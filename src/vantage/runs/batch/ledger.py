"""The ledger of batches, in the run store: which request is in which batch, written down before it is submitted.

A batch is first intended, then open, then collected. What a process that was killed had intended or opened is found
here by the next one, which looks for it at the provider instead of submitting it again.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vantage.runs.keys import KeyedCall
from vantage.runs.store import RunStore
from vantage.runs.tables import among

_UNANSWERED = "key NOT IN (SELECT key FROM calls)"


@dataclass(slots=True)
class Batch:
    """A batch of ours, and those of its requests that this run waits for."""

    id: int
    token: str
    name: str
    """What the provider calls it; empty as long as that is not known."""
    at: float
    size: int
    calls: dict[bytes, KeyedCall] = field(default_factory=dict)
    tries: dict[bytes, int] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    """Parameters that the endpoint was known to reject when the batch was submitted."""


class Ledger:
    """The batches at one provider, told by its protocol and its host."""

    def __init__(self, store: RunStore, protocol: str, host: str) -> None:
        self._store, self._where = store, (protocol, host)

    def intend(self, tries: Mapping[bytes, int]) -> Batch:
        """Writes down that a batch of these requests is about to be submitted, each with how often it was tried."""
        token, at = secrets.token_hex(16), time.time()

        def write(connection: sqlite3.Connection) -> int:
            row = (token, *self._where, "", "submitting", at, len(tries))
            inserted = connection.execute("INSERT INTO batches VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid or 0
            rows = [(key, inserted, count) for key, count in tries.items()]
            connection.executemany("INSERT OR REPLACE INTO batched VALUES (NULL, ?, ?, ?)", rows)
            return inserted

        return Batch(self._store.writer.do(write), token, "", at, len(tries), tries=dict(tries))

    def opened(self, batch: Batch, name: str) -> None:
        """The provider has taken the batch."""
        batch.name = name
        self._store.change("UPDATE batches SET name = ?, state = 'open' WHERE id = ?", (name, batch.id))

    def dropped(self, batch: Batch) -> None:
        """The batch never arrived: its requests are free again."""
        self._store.change("DELETE FROM batched WHERE batch = ?", (batch.id,))
        self._store.change("DELETE FROM batches WHERE id = ?", (batch.id,))

    def freed(self, keys: Iterable[bytes]) -> None:
        """Requests that have failed: if they are asked again, it is anew."""
        self._store.change("DELETE FROM batched WHERE key = ?", *((key,) for key in keys))

    def collected(self, batch: Batch) -> None:
        """Closes a batch, unless it holds replies that no run has asked for yet."""
        self._store.change(
            "UPDATE batches SET state = 'collected' WHERE id = ? AND NOT EXISTS "  # noqa: S608
            f"(SELECT 1 FROM batched WHERE batch = batches.id AND {_UNANSWERED})",
            (batch.id,),
        )

    def held(self, keys: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
        """Those of the requests that are in an open batch: its number, and how often they were tried."""
        sql = (
            "SELECT key, batch, tries FROM batched JOIN batches ON batches.id = batch "
            "WHERE state = 'open' AND protocol = ? AND host = ? AND key IN ({})"
        )
        return {key: (batch, tries) for key, batch, tries in among(self._store.select, sql, keys, *self._where)}

    def batches(self, state: str) -> list[Batch]:
        """The batches in a state, the oldest first."""
        rows = self._store.select(
            "SELECT id, token, name, at, size FROM batches WHERE state = ? AND protocol = ? AND host = ? ORDER BY id",
            (state, *self._where),
        )
        return [Batch(*row) for row in rows]

    def names(self) -> set[str]:
        """What the provider calls the batches that are known."""
        return {batch.name for state in ("open", "collected") for batch in self.batches(state)}

    def orphans(self) -> list[Batch]:
        """Batches whose submission was cut off: nobody who lives has a claim on their requests."""
        self._store.claims.clear_dead()
        owned = "SELECT batch FROM batched JOIN claims USING (key) WHERE owner != ?"
        rows = self._store.select(owned, (self._store.claims.owner,))
        busy = {batch for (batch,) in rows}
        return [batch for batch in self.batches("submitting") if batch.id not in busy]
