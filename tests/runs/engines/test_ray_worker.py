"""One worker of a cluster, run in this process: what it takes over, what it tells, how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage._version import __version__
from vantage.raters.conversation import Ask
from vantage.raters.models.base import Message, Request, Sampling
from vantage.runs import RunOptions
from vantage.runs.engines.ray import Handed, Worker, WorkerReport, _Crew, _Hand
from vantage.runs.tally import RunTally


def handed(count: int) -> list[Handed]:
    return [(bytes([n]) * 16, Ask(Request((Message("user", f"case {n:04}"),)))) for n in range(count)]


@pytest.fixture
def worker(endpoint: Endpoint) -> Iterator[Callable[..., Worker]]:
    """`worker(**options)`: a client of the endpoint that has begun; it is sent home after the test."""
    made: list[Worker] = []

    def make(several: int = 1, **options: Any) -> Worker:
        settings = {"base_url": endpoint.url, **({"several": several} if several > 1 else {})}
        one = Worker("openai:tester", settings, RunOptions(**options), __version__)
        assert one.begin() == ""
        made.append(one)
        return one

    yield make
    for one in made:
        assert ended(one).done


def ended(one: Worker) -> WorkerReport:
    """What a worker tells last when it is told to stop."""
    told, limit = one.exchange([], stop=True), time.monotonic() + 20
    while not told.done and time.monotonic() < limit:
        told = one.exchange([], stop=True)
    return told


def until(one: Worker, count: int) -> list[WorkerReport]:
    """Exchanges until so many requests have ended."""
    told: list[WorkerReport] = []
    limit = time.monotonic() + 20
    while sum(len(each.ended) for each in told) < count and time.monotonic() < limit:
        told.append(one.exchange([], stop=False))
    return told


def test_a_worker_answers_what_it_is_handed_and_wants_more(endpoint: Endpoint, worker: Callable[..., Worker]) -> None:
    one = worker(concurrency=4)
    told = [one.exchange(handed(3), stop=False), one.exchange(handed(9)[3:], stop=False)]
    assert told[0].wants > 0
    told += until(one, 9 - sum(len(each.ended) for each in told))
    assert sorted(key for each in told for key, *_ in each.ended) == [key for key, _ in handed(9)]
    assert len(endpoint.requests) == 9
    last = ended(one)
    assert (last.done, last.wants, last.error) == (True, 0, "")


def test_a_worker_asks_for_several_samples_at_once(endpoint: Endpoint, worker: Callable[..., Worker]) -> None:
    one = worker(several=4, concurrency=1)
    request = Request((Message("user", "the same case"),), Sampling(temperature=1.0))
    asks = [Ask(replace(request, sampling=replace(request.sampling, seed=n)), sample=n) for n in range(4)]
    first = one.exchange([(bytes([n]) * 16, ask) for n, ask in enumerate(asks)], stop=False)
    reports = [first, *until(one, 4 - len(first.ended))]
    assert sorted(key for each in reports for key, *_ in each.ended) == [bytes([n]) * 16 for n in range(4)]
    assert endpoint.requests[0]["n"] == 4


def test_what_is_under_way_when_a_worker_must_stop_is_told_and_the_rest_is_not_sent(
    endpoint: Endpoint, worker: Callable[..., Worker]
) -> None:
    endpoint.reply = lambda body: Answer("3", wait=0.3)
    one = worker(concurrency=2)
    first = one.exchange(handed(40), stop=False)
    told, limit = [first], time.monotonic() + 20
    while not told[-1].done and time.monotonic() < limit:
        told.append(one.exchange([], stop=True))
    assert sum(len(each.ended) for each in told) == len(endpoint.requests) < 40


def test_a_worker_that_cannot_begin_says_why(tmp_path: Path) -> None:
    assert "install the same" in Worker("embedded", {}, RunOptions(), "0.0.0").begin()
    missing = Worker(f"recorded:{tmp_path / 'none.csv'}", {}, RunOptions(), __version__)
    assert "none.csv" in missing.begin()


def test_an_error_of_the_model_is_told_in_a_sentence(worker: Callable[..., Worker]) -> None:
    one = worker()
    scored = Ask(Request((Message("user", "case 0000"),)), ("yes", "no"))
    told, limit = one.exchange([(b"k" * 16, scored)], stop=False), time.monotonic() + 20
    while not told.done and time.monotonic() < limit:
        told = one.exchange([], stop=False)
    assert "log-probabilities" in told.error


def test_an_account_at_fault_stops_the_worker_and_with_it_the_run(
    endpoint: Endpoint, worker: Callable[..., Worker]
) -> None:
    endpoint.reply = lambda body: Answer("3") if len(endpoint.requests) < 4 else Answer(status=401)
    one = worker(concurrency=1)
    reports, limit = [one.exchange(handed(40), stop=False)], time.monotonic() + 20
    while not reports[-1].done and time.monotonic() < limit:
        reports.append(one.exchange([], stop=False))
    assert len(endpoint.requests) == 4
    assert sum(len(each.ended) for each in reports) == 3
    last = reports[-1]
    assert last.done
    assert last.broken is not None
    assert "refuses the key (401)" in str(last.broken)

    # Whoever handed the requests over breaks off its own share of the run, and what is open stays open.
    job = SimpleNamespace(tally=RunTally(), broken="", end=lambda *given, **others: None)
    job.break_off = lambda fault: setattr(job, "broken", fault)
    crew = object.__new__(_Crew)
    crew.job, crew.model = cast(Any, job), cast(Any, SimpleNamespace(notes=[]))
    hand = _Hand(None, {key: cast(Any, None) for key, _ in handed(40)})
    for report in reports:
        crew._hear(hand, report)
    assert job.broken is last.broken
    assert len(hand.under_way) == 37
