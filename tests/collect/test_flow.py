"""Whole studies with a flow: screeners, questionnaires, training, several blocks, repeats, quotas and time limits."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from sqlalchemy import func, select, update

from tests.collect.conftest import OpenService
from tests.collect.people import honest, study, work
from tests.collect.test_assignment import late
from vantage.collect.blocks import spaced
from vantage.collect.phases import Questionnaire, TaskPhase, williams
from vantage.collect.service import StudyService
from vantage.collect.tables import pages, participants, quota_places, wordings
from vantage.collect.views import InvalidAnswers, ItemPage, Participant, QuestionAnswer, Refused, Step

ENGLISH = {"id": "english", "ask": "English?", "options": ["yes", "no"], "required": True}
AGE = {"id": "age", "ask": "Age?", "kind": "number", "from": 0, "to": 120}
GENDER = {"id": "gender", "ask": "Gender?", "options": ["woman", "man", "another"], "required": True}
SCREENER = {
    "questions": [ENGLISH, AGE],
    "rules": [
        {"if": "english", "is": ["no"], "end": "This study needs English."},
        {"if": "age", "below": 18, "end": "This study is for adults."},
    ],
}
BEFORE_AFTER = [
    "consent",
    "guidelines",
    {"block": {"id": "before", "condition": "plain", "batch": 4}},
    {"block": {"id": "after", "condition": "fancy", "items": {"same_as": "before", "distance": 2}}},
]


def entered(service: StudyService) -> Participant:
    """Somebody who has agreed."""
    person = service.participants.enter({})
    service.participants.give_consent(person, agreed=True)
    return person


def asked(service: StudyService, person: Participant) -> list[str]:
    """The questions that somebody is asked about themselves now."""
    phase, place = service.participants.phase(person)
    return [question.id for question in phase.asked(place.traits)] if isinstance(phase, Questionnaire) else []


def through(service: StudyService, person: Participant, traits: dict[str, Any] | None = None) -> Step:
    """Goes through all phases to the end, with the right answers."""
    people = service.participants
    for _ in range(100):
        step = people.step(person)
        if step.kind in ("screener", "traits"):
            people.give_traits(person, {name: (traits or {}).get(name, "") for name in asked(service, person)})
        elif step.kind == "training":
            if people.practice(person).answers:
                people.confirm(person)
            else:
                people.give_practice(person, {q.id: QuestionAnswer(1.0) for q in people.practice(person).questions})
        elif step.kind in ("guidelines", "debriefing"):
            people.confirm(person)
        elif step.kind == "item":
            work(service, person)
        elif step.kind == "review":
            people.finish(person)
        else:
            return step
    raise AssertionError("the flow does not end")


def test_a_screener_ends_humanely_and_gives_the_work_back(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    recruitment = {"via": "prolific", "completion_code": "C", "screen_out_code": "OUT"}
    flow = ["consent", {"screener": SCREENER}, "guidelines", {"block": {"id": "all"}}]
    service = open_service(study(tmp_path, 3, raters=1, flow=flow, recruitment=recruitment), database)
    person = service.participants.enter({"PROLIFIC_PID": "one"})
    assert service.participants.give_consent(person, agreed=True).kind == "screener"
    with pytest.raises(InvalidAnswers):
        service.participants.give_traits(person, {"english": ""})
    step = service.participants.give_traits(person, {"english": "yes", "age": "17"})
    assert (step.kind, step.message) == ("screened_out", "This study is for adults.")
    assert service.participants.completion(person).code == "OUT"
    assert service.researchers.overview().arms[0].free == 3
    assert service.participants.give_traits(person, {"english": "yes", "age": "18"}).kind == "screened_out"
    other = service.participants.enter({"PROLIFIC_PID": "two"})
    service.participants.give_consent(other, agreed=True)
    assert through(service, other, {"english": "yes"}).kind == "finished", "no answer meets no rule"
    assert service.researchers.corpus().raters["english"].to_list() == ["yes"]


def test_questions_that_depend_on_others_are_asked_only_then(open_service: OpenService, tmp_path: Path) -> None:
    which = {"id": "which", "ask": "Which?", "kind": "text", "show_if": {"if": "english", "is": ["no"]}}
    later = {"id": "later", "ask": "Since?", "kind": "number", "show_if": {"if": "which", "is_not": ["none"]}}
    flow = ["consent", {"block": {"id": "all"}}, {"questionnaire": {"questions": [ENGLISH, which]}},
            {"questionnaire": {"questions": [later]}}]  # fmt: skip
    service = open_service(study(tmp_path, 2, flow=flow))
    ann, bob = entered(service), entered(service)
    for person in (ann, bob):
        work(service, person)
        assert service.participants.finish(person).code is None
        assert asked(service, person) == ["english"]
    assert service.participants.give_traits(ann, {"english": "yes", "which": "ignored"}).kind == "finished"
    assert service.participants.give_traits(bob, {"english": "no"}).kind == "traits"
    assert asked(service, bob) == ["which"]
    service.participants.give_traits(bob, {"which": "Dutch"})
    assert service.participants.give_traits(bob, {"later": "1999"}).kind == "finished"
    rows = service.researchers.corpus().raters.sort("english").select("english", "which", "later").rows()
    assert rows == [("no", "Dutch", 1999), ("yes", None, None)]


def test_training_gives_feedback_and_may_end_the_study(open_service: OpenService, tmp_path: Path) -> None:
    training = {
        "needed": 2,
        "items": [
            {"item": "i000", "accept": {"warm": [1], "kind": [1]}, "explain": "It says so."},
            {"item": {"text": "Practice."}, "accept": {"warm": {"from": 1, "to": 2}}},
        ],
    }
    flow = ["consent", {"guidelines": {"training": training}}, {"block": {"id": "all"}}]
    service = open_service(study(tmp_path, 3, raters=1, flow=flow))
    people, person = service.participants, entered(service)
    assert people.confirm(person).kind == "training"
    practice = people.practice(person)
    assert (practice.position, practice.items, practice.record["text"]) == (1, 2, "Text 0.")
    with pytest.raises(InvalidAnswers):
        people.give_practice(person, {"warm": QuestionAnswer(9.0)})
    wrong = {"warm": QuestionAnswer(3.0), "kind": QuestionAnswer(1.0)}
    for _ in range(2):  # sent twice
        people.give_practice(person, wrong)
    assert people.practice(person).right == {"warm": False, "kind": True}
    assert people.practice(person).explain == "It says so."
    people.confirm(person)
    assert people.practice(person).record == {"text": "Practice."}
    people.give_practice(person, {"warm": QuestionAnswer(2.0)})
    assert people.confirm(person).kind == "screened_out"
    other = entered(service)
    assert through(service, other).kind == "finished"
    assert set(service.researchers.corpus().judgments["item"]) == {"i001", "i002"}, "training items are kept apart"
    checks = service.researchers.checks().filter(kind="training").group_by("rater").agg(pl.col("passed").sum())
    assert sorted(checks["passed"]) == [2, 3]


def test_the_same_items_before_and_after(open_service: OpenService, tmp_path: Path, database: str) -> None:
    service = open_service(study(tmp_path, 10, raters=2, flow=BEFORE_AFTER), database)
    for _ in range(5):
        person = entered(service)
        assert through(service, person).kind == "finished"
        own = select(pages).where(pages.c.participant == person.number).order_by(pages.c.batch, pages.c.position)
        rows = [page.row for page in service.database.read(lambda c, own=own: c.execute(own).all())]  # type: ignore[misc]
        assert sorted(rows[:4]) == sorted(rows[4:])
        for row in rows[:4]:
            assert rows.index(row, 4) - rows.index(row) - 1 >= 2
    assert service.participants.step(service.participants.enter({})).kind == "full"
    judgments = service.researchers.corpus().judgments
    counts = judgments.filter(question="warm").group_by("item", "condition").len()
    assert set(counts["len"]) == {2}
    assert len(counts) == 20
    assert set(judgments["sample"]) == {0}
    assert dict(judgments.select("condition", "block").unique().iter_rows()) == {"plain": "before", "fancy": "after"}
    arms = service.researchers.overview().arms
    assert [(arm.block, arm.wanted, arm.answered, arm.free) for arm in arms] == [
        ("before", 20, 20, 0),
        ("after", 20, 20, 0),
    ]


def test_a_retest_is_a_second_sample_and_measures_use_it(open_service: OpenService, tmp_path: Path) -> None:
    flow = [
        "consent",
        {"block": {"id": "test"}},
        {"block": {"id": "retest", "items": {"same_as": "test", "sample": 3}}},
    ]
    service = open_service(study(tmp_path, 6, raters=2, flow=flow))
    for _ in range(2):
        assert through(service, entered(service)).kind == "finished"
    judgments = service.researchers.corpus().judgments
    assert Counter(judgments["sample"]) == {0: 2 * 6 * 2, 1: 2 * 3 * 2}
    assert "--where sample=0" in service.researchers.corpus().about.notes[-1]
    twice = judgments.filter(question="warm").group_by("rater", "item").agg(pl.col("value").n_unique(), pl.len())
    assert set(twice["value"]) == {1}
    assert [(arm.wanted, arm.answered) for arm in service.researchers.overview().arms] == [(12, 12), (6, 6)]
    # What somebody says twice of an item is no agreement of two people.
    assert {(row["items"], row["ratings"], row["planned"]) for row in service.researchers.sequential()} == {(6, 12, 6)}


def test_the_consent_of_a_flow_is_shown_and_agreed_to(open_service: OpenService, tmp_path: Path) -> None:
    flow: list[Any] = [{"consent": {"text": "Only of this flow."}}, {"block": {"id": "one"}}]
    service = open_service(study(tmp_path, 4, consent="Of the study.", flow=flow))
    assert service.study.consent == "Only of this flow."
    person = entered(service)
    (wording,) = service.database.read(lambda c: c.execute(select(wordings.c.text)).scalars().all())
    assert wording == "Only of this flow."
    assert service.participants.step(person).kind == "item"
    service.close()
    flow[0] = {"consent": {"text": "Corrected."}}
    service = open_service(study(tmp_path, 4, consent="Of the study.", flow=flow), revision="a typo")
    (revised,) = service.researchers.log().filter(event="revised").to_dicts()
    assert '"text": "flow.0.consent.text"' in revised["detail"]
    assert service.study.consent == "Corrected."


def test_who_leaves_between_two_blocks_comes_back_to_the_second(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 4, raters=1, flow=BEFORE_AFTER))
    person = entered(service)
    service.participants.confirm(person)
    work(service, person)
    service.participants.finish(person)
    work(service, person, pages=1)
    late(service, person)
    stranger = service.participants.enter({})
    assert service.participants.step(stranger).kind == "full", "what is judged once more is not given to others"
    service.participants.give_consent(stranger, agreed=True)
    step = service.participants.step(person)
    assert (step.kind, step.position, step.pages) == ("item", 2, 4)
    page = service.participants.page(person, 1)
    with pytest.raises(Refused):
        service.participants.submit(person, 1, honest(page), token="1.x")  # noqa: S106
    assert through(service, person).kind == "finished"
    assert len(service.researchers.corpus().judgments) == 16
    service.researchers.review_rater(service.researchers.raters()[0].rater, "excluded")
    assert [arm.answered for arm in service.researchers.overview().arms] == [0, 0]
    assert service.participants.step(stranger).kind == "consent"


@pytest.mark.parametrize("order", ["fixed", "random", "counterbalanced"])
def test_the_order_of_blocks(open_service: OpenService, tmp_path: Path, order: str) -> None:
    names = ["a", "b", "c"]
    blocks = {"order": order, "of": [{"id": name, "batch": 1} for name in names]}
    service = open_service(
        study(tmp_path, 12, raters=3, flow=["consent", {"blocks": blocks}, {"debriefing": {"text": "Bye."}}])
    )
    for _ in range(12):
        assert through(service, entered(service)).kind == "finished"
    judged = service.researchers.corpus().judgments.filter(question="warm")
    routes = Counter(tuple(part["block"]) for _, part in judged.group_by("rater", maintain_order=True))
    assert all(sorted(route) == names for route in routes)
    if order == "fixed":
        assert routes == {("a", "b", "c"): 12}
    elif order == "counterbalanced":
        assert routes == {tuple(names[n] for n in order): 2 for order in williams(3)}
    else:
        assert len(routes) > 2


def test_a_group_between_people_fills_its_blocks_evenly(open_service: OpenService, tmp_path: Path) -> None:
    blocks = {"people": "between", "of": [{"id": "a", "condition": "plain"}, {"id": "b", "condition": "fancy"}]}
    service = open_service(study(tmp_path, 3, raters=2, flow=["consent", {"blocks": blocks}]))
    for done in range(4):
        assert through(service, entered(service)).kind == "finished", done
    assert service.participants.step(service.participants.enter({})).kind == "full"
    judged = service.researchers.corpus().judgments
    assert judged.group_by("rater").agg(pl.col("block").n_unique())["block"].to_list() == [1] * 4
    assert [(arm.block, arm.answered) for arm in service.researchers.overview().arms] == [("a", 6), ("b", 6)]


def test_several_instruments_and_selections_of_items(open_service: OpenService, tmp_path: Path) -> None:
    other = {"instrument": "sentiment", "condition": "static"}
    flow = [
        "consent",
        "guidelines",
        {"block": {"id": "own", "items": {"ids": ["i001", "i002"]}}},
        {"block": {"id": "other", "items": {"where": {"text": "Text 3."}}, **other}},
        {"block": {"id": "some", "items": {"sample": 4}, "batch": 2, **other}},
    ]
    service = open_service(study(tmp_path, 12, raters=1, flow=flow))
    people, person = service.participants, entered(service)
    read = []
    while (step := people.step(person)).kind != "finished":
        if step.kind == "guidelines":
            guide = people.guide(person)
            assert guide is not None
            read.append(guide.instrument.id)
            people.confirm(person)
        elif step.kind == "review":
            people.finish(person)
        else:
            page = people.page(person, step.position)
            people.submit(person, step.position, {q.id: QuestionAnswer(1.0) for q in page.questions}, token=page.token)
    assert read == ["mine", "sentiment"], "guidelines are shown once per instrument"
    corpus = service.researchers.corpus()
    judged = corpus.judgments.filter(pl.col("question").is_in(["warm", "sentiment"]))
    by_block = {block: set(part["item"]) for (block,), part in judged.group_by("block")}
    assert by_block["own"] == {"i001", "i002"}
    assert by_block["other"] == {"i003"}
    assert len(by_block["some"]) == 2
    assert {instrument.id for instrument in corpus.instruments} == {"mine", "sentiment"}


def test_quotas_are_kept_under_load(open_service: OpenService, tmp_path: Path, database: str) -> None:
    flow = ["consent", {"questionnaire": {"questions": [GENDER]}}, {"block": {"id": "all", "batch": 2}}]
    # There are places for all at once, so that only quotas turn anybody away.
    plan = study(tmp_path, 6, raters=8, flow=flow, quotas={"gender": {"woman": 4, "man": 3}})
    service = open_service(plan, database)

    def one(number: int) -> tuple[str, str]:
        gender = ["woman", "man", "another"][number % 3]
        return gender, through(service, entered(service), {"gender": gender}).kind

    with ThreadPoolExecutor(8) as pool:
        ends = Counter(pool.map(one, range(24)))
    assert ends["woman", "finished"] == 4
    assert ends["man", "finished"] == 3
    assert ends["another", "finished"] == 8
    person = entered(service)
    step = service.participants.give_traits(person, {"gender": "man"})
    assert step.kind == service.participants.step(person).kind == "full"
    assert service.participants.give_consent(person, agreed=True).kind == "full"


def test_places_in_quotas_are_given_back(open_service: OpenService, tmp_path: Path) -> None:
    flow = ["consent", {"questionnaire": {"questions": [GENDER]}}, {"block": {"id": "all", "batch": 2}}]
    service = open_service(study(tmp_path, 4, raters=9, flow=flow, quotas={"gender": {"man": 1}}))

    def man() -> tuple[Participant, str]:
        person = entered(service)
        return person, service.participants.give_traits(person, {"gender": "man"}).kind

    first, kind = man()
    assert (kind, man()[1]) == ("item", "full")
    late(service, first)
    second, kind = man()
    assert kind == "item", "the place of somebody who is gone goes to others"
    assert service.participants.step(first).kind == "full"
    service.participants.withdraw(second)
    assert man()[1] == "item"
    held = service.database.read(lambda c: c.execute(select(func.count()).select_from(quota_places)).scalar_one())
    assert held == 1


def test_an_excluded_person_leaves_their_place_in_a_quota(open_service: OpenService, tmp_path: Path) -> None:
    flow = ["consent", {"questionnaire": {"questions": [GENDER]}}, {"block": {"id": "all", "batch": 2}}]
    service = open_service(study(tmp_path, 2, raters=9, flow=flow, quotas={"gender": {"man": 1}}))
    assert through(service, entered(service), {"gender": "man"}).kind == "finished"
    assert through(service, entered(service), {"gender": "man"}).kind == "full"
    (row,) = service.researchers.raters()
    service.researchers.review_rater(row.rater, "excluded")
    assert service.participants.give_traits(entered(service), {"gender": "man"}).kind == "item"


def test_people_who_judge_items_again_do_not_agree_with_themselves(open_service: OpenService, tmp_path: Path) -> None:
    flow = ["consent", {"block": {"id": "test"}}, {"block": {"id": "retest", "items": {"same_as": "test"}}}]
    service = open_service(study(tmp_path, 6, raters=2, flow=flow))

    def other(page: ItemPage) -> dict[str, QuestionAnswer]:
        shifted = QuestionAnswer(1.0 + (honest(page)["warm"].value or 0.0) % 5)
        return {**honest(page), "warm": shifted}

    for answer in (honest, other):
        person, step = entered(service), Step("item")
        while step.kind != "finished":
            work(service, person, answer)
            service.participants.finish(person)
            step = service.participants.step(person)
    found = service.researchers.reliability().filter(question="warm", measure="pairwise")
    assert found.select("estimate", "judgments").row(0) == (0.0, 12)


def test_time_limits_of_a_block(open_service: OpenService, tmp_path: Path) -> None:
    flow = ["consent", {"block": {"id": "all", "minutes": 5}}, {"questionnaire": {"questions": [GENDER]}}]
    service = open_service(study(tmp_path, 4, raters=1, flow=flow))
    person = entered(service)
    work(service, person, pages=1)
    page = service.participants.page(person, 2)
    assert page.seconds_left is not None
    assert 290 < page.seconds_left <= 300
    past = update(participants).values(deadline=participants.c.deadline - 311)
    service.database.write(lambda c: c.execute(past).close())
    with pytest.raises(Refused, match="time for this part is over"):
        service.participants.submit(person, 2, honest(page), token=page.token)
    assert service.participants.step(person).kind == "traits"
    assert service.researchers.overview().arms[0].free == 3, "what was not answered goes to others"
    assert through(service, person, {"gender": "man"}).kind == "finished"
    assert len(service.researchers.corpus().judgments) == 2


def test_time_limits_of_a_page(open_service: OpenService, tmp_path: Path) -> None:
    flow = ["consent", {"block": {"id": "all", "page_minutes": 1}}]
    service = open_service(study(tmp_path, 3, raters=1, flow=flow))
    person = entered(service)
    page = service.participants.page(person, 1)
    assert page.seconds_left is not None
    service.database.write(lambda c: c.execute(update(pages).values(shown_at=pages.c.shown_at - 71)).close())
    again = service.participants.page(person, 1)
    assert again.seconds_left == 0, "opening a page again does not start its clock anew"
    done = service.participants.submit(person, 1, honest(page), token=page.token)
    assert done.late
    assert (done.step.kind, done.step.position, done.step.pages) == ("item", 1, 2)
    assert service.participants.page(person, 1).record != page.record
    assert through(service, person).kind == "finished"
    assert len(service.researchers.corpus().judgments) == 4
    assert service.researchers.overview().arms[0].free == 1


def test_a_stored_study_is_the_same(open_service: OpenService, tmp_path: Path) -> None:
    from vantage.collect.study_setup import stored_study

    flow = [*BEFORE_AFTER, {"block": {"id": "other", "instrument": "sentiment", "condition": "static", "batch": 2}}]
    plan = study(tmp_path, 10, flow=flow)
    open_service(plan).close()
    found = stored_study(plan.database.removeprefix("sqlite:///"), plan.folder)
    assert found.flow == plan.flow
    assert [block.id for block in found.blocks] == ["before", "after", "other"]
    assert isinstance(found.flow.phases[-1], TaskPhase)


@pytest.mark.parametrize("distance", [0, 2, 5])
def test_orders_keep_their_distance(distance: int) -> None:
    rows = list(range(6))
    orders = [spaced(rows, 0, distance, Random(seed)) for seed in range(200)]  # noqa: S311
    for order in orders:
        assert sorted(order) == rows
        assert all(6 - place - 1 + order.index(place) >= distance for place in rows)
    assert len(set(map(tuple, orders))) == (1 if distance == 5 else len(set(map(tuple, orders))))


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_counterbalanced_orders_are_balanced(count: int) -> None:
    orders = williams(count)
    for position in range(count):
        assert set(Counter(order[position] for order in orders).values()) == {len(orders) // count}
    pairs = Counter((one, two) for order in orders for one, two in pairwise(order))
    assert len(set(pairs.values())) == 1
    assert len(pairs) == count * (count - 1)
