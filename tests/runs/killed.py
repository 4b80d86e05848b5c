"""Runs that are killed: `python -m tests.runs.killed FOLDER KILLS SEED` kills as many and tells what was found.

Everything is imported once; each run is a fork of this process that is ended with SIGKILL after a random time: a
quarter while it starts, the others after its first reply was stored. A run writes down every request that it sends and
every call that the store has acknowledged, so that what is found after a kill can be compared with both. The model
stands in this process and is asked as one behind a network is, several requests at a time.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
import sqlite3
import sys
import time
from collections.abc import Coroutine, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

# A fork must not inherit the threads of Polars.
os.environ["POLARS_MAX_THREADS"] = "1"

import polars as pl

import vantage.runs.engines.local  # noqa: F401 - imported once, not by every fork
from vantage import ChatRater, Corpus, Instrument
from vantage.corpora.schema import JUDGMENTS
from vantage.raters.models.base import Completion, LogProbs, ModelError, Request
from vantage.runs import Options, Plan, Store, run
from vantage.runs.execution import Outcome
from vantage.runs.faults import StoreError
from vantage.runs.job import Job
from vantage.runs.tables import Finished

T = TypeVar("T")

INSTRUMENT = Instrument.load("warmth-competence")
ITEMS = 1000
CONCURRENCY = 4
LATENCY = 0.03
"""Seconds that the model takes, so that a run has not ended when it is killed."""


class Distant:
    """A model that is waited for, and that writes down what it is asked before it answers."""

    name = "distant"
    window: int | None = None

    def __init__(self, folder: Path, latency: float) -> None:
        self.notes: list[str] = []
        self._latency = latency
        self._asked = os.open(folder / "asked", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    async def attempt(self, request: Request, options: Sequence[str] = ()) -> Completion:
        number = request.messages[-1].content.split("case ")[1][:4]
        os.write(self._asked, number.encode())
        await asyncio.sleep(self._latency)
        return Completion(str(int(number) % 7 - 3), "stop", 10, 1)

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        raise ModelError("This model is waited for.")

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        raise ModelError("This model only answers.")

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self) -> None:
        os.close(self._asked)


def plan(model: Distant) -> Plan:
    """The question of trust about many items."""
    numbers = range(ITEMS)
    items = pl.DataFrame(
        {
            "item": [f"i{n:04}" for n in numbers],
            "text": [f"The baker gave back the wallet, case {n:04}." for n in numbers],
            "target": ["the baker"] * ITEMS,
        }
    )
    raters = pl.DataFrame({"rater": ["p"], "kind": ["person"]})
    corpus = Corpus(items, raters, pl.DataFrame(schema=JUDGMENTS), [INSTRUMENT])
    return Plan.of(corpus, ChatRater(model), INSTRUMENT, questions=["trust"])


def go(folder: Path, tell: int | None = None, latency: float = LATENCY) -> Outcome:
    """One sitting of the run; acknowledged keys are appended to a file, and the first is told through a pipe."""
    acknowledged = os.open(folder / "acknowledged", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    durable = Job._durable

    def noted(self: Job, batch: Sequence[Finished], error: StoreError | None) -> None:
        os.write(acknowledged, b"".join(one.call.key for one in batch if error is None))
        if tell is not None:
            os.write(tell, b".")
        durable(self, batch, error)

    Job._durable = noted  # type: ignore[method-assign]
    model = Distant(folder, latency)
    try:
        with Store(folder / "runs.sqlite") as store:
            return run(plan(model), store, Options(concurrency=CONCURRENCY))
    finally:
        Job._durable = durable  # type: ignore[method-assign]
        os.close(acknowledged)
        model.close()


def keys(folder: Path) -> set[bytes]:
    """The calls that are in the store, read as any SQLite program would."""
    if not (folder / "runs.sqlite").exists():
        return set()
    with closing(sqlite3.connect(folder / "runs.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'calls'").fetchone()[0]:
            return set()
        return {key for (key,) in connection.execute("SELECT key FROM calls")}


def noted(folder: Path) -> set[bytes]:
    """The calls that were acknowledged; the last may be half written."""
    file = folder / "acknowledged"
    data = file.read_bytes() if file.exists() else b""
    return {data[n : n + 16] for n in range(0, len(data) - 15, 16)}


def asked(folder: Path) -> list[int]:
    """The items that the model was asked about, as often as it was."""
    told = (folder / "asked").read_text(encoding="ascii")
    return [int(told[n : n + 4]) for n in range(0, len(told), 4)]


def main() -> None:
    folder, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)  # noqa: S311
    lost = unfinished = 0
    for number in range(kills):
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            go(folder, tell)
            os._exit(0)
        os.close(tell)
        if number % 4:
            select.select([ready], [], [], 10.0)
            time.sleep(draw.uniform(0.0, 0.03))
        else:
            time.sleep(draw.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        os.close(ready)
        _, status = os.waitpid(child, 0)
        unfinished += os.WIFSIGNALED(status)
        lost += len(noted(folder) - keys(folder))
    sys.stdout.write(json.dumps({"killed": unfinished, "lost": lost, "stored": len(keys(folder))}))


if __name__ == "__main__":
    main()
