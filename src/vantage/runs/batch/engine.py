"""A provider's batch API: requests are gathered, submitted, polled and collected, whoever is killed in between.

The ledger in the run store says which request is in which batch, written down before it is submitted. A batch is first
intended, then open, then collected. What a process that was killed had intended or opened is found there by the next
one, which looks for it at the provider instead of submitting it again.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast
from urllib.parse import urlsplit

from vantage.errors import InputError
from vantage.raters.chat import ChatRater
from vantage.raters.models import kind_of
from vantage.raters.models.base import AccountError, ChatModel, Completion, ModelError, Passing, note_once
from vantage.raters.models.faults import Fault
from vantage.raters.models.remote import RemoteModel
from vantage.runs.batch.protocols import (
    BatchResult,
    BatchStopped,
    Standing,
    Uncertain,
    Wire,
    load_protocol,
    read_result,
)
from vantage.runs.job import Job
from vantage.runs.keys import KeyedCall
from vantage.runs.options import RunOptions
from vantage.runs.prices import batch_share
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

    def orphans(self) -> list[Batch]:
        """Batches whose submission was cut off: nobody who lives has a claim on their requests."""
        self._store.claims.clear_dead()
        owned = "SELECT batch FROM batched JOIN claims USING (key) WHERE owner != ?"
        rows = self._store.select(owned, (self._store.claims.owner,))
        busy = {batch for (batch,) in rows}
        return [batch for batch in self.batches("submitting") if batch.id not in busy]


UNDER_WAY: Final = 100_000
"""Requests in batches at a time, unless the run says otherwise: they are held in memory until they are answered."""
FIRST_POLL: Final = 2.0
"""Seconds until a batch is first asked after; each time it takes half as long again."""
LONGEST_POLL: Final = 60.0
_PASSING: Final = (0, 408, 409, 429)
"""Statuses that may be other ones at the next try, besides those of a failing server; 0 is none at all."""
_BLOCK: Final = 256


class BatchEngine:
    """Sends requests as batches."""

    in_batches = True

    def open(self, rater: ChatRater, options: RunOptions) -> ChatModel:
        """A client of the endpoint; models that run here have no batches to send."""
        if not getattr(kind_of(rater.model_name), "batches", ""):
            raise InputError(f"Vantage has no batch API for '{rater.model_name}'", remedy="leave --batch out")
        return rater.open()

    def run(self, model: ChatModel, job: Job) -> None:
        """Brings the job's requests through batches until there are no more or the run is stopped."""
        batches = _Batches(cast(RemoteModel, model), job)
        try:
            batches.run()
        except BatchStopped:
            pass
        except AccountError as broken:
            job.break_off(broken)
        finally:
            batches.end()
        job.settle()


_Pending: TypeAlias = tuple[KeyedCall, int, bytes]
"""A request that waits to be submitted, with how often it was tried and its line in the batch."""


class _Batches:
    def __init__(self, model: RemoteModel, job: Job) -> None:
        self.model, self.job = model, job
        self.host = urlsplit(model.url).netloc
        name, self.protocol = load_protocol(model)
        self.wire = Wire(model, job.stopping)
        self.ledger = Ledger(job.store, name, self.host)
        self.most = job.options.concurrency or UNDER_WAY
        self.submitted = 0
        self._open: dict[int, Batch] = {}
        self._again: deque[tuple[KeyedCall, int]] = deque()
        self._until = None if job.options.batch_wait is None else time.monotonic() + job.options.batch_wait

    def run(self) -> None:
        for batch in self.ledger.orphans():
            self._arrived(batch)
        wait = FIRST_POLL
        while not self.job.stopping.is_set():
            before = self.submitted
            self._gather()
            waiting = bool(self._open or self._again)
            if not waiting and self.job.source.idle:
                return
            if self._until is not None and time.monotonic() >= self._until:
                self.job.stop(f"{self._under_way:,} requests are in batches at {self.host}")
                return
            wait = FIRST_POLL if self.submitted > before else min(LONGEST_POLL, wait * 1.5)
            self.job.stopping.wait(wait if waiting else 0.2)
            self.job.source.look_again()
            for batch in list(self._open.values()):
                self._ask_after(batch)
            self.job.settle()

    def end(self) -> None:
        self.wire.close()
        if self.submitted:
            cheaper = ", at half the price" if batch_share(self.model.name) < 1 else ""
            self.job.tally.notes.append(f"{self.submitted:,} requests were submitted in batches{cheaper}.")
        if self._open:
            self.job.tally.notes.append(
                f"{self._under_way:,} requests are still in batches at {self.host}; run the same command again to "
                "collect them."
            )

    @property
    def _under_way(self) -> int:
        return sum(len(batch.calls) for batch in self._open.values())

    def _arrived(self, batch: Batch) -> bool:
        """Whether a batch of unknown fate arrived; one that did not is forgotten."""
        known = {one.name for state in ("open", "collected") for one in self.ledger.batches(state)}
        name = self.protocol.find(self.wire, batch.token, batch.at, batch.size, known)
        if name is None:
            self.ledger.dropped(batch)
            return False
        self.ledger.opened(batch, name)
        return True

    def _gather(self) -> None:
        """Takes what is to be asked and submits it, except what is in a batch already."""
        pending: list[_Pending] = []
        size = 0
        while (room := self.most - self._under_way - len(pending)) > 0:
            taken = self._next(min(room, _BLOCK))
            if not taken:
                break
            for call, tries in taken:
                named = self.protocol.line(call.key.hex(), self.model.wire(self._body(call)))
                line = json.dumps(named, ensure_ascii=True, separators=(",", ":")).encode()
                if pending and (len(pending) >= self.protocol.most or size + len(line) > self.protocol.largest):
                    self._submit(pending)
                    pending, size = [], 0
                pending.append((call, tries, line))
                size += len(line) + 1
        if pending:
            self._submit(pending)

    def _body(self, call: KeyedCall) -> dict[str, Any]:
        if call.ask.options and not self.model.tells_probabilities:
            raise ModelError(self.model.no_probabilities)
        return self.model.body(call.ask.request, call.ask.options)

    def _next(self, count: int) -> list[tuple[KeyedCall, int]]:
        """Requests that must be submitted; those that an earlier sitting has submitted are only waited for."""
        again = [self._again.popleft() for _ in range(min(count, len(self._again)))]
        while not again:
            calls = self.job.take(count)
            if not calls:
                return []
            held = self.ledger.held([call.key for call in calls])
            for call in calls:
                if call.key not in held:
                    again.append((call, 0))
                    continue
                number, tries = held[call.key]
                if number not in self._open:
                    self._open |= {batch.id: batch for batch in self.ledger.batches("open") if batch.id == number}
                self._open[number].calls[call.key] = call
                self._open[number].tries[call.key] = tries
        return again

    def _submit(self, pending: list[_Pending]) -> None:
        """Submits a batch, once: where the answer is lost, the provider is asked whether it has it."""
        name = self.model.name.partition(":")[2]
        for _ in range(self.job.options.tries):
            batch = self.ledger.intend({call.key: tries + 1 for call, tries, _ in pending})
            batch.calls = {call.key: call for call, _, _ in pending}
            batch.without = self.model.left_out
            try:
                lines = [line for _, _, line in pending]
                self.ledger.opened(batch, self.protocol.submit(self.wire, name, lines, batch.token))
            except Uncertain as fault:
                lost = str(fault)
                if not self._arrived(batch):
                    continue
            except (AccountError, ModelError):
                self.ledger.dropped(batch)
                raise
            self._open[batch.id] = batch
            self.submitted += len(pending)
            return
        raise ModelError(f"A batch could not be submitted: {lost}")

    def _ask_after(self, batch: Batch) -> None:
        standing = self.protocol.standing(self.wire, batch.name)
        if standing.state == "running":
            return
        del self._open[batch.id]
        if standing.state == "overloaded" and self.most > 1:
            # Too much is queued there: less is submitted from now on, and these go again.
            self.most = max(1, min(self.most, len(batch.calls)) // 2)
            note_once(self.model.notes, f"{self.host} has a full queue; batches were made smaller.")
            self._again.extend((call, batch.tries[key] - 1) for key, call in batch.calls.items())
            self.ledger.freed(batch.calls)
        else:
            self._collect(batch, standing)
        self.job.settle()
        self.ledger.collected(batch)

    def _collect(self, batch: Batch, standing: Standing) -> None:
        """Ends the requests of a batch with their results; those without one go again, as far as tries are left."""
        waiting, failed = {key.hex(): call for key, call in batch.calls.items()}, []
        if standing.state == "ended":
            for line in standing.results:
                result = read_result(self.protocol, line)
                call = waiting.pop(result.name, None)
                if call is not None and not self._ended(batch, call, result):
                    failed.append(call.key)
                if self.job.crowded:
                    self.job.settle()
        status = 400 if standing.state != "ended" else 0
        without = BatchResult("", error=standing.sentence, status=status)
        failed += [call.key for call in waiting.values() if not self._ended(batch, call, without)]
        self.job.settle()
        self.ledger.freed(failed)

    def _ended(self, batch: Batch, call: KeyedCall, result: BatchResult) -> bool:
        """Tells the job what became of a request, or puts it up for the next batch; false where it has failed."""
        tries, said = batch.tries[call.key], " ".join(result.error.split())[:300].rstrip(".")
        status = result.status
        completion: Completion | None = None
        if status == 200:
            try:
                completion = self.model.clean(self.model.read(result.body, call.ask.options))
            except (AttributeError, LookupError, TypeError, ValueError, Passing):
                status, said = 0, f"{self.host} did not answer with a chat completion"
        elif (fault := Fault.of(status, result.body, {}, said)).filtered:
            completion = Completion(fault.message, "filtered", category=fault.category or "content filter")
        # Refused for a parameter that it can go without, as others may have taught already.
        elif status in (400, 422) and (
            self.model.left_out != batch.without or self.model.leaves_out(fault, self._body(call))
        ):
            self._again.append((call, tries - 1))
            return True
        if completion is None and (status in _PASSING or status >= 500) and tries < self.job.options.tries:
            self._again.append((call, tries))
            return True
        if completion is None:
            after = f" (after {tries} tries)" if tries > 1 else ""
            completion = Completion("", "failed", error=self.model.scrubbed(f"{said}{after}."))
        self.job.end(call, completion, tries=tries, seconds=max(0.0, time.time() - batch.at))
        return completion.finish != "failed"
