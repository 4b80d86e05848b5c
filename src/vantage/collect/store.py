"""The database: SQLite in WAL mode or PostgreSQL, with one way to read and one way to change it.

A change is a function of a connection. It runs inside one transaction and its result is returned after the commit,
when it is durable. SQLite has one writer: a thread that runs all changes that wait in one transaction, so that many
participants share the cost of one flush to disk. PostgreSQL runs each change by itself.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from vantage.collect import migrations
from vantage.errors import InputError

T = TypeVar("T")
Job = Callable[[Connection], T]

TOGETHER: Final = 256
"""How many changes share one transaction at most."""
RETRIES: Final = 8
"""How often a change is tried again that PostgreSQL gave up for the sake of another."""


class Store:
    """An open database."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.engine, self._reader = _engines(self.url)
        self.new = False
        self._writer: _Writer | None = None

    @property
    def sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    def start(self, fill: Job[None]) -> None:
        """Makes or upgrades the tables; a new database is filled in the same transaction, or not made at all."""

        def job(connection: Connection) -> None:
            if migrations.prepare(connection):
                self.new = True
                fill(connection)

        try:
            if self.sqlite:
                # The file remembers this; it cannot be set inside a transaction.
                self.read(lambda connection: connection.exec_driver_sql("PRAGMA journal_mode=WAL").close())
            with self._transaction() as connection:
                job(connection)
        except InputError as error:
            raise InputError(error.problem, file=self.name, remedy=error.remedy) from None
        except DBAPIError as error:
            raise InputError(
                f"the database cannot be opened ({_first_line(error)})",
                file=self.name,
                remedy="check the address and that the server runs",
            ) from None
        if self.sqlite:
            self._writer = _Writer(self.engine)

    def write(self, job: Job[T]) -> T:
        """Changes the database; what the function returns is returned once the change is durable.

        The function may be run again from the start, so it must not change anything but the database.
        """
        if self._writer is not None:
            return self._writer.run(job)
        for attempt in range(RETRIES):
            try:
                with self._transaction() as connection:
                    return job(connection)
            except OperationalError as error:
                # 40001 and 40P01: two transactions stood in each other's way and one was given up.
                if getattr(error.orig, "sqlstate", None) not in ("40001", "40P01") or attempt == RETRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def read(self, job: Job[T]) -> T:
        """Reads from the database."""
        with self._reader.connect() as connection:
            return job(connection)

    def close(self) -> None:
        """Finishes what waits and closes all connections."""
        if self._writer is not None:
            self._writer.stop()
        self._reader.dispose()
        self.engine.dispose()

    @property
    def name(self) -> str:
        """The address without its password."""
        return self.url.database or "" if self.sqlite else self.url.render_as_string(hide_password=True)

    def _transaction(self) -> contextlib.AbstractContextManager[Connection]:
        return self.engine.begin()


class _Writer:
    """The thread through which all changes of a SQLite file go."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[tuple[Job[Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="vantage-writer", daemon=True)
        self._closed = False
        self._thread.start()

    def run(self, job: Job[T]) -> T:
        if self._closed:
            raise RuntimeError("the database is closed")
        done: Future[T] = Future()
        self._waiting.put((job, done))
        return done.result()

    def stop(self) -> None:
        self._closed = True
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        with self._engine.connect() as connection:
            while (first := self._waiting.get()) is not None:
                jobs = [first]
                last = False
                while len(jobs) < TOGETHER and not last:
                    try:
                        following = self._waiting.get_nowait()
                    except queue.Empty:
                        break
                    if following is None:
                        last = True
                    else:
                        jobs.append(following)
                _together(connection, jobs)
                if last:
                    return


def _together(connection: Connection, jobs: list[tuple[Job[Any], Future[Any]]]) -> None:
    """Runs changes in one transaction and tells each how it ended, after the commit.

    Where one of them fails, everything is undone and each is run by itself: failures are rare, and a savepoint
    for every change would cost more than the change.
    """
    try:
        with connection.begin():
            results = [job(connection) for job, _ in jobs]
    except Exception as error:
        if len(jobs) > 1:
            for one in jobs:
                _together(connection, [one])
        else:
            jobs[0][1].set_exception(error)
        return
    for (_, done), result in zip(jobs, results, strict=True):
        done.set_result(result)


def database_url(address: str) -> URL:
    """The address of a database: a SQLite file, or PostgreSQL through its driver."""
    try:
        url = make_url(address if "://" in address else f"sqlite:///{address}")
    except (ArgumentError, ValueError):
        raise InputError(
            "this is not the address of a database",
            remedy="write sqlite:///FILE or postgresql://USER@HOST/NAME",
        ) from None
    backend = url.get_backend_name()
    if backend in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or not url.database or url.database == ":memory:":
        raise InputError(
            f"'{url.render_as_string(hide_password=True)}' is neither a SQLite file nor a PostgreSQL database",
            remedy="write sqlite:///FILE or postgresql://USER@HOST/NAME",
        )
    return url


def _engines(url: URL) -> tuple[Engine, Engine]:
    """The engine that changes and the one that reads."""
    if url.get_backend_name() == "sqlite":
        writer = create_engine(url, connect_args={"check_same_thread": False})
        event.listen(writer, "connect", _sqlite_connected)
        event.listen(writer, "begin", _sqlite_begins)
        # A statement that only reads needs no transaction of its own.
        reader = create_engine(url, pool_size=16, max_overflow=48, connect_args={"check_same_thread": False})
        event.listen(reader, "connect", _sqlite_connected)
        return writer, reader
    try:
        engine = create_engine(url, pool_size=10, max_overflow=30, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError):
        raise InputError("PostgreSQL needs the package psycopg", remedy="pip install 'vantage[postgres]'") from None
    return engine, engine.execution_options(isolation_level="AUTOCOMMIT")


def _sqlite_connected(connection: Any, _: Any) -> None:
    # The driver must not begin transactions by itself: `_sqlite_begins` does.
    connection.isolation_level = None
    for pragma in (
        "busy_timeout=30000",
        "synchronous=FULL",  # a commit is on disk when it returns
        "foreign_keys=ON",
        "secure_delete=ON",  # what a participant withdraws is overwritten
        "temp_store=MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _sqlite_begins(connection: Connection) -> None:
    # Taking the write lock at once: a transaction that reads first could find that it may not write.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _first_line(error: DBAPIError) -> str:
    return str(cast("object", error.orig)).strip().splitlines()[0] if str(error.orig).strip() else type(error).__name__
