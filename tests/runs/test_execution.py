"""Runs from plan to judgments: resuming, sending once, asking again openly, spending no more than allowed."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import polars as pl
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from tests.runs.test_rating import ADA, answering
from vantage import ChatRater, InputError
from vantage.runs import PlanPart, RunOptions, RunPlan, RunStore, added, judgments, run
from vantage.runs.rating import summaries
from vantage.runs.records import records
from vantage.runs.tally import RunTally

from .conftest import MakePlan, case, corpus


def test_a_finished_run_is_read_and_nothing_is_sent(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    first = run(plan(6, samples=2, temperature=1.0), store)
    assert (first.tally.sent, len(endpoint.requests)) == (12, 12)
    again = run(plan(6, samples=2, temperature=1.0), store)
    assert (again.tally.sent, again.tally.stored, len(endpoint.requests)) == (0, 12, 12)
    assert again.run == first.run
    assert again.judged[0].judgments.equals(first.judged[0].judgments)
    looked = judgments(plan(8, samples=2, temperature=1.0), store)
    assert (looked.tally.missing, looked.judged[0].missing, len(endpoint.requests)) == (4, 4, 12)
    assert looked.judged[0].judgments.equals(first.judged[0].judgments)


def test_a_change_of_anything_asks_again(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    run(plan(1), store)
    for options in ({"temperature": 0.5}, {"max_tokens": 9}, {"seed": 3}, {"style": "reasoning"}, {"samples": 2}):
        sent = len(endpoint.requests)
        run(plan(1, **options), store)
        assert len(endpoint.requests) == sent + 1, options
    assert len(records(store)) == 6


def test_what_stands_twice_is_sent_once_even_while_it_is_under_way(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    endpoint.reply = lambda body: Answer("2", wait=0.05)
    items = corpus(4)
    same = items.items.with_columns(pl.lit("The same text, case 0000.").alias("text"))
    rater = plan(1).parts[0].rater
    outcome = run(RunPlan.of(items._with(items=same), rater, "warmth-competence", questions=["trust"]), store)
    assert len(endpoint.requests) == 1
    assert outcome.judged[0].judgments.height == 4


def test_the_relevance_of_an_item_is_asked_for_once(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    endpoint.reply = answering
    asked = plan(3, "selective-persona", ("trust", "competence"), persona=ADA, samples=2)
    outcome = run(asked, store)
    assert len(endpoint.requests) == 3 + 3 * 2 * 2
    rows = outcome.judged[0].judgments
    assert rows.filter(question="warmth-competence-relevance").height == 3
    assert rows.height == 15
    assert run(asked, store).tally.sent == 0


def test_a_conversation_goes_on_where_it_was_left(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    endpoint.reply = lambda body: Answer(status=400, error={"message": "no"}) if _is_why(body) else "2"
    first = run(plan(3, "two-step"), store)
    assert first.tally.failed == 3
    assert first.judged[0].judgments["rationale"].null_count() == 3
    endpoint.reply = lambda body: "Because." if _is_why(body) else "3"
    again = run(plan(3, "two-step"), store)
    assert (again.tally.sent, again.tally.stored) == (3, 3)
    assert again.judged[0].judgments.select("value", "rationale").unique().rows() == [(2.0, "Because.")]


def _is_why(body: dict[str, Any]) -> bool:
    return "Why is this your answer?" in body["messages"][-1]["content"]


def test_which_answer_a_reply_gives_is_asked_unless_told_otherwise_and_counted(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    def stated(body: dict[str, Any]) -> bool:
        return "State the answer" in body["messages"][-1]["content"]

    endpoint.reply = lambda body: "2" if stated(body) or case(body) else "purple"
    first = run(plan(2), store, RunOptions(clarify=False))
    assert first.tally.clarified == 0
    assert summaries(first)[0]["notes"] == [
        "1 of 2 replies give no answer that can be read; the same command with --clarify asks once which answer each "
        "of them gives."
    ]
    outcome = run(plan(2), store)
    assert outcome.judged[0].judgments["rule"].to_list() == ["clarified:whole:number", "whole:number"]
    assert (outcome.tally.sent, outcome.tally.stored, outcome.tally.clarified) == (1, 2, 1)
    assert outcome.judged[0].judgments["status"].cast(str).to_list() == ["answered", "answered"]
    assert run(plan(2), store, RunOptions(clarify=True)).tally.sent == 0
    assert len(endpoint.requests) == 3
    assert summaries(outcome)[0]["notes"] == []


def test_several_raters_share_one_run(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    raters = [plan(1, samples=n).parts[0].rater for n in (1, 2)]
    named = [ChatRater(r.model, name=f"r{n}", samples=r.samples, settings=r.settings) for n, r in enumerate(raters)]
    outcome = run(RunPlan.of(corpus(3), named, "warmth-competence", questions=["trust"]), store)
    # The first sample of the second rater is the first rater's.
    assert len(endpoint.requests) == 6
    assert [judged.judgments.height for judged in outcome.judged] == [3, 6]
    assert [judged.calls for judged in outcome.judged] == [3, 3]


def test_progress_is_told(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    seen: list[tuple[int, int]] = []
    endpoint.reply = lambda body: Answer("2", wait=0.02)
    run(
        plan(40),
        store,
        RunOptions(concurrency=2),
        progress=lambda tally: seen.append((tally.planned, tally.conversations)),
    )
    assert {planned for planned, _ in seen} == {40}
    done = [count for _, count in seen]
    assert done == sorted(done)
    assert len(set(done)) > 2


def test_costs_stay_within_the_limit(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    prices = {"openai:tester": {"input": 0.0, "output": 1e6}}
    options = RunOptions(max_cost=30.5, prices=prices, concurrency=4, clarify=False)  # type: ignore[arg-type]
    endpoint.reply = lambda body: Answer("2 2 2", wait=0.01)
    outcome = run(plan(40, max_tokens=5), store, options)
    assert "exceed the limit of 30.5" in outcome.tally.ended
    assert outcome.tally.cost is not None
    # A reply may have five tokens and has three, so there is room for nine calls and not for a tenth.
    assert outcome.tally.cost == 3 * outcome.tally.sent == 27
    assert outcome.judged[0].judgments.height == 9
    # The limit is the run's, not the sitting's.
    assert run(plan(40, max_tokens=5), store, options).tally.sent == 0
    more = run(plan(40, max_tokens=5), store, RunOptions(max_cost=1e9, prices=prices, clarify=False))  # type: ignore[arg-type]
    assert more.complete
    assert more.tally.sent == 31


def test_a_limit_on_cost_needs_a_price(plan: MakePlan, store: RunStore) -> None:
    with pytest.raises(InputError, match="max-cost needs the price of 'openai:tester'"):
        run(plan(1), store, RunOptions(max_cost=1))


def test_requests_are_spread_over_the_minute(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    start = time.monotonic()
    run(plan(15), store, RunOptions(requests_per_minute=600))
    assert 0.4 < time.monotonic() - start < 5


def test_a_model_that_cannot_do_it_ends_the_run_and_keeps_what_there_is(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    with pytest.raises(Exception, match="without log-probabilities"):
        run(plan(3, "scoring"), store)
    assert records(store)[0].state == "stopped"


def test_scores_are_stored_and_calibrated_over_all_items(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    tops = {str(n): -1.0 - 0.1 * n for n in range(-3, 4)}
    endpoint.reply = lambda body: Answer("1", logprobs={**tops, "2": -0.3 * case(body) - 0.1})
    part = plan(4, "scoring", calibrate=True).parts[0]
    whole = run(RunPlan((part,)), store).judged[0].judgments
    some = PlanPart(part.rater, corpus(2), part.instrument, part.questions)
    with RunStore.temporary() as other:
        first = run(RunPlan((some,)), other).judged[0]
        known = RunPlan.of(part.corpus, part.rater, part.instrument, questions=["trust"]).parts[0]
        grown = PlanPart(known.rater, added(part.corpus, first), known.instrument, known.questions)
        second = run(RunPlan((grown,)), other)
    assert second.tally.sent == 2
    assert (
        second.judged[0]
        .judgments.sort("item")
        .select("item", "expected")
        .equals(whole.sort("item").select("item", "expected"))
    )


def test_a_run_that_is_told_to_stop_ends_with_what_there_is(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    """`Ctrl-C` reaches the thread that shows progress."""
    endpoint.reply = lambda body: Answer("2", wait=0.05)
    pressed = threading.Event()

    def press(tally: RunTally) -> None:
        if tally.sent > 5 and not pressed.is_set():
            pressed.set()
            raise KeyboardInterrupt

    outcome = run(plan(100), store, RunOptions(concurrency=4), progress=press)
    assert outcome.interrupted
    assert 5 < outcome.tally.sent < 60
    assert outcome.judged[0].judgments.height == outcome.tally.sent == store.count()
    assert records(store)[0].state == "interrupted"
    resumed = run(plan(100), store)
    assert resumed.complete
    assert resumed.tally.sent + outcome.tally.sent == 100


def test_the_record_tells_every_option(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    run(plan(2, temperature=0.7, seed=4, samples=3), store)
    (record,) = records(store)
    (part,) = record.plan["parts"]
    assert record.state == "complete"
    assert (part["temperature"], part["seed"], part["samples"], part["items"]) == (0.7, 4, 3, 2)
    assert (part["instrument"], part["questions"]) == ("warmth-competence", ["trust"])
    assert record.summary["sent"] == 6
    assert "stays-secret" not in json.dumps([record.plan, record.summary])


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"tries": 0},
        {"deadline": 0},
        {"fail_on": -1},
        {"fail_on": 2.5},
        {"requests_per_minute": 0},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        RunOptions(**options)


def test_half_a_character_and_other_odd_replies_do_no_harm(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    texts = ["2 \\ud83d", "\\u0000 2", "\\ud83d", "=cmd()", "</script>2", "2" * 5000]

    def reply(body: dict[str, Any]) -> Answer:
        if case(body) == 6:
            return Answer(status=400, raw='{"error": {"message": "no \\ud83d"}}')
        sent = '{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "TEXT"}}]}'
        return Answer(raw=sent.replace("TEXT", texts[case(body)]))

    endpoint.reply = reply
    outcome = run(plan(7), store, RunOptions(clarify=False))
    assert outcome.tally.sent == 7
    assert outcome.judged[0].judgments["reply"].to_list()[0] == "2 ?"
    again = run(plan(7), store, RunOptions(retry_failed=False, clarify=False))
    assert again.judged[0].judgments.equals(outcome.judged[0].judgments)


def test_a_seed_of_any_size_is_a_seed(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    for seed in (10**30, -(10**30), 2**63):
        assert run(plan(1, seed=seed), store).tally.sent == 1
        assert run(plan(1, seed=seed), store).tally.sent == 0
