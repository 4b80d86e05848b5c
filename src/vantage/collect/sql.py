"""The database: SQLite in WAL mode or PostgreSQL, with one way to read and one way to change it.

A change is a function of a connection. It runs inside one transaction, and its result is returned after the commit,
when it is durable. A thread runs all waiting changes in one transaction, so that many participants share the cost of
one commit. What most of them do most often is one function for all who wait (`share`), so that they share the round
trips to the database as well: on a busy machine, each takes many times as long as its statement.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import IO, Any, Final, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, Executable, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import NullPool

from vantage.collect import tables as schema
from vantage.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")
A = TypeVar("A")
Job = Callable[[Connection], T]
Shared = Callable[[Connection, Sequence[A]], Sequence[T | Exception]]
"""A change for several requests: a result for each, or why it was refused and nothing changed for it."""

TOGETHER: Final = 256
RETRIES: Final = 8
"""How often a change is tried again that PostgreSQL rolled back because of a conflict or a restart."""
CONFLICTS: Final = ("40001", "40P01")
"""PostgreSQL's codes for a transaction that was rolled back because of another one."""
WAIT: Final = 30.0
"""Seconds for which a request waits for a connection, or a purge for its turn."""
LOCKED: Final = 100
"""Milliseconds for which a purge may wait for a table; others wait behind it, so it rather tries again."""
SPARE: Final = 5
"""Connections of a PostgreSQL server that are left to other programs: status, backup, an administrator."""
MOST: Final = 56
"""Connections that one process can use; more of its threads (see `web.site`) rarely read at the same moment."""
FULL: Final = ("too many clients", "remaining connection slots")
WORKERS: Final = "VANTAGE_WORKERS"
"""How many processes share the database server, in the environment of each of them."""


class SqlDatabase:
    """An open database; with `read_only` it can be neither created nor changed."""

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        self.url, self.read_only = database_url(url), read_only
        self.engine, self._reader = _engines(self.url, read_only=read_only)
        self._writers: tuple[_Writer, ...] = ()

    @property
    def sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    def start(self, fill: Job[None]) -> bool:
        """Creates or upgrades the tables; true for a new database, which is filled in the same transaction."""

        def prepare(connection: Connection) -> bool:
            if new := schema.prepare(connection):
                fill(connection)
            return new

        return self.open(prepare)

    def open(self, prepare: Job[T]) -> T:
        """Connects for the first time and prepares the tables; problems are one sentence."""
        try:
            if self.read_only:
                return self.read(prepare)
            if self.sqlite:
                # The file remembers this; it cannot be set inside a transaction.
                self.read(lambda connection: connection.exec_driver_sql("PRAGMA journal_mode=WAL").close())
            else:
                self.engine, self._reader = _pooled(self.engine)
            with self.engine.begin() as connection:
                prepared = prepare(connection)
        except InputError as error:
            raise InputError(error.problem, file=self.name, remedy=error.remedy) from None
        except DBAPIError as error:
            raise InputError(
                f"Cannot open the database ({str(error.orig).strip().partition(chr(10))[0] or type(error).__name__})",
                file=self.name,
                remedy="check the address and that the server is running",
            ) from None
        if self.sqlite:
            self._writers = (_Writer(self.engine, f"{self.url.database}-lock"),)
        else:
            # Shared changes are short; the others wait for locks that other processes hold.
            self._writers = (_Writer(self.engine), _Writer(self.engine))
        return prepared

    def write(self, job: Job[T]) -> T:
        """Runs a change and returns its result once the change is durable.

        The function may be run again from the start, so it must change nothing but the database.
        """
        return self.share(_each, job, object())

    def share(self, change: Shared[A, T], given: A, of: Hashable) -> T:
        """Like `write`, with one call of the function for all the requests that wait for it.

        Requests `of` the same participant come one after the other, in calls of their own.
        """
        if not self._writers:
            raise RuntimeError("the database is read-only" if self.read_only else "the database is not open")
        result: T = self._writers[-1 if change is _each else 0].run(_Asked(change, given, of))
        return result

    def execute(self, *statements: Executable) -> None:
        """Runs statements that change something, in one transaction."""
        self.write(lambda connection: [connection.execute(statement) for statement in statements])

    def read(self, job: Job[T]) -> T:
        """Reads from the database, once more where the server has closed the connection since it was last used."""
        try:
            with self._reader.connect() as connection:
                return job(connection)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        with self._reader.connect() as connection:
            return job(connection)

    def snapshot(self, job: Job[T]) -> T:
        """Reads the state of one moment, however long it takes; changes go on in the meantime."""
        if not self.sqlite:
            with self.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
                return job(connection)
        with self._reader.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            try:
                return job(connection)
            finally:
                connection.exec_driver_sql("ROLLBACK")

    def purge(self, tables: Iterable[str]) -> None:
        """Removes the remains of deleted rows: SQLite's log is emptied, PostgreSQL rewrites the tables.

        SQLite overwrites what is deleted (`secure_delete`), so that only its log still has it. Raises `TimeoutError`
        where others use the tables for so long that it must be tried again.
        """
        if self.sqlite:
            checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)"
            _persist(lambda: not self.read(lambda c: c.exec_driver_sql(checkpoint).one())[0], "the log is in use")
            return
        with self._reader.connect() as connection:
            connection.exec_driver_sql(f"SET lock_timeout = '{LOCKED}ms'")
            try:
                for table in tables:
                    _persist(lambda table=table: _rewritten(connection, table), f"'{table}' is in use")  # type: ignore[misc]
            finally:
                connection.exec_driver_sql("RESET lock_timeout")

    def close(self) -> None:
        """Completes pending changes and closes all connections."""
        for writer in self._writers:
            writer.stop()
        self._reader.dispose()
        self.engine.dispose()

    @property
    def name(self) -> str:
        """The address without the password."""
        return self.url.database or "" if self.sqlite else self.url.render_as_string(hide_password=True)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A change that a request asks for and waits for."""

    change: Shared[Any, Any]
    given: Any
    of: Hashable
    done: Future[Any] = field(default_factory=Future)


def _each(connection: Connection, jobs: Sequence[Job[T]]) -> list[T]:
    return [job(connection) for job in jobs]


class _Writer:
    """A thread that makes changes of this process; those to a SQLite file in turn with other processes."""

    def __init__(self, engine: Engine, lock: str | None = None) -> None:
        self._engine, self._lock = engine, lock
        self._waiting: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="vantage-writer", daemon=True)
        self._closed = False
        self._thread.start()

    def run(self, asked: _Asked) -> Any:
        if self._closed:
            raise RuntimeError("the database is closed")
        self._waiting.put(asked)
        return asked.done.result()

    def stop(self) -> None:
        self._closed = True
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        with contextlib.ExitStack() as opened:
            lock, ended = None, False
            if self._lock is not None:
                lock = opened.enter_context(os.fdopen(os.open(self._lock, os.O_CREAT | os.O_RDWR, 0o600)))
            while not ended:
                waiting = [self._waiting.get()]
                # This thread alone takes from the queue, so what it holds stays there.
                while len(waiting) < TOGETHER and not self._waiting.empty():
                    waiting.append(self._waiting.get())
                ended = None in waiting
                if every := [one for one in waiting if one is not None]:
                    _together(self._engine, every, lock)


@contextlib.contextmanager
def _turn(lock: IO[Any] | None) -> Iterator[None]:
    """Lets the processes that write to a file take turns in the order in which they come.

    SQLite itself only tries again after a while, so that a process can wait for seconds while others come and go.
    Where the system has no such locks, that is how it is.
    """
    if not (fcntl and lock):
        yield
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)


def _together(engine: Engine, every: list[_Asked], lock: IO[Any] | None, attempts: int = RETRIES) -> None:
    """Runs changes in one transaction and resolves each future after the commit.

    If one of them fails, all are rolled back and each runs in its own transaction: failures are rare, and a savepoint
    for every change would cost more than the change.
    """
    turns: Counter[Hashable] = Counter()
    calls: dict[tuple[Shared[Any, Any], int], list[_Asked]] = {}
    for one in every:
        turns[one.change, one.of] += 1
        calls.setdefault((one.change, turns[one.change, one.of]), []).append(one)
    results: list[tuple[_Asked, Any]] = []
    try:
        with _turn(lock), engine.begin() as connection:
            for (change, _), some in calls.items():
                results += zip(some, change(connection, [one.given for one in some]), strict=True)
    except Exception as error:
        if len(results) == len(every):  # it was the commit that broke off: whether it was made, nobody knows
            for one in every:
                one.done.set_exception(error)
        elif len(every) > 1:
            for one in every:
                _together(engine, [one], lock)
        elif attempts and _was_rolled_back(error):
            _together(engine, every, lock, attempts - 1)
        else:
            every[0].done.set_exception(error)
        return
    for one, result in results:
        if isinstance(result, Exception):
            one.done.set_exception(result)
        else:
            one.done.set_result(result)


def _was_rolled_back(error: Exception) -> bool:
    """Whether PostgreSQL gave a transaction up that may succeed now: it conflicted, or the server has restarted."""
    if not isinstance(error, DBAPIError):
        return False
    return error.connection_invalidated or getattr(error.orig, "sqlstate", "") in CONFLICTS


def database_url(address: str) -> URL:
    """The address of a database: a SQLite file, or PostgreSQL through its driver."""
    remedy = "write sqlite:///FILE or postgresql://USER@HOST/NAME"
    try:
        url = make_url(address if "://" in address else f"sqlite:///{address}")
    except (ArgumentError, ValueError):
        raise InputError("This is not the address of a database", remedy=remedy) from None
    backend = url.get_backend_name()
    if backend in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or not url.database or url.database == ":memory:":
        name = url.render_as_string(hide_password=True)
        raise InputError(f"'{name}' is neither a SQLite file nor a PostgreSQL database", remedy=remedy)
    return url


def _engines(url: URL, *, read_only: bool) -> tuple[Engine, Engine]:
    if url.get_backend_name() == "sqlite":
        if read_only:
            url = url.set(database=f"file:{quote(url.database or '')}", query={"mode": "ro", "uri": "true"})
        writer = create_engine(url, connect_args={"check_same_thread": False})
        event.listen(writer, "connect", _sqlite_connected)
        event.listen(writer, "begin", _sqlite_begins)
        # Statements that only read need no transaction.
        reader = create_engine(url, pool_size=16, max_overflow=48, connect_args={"check_same_thread": False})
        event.listen(reader, "connect", _sqlite_connected)
        return writer, reader
    if read_only:
        url = url.update_query_dict({"options": f"{url.query.get('options', '')} -cdefault_transaction_read_only=on"})
    try:
        engine = create_engine(url, poolclass=NullPool)
    except (NoSuchModuleError, ModuleNotFoundError):
        raise InputError(
            "PostgreSQL needs the package psycopg", remedy="pip install 'vantage-raters[postgres]'"
        ) from None
    event.listen(engine, "do_connect", _patient_connect)
    return engine, engine.execution_options(isolation_level="AUTOCOMMIT")


def _pooled(engine: Engine) -> tuple[Engine, Engine]:
    """The engines for writing and for reading with this process's share of the server's connections.

    More requests than that wait for a connection; so do those that find the server full because of other programs.
    """
    with engine.connect() as connection:
        limits = "SELECT setting::int FROM pg_settings WHERE name = '{}'"
        names = ("max_connections", "superuser_reserved_connections", "reserved_connections")
        most, *reserved = (connection.exec_driver_sql(limits.format(name)).scalar() or 0 for name in names)
    share = max(1, min(MOST, (most - sum(reserved) - SPARE) // int(os.environ.get(WORKERS, "1"))))
    pooled = create_engine(engine.url, pool_size=share, max_overflow=0, pool_timeout=WAIT)
    event.listen(pooled, "do_connect", _patient_connect)
    return pooled, pooled.execution_options(isolation_level="AUTOCOMMIT")


def _patient_connect(dialect: Any, _: Any, args: Any, options: Any) -> Any:
    until = time.monotonic() + WAIT
    while True:
        try:
            return dialect.connect(*args, **options)
        except dialect.loaded_dbapi.OperationalError as error:
            # Other programs hold the server's connections; the driver reports no code for this.
            if not any(words in str(error) for words in FULL) or time.monotonic() > until:
                raise
            time.sleep(0.05)


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


def _persist(attempt: Callable[[], bool], problem: str) -> None:
    """Tries again until it succeeds; `TimeoutError` after a while."""
    until = time.monotonic() + WAIT
    while not attempt():
        if time.monotonic() > until:
            raise TimeoutError(problem)
        time.sleep(0.05)


def _rewritten(connection: Connection, table: str) -> bool:
    """Whether PostgreSQL could rewrite a table; false where others hold it (55P03)."""
    try:
        connection.exec_driver_sql(f'VACUUM (FULL) "{table}"')
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != "55P03":
            raise
        return False
    return True
