"""Several models side by side: one ledger, one budget, and an account at fault stops nobody else."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from tests.raters.models.endpoint import Answer, Endpoint
from vantage import ChatRater
from vantage.cli.app import app
from vantage.errors import InputError
from vantage.raters.models.base import ModelError
from vantage.runs import RunOptions, RunPlan, RunStore, added, control, run
from vantage.runs.profiles import all_suited
from vantage.runs.records import ledger, totals
from vantage.runs.tally import RunTally

from .conftest import MakePlan, corpus
from .test_local import Here


@pytest.fixture(autouse=True)
def _own_accounts(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for every model of `fleet`, and an account of another kind for fallbacks."""
    for name in ("a", "b", "c", "gone", "fine"):
        monkeypatch.setenv(f"KEY_OF_{name}", f"sk-of-{name}-0123456789")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", endpoint.url)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "sk-of-azure-0123456789")


def fleet(endpoint: Endpoint, items: int, *names: str) -> RunPlan:
    """Models by name, each on an account of its own."""
    told: dict[str, Any] = {"base_url": endpoint.url, "timeout": 5.0}
    raters = [ChatRater(f"openai:{name}", settings={**told, "key_variable": f"KEY_OF_{name}"}) for name in names]
    return RunPlan.of(corpus(items), raters, "warmth-competence", questions=("trust",))


def test_models_are_asked_side_by_side_and_each_keeps_its_own(store: RunStore, endpoint: Endpoint) -> None:
    def reply(body: dict[str, Any]) -> str:
        # One model has eight requests under way at most, so that a ninth is another's.
        limit = time.monotonic() + 10
        while endpoint.busiest <= 8 and time.monotonic() < limit:
            time.sleep(0.01)
        return {"a": "1", "b": "2", "c": "3"}[body["model"]]

    endpoint.reply = reply
    outcome = run(fleet(endpoint, 12, "a", "b", "c"), store)
    assert [set(one.judgments["value"]) for one in outcome.judged] == [{1.0}, {2.0}, {3.0}]
    assert (outcome.tally.sent, outcome.tally.planned, outcome.complete) == (36, 36, True)
    assert Counter(body["model"] for body in endpoint.requests) == {"a": 12, "b": 12, "c": 12}
    assert endpoint.busiest > 8
    again = run(fleet(endpoint, 12, "a", "b", "c"), store)
    assert (again.tally.sent, again.complete) == (0, True)


def test_a_revoked_key_stops_its_own_account_at_once_and_lets_others_finish(
    store: RunStore, endpoint: Endpoint
) -> None:
    seen: Counter[str] = Counter()

    def reply(body: dict[str, Any]) -> Answer:
        seen[body["model"]] += 1
        if body["model"] == "gone" and seen["gone"] > 5:
            return Answer(status=401, error={"message": "revoked"})
        return Answer("2")

    endpoint.reply = reply
    outcome = run(fleet(endpoint, 200, "gone", "fine"), store, RunOptions(concurrency=4))
    gone, fine = outcome.judged
    assert len(fine.judgments) == 200
    assert len(gone.judgments) == 5
    assert seen["gone"] <= 5 + 4
    assert "refuses the key (401)" in outcome.tally.ended
    assert outcome.tally.failed == 0
    assert gone.missing == 195
    endpoint.reply = lambda body: "2"
    again = run(fleet(endpoint, 200, "gone", "fine"), store)
    assert (again.tally.sent, again.complete) == (195, True)


@pytest.mark.parametrize(
    ("wrong", "settings", "said"),
    [
        ("openai:b", {"timeout": "long"}, "The setting 'timeout' takes a number, not 'long'"),
        ("openai:b", {"key_variable": "NOT_SET"}, "set the environment variable NOT_SET"),
        ("gguf:model.gguf", {"thread": 2}, "A gguf model has no setting 'thread'; did you mean 'threads'?"),
        ("embeded", {}, "There is no kind of model 'embeded'; did you mean 'embedded'?"),
    ],
)
def test_what_is_wrong_with_one_model_is_told_before_another_is_asked(
    wrong: str, settings: dict[str, Any], said: str, store: RunStore, endpoint: Endpoint
) -> None:
    good = fleet(endpoint, 12, "a")
    told = {"base_url": endpoint.url, **settings} if wrong == "openai:b" else settings
    raters = [good.parts[0].rater, ChatRater(wrong, settings=told)]
    with pytest.raises(ModelError, match=re.escape(said)):
        run(RunPlan.of(corpus(12), raters, "warmth-competence", questions=("trust",)), store)
    with pytest.raises(ModelError, match=re.escape(said)):
        all_suited(raters, store, RunOptions(probe=True), max_tokens=None)
    assert not endpoint.requests


def test_a_fallback_that_does_not_exist_is_told_before_any_model_is_asked(store: RunStore, endpoint: Endpoint) -> None:
    with pytest.raises(ModelError, match="There is no kind of model 'opnai'"):
        run(fleet(endpoint, 12, "a"), store, RunOptions(fallbacks=("opnai:b",)))
    assert not endpoint.requests


def accounts(endpoint: Endpoint, items: int, monkeypatch: pytest.MonkeyPatch, **of: str) -> RunPlan:
    """Models by name, each used with the key of a variable."""
    for variable in set(of.values()):
        monkeypatch.setenv(variable, f"sk-of-{variable}-0123456789")
    told = {"base_url": endpoint.url, "timeout": 5.0}
    raters = [ChatRater(f"openai:{name}", settings={**told, "key_variable": of[name]}) for name in of]
    return RunPlan.of(corpus(items), raters, "warmth-competence", questions=("trust",))


@pytest.mark.parametrize("fault", [(401, None), (402, None), (403, None), (429, "insufficient_quota")])
def test_a_fault_of_an_account_stops_all_its_models_in_one_sentence_and_no_other_account(
    fault: tuple[int, str | None], store: RunStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()

    def reply(body: dict[str, Any]) -> Answer:
        seen[body["model"]] += 1
        if body["model"] == "a" and seen["a"] > 5:
            return Answer(status=fault[0], error={"message": "no more", "code": fault[1]})
        # The others are slower, so that neither has come far when the first meets the fault.
        return Answer("2", wait=0 if body["model"] == "a" else 0.03)

    endpoint.reply = reply
    plan = accounts(endpoint, 60, monkeypatch, a="ONE_KEY", b="ONE_KEY", c="OTHER_KEY")
    outcome = run(plan, store, RunOptions(concurrency=2))
    a, b, c = outcome.judged
    assert (len(c.judgments), c.missing) == (60, 0)
    assert (len(a.judgments), a.missing) == (5, 55)
    assert seen["b"] < 30
    assert outcome.tally.failed == 0
    assert outcome.tally.ended.count("127.0.0.1") == 1
    assert "sk-of-" not in str(outcome.tally.as_dict())
    # Both go on with the same command once the account is in order, and neither asks anything twice.
    endpoint.reply = lambda body: "2"
    again = run(plan, store)
    assert again.complete
    assert again.tally.sent == 55 + b.missing


def test_a_model_that_an_account_may_not_use_stops_alone(
    store: RunStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"message": "Project `p` does not have access to model `a`", "code": "model_not_found"}
    endpoint.reply = lambda body: Answer(status=403, error=said) if body["model"] == "a" else Answer("2", wait=0.01)
    outcome = run(accounts(endpoint, 30, monkeypatch, a="ONE_KEY", b="ONE_KEY"), store)
    assert [len(one.judgments) for one in outcome.judged] == [0, 30]
    host = urlsplit(endpoint.url).netloc
    assert outcome.tally.ended == f"{host} does not let this account use the model 'a' (403)."


def test_a_fallback_on_the_account_that_is_at_fault_is_not_asked(
    store: RunStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.reply = lambda body: Answer(status=401, error={"message": "revoked"})
    plan = accounts(endpoint, 20, monkeypatch, a="ONE_KEY")
    outcome = run(plan, store, RunOptions(concurrency=1, fallbacks=("openai:b",)))
    assert {body["model"] for body in endpoint.requests} == {"a"}
    assert "openai:b uses the same account" in " ".join(outcome.judged[0].notes)


@pytest.mark.parametrize(("status", "code"), [(402, None), (403, None), (429, "insufficient_quota")])
def test_no_credit_and_an_exhausted_quota_stop_a_run_in_one_sentence(
    status: int, code: str | None, plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    endpoint.reply = lambda body: Answer(status=status, error={"message": "no more", "code": code})
    outcome = run(plan(500), store, RunOptions(concurrency=4))
    assert len(endpoint.requests) <= 4
    assert outcome.tally.ended.count(".") <= 5
    assert (outcome.tally.failed, outcome.judged[0].missing) == (0, 500)


def test_all_models_share_one_budget(store: RunStore, endpoint: Endpoint) -> None:
    prices: Any = {f"openai:{name}": {"input": 100.0, "output": 100.0} for name in ("a", "b")}
    outcome = run(fleet(endpoint, 100, "a", "b"), store, RunOptions(max_cost=0.5, prices=prices))
    spent = totals(ledger(store, outcome.run))["cost"]
    assert 0 < spent <= 0.5
    assert "exceed the limit of 0.5" in outcome.tally.ended


def test_what_one_model_has_put_aside_does_not_end_the_run_for_another(store: RunStore, endpoint: Endpoint) -> None:
    """The limit has room for one request at a time, at its most expensive: the models take turns."""
    endpoint.reply = lambda body: Answer("2", wait=0.05)
    prices: Any = {f"openai:{name}": {"input": 0.0, "output": 1000.0} for name in ("a", "b")}
    outcome = run(fleet(endpoint, 2, "a", "b"), store, RunOptions(max_cost=0.55, prices=prices, clarify=False))
    assert (outcome.tally.sent, outcome.complete) == (4, True)


def test_a_budget_for_the_store_counts_what_other_runs_have_spent(store: RunStore, endpoint: Endpoint) -> None:
    prices: Any = {f"openai:{name}": {"input": 1000.0, "output": 0.0} for name in ("a", "b")}
    run(fleet(endpoint, 8, "a"), store, RunOptions(prices=prices))
    spent = totals(ledger(store))["cost"]
    second = run(fleet(endpoint, 40, "b"), store, RunOptions(max_cost=2 * spent, budget="store", prices=prices))
    assert f"exceed the limit of {2 * spent:g}" in second.tally.ended
    assert 0 < second.tally.sent <= 8
    assert totals(ledger(store))["cost"] <= 2 * spent
    # A limit for the run alone does not count the first one.
    alone = run(fleet(endpoint, 12, "b"), store, RunOptions(max_cost=3 * spent, prices=prices))
    assert alone.complete


@pytest.mark.usefixtures("hasty")
def test_a_wait_of_hours_is_respected_and_costs_no_try(
    plan: MakePlan, store: RunStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from vantage.runs.engines import local

    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real(min(seconds, 0.01))

    monkeypatch.setattr("vantage.runs.engines.local.asyncio.sleep", sleep)
    monkeypatch.setattr(local.AdaptiveLimiter, "overloaded", lambda self, since, after: None)
    answers = iter([Answer(status=429, headers={"retry-after": "7200"}, error={"message": "daily quota"})] * 3)
    endpoint.reply = lambda body: next(answers, "2")
    outcome = run(plan(1), store, RunOptions(tries=1, deadline=5))
    assert outcome.complete
    assert slept.count(7200.0) == 3
    assert "waiting for the 2.0 h that it asks for" in " ".join(outcome.tally.notes)


def test_a_fallback_is_another_rater_and_never_silent(store: RunStore, endpoint: Endpoint) -> None:
    seen: Counter[str] = Counter()

    def reply(body: dict[str, Any]) -> Answer:
        seen[body["model"]] += 1
        if body["model"] == "poor":
            return Answer(status=403, error={"message": "You have no access to this model."})
        gone = body["model"] == "gone" and seen["gone"] > 5
        return Answer(status=401, error={"message": "revoked"}) if gone else Answer("2")

    endpoint.reply = reply
    options = RunOptions(concurrency=2, fallbacks=("azure:poor", "azure:rich"))
    outcome = run(fleet(endpoint, 40, "gone", "fine"), store, options)
    assert [one.rater.id for one in outcome.judged][:2] == ["openai:gone+zero-shot", "openai:fine+zero-shot"]
    by_model = {one.rater.model_name: one for one in outcome.judged}
    left = 40 - len(by_model["openai:gone"].judgments)
    assert 0 < left < 40
    assert len(by_model["azure:rich"].judgments) == left
    both = {*by_model["openai:gone"].judgments["item"], *by_model["azure:rich"].judgments["item"]}
    assert len(both) == 40
    assert f"the {left} items that openai:gone+zero-shot has not judged were put to azure:poor instead" in " ".join(
        by_model["openai:gone"].notes
    )
    assert f"the {left} items that azure:poor+zero-shot has not judged" in " ".join(by_model["azure:poor"].notes)
    rated = added(corpus(40), *outcome.judged)
    row = rated.raters.filter(rater="azure:rich+zero-shot").row(0, named=True)
    assert (row["model"], row["fallback_for"]) == ("azure:rich", "azure:poor+zero-shot")
    assert not outcome.complete
    assert "refuses the key" in outcome.tally.ended


def test_a_fallback_is_not_asked_about_what_the_corpus_has_already(store: RunStore, endpoint: Endpoint) -> None:
    begun = fleet(endpoint, 20, "gone").parts[0]
    first = RunPlan((replace(begun, corpus=begun.corpus.filter(item=[f"i{n:04}" for n in range(5)])),))
    rated = added(begun.corpus, *run(first, store).judged)
    endpoint.reply = lambda body: Answer(status=401, error={"message": "revoked"}) if body["model"] == "gone" else "2"
    asked = RunPlan.of(rated, begun.rater, "warmth-competence", questions=("trust",))
    outcome = run(asked, store, RunOptions(fallbacks=("azure:rich",)))
    rich = outcome.judged[1].judgments
    assert sorted(rich["item"]) == [f"i{n:04}" for n in range(5, 20)]
    assert "the 15 items that openai:gone+zero-shot has not judged" in " ".join(outcome.judged[0].notes)


@pytest.mark.usefixtures("hasty")
def test_an_outage_is_waited_out_and_the_run_goes_on_by_itself(
    plan: MakePlan, store: RunStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vantage.runs.engines import local

    monkeypatch.setattr(local, "LONGEST_WAIT", 0.02)
    count = 0

    def reply(body: dict[str, Any]) -> Answer:
        nonlocal count
        count += 1
        return Answer(status=503, raw="<html>down</html>") if 10 < count < 80 else Answer("2")

    endpoint.reply = reply
    outcome = run(plan(30), store, RunOptions(tries=2, concurrency=4))
    assert (outcome.complete, outcome.tally.failed, outcome.tally.sent) == (True, 0, 30)
    assert "waiting for up to a day" in " ".join(outcome.tally.notes)
    # What has never answered is no outage but a wrong address.
    count = 11
    assert run(plan(31), store, RunOptions(tries=2)).tally.failed == 1


@pytest.mark.usefixtures("hasty")
def test_an_endpoint_that_cannot_be_reached_any_more_is_waited_for(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is gone, connections are refused, and it comes back on the same port."""
    from vantage.runs.engines import local

    monkeypatch.setenv("OPENAI_API_KEY", "test-key-that-stays-secret")
    monkeypatch.setattr(local, "LONGEST_WAIT", 0.05)
    gone, closed, waiting = threading.Event(), threading.Event(), threading.Event()

    def reply(body: dict[str, Any]) -> Answer:
        if len(before.requests) < 10:
            return Answer("2")
        # Connections are lost once nobody listens any more.
        gone.set()
        closed.wait(30)
        return Answer("2", cut=True)

    def watch(tally: RunTally) -> None:
        if tally.standing == "waiting for the endpoint":
            waiting.set()

    with ExitStack() as stack:
        before = stack.enter_context(Endpoint(reply))
        plan = fleet(before, 30, "a")
        # One try may be cut while the server closes, another lost as it comes back; those of the outage do not count.
        thread, results = in_thread(lambda: run(plan, store, RunOptions(tries=4, concurrency=4), progress=watch))
        assert gone.wait(30)
        stack.close()
        closed.set()
        assert waiting.wait(30)
        with Endpoint(lambda body: "2", port=urlsplit(before.url).port or 0) as after:
            thread.join(60)
    (outcome,) = results
    assert (outcome.complete, outcome.tally.failed, outcome.tally.sent) == (True, 0, 30)
    assert len(after.requests) >= 21
    assert "cannot be reached" in " ".join(outcome.tally.notes)


def test_a_fault_of_one_account_lets_models_of_this_machine_go_on(store: RunStore, endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: Answer(status=402, error={"message": "no credit"})
    there = ChatRater("openai:a", settings={"base_url": endpoint.url})
    here = ChatRater(Here(), name="here")
    outcome = run(RunPlan.of(corpus(3), [here, there], "warmth-competence", questions=("trust",)), store)
    assert [(one.rater.id, len(one.judgments)) for one in outcome.judged] == [("here", 3), ("openai:a+zero-shot", 0)]


def in_thread(work: Any) -> Any:
    """Starts work beside the test; what it gives is there after `join`."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_live_run_is_paused_tuned_and_resumed_from_another_process(
    plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    endpoint.reply = lambda body: Answer("2", wait=0.02)
    thread, results = in_thread(lambda: run(plan(150), store, RunOptions(concurrency=2)))
    wait_for(lambda: len(endpoint.requests) > 4)
    path = str(store.path)
    paused = CliRunner().invoke(app, ["runs", "pause", path, "1"], catch_exceptions=False)
    assert paused.output.startswith("Run 1 is paused")
    time.sleep(0.1)
    held = len(endpoint.requests)
    time.sleep(0.4)
    assert len(endpoint.requests) == held < 150
    assert '"state": "paused"' in CliRunner().invoke(app, ["runs", "list", path, "--json"]).output
    tuned = CliRunner().invoke(app, ["runs", "tune", path, "1", "--concurrency", "12", "--max-cost", "9"])
    assert tuned.output == "Run 1 now has concurrency 12, max cost 9.\n"
    assert endpoint.busiest == 2
    resumed = CliRunner().invoke(app, ["runs", "resume", path, "1"], catch_exceptions=False)
    assert resumed.output == "Run 1 is resumed.\n"
    thread.join()
    assert (results[0].complete, results[0].tally.sent) == (True, 150)
    assert endpoint.busiest > 6
    assert "a model of unknown price" in " ".join(results[0].tally.notes)
    over = CliRunner().invoke(app, ["runs", "pause", path, "1"])
    assert over.exit_code != 0
    assert "run 1 is not in progress (complete)" in str(over.exception)


def test_tuning_can_end_a_run_at_a_lower_cost(plan: MakePlan, store: RunStore, endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: Answer("2", wait=0.02)
    prices: Any = {"openai:tester": {"input": 1.0, "output": 1.0}}
    thread, results = in_thread(lambda: run(plan(150), store, RunOptions(concurrency=2, prices=prices)))
    wait_for(lambda: len(endpoint.requests) > 4)
    with RunStore(store.path) as other:
        control.ask(other, 1, max_cost=1e-9)
    thread.join()
    assert "exceed the limit of 1e-09" in results[0].tally.ended
    assert results[0].tally.sent < 150


def test_a_run_that_nobody_carries_out_cannot_be_paused(plan: MakePlan, store: RunStore) -> None:
    run(plan(1), store)
    store.change("UPDATE runs SET state = 'running' WHERE id = ?", (1,))
    with pytest.raises(InputError, match="no process is running run 1"):
        control.ask(store, 1, wait=0.1, paused=True)
    # What was asked in vain does not hold up the next sitting.
    assert run(plan(2), store).complete
    store.change("UPDATE sittings SET engine = 'ray' WHERE run = ?", (1,))
    with pytest.raises(InputError, match="the engine 'ray' cannot change concurrency"):
        control.ask(store, 1, wait=0.1, concurrency=3)
