"""How a reply ended and what served it: stored with every call, shown by `runs show`, a caveat where it changed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.raters.models.endpoint import Answer, Endpoint
from vantage import Corpus
from vantage.cli.app import app
from vantage.runs import RunOptions, RunStore, run
from vantage.runs.export import calls
from vantage.runs.rating import added
from vantage.runs.records import changes, ledger, servings, totals

from .conftest import MakePlan, case, corpus


def served(body: dict[str, Any], text: str = "2", **more: Any) -> Answer:
    """An answer of the Chat protocol with whatever evidence a test wants."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": more.pop("finish", "stop"),
    }
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, **more.pop("usage", {})}
    return Answer(raw=json.dumps({"id": f"c-{case(body)}", "model": "m", "choices": [choice], "usage": usage, **more}))


def test_what_served_a_call_is_stored_and_exported(plan: MakePlan, store: RunStore, endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: served(body, model="m-2026-08-01", provider="Aral", system_fingerprint="fp_1")
    run(plan(3), store)
    call = next(calls(store))
    facts = {name: call[name] for name in ("reason", "served", "provider", "fingerprint", "request", "options")}
    assert facts == {
        "reason": "stop",
        "served": "m-2026-08-01",
        "provider": "Aral",
        "fingerprint": "fp_1",
        "request": call["request"],
        "options": "numbers",
    }
    # Calls end in any order.
    assert sorted(one["request"] for one in calls(store)) == ["c-0", "c-1", "c-2"]
    assert [one.calls for one in servings(store, 1)] == [3]
    assert changes(servings(store, 1)) == []


def test_another_version_within_a_run_is_a_caveat_everywhere(
    plan: MakePlan, store: RunStore, endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.reply = lambda body: served(body, model="m-old" if case(body) < 2 else "m-new")
    outcome = run(plan(5), store)
    caveat = "openai:tester was served by 2 versions within one run: "
    assert any(note.startswith(caveat) and "m-old (2 calls)" in note for note in outcome.judged[0].notes)
    rated = added(corpus(5), *outcome.judged)
    assert set(rated.raters.filter(rater=outcome.judged[0].rater.id)["served"][0].split("; ")) == {"m-old", "m-new"}
    rated.write(tmp_path / "rated")
    shown = CliRunner().invoke(app, ["runs", "show", str(store.path), "1"], catch_exceptions=False)
    assert caveat in shown.output
    from vantage.report.overview import overview

    assert "2 versions of its model" in " ".join(overview(Corpus.read(tmp_path / "rated")).warnings)


def test_a_later_run_adds_what_served_a_rater_then(plan: MakePlan, store: RunStore, endpoint: Endpoint) -> None:
    rated = corpus(2)
    for version in ("m-1", "m-2"):
        endpoint.reply = lambda body, version=version: served(body, model=version)  # type: ignore[misc]
        with RunStore.temporary() as fresh:
            rated = added(rated, *run(plan(2), fresh).judged)
    assert rated.raters["served"].drop_nulls().to_list() == ["m-1; m-2"]


@pytest.mark.parametrize("reason", ["tool_calls", "repetition", None, "finished", "STOPPED"])
def test_an_ending_that_no_document_knows_is_kept_and_not_read(
    reason: str | None, plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    endpoint.reply = lambda body: served(body, "I would say 2, but then", finish=reason)
    outcome = run(plan(1), store, RunOptions(tries=1))
    row = outcome.judged[0].judgments.row(0, named=True)
    assert (row["value"], row["status"], row["rule"]) == (None, "failed", "broken-off")
    assert row["reply"] == "I would say 2, but then"
    assert f"'{reason or 'none'}' (1)" in " ".join(outcome.judged[0].notes)
    assert len(endpoint.requests) == 1


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("reason", ["insufficient_system_resource", "abort", "error"])
def test_a_reply_that_the_provider_broke_off_is_asked_for_again(
    reason: str, plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    endings = iter([reason, "stop"])
    endpoint.reply = lambda body: served(body, "2", finish=next(endings))
    outcome = run(plan(1), store)
    assert outcome.judged[0].judgments["value"].to_list() == [2.0]
    assert len(endpoint.requests) == 2


def test_a_store_of_the_first_version_is_read_and_brought_up_to_date(plan: MakePlan, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with RunStore(path) as store:
        run(plan(3), store)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE evidence")
        connection.execute("PRAGMA user_version = 1")
    with RunStore(path, read_only=True) as old:
        assert next(calls(old))["reason"] is None
        assert servings(old, 1) == []
        assert totals(ledger(old, 1))["calls"] == 3
    with RunStore(path) as store:
        assert run(plan(3), store).tally.sent == 0
        assert store.select("PRAGMA user_version") == [(2,)]
        assert run(plan(4), store).tally.sent == 1
        assert [one.calls for one in servings(store, 2)] == [1]


def test_costs_follow_what_the_endpoint_says_and_the_prices_of_its_cache(
    plan: MakePlan, store: RunStore, endpoint: Endpoint
) -> None:
    price = {"openai:tester": {"input": 1.0, "output": 10.0, "cached": 0.1, "written": 1.25}}
    usages = [
        {"prompt_cache_hit_tokens": 600},  # DeepSeek
        {"prompt_tokens_details": {"cache_write_tokens": 400}},
        {"cost": 0.5},  # OpenRouter
    ]
    endpoint.reply = lambda body: served(body, usage=usages[case(body)])
    outcome = run(plan(3), store, RunOptions(prices=price))  # type: ignore[arg-type]
    expected = (400 * 1 + 600 * 0.1 + 1000) / 1e6 + (600 * 1 + 400 * 1.25 + 1000) / 1e6 + 0.5
    assert outcome.tally.cost == pytest.approx(expected)
    assert totals(ledger(store, 1))["cost"] == pytest.approx(expected)
