"""What strangers may try: forged requests, other people's ids and cookies, headers, paths, bodies and passwords."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.collect.web.studies import PASSWORD, Visitor, study_service
from vantage.collect.service import StudyService
from vantage.collect.web import create_app
from vantage.collect.web.throttle import Throttle

ITEMS = [{"post": f"post {n}", "reply": f"reply {n}"} for n in range(1, 5)]
PROLIFIC = {"via": "prolific", "completion_code": "CDONE", "screen_out_code": "CNO"}
LINK = "/?PROLIFIC_PID=5f1&STUDY_ID=s1&SESSION_ID=x1"


@pytest.fixture
def prolific(tmp_path: Path) -> StudyService:
    service = study_service(tmp_path, items=ITEMS, recruitment=PROLIFIC, contact="lab@study.example")
    service.researchers.set_password(PASSWORD)
    return service


def started(service: StudyService, link: str = LINK, answers: int = 1) -> Visitor:
    """Somebody from the platform who has answered some pages."""
    ann = Visitor(service)
    ann.get(link)
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/guidelines")
    for _ in range(answers):
        ann.answer()
    return ann


# A platform id is not a password.


def test_somebody_elses_platform_id_does_not_open_their_answers(prolific: StudyService) -> None:
    ann = started(prolific)
    for link in (LINK, "/?PROLIFIC_PID=5f1", "/?PROLIFIC_PID=5f1&SESSION_ID=x2", "/?PROLIFIC_PID=5f1&SESSION_ID=x1"):
        eve = Visitor(prolific)
        eve.get(link)
        assert eve.status == 403
        assert "Please continue where you started" in eve.text
        assert "lab@study.example" in eve.text
        assert eve.get("/item/1") != "/item/1"
        assert not eve.cookie("vantage")
    assert ann.get(LINK) == "/item/2", "the browser that started goes on"
    assert ann.get("/?PROLIFIC_PID=5f1&STUDY_ID=s1&SESSION_ID=x2") == "/item/2", "also in another session"
    assert prolific.researchers.platform_ids()["SESSION_ID"].to_list() == ["x1", "x2"]


def test_a_consent_page_that_was_opened_early_is_no_way_into_a_study_that_somebody_else_started(
    prolific: StudyService,
) -> None:
    eve = Visitor(prolific)
    eve.get(LINK)
    token = eve.form_token
    started(prolific)
    eve.send("/consent", {"agreed": "yes"}, signed=token)
    assert eve.status == 403
    assert eve.get("/item/1") != "/item/1"


def test_before_any_answer_the_same_session_may_change_browsers_and_another_may_not(prolific: StudyService) -> None:
    started(prolific, answers=0)
    again, other = Visitor(prolific), Visitor(prolific)
    other.get("/?PROLIFIC_PID=5f1&STUDY_ID=s1&SESSION_ID=stolen")
    assert other.status == 403
    assert again.get(LINK) == "/item/1"


def test_the_own_link_leads_back_from_any_browser_and_cannot_be_forged(prolific: StudyService) -> None:
    import html
    import re

    ann = started(prolific)
    ann.get("/guidelines")
    own = re.search(r'href="http://study.example(/\?continue=[^"]+)"', ann.text)
    assert own
    phone = Visitor(prolific)
    assert phone.get(html.unescape(own.group(1))) == "/item/2"
    cookie = ann.cookie("vantage")
    for forged in (f"{own.group(1)}x", f"/?continue={cookie}", "/?continue=", "/?continue=5f1"):
        eve = Visitor(prolific)
        eve.get(forged)
        assert eve.status in (403, 404)
        assert not eve.cookie("vantage")
    eve = Visitor(prolific)
    eve.client.cookies.set("vantage", own.group(1).partition("=")[2])
    assert eve.get("/item/1") != "/item/1", "a link's token is no cookie"


# Cookies and forms.


def test_cookies_of_another_study_are_worthless(tmp_path: Path, prolific: StudyService) -> None:
    other = study_service(tmp_path / "other", items=ITEMS, recruitment=PROLIFIC)
    other.researchers.set_password(PASSWORD)
    eve = started(other)
    eve.log_in()
    here = Visitor(prolific)
    for name, value in eve.client.cookies.items():
        here.client.cookies.set(name, value)
    here.get("/item/1")
    assert "post 1" not in here.text
    assert here.get("/admin") == "/admin/login"


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/admin/pause", {"paused": "yes"}),
        ("/admin/raters", {"rater": "p-x", "verdict": "excluded"}),
        ("/admin/invitations", {"count": "3"}),
        ("/admin/logout", {}),
        ("/withdraw", {}),
        ("/consent", {"agreed": "yes"}),
        ("/item/2", {"a0": "1"}),
        ("/review", {}),
        ("/more", {}),
    ],
)
def test_other_sites_cannot_send_forms_for_a_visitor(prolific: StudyService, path: str, form: dict[str, str]) -> None:
    """The cookies are there, as if the browser had sent them; the token is missing, or of another page or person."""
    ann = started(prolific)
    ann.log_in()
    stranger = started(prolific, "/?PROLIFIC_PID=eve")
    ann.get("/guidelines")
    before = prolific.researchers.overview()
    for token in ("", "x.y.z", stranger.form_token):
        found = ann.client.post(path, data={"form_token": token, **form}, headers={"origin": "https://evil.example"})
        assert found.status_code in (403, 422) or str(found.url).endswith(("/item/2", "/review")), found.status_code
    after = prolific.researchers.overview()
    assert (after.paused, after.answers, after.participants) == (before.paused, before.answers, before.participants)
    assert ann.get("/admin") == "/admin"


def test_cookies_are_not_sent_from_other_sites_and_pages_cannot_be_framed(prolific: StudyService) -> None:
    ann = started(prolific)
    found = ann.client.get(LINK, follow_redirects=False)
    for cookie in found.headers.get_list("set-cookie"):
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
    assert "frame-ancestors 'none'" in found.headers["content-security-policy"]


# Other people's pages, paths and headers.


def test_pages_of_others_cannot_be_reached_by_number(prolific: StudyService) -> None:
    ann, bob = started(prolific, answers=0), started(prolific, "/?PROLIFIC_PID=bob", answers=0)
    ann.get("/item/1")
    token = ann.form_token
    before = prolific.researchers.overview().answers
    assert bob.send("/item/1", {"a0": "1"}, signed=token)
    assert bob.status == 422
    # The page's number inside a token of one's own, changed by hand, breaks the signature.
    bob.get("/item/1")
    number = bob.form_token.split("~")[2]
    forged = bob.form_token.replace(number, f"1.{number.partition('.')[2]}")
    if forged != bob.form_token:
        bob.send("/item/1", {"a0": "1"}, signed=forged)
        assert bob.status == 422
    for path in ("/item/0", "/item/99", "/item/-1", "/item/1e9", "/item/999999999999999999999"):
        bob.get(path)
        assert bob.status in (200, 404)
        assert bob.path in ("/item/1", path)
    assert prolific.researchers.overview().answers == before


@pytest.mark.parametrize(
    "path",
    [
        "/static/../signing.py",
        "/static/..%2fsigning.py",
        "/static/%2e%2e/%2e%2e/private.py",
        "/static//etc/passwd",
        "/static/style.css%00.js",
        "/%2e%2e/admin",
        "//evil.example/",
        "/admin/../api/overview",
        "/api/items/%2e%2e%2fsecret",
        "/preview/../admin",
        "/admin%2fraters",
    ],
)
def test_paths_lead_nowhere_else(prolific: StudyService, path: str) -> None:
    found = Visitor(prolific).client.get(path, follow_redirects=False)
    assert found.status_code in (303, 401, 403, 404)
    assert "import" not in found.text
    location = found.headers.get("location", "")
    assert not location.startswith("//")
    assert "evil.example" not in location


@pytest.mark.parametrize("text", ["x\r\nSet-Cookie: vantage-admin=1", "x\nX: y", "%0d%0aSet-Cookie:%20a=b", "é\x00"])
def test_nothing_that_is_sent_becomes_a_header(prolific: StudyService, text: str) -> None:
    boss = Visitor(prolific)
    boss.log_in()
    boss.get("/admin/raters")
    form = {"form_token": boss.form_token, "rater": "p", "verdict": "approved", "sort": text, "start": text}
    answers = [
        boss.client.get("/", params={"PROLIFIC_PID": text, "continue": text}, follow_redirects=False),
        boss.client.post("/admin/raters", data=form, follow_redirects=False),
        boss.client.get("/admin/items", params={"find": text}),
        boss.client.get("/api/items", params={"find": text}),
    ]
    for found in answers:
        assert found.status_code < 500
        cookies = [cookie.partition("=")[0] for cookie in found.headers.get_list("set-cookie")]
        assert {cookie.rpartition("-")[0] for cookie in cookies} <= {"vantage-visitor"}
        assert "x" not in found.headers
        assert "\n" not in found.headers.get("location", "")


@pytest.mark.parametrize("host", ["evil.example", 'evil.example"><script>', "evil.example/x?"])
def test_a_forged_host_is_harmless(prolific: StudyService, host: str) -> None:
    ann = started(prolific)
    found = ann.client.get("/guidelines", headers={"host": host})
    assert found.status_code < 500
    assert "<script>" not in found.text
    assert "evil.example" not in found.headers.get("location", "")


def test_a_body_that_claims_to_be_something_else(prolific: StudyService) -> None:
    ann = started(prolific)
    for content, kind in (
        (b'{"agreed": "yes"}', "application/json"),
        (b"<x/>", "text/xml"),
        (b"a=" + b"%ff" * 10, "application/x-www-form-urlencoded"),
        (b"&".join(b"a=1" for _ in range(5000)), "application/x-www-form-urlencoded"),
    ):
        found = ann.client.post("/withdraw", content=content, headers={"content-type": kind})
        assert found.status_code in (400, 415)


# Passwords and sessions.


def client_of(service: StudyService, address: str) -> TestClient:
    return TestClient(create_app(service), base_url="http://study.example", client=(address, 1))


def guess(client: TestClient, password: str) -> int:
    """The status of a log-in through the JSON interface."""
    return client.post("/api/token", json={"password": password}).status_code


def test_guessing_with_several_workers_gets_no_more_tries_and_does_not_lock_the_researcher_out(
    prolific: StudyService,
) -> None:
    boss = Visitor(prolific)
    boss.log_in()
    workers = [prolific, *(StudyService(prolific.study) for _ in range(3))]
    clients = [client_of(service, "203.0.113.9") for service in workers]
    with ThreadPoolExecutor(4) as pool:  # a server has one event loop, so each thread has a server of its own
        rounds = pool.map(lambda client: [guess(client, f"guess-{n}") for n in range(10)], clients)
        found = [status for answers in rounds for status in answers]
    # Guesses that arrive together are all checked before the first of them is counted.
    assert found.count(403) <= 5 + 3
    assert found.count(429) >= 32
    assert guess(clients[0], PASSWORD) == 429
    # Behind the same address, the browser that logged in before still does.
    again = Visitor(workers[1])
    again.client = TestClient(
        create_app(workers[1]), base_url="http://study.example", client=("203.0.113.9", 1), cookies=boss.client.cookies
    )
    again.client.follow_redirects = True
    assert again.log_in() == "/admin"
    for service in workers[1:]:
        service.close()


def test_many_addresses_do_not_lock_out_a_browser_that_is_known(prolific: StudyService) -> None:
    boss = Visitor(prolific)
    boss.log_in()
    for number in range(200):
        Throttle(prolific.database.private).failed(f"10.0.0.{number}")
    assert guess(client_of(prolific, "198.51.100.1"), PASSWORD) == 429
    boss.send("/admin/logout")
    assert boss.log_in() == "/admin"


def test_logging_out_ends_the_session_on_the_server(prolific: StudyService) -> None:
    boss, thief = Visitor(prolific), Visitor(prolific)
    boss.log_in()
    thief.client.cookies.set("vantage-admin", boss.cookie("vantage-admin"))
    assert thief.get("/admin") == "/admin"
    boss.send("/admin/logout")
    assert thief.get("/admin") == "/admin/login"
    client = client_of(prolific, "203.0.113.1")
    token = client.post("/api/token", json={"password": PASSWORD}).json()["token"]
    headers = {"authorization": f"Bearer {token}"}
    assert client.get("/api/overview", headers=headers).status_code == 200
    assert client.post("/api/logout", headers=headers).json() == {"logged_out": True}
    assert client.get("/api/overview", headers=headers).status_code == 401


def test_tokens_of_one_kind_do_not_pass_as_another(prolific: StudyService) -> None:
    boss = Visitor(prolific)
    boss.log_in()
    boss.get("/admin/invitations")
    key = boss.text.partition("/preview/?key=")[2].partition('"')[0]
    client = client_of(prolific, "203.0.113.2")
    for text in (key, f"preview.{key}", boss.form_token, boss.cookie("vantage-admin")):
        assert client.get("/api/overview", headers={"authorization": f"Bearer {text}"}).status_code == 401
    found: Any = Visitor(prolific).client.get("/preview/", params={"key": boss.form_token})
    assert found.status_code == 403
