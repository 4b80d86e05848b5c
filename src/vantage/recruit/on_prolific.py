"""Recruiting on Prolific. Every call that costs money is written to the ledger first and compared with Prolific after.

Bonuses are the delicate part: setting one up pays nothing, but paying is not idempotent and takes effect minutes later.
So `paying` is durable before the one call that pays; from then on the bonus is never paid again by itself, and counts
as done only when Prolific shows it among the submission's bonuses.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import median
from typing import Any, Final, get_args

from vantage.collect.service import StudyService
from vantage.errors import InputError, nearest
from vantage.recruit.base import Paid, Proposal, Recruited
from vantage.recruit.draft import edits, offer_of, study_fields
from vantage.recruit.ledger import RecruitmentEntry, RecruitmentLedger
from vantage.recruit.people import RETURNED, Person, failed_checks, free_seats, open_batches, people
from vantage.recruit.prolific import (
    GONE,
    PER_BONUS,
    TAKEN,
    Category,
    PlatformStudy,
    ProlificClient,
    ProlificSubmission,
    UncertainCall,
)

CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
SHORTEST_REASON: Final = 100
"""Characters that Prolific asks for in the message of a rejection."""
Attempts = Mapping[str, list[RecruitmentEntry]]
"""The entries of each key of the ledger."""
RUNNING: Final = ("PUBLISHING", "ACTIVE", "PAUSED", "AWAITING REVIEW", "COMPLETED")


class ProlificRecruiter:
    """The recruiter of a study whose participants come from Prolific.

    `forecast` gives the minutes that the study takes, where the study file does not; it is asked only for a new draft.
    """

    def __init__(self, service: StudyService, client: ProlificClient, forecast: Callable[[], float]) -> None:
        self.service, self.client, self._forecast = service, client, forecast
        self.ledger = RecruitmentLedger(service.database.private.sql)
        if service.study.plan.recruitment.via != "prolific":
            raise InputError(
                f"The study '{service.study.id}' does not recruit on Prolific", remedy="write 'via: prolific'"
            )
        self.offer = offer_of(service.study)

    def create(self) -> Recruited:
        """Sets up a draft, which nobody sees until it is published; a draft that exists is kept."""
        if self._study_id is None:
            # Tells databases of the same study apart, without giving the key away.
            fingerprint = hashlib.sha256(self.service.database.secret("recruiting")).hexdigest()[:12]
            name = f"vantage:{self.service.study.id}:{fingerprint}"
            minutes = self.offer.minutes or self._forecast()
            fields = study_fields(self.service.study, name, minutes, max(open_batches(self.service), 1))
            self.ledger.note("create", name, "intent", detail=fields)
            # A call that was cut off may have created it.
            made = self._drafted(name) or self._created(fields, name)
            currency = self.client.cost(made.id, projected=True).currency
            if currency and currency != self.offer.currency:
                self.client.delete_study(made.id)
                raise InputError(
                    f"The account pays in {currency}, but the study file says {self.offer.currency}",
                    remedy=f"write 'currency: {currency}' and an hourly pay in it; no study was created",
                )
            self.ledger.note("create", name, "done", study=made.id, detail=fields)
        return self.state()

    def publish(self) -> Recruited:
        """Publishes the draft, or starts a paused study again."""
        shown = self._checked()
        if shown.status not in ("UNPUBLISHED", "PAUSED"):
            return self.state()
        key = f"publish:{shown.id}:{len(self.ledger.all('publish'))}"
        self.ledger.note("publish", key, "intent", study=shown.id)
        self.client.transition_study(shown.id, "PUBLISH" if shown.status == "UNPUBLISHED" else "START")
        self.ledger.note("publish", key, "done", study=shown.id)
        return self.state()

    def state(self) -> Recruited:
        """The state on Prolific, after returned and timed-out submissions have freed their seats."""
        if self._study_id is None:
            return Recruited("prolific", "", "not created", 0, open_batches=open_batches(self.service))
        shown = self.client.study(self._study_id)
        submissions = self.poll()
        self._reconcile(submissions)
        cost = self.client.cost(shown.id)
        finished = {id_ for id_, person in self._people().items() if person.stage == "finished"}
        minutes = [taken for one in submissions if one.id in finished and (taken := _minutes(one))]
        return Recruited(
            platform="prolific",
            study=shown.id,
            status=shown.status,
            places=shown.places,
            submissions=dict(Counter(one.status for one in submissions)),
            open_batches=open_batches(self.service),
            finished=len(finished),
            reward=shown.reward,
            paid=cost.rewards,
            bonuses=cost.bonuses,
            fees=cost.fees + cost.tax,
            currency=cost.currency or self.offer.currency,
            hourly=shown.reward / 100 / median(minutes) * 60 if minutes else None,
            edits=tuple(edits(self._known, shown.shown)),
            unconfirmed=tuple(sorted(self.ledger.unfinished("bonus"))),
        )

    def poll(self) -> list[ProlificSubmission]:
        """All submissions, after each has been taken over."""
        submissions = self.client.submissions(self._require_study())
        self._take_over(submissions)
        return submissions

    def event(self, submission: str) -> bool:
        """Takes over one submission that Prolific says has changed; false where it belongs to another study.

        What Prolific shows now counts, not what the event said: events come late, twice and in any order.
        """
        one = self.client.submission(submission)
        if one.study != self._study_id:
            return False
        known = self._people()
        rater = known[one.id].rater if one.id in known else None
        others = [id_ for id_, person in known.items() if person.rater == rater and id_ != one.id]
        self._take_over([one, *(self.client.submission(id_) for id_ in others)])
        return True

    def accept_edits(self) -> None:
        """Takes what the website shows as what was meant."""
        shown = self.client.study(self._require_study())
        kept = {name: shown.shown.get(name, value) for name, value in self._known.items()}
        key = f"accept:{len(self.ledger.all('accept'))}"
        self.ledger.note("accept", key, "done", study=shown.id, detail=kept)

    def top_up(self) -> int:
        """Raises the number of places so that every open batch finds a participant; how many places were added."""
        shown = self._checked()
        submissions = self.poll()
        seated = {id_ for id_, person in self._people().items() if person.seated}
        coming = sum(one.status in ("RESERVED", "ACTIVE") and one.id not in seated for one in submissions)
        unused = shown.places - sum(one.status in TAKEN for one in submissions)
        more = open_batches(self.service) - coming - unused
        if more <= 0:
            return 0
        if shown.status not in RUNNING:
            raise InputError("The study is not published", remedy="publish it first: vantage collect prolific publish")
        total = shown.places + more
        key = f"top-up:{shown.id}:{total}"
        self.ledger.note("top-up", key, "intent", study=shown.id)
        # The number is absolute, so that sending it twice adds nothing.
        self.client.update_study(shown.id, {"total_available_places": total})
        fields = {**self._known, "total_available_places": total}
        self.ledger.note("top-up", key, "done", study=shown.id, detail=fields)
        return more

    def approve(self) -> Paid:
        """Approves, and so pays, those who finished here, left with the right code and are not excluded.

        Those who failed checks wait for the researcher, who approves or excludes them on the dashboard.
        """
        submissions = {one.id: one for one in self.poll()}
        self._reconcile(list(submissions.values()))
        waiting = {proposal.submission for proposal in self._proposed(submissions)}
        ready = [
            id_
            for id_, person in self._people().items()
            if (one := submissions.get(id_)) is not None
            and one.status == "AWAITING REVIEW"
            and one.code == self.service.study.plan.recruitment.completion_code
            and person.stage == "finished"
            and person.verdict != "excluded"
            and id_ not in waiting
        ]
        reward = self.client.study(self._require_study()).reward
        for id_ in ready:
            # An intent of a run that was killed stands already; approving twice pays once.
            self.ledger.note("approve", f"approve:{id_}", "intent", **self._line(id_, reward))
        if ready:
            self.client.approve(ready)
        self._reconcile(self.client.submissions(self._require_study()))
        approved = {entry.submission for entry in self.ledger.all("approve") if entry.state == "done"}
        paid = tuple(id_ for id_ in ready if id_ in approved)
        late = tuple(id_ for id_ in ready if id_ not in approved)
        return Paid(paid, tuple(sorted(approved - {*paid})), late, reward * len(paid))

    def proposals(self) -> list[Proposal]:
        """Submissions awaiting review whose participants failed checks, are excluded, or never came or finished."""
        return self._proposed({one.id: one for one in self.poll()})

    def reject(self, submissions: Sequence[str], category: str, reason: str) -> None:
        """Rejects submissions that await review, with the message that their participants read."""
        if category not in CATEGORIES:
            raise InputError(f"Prolific has no category '{category}'", remedy=nearest(category, CATEGORIES))
        if len(reason.strip()) < SHORTEST_REASON:
            raise InputError(
                f"The reason has {len(reason.strip())} characters, and Prolific asks for {SHORTEST_REASON}",
                remedy="explain to the participant what was wrong",
            )
        shown = {one.id: one for one in self.poll()}
        self._check_known(submissions, shown)
        for id_ in submissions:
            if shown[id_].status != "AWAITING REVIEW":
                status = shown[id_].status.lower()
                raise InputError(f"The submission {id_} is {status}", remedy="reject those that await review")
        known = next(one for one in CATEGORIES if one == category)
        for id_ in submissions:
            detail = {"reason": reason, "as": category}
            line: dict[str, Any] = {"study": self._require_study(), "submission": id_, "detail": detail}
            self.ledger.note("reject", f"reject:{id_}", "intent", **line)
            self.client.reject(id_, known, reason.strip())
            self.ledger.note("reject", f"reject:{id_}", "done", **line)

    def bonus(self, amounts: Mapping[str, int], name: str) -> Paid:
        """Pays each submission this bonus once, whatever happens in between; bonuses have names so that it can."""
        if any(amount <= 0 for amount in amounts.values()):
            raise InputError("A bonus must be more than 0", remedy="give an amount such as 0.50")
        self._check_known(list(amounts), {one.id: one for one in self.poll()})
        states = self.ledger.states("bonus")
        keys = {_attempt(f"bonus:{name}:{id_}", states): id_ for id_ in amounts}
        for key, id_ in keys.items():
            self._check_new(name, id_, amounts[id_], key, states)
        before = tuple(id_ for key, id_ in keys.items() if key in states and states[key][-1].state == "done")
        for key, id_ in keys.items():
            if key not in states:
                had = Counter(self.client.submission(id_).bonuses)[amounts[id_]]
                self.ledger.note("bonus", key, "intent", **self._line(id_, amounts[id_]), detail={"had": had})
        self._pay()
        self._reconcile_bonuses()
        ended = {entry.key for entry in self.ledger.all("bonus") if entry.state == "done"}
        paid = tuple(id_ for key, id_ in keys.items() if key in ended and id_ not in before)
        late = tuple(id_ for key, id_ in keys.items() if key not in ended)
        return Paid(paid, before, late, sum(amounts[id_] for id_ in paid))

    def resend(self, submission: str, name: str) -> Paid:
        """Pays a bonus again of which the researcher has seen on the website that it was not paid."""
        self._reconcile_bonuses()
        key = _attempt(f"bonus:{name}:{submission}", self.ledger.states("bonus"))
        entries = self.ledger.unfinished("bonus").get(key)
        if entries is None or entries[-1].state != "paying":
            raise InputError(f"The bonus '{name}' of {submission} is not waiting for Prolific", remedy="see its status")
        self.ledger.note(
            "bonus", key, "failed", **self._line(submission, entries[0].amount), detail={"by": "researcher"}
        )
        return self.bonus({submission: entries[0].amount}, name)

    def stop(self) -> Recruited:
        """Stops recruiting; those who are at work may finish and are paid."""
        shown = self.client.study(self._require_study())
        if shown.status in ("ACTIVE", "PAUSED", "PUBLISHING"):
            key = f"stop:{shown.id}:{len(self.ledger.all('stop'))}"
            self.ledger.note("stop", key, "intent", study=shown.id)
            self.client.transition_study(shown.id, "STOP")
            self.ledger.note("stop", key, "done", study=shown.id)
        return self.state()

    def close(self) -> None:
        """Closes the connections to Prolific."""
        self.client.close()

    def _people(self) -> dict[str, Person]:
        """The participants whom Prolific sent, by submission."""
        return {person.submission: person for person in people(self.service, "prolific")}

    @property
    def _study_id(self) -> str | None:
        made = self.ledger.last("create")
        return made.study if made else None

    @property
    def _known(self) -> Mapping[str, Any]:
        """The fields as we last set or accepted them."""
        last = self.ledger.last("create", "top-up", "accept")
        return last.detail if last else {}

    def _require_study(self) -> str:
        if self._study_id is None:
            raise InputError(
                "The study has no draft on Prolific yet", remedy="create it with: vantage collect prolific create"
            )
        return self._study_id

    def _checked(self) -> PlatformStudy:
        """The study on Prolific, which must be as we left it."""
        shown = self.client.study(self._require_study())
        if changed := edits(self._known, shown.shown):
            raise InputError(
                f"The study was changed on Prolific's website ({'; '.join(changed)}), and nothing was overwritten",
                remedy="pass --accept-edits to go on with what the website shows",
            )
        return shown

    def _drafted(self, name: str) -> PlatformStudy | None:
        """The study with this internal name, where there is one."""
        known = next((id_ for id_, internal in self.client.studies() if internal == name), None)
        return self.client.study(known) if known else None

    def _created(self, fields: Mapping[str, Any], name: str) -> PlatformStudy:
        try:
            return self.client.create_study(fields)
        except UncertainCall:
            if (made := self._drafted(name)) is None:
                raise InputError("Prolific has a fault, and no study was created", remedy="try again later") from None
            return made

    def _line(self, submission: str, amount: int) -> dict[str, Any]:
        study, currency = self._require_study(), self.offer.currency
        return {"study": study, "submission": submission, "amount": amount, "currency": currency}

    def _take_over(self, submissions: Sequence[ProlificSubmission]) -> None:
        """What the status of submissions means for the seats of their participants, who may have come again."""
        known = self._people()
        statuses: dict[str, set[str]] = {}
        for one in submissions:
            if one.id in known:
                statuses.setdefault(known[one.id].rater, set()).add(one.status)
        for person in {person.rater: person for person in known.values()}.values():
            seen = statuses.get(person.rater, set())
            if not seen or person.stage == "withdrawn":
                continue
            if not seen <= {*GONE}:
                if person.verdict == "excluded" and person.why == RETURNED:
                    # The platform says that the submission counts after all.
                    self.service.researchers.review_rater(person.rater, "pending")
            elif "RETURNED" in seen and person.verdict != "excluded":
                # The answers stay in the export, marked: they were not paid for, so that no measure uses them.
                self.service.researchers.review_rater(person.rater, "excluded", rule=RETURNED)
            elif "TIMED-OUT" in seen and person.stage != "finished":
                free_seats(self.service, person)

    def _proposed(self, submissions: Mapping[str, ProlificSubmission]) -> list[Proposal]:
        known, failed = self._people(), failed_checks(self.service)
        plan = self.service.study.plan.recruitment
        done, leaving = plan.completion_code, {plan.no_consent_code, plan.screen_out_code, plan.full_code} - {None}
        proposed = []
        for one in submissions.values():
            person = known.get(one.id)
            if one.status != "AWAITING REVIEW":
                continue
            if person is None:  # of those who decline, nothing is kept
                reason = "" if one.code in leaving else "nobody with this submission agreed to take part"
            elif person.verdict == "excluded":
                reason = f"excluded: {person.why or 'no reason given'}"
            elif one.code == done and person.stage != "finished":
                reason = f"left with the code of those who finished, but is at '{person.stage}'"
            else:
                reason = failed.get(person.rater, "") if person.verdict == "pending" else ""
            if reason:
                proposed.append(Proposal(one.id, person.rater if person else "", reason))
        return proposed

    def _check_known(self, submissions: Sequence[str], shown: Mapping[str, ProlificSubmission]) -> None:
        for id_ in submissions:
            if id_ not in shown:
                raise InputError(f"The study has no submission '{id_}'", remedy="see vantage collect prolific status")

    def _reconcile(self, submissions: Sequence[ProlificSubmission]) -> None:
        """Ends what a killed run has begun, where Prolific shows that it happened."""
        status = {one.id: one.status for one in submissions}
        for key, entries in self.ledger.unfinished("approve").items():
            first = entries[0]
            if status.get(first.submission) == "APPROVED":
                self.ledger.note("approve", key, "done", **self._line(first.submission, first.amount))
        self._reconcile_bonuses()

    def _check_new(self, name: str, submission: str, amount: int, key: str, attempts: Attempts) -> None:
        """Refuses a bonus that has another amount than before, or that could not be told from one under way."""
        earlier = attempts.get(key)
        if earlier and earlier[0].amount != amount:
            raise InputError(
                f"The bonus '{name}' of {submission} is {earlier[0].amount / 100:.2f}, not {amount / 100:.2f}",
                remedy="give another bonus another name",
            )
        if earlier is None:
            same = [one for one in attempts.values() if (one[0].submission, one[0].amount) == (submission, amount)]
            if any(one[-1].state == "paying" for one in same):
                raise InputError(
                    f"Another bonus of {amount / 100:.2f} for {submission} is not confirmed yet",
                    remedy="wait until Prolific shows it, or give another amount",
                )

    def _pay(self) -> None:
        """Pays every bonus that is intended and whose payment was certainly never sent."""
        while unpaid := [
            entries[0] for entries in self.ledger.unfinished("bonus").values() if entries[-1].state == "intent"
        ]:
            # A submission is paid once per call, so bonuses of different names go in different calls.
            amounts = {entry.submission: entry for entry in reversed(unpaid)}
            group = list(amounts.values())[:PER_BONUS]
            amount_of = {entry.submission: entry.amount for entry in group}
            payment = self.client.set_up_bonuses(self._require_study(), amount_of)
            paying = [
                replace(entry, at=time.time(), state="paying", detail={**entry.detail, "payment": payment})
                for entry in group
            ]
            # Where another process was quicker with one of them, none is ours, and what is left is set up anew.
            if not self.ledger.note_all(paying):
                continue
            try:
                self.client.pay_bonuses(payment)
            except UncertainCall:
                continue  # it counts as paid when Prolific shows it
            except InputError as refusal:
                self.ledger.note_all([replace(entry, state="failed", detail={"why": str(refusal)}) for entry in paying])
                raise

    def _reconcile_bonuses(self) -> None:
        """Marks bonuses as paid that Prolific shows on their submissions."""
        waiting: dict[str, list[RecruitmentEntry]] = {}
        for entries in self.ledger.unfinished("bonus").values():
            if entries[-1].state == "paying":
                waiting.setdefault(entries[0].submission, []).append(entries[0])
        for submission, intents in waiting.items():
            shown = Counter(self.client.submission(submission).bonuses)
            for intent in intents:
                if shown[intent.amount] > intent.detail.get("had", 0):
                    self.ledger.note("bonus", intent.key, "done", **self._line(submission, intent.amount))


def _attempt(key: str, attempts: Attempts) -> str:
    """The key of the present attempt at a payment: the first that has not failed."""
    number = 1
    while (tried := key if number == 1 else f"{key}#{number}") in attempts and attempts[tried][-1].state == "failed":
        number += 1
    return tried


def _minutes(one: ProlificSubmission) -> float | None:
    """How long a submission took."""
    if one.status not in ("AWAITING REVIEW", "APPROVED") or not one.completed_at:
        return None
    begin, end = (datetime.fromisoformat(at) for at in (one.started_at, one.completed_at))
    return (end - begin).total_seconds() / 60
