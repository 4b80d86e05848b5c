"""What all pages share."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.collect.web.studies import study_service
from vantage.collect.web.site import Site, answer_text
from vantage.collect.web.visit import Visit
from vantage.instruments import Instrument, bundled


@pytest.mark.parametrize("name", bundled())
def test_the_guide_shows_every_worked_example_with_its_reasons(tmp_path: Path, name: str) -> None:
    from markupsafe import escape

    instrument = Instrument.load(name)
    site = Site(study_service(tmp_path, name))
    guide = site.guide(instrument, ("",), tuple(q.id for q in instrument.questions))
    assert guide.count('class="card"') == len(instrument.examples)
    for example in instrument.examples:
        for answer in example.answers.values():
            assert escape(answer.reason) in guide


def test_the_guide_keeps_to_the_conditions_and_questions_of_the_study(tmp_path: Path) -> None:
    site = Site(study_service(tmp_path, "sarcasm", conditions={"between": ["static"]}))
    guide = partial(site.guide, Instrument.load("sarcasm"))
    assert "Ravi" not in guide(("static",), ("sarcasm",))
    assert "Ravi" in guide(("context",), ("sarcasm",))
    assert "Worked examples" not in guide(("static",), ())


def test_answers_are_worded_as_on_the_page() -> None:
    assert answer_text(Instrument.load("sarcasm").question("sarcasm"), 1) == "yes"
    assert answer_text(Instrument.load("sarcasm").question("sarcasm"), "ambiguous").startswith("ambiguous")
    assert answer_text(Instrument.load("rationale-quality").question("relevance"), 4) == "4"


@pytest.mark.parametrize(
    ("recruitment", "origins"),
    [
        ({}, ()),
        ({"via": "prolific", "completion_code": "C1"}, ("https://app.prolific.com",)),
        ({"completion_url": "https://panel.example/done?c={code}"}, ("https://panel.example",)),
    ],
)
def test_where_participants_may_be_sent(tmp_path: Path, recruitment: dict[str, str], origins: tuple[str, ...]) -> None:
    assert Site(study_service(tmp_path, recruitment=recruitment)).redirects == origins


def test_forged_cookies_are_not_believed(tmp_path: Path) -> None:
    from starlette.responses import Response

    from tests.collect.web.test_signing import request

    service = study_service(tmp_path)
    site = Site(service)
    ann = service.participants.enter({})
    response = Response()
    site.signer.write_cookie(response, request(), "vantage", [ann.id], max_age=60)
    cookie = response.headers["set-cookie"].split(";")[0].partition("=")[2]
    cookies = [request(f"vantage={text}") for text in ("", ann.id, f"x{cookie}", cookie)]
    assert [Visit(site, one).known_participant() for one in cookies] == [None, None, None, ann]
