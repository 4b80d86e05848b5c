"""Runs that are killed: `python -m tests.runs.killed FOLDER URL KILLS SEED` kills as many and prints what was found.

Everything is imported once; each run is a fork of this process that is ended with SIGKILL after a random time: a
quarter while it starts, the others after its first reply was stored. The endpoint, which runs elsewhere, notes every
request that it gets and a run every call that the store has acknowledged, so that what is there after a kill can be
compared with both.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

# A fork must not inherit the threads of Polars.
os.environ["POLARS_MAX_THREADS"] = "1"

import polars as pl

import vantage.raters.models.openai
import vantage.runs.engines.local  # noqa: F401 - imported once, not by every fork
from tests.raters.models.endpoint import Answer, Endpoint
from vantage import ChatRater, Corpus, Instrument
from vantage.corpora.schema import JUDGMENTS
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.execution import Outcome
from vantage.runs.job import Job
from vantage.runs.tables import FinishedCall, StoreError

INSTRUMENT = Instrument.load("warmth-competence")
MODELS = "abc"
"""Names of the models that are asked side by side."""
ITEMS = 400
CALLS = ITEMS * len(MODELS)
CONCURRENCY = 4
LATENCY = 0.03
"""Seconds that the model takes, so that a run has not ended when it is killed."""


def endpoint(folder: Path, latency: float = LATENCY) -> Endpoint:
    """An endpoint that writes down what it is asked before it answers."""
    asked = os.open(folder / "asked", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def reply(body: dict[str, Any]) -> Answer:
        number = body["messages"][-1]["content"].split("case ")[1][:4]
        os.write(asked, f"{body['model']}{number}".encode())
        return Answer(str(int(number) % 7 - 3), wait=latency)

    return Endpoint(reply)


def plan(url: str) -> RunPlan:
    """The question of trust about many items, put to several models."""
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
    fleet = [ChatRater(f"openai:{model}", settings={"base_url": url}) for model in MODELS]
    return RunPlan.of(corpus, fleet, INSTRUMENT, questions=["trust"])


def go(folder: Path, url: str, tell: int | None = None) -> Outcome:
    """One sitting of the run; acknowledged keys are appended to a file, and the first is reported through a pipe."""
    os.environ["OPENAI_API_KEY"] = "none-is-needed"
    acknowledged = os.open(folder / "acknowledged", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    durable = Job._durable

    def noted(self: Job, batch: Sequence[FinishedCall], error: StoreError | None) -> None:
        os.write(acknowledged, b"".join(one.call.key for one in batch if error is None))
        if tell is not None:
            os.write(tell, b".")
        durable(self, batch, error)

    Job._durable = noted  # type: ignore[method-assign]
    try:
        with RunStore(folder / "runs.sqlite") as store:
            return run(plan(url), store, RunOptions(concurrency=CONCURRENCY))
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


def asked(folder: Path) -> list[str]:
    """What the models were asked, as often as they were: the letter of the model and the number of the item."""
    notes = (folder / "asked").read_text(encoding="ascii")
    return [notes[n : n + 5] for n in range(0, len(notes), 5)]


def main() -> None:
    folder, url, kills, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    draw = random.Random(seed)  # noqa: S311
    lost = unfinished = 0
    for number in range(kills):
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            go(folder, url, tell)
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
