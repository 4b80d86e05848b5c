"""Webhooks on the collect server: signed, taken once, in any order; and the dashboard's page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.collect.web.studies import PASSWORD, Visitor
from tests.recruit.fake import serving
from tests.recruit.platform import Event, PlantedFault
from tests.recruit.world import World, world
from vantage.collect.web import create_app
from vantage.recruit import pages

REASON = "Both attention checks were answered wrongly, although they name the answer to choose; see the guidelines."


@pytest.fixture
def served(here: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the hook on a real server."""
    monkeypatch.setenv("PROLIFIC_TOKEN", here.fake.token)
    monkeypatch.setenv("PROLIFIC_URL", here.address)
    monkeypatch.setenv("PROLIFIC_WEBHOOK_SECRET", here.fake.secret)
    here.opened()
    with serving(create_app(here.service, pages=pages.PAGES, hooks=pages.HOOKS)) as address:
        yield f"{address}/hooks/prolific"


def test_events_free_seats_whatever_their_order_and_number(here: World, served: str) -> None:
    free = here.free()
    first, _ = here.arrive("ann")
    second, _ = here.arrive("bob")
    here.fake.take_back(first)
    here.fake.time_out(second)
    events = [*here.fake.outbox]
    here.fake.outbox.clear()
    assert len(events) == 4  # started and gone, twice
    late = [*reversed(events), *events]
    assert here.fake.deliver(served, late) == [200] * 8
    assert here.free() == free
    calls = len(here.fake.calls)
    assert here.fake.deliver(served, events) == [200] * 4
    assert len(here.fake.calls) == calls, "an event that was taken is not looked up again"


def test_forged_old_and_foreign_events_change_nothing(here: World, served: str) -> None:
    here.arrive("ann")
    event = here.fake.outbox[-1]
    free = here.free()
    assert here.fake.deliver(served, [event], secret="another") == [401]  # noqa: S106
    old = Event("old", "1000", event.body)
    assert here.fake.deliver(served, [old]) == [401]
    changed = Event(event.id, event.at, event.body.replace(b"ACTIVE", b"RETURNED"))
    headers = {"X-Event-ID": event.id, "X-Prolific-Request-Timestamp": event.at}
    headers["X-Prolific-Request-Signature"] = here.fake.sign(event.body, event.at)
    with TestClient(create_app(here.service, hooks=pages.HOOKS)) as client:
        assert client.post("/hooks/prolific", content=changed.body, headers=headers).status_code == 401
    foreign = Event("x", event.at, b'{"event_type": "submission.status.change", "resource_id": "nobody"}')
    assert here.fake.deliver(served, [foreign]) == [404]
    other = {**next(iter(here.fake.submissions.values())), "id": "other", "study_id": "another", "status": "RETURNED"}
    here.fake.submissions["other"] = other
    known = Event("y", event.at, b'{"event_type": "submission.status.change", "resource_id": "other"}')
    assert here.fake.deliver(served, [known]) == [404]
    assert here.fake.deliver(served, [Event("z", event.at, b"[]")]) == [401]
    assert here.free() == free


def test_what_cannot_be_looked_up_is_asked_for_again(here: World, served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.recruit.prolific.ATTEMPTS", 1)
    submission, _ = here.arrive("ann")
    free = here.free()
    here.fake.take_back(submission)
    event = here.fake.outbox[-1]
    here.fake.faults.append(PlantedFault("/submissions/", 500))
    assert here.fake.deliver(served, [event]) == [503]
    assert here.free() == free
    assert here.fake.deliver(served, [event]) == [200]
    assert here.free() == free + 6


def test_without_a_secret_no_event_is_taken(here: World) -> None:
    with TestClient(create_app(here.service, hooks=pages.HOOKS)) as client:
        assert client.post("/hooks/prolific", content=b"{}").status_code == 503


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
