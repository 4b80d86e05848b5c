"""One model's share of a run under way: what an engine tells when a request has ended, and what tells it to stop.

With `--max-cost`, nothing is sent that could take the run over its limit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from vantage.raters.models.base import AccountError, Completion, estimate_tokens
from vantage.runs.control import Control
from vantage.runs.keys import KeyedCall
from vantage.runs.options import RunOptions
from vantage.runs.prices import Price, cost_of, paid
from vantage.runs.source import CallSource
from vantage.runs.store import RunStore
from vantage.runs.tables import FinishedCall, StoreError
from vantage.runs.tally import RunTally

_TURN: Final = 8
"""Tokens that a chat template may put around a message."""


class Budget:
    """What a run has spent and has put aside for requests under way, over all its models, and its limit.

    A request is allowed only while all that was spent, all that is under way and the request itself stay within
    the limit, each request taken at its most expensive: a prompt of as many tokens as it may have and a reply of
    as many as it is allowed.
    """

    def __init__(self, limit: float | None = None, spent: float = 0.0) -> None:
        self.limit, self.spent, self.aside = limit, spent, 0.0
        self.reserved: dict[bytes, float] = {}
        """What is put aside for each request under way."""
        # Requests set out in some threads and are settled in another.
        self._lock = threading.Lock()

    def reserve(self, call: KeyedCall, price: Price | None) -> bool:
        """Whether the call may be sent; what it may cost is then put aside."""
        if self.limit is None or price is None:
            return True
        request = call.ask.request
        prompt = sum(estimate_tokens(message.content) + _TURN for message in request.messages)
        most = cost_of(price, prompt, 1 if call.ask.options else request.sampling.max_tokens)
        with self._lock:
            if self.spent + self.aside + most > self.limit:
                return False
            self.reserved[call.key] = most
            # Kept as a sum, since a batch holds tens of thousands of requests.
            self.aside += most
        return True

    def release(self, call: KeyedCall, cost: float = 0.0) -> None:
        """Frees what was put aside for a call, which may have cost something."""
        with self._lock:
            self.aside -= self.reserved.pop(call.key, 0.0)
            self.spent += cost

    @property
    def sentence(self) -> str:
        """Why nothing more is sent."""
        return f"The next request could exceed the limit of {self.limit:g}; {self.spent:.4g} has been spent."


class Account:
    """What is sent on one account, whichever models answer: a fault of the account stops all of it."""

    def __init__(self) -> None:
        self.fault: AccountError | None = None
        self._jobs: list[Job] = []
        self._lock = threading.Lock()

    def admit(self, job: Job) -> None:
        """Lets a job send on this account, unless it was found to be at fault."""
        with self._lock:
            self._jobs.append(job)
        if self.fault is not None:
            job.break_off(self.fault)

    def break_off(self, fault: AccountError) -> None:
        """Stops all that is sent on this account."""
        with self._lock:
            self.fault, jobs = self.fault or fault, [*self._jobs]
        for job in jobs:
            job.break_off(self.fault)


UNSTORED: Final = 4000
"""Calls that may wait to be stored before nothing more is sent, so that a slow disk does not fill the memory."""


class Job:
    """What the requests to one model in one run share."""

    def __init__(
        self,
        source: CallSource,
        store: RunStore,
        run: int,
        options: RunOptions,
        tally: RunTally,
        budget: Budget,
        price: Price | None = None,
    ) -> None:
        self.source, self.store, self.run, self.options, self.tally = source, store, run, options, tally
        self.budget, self.price = budget, price
        self.stopping = threading.Event()
        """Set when nothing more is to be sent."""
        self.paused = False
        """Whether nothing is to be sent until the run is resumed."""
        self.account = Account()
        """What else is sent on the same account; see `Account.admit`."""
        self.broken: AccountError | None = None
        """What is wrong with the account that the model is used on."""
        self.error: StoreError | None = None
        """Why calls could not be stored."""
        self.on_news: Callable[[], object] = lambda: None
        """Called, in the thread that writes, when calls became durable and the source may have more to send."""
        self._unstored = 0
        self._changed = threading.Condition()

    def stop(self, sentence: str) -> None:
        """Lets nothing more be sent, and says why; what is under way may come to its end."""
        self.tally.ended = self.tally.ended or sentence
        self.stopping.set()
        self.on_news()

    def heed(self, control: Control) -> None:
        """Does what the run is asked for: pauses, goes on, and takes over other limits."""
        if control.max_cost is not None and self.price is None:
            self.tally.note(f"The limit of {control.max_cost:g} cannot be enforced for a model of unknown price.")
        self.paused = control.paused
        self.tally.standing = "paused" if control.paused else ""
        self.options = replace(self.options, **control.limits)
        self.on_news()

    def break_off(self, fault: AccountError, calls: Sequence[KeyedCall] = ()) -> None:
        """Stops what is sent on an account that is at fault; the calls that met the fault stay open."""
        for call in calls:
            self.budget.release(call)
        if self.broken is None:
            self.broken = fault
            self.stop(str(fault))
            if not fault.alone:
                self.account.break_off(fault)

    @property
    def crowded(self) -> bool:
        """Whether too many calls wait to be stored."""
        return self._unstored > UNSTORED

    def take(self, count: int) -> list[KeyedCall]:
        """Up to so many requests that may be sent now, as far as the budget reaches.

        None of them means: nothing for now, or, when the source is idle or the job is stopping, nothing any more.
        """
        if self.stopping.is_set() or self.paused:
            return []
        calls = self.source.take(count)
        for number, call in enumerate(calls):
            if not self.budget.reserve(call, self.price):
                self.source.put_back(calls[number:])
                if not self.budget.reserved:
                    self.tally.capped = True
                    self.stop(self.budget.sentence)
                return calls[:number]
        return calls

    @property
    def following(self) -> KeyedCall | None:
        """The next request that may be taken, where one is ready."""
        return self.source.following

    def take_several(self, count: int) -> list[KeyedCall]:
        """A request that may be sent now, with up to so many in all that are further samples of the same."""
        calls = self.take(1)
        while calls and len(calls) < count and (following := self.following) and following.repeats(calls[0]):
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
        try:
            if error is not None:
                self.error = error
                self.stop(str(error))
                return
            for one in batch:
                self.tally.add(one.completion, self.price)
                self.tally.retried += one.tries - 1
                self.tally.clarified += one.call.ask.step == "clarify"
                self.budget.release(one.call, paid(self.price, one.completion) or 0.0)
            self.source.tell([(one.call, one.completion) for one in batch])
            if sentence := self.tally.too_many_failed(self.options.fail_on):
                self.stop(sentence)
        finally:
            with self._changed:
                self._unstored -= len(batch)
                self._changed.notify_all()
            self.on_news()
