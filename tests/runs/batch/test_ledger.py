"""The ledger of batches: what it holds at every moment at which a process may be killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from vantage.runs import RunStore
from vantage.runs.batch.engine import Ledger
from vantage.runs.recovery import recover

KEYS = [bytes([n]) * 16 for n in range(6)]


@pytest.fixture
def ledger(store: RunStore) -> Ledger:
    return Ledger(store, "openai", "api.example.org")


def test_a_batch_holds_its_requests_from_its_opening_on(ledger: Ledger, store: RunStore) -> None:
    batch = ledger.intend(dict.fromkeys(KEYS[:4], 1))
    assert ledger.held(KEYS) == {}
    assert [one.token for one in ledger.orphans()] == [batch.token]
    ledger.opened(batch, "batch-7")
    assert ledger.held(KEYS) == dict.fromkeys(KEYS[:4], (batch.id, 1))
    assert ledger.orphans() == []
    assert [one.name for one in ledger.batches("open")] == ["batch-7"]
    # At another provider, or through another protocol, there is nothing of it.
    assert Ledger(store, "openai", "api.example.com").held(KEYS) == {}
    assert Ledger(store, "mistral", "api.example.org").batches("open") == []


def test_a_request_that_goes_again_belongs_to_its_last_batch(ledger: Ledger) -> None:
    first = ledger.intend(dict.fromkeys(KEYS[:4], 1))
    ledger.opened(first, "batch-1")
    second = ledger.intend(dict.fromkeys(KEYS[2:5], 2))
    ledger.opened(second, "batch-2")
    assert ledger.held(KEYS) == {
        **dict.fromkeys(KEYS[:2], (first.id, 1)),
        **dict.fromkeys(KEYS[2:5], (second.id, 2)),
    }


def test_a_batch_that_never_arrived_is_forgotten(ledger: Ledger) -> None:
    batch = ledger.intend(dict.fromkeys(KEYS, 1))
    ledger.dropped(batch)
    assert ledger.orphans() == []
    assert ledger.batches("submitting") == []


def test_a_batch_is_closed_only_when_nothing_in_it_is_unanswered(ledger: Ledger) -> None:
    batch = ledger.intend(dict.fromkeys(KEYS[:2], 1))
    ledger.opened(batch, "batch-1")
    ledger.collected(batch)
    assert [one.name for one in ledger.batches("open")] == ["batch-1"]
    ledger.freed(KEYS[:2])
    ledger.collected(batch)
    assert [one.name for one in ledger.batches("collected")] == ["batch-1"]


def test_what_another_process_is_submitting_is_left_to_it(ledger: Ledger, store: RunStore, tmp_path: Path) -> None:
    with RunStore(store.path) as other:
        assert other.claims.take(KEYS[:2]) == set(KEYS[:2])
        Ledger(other, "openai", "api.example.org").intend(dict.fromkeys(KEYS[:2], 1))
        assert ledger.orphans() == []
    assert len(ledger.orphans()) == 1


def test_open_batches_survive_the_recovery_of_a_damaged_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with RunStore(path) as store:
        ledger = Ledger(store, "openai", "api.example.org")
        ledger.opened(ledger.intend(dict.fromkeys(KEYS, 1)), "batch-1")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 4096])
    recover(path)
    with RunStore(path) as store:
        assert len(Ledger(store, "openai", "api.example.org").held(KEYS)) == len(KEYS)
