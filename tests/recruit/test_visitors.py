"""Visitors from Prolific: an id that anybody can write is no proof, and whoever was kept out gets a new link."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.collect.web.studies import Visitor
from tests.recruit.platform import PlantedFault
from tests.recruit.world import World
from vantage.collect.views import Refused
from vantage.collect.web import create_app
from vantage.errors import InputError
from vantage.recruit.people import people_by_id
from vantage.recruit.visitors import new_link, verify


@pytest.fixture
def there(here: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A published study on a server that can ask Prolific."""
    here.opened()
    monkeypatch.setenv("PROLIFIC_TOKEN", here.fake.token)
    monkeypatch.setenv("PROLIFIC_URL", here.address)
    return here


def test_only_those_enter_whom_prolific_has_sent(there: World) -> None:
    started = there.fake.start(there.study, "ann")
    assert started is not None
    right = {"PROLIFIC_PID": "ann", "SESSION_ID": started[0], "STUDY_ID": there.study}
    verify(there.service, right)
    wrong = [{**right, "PROLIFIC_PID": "eve"}, {**right, "SESSION_ID": "x"}, {"PROLIFIC_PID": "ann"}]
    for params in wrong:
        with pytest.raises(Refused, match="does not identify you"):
            verify(there.service, params)
    there.fake.take_back(started[0])
    with pytest.raises(Refused):
        verify(there.service, right)
    verify(there.service, {"invitation": "x"})
    there.fake.faults.append(PlantedFault("/submissions/", 503))
    verify(there.service, {**right, "SESSION_ID": "x"})  # Prolific is down: they are listed later


def test_the_page_refuses_a_stranger_and_stores_nothing(there: World) -> None:
    visitor = Visitor(there.service)
    visitor.client = TestClient(create_app(there.service, verify=verify), base_url="http://study.example")
    visitor.client.follow_redirects = True
    visitor.get("/?PROLIFIC_PID=eve&SESSION_ID=x&STUDY_ID=y")
    visitor.send("/consent", {"agreed": "yes"})
    assert visitor.status == 403
    assert people_by_id(there.service) == {}


def test_a_new_link_by_platform_id(there: World) -> None:
    submission, person = there.arrive("ann")
    assert submission
    link = new_link(there.service, "ann", "https://study.example/")
    visitor = Visitor(there.service, base="https://study.example")
    visitor.get(link.removeprefix("https://study.example"))
    assert visitor.path.startswith("/item/")
    assert there.service.participants.find(person.id) == person
    with pytest.raises(InputError, match="no participant with the id 'eve'"):
        new_link(there.service, "eve", "https://study.example")
