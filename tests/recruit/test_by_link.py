"""Recruiting by a link and a code: the same interface without a platform to call."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.collect.people import begun, careless, honest, work
from tests.recruit.world import OFFER, study_file
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.errors import InputError
from vantage.recruit.base import PaymentRequest, at_once
from vantage.recruit.by_link import LinkRecruiter
from vantage.recruit.opened import recruiter
from vantage.recruit.people import people

SONA = {
    "via": "panel",
    "parameter": "survey_code",
    "completion_url": "https://u.sona-systems.example/credit?survey_code={id}&code={code}",
    "screen_out_code": None,
    "no_consent_code": None,
    "failed_check_code": None,
    "full_code": None,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study that a panel sends people to."""
    return study_file(tmp_path, recruitment=SONA, attention={"per_batch": 2})


def test_people_bring_their_id_and_take_it_back(file: Path) -> None:
    with closing(StudyService(AnnotationStudy.load(file))) as service:
        one = recruiter(service)
        assert isinstance(one, LinkRecruiter)
        assert one.link == f"{OFFER['url']}?survey_code={{id}}"
        with pytest.raises(InputError, match="has not been set up"):
            at_once(one, "publish")
        assert one.create().places == 4
        at_once(one, "publish")
        assert one.state().status == "open"
        ann = begun(service, {"survey_code": "s1"})
        work(service, ann)
        assert service.participants.finish(ann).redirect == (
            "https://u.sona-systems.example/credit?survey_code=s1&code=DONE"
        )
        again = service.participants.enter({"survey_code": "s1"})
        assert again.number == ann.number


def test_the_offer_needs_minutes(tmp_path: Path) -> None:
    file = study_file(tmp_path, {"minutes": None}, recruitment=SONA)
    with (
        closing(StudyService(AnnotationStudy.load(file))) as service,
        pytest.raises(InputError, match="how long the study takes; add 'minutes'"),
    ):
        recruiter(service)


def test_a_worker_with_two_assignments_is_paid_once(tmp_path: Path) -> None:
    none = dict.fromkeys(("screen_out_code", "no_consent_code", "failed_check_code", "full_code"))
    file = study_file(tmp_path, recruitment={"via": "mturk", **none})
    with closing(StudyService(AnnotationStudy.load(file))) as service:
        one = LinkRecruiter(service)
        one.create()
        person = begun(service, {"workerId": "w", "assignmentId": "a1", "hitId": "h"})
        assert service.participants.enter({"workerId": "w", "assignmentId": "a2", "hitId": "h"}) == person
        work(service, person)
        service.participants.finish(person)
        paid = at_once(one, "approve")
        assert (len(paid.paid), paid.amount) == (1, 150)
        assert (one.state().finished, at_once(one, "top-up").paid) == (1, ())


def test_payments_are_listed_once_and_proposals_wait(file: Path) -> None:
    with closing(StudyService(AnnotationStudy.load(file))) as service:
        one = LinkRecruiter(service)
        one.create()
        for name, answer in (("s1", honest), ("s2", careless)):
            person = begun(service, {"survey_code": name})
            work(service, person, answer)
            service.participants.finish(person)
        plan = one.plan(PaymentRequest("approve"))
        (line,) = plan.lines
        service.researchers.review_rater(line.rater, "excluded", "a mistake")
        assert (one.carry_out(plan).paid, {*one.carry_out(plan).refused}) == ((), {line.rater})
        service.researchers.review_rater(line.rater, "pending")
        paid = at_once(one, "approve")
        assert (len(paid.paid), paid.amount) == (1, 150)
        assert at_once(one, "approve").paid == ()
        (proposal,) = one.proposals()
        assert "attention" in proposal.reason
        rater = paid.paid[0]
        assert at_once(one, "bonus", {rater: 40}, "fast").paid == (rater,)
        assert at_once(one, "bonus", {rater: 40}, "fast").before == (rater,)
        for amount, name, problem in (
            (50, "fast", "is 0.40, not 0.50"),
            (0, "fast", "more than 0"),
            (9, "", "no name"),
        ):
            with pytest.raises(InputError, match=problem):
                at_once(one, "bonus", {rater: amount}, name)
        with pytest.raises(InputError, match="no participant 'x'"):
            at_once(one, "bonus", {"x": 40}, "fast")
        at_once(one, "reject", {proposal.submission: 0})
        assert one.proposals() == []
        assert at_once(one, "approve").paid == ()
        assert [person.why for person in people(service, "panel") if person.verdict == "excluded"] == [
            "rejected on the platform"
        ]
        with pytest.raises(InputError, match="is paid already"):
            at_once(one, "reject", {rater: 0})
        state = one.state()
        assert (state.paid, state.bonuses, state.finished, state.currency) == (150, 40, 2, "GBP")
        assert at_once(one, "top-up").amount == 150  # the seats of the one who was rejected
        assert at_once(one, "top-up").paid == ()
        at_once(one, "publish")
        assert one.stop().status == "paused"
