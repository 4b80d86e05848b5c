"""Several processes on one store: they share the work, and nothing is asked twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage.runs import RunStore, run
from vantage.runs.writer import Claims

from .conftest import MakePlan, case

ROOT = Path(__file__).resolve().parents[2]


def test_a_call_belongs_to_the_first_that_claims_it(store: RunStore) -> None:
    other = Claims(store.path, store.writer)
    keys = [bytes([n]) * 16 for n in range(3)]
    assert store.claims.take(keys[:2]) == set(keys[:2])
    assert other.take(keys) == {keys[2]}
    other.release()
    assert store.claims.take(keys) == set(keys)


@pytest.mark.slow
def test_what_a_process_that_died_had_claimed_is_free(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    code = f"""
import os
from vantage.runs import RunStore
store = RunStore({str(path)!r})
assert len(store.claims.take([b"k" * 16])) == 1
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    with RunStore(path) as store:
        assert store.claims.take([b"k" * 16]) == {b"k" * 16}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["runs.sqlite"]


@pytest.mark.slow
def test_two_processes_share_a_run(endpoint: Endpoint, plan: MakePlan, tmp_path: Path) -> None:
    endpoint.reply = lambda body: Answer(str(case(body) % 7 - 3), wait=0.05)
    path = tmp_path / "runs.sqlite"
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.runs.conftest import corpus
from vantage import ChatRater
from vantage.runs import RunOptions, RunPlan, RunStore, run
rater = ChatRater("openai:tester", settings={{"base_url": {endpoint.url!r}}})
with RunStore({str(path)!r}) as store:
    plan = RunPlan.of(corpus(300), rater, "warmth-competence", questions=["trust"])
    outcome = run(plan, store, RunOptions(concurrency=4))
assert outcome.complete
assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(300)]
print(outcome.tally.sent)
"""
    words = [sys.executable, "-c", code]
    others = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(2)]
    sent = [int(other.communicate(timeout=120)[0]) for other in others]
    assert [other.returncode for other in others] == [0, 0]
    assert sum(sent) == len(endpoint.requests) == 300
    with RunStore(path) as store:
        assert run(plan(300), store).tally.sent == 0
