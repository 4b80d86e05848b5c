"""A study as a process of its own."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import uvicorn

from tests.collect.web.studies import corpus, study_service
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.web import create_app
from vantage.collect.web.server import VARIABLE, ImpatientProtocol, ServedStudy, worker
from vantage.errors import InputError

CODE = """
import json, sys
from vantage.collect.web.server import ServedStudy, serve
plan = json.loads(sys.argv[1])
serve(ServedStudy(**plan["source"]), port=plan["port"], workers=plan["workers"])
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_serving_and_stopping(tmp_path: Path, workers: int) -> None:
    port = free_port()
    source = {"folder": str(corpus(tmp_path, "irony")), "instrument": "irony", "prefix": "/study"}
    plan = json.dumps({"source": source, "port": port, "workers": workers})
    process = subprocess.Popen([sys.executable, "-c", CODE, plan])
    try:
        for _ in range(600):
            try:
                with urlopen(f"http://127.0.0.1:{port}/study/") as response:
                    assert b"I agree to take part" in response.read()
                    assert "server" not in response.headers
                    break
            except URLError:
                assert process.poll() is None
                time.sleep(0.05)
        else:
            pytest.fail("the server did not start")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)


def running(workers: int, tmp_path: Path, port: int) -> subprocess.Popen[bytes]:
    """A server that answers."""
    source = {"folder": str(corpus(tmp_path, "irony")), "instrument": "irony"}
    plan = json.dumps({"source": source, "port": port, "workers": workers})
    process = subprocess.Popen([sys.executable, "-c", CODE, plan])
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health") as response:
                assert json.load(response)["workers"] == workers
                return process
        except URLError:
            assert process.poll() is None
            time.sleep(0.05)
    raise AssertionError("the server did not start")


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    port = free_port()
    process = running(2, tmp_path, port)
    process.kill()
    process.wait()
    until = time.monotonic() + 30
    while listening(port):
        assert time.monotonic() < until, "an orphaned worker holds the port"
        time.sleep(0.05)


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A server with little patience."""
    monkeypatch.setattr("vantage.collect.web.server.HEADERS", 0.4)
    monkeypatch.setattr("vantage.collect.web.guard.SLOWEST_BODY", 0.4)
    app = create_app(study_service(tmp_path))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", http=ImpatientProtocol))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()
    server.should_exit = True
    thread.join(10)


POST = (
    b"POST /consent HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 90\r\n\r\n"
)


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b""),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT", b"HTTP/1.1 200 OK"),
        (POST + b"a", b"HTTP/1.1 408 Request Timeout"),
    ],
)
def test_half_open_requests_are_closed(address: tuple[str, int], sent: bytes, answer: bytes) -> None:
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(sent)
        start, found = time.monotonic(), b""
        while piece := client.recv(65536):
            found += piece
    assert time.monotonic() - start < 8
    assert found.startswith(answer)
    assert bool(found) == bool(answer)


def test_a_body_that_drips_has_no_more_time_than_one_that_stalls(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(POST)
        start, found = time.monotonic(), b""
        with contextlib.suppress(OSError):
            while time.monotonic() - start < 5 and not found:
                client.sendall(b"a")
                client.settimeout(0.1)
                with contextlib.suppress(TimeoutError):
                    found = client.recv(65536)
    assert found.startswith(b"HTTP/1.1 408")
    assert time.monotonic() - start < 3


@pytest.mark.slow
def test_slow_people_are_not_cut_off_between_two_pages(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=10) as client:
        for _ in range(2):
            client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")
            time.sleep(0.8)


def test_health_says_when_the_database_is_down(tmp_path: Path, postgres: str) -> None:
    import psycopg
    from starlette.testclient import TestClient

    name = "gone"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    address = postgres.replace("/postgres?", f"/{name}?")
    assert address != postgres
    service = StudyService(AnnotationStudy.of(corpus(tmp_path, "irony"), "irony"), address)
    client = TestClient(create_app(service), raise_server_exceptions=False)
    for path in ("/health", "/api/health"):
        found = client.get(path)
        assert (found.status_code, found.json()["status"]) == (200, "ok")
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    found = client.get("/health")
    assert (found.status_code, found.json()["status"]) == (503, "database down")
    service.close()


def test_workers_are_told_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    source = {"folder": str(corpus(tmp_path, "irony")), "instrument": "irony"}
    monkeypatch.setenv(VARIABLE, json.dumps(source))
    with TestClient(worker()) as client:
        assert client.get("/api/health").status_code == 200


def test_nothing_to_serve() -> None:
    with pytest.raises(InputError, match="No study to serve"):
        ServedStudy(folder="somewhere").open()


def test_a_worker_that_cannot_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, json.dumps({"study": str(tmp_path / "none.yaml")}))
    with pytest.raises(InputError):
        worker()
    assert "A worker could not start" in caplog.text
    assert "none.yaml" in caplog.text
