"""This process: a remote model gets many requests at a time, a model that runs here gets them in batches.

Requests are sent as many at a time as the server bears, and no more a minute than was asked for.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import numpy as np

from vantage.raters.chat import ChatRater
from vantage.raters.models.base import (
    AccountError,
    ChatModel,
    Completion,
    Passing,
    Remote,
    Request,
    Several,
    Stoppable,
    estimate_tokens,
    never,
)
from vantage.runs.job import Job
from vantage.runs.keys import KeyedCall
from vantage.runs.options import CONCURRENCY, RunOptions

PATIENCE: Final = 300.0
"""Seconds; an endpoint that asks for a longer wait is waited for, whatever tries and deadline are left."""
OUTAGE: Final = 24 * 3600.0
"""Seconds for which an endpoint that has answered before is waited for when it is down."""
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
    """Limits the requests in flight: fewer after an overload, gradually more while all goes well.

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
        """Waits for a place; returns the moment at which the request starts."""
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

    def allow(self, most: int) -> None:
        """Another limit from now on."""
        if most != self.most:
            self.most, self.limit = most, float(most)
            self._call()

    def went_well(self) -> None:
        """The server answered a request."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
            self._call()

    def overloaded(self, since: float, after: float | None) -> None:
        """The server was too busy for a request sent at `since`, and may have asked to wait."""
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
    """Spreads something that is limited per minute evenly over the minute; a second's worth may come at once."""

    def __init__(self, limit: float | None) -> None:
        self._next = time.monotonic()
        self.allow(limit)

    def allow(self, limit: float | None) -> None:
        """Another limit from now on."""
        self._rate = None if limit is None else limit / 60.0

    async def spend(self, amount: float) -> None:
        """Waits until so much may be spent."""
        if self._rate is None:
            return
        now = time.monotonic()
        start = max(self._next, now - 1.0)
        self._next = start + amount / self._rate
        if start > now:
            await asyncio.sleep(start - now)


REACH: Final = 5.0
"""Seconds within which a running endpoint accepts a connection."""
GRACE: Final = 10.0
"""Seconds that requests in flight are given when a run is stopped."""
SMALLEST: Final = 32
"""Requests in the first batch of a model that runs here."""
LARGEST: Final = 2048
BATCH_SECONDS: Final = 10.0
"""How long a batch should take: long enough to share work, short enough to lose little."""
LOOK_AGAIN: Final = 0.2
"""Seconds between two looks for what other processes were asked for."""


class LocalEngine:
    """Sends requests from this process."""

    in_batches = False

    def open(self, rater: ChatRater, options: RunOptions) -> ChatModel:
        """The model itself, loaded here."""
        return rater.open()

    def run(self, model: ChatModel, job: Job) -> None:
        """Sends the job's requests until there are no more or the run is stopped."""
        if isinstance(model, Remote):
            model.wait(_Remotely(model, job).run())
        else:
            _InBatches(model, job).run()
        job.settle()


class _Remotely:
    def __init__(self, model: Remote, job: Job) -> None:
        self.model, self.job = model, job
        self.own: int = getattr(model, "concurrency", CONCURRENCY)
        """Requests under way at a time where the run does not say."""
        self.limiter = AdaptiveLimiter(job.options.concurrency or self.own)
        self.answered = False
        """Whether the endpoint has answered in this run."""
        self.down_since: float | None = None
        self.requests = PerMinute(job.options.requests_per_minute)
        self.tokens = PerMinute(job.options.tokens_per_minute)
        self.draw = random.Random()  # noqa: S311 - spreads retries, decides nothing
        self.news = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self.job.on_news = lambda: loop.call_soon_threadsafe(self.news.set)
        senders: list[asyncio.Task[None]] = []
        give_up = float("inf")
        try:
            while time.monotonic() < give_up:
                self._heed_limits()
                senders += [asyncio.create_task(self._send_on()) for _ in range(self.limiter.most - len(senders))]
                done, open_ = await asyncio.wait(senders, timeout=LOOK_AGAIN, return_when=asyncio.FIRST_EXCEPTION)
                for task in done:
                    # The first error, such as a model that cannot do what is asked, ends them all.
                    task.result()
                if not open_:
                    return
                if self.job.stopping.is_set():
                    # Requests under way get a little time and are then given up.
                    give_up = min(give_up, time.monotonic() + GRACE)
        finally:
            for task in senders:
                task.cancel()
            await asyncio.gather(*senders, return_exceptions=True)
            self.job.on_news = lambda: None

    def _heed_limits(self) -> None:
        """Takes over the limits of the run, which can be tuned while it is under way."""
        options = self.job.options
        self.limiter.allow(options.concurrency or self.own)
        self.requests.allow(options.requests_per_minute)
        self.tokens.allow(options.tokens_per_minute)

    async def _send_on(self) -> None:
        while not self.job.stopping.is_set():
            await self.limiter.enter()
            try:
                several = self.model.several if isinstance(self.model, Several) else 1
                calls = [] if self.job.crowded else self.job.take_several(several)
                if calls:
                    await self._send(calls)
            finally:
                self.limiter.leave()
            if not calls:
                if self.job.source.idle:
                    self.news.set()
                    return
                self.news.clear()
                try:
                    async with asyncio.timeout(LOOK_AGAIN):
                        await self.news.wait()
                except TimeoutError:
                    self.job.source.look_again()

    async def _send(self, calls: list[KeyedCall]) -> None:
        """One request to its end: through faults that pass, until a reply, a lasting fault or the deadline.

        Samples of the same request go together; those to which no reply came are then sent one by one.
        """
        await self._spend(calls[0])
        start, tries, waited, fault = time.monotonic(), 0, 0, ""
        completions: list[Completion] = []
        try:
            async with asyncio.timeout(self.job.options.deadline) as limit:
                while not completions:
                    tries += 1
                    completions, fault, patient = await self._try(calls, tries, waited, limit)
                    waited += patient
        except AccountError as broken:
            # Nobody else's request would go better: what is open stays open for the next start.
            self.job.break_off(broken, calls)
            return
        except TimeoutError:
            message = fault or "The endpoint did not answer."
            sentence = f"{message} (Given up after {self.job.options.deadline:g} seconds.)"
            completions = [Completion("", "failed", error=sentence)] * len(calls)
        for call, completion in zip(calls, completions, strict=False):
            self.job.end(call, completion, tries=tries, seconds=time.monotonic() - start)
        for call in calls[len(completions) :]:
            await self._send([call])

    async def _spend(self, call: KeyedCall) -> None:
        await self.requests.spend(1)
        if self.job.options.tokens_per_minute is not None:
            await self.tokens.spend(sum(estimate_tokens(m.content) for m in call.ask.request.messages))

    async def _try(
        self, calls: list[KeyedCall], tries: int, waited: int, limit: asyncio.Timeout | None = None
    ) -> tuple[list[Completion], str, bool]:
        """One try; without a completion where another should follow, the wait for which is over.

        `waited` of the tries do not count, and whether this one does is said too: an outage was waited out.
        """
        call = calls[0]
        if tries > 1:
            await self._spend(call)
        since = time.monotonic()
        try:
            if len(calls) > 1 and isinstance(self.model, Several):
                completions = await self.model.attempt_several(call.ask.request, len(calls))
            else:
                completions = [await self.model.attempt(call.ask.request, call.ask.options)]
        except Passing as fault:
            if fault.overload:
                self.limiter.overloaded(since, fault.after)
                self.job.tally.limit = int(self.limiter.limit)
            wait = max(back_off(tries, self.draw), fault.after or 0.0)
            if fault.down and not fault.overload and await self._reachable():
                # Where the endpoint can be reached, the connection was lost over this request.
                fault.down = False
            patient = self._is_waited_for(fault, wait)
            # How often a server may ask to wait a little is a matter of the deadline alone.
            if tries - waited >= self.job.options.tries and not patient and fault.after is None:
                message = str(fault).rstrip(".")
                return [Completion("", "failed", error=f"{message} (after {tries} tries).")] * len(calls), "", False
            when = limit.when() if limit is not None else None
            if patient and limit is not None and when is not None:
                limit.reschedule(when + wait + time.monotonic() - since)
            await asyncio.sleep(wait)
            return [], str(fault), patient
        if self.down_since is not None:
            self.job.tally.standing = "paused" if self.job.paused else ""
        self.answered, self.down_since = True, None
        self.limiter.went_well()
        self.job.tally.limit = int(self.limiter.limit)
        return completions, "", False

    async def _reachable(self) -> bool:
        parts = urlsplit(str(getattr(self.model, "url", "")))
        try:
            async with asyncio.timeout(REACH):
                _, writer = await asyncio.open_connection(
                    parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)
                )
                writer.close()
        except (OSError, TimeoutError):
            return False
        return True

    def _is_waited_for(self, fault: Passing, wait: float) -> bool:
        """Whether a fault is waited out, which uses up neither the tries nor the time of a request.

        These are a quota of a day, and an outage of an endpoint that has answered before.
        """
        said, now = str(fault).rstrip("."), time.monotonic()
        if fault.after is not None and fault.after > PATIENCE:
            self.job.tally.note(f"{said}; waiting for the {wait / 3600:.1f} h that it asks for.")
            return True
        if not (fault.down and self.answered):
            return False
        self.down_since = now if self.down_since is None else self.down_since
        self.job.tally.standing = "waiting for the endpoint"
        self.job.tally.note(f"{said}; waiting for up to a day until it is back.")
        return now - self.down_since < OUTAGE


class _InBatches:
    """One batch after the other, of a size that takes some seconds; each is durable before the next begins."""

    def __init__(self, model: ChatModel, job: Job) -> None:
        self.model, self.job = model, job
        self.noticed = False
        """Whether the model has noticed that the job is stopping."""

    def run(self) -> None:
        if isinstance(self.model, Stoppable):
            self.model.stopped = self._look
        try:
            self._one_after_the_other()
        finally:
            if isinstance(self.model, Stoppable):
                self.model.stopped = never

    def _look(self) -> bool:
        self.noticed = self.noticed or self.job.stopping.is_set()
        return self.noticed

    def _one_after_the_other(self) -> None:
        job, size = self.job, SMALLEST
        while not job.stopping.is_set():
            calls = job.take(size)
            if not calls:
                if job.source.idle:
                    return
                job.settle()
                if job.source.elsewhere or job.paused:
                    time.sleep(LOOK_AGAIN)
                    job.source.look_again()
                continue
            start = time.monotonic()
            for options in dict.fromkeys(call.ask.options for call in calls):
                self._batch([call for call in calls if call.ask.options == options])
            job.settle()
            seconds = max(time.monotonic() - start, 1e-3)
            size = max(SMALLEST, min(LARGEST, 2 * size, int(len(calls) / seconds * BATCH_SECONDS)))

    def _batch(self, calls: list[KeyedCall]) -> None:
        options = calls[0].ask.options
        # Each reply is stored as it is made, so that a kill loses no more than the model computes at once.
        together: int = len(calls) if options else getattr(self.model, "together", len(calls))
        for first in range(0, len(calls), together):
            some, start = calls[first : first + together], time.monotonic()
            requests = [call.ask.request for call in some]
            completions = self._scored(requests, options) if options else self.model.complete(requests)
            seconds = (time.monotonic() - start) / len(some)
            for call, completion in zip(some, completions, strict=True):
                # One that failed may only have been given up; the next run asks it again.
                if not (self.noticed and completion.finish == "failed"):
                    self.job.end(call, completion, seconds=seconds)

    def _scored(self, requests: list[Request], options: Sequence[str]) -> list[Completion]:
        before = len(self.model.notes)
        scores = self.model.score(requests, options)
        reason = " ".join(self.model.notes[before:]) or "The options could not be scored."
        return [
            Completion("", "failed", error=reason) if np.isnan(row).any() else Completion("", scores=tuple(row))
            for row in scores.tolist()
        ]
