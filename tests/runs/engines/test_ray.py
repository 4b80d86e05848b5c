"""A Ray cluster of two workers on this machine: the same store, the same results as one process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from tests.runs.conftest import MakePlan, case, corpus
from vantage import ChatRater, InputError
from vantage.raters.models.base import ModelError
from vantage.runs import Options, Plan, Store, run
from vantage.runs.engines.ray import RayEngine, connected
from vantage.runs.tally import Tally

RAY = Options(engine="ray", workers=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One local cluster for all tests of this module."""
    ray = pytest.importorskip("ray")
    before = os.environ.get("RAY_AUTH_MODE")
    os.environ["RAY_AUTH_MODE"] = "disabled"
    with connected(ray, RAY):
        yield ray
    assert not ray.is_initialized()
    if before is None:
        del os.environ["RAY_AUTH_MODE"]


def values(body: dict[str, Any]) -> str:
    why = "Why is this your answer?" in body["messages"][-1]["content"]
    return "Because." if why else str(case(body) % 7 - 3)


@pytest.mark.slow
def test_two_clients_give_what_one_process_gives(
    cluster: Any, endpoint: Endpoint, plan: MakePlan, store: Store, tmp_path: Path
) -> None:
    endpoint.reply = values
    asked = plan(60, "two-step", samples=2, temperature=1.0)
    outcome = run(asked, store, RAY)
    assert outcome.complete
    assert outcome.tally.sent == len(endpoint.requests) == 60 * 2 * 2
    with Store(tmp_path / "local.sqlite") as other:
        local = run(asked, other)
    assert outcome.judged[0].judgments.equals(local.judged[0].judgments)
    again = run(asked, store, RAY)
    assert (again.tally.sent, again.tally.stored) == (0, 240)
    # What a cluster has stored, one process goes on with.
    assert run(plan(62, "two-step", samples=2, temperature=1.0), store).tally.sent == 8


@pytest.mark.slow
def test_every_worker_has_a_model_of_its_own(cluster: Any, store: Store, tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.csv"
    pl.DataFrame(
        {"item": [f"i{n:04}" for n in range(90)], "question": "trust", "reply": [str(n % 7 - 3) for n in range(90)]}
    ).write_csv(recorded)
    asked = Plan.of(corpus(90), ChatRater(f"recorded:{recorded}"), "warmth-competence", questions=["trust"])
    outcome = run(asked, store, RAY)
    assert outcome.complete
    assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(90)]


@pytest.mark.slow
def test_a_worker_that_is_lost_is_replaced_and_nothing_is_lost_with_it(
    cluster: Any, endpoint: Endpoint, plan: MakePlan, store: Store
) -> None:
    asked, lock = Counter[int](), threading.Lock()

    def reply(body: dict[str, Any]) -> Answer:
        with lock:
            asked[case(body)] += 1
        return Answer(values(body), wait=0.02)

    endpoint.reply = reply
    killed: list[int] = []

    def progress(tally: Tally) -> None:
        if tally.sent > 20 and not killed:
            killed.append(_kill_a_worker())

    outcome = run(plan(400), store, RAY, progress=progress)
    assert killed
    assert outcome.complete
    assert len(asked) == 400
    assert store.count() == outcome.tally.sent == 400
    assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(400)]
    assert any("lost" in note for note in outcome.judged[0].notes)


def _kill_a_worker() -> int:
    """Ends a worker as a crash would; its process names itself after its class."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if words.startswith(b"ray::Worker"):
                os.kill(int(folder.name), signal.SIGKILL)
                return int(folder.name)
    return 0


@pytest.mark.slow
def test_an_interrupted_run_goes_on(cluster: Any, endpoint: Endpoint, plan: MakePlan, store: Store) -> None:
    endpoint.reply = lambda body: Answer(values(body), wait=0.02)

    def interrupt(tally: Tally) -> None:
        if tally.sent > 10 and not interrupted:
            interrupted.append(time.monotonic())
            raise KeyboardInterrupt

    interrupted: list[float] = []
    outcome = run(plan(600), store, RAY, progress=interrupt)
    assert outcome.interrupted
    assert 0 < store.count() < 600
    assert store.count() == outcome.tally.sent
    assert run(plan(600), store, RAY).complete
    assert len(endpoint.requests) == 600


@pytest.mark.slow
def test_what_workers_cannot_do_ends_the_run_with_a_sentence(
    cluster: Any, endpoint: Endpoint, plan: MakePlan, store: Store
) -> None:
    with pytest.raises(ModelError, match="no setting 'tiemout'"):
        run(plan(3, settings={"tiemout": 3}), store, RAY)


def test_a_loaded_model_cannot_be_sent_away(endpoint: Endpoint) -> None:
    model = ChatRater("openai:tester", settings={"base_url": endpoint.url}).open()
    try:
        with pytest.raises(InputError, match="name the model"):
            RayEngine().open(ChatRater(model), RAY)
    finally:
        model.close()
