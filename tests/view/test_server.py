"""The server: this machine, one token, one cookie, nothing written."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.run import Done, run
from vantage.corpora import Corpus
from vantage.report import Report, Result, Section, Table
from vantage.report.record import Record
from vantage.view import open_paths
from vantage.view.app import Server
from vantage.view.explorer import Explorer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def get(address: str, data: bytes | None = None, **headers: str) -> tuple[int, str, dict[str, str]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, data, named)  # noqa: S310 - the server of this test
    try:
        with opener.open(request) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), dict(error.headers)


@pytest.fixture
def entered(explorer: Explorer, serve: Callable[[Explorer], Server]) -> tuple[Server, str, str]:
    return enter(serve(explorer))


def enter(server: Server) -> tuple[Server, str, str]:
    """The server with its address and the cookie that its link gives."""
    status, _, headers = get(server.address)
    assert status == 303
    return server, f"http://127.0.0.1:{server.port}", headers["set-cookie"].partition(";")[0]


def test_the_link_works_once(entered: tuple[Server, str, str]) -> None:
    server, base, cookie = entered
    assert cookie.startswith(f"{server.cookie}=")
    assert str(server.port) in server.cookie, "two explorers on one host do not share it"
    assert get(server.address)[0] == 403  # the token is spent
    assert get(f"{base}/api/overview")[0] == 403
    assert get(f"{base}/api/overview", cookie=f"{server.cookie}=guess")[0] == 403
    assert get(f"{base}/api/overview", cookie=f"{server.cookie}=gu\xe9ss")[0] == 403
    status, body, headers = get(f"{base}/api/overview", cookie=cookie)
    assert (status, json.loads(body)["items"]) == (200, 6)
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


def test_other_hosts_are_refused(entered: tuple[Server, str, str]) -> None:
    _, base, cookie = entered
    assert get(f"{base}/api/overview", cookie=cookie, host="evil.example")[0] == 403


def test_bad_requests_get_one_sentence(entered: tuple[Server, str, str]) -> None:
    _, base, cookie = entered
    for path, said in (
        ("items?page=x", "cannot be read"),
        ("items?sort=beauty", "cannot be sorted by 'beauty'"),
        ("items?question=no", "no"),
        ("items?where.no=1", "no column 'no'"),
        ("item?item=zz", "no item 'zz'"),
        ("rater?rater=zz", "no rater 'zz'"),
        ("item", "cannot be read"),
        ("map?kind=treasure", "no map 'treasure'"),
    ):
        status, body, _ = get(f"{base}/api/{path}", cookie=cookie)
        assert status == 400, path
        assert said in json.loads(body)["problem"], path
    assert get(f"{base}/api/items?page={10**30}", cookie=cookie)[0] == 200
    assert get(f"{base}/api/secrets", cookie=cookie)[0] == 404
    assert get(f"{base}/view.py", cookie=cookie)[0] == 404
    assert get(f"{base}/report/7", cookie=cookie)[0] == 404


def test_the_numbers_of_a_report_lead_to_the_explorer_that_serves_it(
    corpus: Corpus, tmp_path: Path, serve: Callable[[Explorer], Server]
) -> None:
    place = corpus.write(tmp_path / "corpus")
    table = Table("alpha", "Alpha.", pl.DataFrame({"question": ["warm"], "estimate": [0.5]}))
    written = Report(Record("corpus", "Try"), Result([Section("Agreement", parts=[table])])).write(place / "report")
    assert '<a data-door="#/spectrum?question=warm">' in written.read_text("utf-8")
    _, base, cookie = enter(serve(Explorer(*open_paths([place]))))
    assert '<a href="/#/spectrum?question=warm">' in get(f"{base}/report/0", cookie=cookie)[1]


def test_the_command_says_what_it_cannot_open(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, explorer: Explorer
) -> None:
    def vantage(*words: object) -> Done:
        return run(capsys, monkeypatch, *words)

    done = vantage("view", tmp_path / "nothing")
    assert (done.code, "there is no such file or folder" in done.err) == (2, True)
    done = vantage("view", tmp_path / "corpus", "--export", tmp_path / "view.html")
    assert (done.code, "Wrote" in done.out) == (0, True)
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = vantage("view", tmp_path / "corpus", "--no-open", "--port", taken.getsockname()[1])
    assert (done.code, "is taken" in done.err) == (2, True)
