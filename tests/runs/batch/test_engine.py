"""Batches from plan to judgments, against a real endpoint: submitted once, collected whatever happens in between."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.batch.provider import Provider
from tests.runs.conftest import MakePlan, case, corpus
from vantage import ChatRater, InputError
from vantage.raters.models.base import ModelError
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.batch.providers import OpenAIBatches
from vantage.runs.prices import Price
from vantage.runs.records import ledger, totals
from vantage.runs.tally import RunTally

ROOT = Path(__file__).resolve().parents[3]
CLIENTS = pytest.mark.xdist_group("providers")  # which take seconds to import
PROTOCOLS = [
    *("openai", "responses", "azure", "together"),
    *(pytest.param(name, marks=CLIENTS) for name in ("anthropic", "gemini", "cohere", "mistral", "bedrock")),
]
FEWER = [
    "openai",
    *(pytest.param(name, marks=(CLIENTS, pytest.mark.slow)) for name in ("anthropic", "gemini", "bedrock")),
]
FEWER += [*(pytest.param(name, marks=pytest.mark.slow) for name in ("azure", "together")), PROTOCOLS[-2]]
COHERE = pytest.param("cohere", marks=(CLIENTS, pytest.mark.slow))
BATCH = RunOptions(engine="batch")


def value(body: dict[str, Any]) -> str:
    return str(case(body) % 7 - 3)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_batch_gives_what_single_requests_would(
    provider: Provider, plan: MakePlan, store: RunStore, protocol: str
) -> None:
    provider.reply = value
    outcome = run(plan(20, protocol=protocol), store, BATCH)
    assert outcome.complete
    assert len(provider.batches) == 1
    assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(20)]
    assert (outcome.tally.sent, outcome.tally.prompt_tokens, outcome.tally.completion_tokens) == (20, 2000, 200)
    again = run(plan(20, protocol=protocol), store, BATCH)
    assert (again.tally.sent, again.tally.stored, len(provider.batches)) == (0, 20, 1)
    # One store for all engines: what came in a batch is not asked for by another.
    assert run(plan(20, protocol=protocol), store).tally.sent == 0


@CLIENTS
def test_the_key_is_sent_as_each_provider_wants_it_and_stands_in_no_record(
    provider: Provider, plan: MakePlan, store: RunStore
) -> None:
    provider.reply = lambda body: "2 test-key-that-stays-secret"
    run(plan(1, protocol="anthropic"), store, BATCH)
    assert {headers["x-api-key"] for headers in provider.headers} == {"test-key-that-stays-secret"}
    assert all("Authorization" not in headers for headers in provider.headers)
    provider.headers.clear()
    run(plan(2), store, BATCH)
    assert {headers["Authorization"] for headers in provider.headers} == {"Bearer test-key-that-stays-secret"}
    run(plan(3, protocol="gemini"), store, BATCH)
    run(plan(3, protocol="azure"), store, BATCH)
    assert b"stays-secret" not in b"".join(file.read_bytes() for file in store.path.parent.glob("runs.sqlite*"))


def test_follow_up_questions_go_into_the_next_batch(provider: Provider, plan: MakePlan, store: RunStore) -> None:
    provider.reply = lambda body: "Because." if "Why is" in body["messages"][-1]["content"] else "2"
    outcome = run(plan(6, "two-step"), store, BATCH)
    assert [len(batch.requests) for batch in provider.batches] == [6, 6]
    assert outcome.judged[0].judgments["rationale"].unique().to_list() == ["Because."]


@pytest.mark.parametrize("protocol", FEWER)
def test_what_expires_goes_again_and_what_is_refused_has_failed(
    provider: Provider, plan: MakePlan, store: RunStore, protocol: str
) -> None:
    """Partial results, an expired batch, lines that are missing, errors that pass and errors that do not."""
    seen: Counter[int] = Counter()

    def reply(body: dict[str, Any]) -> str | tuple[int, str] | None:
        number = case(body)
        seen[number] += 1
        if number == 3:
            return 400, "This text is not allowed."
        if number in (5, 6) and seen[number] == 1:
            return None if number == 5 else (529, "Overloaded.")
        return value(body)

    provider.reply, provider.answers = reply, 15
    outcome = run(plan(20, protocol=protocol), store, BATCH)
    assert outcome.tally.sent == 20
    assert outcome.tally.failed == 1
    judged = outcome.judged[0].judgments
    assert judged.filter(status="failed")["item"].to_list() == ["i0003"]
    assert "not allowed" in judged.filter(status="failed")["reply"][0]
    assert judged.filter(status="answered")["value"].to_list() == [n % 7 - 3 for n in range(20) if n != 3]
    # The 13 good ones of the first 15 were submitted once, the failed one too, and nothing was answered twice.
    assert [len(batch.requests) for batch in provider.batches] == [20, 7]
    assert max(seen.values()) == 2
    provider.reply = value
    assert run(plan(20, protocol=protocol), store, BATCH).tally.sent == 1


def test_faults_of_the_line_are_passed_through(provider: Provider, plan: MakePlan, store: RunStore) -> None:
    provider.reply = value
    provider.faults = {
        "POST /files": [429, 500, "reset"],
        "POST /batches": [429],
        "GET /batches/": [503, "cut"],
        "GET /files/": ["reset", "cut"],
    }
    outcome = run(plan(8), store, BATCH)
    assert outcome.complete
    assert not any(provider.faults.values())
    assert len(provider.batches) == 1
    assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(8)]


@CLIENTS
def test_errors_without_a_status_go_again_and_fail_with_their_words(
    provider: Provider, plan: MakePlan, store: RunStore
) -> None:
    """Records of Cohere's tell no status; addresses of results get no key."""
    provider.reply = lambda body: (400, "The text is too long.") if case(body) == 1 else value(body)
    outcome = run(plan(3, "json", protocol="cohere"), store, replace(BATCH, tries=2))
    assert [len(batch.requests) for batch in provider.batches] == [3, 1]
    assert outcome.judged[0].judgments.filter(status="failed")["reply"].to_list() == [
        "The text is too long (after 2 tries)."
    ]


@CLIENTS
def test_a_data_set_that_is_not_valid_ends_the_run_with_the_reason(
    provider: Provider, plan: MakePlan, store: RunStore
) -> None:
    provider.invalid = "line 2 has no messages"
    with pytest.raises(ModelError, match=r"Cohere refuses the requests \(line 2 has no messages\)"):
        run(plan(2, protocol="cohere"), store, BATCH)
    provider.invalid = ""
    assert run(plan(2, protocol="cohere"), store, BATCH).complete


@pytest.mark.parametrize("protocol", [*FEWER, COHERE])
def test_a_batch_whose_confirmation_was_lost_is_found_and_not_submitted_again(
    provider: Provider, plan: MakePlan, store: RunStore, protocol: str
) -> None:
    paths = {"anthropic": "POST /messages", "mistral": "POST /batch/jobs", "gemini": "POST /models"}
    path = paths.get(protocol, "POST /batches")
    provider.faults = {path: ["reset"]}
    outcome = run(plan(4, protocol=protocol), store, BATCH)
    assert outcome.complete
    assert len(provider.batches) == 1
    # A server that fails before it takes the batch has none of it, so it is submitted again.
    provider.faults = {path: [500]}
    assert run(plan(7, protocol=protocol), store, BATCH).complete
    assert [len(batch.requests) for batch in provider.batches] == [4, 3]


def test_an_outage_is_waited_out_while_a_batch_is_under_way(
    provider: Provider, plan: MakePlan, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vantage.runs.engines.local.LONGEST_WAIT", 0.02)
    provider.faults = {"GET /batches/": [503] * 20}
    assert run(plan(3), store, BATCH).complete
    # A provider that has never answered is a wrong address.
    provider.faults = {"POST /files": [503] * 20}
    with pytest.raises(ModelError, match="after 8 tries"):
        run(plan(4), store, BATCH)


def test_a_rejected_parameter_is_left_out_of_the_next_batch(
    provider: Provider, plan: MakePlan, store: RunStore
) -> None:
    def reply(body: dict[str, Any]) -> str | tuple[int, str]:
        return (400, "Unsupported parameter: 'seed'.") if "seed" in body else value(body)

    provider.reply = reply
    outcome = run(plan(5), store, BATCH)
    assert outcome.tally.failed == 0
    assert [len(batch.requests) for batch in provider.batches] == [5, 5]
    assert any("'seed'" in note for note in outcome.judged[0].notes)


@CLIENTS
def test_options_are_scored_in_batches_where_the_protocol_tells_probabilities(
    provider: Provider, plan: MakePlan, store: RunStore
) -> None:
    with pytest.raises(ModelError, match="log-probabilities"):
        run(plan(2, "scoring", protocol="anthropic"), store, BATCH)
    with pytest.raises(ModelError, match="log-probabilities"):
        run(plan(2, "scoring"), store, BATCH)
    asked = provider.batches[0].requests.values()
    assert all(body["logprobs"] and body["max_tokens"] == 1 for body in asked)


def test_a_full_queue_makes_batches_smaller(provider: Provider, plan: MakePlan, store: RunStore) -> None:
    full = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}
    provider.refusals = [full, full]
    outcome = run(plan(8), store, BATCH)
    assert outcome.complete
    assert [len(batch.requests) for batch in provider.batches] == [8, 4, 2, 2, 2, 2]


def test_a_batch_that_is_refused_fails_with_the_reason(provider: Provider, plan: MakePlan, store: RunStore) -> None:
    provider.refusals = [{"code": "invalid", "message": "Line 1 is no JSON."}]
    outcome = run(plan(3), store, BATCH)
    assert outcome.tally.failed == 3
    assert "Line 1 is no JSON" in outcome.judged[0].judgments["reply"][0]
    assert run(plan(3), store, BATCH).complete


@pytest.mark.slow
def test_batches_are_no_larger_than_the_provider_takes(
    provider: Provider, plan: MakePlan, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIBatches, "most", 7)
    assert run(plan(16), store, BATCH).complete
    assert [len(batch.requests) for batch in provider.batches] == [7, 7, 2]
    monkeypatch.setattr(OpenAIBatches, "largest", 4000)
    assert run(plan(24), store, BATCH).complete
    assert all(len(content) <= 4000 for content in list(provider.files.values())[3:])


@pytest.mark.slow
def test_half_the_price_is_counted_and_kept_apart(provider: Provider, plan: MakePlan, store: RunStore) -> None:
    prices = {"openai:tester": {"input": 10_000.0, "output": 100_000.0}}
    outcome = run(plan(4), store, RunOptions(engine="batch", prices=prices))  # type: ignore[arg-type]
    assert outcome.tally.cost == pytest.approx(4 * (100 * 0.01 + 10 * 0.1) / 2)
    assert totals(ledger(store, outcome.run))["cost"] == pytest.approx(outcome.tally.cost)
    # The limit holds for all that may be under way, at half the price: 0.5 for a prompt and 25.6 for a reply at most.
    capped = run(plan(30), store, RunOptions(engine="batch", prices=prices, max_cost=100.0))  # type: ignore[arg-type]
    assert capped.complete
    assert max(len(batch.requests) for batch in provider.batches[1:]) == 3


@CLIENTS
def test_the_whole_price_is_counted_where_no_discount_is_documented(
    provider: Provider, plan: MakePlan, store: RunStore
) -> None:
    prices = {"cohere:tester": Price(input=10_000.0, output=100_000.0)}
    outcome = run(plan(2, protocol="cohere"), store, replace(BATCH, prices=prices))
    assert outcome.tally.cost == pytest.approx(2 * (100 * 0.01 + 10 * 0.1))
    assert totals(ledger(store, outcome.run))["cost"] == pytest.approx(outcome.tally.cost)
    assert outcome.tally.notes == ["2 requests were submitted in batches."]


def test_a_run_that_does_not_wait_is_collected_later(provider: Provider, plan: MakePlan, store: RunStore) -> None:
    provider.polls = 10**6
    first = run(plan(5), store, RunOptions(engine="batch", batch_wait=0))
    assert not first.complete
    assert first.tally.missing == 5
    assert "5 requests are in batches" in first.tally.ended
    # Another plan that shares some of the requests does not submit them either, and leaves the others for later.
    provider.polls = 1
    assert run(plan(3), store, BATCH).tally.sent == 3
    assert run(plan(5), store, BATCH).tally.sent == 2
    assert len(provider.batches) == 1


def test_an_interrupted_run_leaves_its_batches_where_they_are(
    provider: Provider, plan: MakePlan, store: RunStore
) -> None:
    provider.polls = 10**6

    def interrupt(_: RunTally) -> None:
        if provider.batches and not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt

    interrupted: list[bool] = []
    outcome = run(plan(5), store, BATCH, progress=interrupt)
    assert outcome.interrupted
    assert any("run the same command again to collect them" in note for note in outcome.tally.notes)
    provider.polls = 1
    assert run(plan(5), store, BATCH).complete
    assert len(provider.batches) == 1


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["openai", *PROTOCOLS[-4:]])
def test_a_process_that_is_killed_between_submitting_and_collecting_doubles_nothing(
    provider: Provider, plan: MakePlan, tmp_path: Path, protocol: str
) -> None:
    path, items = tmp_path / "runs.sqlite", 12
    words = [sys.executable, "-m", "tests.runs.batch.killed", *provider.settings(protocol), str(path)]
    words += [protocol, str(items)]
    # Once before it could hear that the batch was taken, once while the batch is worked on.
    provider.polls = 10**6
    for before_confirmed in (True, False):
        provider.hold.clear() if before_confirmed else provider.hold.set()
        heard = len(provider.headers)
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        limit = time.monotonic() + 60
        while time.monotonic() < limit and not (
            provider.made.is_set() and (before_confirmed or len(provider.headers) > heard + 3)
        ):
            assert process.poll() is None, process.communicate()[1].decode()
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert len(provider.batches) == 1
    provider.polls, provider.reply = 1, value
    with RunStore(path) as store:
        outcome = run(plan(items, protocol=protocol), store, BATCH)
    assert outcome.complete
    assert Counter(provider.asked).most_common(1)[0][1] == 1
    assert outcome.judged[0].judgments["value"].to_list() == [n % 7 - 3 for n in range(items)]


def test_models_that_run_here_have_no_batches(store: RunStore) -> None:
    here = RunPlan.of(corpus(2), ChatRater("embedded"), "warmth-competence", questions=["trust"])
    with pytest.raises(InputError, match="leave --batch out"):
        run(here, store, BATCH)


def test_an_endpoint_without_batches_is_told_in_a_sentence(provider: Provider, plan: MakePlan, store: RunStore) -> None:
    provider.faults = {"POST /files": [404]}
    with pytest.raises(ModelError, match="has no batch API here"):
        run(plan(2), store, BATCH)
    provider.faults = {"POST /files": [401]}
    refused = run(plan(2), store, BATCH)
    assert "refuses the key (401)" in refused.tally.ended
    assert (refused.tally.failed, refused.judged[0].missing) == (0, 2)
    assert run(plan(2), store, BATCH).complete
