"""Static files and the shape of the application."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.collect.web.studies import Visitor, desk
from vantage.collect.web.app import PAGES
from vantage.collect.web.site import static_files


def test_static_files_are_kept_for_ever_and_packed_for_those_who_can(tmp_path: Path) -> None:
    client = Visitor(desk(tmp_path)).client
    for name, file in static_files().items():
        plain = client.get(f"/static/{name}", headers={"accept-encoding": "identity"})
        assert plain.content == file.plain
        assert "immutable" in plain.headers["cache-control"]
        assert "content-encoding" not in plain.headers
        packed = client.get(f"/static/{name}", headers={"accept-encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(file.packed) == file.plain
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/style.css").status_code == 404


def test_every_page_has_one_address() -> None:
    paths = [path for path, _, _ in PAGES]
    assert len(paths) == len(set(paths))


def test_starting_and_stopping_closes_an_owned_desk(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from vantage.collect.web import create_app

    opened = desk(tmp_path)
    closed: list[bool] = []
    opened.close = lambda: closed.append(True)  # type: ignore[method-assign]
    with TestClient(create_app(opened)):
        pass
    assert closed == []
    with TestClient(create_app(opened, own=True)) as client:
        assert client.get("/api/health").json()["status"] == "ok"
    assert closed == [True]
    del opened.close
