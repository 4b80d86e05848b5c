"""A process that is killed at any moment: no finished call is lost, none is asked twice, and the end is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.killed import CONCURRENCY, ITEMS, asked, go, keys

ROOT = Path(__file__).resolve().parents[2]
KILLS = 200


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.runs.killed", str(tmp_path), str(KILLS), "1"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["killed"] == KILLS
    assert told["lost"] == 0
    assert 0 < told["stored"] < ITEMS
    before = len(asked(tmp_path))
    # What a kill can cost is what was under way: the requests that were sent and those not yet acknowledged.
    assert before - told["stored"] <= KILLS * (CONCURRENCY + 8)

    outcome = go(tmp_path, latency=0.0)
    assert outcome.complete
    assert outcome.tally.stored == told["stored"]
    after = asked(tmp_path)[before:]
    assert len(after) == len(set(after)) == outcome.tally.sent == ITEMS - told["stored"]
    assert len(keys(tmp_path)) == ITEMS
    judged = outcome.judged[0].judgments
    assert judged["item"].to_list() == [f"i{n:04}" for n in range(ITEMS)]
    assert judged["value"].to_list() == [n % 7 - 3 for n in range(ITEMS)]
