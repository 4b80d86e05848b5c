"""Inspect in its own environment: `python inspect_run.py URL CALLS CONCURRENCY` prints one line of JSON.

One system message, one user message, one reply, scored by whether it includes the target: the least that makes an
evaluation, with prompts as long as ours.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from inspect_ai import Task  # type: ignore[import-not-found]
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found]
from inspect_ai.model import get_model  # type: ignore[import-not-found]
from inspect_ai.scorer import includes  # type: ignore[import-not-found]
from inspect_ai.solver import generate, system_message  # type: ignore[import-not-found]

url, calls, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
samples = [Sample(input=f"Case {n}: " + "y" * 370, target="2") for n in range(calls)]
task = Task(dataset=MemoryDataset(samples), solver=[system_message("x" * 1117), generate()], scorer=includes())
model = get_model("openai/tester", base_url=url, api_key="none", responses_api=False)
with tempfile.TemporaryDirectory() as folder:
    start, cpu = time.perf_counter(), time.process_time()
    (log,) = evaluate(
        task,
        model=model,
        log_dir=folder,
        display="none",
        max_connections=concurrency,
        max_samples=concurrency,
        temperature=0.0,
        max_tokens=512,
    )
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    size = sum(file.stat().st_size for file in Path(folder).iterdir())
assert log.status == "success", log.error
print(json.dumps({"per_second": calls / wall, "cpu_ms": 1000 * cpu / calls, "bytes": size / calls}))
