"""Runs: calls per second beside Inspect and EDSL, what a call takes, resuming a million, memory over a million.

All call the same loopback endpoint, which answers at once, with prompts of the same length and as many requests at a
time. The peers need environments of their own; without them only ours is measured:

    python -m venv peer && peer/bin/pip install inspect-ai openai     # the same for edsl
    VANTAGE_INSPECT=peer/bin/python VANTAGE_EDSL=other/bin/python python -m benchmarks runs

`VANTAGE_CALLS` (20,000) is the number of calls, `VANTAGE_STORED` (1,000,000) that of the calls to resume from.
`python -m benchmarks.runs calls` measures only the former, `python -m benchmarks.runs resume` only the latter.
Processor time is that of our process, client library included; the line below it is the client library alone, sending
the same requests and doing nothing else. Libraries take turns, and each is given by the median of its turns, so that
what else the machine does weighs on all alike; they are compared by processor time, which it hardly changes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from benchmarks.endpoint import endpoint
from benchmarks.harness import measured
from vantage import ChatRater, Corpus, demo_corpus
from vantage.raters.models import Message, Request, load_model
from vantage.raters.models.base import Completion, LogProbs, ModelError
from vantage.runs import RunOptions, RunPlan, RunStore, judgments, run

CALLS = int(os.environ.get("VANTAGE_CALLS", "20000"))
STORED = int(os.environ.get("VANTAGE_STORED", "1000000"))
CONCURRENCY = 32
TURNS = 3
SAMPLES = 20
PEERS = Path(__file__).parent / "peers"


def plan(items: int, model: Any, samples: int = 1, **settings: Any) -> RunPlan:
    """One question about many invented sentences."""
    demo, numbers = demo_corpus(), range(items)
    table = pl.DataFrame(
        {
            "item": [f"i{n}" for n in numbers],
            "text": [f"The baker gave back the wallet with all the money in it, case {n}." for n in numbers],
            "target": ["the baker"] * items,
        }
    )
    corpus = Corpus(table, demo.raters, demo.judgments.clear(), demo.instruments)
    rater = ChatRater(model, samples=samples, settings=settings)
    return RunPlan.of(corpus, rater, "warmth-competence", questions=["trust"])


def ours(url: str, calls: int, path: Path) -> dict[str, float]:
    """A whole run: planned, sent, stored, read, judged."""
    os.environ["OPENAI_API_KEY"] = "none"
    asked = plan(calls, "openai:tester", base_url=url)
    start, cpu = time.perf_counter(), time.process_time()
    with RunStore(path) as store:
        outcome = run(asked, store, RunOptions(concurrency=CONCURRENCY))
    assert outcome.judged[0].judgments["value"].sum() == 2 * calls
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"per_second": calls / wall, "cpu_ms": 1000 * cpu / calls, "bytes": path.stat().st_size / calls}


def client_alone(url: str, calls: int) -> dict[str, float]:
    """The same requests through the same client, with nothing around them."""
    os.environ["OPENAI_API_KEY"] = "none"
    model: Any = load_model("openai:tester", base_url=url)
    request = Request((Message("system", "x" * 1117), Message("user", "y" * 381)))

    async def send() -> None:
        async def one_after_the_other() -> None:
            for _ in range(calls // CONCURRENCY):
                await model.attempt(request)

        await asyncio.gather(*(one_after_the_other() for _ in range(CONCURRENCY)))

    start, cpu = time.perf_counter(), time.process_time()
    model.wait(send())
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    model.close()
    return {"per_second": calls / wall, "cpu_ms": 1000 * cpu / calls}


def peer(python: str, script: str, url: str, calls: int) -> dict[str, float]:
    """The same with another library, in its own environment."""
    words = [python, str(PEERS / script), url, str(calls), str(CONCURRENCY)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{script} failed:\n{done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


class Instant:
    """A model in this process that answers at once, so that memory is only that of the run."""

    name = "instant"
    window: int | None = None

    def __init__(self) -> None:
        self.notes: list[str] = []

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """The same answer to everything."""
        return [Completion("2", "stop", 300, 1) for _ in requests]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """As every model that cannot do it."""
        raise ModelError("This model only answers.")

    def count_tokens(self, text: str) -> int:
        """About."""
        return len(text) // 4

    def close(self) -> None:
        """Nothing is held."""


def fill(case: tuple[Path, int]) -> list[float]:
    """A run of many calls; the memory of the process at each tenth of it, in megabytes."""
    path, calls = case
    seen: list[float] = []

    def look(tally: Any) -> None:
        if tally.conversations >= len(seen) * calls / 10:
            seen.append(_megabytes("VmRSS"))

    with RunStore(path) as store:
        run(plan(calls // SAMPLES, Instant(), SAMPLES), store, progress=look)
    return seen


def resume(path: Path) -> list[tuple[str, float, float, float]]:
    """Seconds, seconds of processor and megabytes until a finished run is known to be finished and has its judgments.

    From the corpus; from the store alone, where the end of the run was written down; and from the store alone where
    it was not, so that the plan is gone through call by call, as after a kill just before the end.
    """
    asked = plan(STORED // SAMPLES, Instant(), SAMPLES)
    part, timings = asked.parts[0], []
    with RunStore(path) as store:
        known, outcome = _timed(lambda: run(asked, store))
        assert (outcome.tally.stored, outcome.tally.sent, outcome.tally.missing) == (STORED, 0, 0)
        rows = outcome.judged[0].judgments
        assert len(rows) == STORED
        assert rows["value"].sum() == 2 * STORED
        whole = part.corpus.add(rows, pl.DataFrame([part.rater.row()]), part.instruments)
        again = RunPlan.of(whole, part.rater, part.instrument, questions=["trust"])
        in_corpus, outcome = _timed(lambda: run(again, store))
        assert (outcome.tally.skipped, outcome.tally.sent) == (STORED, 0)
        store.writer.do(lambda connection: connection.execute("DELETE FROM finished"))
        planned, outcome = _timed(lambda: judgments(asked, store))
        assert (outcome.tally.stored, outcome.tally.missing) == (STORED, 0)
        assert outcome.judged[0].judgments.equals(rows)
    timings += [("the corpus has its judgments", *in_corpus), ("from the store alone", *known)]
    return [*timings, ("from the store alone, its end not written down", *planned)]


def _timed(work: Callable[[], Any]) -> tuple[tuple[float, float, float], Any]:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
    start, cpu, before = time.perf_counter(), time.process_time(), _megabytes("VmRSS")
    result = work()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    return (wall, cpu, _megabytes("VmHWM") - before), result


def _megabytes(name: str) -> float:
    """The memory of this process, now or at its peak."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split(f"{name}:")[1].split()[0]) / 1024


def main() -> None:
    compare()
    million()


def compare() -> None:
    """Calls beside peers, in turns."""
    with tempfile.TemporaryDirectory() as folder, endpoint() as url:
        turns: dict[str, list[dict[str, float]]] = {}
        for turn in range(TURNS):
            path = Path(folder) / f"runs-{turn}.sqlite"
            turns.setdefault("vantage", []).append(measured(_one(ours, url, CALLS, path), _nothing).result)
            alone = measured(_one(client_alone, url, CALLS), _nothing).result
            turns.setdefault("client library alone", []).append(alone)
            for name in ("inspect", "edsl"):
                if python := os.environ.get(f"VANTAGE_{name.upper()}"):
                    row = peer(python, f"{name}_run.py", url, max(200, CALLS // 10))
                    turns.setdefault(name, []).append(row)
        rows = {name: {key: median(one[key] for one in each) for key in each[0]} for name, each in turns.items()}
        print(f"{CALLS:,} calls, {CONCURRENCY} at a time, {TURNS} turns")
        print(f"{'':22} {'calls/s':>9} {'ms of processor':>16} {'bytes stored':>13} {'of ours':>9}")
        for name, row in rows.items():
            ratio = row["cpu_ms"] / rows["vantage"]["cpu_ms"]
            stored = f"{row['bytes']:13.0f}" if "bytes" in row else " " * 13
            print(f"{name:22} {row['per_second']:9.0f} {row['cpu_ms']:16.2f} {stored} {ratio:8.1f}x")
        own = rows["vantage"]["cpu_ms"] - rows["client library alone"]["cpu_ms"]
        print(f"{'our own share':22} {'':9} {own:16.2f}")


def million() -> None:
    """Memory over one long run, what it takes on the disk, and resuming it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        start = time.perf_counter()
        seen = measured(fill, partial(_pair, path, STORED)).result
        rate = STORED / (time.perf_counter() - start)
        print(f"\n{STORED:,} calls in one run: megabytes held at each tenth: {', '.join(f'{s:.0f}' for s in seen)}")
        print(f"stored: {path.stat().st_size / STORED:.0f} bytes a call; {rate:,.0f} calls a second")
        print(f"resume of that run {'':33} {'seconds':>9} {'of processor':>13} {'megabytes':>10}")
        for name, wall, cpu, held in measured(resume, partial(Path, path)).result:
            print(f"{name:52} {wall:9.1f} {cpu:13.1f} {held:10.0f}")


def _one(case: Callable[..., Any], *args: Any) -> Callable[[Any], Any]:
    return partial(_call, case, args)


def _call(case: Callable[..., Any], args: tuple[Any, ...], _: Any) -> Any:
    return case(*args)


def _nothing() -> None: ...


def _pair(path: Path, calls: int) -> tuple[Path, int]:
    return path, calls


if __name__ == "__main__":
    if "resume" not in sys.argv:
        compare()
    if "calls" not in sys.argv:
        million()
