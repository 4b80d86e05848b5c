from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select, update

from tests.collect.conftest import Open
from tests.collect.people import begun, honest, ratings, study, walked, work
from vantage.collect.assignment import sweep
from vantage.collect.desk import Desk, Participant, Refused
from vantage.collect.tables import arms, pages, participants, returned


def late(desk: Desk, person: Participant) -> None:
    """Lets the time of somebody run out."""
    own = (participants.c.number == person.number, participants.c.lease.is_not(None))
    past = update(participants).where(*own).values(lease=time.time() - 1)
    desk.store.write(lambda c: c.execute(past).close())


def test_everybody_works_until_every_item_has_its_ratings(opened: Open, tmp_path: Path, database: str) -> None:
    desk = opened(study(tmp_path, 10, raters=3, batch={"size": 4}), database)
    people = 0
    while desk.place(desk.arrive({})).kind != "full":
        walked(desk)
        people += 1
    assert set(ratings(desk).values()) == {3}
    assert len(ratings(desk)) == 10
    assert 8 <= people <= 10


def test_200_participants_at_once_end_with_exactly_the_wanted_ratings(
    opened: Open, tmp_path: Path, database: str
) -> None:
    desk = opened(study(tmp_path, 100, raters=10, batch={"size": 5}), database)

    def one(number: int) -> int:
        person = begun(desk)
        done = work(desk, person, pages=2 if number % 20 == 0 else None)
        if number % 20 == 0:
            desk.withdraw(person)
            return 0
        if desk.place(person).kind == "review":
            desk.finish(person)
        return done

    with ThreadPoolExecutor(40) as pool:
        done = sum(pool.map(one, range(200)))
    for _ in range(12):
        done += one(1)
    assert done == 1000
    assert Counter(ratings(desk).values()) == {10: 100}
    assert desk.place(desk.arrive({})).kind == "full"


@pytest.mark.parametrize("way", ["between", "within"])
def test_conditions_are_kept_apart_and_balanced(opened: Open, tmp_path: Path, database: str, way: str) -> None:
    plan = study(tmp_path, 9, raters=2, batch={"size": 6}, conditions={way: ["plain", "fancy"]})
    desk = opened(plan, database)
    seen = []
    while desk.place(desk.arrive({})).kind != "full":
        person, _ = walked(desk)
        rows = select(pages.c.condition, pages.c.row).where(pages.c.participant == person.number)
        found = desk.store.read(lambda c, rows=rows: c.execute(rows).all())  # type: ignore[misc]
        assert len({row for _, row in found}) == len(found), "an item was shown twice to one person"
        seen.append(Counter(condition for condition, _ in found))
        assert len(seen) < 30
    assert Counter(ratings(desk).values()) == {2: 18}
    if way == "between":
        assert all(len(conditions) == 1 for conditions in seen)
        assert [next(iter(c)) for c in seen[:2]] in (["plain", "fancy"], ["fancy", "plain"])
    else:
        assert seen[0] == {"plain": 3, "fancy": 3}


def test_abandoned_work_goes_to_others(opened: Open, tmp_path: Path, database: str) -> None:
    desk = opened(study(tmp_path, 6, raters=1, batch={"size": 6}), database)
    slow = begun(desk)
    assert work(desk, slow, pages=2) == 2
    stale = desk.page(slow, 3)
    assert desk.place(desk.arrive({})).kind == "full"
    late(desk, slow)
    walked(desk)
    assert len(ratings(desk)) == 6
    assert Counter(ratings(desk).values()) == {1: 6}
    with pytest.raises(Refused, match="given to somebody else"):
        desk.submit(slow, 3, honest(stale), token=stale.token)
    assert desk.place(slow).kind == "review", "what was answered can still be handed in"
    desk.finish(slow)
    assert Counter(ratings(desk).values()) == {1: 6}


def test_somebody_who_comes_back_in_time_takes_up_the_same_items(opened: Open, tmp_path: Path, database: str) -> None:
    desk = opened(study(tmp_path, 8, raters=1, batch={"size": 4}), database)
    slow = begun(desk)
    work(desk, slow, pages=1)
    before = [desk.page(slow, 1).record, desk.page(slow, 2).record]
    late(desk, slow)
    taker = begun(desk)
    place = desk.place(slow)
    assert (place.kind, place.position, place.pages) == ("item", 2, 4)
    assert desk.page(slow, 1).record == before[0]
    work(desk, slow)
    work(desk, taker)
    assert desk.place(slow).kind == desk.place(taker).kind == "review"
    assert set(ratings(desk).values()) == {1}


def test_an_open_page_of_somebody_late_can_still_be_sent(opened: Open, tmp_path: Path, database: str) -> None:
    desk = opened(study(tmp_path, 4, raters=1, batch={"size": 4}), database)
    slow = begun(desk)
    page = desk.page(slow, 1)
    late(desk, slow)
    assert desk.store.write(lambda c: sweep(c, time.time())) == 1
    done = desk.submit(slow, 1, honest(page), token=page.token)
    assert (done.revision, done.place.kind, done.place.answered) == (1, "item", 1)
    work(desk, slow)
    assert Counter(ratings(desk).values()) == {1: 4}


def test_double_annotation_of_a_subset(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 20, raters=1, double={"share": 0.25, "raters": 3}, batch={"size": 10}))
    while desk.place(desk.arrive({})).kind != "full":
        walked(desk)
    assert Counter(ratings(desk).values()) == {1: 15, 3: 5}


def test_one_question_per_participant(opened: Open, tmp_path: Path) -> None:
    desk = opened(study(tmp_path, 5, raters=2, questions="one per participant", batch={"size": 5}))
    asked = []
    while desk.place(desk.arrive({})).kind != "full":
        person = begun(desk)
        asked.append([q.id for q in desk.page(person, 1).questions])
        work(desk, person)
        desk.finish(person)
    assert sorted(asked) == [["kind"], ["kind"], ["warm"], ["warm"]]
    per_question = desk.corpus().judgments.group_by("item", "question").len()
    assert set(per_question["len"]) == {2}
    assert len(per_question) == 10


def test_several_batches_of_one_person_never_repeat_an_item(opened: Open, tmp_path: Path) -> None:
    plan = study(tmp_path, 7, raters=2, batch={"size": 3, "per_participant": 5}, attention={"per_batch": 1})
    desk = opened(plan)
    for _ in range(2):
        person, _ = walked(desk)
        while desk.place(person).more:
            desk.another_batch(person)
            work(desk, person)
            desk.finish(person)
    assert Counter(ratings(desk).values()) == {2: 7}
    assert desk.overview().participants == {"finished": 2}


@settings(max_examples=20)
@given(
    items=st.integers(1, 9),
    raters=st.integers(1, 3),
    size=st.integers(1, 10),
    moves=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["work", "late", "withdraw", "arrive"])), max_size=12),
)
def test_whatever_people_do_no_item_gets_more_than_wanted(
    opened: Open,
    tmp_path_factory: pytest.TempPathFactory,
    items: int,
    raters: int,
    size: int,
    moves: list[tuple[int, str]],
) -> None:
    desk = opened(study(tmp_path_factory.mktemp("any"), items, raters=raters, batch={"size": size}))
    people = [begun(desk)]
    for index, move in moves:
        person = people[index % len(people)]
        if move == "arrive":
            people.append(begun(desk))
        elif move == "work":
            work(desk, person, pages=2)
        elif move == "late":
            late(desk, person)
        else:
            desk.withdraw(person)
    for person in people:
        work(desk, person)
    for _ in range(items * raters):
        if desk.place(desk.arrive({})).kind != "full":
            walked(desk)
    assert set(ratings(desk).values()) == {raters}
    assert len(ratings(desk)) == items

    def consistent(connection: Connection) -> bool:
        kept = connection.execute(select(func.count()).select_from(returned)).scalar_one()
        held = connection.execute(select(func.count()).where(pages.c.seat.is_not(None))).scalar_one()
        arm = connection.execute(select(arms)).one()
        return bool(arm.returned == kept and held + kept == arm.next_seat)

    assert desk.store.read(consistent)
