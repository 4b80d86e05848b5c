from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select, update

from tests.collect.conftest import OpenService
from tests.collect.people import begun, honest, ratings, study, walked, work
from vantage.collect.assignment import ArmAllocation, sweep
from vantage.collect.service import StudyService
from vantage.collect.tables import arms, pages, participants, returned
from vantage.collect.views import Participant, Refused


def late(service: StudyService, person: Participant) -> None:
    """Lets the time of somebody run out."""
    own = (participants.c.number == person.number, participants.c.lease.is_not(None))
    past = update(participants).where(*own).values(lease=time.time() - 1)
    service.database.write(lambda c: c.execute(past).close())


def test_everybody_works_until_every_item_has_its_ratings(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 10, raters=3, batch={"size": 4}), database)
    people = 0
    while service.participants.step(service.participants.enter({})).kind != "full":
        walked(service)
        people += 1
    assert set(ratings(service).values()) == {3}
    assert len(ratings(service)) == 10
    assert 8 <= people <= 10


@pytest.mark.slow
def test_100_participants_at_once_end_with_exactly_the_wanted_ratings(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 50, raters=10, batch={"size": 5}), database)

    def one(number: int) -> int:
        person = begun(service)
        done = work(service, person, pages=2 if number % 20 == 0 else None)
        if number % 20 == 0:
            service.participants.withdraw(person)
            return 0
        if service.participants.step(person).kind == "review":
            service.participants.finish(person)
        return done

    with ThreadPoolExecutor(40) as pool:
        done = sum(pool.map(one, range(100)))
    for _ in range(6):
        done += one(1)
    assert done == 500
    assert Counter(ratings(service).values()) == {10: 50}
    assert service.participants.step(service.participants.enter({})).kind == "full"


@pytest.mark.parametrize("way", ["between", "within"])
def test_conditions_are_kept_apart_and_balanced(
    open_service: OpenService, tmp_path: Path, database: str, way: str
) -> None:
    plan = study(tmp_path, 9, raters=2, batch={"size": 6}, conditions={way: ["plain", "fancy"]})
    service = open_service(plan, database)
    seen = []
    while service.participants.step(service.participants.enter({})).kind != "full":
        person, _ = walked(service)
        rows = select(pages.c.condition, pages.c.row).where(pages.c.participant == person.number)
        found = service.database.read(lambda c, rows=rows: c.execute(rows).all())  # type: ignore[misc]
        assert len({row for _, row in found}) == len(found), "an item was shown twice to one person"
        seen.append(Counter(condition for condition, _ in found))
        assert len(seen) < 30
    assert Counter(ratings(service).values()) == {2: 18}
    if way == "between":
        assert all(len(conditions) == 1 for conditions in seen)
        assert [next(iter(c)) for c in seen[:2]] in (["plain", "fancy"], ["fancy", "plain"])
    else:
        assert seen[0] == {"plain": 3, "fancy": 3}


def test_abandoned_work_goes_to_others(open_service: OpenService, tmp_path: Path, database: str) -> None:
    service = open_service(study(tmp_path, 6, raters=1, batch={"size": 6}), database)
    slow = begun(service)
    assert work(service, slow, pages=2) == 2
    stale = service.participants.page(slow, 3)
    assert service.participants.step(service.participants.enter({})).kind == "full"
    late(service, slow)
    walked(service)
    assert len(ratings(service)) == 6
    assert Counter(ratings(service).values()) == {1: 6}
    with pytest.raises(Refused, match="somebody else has this text"):
        service.participants.submit(slow, 3, honest(stale), token=stale.token)
    assert service.participants.step(slow).kind == "review", "what was answered can still be handed in"
    service.participants.finish(slow)
    assert Counter(ratings(service).values()) == {1: 6}


def test_somebody_who_comes_back_in_time_takes_up_the_same_items(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 8, raters=1, batch={"size": 4}), database)
    slow = begun(service)
    work(service, slow, pages=1)
    before = [service.participants.page(slow, 1).record, service.participants.page(slow, 2).record]
    late(service, slow)
    taker = begun(service)
    step = service.participants.step(slow)
    assert (step.kind, step.position, step.pages) == ("item", 2, 4)
    assert service.participants.page(slow, 1).record == before[0]
    work(service, slow)
    work(service, taker)
    assert service.participants.step(slow).kind == service.participants.step(taker).kind == "review"
    assert set(ratings(service).values()) == {1}


def test_an_open_page_of_somebody_late_can_still_be_sent(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 4, raters=1, batch={"size": 4}), database)
    slow = begun(service)
    page = service.participants.page(slow, 1)
    late(service, slow)
    assert service.database.write(lambda c: sweep(c, time.time())) == 1
    done = service.participants.submit(slow, 1, honest(page), token=page.token)
    assert (done.revision, done.step.kind, done.step.answered) == (1, "item", 1)
    work(service, slow)
    assert Counter(ratings(service).values()) == {1: 4}


def test_a_reservation_lasts_as_long_as_the_study_says(
    open_service: OpenService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    service = open_service(study(tmp_path, 4, raters=1, batch={"size": 4}, reserve_minutes=2))
    newcomer, slow = service.participants.enter({}), begun(service)

    def released() -> tuple[str, int]:
        """What a newcomer sees, and how many reservations have expired."""
        kind = service.participants.step(newcomer).kind
        return kind, service.database.write(lambda c: sweep(c, time.time()))

    # Reserved by the consent, then extended by each answer.
    for _ in range(2):
        now[0] += 119
        assert released() == ("full", 0)
        assert work(service, slow, pages=1) == 1
    now[0] += 119
    assert released() == ("full", 0)
    now[0] += 2
    assert released() == ("consent", 1)
    assert service.participants.step(slow).position == 3, "still free, so reserved again"
    now[0] += 119
    assert released() == ("full", 0)
    now[0] += 2
    assert released() == ("consent", 1)


@pytest.mark.parametrize(
    ("share", "items", "doubly"),
    [
        (0.25, 20, 5),
        (0.25, 10, 3),
        (0.07, 100, 7),
        (0.3, 10, 3),
        (0.31, 10, 4),
        (0.001, 10, 1),
        (1.0, 7, 7),
        (0.0, 7, 0),
    ],
)
def test_the_doubly_annotated_part_is_rounded_up_and_not_by_rounding_errors(
    share: float, items: int, doubly: int
) -> None:
    arm = ArmAllocation(range(items), raters=1, seed=1, arm=0, share=share, extra=2)
    assert arm.subset == doubly
    assert arm.count == items + 2 * doubly
    seats = Counter(arm.row(seat) for seat in range(arm.count))
    assert Counter(seats.values()) == Counter({1: items - doubly, 3: doubly}) - Counter()
    assert ArmAllocation(range(items), raters=1, seed=1, arm=0, share=share).subset == 0


@pytest.mark.slow
def test_double_annotation_of_a_subset(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 20, raters=1, double={"share": 0.25, "raters": 3}, batch={"size": 10}))
    while service.participants.step(service.participants.enter({})).kind != "full":
        walked(service)
    assert Counter(ratings(service).values()) == {1: 15, 3: 5}


def test_one_question_per_participant(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 5, raters=2, questions="one per participant", batch={"size": 5}))
    asked = []
    while service.participants.step(service.participants.enter({})).kind != "full":
        person = begun(service)
        asked.append([q.id for q in service.participants.page(person, 1).questions])
        work(service, person)
        service.participants.finish(person)
    assert sorted(asked) == [["kind"], ["kind"], ["warm"], ["warm"]]
    per_question = service.researchers.corpus().judgments.group_by("item", "question").len()
    assert set(per_question["len"]) == {2}
    assert len(per_question) == 10


def test_several_batches_of_one_person_never_repeat_an_item(open_service: OpenService, tmp_path: Path) -> None:
    plan = study(tmp_path, 7, raters=2, batch={"size": 3, "per_participant": 5}, attention={"per_batch": 1})
    service = open_service(plan)
    for _ in range(2):
        person, _ = walked(service)
        while service.participants.step(person).more:
            service.participants.another_batch(person)
            work(service, person)
            service.participants.finish(person)
    assert Counter(ratings(service).values()) == {2: 7}
    assert service.researchers.overview().participants == {"finished": 2}


@pytest.mark.slow
@settings(max_examples=20)
@given(
    items=st.integers(1, 9),
    raters=st.integers(1, 3),
    size=st.integers(1, 10),
    moves=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["work", "late", "withdraw", "arrive"])), max_size=12),
)
def test_whatever_people_do_no_item_gets_more_than_wanted(
    open_service: OpenService,
    tmp_path_factory: pytest.TempPathFactory,
    items: int,
    raters: int,
    size: int,
    moves: list[tuple[int, str]],
) -> None:
    service = open_service(study(tmp_path_factory.mktemp("any"), items, raters=raters, batch={"size": size}))
    people = [begun(service)]
    for index, move in moves:
        person = people[index % len(people)]
        if move == "arrive":
            people.append(begun(service))
        elif move == "work":
            work(service, person, pages=2)
        elif move == "late":
            late(service, person)
        else:
            service.participants.withdraw(person)
    for person in people:
        work(service, person)
    for _ in range(items * raters):
        if service.participants.step(service.participants.enter({})).kind != "full":
            walked(service)
    assert set(ratings(service).values()) == {raters}
    assert len(ratings(service)) == items

    def consistent(connection: Connection) -> bool:
        kept = connection.execute(select(func.count()).select_from(returned)).scalar_one()
        held = connection.execute(select(func.count()).where(pages.c.seat.is_not(None))).scalar_one()
        arm = connection.execute(select(arms)).one()
        return bool(arm.returned == kept and held + kept == arm.next_seat)

    assert service.database.read(consistent)
