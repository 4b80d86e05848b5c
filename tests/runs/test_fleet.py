"""Several models side by side: one ledger, one budget, and an account at fault stops nobody else."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage import ChatRater
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.records import ledger, totals

from .conftest import MakePlan, corpus


def fleet(endpoint: Endpoint, items: int, *names: str) -> RunPlan:
    raters = [ChatRater(f"openai:{name}", settings={"base_url": endpoint.url, "timeout": 5.0}) for name in names]
    return RunPlan.of(corpus(items), raters, "warmth-competence", questions=("trust",))


def test_models_are_asked_side_by_side_and_each_keeps_its_own(store: RunStore, endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: Answer({"a": "1", "b": "2", "c": "3"}[body["model"]], wait=0.3)
    outcome = run(fleet(endpoint, 12, "a", "b", "c"), store)
    assert [set(one.judgments["value"]) for one in outcome.judged] == [{1.0}, {2.0}, {3.0}]
    assert (outcome.tally.sent, outcome.tally.planned, outcome.complete) == (36, 36, True)
    assert Counter(body["model"] for body in endpoint.requests) == {"a": 12, "b": 12, "c": 12}
    # One model has eight requests under way at most.
    assert endpoint.busiest > 8
    again = run(fleet(endpoint, 12, "a", "b", "c"), store)
    assert (again.tally.sent, again.complete) == (0, True)


def test_a_revoked_key_stops_its_own_account_at_once_and_lets_others_finish(
    store: RunStore, endpoint: Endpoint
) -> None:
    seen: Counter[str] = Counter()

    def reply(body: dict[str, Any]) -> Answer:
        seen[body["model"]] += 1
        if body["model"] == "gone" and seen["gone"] > 5:
            return Answer(status=401, error={"message": "revoked"})
        return Answer("2")

    endpoint.reply = reply
    outcome = run(fleet(endpoint, 200, "gone", "fine"), store, RunOptions(concurrency=4))
    gone, fine = outcome.judged
    assert len(fine.judgments) == 200
    assert len(gone.judgments) == 5
    assert seen["gone"] <= 5 + 4
    assert "refuses the key (401)" in outcome.tally.ended
    assert outcome.tally.failed == 0
    assert gone.missing == 195
    endpoint.reply = lambda body: "2"
    again = run(fleet(endpoint, 200, "gone", "fine"), store)
    assert (again.tally.sent, again.complete) == (195, True)


@pytest.mark.parametrize(("status", "code"), [(402, None), (403, None), (429, "insufficient_quota")])
def test_no_credit_and_an_exhausted_quota_stop_a_run_in_one_sentence(
    status: int, code: str | None, plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    endpoint.reply = lambda body: Answer(status=status, error={"message": "no more", "code": code})
    outcome = run(plan(500), store, RunOptions(concurrency=4))
    assert len(endpoint.requests) <= 4
    assert outcome.tally.ended.count(".") <= 5
    assert (outcome.tally.failed, outcome.judged[0].missing) == (0, 500)


def test_all_models_share_one_budget(store: RunStore, endpoint: Endpoint) -> None:
    prices: Any = {f"openai:{name}": {"input": 100.0, "output": 100.0} for name in ("a", "b")}
    outcome = run(fleet(endpoint, 100, "a", "b"), store, RunOptions(max_cost=0.5, prices=prices))
    spent = totals(ledger(store, outcome.run))["cost"]
    assert 0 < spent <= 0.5
    assert "over the limit of 0.5" in outcome.tally.ended


@pytest.mark.usefixtures("hasty")
def test_a_wait_of_hours_is_respected_and_costs_no_try(
    plan: MakePlan, store: RunStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from vantage.runs.engines import local

    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real(min(seconds, 0.01))

    monkeypatch.setattr("vantage.runs.engines.local.asyncio.sleep", sleep)
    monkeypatch.setattr(local.AdaptiveLimiter, "overloaded", lambda self, since, after: None)
    answers = iter([Answer(status=429, headers={"retry-after": "7200"}, error={"message": "daily quota"})] * 3)
    endpoint.reply = lambda body: next(answers, "2")
    outcome = run(plan(1), store, RunOptions(tries=1, deadline=5))
    assert outcome.complete
    assert slept.count(7200.0) == 3
    assert "asks to wait 2.0 h" in " ".join(outcome.tally.notes)
