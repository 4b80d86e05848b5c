from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from tests.collect.conftest import OpenService
from tests.collect.people import begun, careless, honest, study, walked, work
from vantage import Corpus, Instrument
from vantage.collect import drafts
from vantage.collect.answers import checked, cleaned, read
from vantage.collect.study import AnnotationStudy
from vantage.collect.submissions import Submission, page_of, save
from vantage.collect.tables import pages, submissions
from vantage.collect.views import InvalidAnswers, QuestionAnswer, Refused, Submitted
from vantage.instruments import bundled


def test_a_double_click_counts_once(open_service: OpenService, tmp_path: Path, database: str) -> None:
    service = open_service(study(tmp_path, 3), database)
    person = begun(service)
    page = service.participants.page(person, 1)

    def click(_: int) -> tuple[int, bool]:
        done = service.participants.submit(person, 1, honest(page), token=page.token, seconds=3)
        return done.revision, done.repeated

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(click, range(8)))
    assert sorted(found) == [(1, False)] + [(1, True)] * 7
    assert len(service.database.read(lambda c: c.execute(select(submissions)).all())) == 1


def test_submissions_that_come_together_are_stored_each_for_itself(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 6, raters=4), database)
    people, everybody = service.participants, [begun(service) for _ in range(4)]
    seen = [people.page(person, 1) for person in everybody]
    ann, bob, cyd, dan = (
        Submission(who.number, *page_of(page.token), 1, page.token, checked(page.questions, honest(page)), 2.0)
        for who, page in zip(everybody, seen, strict=True)
    )
    drafts_of = drafts.item_place(dan.page)
    people.save_draft(everybody[3], drafts_of, {"a0": ["3"]})
    theirs = replace(cyd, page=bob.page)
    moved = replace(dan, position=2)
    first = service.database.write(lambda c: save(c, [ann, bob, theirs, moved], 600))
    assert [one.step.position for one in first[:2] if isinstance(one, Submitted)] == [2, 2]
    assert [one.kind for one in first[2:] if isinstance(one, Refused)] == ["unknown", "conflict"]
    assert people.page(everybody[3], 1).draft == {"a0": ["3"]}, "what was refused is not lost"
    again = service.database.write(lambda c: save(c, [ann, replace(bob, token=f"{bob.token}x"), cyd, dan], 600))
    assert [one.repeated for one in again if isinstance(one, Submitted)] == [True, True, False, False]
    assert people.page(everybody[3], 1).draft == {}
    assert [people.step(person).answered for person in everybody] == [1] * 4
    kept = service.database.read(lambda c: c.execute(select(submissions.c.page, submissions.c.revision)).all())
    assert sorted(kept) == sorted((one.page, 1) for one in (ann, bob, cyd, dan))


def test_two_tabs_and_changes_keep_every_version_and_count_the_last(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 2), database)
    person = begun(service)
    one, two = service.participants.page(person, 1), service.participants.page(person, 1)
    assert one.token != two.token
    first = service.participants.submit(person, 1, honest(one), token=one.token)
    same = service.participants.submit(person, 1, honest(two), token=two.token)
    assert (first.repeated, same.repeated, same.revision) == (False, True, 1)
    changed = service.participants.submit(
        person, 1, {"warm": QuestionAnswer(2.0), "kind": QuestionAnswer(0.0)}, token=two.token
    )
    assert (changed.repeated, changed.revision) == (False, 2)
    assert service.participants.submit(person, 1, honest(one), token=one.token).repeated, (
        "an old form sent again changes nothing"
    )
    assert service.participants.page(person, 1).earlier == {"warm": QuestionAnswer(2.0), "kind": QuestionAnswer(0.0)}
    kept = service.database.read(lambda c: c.execute(select(submissions.c.answers)).scalars().all())
    assert len(kept) == 2
    assert service.researchers.corpus().judgments.filter(question="warm")["value"].to_list() == [2.0]


def test_what_was_handed_in_cannot_be_changed(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 2))
    person = begun(service)
    page = service.participants.page(person, 1)
    with pytest.raises(Refused, match="not answered yet"):
        service.participants.finish(person)
    work(service, person)
    service.participants.finish(person)
    with pytest.raises(Refused, match="final") as error:
        service.participants.submit(person, 1, careless(page), token=page.token)
    assert error.value.kind == "conflict"


def test_pages_of_others_and_later_pages_are_out_of_reach(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 3))
    ann, bob = begun(service), begun(service)
    page = service.participants.page(ann, 1)
    with pytest.raises(Refused, match="no such page"):
        service.participants.submit(bob, 1, honest(page), token=page.token)
    for position in (0, -1, 2, 99):
        with pytest.raises(Refused):
            service.participants.page(ann, position)
    for token in ("", "x", "1" * 30, "99999.abc", f"{page.token}{'x' * 200}", "١.a"):
        with pytest.raises(Refused):
            service.participants.submit(ann, 1, honest(page), token=token)
    with pytest.raises(Refused, match="moved"):
        service.participants.submit(ann, 2, honest(page), token=page.token)


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ({}, {"warm": "Please choose an answer.", "kind": "Please choose an answer."}),
        ({"warm": QuestionAnswer(9.0), "kind": QuestionAnswer(1.0)}, {"warm": "This is not one of the answers."}),
        (
            {"warm": QuestionAnswer(float("nan")), "kind": QuestionAnswer(1.0)},
            {"warm": "This is not one of the answers."},
        ),
        (
            {"warm": QuestionAnswer(None, "ambiguous"), "kind": QuestionAnswer(1.0)},
            {"warm": "This is not one of the answers."},
        ),
        (
            {"warm": QuestionAnswer(1.0), "kind": QuestionAnswer(1.0), "x": QuestionAnswer(1.0)},
            {"x": "This question is not on the page."},
        ),
    ],
)
def test_answers_that_cannot_be_taken(
    open_service: OpenService, tmp_path: Path, replies: dict[str, QuestionAnswer], message: dict[str, str]
) -> None:
    service = open_service(study(tmp_path, 2))
    person = begun(service)
    page = service.participants.page(person, 1)
    with pytest.raises(InvalidAnswers) as found:
        service.participants.submit(person, 1, replies, token=page.token)
    assert found.value.problems == message
    assert service.participants.step(person).answered == 0


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_instrument_can_be_answered(open_service: OpenService, tmp_path: Path, name: str) -> None:
    instrument = Instrument.load(name)
    columns = [field.name for field in instrument.fields]
    rows = [{"item": f"e{n}", **{c: e.item.get(c) for c in columns}} for n, e in enumerate(instrument.examples)]
    empty = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    folder = Corpus(pl.DataFrame(rows), pl.DataFrame(schema={"rater": pl.String}), empty, instrument).write(
        tmp_path / "c"
    )
    service = open_service(AnnotationStudy.of(folder, name, attention={"per_batch": 1} if instrument.checks else None))
    person = begun(service)
    step = service.participants.step(person)
    while step.kind == "item":
        page = service.participants.page(person, step.position)
        filled = {key: str(value) for key, value in page.record.items()}
        assert all(question.wording(page.condition, **filled) for question in page.questions)
        replies = {
            q.id: QuestionAnswer(None, q.scale.opt_outs[0].status, "Because.")
            if q.scale.opt_outs
            else QuestionAnswer(q.scale.ends[0 if q.unlike else 1], rationale="Because.")
            for q in page.questions
        }
        step = service.participants.submit(person, step.position, replies, token=page.token).step
    service.participants.finish(person)
    judged = service.researchers.corpus().judgments
    assert judged["item"].n_unique() == len(rows)
    wanted = {q.id for q in instrument.questions if q.rationale != "no"}
    assert set(judged.filter(pl.col("rationale").is_not_null())["question"]) == wanted


def test_checks_and_gold_items_are_mixed_in_and_kept_apart(open_service: OpenService, tmp_path: Path) -> None:
    gold = {"per_batch": 2, "items": [{"item": f"i00{n}", "accept": {"warm": [n + 1]}} for n in range(4)]}
    plan = study(tmp_path, 30, raters=2, batch={"size": 8}, attention={"per_batch": 2}, gold=gold)
    service = open_service(plan)
    places = []
    for _ in range(4):
        person, _ = walked(service)
        mine = select(pages).where(pages.c.participant == person.number).order_by(pages.c.position)
        rows = service.database.read(lambda c, mine=mine: c.execute(mine).all())  # type: ignore[misc]
        kinds = [row.kind for row in rows]
        assert (kinds.count("item"), kinds.count("gold"), kinds.count("attention")) == (8, 2, 2)
        assert kinds[0] == "item"
        assert len({row.row for row in rows}) == 12
        places.append([position for position, kind in enumerate(kinds) if kind != "item"])
    assert len({tuple(place) for place in places}) > 1
    checks = service.researchers.checks()
    assert set(checks["kind"]) == {"attention", "gold"}
    assert checks["passed"].all()
    assert not set(service.researchers.corpus().judgments["item"]) & plan.kept_apart


def test_the_same_seed_gives_the_same_batches(open_service: OpenService, tmp_path: Path) -> None:
    def shown(seed: int, name: str) -> list[object]:
        plan = study(tmp_path, 20, order={"seed": seed}, batch={"size": 6}, attention={"per_batch": 1})
        service = open_service(plan, str(tmp_path / name))
        begun(service)
        return list(service.database.read(lambda c: c.execute(select(pages.c.row, pages.c.kind)).all()))

    assert shown(1, "a.sqlite") == shown(1, "b.sqlite") != shown(2, "c.sqlite")


def test_a_fixed_order_shows_the_order_of_the_corpus(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 5, order={"items": "fixed"}))
    person = begun(service)
    texts = []
    for position in range(1, 6):
        page = service.participants.page(person, position)
        texts.append(page.record["text"])
        service.participants.submit(person, position, honest(page), token=page.token)
    assert texts == [f"Text {n}." for n in range(5)]


@settings(max_examples=30)
@given(st.text(max_size=40))
def test_any_text_can_be_kept(text: str) -> None:
    questions = [q for q in Instrument.load("appraisals").questions if q.rationale != "no"][:1]
    if not questions:
        return
    question = questions[0]
    stored = (
        checked(questions, {question.id: QuestionAnswer(question.scale.ends[0], rationale=text or "x")})
        if cleaned(text or "x")
        else None
    )
    if stored is not None:
        assert json.loads(stored.encode("ascii"))
        reason = read(stored)[question.id].rationale
        assert reason == cleaned(text or "x")
        assert reason.encode("utf-8")
        assert "\x00" not in reason
