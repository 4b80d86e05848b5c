"""The researcher's dashboard: behind a password, under pseudonyms, and harmless to look at."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from tests.collect.web.studies import PASSWORD, Visitor, study_service
from vantage.collect.service import StudyService

ITEMS = [{"post": f"post {n}", "reply": f"reply {n}"} for n in range(1, 4)]
PAGES = ["/admin", "/admin/raters", "/admin/items", "/admin/item?item=item/1", "/admin/invitations", "/admin/download"]


@pytest.fixture
def service(tmp_path: Path) -> StudyService:
    service = study_service(tmp_path, items=ITEMS, recruitment={"via": "invitation"})
    service.researchers.set_password(PASSWORD)
    for number, invitation in enumerate(service.researchers.invite(2, "first <wave>")):
        visitor = Visitor(service)
        visitor.get(f"/?invitation={invitation.token}")
        visitor.send("/consent", {"agreed": "yes"})
        visitor.send("/guidelines")
        for value in ("1", "0", str(number)):
            visitor.answer(value)
        visitor.send("/review")
    return service


def test_strangers_see_the_log_in_only(service: StudyService) -> None:
    stranger = Visitor(service)
    for path in PAGES:
        assert stranger.get(path) == "/admin/login"
        assert "post 1" not in stranger.text


def test_every_page_of_the_dashboard(service: StudyService) -> None:
    boss = Visitor(service)
    assert boss.log_in() == "/admin"
    assert "6 of 9" in boss.text
    assert "alpha" in boss.text
    for chart in ("Pages answered over time", "How far people came"):
        assert f'aria-label="{chart}"' in boss.text
    assert re.search(r"<title>[0-9-]+ [0-9:]+: 6</title>", boss.text)
    assert re.search(r'finished</th><td><svg[^>]*><rect width="100.0" height="6"/>.*?<td class="n">2</td>', boss.text)
    boss.get("/admin/raters")
    first, second = (row.rater for row in service.researchers.raters())
    assert first in boss.text
    assert second in boss.text
    boss.get("/admin/items?find=item/1")
    assert "item/1" in boss.text
    assert "item/2" not in boss.text
    boss.get("/admin/item?item=item/3")
    assert "2 raters" in boss.text
    assert '<progress value="1" max="1" aria-label="no">' in boss.text
    boss.get("/admin/item?item=nowhere")
    assert boss.status == 404
    boss.get("/admin/invitations")
    assert "http://study.example/?invitation=" in boss.text
    assert "first &lt;wave&gt;" in boss.text
    assert "This is a preview" not in boss.text


def test_verdicts(service: StudyService) -> None:
    boss = Visitor(service)
    boss.log_in()
    boss.get("/admin/raters")
    rater = service.researchers.raters()[0].rater
    assert boss.send("/admin/raters", {"rater": rater, "verdict": "excluded", "note": "too <fast>"}) == "/admin/raters"
    assert "too &lt;fast&gt;" in boss.text
    assert {row.rater: row.verdict for row in service.researchers.raters()}[rater] == "excluded"
    boss.send("/admin/raters", {"rater": rater, "verdict": "pending"})
    assert {row.rater: row.verdict for row in service.researchers.raters()}[rater] == "pending"
    boss.get("/admin/raters?sort=seconds")
    boss.send("/admin/raters", {"rater": rater, "verdict": "hanged"})
    assert boss.status == 400
    boss.get("/admin/raters")
    boss.send("/admin/raters", {"rater": "nobody", "verdict": "approved"})
    assert boss.status == 404


def test_pause_resume_invite_download_and_log_out(service: StudyService) -> None:
    boss = Visitor(service)
    boss.log_in()
    boss.send("/admin/pause", {"paused": "yes"})
    assert service.database.paused
    assert "The study is paused" in boss.text
    boss.send("/admin/pause", {"paused": "no"})
    assert not service.researchers.overview().paused
    boss.get("/admin/invitations")
    boss.send("/admin/invitations", {"count": "3", "note": "second"})
    assert len(service.researchers.invitations()) == 5
    boss.send("/admin/invitations", {"count": "many"})
    assert boss.status == 400
    found = boss.client.get("/admin/download")
    assert found.headers["content-type"] == "application/zip"
    assert any(name.endswith("judgments.parquet") for name in zipfile.ZipFile(io.BytesIO(found.content)).namelist())
    boss.get("/admin")
    assert boss.send("/admin/logout") == "/admin/login"
    assert boss.get("/admin") == "/admin/login"


def test_a_wrong_password_and_then_too_many(service: StudyService, caplog: pytest.LogCaptureFixture) -> None:
    boss = Visitor(service)
    boss.get("/admin/login")
    for _ in range(5):
        boss.send("/admin/login", {"password": "wrong"})
        assert boss.status == 403
    boss.send("/admin/login", {"password": PASSWORD})
    assert boss.status == 429
    assert "Try again in" in boss.text
    assert len(caplog.messages) == 6
    assert PASSWORD not in caplog.text
    assert "wrong\n" not in caplog.text


def test_forms_of_the_dashboard_need_session_and_token(service: StudyService) -> None:
    boss, eve = Visitor(service), Visitor(service)
    boss.log_in()
    eve.send("/admin/pause", {"paused": "yes"}, signed=boss.form_token)
    assert eve.path == "/admin/login"
    boss.send("/admin/pause", {"paused": "yes"}, signed="forged")
    assert boss.status == 403
    boss.get("/admin/login")
    boss.send("/admin/login", {"password": PASSWORD}, signed="forged")
    assert boss.status == 403
    assert not service.database.paused


def test_a_participant_is_no_researcher(service: StudyService) -> None:
    (invitation,) = service.researchers.invite(1)
    ann = Visitor(service)
    ann.get(f"/?invitation={invitation.token}")
    ann.send("/consent", {"agreed": "yes"})
    cookie = ann.cookie("vantage")
    assert cookie
    ann.client.cookies.set("vantage-admin", cookie)
    assert ann.get("/admin") == "/admin/login"


def test_a_new_password_ends_all_sessions(service: StudyService) -> None:
    boss = Visitor(service)
    boss.log_in()
    service.researchers.set_password("another horse")
    assert boss.get("/admin") == "/admin/login"


def test_without_a_password_nobody_gets_in(tmp_path: Path) -> None:
    boss = Visitor(study_service(tmp_path))
    boss.get("/admin/login")
    assert "vantage collect password" in boss.text
    boss.send("/admin/login", {"password": ""}, signed="x")
    assert boss.get("/admin") == "/admin/login"


@pytest.mark.parametrize("via", ["link", "prolific", "mturk"])
def test_the_links_of_each_way_to_recruit(tmp_path: Path, via: str) -> None:
    service = study_service(tmp_path, recruitment={"via": via, "completion_code": "C1"})
    service.researchers.set_password(PASSWORD)
    boss = Visitor(service, prefix="/study")
    boss.get("/study/admin/login")
    boss.send("/study/admin/login", {"password": PASSWORD})
    boss.get("/study/admin/invitations")
    assert "http://study.example/study/" in boss.text
    if via == "prolific":
        assert "?PROLIFIC_PID=&#123;&#123;%PROLIFIC_PID%&#125;&#125;&amp;STUDY_ID=" in boss.text
