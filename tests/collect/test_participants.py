from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.collect.conftest import OpenService
from tests.collect.people import begun, ratings, study, walked, work
from vantage.collect.service import StudyService
from vantage.collect.tables import pages, participants, submissions
from vantage.collect.views import InvalidAnswers, Refused

PROLIFIC = {"PROLIFIC_PID": "5a9d64f5f6dfdd0001eaa73d", "STUDY_ID": "s1", "SESSION_ID": "x1"}
QUIZ = {
    "questions": [
        {"ask": "One?", "options": ["a", "b"], "answer": 1},
        {"ask": "Two?", "options": ["a", "b", "c"], "answer": 3},
    ]
}
TRAITS = [
    {"id": "age", "ask": "How old?", "kind": "number", "from": 18, "to": 99, "required": True},
    {"id": "gender", "ask": "Gender?", "options": ["woman", "man", "another"]},
    {"id": "languages", "ask": "Which?", "kind": "several", "options": ["de", "en", "fr"]},
    {"id": "job", "ask": "Job?", "kind": "text"},
]


def test_from_consent_to_completion(open_service: OpenService, tmp_path: Path, database: str) -> None:
    recruitment = {"via": "prolific", "completion_code": "DONE1"}
    service = open_service(study(tmp_path, 4, traits=TRAITS, quiz=QUIZ, recruitment=recruitment), database)
    person = service.participants.enter(PROLIFIC)
    assert service.participants.step(person).kind == "consent"
    assert service.participants.give_consent(person, agreed=True).kind == "traits"
    with pytest.raises(InvalidAnswers) as error:
        service.participants.give_traits(person, {"age": "12", "gender": "cat"})
    assert error.value.problems == {
        "age": "Please enter a number from 18 to 99.",
        "gender": "This is not one of the answers.",
    }
    traits = {"age": "34", "gender": "", "languages": ["fr", "de"], "job": " baker\x00 "}
    assert service.participants.give_traits(person, traits).kind == "guidelines"
    step = service.participants.confirm(person)
    assert (step.kind, step.attempts_left) == ("quiz", 2)
    result = service.participants.answer_quiz(person, [0, None])
    assert (result.passed, result.wrong, result.attempts_left) == (False, (1,), 1)
    assert service.participants.answer_quiz(person, [0, 2]).passed
    assert work(service, person) == 4
    step = service.participants.step(person)
    assert (step.kind, step.pages, step.answered) == ("review", 4, 4)
    done = service.participants.finish(person)
    assert (done.code, done.redirect) == ("DONE1", "https://app.prolific.com/submissions/complete?cc=DONE1")
    assert service.participants.finish(person) == done == service.participants.completion(person)
    assert service.participants.step(person).kind == "finished"
    rater = service.researchers.corpus().raters.row(0, named=True)
    assert (rater["age"], rater["gender"], rater["languages"], rater["job"]) == (34, None, "de; fr", "baker")


def test_everything_may_be_sent_twice(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 3, traits=TRAITS[1:2]))
    person = service.participants.enter({})
    for _ in range(2):
        assert service.participants.give_consent(person, agreed=True).kind == "traits"
    for _ in range(2):
        assert service.participants.give_traits(person, {"gender": "man"}).kind == "guidelines"
    for _ in range(2):
        assert service.participants.confirm(person).kind == "item"
    assert service.participants.give_consent(person, agreed=False).kind == "item", (
        "too late to decline; withdrawing is another thing"
    )
    count = service.database.read(lambda c: c.execute(select(func.count()).select_from(pages)).scalar_one())
    assert count == 3


def test_the_same_person_comes_back_to_the_same_place(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 5, recruitment={"via": "prolific", "completion_code": "D"}))
    person = begun(service, PROLIFIC)
    work(service, person, pages=2)
    again = service.participants.enter({**PROLIFIC, "SESSION_ID": "x2"})
    assert again == person == service.participants.find(person.id)
    assert service.participants.step(again).position == 3
    assert service.participants.find("guessed") is None


@pytest.mark.parametrize(
    ("via", "params", "message"),
    [
        ("prolific", {}, "does not identify you"),
        ("prolific", {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "is damaged"),
        ("prolific", {"PROLIFIC_PID": "a" * 200}, "is damaged"),
        ("mturk", {"workerId": "A1", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, "accept the task first"),
        ("invitation", {}, "by invitation only"),
        ("invitation", {"invitation": "unknown"}, "is unknown"),
        ("link", {"invitation": "../../etc"}, "is damaged"),
    ],
)
def test_links_that_do_not_lead_in(
    open_service: OpenService, tmp_path: Path, via: str, params: dict[str, str], message: str
) -> None:
    code = {"completion_code": "C"} if via == "prolific" else {}
    service = open_service(study(tmp_path, 2, recruitment={"via": via, **code}))
    with pytest.raises(Refused, match=message):
        service.participants.enter(params)


def test_invitations_let_each_person_in_once(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 2, recruitment={"via": "invitation"}))
    first, second = service.researchers.invite(2, "class of 2025")
    person = service.participants.enter({"invitation": first.token})
    assert service.participants.enter({"invitation": first.token}) == person
    assert service.participants.enter({"invitation": second.token}) != person
    assert [(one.used, one.note) for one in service.researchers.invitations()] == [(True, "class of 2025")] * 2


def test_mturk_codes_belong_to_one_person_each(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 2, recruitment={"via": "mturk"}))
    codes = {walked(service, {"workerId": f"A{n}", "assignmentId": "3X"})[1].code for n in range(3)}
    assert len(codes) == 3
    assert codes == {row.code for row in service.researchers.raters()}


def test_who_fails_the_quiz_twice_is_screened_out_and_gives_the_work_back(
    open_service: OpenService, tmp_path: Path
) -> None:
    recruitment = {"via": "prolific", "completion_code": "C", "screen_out_code": "OUT"}
    service = open_service(study(tmp_path, 3, raters=1, quiz=QUIZ, recruitment=recruitment))
    person = begun(service, PROLIFIC)
    for left in (1, 0):
        assert service.participants.answer_quiz(person, [1, 1]).attempts_left == left
    assert service.participants.step(person).kind == "screened_out"
    assert service.participants.completion(person).redirect == "https://app.prolific.com/submissions/complete?cc=OUT"
    with pytest.raises(Refused, match="already taken"):
        service.participants.answer_quiz(person, [0, 2])
    assert service.researchers.overview().arms[0].free == 3


def test_declining_reserves_nothing(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 3))
    person = service.participants.enter({})
    assert service.participants.give_consent(person, agreed=False).kind == "declined"
    assert service.researchers.overview().arms[0].reserved == 0
    assert service.participants.completion(person).code is None


@pytest.mark.parametrize("rule", ["delete", "keep"])
def test_withdrawing(open_service: OpenService, tmp_path: Path, database: str, rule: str) -> None:
    plan = study(tmp_path, 4, raters=1, traits=TRAITS[3:], withdrawal=rule, recruitment={"via": "mturk"})
    service = open_service(plan, database)
    person = service.participants.enter({"workerId": "A1B2C3D4E5"})
    service.participants.give_consent(person, agreed=True)
    service.participants.give_traits(person, {"job": "baker"})
    service.participants.confirm(person)
    work(service, person, pages=3)
    assert service.participants.withdraw(person).kind == "withdrawn"
    assert service.participants.withdraw(person).kind == "withdrawn"
    row = service.database.read(lambda c: c.execute(select(participants)).one())
    left = service.database.read(lambda c: c.execute(select(func.count()).select_from(submissions)).scalar_one())
    if rule == "delete":
        assert (left, row.traits) == (0, None)
        assert "A1B2C3D4E5" not in str(row)
        assert service.researchers.overview().arms[0].free == 4
    else:
        assert left == 3
        assert len(service.researchers.corpus().judgments) == 6
        assert service.researchers.overview().arms[0].free == 1
    assert service.participants.step(service.participants.enter({"workerId": "A1B2C3D4E5"})).kind == "withdrawn", (
        "the same person is known again"
    )
    with pytest.raises(Refused):
        service.participants.page(person, 1)


@pytest.mark.parametrize("forged", ["{page}.999.{rest}", "{page}.-1.{rest}", "999999.{group}.{rest}", "{page}.{group}"])
def test_a_forged_form_is_refused_in_a_sentence(open_service: OpenService, tmp_path: Path, forged: str) -> None:
    from tests.collect.people import honest

    service = open_service(study(tmp_path, 3))
    person = begun(service)
    shown = service.participants.page(person, 1)
    page, group, rest = shown.token.split(".", 2)
    with pytest.raises(Refused, match=r"no such page|damaged"):
        service.participants.submit(person, 1, honest(shown), token=forged.format(page=page, group=group, rest=rest))


def test_a_paused_study_takes_what_is_under_way(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 3))
    person = begun(service)
    page = service.participants.page(person, 1)
    service.researchers.pause()
    assert service.participants.step(person).kind == "paused"
    assert service.participants.give_consent(service.participants.enter({}), agreed=True).kind == "paused"
    from tests.collect.people import honest

    assert service.participants.submit(person, 1, honest(page), token=page.token).revision == 1
    service.researchers.pause(False)
    assert service.participants.step(person).position == 2


def test_a_second_worker_sees_the_pause(
    open_service: OpenService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vantage.collect.database.PAUSE_CACHED", 0.0)
    plan = study(tmp_path, 3)
    one, two = open_service(plan), open_service(plan)
    person = begun(one)
    two.researchers.pause()
    assert one.participants.step(person).kind == "paused"
    assert one.database.secret("cookie") == two.database.secret("cookie") != two.database.secret("form")


def test_who_finds_nothing_is_told_so_and_may_come_back(open_service: OpenService, tmp_path: Path) -> None:
    recruitment = {"via": "prolific", "completion_code": "C", "full_code": "FULL"}
    service = open_service(study(tmp_path, 2, raters=1, recruitment=recruitment))
    first = begun(service, {"PROLIFIC_PID": "one"})
    second = service.participants.enter({"PROLIFIC_PID": "two"})
    assert service.participants.step(second).kind == "full"
    assert service.participants.give_consent(second, agreed=True).kind == "full"
    assert service.participants.completion(second).code == "FULL"
    service.participants.withdraw(first)
    assert service.participants.step(second).kind == "consent"
    walked(service, {"PROLIFIC_PID": "two"})
    assert set(ratings(service).values()) == {1}


def test_somebody_who_is_no_more_is_refused(open_service: OpenService, tmp_path: Path) -> None:
    from vantage.collect.views import Participant

    service: StudyService = open_service(study(tmp_path, 2))
    with pytest.raises(Refused, match="do not know who you are") as error:
        service.participants.step(Participant("x", 77))
    assert error.value.kind == "unknown"
