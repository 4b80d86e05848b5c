"""A participant's way through a study, without JavaScript, and everything that may go wrong on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from tests.collect.web.studies import QUIZ, TRAITS, Visitor, study_service
from vantage.collect.service import StudyService
from vantage.collect.tables import participants


@pytest.fixture
def service(tmp_path: Path) -> StudyService:
    return study_service(tmp_path, traits=TRAITS, quiz=QUIZ, contact="lab@study.example")


def test_the_whole_way(service: StudyService) -> None:
    ann = Visitor(service)
    ann.get("/")
    assert "Content warning" in ann.text
    assert "lab@study.example" in ann.text
    assert ann.send("/consent", {"agreed": "yes"}) == "/traits"
    assert ann.send("/traits", {"t0": "31", "t2": ["English", "العربية"], "t3": "<baker>"}) == "/guidelines"
    assert "Worked examples" in ann.text
    assert ann.send("/guidelines") == "/quiz"
    assert ann.send("/quiz", {"t0": "1", "t1": "0"}) == "/item/1"
    pages = len(service.study.instrument.examples)
    for position in range(1, pages + 1):
        assert ann.path == f"/item/{position}"
        ann.answer()
    assert ann.path == "/review"
    assert ann.send("/review") == "/end"
    assert "Thank you" in ann.text
    corpus = service.researchers.corpus()
    assert len(corpus.judgments) == pages
    assert corpus.raters["age"].to_list() == [31]
    assert corpus.raters["work"].to_list() == ["<baker>"]


def test_closing_the_tab_leads_back_to_the_same_place(service: StudyService) -> None:
    ann = Visitor(service)
    ann.get("/")
    ann.send("/consent", {"agreed": "yes"})
    assert ann.get("/") == "/traits"
    assert ann.get("/item/3") == "/traits"
    ann.send("/traits", {"t0": "31"})
    ann.send("/guidelines")
    assert ann.get("/consent") == "/quiz"
    assert ann.get("/guidelines") == "/guidelines"
    assert "I have read the guidelines" not in ann.text


def test_a_visitor_is_entered_only_when_they_agree(service: StudyService) -> None:
    ann = Visitor(service)
    for _ in range(3):
        ann.get("/")
    ann.send("/consent", {"agreed": "no"})
    assert "You are not taking part" in ann.text
    assert service.researchers.overview().participants == {}


def test_two_clicks_on_i_agree_make_one_participant(service: StudyService) -> None:
    ann = Visitor(service)
    ann.get("/")
    token = ann.form_token
    ann.send("/consent", {"agreed": "yes"}, signed=token)
    ann.send("/consent", {"agreed": "yes"}, signed=token)
    assert ann.path == "/traits"
    assert service.researchers.overview().participants == {"traits": 1}


def test_two_clicks_answered_by_two_workers_make_one_participant(service: StudyService) -> None:
    second = StudyService(service.study)
    ann, tab = Visitor(service), Visitor(second)
    ann.get("/")
    tab.client.cookies, token = ann.client.cookies, ann.form_token
    for visitor in (ann, tab):
        visitor.send("/consent", {"agreed": "yes"}, signed=token)
        assert (visitor.path, visitor.status) == ("/traits", 200)
    assert service.researchers.overview().participants == {"traits": 1}
    second.close()


def test_faulty_traits_are_shown_again_with_what_was_written(service: StudyService) -> None:
    ann = Visitor(service)
    ann.get("/")
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/traits", {"t0": "seven", "t1": "man", "t3": '"><script>'})
    assert ann.status == 422
    assert 'href="#t0"' in ann.text
    assert "whole number" in ann.text
    assert "<script>" not in ann.text
    assert 'value="man"' in ann.text
    assert "checked" in ann.text
    assert ann.send("/traits", {"t0": "20"}) == "/guidelines"


def test_the_quiz_has_two_attempts_and_explains(service: StudyService) -> None:
    ann = Visitor(service)
    ann.get("/")
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/traits", {"t0": "31"})
    ann.send("/guidelines")
    first = ann.form_token
    ann.send("/quiz", {"t0": "0", "t1": "0"})
    assert ann.status == 422
    assert "See the &lt;first&gt; point." in ann.text
    assert "one attempt" in ann.text
    # The first form, sent again by a double click, is not a second attempt.
    ann.send("/quiz", {"t0": "0", "t1": "0"}, signed=first)
    assert ann.path == "/quiz"
    assert "one attempt" in ann.text
    assert ann.send("/quiz", {"t0": "0", "t1": "9"}) == "/end"
    assert "a particular group of participants" in ann.text
    assert "quiz" not in ann.text  # nobody is told that they failed
    assert ann.get("/item/1") == "/end"


def test_withdrawing_deletes_and_cannot_be_undone(tmp_path: Path) -> None:
    service = study_service(tmp_path)
    ann = Visitor(service)
    ann.begin()
    ann.answer()
    ann.get("/withdraw")
    assert "will be deleted" in ann.text
    assert ann.send("/withdraw") == "/end"
    assert "have been deleted" in ann.text
    assert ann.get("/") == "/end"
    assert len(service.researchers.corpus().judgments) == 0


def test_a_study_that_keeps_answers_says_so(tmp_path: Path) -> None:
    service = study_service(tmp_path, withdrawal="keep")
    ann = Visitor(service)
    ann.get("/")
    assert "kept without your name" in ann.text
    ann.begin()
    ann.answer()
    ann.get("/withdraw")
    ann.send("/withdraw")
    assert "are kept" in ann.text
    assert len(service.researchers.corpus().judgments) == 1


def test_prolific_participants_come_back_as_themselves_and_leave_by_redirect(tmp_path: Path) -> None:
    service = study_service(
        tmp_path,
        recruitment={"via": "prolific", "completion_code": "CDONE", "screen_out_code": "CNO"},
        items=[{"post": "a", "reply": "b"}],
    )
    link = "/?PROLIFIC_PID=5f1&STUDY_ID=s1&SESSION_ID=x1"
    ann = Visitor(service)
    ann.get(link)
    assert service.researchers.overview().participants == {}, "nothing is stored before somebody agrees"
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/guidelines")
    again = Visitor(service)
    assert again.get(link) == "/item/1"
    again.answer()
    again.send("/review", follow=False)
    assert again.status == 303
    assert again.headers["location"] == "https://app.prolific.com/submissions/complete?cc=CDONE"
    assert "form-action 'self' https://app.prolific.com" in again.headers["content-security-policy"]
    assert ann.get("/") == "/end"
    assert "Return to Prolific" in ann.text
    nobody = Visitor(service)
    nobody.get("/")
    assert nobody.status == 403
    assert "does not identify you" in nobody.text
    other = Visitor(service)
    other.get("/?PROLIFIC_PID=<script>")
    assert other.status == 403
    assert "damaged" in other.text


def test_declining_on_a_platform_leads_to_its_screen_out(tmp_path: Path) -> None:
    service = study_service(
        tmp_path, recruitment={"via": "prolific", "completion_code": "CDONE", "screen_out_code": "CNO"}
    )
    ann = Visitor(service)
    ann.get("/?PROLIFIC_PID=5f1")
    ann.send("/consent", {"agreed": "no"})
    assert "You are not taking part" in ann.text
    assert "cc=CNO" in ann.text


def test_invitations_are_personal(tmp_path: Path) -> None:
    service = study_service(tmp_path, recruitment={"via": "invitation"})
    (invitation,) = service.researchers.invite(1)
    ann = Visitor(service)
    ann.get("/")
    assert ann.status == 403
    ann.get("/?invitation=unknown")
    assert ann.status == 404
    ann.get(f"/?invitation={invitation.token}")
    assert "I agree to take part" in ann.text


def test_a_paused_study_and_a_full_one(tmp_path: Path) -> None:
    service = study_service(tmp_path, raters=1, items=[{"post": "a", "reply": "b"}])
    ann, bob = Visitor(service), Visitor(service)
    ann.begin()
    service.researchers.pause()
    assert ann.get("/") == "/end"
    assert "paused" in ann.text
    service.researchers.pause(False)
    assert ann.get("/") == "/item/1"
    ann.answer()
    ann.send("/review")
    bob.get("/")
    assert "no work left" in bob.text
    assert service.researchers.overview().participants == {"finished": 1}


def test_another_batch_for_those_who_want_more(tmp_path: Path) -> None:
    service = study_service(tmp_path, batch={"size": 1, "per_participant": 2})
    ann = Visitor(service)
    ann.begin()
    ann.answer()
    ann.send("/review")
    assert "Do another batch" in ann.text
    assert ann.send("/more") == "/item/1"


@pytest.mark.parametrize(
    "path", ["/consent", "/traits", "/guidelines", "/quiz", "/review", "/withdraw", "/more", "/item/1"]
)
def test_forms_without_cookie_or_token_change_nothing(service: StudyService, path: str) -> None:
    stranger = Visitor(service)
    stranger.send(path, {"agreed": "yes"})
    assert stranger.status == 403
    assert "nothing was saved" in stranger.text
    assert service.researchers.overview().participants == {}


def test_a_form_of_one_participant_is_worthless_to_another(tmp_path: Path) -> None:
    service = study_service(tmp_path)
    ann, eve = Visitor(service), Visitor(service)
    ann.begin()
    ann.get("/withdraw")
    eve.begin()
    eve.send("/withdraw", signed=ann.form_token)
    assert eve.status == 403
    assert "has expired" in eve.text


def test_traits_that_were_not_sent_come_back(service: StudyService) -> None:
    ann = Visitor(service)
    ann.get("/")
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/draft", {"t0": "31", "t2": ["العربية"], "t3": "<baker>"})
    assert '"left":' in ann.text
    ann.get("/")
    assert 'value="31"' in ann.text
    assert "&lt;baker&gt;" in ann.text
    assert "restored" in ann.text
    ann.send("/traits", {"t0": "31"})
    assert service.researchers.overview().participants == {"guidelines": 1}


def test_a_draft_needs_the_form_of_its_own_page(service: StudyService) -> None:
    ann, eve = Visitor(service), Visitor(service)
    for visitor in (ann, eve):
        visitor.get("/")
        visitor.send("/consent", {"agreed": "yes"})
    token = ann.form_token
    eve.send("/draft", {"t0": "99"}, signed=token)
    assert eve.status == 403
    nobody = Visitor(service)
    nobody.send("/draft", {"t0": "99"}, signed=token)
    assert nobody.status == 403
    ann.get("/traits")
    assert 'value="99"' not in ann.text


def test_what_was_wrong_is_kept_as_a_draft_without_javascript(service: StudyService) -> None:
    ann = Visitor(service)
    ann.get("/")
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/traits", {"t0": "seven", "t3": "baker"})
    assert ann.status == 422
    ann.get("/traits")
    assert 'value="seven"' in ann.text


def test_pages_in_the_language_that_was_chosen(tmp_path: Path) -> None:
    service = study_service(tmp_path, languages=["en", "de", "he"], traits=TRAITS)
    ann = Visitor(service)
    ann.client.headers["accept-language"] = "de-AT,de;q=0.9,en;q=0.5"
    ann.get("/")
    assert '<html lang="de" dir="ltr">' in ann.text
    assert "Ich bin einverstanden" in ann.text
    assert ann.get("/language/he?to=//evil.example") == "/"
    assert '<html lang="he" dir="rtl">' in ann.text
    ann.send("/consent", {"agreed": "yes"})
    ann.send("/traits", {"t0": "12"})
    assert "נא להקליד מספר מ־18 עד 120." in ann.text
    assert "תשובה אחת חסרה" in ann.text
    assert ann.get("/language/xx?to=/traits") == "/traits"
    assert '<html lang="he"' in ann.text
    ann.get("/nowhere")
    assert "העמוד לא נמצא" in ann.text


def test_a_language_without_a_catalogue_has_english_pages(tmp_path: Path) -> None:
    from vantage.documents import dump
    from vantage.instruments import Instrument

    file = tmp_path / "swahili.yaml"
    file.write_text(dump({**Instrument.load("irony").document, "language": "sw"}), encoding="utf-8")
    ann = Visitor(study_service(tmp_path, str(file)))
    ann.begin()
    assert '<html lang="en" dir="ltr">' in ann.text
    assert '<fieldset lang="sw">' in ann.text


def test_people_who_lost_their_texts_are_thanked(tmp_path: Path) -> None:
    service = study_service(tmp_path, raters=1)
    ann, bob = Visitor(service), Visitor(service)
    ann.begin()
    assert "reserved for you" in ann.text
    service.database.write(lambda c: c.execute(update(participants).values(lease=1.0)))
    bob.begin()
    assert bob.path == "/item/1"
    assert ann.get("/") == "/end"
    assert "Your reservation has ended" in ann.text
    assert "The answers you saved are kept." in ann.text
