"""A process that is killed at any moment: no finished call is lost, none is asked twice, and the end is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.often import times
from tests.runs.killed import CALLS, CONCURRENCY, ITEMS, MODELS, asked, endpoint, go, keys
from vantage.runs import RunStore
from vantage.runs.records import ledger, ledger_rows

ROOT = Path(__file__).resolve().parents[2]
KILLS = times(200, 60)


@pytest.mark.slow
def test_many_kills_of_three_models_at_once_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    with endpoint(tmp_path) as served:
        words = [sys.executable, "-m", "tests.runs.killed", str(tmp_path), served.url, str(KILLS), "1"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        killed = json.loads(done.stdout)
        assert killed["killed"] == KILLS
        assert killed["lost"] == 0
        assert 0 < killed["stored"] < CALLS
        before = len(asked(tmp_path))
        # What a kill can cost is what was under way: the requests that were sent and those not yet acknowledged.
        assert before - killed["stored"] <= KILLS * len(MODELS) * (CONCURRENCY + 8)

        outcome = go(tmp_path, served.url)
        assert outcome.complete
        assert outcome.tally.stored == killed["stored"]
        after = asked(tmp_path)[before:]
        assert len(after) == len(set(after)) == outcome.tally.sent == CALLS - killed["stored"]
    assert len(keys(tmp_path)) == CALLS
    with RunStore(tmp_path / "runs.sqlite", read_only=True) as store:
        counts = {entry["model"]: entry["calls"] for entry in ledger_rows(ledger(store), "model")}
    assert counts == {f"openai:{model}": ITEMS for model in MODELS}
    for judged in outcome.judged:
        assert judged.judgments["item"].to_list() == [f"i{n:04}" for n in range(ITEMS)]
        assert judged.judgments["value"].to_list() == [n % 7 - 3 for n in range(ITEMS)]
