from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.collect.conftest import Open
from tests.collect.people import begun, ratings, study, walked, work
from vantage.collect.desk import Desk, Refused, Unanswered
from vantage.collect.tables import pages, participants, submissions

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


def test_from_consent_to_completion(opened: Open, tmp_path: Path, database: str) -> None:
    recruitment = {"via": "prolific", "completion_code": "DONE1"}
    desk = opened(study(tmp_path, 4, traits=TRAITS, quiz=QUIZ, recruitment=recruitment), database)
    person = desk.arrive(PROLIFIC)
    assert desk.place(person).kind == "consent"
    assert desk.give_consent(person, agreed=True).kind == "traits"
    with pytest.raises(Unanswered) as told:
        desk.give_traits(person, {"age": "12", "gender": "cat"})
    assert told.value.problems == {
        "age": "Please write a number from 18 to 99.",
        "gender": "This is not one of the answers.",
    }
    traits = {"age": "34", "gender": "", "languages": ["fr", "de"], "job": " baker\x00 "}
    assert desk.give_traits(person, traits).kind == "guidelines"
    place = desk.read_guidelines(person)
    assert (place.kind, place.attempts_left) == ("quiz", 2)
    result = desk.answer_quiz(person, [0, None])
    assert (result.passed, result.wrong, result.attempts_left) == (False, (1,), 1)
    assert desk.answer_quiz(person, [0, 2]).passed
    assert work(desk, person) == 4
    place = desk.place(person)
    assert (place.kind, place.pages, place.answered) == ("review", 4, 4)
    done = desk.finish(person)
    assert (done.code, done.redirect) == ("DONE1", "https://app.prolific.com/submissions/complete?cc=DONE1")
    assert desk.finish(person) == done == desk.completion(person)
    assert desk.place(person).kind == "finished"
    rater = desk.corpus().raters.row(0, named=True)
    assert (rater["age"], rater["gender"], rater["languages"], rater["job"]) == (34, None, "de; fr", "baker")


def test_everything_may_be_sent_twice(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 3, traits=TRAITS[1:2]))
    person = desk.arrive({})
    for _ in range(2):
        assert desk.give_consent(person, agreed=True).kind == "traits"
    for _ in range(2):
        assert desk.give_traits(person, {"gender": "man"}).kind == "guidelines"
    for _ in range(2):
        assert desk.read_guidelines(person).kind == "item"
    assert desk.give_consent(person, agreed=False).kind == "item", "too late to decline; withdrawing is another thing"
    count = desk.store.read(lambda c: c.execute(select(func.count()).select_from(pages)).scalar_one())
    assert count == 3


def test_the_same_person_comes_back_to_the_same_place(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 5, recruitment={"via": "prolific", "completion_code": "D"}))
    person = begun(desk, PROLIFIC)
    work(desk, person, pages=2)
    again = desk.arrive({**PROLIFIC, "SESSION_ID": "x2"})
    assert again == person == desk.participant(person.id)
    assert desk.place(again).position == 3
    assert desk.participant("guessed") is None


@pytest.mark.parametrize(
    ("via", "params", "told"),
    [
        ("prolific", {}, "does not say who you are"),
        ("prolific", {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "is damaged"),
        ("prolific", {"PROLIFIC_PID": "a" * 200}, "is damaged"),
        ("mturk", {"workerId": "A1", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, "accept the task first"),
        ("invitation", {}, "open to people with an invitation"),
        ("invitation", {"invitation": "unknown"}, "is not known"),
        ("link", {"invitation": "../../etc"}, "is damaged"),
    ],
)
def test_links_that_do_not_lead_in(opened: Open, tmp_path: Path, via: str, params: dict[str, str], told: str) -> None:
    code = {"completion_code": "C"} if via == "prolific" else {}
    desk = opened(study(tmp_path, 2, recruitment={"via": via, **code}))
    with pytest.raises(Refused, match=told):
        desk.arrive(params)


def test_invitations_let_each_person_in_once(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 2, recruitment={"via": "invitation"}))
    first, second = desk.invite(2, "class of 2025")
    person = desk.arrive({"invitation": first.token})
    assert desk.arrive({"invitation": first.token}) == person
    assert desk.arrive({"invitation": second.token}) != person
    assert [(one.used, one.note) for one in desk.invitations()] == [(True, "class of 2025")] * 2


def test_mturk_codes_belong_to_one_person_each(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 2, recruitment={"via": "mturk"}))
    codes = {walked(desk, {"workerId": f"A{n}", "assignmentId": "3X"})[1].code for n in range(3)}
    assert len(codes) == 3
    assert codes == {row.code for row in desk.raters()}


def test_who_fails_the_quiz_twice_is_screened_out_and_gives_the_work_back(opened: Open, tmp_path: Path) -> None:
    recruitment = {"via": "prolific", "completion_code": "C", "screen_out_code": "OUT"}
    desk = opened(study(tmp_path, 3, raters=1, quiz=QUIZ, recruitment=recruitment))
    person = begun(desk, PROLIFIC)
    for left in (1, 0):
        assert desk.answer_quiz(person, [1, 1]).attempts_left == left
    assert desk.place(person).kind == "screened_out"
    assert desk.completion(person).redirect == "https://app.prolific.com/submissions/complete?cc=OUT"
    with pytest.raises(Refused, match="taken already"):
        desk.answer_quiz(person, [0, 2])
    assert desk.overview().arms[0].free == 3


def test_declining_reserves_nothing(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 3))
    person = desk.arrive({})
    assert desk.give_consent(person, agreed=False).kind == "declined"
    assert desk.overview().arms[0].reserved == 0
    assert desk.completion(person).code is None


@pytest.mark.parametrize("rule", ["delete", "keep"])
def test_withdrawing(opened: Open, tmp_path: Path, database: str, rule: str) -> None:
    plan = study(tmp_path, 4, raters=1, traits=TRAITS[3:], withdrawal=rule, recruitment={"via": "mturk"})
    desk = opened(plan, database)
    person = desk.arrive({"workerId": "A1"})
    desk.give_consent(person, agreed=True)
    desk.give_traits(person, {"job": "baker"})
    desk.read_guidelines(person)
    work(desk, person, pages=3)
    assert desk.withdraw(person).kind == "withdrawn"
    assert desk.withdraw(person).kind == "withdrawn"
    row = desk.store.read(lambda c: c.execute(select(participants)).one())
    left = desk.store.read(lambda c: c.execute(select(func.count()).select_from(submissions)).scalar_one())
    if rule == "delete":
        assert (left, row.traits) == (0, None)
        assert "A1" not in str(row)
        assert desk.overview().arms[0].free == 4
    else:
        assert left == 3
        assert len(desk.corpus().judgments) == 6
        assert desk.overview().arms[0].free == 1
    assert desk.place(desk.arrive({"workerId": "A1"})).kind == "withdrawn", "the same person is known again"
    with pytest.raises(Refused):
        desk.page(person, 1)


def test_a_paused_study_takes_what_is_under_way(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 3))
    person = begun(desk)
    page = desk.page(person, 1)
    desk.pause()
    assert desk.place(person).kind == "paused"
    assert desk.give_consent(desk.arrive({}), agreed=True).kind == "paused"
    from tests.collect.people import honest

    assert desk.submit(person, 1, honest(page), token=page.token).revision == 1
    desk.pause(False)
    assert desk.place(person).position == 2


def test_a_second_worker_sees_the_pause(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.collect.opened.REMEMBERED", 0.0)
    plan = study(tmp_path, 3)
    one, two = opened(plan), opened(plan)
    person = begun(one)
    two.pause()
    assert one.place(person).kind == "paused"
    assert one.secret("cookie") == two.secret("cookie") != two.secret("form")


def test_who_finds_nothing_is_told_so_and_may_come_back(opened: Open, tmp_path: Path) -> None:
    recruitment = {"via": "prolific", "completion_code": "C", "full_code": "FULL"}
    desk = opened(study(tmp_path, 2, raters=1, recruitment=recruitment))
    first = begun(desk, {"PROLIFIC_PID": "one"})
    second = desk.arrive({"PROLIFIC_PID": "two"})
    assert desk.place(second).kind == "full"
    assert desk.give_consent(second, agreed=True).kind == "full"
    assert desk.completion(second).code == "FULL"
    desk.withdraw(first)
    assert desk.place(second).kind == "consent"
    walked(desk, {"PROLIFIC_PID": "two"})
    assert set(ratings(desk).values()) == {1}


def test_somebody_who_is_no_more_is_refused(opened: Open, tmp_path: Path) -> None:
    from vantage.collect.desk import Participant

    desk: Desk = opened(study(tmp_path, 2))
    with pytest.raises(Refused, match="do not know you") as told:
        desk.place(Participant("x", 77))
    assert told.value.kind == "unknown"
