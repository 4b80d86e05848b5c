"""A study as a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.collect.web.studies import corpus
from vantage.collect.web.server import VARIABLE, ServedStudy, worker
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


def test_workers_are_told_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    source = {"folder": str(corpus(tmp_path, "irony")), "instrument": "irony"}
    monkeypatch.setenv(VARIABLE, json.dumps(source))
    with TestClient(worker()) as client:
        assert client.get("/api/health").status_code == 200


def test_nothing_to_serve() -> None:
    with pytest.raises(InputError, match="No study to serve"):
        ServedStudy(folder="somewhere").open()
