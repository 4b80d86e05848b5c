"""Recruiting by a link and a code, for platforms without an API: Connect, SONA, panels, a mailing list.

It has the interface of every recruiter. What a person must do on the platform comes back as instructions, and payments
are recorded in the ledger as the researcher makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from vantage.collect.entry import platform
from vantage.collect.service import StudyService
from vantage.errors import InputError
from vantage.recruit.base import Paid, Proposal, Recruited
from vantage.recruit.draft import offer_of, reward
from vantage.recruit.ledger import Act, RecruitmentLedger
from vantage.recruit.people import Person, failed_checks, open_batches, people


class LinkRecruiter:
    """The recruiter of a study whose participants bring an id in their link and leave with a code."""

    def __init__(self, service: StudyService) -> None:
        self.service, self.source = service, service.study.plan.recruitment.via
        self.offer = offer_of(service.study)
        self.ledger = RecruitmentLedger(service.database.private.sql)
        if self.offer.minutes is None:
            raise InputError("The offer does not say how long the study takes", remedy="add 'minutes' to 'offer'")
        self.reward = reward(self.offer, self.offer.minutes, {})

    @property
    def link(self) -> str:
        """The address to give the platform; it fills in the person's id."""
        name = platform(self.service.study.plan.recruitment)[0]
        return self.offer.url + (f"?{name}=" + "{id}" if name else "")

    def create(self) -> Recruited:
        """Notes the number of places, one for each open batch."""
        self._once("create", self.offer.places or max(open_batches(self.service), 1))
        return self.state()

    def publish(self) -> Recruited:
        """Opens the study here; the link is put on the platform by hand."""
        self._require_created()
        self.service.researchers.pause(False)
        self._once("publish", 0)
        return self.state()

    def state(self) -> Recruited:
        """The state as far as it is known here."""
        everyone = self._people()
        minutes = [person.minutes for person in everyone if person.minutes]
        paid = {act: sum(one.amount for one in self.ledger.all(act) if one.state == "done") for act in _PAYING}
        stages = [person.stage.replace("_", " ") for person in everyone]
        return Recruited(
            platform=self.source,
            study=self.service.study.id if self.ledger.last("create") else "",
            status=self._status(),
            places=sum(one.amount for one in self.ledger.all("create", "top-up")),
            submissions={stage: stages.count(stage) for stage in dict.fromkeys(stages)},
            open_batches=open_batches(self.service),
            finished=stages.count("finished"),
            reward=self.reward,
            paid=paid["approve"],
            bonuses=paid["bonus"],
            currency=self.offer.currency,
            hourly=self.reward / 100 / median(minutes) * 60 if minutes else None,
            link=self.link,
        )

    def top_up(self) -> int:
        """How many more people the platform should send; that many places are noted."""
        self._require_created()
        offered = sum(one.amount for one in self.ledger.all("create", "top-up"))
        taken = sum(person.seated for person in self._people())
        more = open_batches(self.service) - max(offered - taken, 0)
        if more > 0:
            number = len(self.ledger.all("top-up"))
            self.ledger.note("top-up", f"top-up:{number}", "done", study=self.service.study.id, amount=more)
        return max(more, 0)

    def approve(self) -> Paid:
        """Whom to pay on the platform now: those who finished, passed the checks and are not excluded."""
        self._require_created()
        waiting = {proposal.submission for proposal in self.proposals()}
        before = {one.submission for one in self.ledger.all("approve")}
        ready = [
            person.rater
            for person in self._people()
            if person.stage == "finished" and person.verdict != "excluded" and person.rater not in waiting | before
        ]
        for rater in ready:
            self._pay("approve", f"approve:{rater}", rater, self.reward)
        return Paid(tuple(ready), tuple(sorted(before)), amount=self.reward * len(ready))

    def proposals(self) -> list[Proposal]:
        """Finished participants who failed checks, or were excluded."""
        failed = failed_checks(self.service)
        proposed = []
        for person in self._people():
            reason = failed.get(person.rater, "") if person.verdict == "pending" else ""
            reason = f"excluded: {person.why or 'no reason given'}" if person.verdict == "excluded" else reason
            if reason and person.stage == "finished":
                proposed.append(Proposal(person.rater, person.rater, reason))
        return proposed

    def reject(self, submissions: Sequence[str], category: str, reason: str) -> None:
        """Records that these were rejected on the platform."""
        for id_ in self._known(submissions):
            line = {"reason": reason, "as": category}
            self.ledger.note("reject", f"reject:{id_}", "done", submission=id_, detail=line)

    def bonus(self, amounts: Mapping[str, int], name: str) -> Paid:
        """Records bonuses to pay on the platform; the same name is recorded for nobody twice."""
        known = self._known(list(amounts))
        new = [id_ for id_ in known if self._pay("bonus", f"bonus:{name}:{id_}", id_, amounts[id_])]
        before = tuple(id_ for id_ in amounts if id_ not in new)
        return Paid(tuple(new), before, amount=sum(amounts[id_] for id_ in new))

    def stop(self) -> Recruited:
        """Pauses the study here, so that nobody new begins."""
        self._require_created()
        self.service.researchers.pause(True)
        return self.state()

    def close(self) -> None:
        """There is no connection to close."""

    def _status(self) -> str:
        if self.ledger.last("create") is None:
            return "not created"
        if self.ledger.last("publish") is None:
            return "draft"
        return "paused" if self.service.database.paused else "open"

    def _once(self, act: Act, amount: int) -> None:
        self.ledger.note(act, act, "done", study=self.service.study.id, amount=amount)

    def _pay(self, act: Act, key: str, rater: str, amount: int) -> bool:
        study, currency = self.service.study.id, self.offer.currency
        return self.ledger.note(act, key, "done", study=study, submission=rater, amount=amount, currency=currency)

    def _people(self) -> list[Person]:
        """The participants, each once, however often they came."""
        return list({person.rater: person for person in people(self.service, self.source)}.values())

    def _known(self, ids: Sequence[str]) -> Sequence[str]:
        known = {person.rater for person in self._people()}
        for id_ in ids:
            if id_ not in known:
                raise InputError(f"The study has no participant '{id_}'", remedy="use the names of the dashboard")
        return ids

    def _require_created(self) -> None:
        if self.ledger.last("create") is None:
            raise InputError("Recruiting has not been set up yet", remedy="run: vantage collect recruit create")


_PAYING: tuple[Act, ...] = ("approve", "bonus")
