from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage import ChatRater, InputError, Instrument
from vantage.raters.conversation import Ask
from vantage.raters.models.base import Completion, Message, Request, Sampling
from vantage.runs import RunStore
from vantage.runs.keys import Keys
from vantage.runs.recovery import recover
from vantage.runs.tables import FinishedCall, StoreError, packed, unpacked

ROOT = Path(__file__).resolve().parents[2]
KEYS = Keys(ChatRater("openai:x"), Instrument.load("warmth-competence"))


def finished(number: int, completion: Completion | None = None) -> FinishedCall:
    request = Request((Message("system", "Rate. " * 50), Message("user", f"Text {number}")), tag=(f"i{number}", "q", 0))
    return FinishedCall(KEYS.call(Ask(request)), completion or Completion(f"reply {number}", "stop", 30, 2), 1, 1e9)


def put(store: RunStore, calls: Sequence[FinishedCall]) -> StoreError | None:
    """Stores calls and waits until all are acknowledged; the first error, if there was one."""
    done: Future[StoreError | None] = Future()
    left = {call.call.key for call in calls}
    errors: list[StoreError] = []

    def acknowledge(batch: Sequence[FinishedCall], error: StoreError | None) -> None:
        left.difference_update(one.call.key for one in batch)
        errors.extend([error] if error else [])
        if not left:
            done.set_result(errors[0] if errors else None)

    for call in calls:
        store.put(call, acknowledge)
    return done.result(timeout=60)


def keys(numbers: Iterator[int] | range) -> list[bytes]:
    return [finished(number).call.key for number in numbers]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def test_what_is_stored_comes_back_as_it_was(path: Path) -> None:
    told = [
        Completion("4", "stop", 12, 1),
        Completion("a long reply, " * 100, "length", 12, 400),
        Completion("", "filtered", 9, 0),
        Completion("half a character \ud83d", "stop"),
        Completion("", scores=(-0.5, -1.25, -7.0)),
    ]
    calls = [finished(number, completion) for number, completion in enumerate(told)]
    with RunStore(path) as store:
        assert put(store, calls) is None
    with RunStore(path, read_only=True) as store:
        found = store.lookup([call.call.key for call in calls])
        assert [found[call.call.key].completion for call in calls] == told


def test_a_reply_is_never_replaced(path: Path) -> None:
    with RunStore(path) as store:
        put(store, [finished(1)])
        put(store, [finished(1, Completion("another"))])
        (found,) = store.lookup(keys(range(1, 2))).values()
        assert found.completion.text == "reply 1"
        assert store.count() == 1


def test_a_failure_is_no_reply_until_it_is_asked_for(path: Path) -> None:
    with RunStore(path) as store:
        put(store, [finished(1, Completion("", "failed", error="first")), finished(2)])
        put(store, [finished(1, Completion("", "failed", error="second"))])
        assert len(store.lookup(keys(range(1, 3)))) == 1
        assert store.lookup(keys(range(1, 3)), failures=True)[finished(1).call.key].completion.error == "second"
        put(store, [finished(1)])
        assert store.lookup(keys(range(1, 3)), failures=True)[finished(1).call.key].completion.text == "reply 1"


def test_texts_are_stored_once_and_a_call_takes_little_room(path: Path) -> None:
    with RunStore(path) as store:
        put(store, [finished(number) for number in range(3000)])
        assert store.select("SELECT COUNT(*) FROM texts") == [(3002,)]
    assert path.stat().st_size / 3000 < 400


@given(st.text(st.characters(), max_size=300))
def test_texts_survive_packing(text: str) -> None:
    assert unpacked(packed(text)) == text


@pytest.mark.parametrize("lost", [1, 50, 3000])
def test_a_write_ahead_file_that_was_cut_loses_only_what_was_not_acknowledged(tmp_path: Path, lost: int) -> None:
    """A copy of the files as a crash would leave them, with the end of the write-ahead file missing."""
    with RunStore(tmp_path / "a.sqlite") as store:
        for number in range(40):
            put(store, [finished(number)])
        size = (tmp_path / "a.sqlite-wal").stat().st_size
        copy = tmp_path / "runs.sqlite"
        copy.write_bytes((tmp_path / "a.sqlite").read_bytes())
        (tmp_path / "runs.sqlite-wal").write_bytes((tmp_path / "a.sqlite-wal").read_bytes()[: size - lost])
    with RunStore(copy) as store:
        found = store.lookup(keys(range(40)))
        assert 36 <= len(found) < 40
        assert {store_.completion.text for store_ in found.values()} == {f"reply {n}" for n in range(len(found))}
        assert put(store, [finished(number) for number in range(40)]) is None
        assert store.count() == 40


@pytest.mark.parametrize("share", [0.6, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.3, 0.9, 0.999))])
def test_a_file_that_was_cut_is_told_and_recovered_on_demand(path: Path, share: float) -> None:
    with RunStore(path) as store:
        for start in range(0, 2000, 100):
            put(store, [finished(number) for number in range(start, start + 100)])
    whole = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(int(whole * share))
    with pytest.raises(InputError, match="vantage runs recover"):
        RunStore(path)
    assert "replies were saved" in recover(path)
    with RunStore(path) as store:
        assert (path.parent / "runs.sqlite.damaged-1").is_file()
        found = store.lookup(keys(range(2000)))
        assert len(found) == store.count()
        assert 2000 * share * 0.3 < len(found) <= 2000
        for number, key in enumerate(keys(range(2000))):
            assert key not in found or found[key].completion.text == f"reply {number}"
        put(store, [finished(number) for number in range(2000)])
        assert store.count() == 2000


def look_at_everything(path: Path) -> None:
    with RunStore(path) as store:
        store.lookup(keys(range(2000)))
        store.select("SELECT SUM(LENGTH(reply)) FROM calls")
        store.select("SELECT SUM(LENGTH(body)) FROM texts")


def test_a_damaged_page_is_told_and_recovered_on_demand(path: Path) -> None:
    with RunStore(path) as store:
        put(store, [finished(number) for number in range(2000)])
    with path.open("r+b") as file:
        file.seek(4096 * 40)
        file.write(os.urandom(4096 * 10))
    with pytest.raises(InputError, match="vantage runs recover"):
        look_at_everything(path)
    told = recover(path)
    assert "replies were saved" in told
    with RunStore(path) as store:
        assert 1000 < store.count() <= 2000
        assert store.select("PRAGMA integrity_check") == [("ok",)]


def test_a_newer_store_is_refused_and_left_alone(path: Path) -> None:
    with RunStore(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    for read_only in (False, True):
        with pytest.raises(InputError, match="has version 99, this Vantage reads version 2; update Vantage"):
            RunStore(path, read_only=read_only)


def test_other_files_are_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (id)")
    with pytest.raises(InputError, match="not a run store"):
        RunStore(path)
    path.write_text("this is no database, but long enough to look at it " * 5, encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        RunStore(path)
    with pytest.raises(InputError, match="no run store here"):
        RunStore(path.parent / "nothing.sqlite", read_only=True)


def test_a_full_disk_ends_in_a_sentence_and_an_intact_store(path: Path) -> None:
    with RunStore(path) as store:
        put(store, [finished(number) for number in range(10)])
        store.writer.do(lambda connection: connection.execute("PRAGMA max_page_count = 60").fetchall())
        error = put(store, [finished(number) for number in range(10, 3000)])
        assert error is not None
        assert "the store cannot grow" in str(error)
        assert "free some space" in str(error)
        assert store.select("PRAGMA integrity_check") == [("ok",)]
        assert store.count() >= 10
        store.writer.do(lambda connection: connection.execute("PRAGMA max_page_count = 1000000").fetchall())
        assert put(store, [finished(number) for number in range(3000)]) is None
        assert store.count() == 3000


@pytest.mark.slow
def test_a_file_that_may_not_grow_keeps_what_was_acknowledged(path: Path) -> None:
    """A limit of the system on the size of files stands for a full disk: writing really fails, in the middle."""
    code = f"""
import json, resource, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.runs.test_store import finished, put
from vantage.runs import RunStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = RunStore(Path({str(path)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
acknowledged, error = 0, None
while error is None:
    error = put(store, [finished(number) for number in range(acknowledged, acknowledged + 100)])
    acknowledged += 0 if error else 100
print(json.dumps([acknowledged, str(error)]), flush=True)
import os; os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    acknowledged, sentence = json.loads(done.stdout)
    assert "the store cannot grow" in sentence
    assert acknowledged > 0
    with RunStore(path) as store:
        assert store.select("PRAGMA integrity_check") == [("ok",)]
        assert len(store.lookup(keys(range(acknowledged)))) == acknowledged


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="--store"):
            RunStore(tmp_path / "runs.sqlite")
    finally:
        tmp_path.chmod(0o700)


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be"):
        RunStore(tmp_path / "file" / "runs.sqlite")
    # A file system that is read-only, whoever asks.
    with pytest.raises(InputError, match="cannot be"):
        RunStore("/proc/runs.sqlite")


def test_a_store_can_be_read_where_nothing_can_be_written(path: Path) -> None:
    with RunStore(path) as store:
        put(store, [finished(1, Completion("4"))])
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with RunStore(path, read_only=True) as store:
            assert store.count() == 1
            with pytest.raises(InputError, match="for reading only"):
                put(store, [finished(2)])
    finally:
        path.parent.chmod(0o700)


def test_sampling_without_a_seed_is_kept_apart() -> None:
    request = Request((Message("user", "x"),), Sampling(seed=None))
    assert KEYS.call(Ask(request)).key != KEYS.call(Ask(Request((Message("user", "x"),), Sampling(seed=0)))).key
