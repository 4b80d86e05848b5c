from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, select
from sqlalchemy.exc import DBAPIError

from tests.collect.conftest import new_database
from vantage.collect.sql import WORKERS, SqlDatabase
from vantage.collect.tables import read_setting, settings, write_setting
from vantage.errors import InputError


def started(address: str) -> SqlDatabase:
    store = SqlDatabase(address)
    store.start(lambda connection: None)
    return store


def test_changes_of_many_threads_are_all_kept(database: str) -> None:
    store = started(database)

    def change(number: int) -> None:
        store.write(lambda c: write_setting(c, f"key-{number}", str(number)))

    threads = [threading.Thread(target=change, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = store.read(lambda c: c.execute(select(settings.c.key).where(settings.c.key.like("key-%"))).all())
    store.close()
    assert len(found) == 50


def test_a_change_that_fails_leaves_nothing_and_harms_no_other(database: str) -> None:
    store = started(database)

    def half(connection):  # type: ignore[no-untyped-def]
        write_setting(connection, "half", "1")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.write(half)
    store.write(lambda c: write_setting(c, "whole", "1"))
    assert store.read(lambda c: (read_setting(c, "half"), read_setting(c, "whole"))) == (None, "1")
    store.close()


def test_changes_that_wait_together_are_one_call_with_a_result_for_each(database: str) -> None:
    store, calls, begun = started(database), list[list[str]](), threading.Event()

    def held(connection: Connection, given: Sequence[str]) -> list[str]:
        begun.set()
        release.wait(10)
        return [*given]

    def keep(connection: Connection, given: Sequence[str]) -> list[str | Exception]:
        calls.append(list(given))
        for key in given:
            if key != "none":
                write_setting(connection, key, "1")
        return [ValueError("refused") if key == "none" else f"kept {key}" for key in given]

    release = threading.Event()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(store.share, held, "first", 0)
        begun.wait(10)
        asked = {key: pool.submit(store.share, keep, key, who) for key, who in (("a", 1), ("none", 2), ("b", 3))}
        while store._writers[0]._waiting.qsize() < 3:
            time.sleep(0.001)
        again = pool.submit(store.share, keep, "c", 1)
        while store._writers[0]._waiting.qsize() < 4:
            time.sleep(0.001)
        release.set()
        assert first.result() == "first"
        assert [asked["a"].result(), asked["b"].result(), again.result()] == ["kept a", "kept b", "kept c"]
        with pytest.raises(ValueError, match="refused"):
            asked["none"].result()
    found = store.read(lambda c: [read_setting(c, key) for key in ("a", "b", "c", "none")])
    store.close()
    assert (sorted(calls[0]), calls[1:]) == (["a", "b", "none"], [["c"]])
    assert found == ["1", "1", "1", None]


def test_a_change_that_fails_for_one_is_made_for_the_others(database: str) -> None:
    store, release, begun = started(database), threading.Event(), threading.Event()

    def keep(connection: Connection, given: Sequence[str]) -> list[str]:
        begun.set()
        release.wait(10)
        for key in given:
            write_setting(connection, key, "1")
            if key == "bad":
                raise RuntimeError("no")
        return [*given]

    with ThreadPoolExecutor(8) as pool:
        waiting = {key: pool.submit(store.share, keep, key, key) for key in ("a", "bad", "b")}
        begun.wait(10)
        release.set()
        assert [waiting[key].result() for key in ("a", "b")] == ["a", "b"]
        with pytest.raises(RuntimeError, match="no"):
            waiting["bad"].result()
    found = store.read(lambda c: [read_setting(c, key) for key in ("a", "b", "bad")])
    store.close()
    assert found == ["1", "1", None]


def test_connections_that_the_server_closed_are_replaced_without_a_word(postgres: str) -> None:
    store = started(new_database(postgres))
    gone = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    for name in ("a", "b"):
        store.write(lambda c, name=name: write_setting(c, name, "before"))  # type: ignore[misc]
        with started(new_database(postgres)).engine.connect() as other:
            other.exec_driver_sql(gone)
        assert store.read(lambda c, name=name: read_setting(c, name)) == "before"  # type: ignore[misc]
    with started(new_database(postgres)).engine.connect() as other:
        other.exec_driver_sql(gone)
    store.write(lambda c: write_setting(c, "a", "after"))
    assert store.read(lambda c: read_setting(c, "a")) == "after"
    store.close()


def test_a_commit_that_breaks_off_is_not_made_again(postgres: str) -> None:
    store, times = started(new_database(postgres)), []

    def change(connection: Connection) -> None:
        times.append(1)
        write_setting(connection, "times", str(len(times)))

    event.listen(store.engine, "commit", lambda connection: connection.connection.dbapi_connection.close())
    with pytest.raises(DBAPIError):
        store.write(change)
    assert len(times) == 1
    store.close()


def test_sqlite_writes_ahead_and_flushes_every_commit(tmp_path: Path) -> None:
    store = started(str(tmp_path / "a.sqlite"))
    pragmas = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
    found = store.read(lambda c: [c.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas])
    store.close()
    assert found == ["wal", 2, 1, 1]


def test_what_was_written_survives_the_death_of_the_process(tmp_path: Path) -> None:
    code = (
        "import os, sys; from vantage.collect.sql import SqlDatabase;"
        "from vantage.collect.tables import write_setting;"
        "s = SqlDatabase(sys.argv[1]); s.start(lambda c: None);"
        "s.write(lambda c: write_setting(c, 'a', 'b')); os._exit(9)"
    )
    place = str(tmp_path / "a.sqlite")
    assert subprocess.run([sys.executable, "-c", code, place], check=False).returncode == 9
    store = started(place)
    assert store.read(lambda c: read_setting(c, "a")) == "b"
    store.close()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mysql://a@b/c", "neither a SQLite file nor a PostgreSQL database"),
        ("sqlite://", "neither a SQLite file"),
        ("1:2://x", "not the address of a database"),
    ],
)
def test_other_databases_are_refused(address: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SqlDatabase(address)


def test_a_server_that_is_not_there_is_told_without_its_password() -> None:
    store = SqlDatabase("postgresql://ann:geheim@127.0.0.1:1/none?connect_timeout=2")
    with pytest.raises(InputError, match="Cannot open the database") as error:
        store.start(lambda connection: None)
    store.close()
    assert "geheim" not in str(error.value)
    assert "127.0.0.1" in str(error.value)


def test_more_requests_than_connections_wait(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKERS, "30")
    store = started(new_database(postgres))
    assert store.engine.pool.size() == 3  # type: ignore[attr-defined]

    def slow(number: int) -> None:
        def job(connection: Connection) -> None:
            connection.exec_driver_sql("SELECT pg_sleep(0.05)")
            write_setting(connection, f"key-{number}", "x")

        store.write(job)

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(slow, range(24)))
    count = store.read(lambda c: c.execute(select(settings.c.key).where(settings.c.key.like("key-%"))).all())
    store.close()
    assert len(count) == 24


@pytest.mark.slow
def test_a_server_that_others_have_filled_is_waited_for(postgres: str) -> None:
    import psycopg

    address, held = new_database(postgres), []
    try:
        while True:
            held.append(psycopg.connect(postgres, autocommit=True))
    except psycopg.OperationalError:
        assert len(held) > 50

    def leave() -> None:
        for one in held:
            one.close()

    timer = threading.Timer(0.5, leave)
    timer.start()
    store = started(address)
    timer.join()
    store.close()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    store = SqlDatabase(str(tmp_path / "nowhere" / "a.sqlite"))
    with pytest.raises(InputError, match="Cannot open the database"):
        store.start(lambda connection: None)
    store.close()
