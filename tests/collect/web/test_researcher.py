"""The researcher's dashboard: behind a password, under pseudonyms, and harmless to look at."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.collect.web.studies import PASSWORD, Visitor, desk
from vantage.collect.desk import Desk

ITEMS = [{"post": f"post {n}", "reply": f"reply {n}"} for n in range(1, 4)]
PAGES = ["/desk", "/desk/raters", "/desk/items", "/desk/item?item=item/1", "/desk/invitations", "/desk/download"]


@pytest.fixture
def opened(tmp_path: Path) -> Desk:
    opened = desk(tmp_path, items=ITEMS, recruitment={"via": "invitation"})
    opened.set_password(PASSWORD)
    for number, invitation in enumerate(opened.invite(2, "first <wave>")):
        visitor = Visitor(opened)
        visitor.get(f"/?invitation={invitation.token}")
        visitor.send("/consent", {"agreed": "yes"})
        visitor.send("/guidelines")
        for value in ("1", "0", str(number)):
            visitor.answer(value)
        visitor.send("/review")
    return opened


def test_strangers_see_the_log_in_only(opened: Desk) -> None:
    stranger = Visitor(opened)
    for path in PAGES:
        assert stranger.get(path) == "/desk/login"
        assert "post 1" not in stranger.text


def test_every_page_of_the_dashboard(opened: Desk) -> None:
    boss = Visitor(opened)
    assert boss.log_in() == "/desk"
    assert "6 of 9" in boss.text
    assert "alpha" in boss.text
    boss.get("/desk/raters")
    first, second = (row.rater for row in opened.raters())
    assert first in boss.text
    assert second in boss.text
    boss.get("/desk/items?find=item/1")
    assert "item/1" in boss.text
    assert "item/2" not in boss.text
    boss.get("/desk/item?item=item/3")
    assert "2 raters" in boss.text
    assert '<progress value="1" max="1" aria-label="no">' in boss.text
    boss.get("/desk/item?item=nowhere")
    assert boss.status == 404
    boss.get("/desk/invitations")
    assert "http://study.example/?invitation=" in boss.text
    assert "first &lt;wave&gt;" in boss.text


def test_verdicts(opened: Desk) -> None:
    boss = Visitor(opened)
    boss.log_in()
    boss.get("/desk/raters")
    rater = opened.raters()[0].rater
    assert boss.send("/desk/raters", {"rater": rater, "verdict": "excluded", "note": "too <fast>"}) == "/desk/raters"
    assert "too &lt;fast&gt;" in boss.text
    assert {row.rater: row.verdict for row in opened.raters()}[rater] == "excluded"
    boss.send("/desk/raters", {"rater": rater, "verdict": "pending"})
    assert {row.rater: row.verdict for row in opened.raters()}[rater] == "pending"
    boss.get("/desk/raters?sort=seconds")
    boss.send("/desk/raters", {"rater": rater, "verdict": "hanged"})
    assert boss.status == 400
    boss.get("/desk/raters")
    boss.send("/desk/raters", {"rater": "nobody", "verdict": "approved"})
    assert boss.status == 404


def test_pause_resume_invite_download_and_log_out(opened: Desk) -> None:
    boss = Visitor(opened)
    boss.log_in()
    boss.send("/desk/pause", {"paused": "yes"})
    assert opened.paused
    assert "The study is paused" in boss.text
    boss.send("/desk/pause", {"paused": "no"})
    assert not opened.overview().paused
    boss.get("/desk/invitations")
    boss.send("/desk/invitations", {"count": "3", "note": "second"})
    assert len(opened.invitations()) == 5
    boss.send("/desk/invitations", {"count": "many"})
    assert boss.status == 400
    found = boss.client.get("/desk/download")
    assert found.headers["content-type"] == "application/zip"
    assert any(name.endswith("judgments.parquet") for name in zipfile.ZipFile(io.BytesIO(found.content)).namelist())
    boss.get("/desk")
    assert boss.send("/desk/logout") == "/desk/login"
    assert boss.get("/desk") == "/desk/login"


def test_a_wrong_password_and_then_too_many(opened: Desk, caplog: pytest.LogCaptureFixture) -> None:
    boss = Visitor(opened)
    boss.get("/desk/login")
    for _ in range(5):
        boss.send("/desk/login", {"password": "wrong"})
        assert boss.status == 403
    boss.send("/desk/login", {"password": PASSWORD})
    assert boss.status == 429
    assert "Try again in" in boss.text
    assert len(caplog.messages) == 6
    assert PASSWORD not in caplog.text
    assert "wrong\n" not in caplog.text


def test_forms_of_the_dashboard_need_session_and_seal(opened: Desk) -> None:
    boss, eve = Visitor(opened), Visitor(opened)
    boss.log_in()
    eve.send("/desk/pause", {"paused": "yes"}, seal=boss.seal)
    assert eve.path == "/desk/login"
    boss.send("/desk/pause", {"paused": "yes"}, seal="forged")
    assert boss.status == 403
    boss.get("/desk/login")
    boss.send("/desk/login", {"password": PASSWORD}, seal="forged")
    assert boss.status == 403
    assert not opened.paused


def test_a_participant_is_no_researcher(opened: Desk) -> None:
    (invitation,) = opened.invite(1)
    ann = Visitor(opened)
    ann.get(f"/?invitation={invitation.token}")
    cookie = ann.client.cookies["vantage"]
    ann.client.cookies.set("vantage-desk", cookie)
    assert ann.get("/desk") == "/desk/login"


def test_a_new_password_ends_all_sessions(opened: Desk) -> None:
    boss = Visitor(opened)
    boss.log_in()
    opened.set_password("another horse")
    assert boss.get("/desk") == "/desk/login"


def test_without_a_password_nobody_gets_in(tmp_path: Path) -> None:
    boss = Visitor(desk(tmp_path))
    boss.get("/desk/login")
    assert "vantage collect password" in boss.text
    boss.send("/desk/login", {"password": ""}, seal="x")
    assert boss.get("/desk") == "/desk/login"


@pytest.mark.parametrize("via", ["link", "prolific", "mturk"])
def test_the_links_of_each_way_to_recruit(tmp_path: Path, via: str) -> None:
    opened = desk(tmp_path, recruitment={"via": via, "completion_code": "C1"})
    opened.set_password(PASSWORD)
    boss = Visitor(opened, prefix="/study")
    boss.get("/study/desk/login")
    boss.send("/study/desk/login", {"password": PASSWORD})
    boss.get("/study/desk/invitations")
    assert "http://study.example/study/" in boss.text
    if via == "prolific":
        assert "?PROLIFIC_PID=&#123;&#123;%PROLIFIC_PID%&#125;&#125;&amp;STUDY_ID=" in boss.text
