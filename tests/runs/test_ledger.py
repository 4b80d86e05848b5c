"""What runs cost, counted from the stored calls: after a repeat, after a kill, per sitting and per model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from tests.runs.conftest import MakePlan, case
from vantage.runs import RunOptions, RunStore, run
from vantage.runs.prices import read_prices
from vantage.runs.records import ledger, ledger_rows, totals

PRICES: dict[str, Any] = {"openai:tester": {"input": 1e6, "output": 2e6, "date": "2026-11-15"}}
ROOT = Path(__file__).resolve().parents[2]
KILLED = """
import sys
from tests.runs.conftest import corpus
from vantage import ChatRater
from vantage.runs import RunOptions, RunPlan, RunStore, run
rater = ChatRater("openai:tester", settings={"base_url": sys.argv[1]})
prices = {"openai:tester": {"input": 1e6, "output": 2e6}}
with RunStore(sys.argv[2]) as store:
    plan = RunPlan.of(corpus(60), rater, "warmth-competence", questions=["trust"])
    run(plan, store, RunOptions(concurrency=2, prices=prices))
"""


def test_a_repeated_command_keeps_the_cost_of_the_run(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    first = run(plan(4), store, RunOptions(prices=PRICES))
    again = run(plan(4), store, RunOptions(prices=PRICES))
    assert (again.tally.sent, again.tally.cost) == (0, 0.0)
    entries = ledger(store)
    assert [(entry.sitting, entry.calls, entry.prices_of) for entry in entries] == [(1, 4, "2026-11-15")]
    assert totals(entries)["cost"] == pytest.approx(first.tally.cost)
    tokens = sum(len(m["content"].split()) for body in endpoint.requests for m in body["messages"])
    assert (totals(entries)["prompt_tokens"], totals(entries)["cost"]) == (tokens, pytest.approx(tokens + 2 * 4))


def test_sittings_models_failures_and_unknown_prices_are_told(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    endpoint.reply = lambda body: Answer("2") if case(body) < 3 else Answer(status=400, error={"message": "no"})
    run(plan(5), store, RunOptions(prices=PRICES))
    endpoint.reply = lambda body: "2"
    run(plan(5), store, RunOptions())
    first, second = ledger(store)
    assert (first.sitting, first.calls, first.failures, second.sitting, second.calls) == (1, 3, 2, 2, 2)
    assert first.cost is not None
    assert second.cost is None
    (by_run,), (by_model,) = ledger_rows([first, second], "run"), ledger_rows([first, second], "model")
    assert (by_run["calls"], by_run["failures"], by_run["cost"], by_model["model"]) == (5, 2, None, "openai:tester")
    whole = totals(ledger(store, prices=PRICES))["cost"]
    assert whole == pytest.approx(whole if whole is None else by_run["prompt_tokens"] + 2 * 5)


def test_cached_tokens_have_a_price_of_their_own(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    choice = {"message": {"content": "2", "reasoning_content": "Hm."}, "finish_reason": "stop"}
    raw = __import__("json").dumps({"choices": [choice], "usage": usage})
    endpoint.reply = lambda body: Answer(raw=raw)
    prices: Any = {"openai:tester": {"input": 10.0, "output": 20.0, "cached": 1.0}}
    outcome = run(plan(2), store, RunOptions(prices=prices))
    (entry,) = ledger(store)
    assert (entry.cached_tokens, entry.reasoning_tokens) == (160, 8)
    assert entry.cost == pytest.approx(2 * (20 * 10 + 80 * 1 + 10 * 20) / 1e6) == pytest.approx(outcome.tally.cost)
    assert outcome.judged[0].judgments["thinking"].to_list() == ["Hm.", "Hm."]
    # The second time everything comes from the store, thinking included.
    again = run(plan(2), store, RunOptions(prices=prices))
    assert again.judged[0].judgments["thinking"].to_list() == ["Hm.", "Hm."]
    assert again.tally.sent == 0


@pytest.mark.slow
def test_what_a_killed_run_had_spent_is_in_the_ledger(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.reply = lambda body: Answer("2", wait=0.05)
    words = [sys.executable, "-c", KILLED, endpoint.url, str(tmp_path / "runs.sqlite")]
    process = subprocess.Popen(words, cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"})
    deadline = time.monotonic() + 60
    while len(endpoint.requests) < 12 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with RunStore(tmp_path / "runs.sqlite") as store:
        kept = store.count()
        told = totals(ledger(store))
        assert 0 < kept < 60
        assert (told["calls"], told["cost"]) == (kept, pytest.approx(told["prompt_tokens"] + 2 * kept))
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}, check=False
    )
    assert done.returncode == 0
    with RunStore(tmp_path / "runs.sqlite") as store:
        entries = ledger(store)
        assert [entry.calls for entry in entries] == [kept, 60 - kept]
        assert totals(entries)["cost"] == pytest.approx(totals(entries)["prompt_tokens"] + 2 * 60)


def test_prices_have_a_date(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("date: 2026-11-15\nopenai:a: {input: 1, output: 2}\nopenai:b: {input: 1, output: 2, cached: 0.5}\n")
    told = read_prices(file)
    assert told["openai:a"] == {"input": 1, "output": 2, "date": "2026-11-15"}
    assert told["openai:b"]["cached"] == 0.5
