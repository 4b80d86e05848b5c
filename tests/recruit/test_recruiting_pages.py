"""Recruiting on the collect server: submissions looked at in the background, and the dashboard's page."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.collect.web.studies import PASSWORD, Visitor
from tests.recruit.platform import PlantedFault
from tests.recruit.world import World, world
from vantage.collect.background import Background
from vantage.collect.web import create_app
from vantage.recruit import pages

REASON = "Both attention checks were answered wrongly, although they name the answer to choose; see the guidelines."


def test_seats_of_those_who_left_are_freed_in_the_background(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ((seconds, poll),) = pages.EVERY
    assert seconds <= 300
    poll(here.service)  # nobody is asked without a token
    monkeypatch.setenv("PROLIFIC_TOKEN", here.fake.token)
    monkeypatch.setenv("PROLIFIC_URL", here.address)
    poll(here.service)  # nor before the study is published
    assert here.fake.calls == []
    here.opened()
    free = here.free()
    first, _ = here.arrive("ann")
    second, _ = here.arrive("bob")
    assert here.free() == free - 12
    here.fake.take_back(first)
    here.fake.time_out(second)
    background = Background(here.service.database, [(seconds, partial(poll, here.service))])
    background.once()
    assert here.free() == free
    calls = len(here.fake.calls)
    background.once()
    Background(here.service.database, [(seconds, partial(poll, here.service))]).once()  # of another process
    assert len(here.fake.calls) == calls


def test_a_platform_that_does_not_answer_stops_nothing(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROLIFIC_TOKEN", here.fake.token)
    monkeypatch.setenv("PROLIFIC_URL", here.address)
    monkeypatch.setattr("vantage.recruit.prolific.ATTEMPTS", 1)
    here.opened()
    here.fake.faults.append(PlantedFault("/submissions/", 500))
    pages.EVERY[0][1](here.service)


class Dashboard(Visitor):
    """A researcher's browser that knows the page on recruiting."""

    def __init__(self, here: World) -> None:
        super().__init__(here.service)
        here.service.researchers.set_password(PASSWORD)
        self.client = TestClient(
            create_app(here.service, pages=pages.PAGES), base_url="http://study.example", follow_redirects=True
        )
        self.log_in()

    def act(self, **form: str) -> int:
        """Presses a button of the page."""
        self.get("/admin/recruiting")
        self.send("/admin/recruiting", form)
        return self.status

    def confirm(self, **form: str) -> int:
        """Presses a button of the page, and then the one below the list that it shows."""
        assert self.act(**form) == 200, self.text
        digest = re.search(r'name="confirmed" value="([0-9a-f]{16})"', self.text)
        assert digest, self.text
        self.send("/admin/recruiting", {**form, "confirmed": digest[1]})
        return self.status


def test_the_dashboard_does_what_the_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with world(tmp_path, attention={"per_batch": 2}) as here:
        browser = Dashboard(here)
        browser.get("/admin/recruiting")
        assert "There is no token for Prolific" in browser.text
        monkeypatch.setenv("PROLIFIC_TOKEN", here.fake.token)
        monkeypatch.setenv("PROLIFIC_URL", here.address)
        assert browser.act(act="create") == 400
        assert here.fake.studies == {}
        assert browser.act(act="create", confirmed="yes") == 200
        assert browser.act(act="publish", confirmed="yes") == 409
        assert "4 places at 1.50 each" in browser.text
        assert browser.confirm(act="publish") == 200
        assert "active" in browser.text
        good, bad = here.finish("ann"), here.finish("bob", well=False)
        browser.get("/admin/recruiting")
        assert "failed 2 of 2 attention checks" in browser.text
        assert browser.act(act="approve") == 200
        assert "Total: 1.50 GBP" in browser.text
        assert here.fake.approvals == {}
        assert browser.confirm(act="approve") == 200
        assert here.fake.approvals == {good: 1}
        assert browser.act(act="bonus", submission=good, amount="x", name="n") == 409
        assert browser.confirm(act="bonus", submission=good, amount="0.50", name="n") == 200
        assert here.fake.paid == [(good, 50)]
        browser.get("/admin/recruiting")
        for chart in ("Submissions by status", "Money", "Paid from here over time"):
            assert f'aria-label="{chart}"' in browser.text
        assert re.search(r'bonuses</th>.*<td class="n">0.50</td>', browser.text)
        assert re.search(r"<title>[0-9: -]+: 2.00</title>", browser.text)
        assert browser.act(act="reject", submission=bad, category="FAILED_CHECK", reason="no") == 409
        assert browser.confirm(act="reject", submission=bad, category="FAILED_CHECK", reason=REASON) == 200
        assert here.fake.submissions[bad]["status"] == "REJECTED"
        assert browser.act(act="stop", confirmed="yes") == 200
        assert "completed" in browser.text


def test_the_page_is_for_researchers_alone(here: World) -> None:
    visitor = Visitor(here.service)
    visitor.client = TestClient(create_app(here.service, pages=pages.PAGES), base_url="http://study.example")
    visitor.client.follow_redirects = True
    assert visitor.get("/admin/recruiting") == "/admin/login"
    assert visitor.send("/admin/recruiting", {"act": "publish", "confirmed": "yes"}) == "/admin/login"
    assert here.fake.calls == []
