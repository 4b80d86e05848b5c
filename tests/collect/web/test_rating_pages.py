"""Items one by one: saved when the next page comes, changed until handed in, counted once however often sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.web.studies import Visitor, study_service
from vantage.collect.service import StudyService

ITEMS = [{"post": f"post {n}", "reply": f"reply {n}"} for n in range(1, 4)]


@pytest.fixture
def service(tmp_path: Path) -> StudyService:
    return study_service(tmp_path, items=ITEMS)


def values(service: StudyService) -> list[float]:
    return service.researchers.corpus().judgments.sort("item")["value"].to_list()


def test_back_and_change_until_handed_in(service: StudyService) -> None:
    ann = Visitor(service)
    ann.begin()
    assert ann.answer("0") == "/item/2"
    assert ann.answer("0") == "/item/3"
    ann.get("/item/1")
    assert 'value="0" id="a0" required checked' in ann.text
    assert ann.answer("1") == "/item/2"
    ann.get("/item/3")
    assert ann.answer("0") == "/review"
    ann.get("/item/2")
    assert "Review and submit" in ann.text
    assert ann.answer("1") == "/review"
    assert values(service) == [1, 1, 0]
    kept = Visitor(service)
    kept.client.cookies = ann.client.cookies
    kept.get("/item/3")
    ann.get("/review")
    ann.send("/review")
    kept.answer("1", position=3)
    assert kept.status == 409
    assert "can no longer be changed" in kept.text
    assert values(service) == [1, 1, 0]


def test_later_pages_and_other_numbers_lead_back(service: StudyService) -> None:
    ann = Visitor(service)
    ann.begin()
    for path in ("/item/2", "/item/99", "/item/0", "/review"):
        assert ann.get(path) == "/item/1"
    ann.get("/item/-1")
    assert ann.status == 404


def test_a_double_click_counts_once(service: StudyService) -> None:
    ann = Visitor(service)
    ann.begin()
    token = ann.form_token
    for _ in range(3):
        assert ann.send("/item/1", {"a0": "1"}, signed=token) == "/item/2"
    assert values(service) == [1]


def test_two_tabs_the_last_one_counts(service: StudyService) -> None:
    ann, tab = Visitor(service), Visitor(service)
    ann.begin()
    tab.client.cookies = ann.client.cookies
    tab.get("/item/1")
    ann.answer("0")
    tab.answer("1")
    assert tab.path == "/item/2"
    assert values(service) == [1]


def test_an_unanswered_page_is_shown_again_with_the_focus_on_what_is_missing(service: StudyService) -> None:
    ann = Visitor(service)
    ann.begin()
    ann.send("/item/1")
    assert ann.status == 422
    assert 'role="alert" tabindex="-1" autofocus' in ann.text
    assert 'href="#a0"' in ann.text
    assert 'aria-invalid="true" aria-describedby="e0"' in ann.text
    assert ann.answer() == "/item/2"


def test_what_was_written_survives_a_mistake(tmp_path: Path) -> None:
    ann = Visitor(study_service(tmp_path, "appraisals"))
    ann.begin()
    ann.send("/item/1", {"a0": "not_mentioned", "r0": "</textarea><script>alert(1)</script>", "a1": "9"})
    assert ann.status == 422
    assert "&lt;/textarea&gt;&lt;script&gt;" in ann.text
    assert "<script>alert" not in ann.text
    assert "and 37 more" in ann.text
    assert ann.answer("3") == "/item/2"


def test_a_form_from_another_page_is_shown_again_and_not_saved(service: StudyService) -> None:
    ann = Visitor(service)
    ann.begin()
    other = ann.form_token
    ann.answer()
    ann.send("/item/2", {"a0": "1"}, signed=other)
    assert ann.status == 422
    assert "nothing was saved" in ann.text
    assert 'value="1" checked' in ann.text
    assert values(service) == [1]


def test_the_time_on_a_page_is_taken_without_a_script(service: StudyService) -> None:
    ann = Visitor(service)
    ann.begin()
    ann.answer()
    (arm,) = service.researchers.overview().arms
    assert arm.seconds is not None
    assert 0 <= arm.seconds < 60


def test_answers_in_flight_are_taken_while_the_study_is_paused(service: StudyService) -> None:
    ann = Visitor(service)
    ann.begin()
    service.researchers.pause()
    ann.answer("1")
    assert values(service) == [1]


def test_items_are_shown_and_never_run(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)> {{ 7*7 }} </p>"
    service = study_service(
        tmp_path, "warmth-competence", items=[{"text": f"He said {hostile} to us", "target": hostile}], contact=hostile
    )
    ann = Visitor(service)
    ann.begin()
    assert "<img" not in ann.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in ann.text
    assert "{{ 7*7 }}" in ann.text
    assert "<mark>&lt;img" in ann.text


def test_other_scripts_and_directions(tmp_path: Path) -> None:
    text = "قال الوزير إن الخطة ناجحة."
    ann = Visitor(study_service(tmp_path, "warmth-competence", items=[{"text": text, "target": "الوزير"}]))
    ann.begin()
    assert "<mark>الوزير</mark>" in ann.text
    assert '<p class="said" dir="auto">' in ann.text


def test_attention_checks_stand_with_the_item(tmp_path: Path) -> None:
    ann = Visitor(study_service(tmp_path, items=ITEMS, attention={"per_batch": 1}))
    ann.begin()
    seen = 0
    while ann.path.startswith("/item/"):
        seen += "instruction" in ann.text
        ann.answer()
    assert seen == 1


def test_one_question_per_participant(tmp_path: Path) -> None:
    service = study_service(tmp_path, "warmth-competence", questions="one per participant", raters=1)
    asked = []
    for _ in range(3):
        visitor = Visitor(service)
        visitor.begin()
        assert visitor.text.count("<fieldset ") == 1
        visitor.answer("2")
        asked.append(service.researchers.corpus().judgments["question"].unique().to_list())
    assert set(asked[-1]) == {"trust", "sociability", "competence"}


def test_pages_stay_light(tmp_path: Path) -> None:
    from vantage.collect.web.site import static_files

    for name in ("appraisals", "stereotype-content", "warmth-competence"):
        ann = Visitor(study_service(tmp_path / name, name))
        ann.begin()
        assert ann.path == "/item/1"
        sent = [len(file.packed) for file_name, file in static_files().items() if file_name in ann.text]
        assert len(sent) == 4
        assert len(ann.text.encode()) + sum(sent) < 64_000
