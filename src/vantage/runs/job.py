"""One model's share of a run under way: what an engine tells when a request has ended, and what tells it to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from vantage.raters.models.base import Completion
from vantage.runs.budget import Budget
from vantage.runs.faults import StoreError
from vantage.runs.keys import KeyedCall
from vantage.runs.options import RunOptions
from vantage.runs.source import CallSource
from vantage.runs.store import RunStore
from vantage.runs.tables import FinishedCall
from vantage.runs.tally import RunTally

UNSTORED: Final = 4000
"""Calls that may wait to be stored before nothing more is sent, so that a slow disk does not fill the memory."""


class Job:
    """What the requests to one model in one run share.

    Args:
        source: Where the requests come from.
        store: Where calls are put.
        run: The number of the run.
        options: How it is carried out.
        tally: Counts.
        budget: What may be spent.
    """

    def __init__(
        self, source: CallSource, store: RunStore, run: int, options: RunOptions, tally: RunTally, budget: Budget
    ) -> None:
        self.source, self.store, self.run, self.options, self.tally = source, store, run, options, tally
        self.budget = budget
        self.stopping = threading.Event()
        """Set when nothing more is to be sent."""
        self.error: StoreError | None = None
        """Why calls could not be stored."""
        self.on_news: Callable[[], None] = lambda: None
        """Called, in the thread that writes, when calls became durable and the source may have more to send."""
        self._unstored = 0
        self._changed = threading.Condition()

    def stop(self, sentence: str) -> None:
        """Lets nothing more be sent, and says why; what is under way may come to its end."""
        self.tally.ended = self.tally.ended or sentence
        self.stopping.set()
        self.on_news()

    @property
    def crowded(self) -> bool:
        """Whether too many calls wait to be stored."""
        return self._unstored > UNSTORED

    def take(self, count: int) -> list[KeyedCall]:
        """Up to so many requests that may be sent now, as far as the budget reaches.

        None means: nothing for now, or, when the source is idle or the job is stopping, nothing any more.
        """
        if self.stopping.is_set():
            return []
        calls = self.source.take(count)
        for number, call in enumerate(calls):
            if not self.budget.reserve(call):
                self.source.put_back(calls[number:])
                if not self.budget.under_way:
                    self.tally.capped = True
                    self.stop(self.budget.sentence)
                return calls[:number]
        return calls

    def take_several(self, count: int) -> list[KeyedCall]:
        """A request that may be sent now, with up to so many in all that are further samples of the same."""
        calls = self.take(1)
        while calls and len(calls) < count and self.source.repeats(calls[0]):
            if not (more := self.take(1)):
                break
            calls += more
        return calls

    def end(self, call: KeyedCall, completion: Completion, *, tries: int = 1, seconds: float = 0.0) -> None:
        """A request has ended: it is handed to the store, and counts when it is durable."""
        with self._changed:
            self._unstored += 1
        self.store.put(FinishedCall(call, completion, self.run, time.time(), tries, seconds), self._durable)

    def settle(self) -> None:
        """Waits until everything that has ended is durable."""
        with self._changed:
            self._changed.wait_for(lambda: self._unstored == 0)

    def _durable(self, batch: Sequence[FinishedCall], error: StoreError | None) -> None:
        """A group of calls was stored, or could not be."""
        try:
            if error is not None:
                self.error = error
                self.stop(str(error))
                return
            for one in batch:
                self._count(one)
            self.source.tell([(one.call, one.completion) for one in batch])
            if sentence := self.tally.too_many_failed(self.options.fail_on):
                self.stop(sentence)
        finally:
            with self._changed:
                self._unstored -= len(batch)
                self._changed.notify_all()
            self.on_news()

    def _count(self, one: FinishedCall) -> None:
        self.tally.add(one.completion, self.budget.price)
        self.tally.retried += one.tries - 1
        self.tally.clarified += one.call.ask.step == "clarify"
        self.budget.settle(one.call, one.completion)
