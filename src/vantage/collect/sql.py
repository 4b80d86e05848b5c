"""The database: SQLite in WAL mode or PostgreSQL, with one way to read and one way to change it.

A change is a function of a connection. It runs inside one transaction, and its result is returned after the commit,
when it is durable. SQLite has one writer: a thread that runs all waiting changes in one transaction, so that many
participants share the cost of one flush to disk. PostgreSQL runs each change in its own transaction.
"""

from __future__ import annotations

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
"""Most changes that share one transaction."""
RETRIES: Final = 8
"""How often a change is retried after PostgreSQL rolled it back because of a conflict."""


class SqlDatabase:
    """An open database."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.engine, self._reader = _engines(self.url)
        self._writer: _Writer | None = None

    @property
    def sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    def start(self, fill: Job[None]) -> bool:
        """Creates or upgrades the tables; true for a new database, which is filled in the same transaction."""
        try:
            if self.sqlite:
                # The file remembers this; it cannot be set inside a transaction.
                self.read(lambda connection: connection.exec_driver_sql("PRAGMA journal_mode=WAL").close())
            with self.engine.begin() as connection:
                if new := migrations.prepare(connection):
                    fill(connection)
        except InputError as error:
            raise InputError(error.problem, file=self.name, remedy=error.remedy) from None
        except DBAPIError as error:
            raise InputError(
                f"Cannot open the database ({_first_line(error)})",
                file=self.name,
                remedy="check the address and that the server is running",
            ) from None
        if self.sqlite:
            self._writer = _Writer(self.engine)
        return new

    def write(self, job: Job[T]) -> T:
        """Runs a change and returns its result once the change is durable.

        The function may be run again from the start, so it must change nothing but the database.
        """
        if self._writer is not None:
            return self._writer.run(job)
        for attempt in range(RETRIES):
            try:
                with self.engine.begin() as connection:
                    return job(connection)
            except OperationalError as error:
                # 40001 and 40P01: two transactions conflicted and this one was rolled back.
                if getattr(error.orig, "sqlstate", None) not in ("40001", "40P01") or attempt == RETRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def read(self, job: Job[T]) -> T:
        """Reads from the database."""
        with self._reader.connect() as connection:
            return job(connection)

    def close(self) -> None:
        """Completes pending changes and closes all connections."""
        if self._writer is not None:
            self._writer.stop()
        self._reader.dispose()
        self.engine.dispose()

    @property
    def name(self) -> str:
        """The address without the password."""
        return self.url.database or "" if self.sqlite else self.url.render_as_string(hide_password=True)


class _Writer:
    """The thread that makes all changes to a SQLite file."""

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
                while len(jobs) < TOGETHER and not self._waiting.empty():
                    # This thread alone takes from the queue, so what it holds stays there.
                    if (following := self._waiting.get()) is None:
                        _together(connection, jobs)
                        return
                    jobs.append(following)
                _together(connection, jobs)


def _together(connection: Connection, jobs: list[tuple[Job[Any], Future[Any]]]) -> None:
    """Runs changes in one transaction and resolves each future after the commit.

    If one of them fails, all are rolled back and each runs in its own transaction: failures are rare, and a savepoint
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
            "This is not the address of a database",
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
    """The engines for writing and for reading."""
    if url.get_backend_name() == "sqlite":
        writer = create_engine(url, connect_args={"check_same_thread": False})
        event.listen(writer, "connect", _sqlite_connected)
        event.listen(writer, "begin", _sqlite_begins)
        # Statements that only read need no transaction.
        reader = create_engine(url, pool_size=16, max_overflow=48, connect_args={"check_same_thread": False})
        event.listen(reader, "connect", _sqlite_connected)
        return writer, reader
    try:
        engine = create_engine(url, pool_size=10, max_overflow=30, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError):
        raise InputError("PostgreSQL needs the package psycopg", remedy="pip install 'vantage[postgres]'") from None
    return engine, engine.execution_options(isolation_level="AUTOCOMMIT")


def _sqlite_connected(connection: Any, _: Any) -> None:
    # The driver must not begin transactions; `_sqlite_begins` does.
    connection.isolation_level = None
    for pragma in (
        "busy_timeout=30000",
        "synchronous=FULL",  # a commit is on disk when it returns
        "foreign_keys=ON",
        "secure_delete=ON",  # withdrawn answers are overwritten
        "temp_store=MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _sqlite_begins(connection: Connection) -> None:
    # Take the write lock at once: a transaction that reads first could fail to upgrade its lock.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _first_line(error: DBAPIError) -> str:
    return str(cast("object", error.orig)).strip().splitlines()[0] if str(error.orig).strip() else type(error).__name__
