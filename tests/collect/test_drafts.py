"""Drafts and reservations: kept while people work, deleted when they are done, never taken for answers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from tests.collect.conftest import OpenService
from tests.collect.people import begun, honest, study, work
from vantage.collect import assignment, drafts
from vantage.collect import tables as t
from vantage.collect.service import StudyService
from vantage.collect.submissions import page_of
from vantage.collect.views import Participant, Refused


@pytest.fixture
def service(tmp_path: Path, database: str, open_service: OpenService) -> StudyService:
    return open_service(study(tmp_path, 4, raters=1, batch={"size": 2}, reserve_minutes=10), database)


def stored(service: StudyService) -> int:
    count: int = service.database.read(lambda c: c.execute(select(func.count()).select_from(t.drafts)).scalar_one())
    return count


def let_pass(service: StudyService, person: Participant, seconds: float) -> None:
    """The reservation is some seconds older."""
    own = update(t.participants).where(t.participants.c.number == person.number)
    service.database.write(lambda c: c.execute(own.values(lease=t.participants.c.lease - seconds)))


def save(service: StudyService, person: Participant, position: int, **fields: list[str]) -> float | None:
    page = service.participants.page(person, position)
    place = drafts.item_place(page_of(page.token)[0])
    return service.participants.save_draft(person, place, fields, token=page.token)


def test_a_draft_comes_back_until_the_page_is_sent(service: StudyService) -> None:
    people, person = service.participants, begun(service)
    assert save(service, person, 1, a0=["3"], r0=["because", "of"]) == pytest.approx(600)
    assert save(service, person, 1, a0=["4"], r0=["because"]) == pytest.approx(600)
    page = people.page(person, 1)
    assert page.draft == {"a0": ["4"], "r0": ["because"]}
    assert page.earlier == {}
    assert len(service.researchers.corpus().judgments) == 0
    people.submit(person, 1, honest(page), token=page.token)
    assert people.page(person, 1).draft == {}
    # One that was on its way when the page was sent comes too late.
    place = drafts.item_place(page_of(page.token)[0])
    assert people.save_draft(person, place, {"a0": ["1"]}, token=page.token) == pytest.approx(600)
    assert people.page(person, 1).draft == {}
    # What is changed on a page that was sent before is a draft again.
    save(service, person, 1, a0=["1"])
    assert people.page(person, 1).draft == {"a0": ["1"]}
    assert people.page(person, 1).earlier == honest(page)


def test_finishing_and_withdrawing_delete_every_draft(service: StudyService) -> None:
    ann, bob = begun(service), begun(service)
    for person in (ann, bob):
        save(service, person, 1, a0=["3"])
    assert stored(service) == 2
    service.participants.withdraw(bob)
    work(service, ann)
    save(service, ann, 2, a0=["3"])
    assert stored(service) == 1
    service.participants.finish(ann)
    assert stored(service) == 0
    for person in (ann, bob):
        assert service.participants.save_draft(person, "traits", {"t0": ["x"]}) is None
    assert stored(service) == 0


def test_a_draft_that_is_too_large_is_not_kept(service: StudyService) -> None:
    person = begun(service)
    save(service, person, 1, r0=["x" * (drafts.LARGEST + 1)])
    assert stored(service) == 0


def test_activity_keeps_the_reservation(service: StudyService) -> None:
    people, person = service.participants, begun(service)
    let_pass(service, person, 590)
    assert people.step(person).left == pytest.approx(10, abs=2)
    assert people.save_draft(person, "", {}) == pytest.approx(600)
    assert people.step(person).left == pytest.approx(600, abs=2)
    assert people.page(person, 1).left == pytest.approx(600, abs=2)


def test_an_expired_reservation_is_not_brought_back_silently(service: StudyService) -> None:
    people, ann = service.participants, begun(service)
    page = people.page(ann, 1)
    let_pass(service, ann, 601)
    service.database.write(lambda c: assignment.sweep(c, time.time()))
    place = drafts.item_place(page_of(page.token)[0])
    assert people.save_draft(ann, place, {"a0": ["3"]}) == 0
    for _ in range(2):
        work(service, begun(service))
    with pytest.raises(Refused, match="somebody else has this text now") as refused:
        people.submit(ann, 1, honest(page), token=page.token)
    assert refused.value.heading == "Somebody else has this text now"
    step = people.step(ann)
    assert (step.kind, step.lapsed) == ("full", True)
