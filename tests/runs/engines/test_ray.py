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
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.engines.ray import RayEngine, connected
from vantage.runs.tally import RunTally

RAY = RunOptions(engine="ray", workers=2)


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
def test_two_clients_give_what_one_process_gives_also_when_they_are_interrupted(
    cluster: Any, endpoint: Endpoint, plan: MakePlan, store: RunStore, tmp_path: Path
) -> None:
    endpoint.reply = lambda body: Answer(values(body), wait=0.2)
    asked = plan(60, "two-step", samples=2, temperature=1.0)
    interrupted: list[float] = []

    def interrupt(tally: RunTally) -> None:
        if tally.sent > 10 and not interrupted:
            interrupted.append(time.monotonic())
            raise KeyboardInterrupt

    outcome = run(asked, store, RAY, progress=interrupt)
    assert outcome.interrupted
    assert 0 < store.count() == outcome.tally.sent < 240
    # What a cluster has begun, one process goes on with, and nothing is sent twice.
    endpoint.reply = values
    rest = run(asked, store)
    assert rest.complete
    assert rest.tally.stored + rest.tally.sent == len(endpoint.requests) == 60 * 2 * 2
    with RunStore(tmp_path / "local.sqlite") as other:
        assert rest.judged[0].judgments.equals(run(asked, other).judged[0].judgments)
    # Where nothing is open, no worker is started.
    assert run(asked, store, RAY).tally.sent == 0


@pytest.mark.slow
def test_every_worker_has_a_model_of_its_own(cluster: Any, store: RunStore, tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.csv"
    pl.DataFrame(
        {"item": [f"i{n:04}" for n in range(90)], "question": "trust", "reply": [str(n % 7 - 3) for n in range(90)]}
    ).write_csv(recorded)
    asked = RunPlan.of(corpus(90), ChatRater(f"recorded:{recorded}"), "warmth-competence", questions=["trust"])
    outcome = run(asked, store, RAY)
    assert outcome.complete
    assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(90)]


@pytest.mark.slow
def test_a_worker_that_is_lost_is_replaced_and_nothing_is_lost_with_it(
    cluster: Any, endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    asked, lock = Counter[int](), threading.Lock()

    def reply(body: dict[str, Any]) -> Answer:
        with lock:
            asked[case(body)] += 1
        return Answer(values(body), wait=0.02)

    endpoint.reply = reply
    killed: list[int] = []

    def progress(tally: RunTally) -> None:
        if tally.sent > 20 and not killed:
            killed.append(_kill_a_worker())

    outcome = run(plan(300), store, RAY, progress=progress)
    assert killed
    assert outcome.complete
    assert len(asked) == 300
    assert store.count() == outcome.tally.sent == 300
    assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(300)]
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
def test_what_workers_cannot_do_ends_the_run_with_a_sentence(
    cluster: Any, endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    with pytest.raises(ModelError, match="no setting 'tiemout'"):
        run(plan(3, settings={"tiemout": 3}), store, RunOptions(engine="ray", workers=1))


def test_a_loaded_model_cannot_be_sent_away(endpoint: Endpoint) -> None:
    model = ChatRater("openai:tester", settings={"base_url": endpoint.url}).open()
    try:
        with pytest.raises(InputError, match="name the model"):
            RayEngine().open(ChatRater(model), RAY)
    finally:
        model.close()
