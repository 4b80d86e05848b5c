"""What a call costs the process that plans and stores, with the requests sent from here and from Ray workers.

All go to the same loopback endpoint, which answers at once; `VANTAGE_CALLS` (20,000) is the number of calls. The
processor time of that process is what bounds a run on many machines: `docs/scaling.md` computes with it.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from benchmarks.endpoint import endpoint
from benchmarks.harness import measured
from benchmarks.runs import CALLS, CONCURRENCY, plan
from vantage.runs import RunOptions, RunStore, run

WORKERS = 2


def cost(case: tuple[str, str, Path, int]) -> tuple[float, float]:
    """Calls per second, and milliseconds of this process's processor time per call, of one run."""
    engine, url, path, calls = case
    options = RunOptions(engine=engine, concurrency=CONCURRENCY, workers=WORKERS if engine == "ray" else None)
    with RunStore(path) as store, _cluster(options):
        # What is imported once is not a cost per call.
        run(plan(100, "openai:warm", base_url=url), store, options)
        start, cpu = time.perf_counter(), time.process_time()
        outcome = run(plan(calls, "openai:tester", base_url=url), store, options)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert outcome.tally.sent == calls
    return calls / wall, 1000 * cpu / calls


def _cluster(options: RunOptions) -> AbstractContextManager[None]:
    """A cluster that outlives the runs; the workers, which load a model each, are those of a run and count."""
    if options.engine != "ray":
        return nullcontext()
    import ray

    from vantage.runs.engines.ray import connected

    return connected(ray, options)


def main() -> None:
    os.environ["OPENAI_API_KEY"] = "none"
    print(f"{CALLS:,} calls; workers of the cluster: {WORKERS}")
    print(f"{'engine':8} {'calls/s':>9} {'ms of processor, planning process':>34}")
    for engine in ("local", "ray"):
        with tempfile.TemporaryDirectory() as folder, endpoint() as url:
            case = partial(_case, engine, url, Path(folder) / "runs.sqlite", CALLS)
            per_second, milliseconds = measured(cost, case).result
        print(f"{engine:8} {per_second:9.0f} {milliseconds:34.2f}")


def _case(engine: str, url: str, path: Path, calls: int) -> tuple[str, str, Path, int]:
    return engine, url, path, calls
