from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from tests.collect.conftest import Open
from tests.collect.people import begun, careless, honest, study, walked, work
from vantage import Corpus, Instrument
from vantage.collect.answers import checked, cleaned, read
from vantage.collect.desk import Refused, Reply, Unanswered
from vantage.collect.study import Study
from vantage.collect.tables import pages, submissions
from vantage.instruments import bundled


def test_a_double_click_counts_once(opened: Open, tmp_path: Path, database: str) -> None:
    desk = opened(study(tmp_path, 3), database)
    person = begun(desk)
    page = desk.page(person, 1)

    def click(_: int) -> tuple[int, bool]:
        done = desk.submit(person, 1, honest(page), token=page.token, seconds=3)
        return done.revision, done.repeated

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(click, range(8)))
    assert sorted(found) == [(1, False)] + [(1, True)] * 7
    assert len(desk.store.read(lambda c: c.execute(select(submissions)).all())) == 1


def test_two_tabs_and_changes_keep_every_version_and_count_the_last(
    opened: Open, tmp_path: Path, database: str
) -> None:
    desk = opened(study(tmp_path, 2), database)
    person = begun(desk)
    one, two = desk.page(person, 1), desk.page(person, 1)
    assert one.token != two.token
    first = desk.submit(person, 1, honest(one), token=one.token)
    same = desk.submit(person, 1, honest(two), token=two.token)
    assert (first.repeated, same.repeated, same.revision) == (False, True, 1)
    changed = desk.submit(person, 1, {"warm": Reply(2.0), "kind": Reply(0.0)}, token=two.token)
    assert (changed.repeated, changed.revision) == (False, 2)
    assert desk.submit(person, 1, honest(one), token=one.token).repeated, "an old form sent again changes nothing"
    assert desk.page(person, 1).earlier == {"warm": Reply(2.0), "kind": Reply(0.0)}
    kept = desk.store.read(lambda c: c.execute(select(submissions.c.answers)).scalars().all())
    assert len(kept) == 2
    assert desk.corpus().judgments.filter(question="warm")["value"].to_list() == [2.0]


def test_what_was_handed_in_cannot_be_changed(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 2))
    person = begun(desk)
    page = desk.page(person, 1)
    with pytest.raises(Refused, match="not answered yet"):
        desk.finish(person)
    work(desk, person)
    desk.finish(person)
    with pytest.raises(Refused, match="handed in") as told:
        desk.submit(person, 1, careless(page), token=page.token)
    assert told.value.kind == "conflict"


def test_pages_of_others_and_later_pages_are_out_of_reach(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 3))
    ann, bob = begun(desk), begun(desk)
    page = desk.page(ann, 1)
    with pytest.raises(Refused, match="no such page"):
        desk.submit(bob, 1, honest(page), token=page.token)
    for position in (0, -1, 2, 99):
        with pytest.raises(Refused):
            desk.page(ann, position)
    for token in ("", "x", "1" * 30, "99999.abc", f"{page.token}{'x' * 200}", "١.a"):
        with pytest.raises(Refused):
            desk.submit(ann, 1, honest(page), token=token)
    with pytest.raises(Refused, match="moved"):
        desk.submit(ann, 2, honest(page), token=page.token)


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        ({}, {"warm": "Please choose an answer.", "kind": "Please choose an answer."}),
        ({"warm": Reply(9.0), "kind": Reply(1.0)}, {"warm": "This is not one of the answers."}),
        ({"warm": Reply(float("nan")), "kind": Reply(1.0)}, {"warm": "This is not one of the answers."}),
        ({"warm": Reply(None, "ambiguous"), "kind": Reply(1.0)}, {"warm": "This is not one of the answers."}),
        ({"warm": Reply(1.0), "kind": Reply(1.0), "x": Reply(1.0)}, {"x": "This question is not on the page."}),
    ],
)
def test_answers_that_cannot_be_taken(
    opened: Open, tmp_path: Path, replies: dict[str, Reply], told: dict[str, str]
) -> None:
    desk = opened(study(tmp_path, 2))
    person = begun(desk)
    page = desk.page(person, 1)
    with pytest.raises(Unanswered) as found:
        desk.submit(person, 1, replies, token=page.token)
    assert found.value.problems == told
    assert desk.place(person).answered == 0


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_instrument_can_be_answered(opened: Open, tmp_path: Path, name: str) -> None:
    instrument = Instrument.load(name)
    columns = [field.name for field in instrument.fields]
    rows = [{"item": f"e{n}", **{c: e.item.get(c) for c in columns}} for n, e in enumerate(instrument.examples)]
    empty = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    folder = Corpus(pl.DataFrame(rows), pl.DataFrame(schema={"rater": pl.String}), empty, instrument).write(
        tmp_path / "c"
    )
    desk = opened(Study.of(folder, name, attention={"per_batch": 1} if instrument.checks else None))
    person = begun(desk)
    place = desk.place(person)
    while place.kind == "item":
        page = desk.page(person, place.position)
        filled = {key: str(value) for key, value in page.record.items()}
        assert all(question.wording(page.condition, **filled) for question in page.questions)
        replies = {
            q.id: Reply(None, q.scale.opt_outs[0].status, "Because.")
            if q.scale.opt_outs
            else Reply(q.scale.ends[1], rationale="Because.")
            for q in page.questions
        }
        place = desk.submit(person, place.position, replies, token=page.token).place
    desk.finish(person)
    judged = desk.corpus().judgments
    assert judged["item"].n_unique() == len(rows)
    wanted = {q.id for q in instrument.questions if q.rationale != "no"}
    assert set(judged.filter(pl.col("rationale").is_not_null())["question"]) == wanted


def test_checks_and_gold_items_are_mixed_in_and_kept_apart(opened: Open, tmp_path: Path) -> None:
    gold = {"per_batch": 2, "items": [{"item": f"i00{n}", "accept": {"warm": [n + 1]}} for n in range(4)]}
    plan = study(tmp_path, 30, raters=2, batch={"size": 8}, attention={"per_batch": 2}, gold=gold)
    desk = opened(plan)
    places = []
    for _ in range(4):
        person, _ = walked(desk)
        mine = select(pages).where(pages.c.participant == person.number).order_by(pages.c.position)
        rows = desk.store.read(lambda c, mine=mine: c.execute(mine).all())  # type: ignore[misc]
        kinds = [row.kind for row in rows]
        assert (kinds.count("item"), kinds.count("gold"), kinds.count("attention")) == (8, 2, 2)
        assert kinds[0] == "item"
        assert len({row.row for row in rows}) == 12
        places.append([position for position, kind in enumerate(kinds) if kind != "item"])
    assert len({tuple(place) for place in places}) > 1
    checks = desk.checks()
    assert set(checks["kind"]) == {"attention", "gold"}
    assert checks["passed"].all()
    assert not set(desk.corpus().judgments["item"]) & set(plan.gold)


def test_the_same_seed_gives_the_same_batches(opened: Open, tmp_path: Path) -> None:
    def shown(seed: int, name: str) -> list[object]:
        plan = study(tmp_path, 20, order={"seed": seed}, batch={"size": 6}, attention={"per_batch": 1})
        desk = opened(plan, str(tmp_path / name))
        begun(desk)
        return list(desk.store.read(lambda c: c.execute(select(pages.c.row, pages.c.kind)).all()))

    assert shown(1, "a.sqlite") == shown(1, "b.sqlite") != shown(2, "c.sqlite")


def test_a_fixed_order_shows_the_order_of_the_corpus(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 5, order={"items": "fixed"}))
    person = begun(desk)
    texts = []
    for position in range(1, 6):
        page = desk.page(person, position)
        texts.append(page.record["text"])
        desk.submit(person, position, honest(page), token=page.token)
    assert texts == [f"Text {n}." for n in range(5)]


@settings(max_examples=30)
@given(st.text(max_size=40))
def test_any_text_can_be_kept(text: str) -> None:
    questions = [q for q in Instrument.load("appraisals").questions if q.rationale != "no"][:1]
    if not questions:
        return
    question = questions[0]
    stored = (
        checked(questions, {question.id: Reply(question.scale.ends[0], rationale=text or "x")})
        if cleaned(text or "x")
        else None
    )
    if stored is not None:
        assert json.loads(stored.encode("ascii"))
        reason = read(stored)[question.id].rationale
        assert reason == cleaned(text or "x")
        assert reason.encode("utf-8")
        assert "\x00" not in reason
