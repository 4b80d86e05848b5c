"""Recruiting by a link and a code, for platforms without an API: Connect, SONA, panels, a mailing list.

It has the interface of every recruiter. What a person must do on the platform comes back as instructions, and payments
are recorded in the ledger as the researcher makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from vantage.collect.entry import platform
from vantage.collect.service import StudyService
from vantage.errors import InputError
from vantage.recruit.base import (
    CHANGED,
    Paid,
    PaymentLine,
    PaymentPlan,
    PaymentRequest,
    Proposal,
    Recruited,
    check_bonus,
)
from vantage.recruit.draft import offer_of, reward
from vantage.recruit.ledger import Act, RecruitmentLedger
from vantage.recruit.people import Person, failed_checks, open_batches, people
from vantage.recruit.standing import OUT


class LinkRecruiter:
    """The recruiter of a study whose participants bring an id in their link and leave with a code."""

    def __init__(self, service: StudyService) -> None:
        self.service, self.source = service, service.study.plan.recruitment.via
        self.offer = offer_of(service.study)
        self.ledger = RecruitmentLedger(service.database.private.sql, service.researchers.by)
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
        places = self.offer.places or max(open_batches(self.service), 1)
        self.ledger.note("create", "create", "done", study=self.service.study.id, amount=places)
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
            places=self._places,
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

    def proposals(self) -> list[Proposal]:
        """Finished participants who failed checks, or were excluded."""
        failed = failed_checks(self.service)
        proposed = []
        for person in self._people():
            reason = failed.get(person.rater, "") if person.verdict == "pending" else ""
            reason = f"excluded: {person.why or 'no reason given'}" if person.verdict == "excluded" else reason
            if reason and person.stage == "finished" and person.why != OUT["REJECTED"]:
                proposed.append(Proposal(person.rater, person.rater, reason))
        return proposed

    def plan(self, request: PaymentRequest) -> PaymentPlan:
        """What to do on the platform by hand, as a list."""
        self._require_created()
        act, known = request.act, {person.rater: person for person in self._people()}
        before: list[str] = []
        if act in ("publish", "top-up"):
            places = self._places if act == "publish" else self._missing()
            number = len(self.ledger.all(act))
            note = f"{places} places at {self.reward / 100:.2f} each"
            lines = [PaymentLine(f"{act}:{number}", "", places * self.reward, note=note)] if places else []
            return PaymentPlan(request, tuple(lines), self.offer.currency)
        if act == "bonus":
            check_bonus(request)
        wanted = dict.fromkeys(self._payable(), self.reward) if act == "approve" else request.amounts
        done = {entry.key: entry for entry in self.ledger.all(act)}
        lines = []
        for rater, amount in wanted.items():
            if rater not in known:
                raise InputError(f"The study has no participant '{rater}'", remedy="use the names of the dashboard")
            key = f"bonus:{request.name}:{rater}" if act == "bonus" else f"{act}:{rater}"
            if (entry := done.get(key)) is None:
                lines.append(PaymentLine(key, rater, amount, rater))
            elif act == "bonus" and entry.amount != amount:
                raise InputError(
                    f"The bonus '{request.name}' of {rater} is {entry.amount / 100:.2f}, not {amount / 100:.2f}",
                    remedy="give another bonus another name",
                )
            else:
                before.append(rater)
        if act == "reject" and (paid := {one.submission for one in self.ledger.all("approve")} & {*request.amounts}):
            raise InputError(f"{min(paid)} is paid already", remedy="reject those who are not paid")
        return PaymentPlan(request, tuple(lines), self.offer.currency, tuple(before))

    def carry_out(self, plan: PaymentPlan) -> Paid:
        """Records the lines that are still due as done by hand, and no other."""
        due, request = set(self.plan(plan.request).lines), plan.request
        for line in plan.lines:
            if request.act == "reject" and line in due:
                self.service.researchers.review_rater(line.rater, "excluded", request.reason, OUT["REJECTED"])
        done = [line for line in plan.lines if line in due and self._record(request, line)]
        refused = {line.submission or line.key: CHANGED for line in plan.lines if line not in done}
        if request.act == "publish":
            self.service.researchers.pause(False)
        paid, amount = tuple(line.submission or line.key for line in done), sum(line.amount for line in done)
        return Paid(paid, plan.before, refused=refused, amount=amount)

    def cancel(self, keys: Sequence[str]) -> None:
        """Nothing waits for an end here: what is recorded is done."""
        raise InputError(f"Nothing under '{keys[0]}' waits for an end", remedy="see the ledger")

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

    @property
    def _places(self) -> int:
        """Places offered so far."""
        return sum(one.amount for one in self.ledger.all("create", "top-up"))

    def _missing(self) -> int:
        """Open batches for which no place is offered."""
        taken = sum(person.seated for person in self._people())
        return max(open_batches(self.service) - max(self._places - taken, 0), 0)

    def _payable(self) -> list[str]:
        """Those who finished, passed the checks and are not excluded."""
        waiting = {proposal.submission for proposal in self.proposals()}
        own = [person for person in self._people() if person.stage == "finished" and person.verdict != "excluded"]
        return [person.rater for person in own if person.rater not in waiting]

    def _record(self, request: PaymentRequest, line: PaymentLine) -> bool:
        # Of places, their number is recorded; of payments, their amount.
        amount = self._missing() if request.act == "top-up" else 0 if request.act == "publish" else line.amount
        detail = {"reason": request.reason, "as": request.category} if request.act == "reject" else {}
        study, currency = self.service.study.id, self.offer.currency
        return self.ledger.note(
            request.act,
            line.key,
            "done",
            study=study,
            submission=line.submission,
            amount=amount,
            currency=currency,
            detail=detail,
        )

    def _people(self) -> list[Person]:
        """The participants, each once, however often they came."""
        return list({person.rater: person for person in people(self.service, self.source)}.values())

    def _require_created(self) -> None:
        if self.ledger.last("create") is None:
            raise InputError("Recruiting has not been set up yet", remedy="run: vantage collect recruit create")


_PAYING: tuple[Act, ...] = ("approve", "bonus")
