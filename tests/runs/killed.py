"""Runs that are killed: `python -m tests.runs.killed URL FOLDER KILLS SEED` kills as many and tells what was found.

Everything is imported once; each run is a fork of this process that is ended with SIGKILL after a random time: a
quarter while it starts, the others after its first reply was stored. A run writes down every call that the store has
acknowledged, so that what is found after a kill can be compared with it.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sqlite3
import ssl
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

# A fork must not inherit the threads of Polars.
os.environ["POLARS_MAX_THREADS"] = "1"

import vantage.raters.models.openai
import vantage.runs.engines.local  # noqa: F401 - imported once, not by every fork
from tests.runs.conftest import corpus
from vantage import ChatRater
from vantage.runs import Options, Plan, Store, run
from vantage.runs.execution import Outcome
from vantage.runs.faults import StoreError
from vantage.runs.job import Job
from vantage.runs.tables import Finished

# Reading the certificates, which are not used here, takes most of the time in which a fork gets ready.
CONTEXT = ssl.create_default_context()
ITEMS = 1200
CONCURRENCY = 4


def plan(url: str) -> Plan:
    """The question of trust about many items, put to the endpoint's model."""
    rater = ChatRater("openai:tester", settings={"base_url": url})
    return Plan.of(corpus(ITEMS), rater, "warmth-competence", questions=["trust"])


def go(url: str, folder: Path, tell: int | None = None) -> Outcome:
    """One sitting of the run; acknowledged keys are appended to a file, and the first is told through a pipe."""
    acknowledged = os.open(folder / "acknowledged", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    durable = Job._durable

    def noted(self: Job, batch: Sequence[Finished], error: StoreError | None) -> None:
        os.write(acknowledged, b"".join(one.call.key for one in batch if error is None))
        if tell is not None:
            os.write(tell, b".")
        durable(self, batch, error)

    Job._durable = noted  # type: ignore[method-assign]
    try:
        with Store(folder / "runs.sqlite") as store:
            return run(plan(url), store, Options(concurrency=CONCURRENCY))
    finally:
        Job._durable = durable  # type: ignore[method-assign]
        os.close(acknowledged)


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


def main() -> None:
    url, folder, kills, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    draw = random.Random(seed)  # noqa: S311
    ssl.create_default_context = lambda *_, **__: CONTEXT
    lost = unfinished = 0
    for number in range(kills):
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            go(url, folder, tell)
            os._exit(0)
        os.close(tell)
        if number % 4:
            select.select([ready], [], [], 10.0)
            time.sleep(draw.uniform(0.0, 0.1))
        else:
            time.sleep(draw.uniform(0.0, 0.3))
        os.kill(child, signal.SIGKILL)
        os.close(ready)
        _, status = os.waitpid(child, 0)
        unfinished += os.WIFSIGNALED(status)
        lost += len(noted(folder) - keys(folder))
    sys.stdout.write(json.dumps({"killed": unfinished, "lost": lost, "stored": len(keys(folder))}))


if __name__ == "__main__":
    main()
