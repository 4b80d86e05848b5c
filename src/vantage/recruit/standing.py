"""What the status of a submission means: for its pay, for the seats and answers of its participant, for the dashboard.

Every submission has one standing, whatever became of it, and so has everybody who is here without a submission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from vantage.collect.document import RecruitmentPart
from vantage.recruit.people import Person
from vantage.recruit.prolific import ProlificSubmission

Standing = Literal["at work", "to pay", "to review", "paid", "left"]
PAID: Final = ("APPROVED", "PARTIALLY APPROVED")
OUT: Final[Mapping[str, str]] = {
    "REJECTED": "rejected on the platform",
    "RETURNED": "returned the submission on the platform",
}
"""Statuses of submissions that are not paid, and the rule by which their answers are excluded and seats given away."""
GONE: Final = (*OUT, "TIMED-OUT")
"""Statuses of submissions whose participants are not expected back."""


@dataclass(frozen=True, slots=True)
class SubmissionStanding:
    """A submission, whose it is, and what is to be done about it; without one, somebody whom the platform misses."""

    submission: str
    rater: str
    status: str
    standing: Standing
    reason: str = ""

    @property
    def rejectable(self) -> bool:
        """Whether the submission awaits review, so that it can be rejected."""
        return self.status == "AWAITING REVIEW"


def standings(
    submissions: Sequence[ProlificSubmission],
    people: Mapping[str, Person],
    recruitment: RecruitmentPart,
    failed: Mapping[str, str],
    rejecting: frozenset[str] = frozenset(),
) -> list[SubmissionStanding]:
    """The standing of every submission, and of people without one.

    `people` are participants by their id on the platform, `failed` the checks that raters failed, and `rejecting`
    submissions whose rejection was begun and is not confirmed.
    """
    known = []
    settled: dict[str, str] = {}
    """The submission for which each rater is paid."""
    # Those that are paid come first, then those that were completed first: a person is paid for one submission.
    order = sorted(submissions, key=lambda one: (one.status not in PAID, one.completed_at or "~", one.started_at))
    for one in order:
        person = people.get(one.participant)
        standing, reason = _standing(one, person, recruitment, failed)
        if standing == "to pay" and one.id in rejecting:
            standing, reason = "to review", "its rejection has started and is not confirmed: reject it again, or cancel"
        if person is not None and standing in ("to pay", "paid"):
            first = settled.setdefault(person.rater, one.id)
            if standing == "to pay" and first != one.id:
                standing, reason = "to review", f"second submission of this person, beside {first}"
        known.append(SubmissionStanding(one.id, person.rater if person else "", one.status, standing, reason))
    came = {one.participant for one in submissions}
    for platform_id, person in people.items():
        if platform_id not in came and person.stage != "withdrawn":
            reason = f"the platform has no submission of this person, who is at '{person.stage}' here"
            known.append(SubmissionStanding("", person.rater, "", "to review", reason))
    return known


def _standing(
    one: ProlificSubmission, person: Person | None, recruitment: RecruitmentPart, failed: Mapping[str, str]
) -> tuple[Standing, str]:
    finished = person is not None and person.stage == "finished"
    if one.status in PAID:
        return "paid", ""
    if one.status in ("RESERVED", "ACTIVE"):
        return "at work", "finished here, and has not entered the code yet" if finished else ""
    if one.status in OUT:
        return "left", OUT[one.status]
    if one.status == "TIMED-OUT":
        if finished:
            return "to review", "finished here when the platform's time was over, and is not paid"
        return "left", "ran out of time on the platform"
    if one.status != "AWAITING REVIEW":
        return "to review", f"is '{one.status.lower()}' on the platform"
    return _awaiting_review(one, person, recruitment, failed)


def _awaiting_review(
    one: ProlificSubmission, person: Person | None, recruitment: RecruitmentPart, failed: Mapping[str, str]
) -> tuple[Standing, str]:
    finished = person is not None and person.stage == "finished"
    code = f"the code '{one.code}'" if one.code else "no code"
    if one.code and one.code in (recruitment.no_consent_code, recruitment.screen_out_code) and not finished:
        return "left", f"left with {code}"
    if person is None:  # of those who decline, nothing is kept
        return "to review", f"left with {code}, and nobody with this id agreed to take part"
    if person.verdict == "excluded":
        return "to review", f"excluded: {person.why or 'no reason given'}"
    if not finished:
        return "to review", f"left with {code}, but is at '{person.stage}' here"
    if person.verdict == "approved":  # the researcher has looked at them
        return "to pay", ""
    if one.code != recruitment.completion_code:
        return "to review", f"finished here, but left with {code}"
    if person.rater in failed:
        return "to review", failed[person.rater]
    return "to pay", ""
