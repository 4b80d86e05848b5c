"""A small study that recruits on a fake Prolific, and participants who walk it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.collect.people import careless, corpus, honest, instrument, work
from tests.recruit.fake import serving
from tests.recruit.platform import WholeProlific
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.documents import dump
from vantage.recruit.base import Paid, PaidAct, PaymentRequest
from vantage.recruit.on_prolific import ProlificRecruiter
from vantage.recruit.prolific import ProlificClient

OFFER: dict[str, Any] = {
    "url": "https://study.example",
    "description": "Judge some sentences.",
    "hourly_pay": 9.0,
    "currency": "GBP",
    "minutes": 10,
}
CODES = {
    "completion_code": "DONE",
    "screen_out_code": "OUT",
    "no_consent_code": "NO",
    "failed_check_code": "FAILED",
    "full_code": "FULL",
}


def study_file(folder: Path, offer: dict[str, Any] | None = None, **plan: Any) -> Path:
    """A study file for Prolific: 12 items, 2 raters each, batches of 6, so 4 batches."""
    corpus(folder)
    (folder / "mine.yaml").write_text(dump(dict(instrument().document)), encoding="utf-8")
    recruitment = {"via": "prolific", **CODES, "offer": {**OFFER, **(offer or {})}, **plan.pop("recruitment", {})}
    data = {"id": "mine", "title": "My study", "corpus": "corpus", "instrument": "mine.yaml", "raters": 2}
    data |= {"batch": {"size": 6}, "order": {"items": "fixed"}, **plan, "recruitment": recruitment}
    file = folder / "study.yaml"
    file.write_text(dump(data), encoding="utf-8")
    return file


def at_once(one: ProlificRecruiter, act: PaidAct, amounts: Mapping[str, int] | None = None, name: str = "") -> Paid:
    """Plans and carries out, whatever the plan says."""
    return one.carry_out(one.plan(PaymentRequest(act, amounts or {}, name)))


@dataclass
class World:
    """A study, its platform, and the recruiter between them."""

    fake: WholeProlific
    address: str
    service: StudyService
    recruiter: ProlificRecruiter
    waits: list[float]

    @property
    def study(self) -> str:
        """The id of the study on Prolific."""
        return self.recruiter.state().study

    def opened(self) -> str:
        """Creates and publishes the study."""
        self.recruiter.create()
        at_once(self.recruiter, "publish")
        return self.study

    def approve(self) -> Paid:
        """Pays those who finished."""
        return at_once(self.recruiter, "approve")

    def bonus(self, amounts: dict[str, int], name: str, *, resend: bool = False) -> Paid:
        """Pays a bonus."""
        return self.recruiter.carry_out(self.recruiter.plan(PaymentRequest("bonus", amounts, name, resend)))

    def reject(self, submission: str, category: str, reason: str) -> Paid:
        """Rejects a submission."""
        request = PaymentRequest("reject", {submission: 0}, category=category, reason=reason)
        return self.recruiter.carry_out(self.recruiter.plan(request))

    def top_up(self) -> int:
        """Offers more places; how many."""
        before = self.recruiter.state().places
        at_once(self.recruiter, "top-up")
        return self.recruiter.state().places - before

    def arrive(self, name: str) -> tuple[str, Any]:
        """Somebody takes a place and agrees: their submission and the participant."""
        started = self.fake.start(self.study, name)
        assert started is not None, "no place is left"
        submission, url = started
        params = dict(one.split("=", 1) for one in url.partition("?")[2].split("&"))
        person = self.service.participants.enter(params)
        if self.service.participants.give_consent(person, agreed=True).kind == "guidelines":
            self.service.participants.confirm(person)
        return submission, person

    def finish(self, name: str, *, well: bool = True) -> str:
        """Somebody does it all and leaves with the code."""
        submission, person = self.arrive(name)
        work(self.service, person, honest if well else careless)
        path = self.service.participants.finish(person)
        assert path.code is not None
        self.fake.complete(submission, path.code)
        return submission

    def free(self) -> int:
        """Seats that nobody has."""
        return sum(arm.free for arm in self.service.researchers.overview().arms)


@contextmanager
def world(folder: Path, offer: dict[str, Any] | None = None, **plan: Any) -> Iterator[World]:
    """A study on a fake Prolific."""
    fake, waits = WholeProlific(), list[float]()
    service = StudyService(AnnotationStudy.load(study_file(folder, offer, **plan)))
    try:
        with serving(fake.app()) as address:
            client = ProlificClient(fake.token, address, sleep=waits.append)
            yield World(fake, address, service, ProlificRecruiter(service, client, lambda: 7.0), waits)
            client.close()
    finally:
        service.close()
