"""The dashboard for programs, and what a hostile program can do to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from starlette.testclient import TestClient

from tests.collect.web.studies import PASSWORD, Visitor, study_service
from vantage.collect.service import StudyService
from vantage.collect.web import create_app
from vantage.collect.web.api import CALLS, description

EXAMPLES = settings(
    max_examples=10, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), derandomize=True
)
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
    assert [line["item"] for line in client.get("/api/items?start=1&count=1").json()] == ["item/2"]
    item = client.get("/api/items/item/1").json()
    assert item["distributions"][0]["counts"] == {"no": 0, "yes": 1}
    assert {row["question"] for row in client.get("/api/reliability").json()} == {"irony"}
    assert len(client.get("/api/invitations").json()) == 1


def test_what_a_program_can_change(client: TestClient, service: StudyService) -> None:
    assert client.post("/api/pause", json={"paused": True}).json() == {"paused": True}
    assert service.database.paused
    assert len(client.post("/api/invitations", json={"count": 2, "note": "x"}).json()) == 2
    rater = service.researchers.raters()[0].rater
    client.post(f"/api/raters/{rater}", json={"verdict": "approved"})
    assert service.researchers.raters()[0].verdict == "approved"
    assert client.post("/api/raters/nobody", json={"verdict": "approved"}).status_code == 404
    assert client.get("/api/items/nowhere").status_code == 404


UNSOUND = [
    ("/api/pause", b"{}"),
    ("/api/pause", b'{"paused": "yes"}'),
    ("/api/pause", b"\xff"),
    ("/api/invitations", b'{"count": 0}'),
    ("/api/invitations", b'{"count": 1, "more": 1}'),
    ("/api/raters/x", b'{"verdict": "hanged"}'),
]


def test_bodies_that_are_not_as_described(client: TestClient) -> None:
    for path, body in UNSOUND:
        found = client.post(path, content=body)
        assert found.status_code == 400
        assert "See /openapi.json" in found.json()["problem"]


def test_nothing_without_a_token(service: StudyService) -> None:
    client = TestClient(create_app(service))
    for call in CALLS:
        path = call.path.replace("{rater}", "x").replace("{item}", "item/1")
        for headers in ({}, {"authorization": "Bearer x.y"}, {"authorization": "Basic eDp5"}):
            if call.role:
                found = client.request(call.method, path, headers=headers, content=b"{}" if call.body else None)
                assert found.status_code == 401
                assert found.headers["www-authenticate"] == "Bearer"


def test_wrong_passwords_are_counted(service: StudyService) -> None:
    client = TestClient(create_app(service))
    found = [client.post("/api/token", json={"password": "no"}).status_code for _ in range(6)]
    assert found == [403] * 5 + [429]


def test_the_description_names_every_call() -> None:
    paths = description("/study")
    assert paths["servers"] == [{"url": "/study"}]
    named = {(method.upper(), path) for path, calls in paths["paths"].items() for method in calls}
    assert named == {(call.method, call.path) for call in CALLS}


@pytest.mark.slow
def test_the_interface_survives_schemathesis(service: StudyService) -> None:
    """Made-up calls, sound and unsound, are answered as described and never with a failure of ours."""
    import schemathesis
    from schemathesis.core.result import Ok

    app = create_app(service)
    token = TestClient(app).post("/api/token", json={"password": PASSWORD}).json()["token"]
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    called: set[str] = set()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            if mode is schemathesis.GenerationMode.NEGATIVE and not (operation.body or operation.query):
                continue

            @settings(EXAMPLES)
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                # Its own check of tokens sends ours along; `test_nothing_without_a_token` does that properly.
                left_out = [schemathesis.checks.ignored_auth]
                case.call_and_validate(headers={"authorization": f"Bearer {token}"}, excluded_checks=left_out)
                called.add(case.operation.label)

            check()
    assert called == {f"{call.method} {call.path}" for call in CALLS}
