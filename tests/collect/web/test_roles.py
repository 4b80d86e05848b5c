"""Several researchers: what each may do, on the pages and for programs, and what the log says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.collect.web.studies import PASSWORD, Visitor, study_service
from vantage.collect.service import StudyService
from vantage.collect.views import Role
from vantage.errors import InputError

ALLOWED: dict[str, Role] = {
    "/admin": "view",
    "/admin/raters": "view",
    "/admin/items": "view",
    "/admin/item?item=item/1": "view",
    "/admin/invitations": "manage",
    "/admin/download": "manage",
}
ORDER: list[Role] = ["view", "review", "manage"]


@pytest.fixture
def service(tmp_path: Path) -> StudyService:
    service = study_service(tmp_path)
    service.researchers.set_password(PASSWORD)
    for role in ORDER:
        service.researchers.set_password(f"{PASSWORD}-{role}", f"the-{role}er", role)
    visitor = Visitor(service)
    visitor.begin()
    while "/item/" in visitor.path:
        visitor.answer()
    return service


def logged_in(service: StudyService, name: str, password: str) -> Visitor:
    """The browser of a researcher."""
    visitor = Visitor(service)
    visitor.get("/admin/login")
    visitor.send("/admin/login", {"name": name, "password": password})
    return visitor


def may(role: Role, needed: Role) -> bool:
    """Whether a role allows what another is needed for."""
    return ORDER.index(role) >= ORDER.index(needed)


@pytest.mark.parametrize("role", ORDER)
def test_each_role_may_do_what_it_says(service: StudyService, role: Role) -> None:
    name = f"the-{role}er"
    (rater,) = (row.rater for row in service.researchers.raters())
    visitor = logged_in(service, name, f"{PASSWORD}-{role}")
    assert visitor.path == "/admin"
    shown = visitor.text
    assert ("Pause the study" in shown, "/admin/download" in shown) == (role == "manage",) * 2
    for path, needed in ALLOWED.items():
        visitor.get(path)
        assert visitor.status == (200 if may(role, needed) else 403), path
    visitor.get("/admin")
    token = visitor.form_token
    for path, form, needed in (
        ("/admin/raters", {"rater": rater, "verdict": "approved"}, "review"),
        ("/admin/invitations", {"count": "1"}, "manage"),
        ("/admin/pause", {"paused": "yes"}, "manage"),
    ):
        visitor.send(path, form, signed=token)
        assert visitor.status == (200 if may(role, needed) else 403), path
    assert service.database.paused == (role == "manage")
    log = service.researchers.log().filter(~service.researchers.log()["event"].is_in(["password set"]))
    named = [row["event"] for row in log.to_dicts() if json.loads(row["detail"]).get("by") == name]
    wanted = {"view": [], "review": ["approved"], "manage": ["exported", "approved", "invited", "paused"]}
    assert named == wanted[role]


@pytest.mark.parametrize("role", ORDER)
def test_programs_have_the_same_roles(service: StudyService, role: Role) -> None:
    (rater,) = (row.rater for row in service.researchers.raters())
    client = Visitor(service).client
    who = {"name": f"the-{role}er", "password": f"{PASSWORD}-{role}"}
    bearer = {"authorization": f"Bearer {client.post('/api/token', json=who).json()['token']}"}
    for method, path, body, needed in (
        ("GET", "/api/overview", None, "view"),
        ("GET", "/api/raters", None, "view"),
        ("POST", f"/api/raters/{rater}", {"verdict": "approved"}, "review"),
        ("GET", "/api/invitations", None, "manage"),
        ("POST", "/api/invitations", {"count": 1}, "manage"),
        ("POST", "/api/pause", {"paused": False}, "manage"),
    ):
        found = client.request(method, path, json=body, headers=bearer)
        assert found.status_code == (200 if may(role, needed) else 403), path  # type: ignore[arg-type]
    assert client.post("/api/logout", headers=bearer).json() == {"logged_out": True}
    assert client.get("/api/overview", headers=bearer).status_code == 401


def test_passwords_belong_to_names(service: StudyService) -> None:
    for name, password in (
        ("", f"{PASSWORD}-manage"),
        ("the-viewer", f"{PASSWORD}-manage"),
        ("the-viewer", PASSWORD),
        ("nobody", PASSWORD),
        ("password", PASSWORD),
    ):
        assert logged_in(service, name, password).path == "/admin/login", (name, password)
    everything = logged_in(service, "", PASSWORD)
    everything.get("/admin/invitations")
    assert everything.status == 200


def test_a_researcher_who_is_removed_is_out_at_once(service: StudyService) -> None:
    gone, stays = (logged_in(service, f"the-{role}er", f"{PASSWORD}-{role}") for role in ("view", "review"))
    service.researchers.remove_researcher("the-viewer")
    assert gone.get("/admin/raters") == "/admin/login"
    assert stays.get("/admin/raters") == "/admin/raters"
    assert logged_in(service, "the-viewer", f"{PASSWORD}-view").path == "/admin/login"
    assert service.researchers.named() == {"the-manageer": "manage", "the-reviewer": "review"}
    for name in ("", "the-viewer", "x"):
        with pytest.raises(InputError, match="no researcher"):
            service.researchers.remove_researcher(name)
    service.researchers.set_password(f"{PASSWORD}-2", "the-reviewer", "view")
    assert stays.get("/admin/raters") == "/admin/login"
    service.researchers.set_password(f"{PASSWORD}-3")
    assert logged_in(service, "", PASSWORD).path == "/admin/login"


@pytest.mark.parametrize("name", ["Ann", "a b", "a:b", "-a", "a" * 33, "a.b", "ä", "rule", "researcher"])
def test_names_are_plain(service: StudyService, name: str) -> None:
    with pytest.raises(InputError, match="is not a name"):
        service.researchers.set_password(PASSWORD, name)


def test_no_export_has_the_names_of_researchers(service: StudyService) -> None:
    (rater,) = (row.rater for row in service.researchers.raters())
    service.researchers.acting("the-reviewer").review_rater(rater, "excluded", "bad")
    (row,) = service.researchers.corpus().raters.to_dicts()
    assert row["excluded_by"] == "researcher"
    (shown,) = (row.decided for row in service.researchers.raters())
    assert shown.startswith("decided by the-reviewer, ")
