"""Recruiting on Prolific. Whatever decides about money is a plan first, and is carried out as exactly that plan.

Every call that costs money is written to the ledger first and compared with Prolific after. Bonuses are the delicate
part: setting one up pays nothing, but paying is not idempotent and takes effect minutes later. So `paying` is durable
before the one call that pays; from then on the bonus is never paid again by itself, and counts as done only when
Prolific shows it among the submission's bonuses.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any, Final, cast, get_args

from vantage.collect.service import StudyService
from vantage.errors import InputError, nearest
from vantage.recruit.base import CHANGED, Paid, PaymentLine, PaymentPlan, PaymentRequest, Recruited
from vantage.recruit.draft import offer_of, study_fields
from vantage.recruit.ledger import ENDS, Act, RecruitmentEntry, RecruitmentLedger, State
from vantage.recruit.people import failed_checks, free_seats, open_batches, people_by_id
from vantage.recruit.prolific import (
    PER_APPROVAL,
    PER_BONUS,
    TAKEN,
    Category,
    PlatformStudy,
    ProlificClient,
    ProlificSubmission,
    RefusedCall,
    UncertainCall,
    prolific_client,
)
from vantage.recruit.standing import GONE, OUT, PAID, SubmissionStanding, standings

CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
SHORTEST_REASON: Final = 100
"""Characters that Prolific asks for in the message of a rejection."""
RUNNING: Final = ("PUBLISHING", "ACTIVE", "PAUSED", "AWAITING REVIEW", "COMPLETED")
Submissions = Sequence[ProlificSubmission]
Due = tuple[Sequence[PaymentLine], tuple[str, ...], tuple[str, ...]]
"""What a request comes to: its lines, submissions that have this payment already, and those whose payment was sent."""
BEGUN: Final[tuple[Act, ...]] = ("publish", "top-up", "approve", "reject", "bonus")
"""Acts whose entries must come to an end."""


class ProlificRecruiter:
    """The recruiter of a study whose participants come from Prolific.

    `forecast` gives the minutes that the study takes, where the study file does not; it is asked only for a new draft.
    """

    def __init__(self, service: StudyService, client: ProlificClient, forecast: Callable[[], float]) -> None:
        self.service, self.client, self._forecast = service, client, forecast
        self.ledger = RecruitmentLedger(service.database.private.sql, service.researchers.by)
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
            made = self._drafted(name)
            if made is None:
                try:
                    made = self.client.create_study(fields)
                except UncertainCall as why:
                    if (made := self._drafted(name)) is None:
                        problem = "Prolific answered with an error, and no study was created"
                        raise InputError(problem, remedy="try again later") from why
            currency = self.client.cost(made.id, projected=True).currency
            if currency and currency != self.offer.currency:
                self.client.delete_study(made.id)
                raise InputError(
                    f"The account pays in {currency}, but the study file says {self.offer.currency}",
                    remedy=f"write 'currency: {currency}' and an hourly pay in it; no study was created",
                )
            self.ledger.note("create", name, "done", study=made.id, detail=fields)
        return self.state()

    def state(self) -> Recruited:
        """The state on Prolific, after what became of submissions has been taken over."""
        if self._study_id is None:
            return Recruited("prolific", "", "not created", 0, open_batches=open_batches(self.service))
        submissions = self.poll()
        shown = self._reconcile(submissions)
        cost = self.client.cost(shown.id)
        finished = [person for person in people_by_id(self.service).values() if person.stage == "finished"]
        minutes = [person.minutes for person in finished if person.minutes]
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
            unconfirmed=tuple(sorted(self.ledger.unfinished(*BEGUN))),
            differences=tuple(self._differences(submissions, cost.bonuses)),
        )

    def poll(self) -> list[ProlificSubmission]:
        """All submissions, after each has been taken over."""
        submissions = self.client.submissions(self._require_study())
        self._take_over(submissions)
        return submissions

    def proposals(self) -> list[SubmissionStanding]:
        """Whom to look at: submissions that are neither paid nor left, and people without a submission."""
        return [one for one in self._standings(self.poll()) if one.standing == "to review"]

    def plan(self, request: PaymentRequest) -> PaymentPlan:
        """What a request comes to, as a list, after what became of submissions has been taken over."""
        submissions = self.poll()
        shown = self._reconcile(submissions)
        plan = {
            "publish": self._plan_publishing,
            "top-up": self._plan_places,
            "approve": self._plan_approval,
            "bonus": self._plan_bonuses,
            "reject": self._plan_rejection,
        }[request.act]
        lines, before, unconfirmed = plan(request, shown, submissions)
        return PaymentPlan(request, tuple(lines), self.offer.currency, before, unconfirmed)

    def carry_out(self, plan: PaymentPlan) -> Paid:
        """Carries out the lines of a plan that are still due, and no other."""
        due = set(self.plan(plan.request).lines)
        lines = [line for line in plan.lines if line in due]
        refused = {line.submission or line.key: CHANGED for line in plan.lines if line not in due}
        act = plan.request.act
        if act in ("publish", "top-up"):
            self._offer_places(act, lines)
        elif act == "approve":
            refused |= self._in_parts(act, lines, PER_APPROVAL, self._approve)
        elif act == "bonus":
            refused |= self._in_parts(act, lines, PER_BONUS, self._pay_bonuses)
        else:
            refused |= self._in_parts(act, lines, 1, partial(self._reject, plan.request))
        self._reconcile(self.poll())
        ended, done, late = self.ledger.states(act), [], []
        for line in lines:
            last = ended[line.key][-1].state if line.key in ended else "failed"
            if last == "done":
                done.append(line)
            elif last in ENDS:
                refused.setdefault(line.submission or line.key, CHANGED)
            else:
                late.append(line.submission or line.key)
        amount = sum(line.amount for line in done)
        paid = tuple(line.submission or line.key for line in done)
        return Paid(paid, plan.before, (*plan.unconfirmed, *late), refused, amount)

    def cancel(self, keys: Sequence[str]) -> None:
        """Gives up what was begun and has no end, after a last look at what Prolific shows."""
        self._reconcile(self.poll())
        begun = self.ledger.unfinished(*BEGUN)
        for key in keys:
            if key not in begun:
                raise InputError(f"There is no open payment '{key}'", remedy="use a key that status lists")
        for key in keys:
            self.ledger.end(begun[key], "cancelled", by="researcher")

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

    # What a request comes to.

    def _plan_publishing(self, request: PaymentRequest, shown: PlatformStudy, submissions: Submissions) -> Due:
        lines = []
        if shown.status in ("UNPUBLISHED", "PAUSED"):
            places = shown.places - sum(one.status in TAKEN for one in submissions)
            key = f"publish:{shown.id}:{len(self.ledger.states('publish'))}"
            lines = [self._places(key, places, shown.reward)]
        return lines, (), ()

    def _plan_places(self, request: PaymentRequest, shown: PlatformStudy, submissions: Submissions) -> Due:
        """As many more places as open batches need participants."""
        seated = {person.platform_id for person in people_by_id(self.service).values() if person.seated}
        coming = sum(one.status in ("RESERVED", "ACTIVE") and one.participant not in seated for one in submissions)
        unused = shown.places - sum(one.status in TAKEN for one in submissions)
        more = open_batches(self.service) - coming - unused
        if more <= 0:
            return [], (), ()
        if shown.status not in RUNNING:
            raise InputError("The study is not published", remedy="publish it first: vantage collect recruit publish")
        # The number is absolute, so that sending it twice adds nothing.
        (key,) = self.ledger.attempts([f"top-up:{shown.id}:{shown.places + more}"])
        return [self._places(key, more, shown.reward)], (), ()

    def _plan_approval(self, request: PaymentRequest, shown: PlatformStudy, submissions: Submissions) -> Due:
        """Those who finished here, left with the right code, passed the checks and are not excluded."""
        known = self._standings(submissions)
        due = [one for one in known if one.standing == "to pay"]
        keys = self.ledger.attempts([f"approve:{one.submission}" for one in due])
        pairs = zip(keys, due, strict=True)
        lines = [PaymentLine(key, one.submission, shown.reward, one.rater) for key, one in pairs]
        return lines, tuple(one.submission for one in known if one.standing == "paid"), ()

    def _plan_bonuses(self, request: PaymentRequest, shown: PlatformStudy, submissions: Submissions) -> Due:
        """Each submission gets this bonus once, whatever happens in between; bonuses have names so that it can."""
        amounts, name = request.amounts, request.name
        if not name.strip():
            raise InputError("The bonus has no name", remedy="name what it is for, such as 'second round'")
        if any(amount <= 0 for amount in amounts.values()):
            raise InputError("A bonus must be more than 0", remedy="give an amount such as 0.50")
        raters = self._check_known(list(amounts), submissions)
        states = self.ledger.states("bonus")
        keys = self.ledger.attempts([f"bonus:{name}:{id_}" for id_ in amounts])
        lines: list[PaymentLine] = []
        before, waiting = list[str](), list[str]()
        for key, (id_, amount) in zip(keys, amounts.items(), strict=True):
            last = states[key][-1] if key in states else None
            replaces = ""
            if last is not None and last.state != "intent":
                if last.amount != amount:
                    problem = f"The bonus '{name}' of {id_} is {last.amount / 100:.2f}, not {amount / 100:.2f}"
                    raise InputError(problem, remedy="give another bonus another name")
                if last.state == "done" or not request.resend:
                    (before if last.state == "done" else waiting).append(id_)
                    continue
                replaces = key
            elif request.resend:
                raise InputError(f"The bonus '{name}' of {id_} is not waiting for Prolific", remedy="see its status")
            same = [(one[-1].submission, one[-1].amount, one[-1].state) for k, one in states.items() if k != replaces]
            if (id_, amount, "paying") in same:
                raise InputError(
                    f"Another bonus of {amount / 100:.2f} for {id_} is not confirmed yet",
                    remedy="wait until Prolific shows it, cancel it, or give another amount",
                )
            note = "again, because you have seen that it was not paid" if replaces else ""
            now = _next(key) if replaces else key
            lines.append(PaymentLine(now, id_, amount, raters[id_], note, replaces))
        return lines, tuple(before), tuple(waiting)

    def _plan_rejection(self, request: PaymentRequest, shown: PlatformStudy, submissions: Submissions) -> Due:
        if request.category not in CATEGORIES:
            problem = f"Prolific has no category '{request.category}'"
            raise InputError(problem, remedy=nearest(request.category, CATEGORIES))
        if (length := len(request.reason.strip())) < SHORTEST_REASON:
            problem = f"The reason has {length} characters, and Prolific asks for {SHORTEST_REASON}"
            raise InputError(problem, remedy="explain to the participant what was wrong")
        raters = self._check_known(list(request.amounts), submissions)
        status = {one.id: one.status for one in submissions}
        paying = {entry.submission for entry in self.ledger.unfinished("approve").values()}
        for id_ in request.amounts:
            if status[id_] != "AWAITING REVIEW":
                problem = f"The submission {id_} is {status[id_].lower()}"
                raise InputError(problem, remedy="reject those that await review")
            if id_ in paying:
                problem = f"The approval of {id_} has started and is not confirmed yet"
                raise InputError(problem, remedy="wait until Prolific shows it, or cancel it")
        keys = self.ledger.attempts([f"reject:{id_}" for id_ in request.amounts])
        pairs = zip(keys, request.amounts, strict=True)
        return [PaymentLine(key, id_, 0, raters[id_]) for key, id_ in pairs], (), ()

    def _places(self, key: str, places: int, reward: int) -> PaymentLine:
        return PaymentLine(key, "", places * reward, note=f"{places} places at {reward / 100:.2f} each")

    # What carries out a plan.

    def _offer_places(self, act: Act, lines: Sequence[PaymentLine]) -> None:
        for line in lines:
            shown = self.client.study(self._require_study())
            self.ledger.note_all([self._entry(act, line, "intent")])
            if act == "publish":
                self.client.transition_study(shown.id, "PUBLISH" if shown.status == "UNPUBLISHED" else "START")
            else:
                self.client.update_study(shown.id, {"total_available_places": _total(line.key)})
            self.ledger.note_all([self._entry(act, line, "done")])

    def _in_parts(
        self, act: Act, lines: Sequence[PaymentLine], most: int, send: Callable[[Sequence[PaymentLine]], dict[str, str]]
    ) -> dict[str, str]:
        """Sends so many lines at a time; why lines were refused, none of which keeps another from being sent."""
        refused: dict[str, str] = {}
        waiting = [lines[start : start + most] for start in range(0, len(lines), most)]
        while waiting:
            group = waiting.pop(0)
            try:
                refused |= send(group)
            except RefusedCall as why:  # nothing was done, and the halves tell whose line it is
                if middle := len(group) // 2:
                    waiting = [group[:middle], group[middle:], *waiting]
                else:
                    self.ledger.note_all([self._entry(act, group[0], "failed", why=str(why))])
                    refused[group[0].submission] = str(why)
        return refused

    def _approve(self, group: Sequence[PaymentLine]) -> dict[str, str]:
        """Approving twice pays once, so that an intent of a run that was killed may be sent again."""
        begun = self.ledger.unfinished("approve")
        self.ledger.note_all([self._entry("approve", line, "intent") for line in group if line.key not in begun])
        self.client.approve([line.submission for line in group])
        return {}

    def _reject(self, request: PaymentRequest, group: Sequence[PaymentLine]) -> dict[str, str]:
        for line in group:
            self.ledger.note_all(
                [self._entry("reject", line, "intent", reason=request.reason, category=request.category)]
            )
            self.client.reject(line.submission, cast("Category", request.category), request.reason.strip())
        return {}

    def _pay_bonuses(self, group: Sequence[PaymentLine]) -> dict[str, str]:
        """Pays the lines and no other bonus; who was not paid although Prolific did not refuse it, and why."""
        amounts = {line.submission: line.amount for line in group}
        try:
            had = {id_: Counter(self.client.submission(id_).bonuses) for id_ in amounts}
            payment = self.client.set_up_bonuses(self._require_study(), amounts)
        except RefusedCall:
            raise
        except InputError as why:  # Prolific cannot be asked now
            return dict.fromkeys(amounts, str(why))
        paying, given_up = [], []
        for line in group:
            before = had[line.submission][line.amount]
            paying.append(self._entry("bonus", line, "paying", had=before, payment=payment))
            if line.replaces:
                given_up.append(self._entry("bonus", replace(line, key=line.replaces), "failed", by="researcher"))
        if not self.ledger.note_all([*given_up, *paying]):
            # Another process was quicker with one of them: none is ours yet, and what is left is set up anew.
            taken = {entry.key for entry in self.ledger.all("bonus") if entry.state == "paying"}
            left = [line for line in group if line.key not in taken]
            return self._in_parts("bonus", left, PER_BONUS, self._pay_bonuses) if len(left) < len(group) else {}
        try:
            self.client.pay_bonuses(payment)
        except UncertainCall:
            return {}  # it counts as paid when Prolific shows it
        except InputError as why:  # certainly not paid
            for entry in paying:
                self.ledger.end(entry, "failed", why=str(why))
            return dict.fromkeys(amounts, str(why))
        return {}

    # What Prolific shows, and what follows from it.

    def _reconcile(self, submissions: Submissions) -> PlatformStudy:
        """Ends what was begun, where Prolific shows what became of it; the study as Prolific shows it."""
        shown = self.client.study(self._require_study())
        status = {one.id: one.status for one in submissions}
        for entry in self.ledger.unfinished("approve", "reject").values():
            now = status.get(entry.submission, "")
            if now in (PAID if entry.act == "approve" else ("REJECTED",)):
                self.ledger.end(entry, "done")
            elif now in (*PAID, *GONE):
                self.ledger.end(entry, "failed", why=f"is {now.lower()} on Prolific")
        for entry in self.ledger.unfinished("publish").values():
            self.ledger.end(entry, "failed" if shown.status in ("UNPUBLISHED", "PAUSED") else "done")
        for key, entry in self.ledger.unfinished("top-up").items():
            if shown.places == _total(key):
                self.ledger.end(entry, "done")
            else:
                self.ledger.end(entry, "failed", why=f"Prolific shows {shown.places} places")
        bonuses: dict[str, Counter[int]] = {}
        for entry in self.ledger.unfinished("bonus").values():
            if entry.state == "paying":
                if entry.submission not in bonuses:
                    bonuses[entry.submission] = Counter(self.client.submission(entry.submission).bonuses)
                if bonuses[entry.submission][entry.amount] > entry.detail.get("had", 0):
                    self.ledger.end(entry, "done")
        return shown

    def _differences(self, submissions: Submissions, bonuses: int) -> list[str]:
        """Where Prolific shows other payments than the ledger: made on the website, or in spite of what was said."""
        done = [entry for entry in self.ledger.all("approve", "bonus") if entry.state == "done"]
        ours = sum(entry.amount for entry in done if entry.act == "bonus")
        approved = {entry.submission for entry in done if entry.act == "approve"}
        differences = []
        if bonuses != ours:
            shown = f"{bonuses / 100:.2f} {self.offer.currency} in bonuses"
            differences.append(f"Prolific shows {shown}, the ledger {ours / 100:.2f}")
        if others := [one.id for one in submissions if one.status in PAID and one.id not in approved]:
            differences.append(f"Approved, but not from here: {', '.join(others)}")
        return differences

    def _standings(self, submissions: Submissions) -> list[SubmissionStanding]:
        rejecting = frozenset(entry.submission for entry in self.ledger.unfinished("reject").values())
        failed = failed_checks(self.service)
        return standings(
            submissions, people_by_id(self.service), self.service.study.plan.recruitment, failed, rejecting
        )

    def _take_over(self, submissions: Submissions) -> None:
        """What the status of submissions means for the seats and answers of their participants, who may come again."""
        statuses: dict[str, set[str]] = {}
        for one in submissions:
            statuses.setdefault(one.participant, set()).add(one.status)
        for person in people_by_id(self.service).values():
            seen = statuses.get(person.platform_id, set())
            if not seen or person.stage == "withdrawn":
                continue
            out = next((rule for status, rule in OUT.items() if status in seen), None)
            if not seen <= {*GONE}:
                if person.verdict == "excluded" and person.why in OUT.values():
                    # The platform says that the submission counts after all.
                    self.service.researchers.review_rater(person.rater, "pending")
            elif out is not None:
                if person.verdict != "excluded":
                    # The answers stay in the export, marked: they were not paid for, so that no measure uses them.
                    self.service.researchers.review_rater(person.rater, "excluded", rule=out)
            elif person.stage != "finished":
                free_seats(self.service, person.number)

    @property
    def _study_id(self) -> str | None:
        made = self.ledger.last("create")
        return made.study if made else None

    def _require_study(self) -> str:
        if self._study_id is None:
            raise InputError(
                "The study has no draft on Prolific yet", remedy="create it with: vantage collect recruit create"
            )
        return self._study_id

    def _check_known(self, ids: Sequence[str], submissions: Submissions) -> dict[str, str]:
        known, people = {one.id: one.participant for one in submissions}, people_by_id(self.service)
        for id_ in ids:
            if id_ not in known:
                raise InputError(f"The study has no submission '{id_}'", remedy="see vantage collect recruit status")
        return {id_: people[known[id_]].rater if known[id_] in people else "" for id_ in ids}

    def _drafted(self, name: str) -> PlatformStudy | None:
        known = next((id_ for id_, internal in self.client.studies() if internal == name), None)
        return self.client.study(known) if known else None

    def _entry(self, act: Act, line: PaymentLine, state: State, **detail: Any) -> RecruitmentEntry:
        about = (self._require_study(), line.submission, line.amount, self.offer.currency)
        return RecruitmentEntry(time.time(), act, line.key, state, *about, detail)


def recruiter(service: StudyService) -> ProlificRecruiter:
    """The recruiter of a study; where the study file gives no duration, a small rehearsal forecasts it."""

    def forecast() -> float:
        from vantage.recruit.rehearsal.rehearse import forecast

        return forecast(service.study)

    offer_of(service.study)
    return ProlificRecruiter(service, prolific_client(), forecast)


def _next(key: str) -> str:
    name, _, number = key.rpartition("#")
    return f"{name}#{int(number) + 1}" if name and number.isdecimal() else f"{key}#2"


def _total(key: str) -> int:
    return int(key.partition("#")[0].rpartition(":")[2])
