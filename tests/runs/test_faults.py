"""Everything that can go wrong on the way to a model, one by one and all at once, against a real endpoint."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from email.utils import formatdate
from typing import Any

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage.runs import RunOptions, RunStore, run

from .conftest import MakePlan, case

PATIENT = RunOptions(concurrency=8, tries=4)


def statuses(outcome: Any) -> Counter[str]:
    return Counter(outcome.judged[0].judgments["status"].cast(str).to_list())


class Once:
    """Answers every request well except the first about each item, which gets the fault."""

    def __init__(self, fault: Answer) -> None:
        self.fault, self.seen, self.lock = fault, Counter[int](), threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Answer | str:
        with self.lock:
            self.seen[case(body)] += 1
            return self.fault if self.seen[case(body)] == 1 else "2"


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "fault",
    [
        Answer(status=408, error={"message": "timeout"}),
        Answer(status=409, error={"message": "conflict"}),
        Answer(status=429, error={"message": "slow down"}),
        Answer(status=429, error={"message": "slow down"}, headers={"Retry-After": "0.01"}),
        Answer(status=429, error={"message": "slow down"}, headers={"Retry-After": formatdate(0, usegmt=True)}),
        Answer(status=500, error={"message": "boom"}),
        Answer(status=503, raw="<html>busy</html>"),
        Answer("2", cut=True),
        Answer(raw='{"choices": ['),
        Answer(raw="not even JSON"),
        Answer(raw='{"choices": []}'),
        Answer("2", drip=0.2),
        Answer("2", silent=True),
    ],
    ids=["408", "409", "429", "429-seconds", "429-date", "500", "503", "reset", "half-json", "no-json", "empty",
         "drip", "silent"],
)  # fmt: skip
def test_a_fault_that_passes_costs_a_try_and_nothing_else(
    endpoint: Endpoint, plan: MakePlan, store: RunStore, fault: Answer
) -> None:
    endpoint.reply = Once(fault)
    outcome = run(plan(4, settings={"timeout": 0.5}), store, PATIENT)
    assert statuses(outcome) == {"answered": 4}
    assert (outcome.tally.sent, outcome.tally.retried, outcome.tally.failed) == (4, 4, 0)
    assert store.count() == 4
    assert outcome.complete


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("fault", "sentence", "requests"),
    [
        (Answer(status=500, error={"message": "boom"}), "(500: boom) (after 3 tries).", 3),
        (Answer(status=404, error={"message": "unknown"}), "has no model 'tester'", 1),
        (Answer(status=400, error={"message": "bad prompt"}), "(400: bad prompt)", 1),
        (Answer(status=500, error={"message": "no"}, headers={"x-should-retry": "false"}), "(500: no)", 1),
        (Answer("2", silent=True), "did not answer within 0.2 seconds (after 3 tries).", 3),
        (Answer("2", drip=0.05), "did not answer within 0.2 seconds (after 3 tries).", 3),
    ],
)
def test_a_fault_that_stays_ends_as_failed_and_is_taken_up_again(
    endpoint: Endpoint, plan: MakePlan, store: RunStore, fault: Answer, sentence: str, requests: int
) -> None:
    endpoint.reply = lambda body: fault
    asked = plan(1, settings={"timeout": 0.2})
    outcome = run(asked, store, RunOptions(tries=3))
    row = outcome.judged[0].judgments.row(0, named=True)
    assert row["status"] == "failed"
    assert sentence in row["reply"]
    assert len(endpoint.requests) == requests
    assert store.count() == 0
    left = run(asked, store, RunOptions(tries=3, retry_failed=False))
    assert statuses(left) == {"failed": 1}
    assert len(endpoint.requests) == requests
    endpoint.reply = lambda body: "2"
    assert statuses(run(asked, store, RunOptions(tries=3))) == {"answered": 1}


@pytest.mark.usefixtures("hasty")
def test_an_endpoint_that_never_answers_ends_at_the_deadline(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    endpoint.reply = lambda body: Answer(silent=True)
    start = time.monotonic()
    outcome = run(plan(2, settings={"timeout": 60}), store, RunOptions(deadline=0.5))
    assert time.monotonic() - start < 10
    assert statuses(outcome) == {"failed": 2}
    assert "Given up after 0.5 seconds" in outcome.judged[0].judgments["reply"][0]


def test_an_overloaded_endpoint_gets_fewer_requests_and_is_left_alone_for_as_long_as_it_asks(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    arrived: list[float] = []

    def reply(body: dict[str, Any]) -> Answer | str:
        arrived.append(time.monotonic())
        if len(arrived) <= 4:
            return Answer(status=429, error={"message": "slow down"}, headers={"Retry-After": "1"}, wait=0.05)
        return "2"

    endpoint.reply = reply
    outcome = run(plan(4), store, RunOptions(concurrency=4))
    assert statuses(outcome) == {"answered": 4}
    assert arrived[4] - arrived[3] > 0.8
    assert outcome.tally.limit < 4


@pytest.mark.usefixtures("hasty")
@pytest.mark.slow
def test_all_faults_at_once_and_every_request_ends_exactly_once(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    draw, lock = random.Random(5), threading.Lock()  # noqa: S311
    faults = [
        Answer(status=429, error={"message": "slow"}),
        Answer(status=429, error={"message": "slow"}, headers={"Retry-After": "0.02"}),
        Answer(status=500, error={"message": "boom"}),
        Answer(status=408, error={"message": "late"}),
        Answer("2", cut=True),
        Answer(raw="{"),
        Answer("2", drip=0.05),
        Answer("2", silent=True),
    ]

    def reply(body: dict[str, Any]) -> Answer | str:
        number = case(body)
        with lock:
            fault = draw.choice(faults) if draw.random() < 0.3 else None
        if number % 10 == 1:
            return Answer(status=500, error={"message": "always"})
        if fault is not None:
            return fault
        kinds = {3: "I'm sorry, but I can't rate people.", 7: "purple"}
        return kinds.get(number % 10, "2")

    endpoint.reply = reply
    outcome = run(plan(120, settings={"timeout": 0.3}), store, RunOptions(concurrency=16, tries=8))
    judged = outcome.judged[0].judgments
    assert judged["item"].n_unique() == judged.height == 120
    for row in judged.iter_rows(named=True):
        expected = {1: "failed", 3: "refused", 7: "unparsed"}.get(int(row["item"][1:]) % 10, "answered")
        assert row["status"] == expected, row
    # Those that could not be read were asked once more for the option alone.
    assert (outcome.tally.sent, outcome.tally.clarified) == (132, 12)
    assert store.count() == 120
    assert len(store.select("SELECT DISTINCT key FROM failures")) == 12


def test_a_clock_that_jumps_does_no_harm(
    endpoint: Endpoint, plan: MakePlan, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, jumps = time.time, iter([-1e8, 1e8] * 1000)
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    endpoint.reply = Once(Answer(status=429, error={"message": "slow"}, headers={"Retry-After": "0.1"}))
    start = time.monotonic()
    outcome = run(plan(6), store, PATIENT)
    assert statuses(outcome) == {"answered": 6}
    assert time.monotonic() - start < 20


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("fail_on", "told"), [(5, "more than the 5 allowed"), (0.2, "more than the share of 0.2")])
def test_too_many_failures_end_the_run(
    endpoint: Endpoint, plan: MakePlan, store: RunStore, fail_on: float, told: str
) -> None:
    endpoint.reply = lambda body: Answer(status=400, error={"message": "no"}) if case(body) % 2 else "2"
    outcome = run(plan(300), store, RunOptions(fail_on=fail_on, concurrency=2))
    assert told in outcome.tally.ended
    assert not outcome.complete
    assert outcome.tally.sent < 300


def test_a_run_in_which_nothing_works_ends_by_itself(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    endpoint.reply = lambda body: Answer(status=400, error={"message": "no"})
    outcome = run(plan(300), store)
    assert "all failed" in outcome.tally.ended
    assert len(endpoint.requests) < 150
