"""A Ray cluster: the plan is sharded over workers, each with a model or a client of its own.

The process that starts the run plans, keeps the store and reads the judgments; workers only answer. Requests are handed
out a few seconds ahead in the order of the plan, so that a fast worker gets more of them and neighbours, which share
the beginning of their prompts, stay together.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from vantage._version import __version__
from vantage.errors import InputError, VantageError
from vantage.raters.chat import ChatRater
from vantage.raters.conversation import Ask
from vantage.raters.models import account_of, is_remote, load_model
from vantage.raters.models.base import (
    AccountError,
    ChatModel,
    Completion,
    ModelError,
    Unopened,
    brief,
    note_once,
    require,
)
from vantage.raters.models.huggingface import HubTokens
from vantage.runs.engines.local import GRACE, LocalEngine
from vantage.runs.job import UNSTORED, Budget, Job
from vantage.runs.keys import KeyedCall
from vantage.runs.options import CONCURRENCY, RunOptions
from vantage.runs.source import CallSource
from vantage.runs.store import RunStore
from vantage.runs.tally import RunTally

PATIENCE: Final = 0.2
"""Seconds for which a worker gathers what has ended before it tells."""
AHEAD: Final = 3
"""How many times what it ended between two tellings a worker wants to have at hand."""

Handed: TypeAlias = tuple[bytes, Ask]
"""A request with its key, as it travels."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker tells when it is asked how far it has come."""

    ended: list[tuple[bytes, Completion, int, float]]
    """Key, what came back, tries and seconds."""
    wants: int
    """How many more requests it could take."""
    limit: int
    notes: list[str]
    error: str = ""
    """Why it can do nothing more, in a sentence."""
    broken: AccountError | None = None
    """What is wrong with the account."""
    done: bool = False


class _Unending:
    """Where a worker's requests come from: others may be handed over until it is stopped."""

    idle = False
    elsewhere = True

    def look_again(self) -> None:
        """There is nowhere to look: requests are brought."""


class Worker(Job):
    """What runs on the cluster: a model by its name and settings, and a job whose calls are handed in and back.

    `version` is that of the Vantage that started the run.
    """

    def __init__(self, spec: str, settings: Mapping[str, Any], options: RunOptions, version: str) -> None:
        # Storing, counting and paying are done by the process that handed the requests over.
        source, store = cast(CallSource, _Unending()), cast(RunStore, None)
        super().__init__(source, store, 0, options, RunTally(), Budget())
        self._spec, self._settings, self._version = spec, settings, version
        self._model: ChatModel | None = None
        self._problem = ""
        self._done = threading.Event()
        self._most = self._asked_for = 1
        self._handed: deque[KeyedCall] = deque()
        self._ended: deque[tuple[bytes, Completion, int, float]] = deque()

    @property
    def crowded(self) -> bool:
        """Whether too much that has ended waits to be told."""
        return len(self._ended) > UNSTORED

    def take(self, count: int) -> list[KeyedCall]:
        """Up to so many of the requests at hand."""
        self._asked_for = max(self._asked_for, count)
        if self.stopping.is_set():
            return []
        return [self._handed.popleft() for _ in range(min(count, len(self._handed)))]

    @property
    def following(self) -> KeyedCall | None:
        """The next of the requests at hand."""
        return self._handed[0] if self._handed else None

    def end(self, call: KeyedCall, completion: Completion, *, tries: int = 1, seconds: float = 0.0) -> None:
        """A request has ended; it is reported at the next exchange."""
        self._ended.append((call.key, completion, tries, seconds))

    def begin(self) -> str:
        """Loads the model and starts to work; why it cannot, in a sentence, or nothing."""
        if self._version != __version__:
            return f"A worker has Vantage {__version__}, the run was started by {self._version}; install the same."
        try:
            self._model = load_model(self._spec, **self._settings)
        except VantageError as error:
            return str(error)
        own: int = getattr(self._model, "concurrency", CONCURRENCY)
        self._most = self.options.concurrency or own
        threading.Thread(target=self._work, args=(self._model,), name="worker", daemon=True).start()
        return ""

    def exchange(self, requests: Sequence[Handed], stop: bool) -> WorkerReport:
        """Takes requests over and tells what has ended, after a short while in which more of it gathers."""
        self._handed.extend([KeyedCall(key, ask, (b"", ""), ()) for key, ask in requests])
        if requests:
            self.on_news()
        if stop:
            self.stop("The run was stopped.")
        self._done.wait(PATIENCE)
        done = self._done.is_set()
        ended = [self._ended.popleft() for _ in range(len(self._ended))]
        ahead = max(2 * self._most, 2 * self._asked_for, AHEAD * len(ended))
        wants = 0 if done else max(0, ahead - len(self._handed))
        notes = list(self._model.notes) if self._model is not None else []
        return WorkerReport(ended, wants, self.tally.limit, notes, self._problem, self.broken, done)

    def _work(self, model: ChatModel) -> None:
        try:
            LocalEngine().run(model, self)
        except VantageError as error:
            self._problem = str(error)
        except Exception as error:
            self._problem = f"A worker failed ({type(error).__name__}: {error})."
        finally:
            model.close()
            self._done.set()


START: Final = 600.0
"""Seconds in which every worker must have loaded its model."""
LOSSES: Final = 3
"""How often a worker may be lost, on average, before the run is given up."""
_QUIET: Final = {
    # Nothing about a run is sent to anyone else.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Workers without a GPU of their own see none; Ray's coming default, chosen here so that it need not warn.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
}


class RayEngine:
    """Sends requests from the workers of a cluster."""

    in_batches = False

    def open(self, rater: ChatRater, options: RunOptions) -> ChatModel:
        """What prompts are measured with; a large model is not loaded here."""
        require("ray", "ray")
        if not isinstance(rater.model, str):
            raise InputError(
                "the engine 'ray' cannot send a loaded model to other machines",
                remedy="name the model, such as hf:PATH",
            )
        kind, _, argument = rater.model.partition(":")
        if is_remote(rater.model):
            return Unopened(rater.model, rater.settings, account_of(rater.model, rater.settings))
        return HubTokens(argument, **rater.settings) if kind == "hf" else rater.open()

    def run(self, model: ChatModel, job: Job) -> None:
        """Hands the job's requests to workers until there are no more or the run is stopped."""
        ray = require("ray", "ray")
        rater = job.source.parts[0].part.rater
        with connected(ray, job.options):
            nodes = sum(1 for node in ray.nodes() if node["Alive"])
            count, needs = crew_size(job.options.workers, ray.cluster_resources(), nodes, rater.model_name)
            if nodes == 1:
                note_once(model.notes, "There is one machine in the cluster; without --engine ray it is faster.")
            crew = _Crew(ray, rater, job, model, count, needs)
            try:
                crew.begin()
                crew.work()
            except (ray.exceptions.RaySystemError, ray.exceptions.GetTimeoutError, ConnectionError) as error:
                raise ModelError(
                    f"The Ray cluster was lost ({brief(error)}). Every reply so far is stored: start the cluster and "
                    "run the same command again."
                ) from None
            finally:
                crew.end()
        job.settle()


@contextmanager
def connected(ray: Any, options: RunOptions) -> Iterator[None]:
    """A connection to the cluster; one that this process has already is used and kept."""
    if ray.is_initialized():
        yield
        return
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    address = options.ray_address or os.environ.get("RAY_ADDRESS") or "local"
    own: dict[str, Any] = {}
    if address == "local":
        own = {"num_cpus": max(os.cpu_count() or 1, options.workers or 1), "include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise ModelError(f"The Ray cluster at {address} cannot be used ({brief(error)}).") from None
    try:
        yield
    finally:
        ray.shutdown()


def crew_size(
    wanted: int | None, resources: Mapping[str, float], nodes: int, model: str
) -> tuple[int, dict[str, float]]:
    """How many workers there are, and what each needs of the cluster.

    A model that is computed by the worker gets a GPU where the cluster has some, and otherwise its share of the
    processors; a client of an endpoint needs little.

    >>> crew_size(None, {"CPU": 64.0, "GPU": 8.0}, 2, "hf:judge")
    (8, {'num_cpus': 1, 'num_gpus': 1})
    >>> crew_size(None, {"CPU": 64.0}, 2, "gguf:judge.gguf")
    (2, {'num_cpus': 32, 'num_gpus': 0})
    >>> crew_size(4, {"CPU": 2.0}, 1, "openai:judge")
    (4, {'num_cpus': 0.5, 'num_gpus': 0})
    """
    processors, gpus = resources.get("CPU", 0.0), resources.get("GPU", 0.0)
    if gpus and model.startswith(("hf:", "gguf:")):
        count = wanted or max(1, int(gpus))
        return count, {"num_cpus": min(1, processors / count), "num_gpus": 1 if count <= gpus else gpus / count}
    count = wanted or max(1, nodes)
    each = processors / count
    client = is_remote(model)
    return count, {"num_cpus": min(1, each) if client or each < 1 else int(each), "num_gpus": 0}


@dataclass(eq=False, slots=True)
class _Hand:
    actor: Any
    under_way: dict[bytes, KeyedCall] = field(default_factory=dict)


class _Crew:
    def __init__(
        self, ray: Any, rater: ChatRater, job: Job, model: ChatModel, count: int, needs: Mapping[str, float]
    ) -> None:
        self.ray, self.job, self.model, self.count = ray, job, model, count
        self._plan = (*_elsewhere(rater), _shared(job.options, count), __version__)
        self._make = ray.remote(Worker).options(scheduling_strategy="SPREAD", max_restarts=0, **needs)
        self._hands: list[_Hand] = []
        self._again: deque[KeyedCall] = deque()
        """What workers had when they were lost."""
        self._lost = 0

    def begin(self) -> None:
        self._hands = [_Hand(self._make.remote(*self._plan)) for _ in range(self.count)]
        starting = [hand.actor.begin.remote() for hand in self._hands]
        until = time.monotonic() + START
        while starting and not self.job.stopping.is_set():
            ready, starting = self.ray.wait(starting, num_returns=1, timeout=0.5)
            for error in self.ray.get(ready):
                if error:
                    raise ModelError(error)
            if time.monotonic() > until:
                ready_now = self.count - len(starting)
                raise ModelError(
                    f"{ready_now} of {self.count} workers were ready after {START:g} seconds; ask for fewer --workers."
                )

    def work(self) -> None:
        """Hands out and takes back until nothing is left; what has ended is passed to the job at once."""
        lost = (self.ray.exceptions.RayActorError, self.ray.exceptions.WorkerCrashedError)
        exchanges = {hand.actor.exchange.remote([], False): hand for hand in self._hands}
        give_up: float | None = None
        while exchanges:
            ready, _ = self.ray.wait(list(exchanges), num_returns=1, timeout=1.0)
            if self.job.stopping.is_set():
                give_up = give_up or time.monotonic() + GRACE
                if time.monotonic() > give_up:
                    return
            for reference in ready:
                hand = exchanges.pop(reference)
                try:
                    report: WorkerReport = self.ray.get(reference)
                except lost:
                    hand, report = self._replaced(hand), WorkerReport([], 0, 0, [])
                self._hear(hand, report)
                if self._finished(hand, report):
                    continue
                calls = self._next(report.wants)
                hand.under_way |= {call.key: call for call in calls}
                handed = [(call.key, call.ask) for call in calls]
                exchanges[hand.actor.exchange.remote(handed, self.job.stopping.is_set())] = hand

    def end(self) -> None:
        for hand in self._hands:
            self.ray.kill(hand.actor)

    def _hear(self, hand: _Hand, report: WorkerReport) -> None:
        for key, completion, tries, seconds in report.ended:
            self.job.end(hand.under_way.pop(key), completion, tries=tries, seconds=seconds)
        for note in report.notes:
            note_once(self.model.notes, note)
        self.job.tally.limit = report.limit
        if report.broken:
            self.job.break_off(report.broken)
        elif report.error:
            raise ModelError(report.error)

    def _finished(self, hand: _Hand, report: WorkerReport) -> bool:
        """Whether a worker has nothing more to do; others may still bring follow-up questions for it."""
        if self.job.stopping.is_set():
            return report.done or not hand.under_way
        return not self._again and self.job.source.idle

    def _next(self, wants: int) -> list[KeyedCall]:
        if self.job.stopping.is_set() or self.job.crowded:
            return []
        calls = [self._again.popleft() for _ in range(min(wants, len(self._again)))]
        calls += self.job.take(wants - len(calls)) if wants > len(calls) else []
        if not calls and self.job.source.elsewhere:
            self.job.source.look_again()
        return calls

    def _replaced(self, hand: _Hand) -> _Hand:
        """A new worker in the place of one that was lost; what that one had is handed out again."""
        self._lost += 1
        self._again.extend(hand.under_way.values())
        if self._lost > LOSSES * self.count:
            raise ModelError(f"Workers were lost {self._lost} times, the last with {len(hand.under_way)} requests.")
        note_once(self.model.notes, "Workers of the cluster were lost; what they had was handed out again.")
        fresh = _Hand(self._make.remote(*self._plan))
        self._hands[self._hands.index(hand)] = fresh
        if error := self.ray.get(fresh.actor.begin.remote(), timeout=START):
            raise ModelError(error)
        return fresh


def _elsewhere(rater: ChatRater) -> tuple[str, dict[str, Any]]:
    """The model and its settings, as another machine needs them: nothing depends on this process."""
    spec, settings = rater.model_name, dict(rater.settings)
    kind, _, argument = spec.partition(":")
    if kind == "openai" and (url := os.environ.get("OPENAI_BASE_URL")):
        settings.setdefault("base_url", url)
    path = Path(argument).expanduser()
    if kind in ("gguf", "hf", "recorded") and path.exists():
        spec = f"{kind}:{path.absolute()}"
    return spec, settings


def _shared(options: RunOptions, workers: int) -> RunOptions:
    """The options of one worker: limits that hold for the whole run are divided among all."""
    limits = {name: getattr(options, name) for name in ("requests_per_minute", "tokens_per_minute")}
    each: dict[str, Any] = {name: limit / workers for name, limit in limits.items() if limit is not None}
    if options.concurrency is not None:
        each["concurrency"] = max(1, options.concurrency // workers)
    return replace(options, **each, prices={}, max_cost=None, fail_on=None)
