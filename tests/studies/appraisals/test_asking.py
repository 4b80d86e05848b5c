"""New runs: any model in one step and in two, five times unless told otherwise, kept apart as two raters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.runs.test_local import Here
from tests.studies.appraisals.release import write
from vantage import Corpus
from vantage.raters.models.base import Completion, Request
from vantage.report.record import Record
from vantage.studies.appraisals.study import STUDY
from vantage.studies.base import find
from vantage.studies.execution import Context


class Synthetic(Here):
    """Rates 6 with a reason; asked why, it gives another one."""

    name = "synthetic"

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Request] = []

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.seen += requests
        return [Completion(self._reply(request), "stop", 10, 5) for request in requests]

    @staticmethod
    def _reply(request: Request) -> str:
        if any(message.role == "assistant" for message in request.messages):
            return "Because the writer lies awake."
        if "JSON" in request.messages[-1].content:
            return '{"answer": 6, "reason": "The writer cannot rest."}'
        return "The writer cannot rest.\nAnswer: 6"


def asked(folder: Path, **options: Any) -> tuple[Corpus, Synthetic]:
    model = Synthetic()
    context = Context(find("appraisals").options(**options), Record("appraisals", ""), folder, models=(model,), seed=4)  # type: ignore[arg-type]
    return STUDY.collect(context), model


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("asking") / "release", evaluated=False)


@pytest.fixture(scope="module")
def both(release: Path) -> tuple[Corpus, Synthetic]:
    return asked(release, steps="both", runs=2, posts=1)


def test_one_step_asks_for_rating_and_reason_at_once(both: tuple[Corpus, Synthetic]) -> None:
    corpus, model = both
    one = corpus.judgments.filter(pl.col("rater") == "synthetic+zero-shot")
    assert one.shape[0] == 24 * 2
    assert one["value"].to_list() == [6.0] * 48
    assert set(one["rationale"]) == {"The writer cannot rest."}
    first = [request for request in model.seen if len(request.messages) <= 2]
    assert len(first) == 2 * 24 * 2
    assert any("cannot rest" in request.messages[-1].content for request in first)  # the post itself
    assert all("not mentioned" in request.messages[-1].content for request in first)


def test_the_paper_asks_for_the_rating_before_the_reason(release: Path) -> None:
    corpus, model = asked(release, prompt="paper", runs=1, posts=1)
    one = corpus.judgments.filter(pl.col("rater") == "synthetic+answer-first+json")
    assert one["value"].to_list() == [6.0] * 24
    assert set(one["rationale"]) == {"The writer cannot rest."}
    shapes = [request.messages[-1].content.partition("nothing else: ")[2] for request in model.seen]
    assert sum(shape.startswith('{"answer": …, "reason": "…"}') for shape in shapes) == 24
    assert len(model.seen) == 3 * 24  # one step, and two


def test_two_steps_ask_why_after_the_rating(both: tuple[Corpus, Synthetic]) -> None:
    corpus, model = both
    two = corpus.judgments.filter(pl.col("rater") == "synthetic+two-step")
    assert two.shape[0] == 24 * 2
    assert two["value"].to_list() == [6.0] * 48
    assert set(two["rationale"]) == {"Because the writer lies awake."}
    why = [request for request in model.seen if len(request.messages) > 2]
    assert len(why) == 24 * 2
    assert all("6" in message.content for request in why for message in request.messages if message.role == "assistant")


def test_runs_have_seeds_of_their_own(both: tuple[Corpus, Synthetic]) -> None:
    _, model = both
    assert len({request.sampling.seed for request in model.seen}) >= 2
    assert {request.sampling.temperature for request in model.seen} == {0.1}


def test_the_release_stays_as_it_is(release: Path, both: tuple[Corpus, Synthetic]) -> None:
    corpus, _ = both
    before = STUDY.collect(Context(find("appraisals").options(), Record("appraisals", ""), release))
    old = corpus.judgments.filter(~pl.col("rater").str.starts_with("synthetic"))
    assert len(old) == len(before.judgments)
    assert corpus.judgments.filter(pl.col("rater").str.starts_with("synthetic"))["item"].unique().to_list() == ["p0"]
