"""The dashboard for programs, and what a hostile program can do to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.collect.web.studies import PASSWORD, Visitor, study_service
from vantage.collect.service import StudyService
from vantage.collect.web import create_app
from vantage.collect.web.api import CALLS

ITEMS = [{"post": f"post {n}", "reply": f"reply {n}"} for n in range(1, 4)]


@pytest.fixture
def service(tmp_path: Path) -> StudyService:
    service = study_service(tmp_path, items=ITEMS, recruitment={"via": "invitation"})
    service.researchers.set_password(PASSWORD)
    (invitation,) = service.researchers.invite(1)
    ann = Visitor(service)
    ann.get(f"/?invitation={invitation.token}")
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/guidelines")
    ann.answer()
    return service


@pytest.fixture
def client(service: StudyService) -> TestClient:
    client = TestClient(create_app(service), raise_server_exceptions=False)
    token = client.post("/api/token", json={"password": PASSWORD}).json()["token"]
    client.headers["authorization"] = f"Bearer {token}"
    return client


def test_what_a_program_can_read(client: TestClient, service: StudyService) -> None:
    overview = client.get("/api/overview").json()
    assert overview["arms"][0]["answered"] == 1
    assert overview["participants"] == {"working": 1}
    (rater,) = client.get("/api/raters").json()
    assert rater["rater"] == service.researchers.raters()[0].rater


def test_what_a_program_can_change(client: TestClient, service: StudyService) -> None:
    assert client.post("/api/pause", json={"paused": True}).json() == {"paused": True}
    assert service.database.paused
    rater = service.researchers.raters()[0].rater
    client.post(f"/api/raters/{rater}", json={"verdict": "approved"})
    assert service.researchers.raters()[0].verdict == "approved"
    assert client.post("/api/raters/nobody", json={"verdict": "approved"}).status_code == 404


UNSOUND = [
    ("/api/pause", b"{}"),
    ("/api/pause", b'{"paused": "yes"}'),
    ("/api/pause", b"\xff"),
    ("/api/pause", b'{"paused": true, "more": 1}'),
    ("/api/raters/x", b'{"verdict": "hanged"}'),
]


def test_bodies_that_are_not_as_described(client: TestClient) -> None:
    for path, body in UNSOUND:
        found = client.post(path, content=body)
        assert found.status_code == 400
        assert "See docs/collect.md" in found.json()["problem"]


def test_nothing_without_a_token(service: StudyService) -> None:
    client = TestClient(create_app(service))
    for call in CALLS:
        path = call.path.replace("{rater}", "x")
        for headers in ({}, {"authorization": "Bearer x.y"}, {"authorization": "Basic eDp5"}):
            if call.role:
                found = client.request(call.method, path, headers=headers, content=b"{}" if call.body else None)
                assert found.status_code == 401
                assert found.headers["www-authenticate"] == "Bearer"


def test_wrong_passwords_are_counted(service: StudyService) -> None:
    client = TestClient(create_app(service))
    found = [client.post("/api/token", json={"password": "no"}).status_code for _ in range(6)]
    assert found == [403] * 5 + [429]
