"""What became of a submission: a rule for every status, code and person, each of which decides about pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.recruit.world import CODES
from vantage.collect.document import RecruitmentPart
from vantage.recruit.people import Person
from vantage.recruit.prolific import ProlificSubmission
from vantage.recruit.standing import SubmissionStanding, standings

PLAN = RecruitmentPart.model_validate({"via": "prolific", **CODES})
ANN = Person(1, "p-ann", "ann", "finished", "pending", "", True, 5.0)
DONE = ProlificSubmission("s1", "ann", "AWAITING REVIEW", "s", "DONE", "2026-01-01", "2026-01-02")


def one(
    submission: ProlificSubmission, person: Person | None = ANN, failed: Mapping[str, str] | None = None
) -> SubmissionStanding:
    """The standing of one submission."""
    people = {} if person is None else {person.platform_id: person}
    return standings([submission], people, PLAN, failed or {})[0]


@pytest.mark.parametrize(
    ("status", "code", "stage", "standing", "reason"),
    [
        ("AWAITING REVIEW", "DONE", "finished", "to pay", ""),
        ("AWAITING REVIEW", "OTHER", "finished", "to review", "finished here, but left with the code 'OTHER'"),
        ("AWAITING REVIEW", None, "finished", "to review", "finished here, but left with no code"),
        ("AWAITING REVIEW", "OUT", "finished", "to review", "finished here, but left with the code 'OUT'"),
        ("AWAITING REVIEW", "DONE", "item", "to review", "left with the code 'DONE', but is at 'item' here"),
        ("AWAITING REVIEW", "FULL", "full", "to review", "left with the code 'FULL', but is at 'full' here"),
        ("AWAITING REVIEW", "OUT", "screened_out", "left", "left with the code 'OUT'"),
        ("AWAITING REVIEW", "NO", "declined", "left", "left with the code 'NO'"),
        ("APPROVED", "DONE", "finished", "paid", ""),
        ("PARTIALLY APPROVED", "DONE", "finished", "paid", ""),
        ("ACTIVE", None, "item", "at work", ""),
        ("RESERVED", None, "consent", "at work", ""),
        ("ACTIVE", None, "finished", "at work", "finished here, and has not entered the code yet"),
        ("REJECTED", "DONE", "finished", "left", "rejected on the platform"),
        ("RETURNED", "DONE", "finished", "left", "returned the submission on the platform"),
        ("TIMED-OUT", None, "item", "left", "ran out of time on the platform"),
        (
            "TIMED-OUT",
            None,
            "finished",
            "to review",
            "finished here when the platform's time was over, and is not paid",
        ),
        ("SCREENED OUT", None, "item", "to review", "is 'screened out' on the platform"),
    ],
)
def test_every_ending_has_a_rule(status: str, code: str | None, stage: str, standing: str, reason: str) -> None:
    seen = one(replace(DONE, status=status, code=code), replace(ANN, stage=stage))
    assert (seen.standing, seen.reason) == (standing, reason)
    assert seen.rejectable == (status == "AWAITING REVIEW")


def test_a_verdict_decides() -> None:
    failed = {"p-ann": "failed 2 of 2 attention checks"}
    assert one(DONE, replace(ANN, verdict="excluded", why="no reasons")).reason == "excluded: no reasons"
    assert one(DONE, replace(ANN, verdict="excluded")).reason == "excluded: no reason given"
    assert one(DONE, failed=failed).reason == "failed 2 of 2 attention checks"
    approved = replace(ANN, verdict="approved")
    assert one(DONE, approved, failed).standing == "to pay"
    assert one(replace(DONE, code="DOEN"), approved).standing == "to pay"
    assert one(DONE, replace(approved, stage="item")).standing == "to review"


def test_no_code_is_not_the_code_of_those_who_left_where_the_study_has_none() -> None:
    plain = RecruitmentPart.model_validate({"via": "prolific", "completion_code": "DONE"})
    (seen,) = standings([replace(DONE, code=None)], {"ann": replace(ANN, stage="item")}, plain, {})
    assert (seen.standing, seen.reason) == ("to review", "left with no code, but is at 'item' here")


def test_nobody_is_paid_for_a_submission_of_somebody_else() -> None:
    assert one(DONE, None).reason == "left with the code 'DONE', and nobody with this id agreed to take part"
    # The link named a submission of ann, but the platform says whose it is.
    thief = replace(ANN, platform_id="eve", rater="p-eve")
    hers, his = standings([DONE], {"eve": thief}, PLAN, {})
    assert (hers.standing, hers.rater) == ("to review", "")
    assert (his.submission, his.rater, his.standing) == ("", "p-eve", "to review")
    assert "has no submission of this person" in his.reason
    assert not his.rejectable
    gone = {"eve": replace(thief, stage="withdrawn")}
    assert [seen.rater for seen in standings([DONE], gone, PLAN, {})] == [""]


def test_a_person_is_paid_for_one_submission() -> None:
    again = replace(DONE, id="s2", completed_at="2026-01-03")
    first, second = standings([again, DONE], {"ann": ANN}, PLAN, {})
    assert (first.submission, first.standing) == ("s1", "to pay")
    assert (second.standing, second.reason) == ("to review", "second submission of this person, beside s1")
    paid = replace(again, status="APPROVED")
    assert {seen.submission: seen.standing for seen in standings([DONE, paid], {"ann": ANN}, PLAN, {})} == {
        "s2": "paid",
        "s1": "to review",
    }
    returned = replace(DONE, status="RETURNED")
    assert [seen.standing for seen in standings([returned, again], {"ann": ANN}, PLAN, {})] == ["left", "to pay"]


def test_a_rejection_that_was_begun_holds_the_pay_back() -> None:
    (seen,) = standings([DONE], {"ann": ANN}, PLAN, {}, frozenset(["s1"]))
    assert seen.standing == "to review"
    assert "reject it again, or cancel" in seen.reason


def test_what_a_rejection_that_was_begun_does_not_change() -> None:
    rejected = replace(DONE, status="REJECTED")
    (seen,) = standings([rejected], {"ann": ANN}, PLAN, {}, frozenset(["s1"]))
    assert (seen.standing, seen.reason) == ("left", "rejected on the platform")


def test_what_is_paid_stays_paid_whoever_it_was() -> None:
    assert one(replace(DONE, status="APPROVED"), None).standing == "paid"
    both = [replace(DONE, status="APPROVED"), replace(DONE, id="s2", status="APPROVED")]
    assert [seen.standing for seen in standings(both, {"ann": ANN}, PLAN, {})] == ["paid", "paid"]


def test_a_submission_without_an_end_comes_after_those_that_have_one() -> None:
    open_ = replace(DONE, id="s0", status="ACTIVE", code=None, completed_at=None, started_at="2025-01-01")
    seen = standings([open_, DONE], {"ann": ANN}, PLAN, {})
    assert [(one.submission, one.standing) for one in seen] == [("s1", "to pay"), ("s0", "at work")]
