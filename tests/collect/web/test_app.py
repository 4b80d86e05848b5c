"""Static files and the shape of the application."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.collect.web.studies import Visitor, study_service
from vantage.collect.web.site import static_files


def test_static_files_are_kept_for_ever_and_packed_for_those_who_can(tmp_path: Path) -> None:
    client = Visitor(study_service(tmp_path)).client
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


def test_starting_and_stopping_closes_an_owned_service(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from vantage.collect.web import create_app

    service = study_service(tmp_path)
    closed: list[bool] = []
    service.close = lambda: closed.append(True)  # type: ignore[method-assign]
    with TestClient(create_app(service)):
        pass
    assert closed == []
    with TestClient(create_app(service, own=True)) as client:
        assert client.get("/api/health").json()["status"] == "ok"
    assert closed == [True]
    del service.close
