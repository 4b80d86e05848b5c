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
from unittest.mock import MagicMock

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
    assert any("without --engine ray it is faster" in note for note in outcome.judged[0].notes)


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


class LostCluster:
    """As much of Ray as an engine sees of a cluster of two machines whose head node is lost once workers have begun."""

    class exceptions:  # noqa: N801 - as in Ray
        class RaySystemError(Exception):
            pass

        class GetTimeoutError(Exception):
            pass

        class RayActorError(Exception):
            pass

        class WorkerCrashedError(Exception):
            pass

    def __init__(self) -> None:
        self.asked, self.killed = 0, 0

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, bool]]:
        return [{"Alive": True}, {"Alive": True}]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0}

    def remote(self, worker: type) -> Any:
        return MagicMock()

    def wait(self, references: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        self.asked += 1
        if self.asked > 2:
            raise self.exceptions.RaySystemError("System error: Failed to connect to GCS\nat 10.0.0.1:6379.")
        return references[:1], references[1:]

    def get(self, references: list[Any], **_: Any) -> list[None]:
        return [None for _ in references]

    def kill(self, actor: Any) -> None:
        self.killed += 1


def test_a_lost_head_node_ends_the_run_with_a_sentence(
    plan: MakePlan, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = LostCluster()
    monkeypatch.setattr("vantage.runs.engines.ray.require", lambda *_: lost)
    with pytest.raises(ModelError) as error:
        run(plan(5), store, RAY)
    assert str(error.value) == (
        "The Ray cluster was lost (System error: Failed to connect to GCS at 10.0.0.1:6379). Every reply so far "
        "is stored: start the cluster and run the same command again."
    )
    assert lost.killed == 2
    # The store still takes the run up where it was.
    rest = run(plan(5), store)
    assert (rest.complete, rest.tally.sent) == (True, 5)
