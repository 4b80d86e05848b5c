"""One worker of a cluster: a model, or a client of an endpoint, and the requests that were handed to it.

A worker runs the local engine on its share of the plan, so that retries, limits and batches are the same on one machine
and on a hundred. It knows nothing of the store: what has ended goes back to the process that started the run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from vantage._version import __version__
from vantage.errors import VantageError
from vantage.raters.conversation import Ask
from vantage.raters.models import load_model
from vantage.raters.models.base import ChatModel, Completion
from vantage.runs.engines.local import CONCURRENCY, LocalEngine
from vantage.runs.job import UNSTORED, Budget, Job
from vantage.runs.keys import KeyedCall
from vantage.runs.options import RunOptions
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
    done: bool = False


class _Unending:
    """Where a worker's requests come from: others may be handed over until it is stopped."""

    idle = False
    elsewhere = True

    def look_again(self) -> None:
        """There is nowhere to look: requests are brought."""


class Share(Job):
    """The requests of one worker: a job whose calls are handed in and whose ends are handed back."""

    def __init__(self, options: RunOptions) -> None:
        # Storing, counting and paying are done by the process that handed the requests over.
        source, store = cast(CallSource, _Unending()), cast(RunStore, None)
        super().__init__(source, store, 0, options, RunTally(), Budget(None, None, ""))
        self.asked_for = 1
        self._handed: deque[KeyedCall] = deque()
        self._ended: deque[tuple[bytes, Completion, int, float]] = deque()

    @property
    def crowded(self) -> bool:
        """Whether too much that has ended waits to be told."""
        return len(self._ended) > UNSTORED

    def hand(self, requests: Sequence[Handed]) -> None:
        """Takes requests over."""
        self._handed.extend([KeyedCall(key, ask, (b"", ""), ()) for key, ask in requests])
        if requests:
            self.on_news()

    def take(self, count: int) -> list[KeyedCall]:
        """Up to so many of the requests at hand."""
        self.asked_for = max(self.asked_for, count)
        if self.stopping.is_set():
            return []
        return [self._handed.popleft() for _ in range(min(count, len(self._handed)))]

    def end(self, call: KeyedCall, completion: Completion, *, tries: int = 1, seconds: float = 0.0) -> None:
        """A request has ended; it is reported at the next exchange."""
        self._ended.append((call.key, completion, tries, seconds))

    def reported(self) -> list[tuple[bytes, Completion, int, float]]:
        """What has ended since this was last asked."""
        return [self._ended.popleft() for _ in range(len(self._ended))]

    @property
    def at_hand(self) -> int:
        """Requests that were not taken yet."""
        return len(self._handed)


class Worker:
    """What runs on the cluster: a model by its name and settings, and its share of a run.

    `version` is that of the Vantage that started the run.
    """

    def __init__(self, spec: str, settings: Mapping[str, Any], options: RunOptions, version: str) -> None:
        self._spec, self._settings, self._version = spec, settings, version
        self._share = Share(options)
        self._model: ChatModel | None = None
        self._error = ""
        self._done = threading.Event()
        self._most = 1

    def begin(self) -> str:
        """Loads the model and starts to work; why it cannot, in a sentence, or nothing."""
        if self._version != __version__:
            return f"A worker has Vantage {__version__}, the run was started by {self._version}; install the same."
        try:
            self._model = load_model(self._spec, **self._settings)
        except VantageError as error:
            return str(error)
        own: int = getattr(self._model, "concurrency", CONCURRENCY)
        self._most = self._share.options.concurrency or own
        threading.Thread(target=self._work, args=(self._model,), name="worker", daemon=True).start()
        return ""

    def exchange(self, requests: Sequence[Handed], stop: bool) -> WorkerReport:
        """Takes requests over and tells what has ended, after a short while in which more of it gathers."""
        self._share.hand(requests)
        if stop:
            self._share.stop("The run was stopped.")
        self._done.wait(PATIENCE)
        done = self._done.is_set()
        ended = self._share.reported()
        ahead = max(2 * self._most, 2 * self._share.asked_for, AHEAD * len(ended))
        wants = 0 if done else max(0, ahead - self._share.at_hand)
        notes = list(self._model.notes) if self._model is not None else []
        return WorkerReport(ended, wants, self._share.tally.limit, notes, self._error, done)

    def _work(self, model: ChatModel) -> None:
        try:
            LocalEngine().run(model, self._share)
        except VantageError as error:
            self._error = str(error)
        except Exception as error:
            self._error = f"A worker failed ({type(error).__name__}: {error})."
        finally:
            model.close()
            self._done.set()
