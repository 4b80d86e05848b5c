"""This process: a remote model gets many requests at a time, a model that runs here gets them in batches."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Final

import numpy as np

from vantage.raters.chat import ChatRater
from vantage.raters.models.base import (
    ChatModel,
    Completion,
    Passing,
    Remote,
    Several,
    Stoppable,
    estimate_tokens,
    never,
)
from vantage.runs.job import Job
from vantage.runs.keys import KeyedCall
from vantage.runs.limits import AdaptiveLimiter, PerMinute, back_off
from vantage.runs.options import RunOptions

CONCURRENCY: Final = 8
"""Requests under way at a time where neither the run nor the model says otherwise."""
GRACE: Final = 10.0
"""Seconds that requests under way are given when a run is stopped."""
SMALLEST: Final = 32
"""Requests in the first batch of a model that runs here."""
LARGEST: Final = 2048
BATCH_SECONDS: Final = 10.0
"""How long a batch should take: long enough to share work, short enough to lose little."""
LOOK_AGAIN: Final = 0.2
"""Seconds between two looks for what other processes were asked for."""


class LocalEngine:
    """Sends requests from this process."""

    price_share = 1.0

    def open(self, rater: ChatRater, options: RunOptions) -> ChatModel:
        """The model itself, loaded here."""
        return rater.open()

    def run(self, model: ChatModel, job: Job) -> None:
        """Sends the job's requests until there are no more or the run is stopped."""
        if isinstance(model, Remote):
            own: int = getattr(model, "concurrency", CONCURRENCY)
            most = job.options.concurrency or own
            model.wait(_Remotely(model, job, most).run())
        else:
            _in_batches(model, job)
        job.settle()


class _Remotely:
    """Many requests under way to one endpoint."""

    def __init__(self, model: Remote, job: Job, most: int) -> None:
        self.model, self.job, self.most = model, job, most
        self.limiter = AdaptiveLimiter(most)
        self.requests = PerMinute(job.options.requests_per_minute)
        self.tokens = PerMinute(job.options.tokens_per_minute)
        self.draw = random.Random()  # noqa: S311 - spreads retries, decides nothing
        self.news = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self.news.set)

        self.job.on_news = wake
        senders = [asyncio.create_task(self._send_on()) for _ in range(self.most)]
        stopping = asyncio.create_task(self._give_up(senders))
        try:
            # The first error, such as a model that cannot do what is asked, ends them all.
            await asyncio.gather(*senders)
        except asyncio.CancelledError:
            if not self.job.stopping.is_set():
                raise
        finally:
            for task in (*senders, stopping):
                task.cancel()
            await asyncio.gather(*senders, stopping, return_exceptions=True)
            self.job.on_news = lambda: None

    async def _give_up(self, senders: list[asyncio.Task[None]]) -> None:
        """When the run is to stop, requests under way get a little time and are then given up."""
        while not self.job.stopping.is_set():
            await asyncio.sleep(LOOK_AGAIN)
        await asyncio.sleep(GRACE)
        for task in senders:
            task.cancel()

    async def _send_on(self) -> None:
        """Sends one request after the other."""
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
                await self._wait_for_news()

    async def _wait_for_news(self) -> None:
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
        start, tries, fault = time.monotonic(), 0, ""
        completions: list[Completion] = []
        try:
            async with asyncio.timeout(self.job.options.deadline):
                while not completions:
                    tries += 1
                    completions, fault = await self._try(calls, tries)
        except TimeoutError:
            message = fault or "The endpoint did not answer."
            sentence = f"{message} (Given up after {self.job.options.deadline:g} seconds.)"
            completions = [Completion("", "failed", error=sentence)] * len(calls)
        for call, completion in zip(calls, completions, strict=False):
            self.job.end(call, completion, tries=tries, seconds=time.monotonic() - start)
        for call in calls[len(completions) :]:
            await self._send([call])

    async def _spend(self, call: KeyedCall) -> None:
        """Waits for the request's share of the minute."""
        await self.requests.spend(1)
        if self.job.options.tokens_per_minute is not None:
            await self.tokens.spend(sum(estimate_tokens(m.content) for m in call.ask.request.messages))

    async def _try(self, calls: list[KeyedCall], tries: int) -> tuple[list[Completion], str]:
        """One try; without a completion where another should follow, the wait for which is over."""
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
            if tries >= self.job.options.tries:
                message = str(fault).rstrip(".")
                return [Completion("", "failed", error=f"{message} (after {tries} tries).")] * len(calls), ""
            await asyncio.sleep(max(back_off(tries, self.draw), fault.after or 0.0))
            return [], str(fault)
        self.limiter.went_well()
        self.job.tally.limit = int(self.limiter.limit)
        return completions, ""


def _in_batches(model: ChatModel, job: Job) -> None:
    """One batch after the other, of a size that takes some seconds; each is durable before the next begins."""
    look = _Look(job)
    if isinstance(model, Stoppable):
        model.stopped = look
    try:
        _one_after_the_other(model, job, look)
    finally:
        if isinstance(model, Stoppable):
            model.stopped = never


def _one_after_the_other(model: ChatModel, job: Job, look: _Look) -> None:
    size = SMALLEST
    while not job.stopping.is_set():
        calls = job.take(size)
        if not calls:
            if job.source.idle:
                return
            job.settle()
            if job.source.elsewhere:
                time.sleep(LOOK_AGAIN)
                job.source.look_again()
            continue
        start = time.monotonic()
        for options in dict.fromkeys(call.ask.options for call in calls):
            _batch(model, job, look, [call for call in calls if call.ask.options == options])
        job.settle()
        seconds = max(time.monotonic() - start, 1e-3)
        size = max(SMALLEST, min(LARGEST, 2 * size, int(len(calls) / seconds * BATCH_SECONDS)))


class _Look:
    """Whether a job is stopping, and whether a model has noticed."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.noticed = False

    def __call__(self) -> bool:
        self.noticed = self.noticed or self._job.stopping.is_set()
        return self.noticed


def _batch(model: ChatModel, job: Job, look: _Look, calls: list[KeyedCall]) -> None:
    start = time.monotonic()
    requests = [call.ask.request for call in calls]
    if not calls[0].ask.options:
        # Each reply is stored as it is made, so that a kill loses no more than the model computes at once.
        together: int = getattr(model, "together", len(calls))
        for first in range(0, len(calls), together):
            start = time.monotonic()
            some = model.complete(requests[first : first + together])
            _end(job, look, calls[first : first + together], some, (time.monotonic() - start) / len(some))
    else:
        before = len(model.notes)
        scores = model.score(requests, calls[0].ask.options)
        reason = " ".join(model.notes[before:]) or "The options could not be scored."
        completions = [
            Completion("", "failed", error=reason) if np.isnan(row).any() else Completion("", scores=tuple(row))
            for row in scores.tolist()
        ]
        _end(job, look, calls, completions, (time.monotonic() - start) / len(calls))


def _end(job: Job, look: _Look, calls: list[KeyedCall], completions: list[Completion], seconds: float) -> None:
    for call, completion in zip(calls, completions, strict=True):
        if look.noticed and completion.finish == "failed":
            # It may only have been given up; the next run asks it again.
            continue
        job.end(call, completion, seconds=seconds)
