"""What plans will take: the calls are those that a run sends, and no model is loaded for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage import ChatRater, Instrument, demo_corpus
from vantage.cli.progress import shown
from vantage.raters import Personas
from vantage.raters.models.base import Completion, LogProbs, Request
from vantage.raters.models.probe import ModelProfile, probe
from vantage.runs import RunOptions, RunPlan, RunStore, added, run
from vantage.runs.forecast import ASSUMED, CLARIFYING, LATENCY, SHARED, SPEED, TIMED, UNKNOWN, UNTIMED, Forecast
from vantage.runs.profiles import keep
from vantage.runs.records import ledger

from .conftest import MakePlan

INSTRUMENT = Instrument.load("warmth-competence")
PRICES: Any = {"openai:x": {"input": 2.0, "output": 10.0}}


class Counting:
    """Answers everything in the same way and remembers what it was asked."""

    name = "openai:x"
    window: int | None = None

    def __init__(self, reply: str = "Answer: 2") -> None:
        self.notes: list[str] = []
        self.seen: list[Request] = []
        self.reply = reply

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.seen += requests
        return [Completion(self.reply) for _ in requests]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        self.seen += requests
        return np.full((len(requests), len(options)), -1.0)

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def close(self) -> None: ...


def forecast(rater: ChatRater, options: RunOptions | None = None, **asked: Any) -> Forecast:
    found = Forecast(options)
    found.add(RunPlan.of(demo_corpus(), rater, INSTRUMENT, **asked))
    return found


@pytest.mark.parametrize(
    ("style", "samples", "calls"),
    [
        ("zero-shot", 1, 90),
        ("zero-shot", 5, 450),
        ("together", 3, 90),
        ("two-step", 2, 360),
        ("reasoning+two-step", 1, 180),
        ("scoring", 1, 90),
        ("few-shot:2+reasoning", 1, 90),
        ("selective-persona", 2, 30 + 180),
    ],
)
def test_calls_are_those_that_a_run_sends(store: RunStore, style: str, samples: int, calls: int) -> None:
    who: dict[str, Any] = {"persona": Personas.load("pool")[0]} if "persona" in style else {}
    rater = ChatRater("openai:x", style, samples=samples, **who)
    found = forecast(rater)
    assert found.total.calls == calls
    # A persona to whom everything is relevant is asked everything.
    model = Counting("Answer: 10" if who else "Answer: 2")
    run(
        RunPlan.of(demo_corpus(), ChatRater(model, style, samples=samples, **who), INSTRUMENT),
        store,
        RunOptions(clarify=False),
    )
    assert len(model.seen) == calls
    sent = sum(len(message.content) for request in model.seen for message in request.messages)
    assert found.total.prompt_tokens == pytest.approx(sent / 4, rel=0.02)


def test_what_is_asked_twice_or_answered_already_is_counted_once(store: RunStore) -> None:
    rater = ChatRater("openai:x", samples=2)
    found = forecast(rater)
    assert SHARED not in found.notes
    found.add(RunPlan.of(demo_corpus(), rater, INSTRUMENT))
    assert found.total.calls == 180
    assert SHARED in found.notes
    found.add(RunPlan.of(demo_corpus(), ChatRater("openai:x", samples=5), INSTRUMENT))
    assert found.total.calls == 450
    rated = run(RunPlan.of(demo_corpus(), ChatRater(Counting(), name=rater.id), INSTRUMENT, questions=["trust"]), store)
    known = added(demo_corpus(), *rated.judged)
    rest = Forecast()
    rest.add(RunPlan.of(known, rater, INSTRUMENT))
    assert rest.total.calls == 180 - 30


def test_cost_is_known_where_the_price_is() -> None:
    found = forecast(ChatRater("openai:x"), RunOptions(prices=PRICES)).total
    assert found.cost == pytest.approx((found.prompt_tokens * 2 + found.completion_tokens * 10) / 1e6)
    assert found.cost is not None
    half = forecast(ChatRater("openai:x"), RunOptions(prices=PRICES, engine="batch")).total
    assert half.cost == pytest.approx(found.cost / 2)
    assert half.seconds is None
    assert forecast(ChatRater("openai:y"), RunOptions(prices=PRICES)).total.cost is None
    assert forecast(ChatRater("embedded")).total.cost == 0


def test_time_follows_concurrency_and_limits() -> None:
    one = forecast(ChatRater("openai:x"))
    assert one.total.seconds == pytest.approx((90 * LATENCY + one.total.completion_tokens / SPEED) / 8)
    more = forecast(ChatRater("openai:x", settings={"concurrency": 4})).total.seconds
    assert more == pytest.approx((one.total.seconds or 0) * 2)
    assert forecast(ChatRater("openai:x"), RunOptions(requests_per_minute=6)).total.seconds == 900
    slow = forecast(ChatRater("openai:x"), RunOptions(tokens_per_minute=60)).total
    assert slow.seconds == slow.prompt_tokens
    here = forecast(ChatRater("embedded"))
    assert here.total.seconds is None
    assert (TIMED in one.notes, UNTIMED in one.notes, UNTIMED in here.notes) == (True, False, True)


def test_what_was_assumed_is_told() -> None:
    assert forecast(ChatRater("openai:x")).assumptions == [CLARIFYING]
    assert forecast(ChatRater("openai:x", "two-step")).assumptions == [ASSUMED["why"], CLARIFYING]
    assert UNKNOWN.format(model="openai:x") in forecast(ChatRater("openai:x")).notes
    assert not any("Nothing is known" in note for note in forecast(ChatRater("embedded")).notes)
    found = Forecast()
    found.add(RunPlan(()), "never said of nothing")
    assert (found.assumptions, found.notes, found.total.calls) == ([], [], 0)


def test_of_an_unknown_model_numbers_are_the_least_there_can_be() -> None:
    unknown, here = forecast(ChatRater("openai:x"), RunOptions(prices=PRICES)), forecast(ChatRater("embedded"))
    assert (unknown.total.at_least, here.total.at_least) == (True, False)
    assert shown(unknown.total)["completion_tokens"] == f"at least {unknown.total.completion_tokens:,}"
    assert str(shown(unknown.total)["cost"]).startswith("at least 0.")
    assert (unknown.total + here.total).at_least
    unpriced = forecast(ChatRater("openai:x")).total
    assert (unpriced.cost, shown(unpriced)["cost"]) == (None, "not known")
    # Scoring writes nothing, so that nothing is unknown.
    assert not forecast(ChatRater("openai:x", "scoring"), questions=["trust"]).total.at_least


def test_raters_of_a_model_and_style_are_added_up() -> None:
    found = Forecast()
    people = Personas.load("pool")[:3]
    raters = [ChatRater("openai:x", "persona", persona=one) for one in people]
    found.add(RunPlan.of(demo_corpus(), [*raters, ChatRater("openai:y")], INSTRUMENT, questions=["trust"]))
    assert [one.calls for one in found.estimates] == [30] * 4
    assert [(one.model, one.style, one.calls, n) for one, n in found.by_style] == [
        ("openai:x", "persona", 90, 3),
        ("openai:y", "zero-shot", 30, 1),
    ]


def thinking(body: dict[str, Any]) -> Answer:
    """A model that thinks for longer where reasons are asked for, at 3.2 characters a token."""
    asked = " ".join(m["content"] for m in body["messages"])
    thought = 700 + 13 * (len(asked) % 17)
    text = "ready" if "ready" in asked else "They gave it back, which few would do.\nAnswer: 2"
    text = text if "reason" in asked.lower() else "2"
    usage = {"prompt_tokens": round(len(asked) / 3.2) + 7, "completion_tokens": thought + len(text) // 4}
    usage |= {"completion_tokens_details": {"reasoning_tokens": thought}}  # type: ignore[dict-item]
    message = {"role": "assistant", "content": text, "reasoning_content": "Hm."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return Answer(raw=json.dumps({"id": "1", "model": "m", "choices": [choice], "usage": usage}))


@pytest.mark.parametrize("style", ["reasoning", "together", "two-step"])
def test_an_estimate_of_a_thinking_model_is_near_what_it_costs(
    style: str, plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    endpoint.reply = thinking
    options = RunOptions(prices={"openai:tester": {"input": 1.0, "output": 8.0}}, clarify=False)
    rater = plan(1).parts[0].rater
    # Nothing is known yet; then its profile; then calls in another style; then calls of its own.
    blind = Forecast(options, store)
    blind.add(plan(6, style, max_tokens=4096))
    assert blind.total.at_least
    model = rater.open()
    keep(store, rater, probe(model))
    model.close()
    probed = Forecast(options, store)
    probed.add(plan(6, style, max_tokens=4096))
    assert not probed.total.at_least
    assert any("thinks for about" in note for note in probed.assumptions)
    outcome = run(plan(6, style, max_tokens=4096), store, options)
    assert probed.total.cost == pytest.approx(outcome.tally.cost, rel=0.25)
    assert (blind.total.cost or 0) < 0.5 * (outcome.tally.cost or 0)
    stored = Forecast(options, store)
    stored.add(plan(12, style, max_tokens=4096))
    later = run(plan(12, style, max_tokens=4096), store, options)
    assert stored.total.cost == pytest.approx(later.tally.cost, rel=0.25)


def test_prices_and_calls_of_a_probe_are_used(plan: MakePlan, store: RunStore, endpoint: Endpoint) -> None:
    told = ModelProfile("openai:tester", "2026-11-18", 11, price={"input": 2.0, "output": 4.0}, prompt_tokens=1000)
    keep(store, plan(1).parts[0].rater, told)
    found = Forecast(store=store)
    found.add(plan(5))
    assert found.total.cost == pytest.approx((2 * found.total.prompt_tokens + 4 * found.total.completion_tokens) / 1e6)
    assert run(plan(5), store, RunOptions(max_cost=0.5)).tally.cost
    probe_entry, run_entry = ledger(store)
    assert (probe_entry.run, probe_entry.calls) == (0, 11)
    assert probe_entry.cost == pytest.approx(0.002)
    assert (run_entry.run, run_entry.prices_of) == (1, "2026-11-18")


def test_a_probe_has_the_price_that_a_run_was_given(plan: MakePlan, store: RunStore, endpoint: Endpoint) -> None:
    keep(store, plan(1).parts[0].rater, ModelProfile("openai:tester", "2026-11-18", 11, prompt_tokens=1000))
    assert ledger(store)[0].cost is None
    run(plan(2), store, RunOptions(prices={"openai:tester": {"input": 2.0, "output": 4.0}}))
    assert ledger(store)[0].cost == pytest.approx(0.002)
