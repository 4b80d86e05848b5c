"""Models that run in this process: batches, of a size that fits their speed, each durable before the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from vantage import ChatRater
from vantage.raters.models.base import GIVEN_UP, Completion, LogProbs, Request, never
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.engines import local
from vantage.runs.tally import RunTally

from .conftest import corpus


class Here:
    """A model that remembers the batches that it got."""

    name = "here"
    window: int | None = None

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.batches: list[int] = []
        self.options: list[Sequence[str]] = []

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.batches.append(len(requests))
        return [Completion("2", "stop", 10, 1) for _ in requests]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        self.batches.append(len(requests))
        self.options.append(options)
        table: LogProbs = np.full((len(requests), len(options)), np.log(0.1))
        table[0] = np.nan
        self.notes.append("The first was too long.")
        return table

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self) -> None: ...


def test_batches_grow_while_the_model_is_fast(store: RunStore) -> None:
    model = Here()
    outcome = run(RunPlan.of(corpus(400), ChatRater(model), "warmth-competence"), store)
    assert outcome.tally.sent == sum(model.batches) == 1200
    assert model.batches[0] == local.SMALLEST
    assert max(model.batches) > local.SMALLEST
    assert outcome.judged[0].judgments["value"].unique().to_list() == [2.0]


def test_scores_are_asked_for_question_by_question(store: RunStore) -> None:
    model = Here()
    outcome = run(RunPlan.of(corpus(20), ChatRater(model, "scoring"), "warmth-competence"), store)
    rows = outcome.judged[0].judgments
    assert rows.height == 60
    assert len(set(map(tuple, model.options))) == 1
    failed = rows.filter(status="failed")
    assert failed.height == len(model.batches)
    assert failed["reply"].unique().to_list() == ["The first was too long."]
    assert rows.filter(status="answered")["probabilities"].list.sum().round(9).unique().to_list() == [1.0]


class Slow(Here):
    """A model that takes a while for each request and can be stopped between two."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped: Callable[[], bool] = never
        self.answered = 0

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.batches.append(len(requests))
        return [self._one() for _ in requests]

    def _one(self) -> Completion:
        if self.stopped():
            return GIVEN_UP
        time.sleep(0.02)
        self.answered += 1
        return Completion("2", "stop", 10, 1)


def test_an_interrupted_batch_ends_after_the_request_under_way_and_loses_none(store: RunStore) -> None:
    model = Slow()
    asked = RunPlan.of(corpus(60), ChatRater(model), "warmth-competence", questions=["trust"])
    interrupted: list[float] = []

    def interrupt(tally: RunTally) -> None:
        if not interrupted:
            interrupted.append(time.monotonic())
            raise KeyboardInterrupt

    outcome = run(asked, store, progress=interrupt)
    assert time.monotonic() - interrupted[0] < 2
    assert outcome.interrupted
    # In the middle of the first batch, of which what was answered is kept and the rest has not failed.
    assert 0 < model.answered < model.batches[0] == local.SMALLEST
    assert store.count() == outcome.tally.sent == model.answered
    assert (outcome.tally.failed, outcome.tally.missing) == (0, 60 - model.answered)
    assert model.stopped is never
    assert run(asked, store).complete
    assert model.answered == 60


def test_a_failed_batch_member_fails_alone_and_counts_for_fail_on(store: RunStore) -> None:
    class Broken(Here):
        def complete(self, requests: Sequence[Request]) -> list[Completion]:
            self.batches.append(len(requests))
            return [Completion("", "failed", error="no") for _ in requests]

    model = Broken()
    outcome = run(RunPlan.of(corpus(400), ChatRater(model), "warmth-competence"), store, RunOptions(fail_on=10))
    assert "more than the 10 allowed" in outcome.tally.ended
    assert len(model.batches) == 1


def test_each_reply_is_stored_as_it_is_made(tmp_path: Path) -> None:
    """A model that dies in the middle of a batch loses only what it computed at that moment."""

    class Dying(Here):
        together = 2

        def complete(self, requests: Sequence[Request]) -> list[Completion]:
            if len(self.batches) == 3:
                raise RuntimeError("killed")
            return super().complete(requests)

    model = Dying()
    plan = RunPlan.of(corpus(20), ChatRater(model), "warmth-competence", questions=["trust"])
    with RunStore(tmp_path / "runs.sqlite") as store, pytest.raises(RuntimeError, match="killed"):
        run(plan, store)
    with RunStore(tmp_path / "runs.sqlite") as store:
        assert (model.batches, store.count()) == ([2, 2, 2], 6)
