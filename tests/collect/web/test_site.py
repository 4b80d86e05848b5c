"""What all pages share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.web.studies import desk
from vantage.collect.web.site import Entered, Site, worded
from vantage.instruments import Instrument, bundled


@pytest.mark.parametrize("name", bundled())
def test_the_guide_shows_every_worked_example_with_its_reasons(tmp_path: Path, name: str) -> None:
    from markupsafe import escape

    instrument = Instrument.load(name)
    site = Site(desk(tmp_path, name))
    guide = site.guide(("",), tuple(q.id for q in instrument.questions))
    assert guide.count('class="card"') == len(instrument.examples)
    for example in instrument.examples:
        for answer in example.answers.values():
            assert escape(answer.reason) in guide


def test_the_guide_keeps_to_the_conditions_and_questions_of_the_study(tmp_path: Path) -> None:
    site = Site(desk(tmp_path, "sarcasm", conditions={"between": ["static"]}))
    assert "Ravi" not in site.guide(("static",), ("sarcasm",))
    assert "Ravi" in site.guide(("context",), ("sarcasm",))
    assert "Worked examples" not in site.guide(("static",), ())


def test_answers_are_worded_as_on_the_page() -> None:
    assert worded(Instrument.load("sarcasm").question("sarcasm"), 1) == "yes"
    assert worded(Instrument.load("sarcasm").question("sarcasm"), "ambiguous").startswith("ambiguous")
    assert worded(Instrument.load("rationale-quality").question("relevance"), 4) == "4"


@pytest.mark.parametrize(
    ("recruitment", "origins"),
    [
        ({}, ()),
        ({"via": "prolific", "completion_code": "C1"}, ("https://app.prolific.com",)),
        ({"completion_url": "https://panel.example/done?c={code}"}, ("https://panel.example",)),
    ],
)
def test_where_participants_may_be_sent(tmp_path: Path, recruitment: dict[str, str], origins: tuple[str, ...]) -> None:
    assert Site(desk(tmp_path, recruitment=recruitment)).redirects == origins


def test_a_cookie_is_checked_once_and_forged_ones_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.responses import Response

    from tests.collect.web.test_seals import request

    opened = desk(tmp_path)
    site = Site(opened)
    ann = opened.arrive({})
    response = Response()
    site.seals.write(response, request(), "vantage", [ann.id], max_age=60)
    cookie = response.headers["set-cookie"].split(";")[0].removeprefix("vantage=")
    assert site.known("") is None
    assert site.known(ann.id) is None
    assert site.known(f"x{cookie}") is None
    assert site.known(cookie) == ann
    monkeypatch.setattr(opened, "participant", lambda _: pytest.fail("asked again"))
    assert site.known(cookie) == ann
    monkeypatch.setattr("vantage.collect.web.site.MOST_PEOPLE", 1)
    monkeypatch.setattr(opened, "participant", lambda _: ann)
    site.seals.write(response, request(), "vantage", [ann.id, "again"], max_age=60)
    site.known(response.headers.getlist("set-cookie")[-1].split(";")[0].removeprefix("vantage="))
    assert len(site._people) == 1


def test_the_oldest_entries_are_forgotten() -> None:
    entered = Entered(most=2)
    for name in "abc":
        entered.put(name, name.upper())
    assert [entered.get(name) for name in "abc"] == [None, "B", "C"]
