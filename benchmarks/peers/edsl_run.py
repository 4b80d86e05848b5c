"""EDSL in its own environment: `python edsl_run.py URL CALLS CONCURRENCY` prints one line of JSON.

One free-text question about many scenarios, run here (no remote inference, no remote cache), with prompts as long as
ours. EDSL decides by itself how many requests are under way.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

url, calls = sys.argv[1], int(sys.argv[2])
os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url}
os.chdir(tempfile.mkdtemp())

from edsl import Cache, Model, QuestionFreeText, Scenario, ScenarioList  # type: ignore[import-not-found]  # noqa: E402

question = QuestionFreeText(question_name="trust", question_text="x" * 1117 + " {{ scenario.text }}")
scenarios = ScenarioList([Scenario({"text": f"Case {n}: " + "y" * 370}) for n in range(calls)])
model = Model("tester", service_name="openai", base_url=url, temperature=0.0, max_tokens=512)
start, cpu = time.perf_counter(), time.process_time()
results = (
    question.by(scenarios)
    .by(model)
    .run(disable_remote_inference=True, disable_remote_cache=True, progress_bar=False, verbose=False, cache=Cache())
)
wall, cpu = time.perf_counter() - start, time.process_time() - cpu
assert set(results.select("answer.trust").to_list()) == {"2"}
print(json.dumps({"per_second": calls / wall, "cpu_ms": 1000 * cpu / calls}))
