"""A process that is killed at any moment: no finished call is lost, none is asked twice, and the end is the same."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from tests.runs.conftest import case
from tests.runs.killed import CONCURRENCY, ITEMS, go, keys

ROOT = Path(__file__).resolve().parents[2]
KILLS = 200


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing_and_double_nothing(endpoint: Endpoint, tmp_path: Path) -> None:
    asked, lock = Counter[int](), threading.Lock()

    def reply(body: dict[str, Any]) -> Answer:
        with lock:
            asked[case(body)] += 1
        return Answer(str(case(body) % 7 - 3), wait=0.01)

    endpoint.reply = reply
    words = [sys.executable, "-m", "tests.runs.killed", endpoint.url, str(tmp_path), str(KILLS), "1"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["killed"] == KILLS
    assert told["lost"] == 0
    assert 0 < told["stored"] < ITEMS
    before = sum(asked.values())
    # What a kill can cost is what was under way: the requests that were sent and those not yet acknowledged.
    assert before - told["stored"] <= KILLS * (CONCURRENCY + 8)

    outcome = go(endpoint.url, tmp_path)
    assert outcome.complete
    assert outcome.tally.stored == told["stored"]
    assert sum(asked.values()) - before == outcome.tally.sent == ITEMS - told["stored"]
    assert len(keys(tmp_path)) == ITEMS
    judged = outcome.judged[0].judgments
    assert judged["item"].to_list() == [f"i{n:04}" for n in range(ITEMS)]
    assert judged["value"].to_list() == [n % 7 - 3 for n in range(ITEMS)]
