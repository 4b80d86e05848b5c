"""The configurations in docs/collect-operations.md, as they are written there, with real programs."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPSHandler, build_opener

import pytest
import uvicorn

from tests.collect.web.studies import PASSWORD, study_service
from tests.collect.web.test_server import free_port
from tests.conftest import ROOT
from vantage.collect.service import StudyService
from vantage.collect.web import create_app

PAGE = (ROOT / "docs" / "collect-operations.md").read_text("utf-8")


def block(language: str) -> str:
    """The only block of a language on the page."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return str(found)


def program(name: str) -> str:
    """The path of a program; the test is skipped where it is absent."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[StudyService, int]]:
    """A study behind its prefix."""
    service = study_service(tmp_path)
    service.researchers.set_password(PASSWORD)
    config = uvicorn.Config(create_app(service, prefix="/irony"), port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield service, server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(10)


def walk(port: int) -> str:
    """Through consent to the first item by https; the address reached, after checks of limits and other paths."""
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    jar = CookieJar()
    browser = build_opener(HTTPSHandler(context=trusting), HTTPCookieProcessor(jar))
    base = f"https://localhost:{port}"
    until = time.monotonic() + 20
    while True:
        try:
            with browser.open(f"{base}/irony/", timeout=10) as response:
                text, headers = response.read().decode(), response.headers
            break
        except OSError as error:
            assert time.monotonic() < until, error
            time.sleep(0.1)
    assert "I agree to take part" in text
    assert "max-age=31536000" in headers["strict-transport-security"]
    assert {(cookie.path, cookie.secure) for cookie in jar} == {("/irony", True)}

    def send(path: str, page: str, **form: str) -> tuple[str, str]:
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token
        request = urlencode({"form_token": token.group(1), **form}).encode()
        # Redirects without a host stay at the proxy.
        with browser.open(f"{base}{path}", request, timeout=10) as answer:
            return str(answer.url), answer.read().decode()

    where, text = send("/irony/consent", text, agreed="yes")
    assert where == f"{base}/irony/guidelines"
    where, text = send("/irony/guidelines", text)
    assert where == f"{base}/irony/item/1"
    with browser.open(f"{base}/irony/health", timeout=10) as response:
        assert json.load(response)["status"] == "ok"
    # nginx answers 413; Caddy passes on that the server stopped reading, or says 502.
    with pytest.raises(OSError, match=r"413|502|EOF|reset|Broken"):
        browser.open(f"{base}/irony/consent", b"a=" + b"x" * (6 << 20), timeout=10)
    with contextlib.suppress(HTTPError), browser.open(f"{base}/admin", timeout=10) as response:
        assert response.read() == b"", "only what is below the prefix is passed on"
    return where.removeprefix(base)


@pytest.fixture
def proxy() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Programs that are stopped after the test."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.terminate()
        process.wait(10)


def test_nginx(served: tuple[StudyService, int], tmp_path: Path, proxy: list[subprocess.Popen[bytes]]) -> None:
    nginx, openssl, port = program("nginx"), program("openssl"), free_port()
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"),
            *("-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"),
        ],
        check=True,
        capture_output=True,
    )
    server = block("nginx").replace("listen 443", f"listen 127.0.0.1:{port}").replace(":8000", f":{served[1]}")
    server = server.replace("/etc/letsencrypt/live/study.university.example", str(tmp_path))
    server = server.replace("$host;", "$http_host;")  # the port is not the usual one here
    folders = "".join(
        f"{kind}_temp_path {tmp_path / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = tmp_path / "nginx.conf"
    file.write_text(
        f"pid {tmp_path / 'pid'}; error_log {tmp_path / 'error.log'}; daemon off; user root;"
        f"events {{}} http {{ access_log off; {folders} {server} }}",
        encoding="utf-8",
    )
    proxy.append(subprocess.Popen([nginx, "-c", file, "-e", tmp_path / "start.log"], stderr=subprocess.DEVNULL))
    assert walk(port) == "/irony/item/1"


def test_caddy(served: tuple[StudyService, int], tmp_path: Path, proxy: list[subprocess.Popen[bytes]]) -> None:
    caddy, port = program("caddy"), free_port()
    site = block("caddy").replace("study.university.example", f"localhost:{port}").replace(":8000", f":{served[1]}")
    options = f"admin off\nskip_install_trust\nauto_https disable_redirects\nstorage file_system {tmp_path / 'caddy'}"
    file = tmp_path / "Caddyfile"
    file.write_text(f"{{\n{options}\n}}\n{site}", encoding="utf-8")
    command = [caddy, "run", "--config", str(file), "--adapter", "caddyfile"]
    proxy.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert walk(port) == "/irony/item/1"


def test_the_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    file = tmp_path / "vantage.service"
    file.write_text(block("ini").replace("/opt/vantage/bin/vantage", "/bin/true"), encoding="utf-8")
    done = subprocess.run([analyze, "verify", file], capture_output=True, text=True, check=False)
    problems = [line for line in done.stderr.splitlines() if "vantage.service" in line]
    assert problems == []


@pytest.mark.parametrize(("language", "start"), [("ini", "ExecStart="), ("dockerfile", "CMD ")])
def test_the_recipes_start_the_server_with_options_that_exist(language: str, start: str) -> None:
    from typer.testing import CliRunner

    from vantage.cli.collect import app

    # The health check is also a command; the one that serves is the last.
    line = [one for one in block(language).splitlines() if one.startswith(start)][-1].removeprefix(start)
    words = json.loads(line) if line.startswith("[") else line.split()
    assert Path(words[0]).name == "vantage"
    assert words[1] == "collect"
    found = CliRunner().invoke(app, [*words[2:], "--help"])
    assert found.exit_code == 0
    done = CliRunner().invoke(app, [word if word != "study.yaml" else "/nowhere/study.yaml" for word in words[2:]])
    assert "No such option" not in done.output
