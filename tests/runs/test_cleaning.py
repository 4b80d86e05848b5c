from __future__ import annotations

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage import InputError
from vantage.runs import RunOptions, RunStore, run
from vantage.runs.cleaning import clean
from vantage.runs.records import ledger, records, totals
from vantage.runs.writer import Claims

from .conftest import MakePlan


@pytest.mark.slow
def test_what_only_forgotten_runs_used_is_removed(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    run(plan(300), store)
    run(plan(5, samples=2), store)
    tried = clean(store, [1], dry_run=True)
    assert (tried.runs, tried.calls, tried.bytes_after) == (1, 295, None)
    assert store.count() == 305
    done = clean(store, [1])
    assert (done.calls, done.texts) == (295, 295)
    assert done.bytes_after is not None
    assert done.bytes_after < done.bytes_before
    assert [record.id for record in records(store)] == [2]
    sent = len(endpoint.requests)
    assert run(plan(5, samples=2), store).tally.stored == 10
    assert len(endpoint.requests) == sent
    assert run(plan(6), store).tally.sent == 1


def test_failures_that_were_made_good_go(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    endpoint.reply = lambda body: Answer(status=400, error={"message": "no"})
    run(plan(2), store)
    endpoint.reply = lambda body: "2"
    run(plan(1), store)
    assert clean(store).failures == 1
    assert len(store.select("SELECT id FROM failures")) == 1


def test_a_store_at_work_and_unknown_runs_are_told(store: RunStore) -> None:
    with pytest.raises(InputError, match="no run 7"):
        clean(store, [7])
    other = Claims(store.path, store.writer)
    other.take([b"k" * 16])
    with pytest.raises(InputError, match="another process is at work"):
        clean(store)
    other.release()


def test_what_a_forgotten_run_paid_for_others_stays_known(plan: MakePlan, store: RunStore) -> None:
    prices = RunOptions(prices={"openai:tester": {"input": 1.0, "output": 2.0}})
    run(plan(3), store, prices)
    run(plan(5), store, prices)
    before = totals(ledger(store))
    clean(store, [1])
    assert totals(ledger(store, 2)) == {**before, "cost": pytest.approx(before["cost"])}
