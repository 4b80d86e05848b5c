"""Payments under every interleaving: killed at every moment, refused, retried, edited, cancelled.

The recruiter, its plans and the rules of the ledger are the real ones; the platform is the fake one without HTTP, and
the ledger a list, so that thousands of histories take seconds. A history is a list of commands. Each is planned and
confirmed as shown, may be killed before or after any write and any call, and may meet a fault of the platform. What
holds after every command: the platform has paid lines of the confirmed plan and nothing else. What holds at the end,
after the researcher has looked at the website and run the commands again: everybody was paid once, to the cent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from json import loads
from types import SimpleNamespace
from typing import Any

import pytest

from tests.often import times
from tests.recruit.fake import Refusal, error
from tests.recruit.platform import PlantedFault, WholeProlific
from tests.recruit.world import CODES, OFFER
from vantage.collect.document import OfferPart, RecruitmentPart
from vantage.errors import InputError
from vantage.recruit import on_prolific
from vantage.recruit.base import Paid, PaymentRequest, cents
from vantage.recruit.ledger import RecruitmentEntry, RecruitmentLedger, State
from vantage.recruit.on_prolific import ProlificRecruiter
from vantage.recruit.people import Person, failed_checks
from vantage.recruit.prolific import ProlificClient

NAMES = ("ann", "bob", "cem")
REASON = "x" * 100
STUDY: dict[str, Any] = {"status": "ACTIVE", "reward": 150, "total_available_places": 4, "external_study_url": "u"}
STUDY["completion_codes"] = []

CLIENT = ProlificClient("t", "http://x", sleep=lambda _: None)


class Killed(BaseException):
    """The process ends here."""


class Moments:
    """Counts writes and calls, and kills the process at one of them."""

    def __init__(self) -> None:
        self.count, self.deadly = 0, -1

    def pass_by(self) -> None:
        """One more moment, which may be the last."""
        self.count += 1
        if self.count == self.deadly:
            raise Killed

    def begin(self, deadly: int | None) -> None:
        """Counts anew."""
        self.count, self.deadly = 0, deadly or -1


class ListLedger(RecruitmentLedger):
    """The ledger as a list, with the one rule of its table: a key has each state once."""

    def __init__(self, moments: Moments) -> None:
        self.entries: list[RecruitmentEntry] = []
        self._moments = moments

    def note_all(self, new: Sequence[RecruitmentEntry]) -> bool:
        self._moments.pass_by()
        known = {(one.key, one.state) for one in self.entries}
        fresh = not any((one.key, one.state) in known for one in new)
        self.entries += new if fresh else []
        self._moments.pass_by()
        return fresh

    def all(self, *acts: str) -> list[RecruitmentEntry]:
        return [one for one in self.entries if not acts or one.act in acts]

    def has(self, key: str, state: State) -> bool:
        return any((one.key, one.state) == (key, state) for one in self.entries)


class Wire:
    """Stands for the HTTP client: calls the fake platform's handlers."""

    def __init__(self, fake: WholeProlific, moments: Moments) -> None:
        self._fake, self._moments = fake, moments
        self._routes = [
            (method, re.compile(re.sub(r"\{id\}", "([^/]+)", path) + "$"), handler)
            for (method, path), handler in fake._handlers().items()
        ]

    def request(self, method: str, path: str, json: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        reading = method == "GET"  # nothing changes, so that being killed before or after is the same
        if not reading:
            self._moments.pass_by()
        fault = next((one for one in self._fake.faults if re.search(one.path, path)), None)
        if fault is not None:
            self._fake.faults.remove(fault)
        if fault is None or fault.after:
            answer = self._answered(method, path, json, {k: str(v) for k, v in (params or {}).items()})
        if fault is not None:
            answer = error(fault.status, "planned", fault.headers)
        if not reading:
            self._moments.pass_by()
        body, status = bytes(answer.body), answer.status_code
        parts = {"content": body, "text": body.decode(), "headers": dict(answer.headers), "is_error": status >= 400}
        return SimpleNamespace(status_code=status, json=lambda: loads(body), **parts)

    def _answered(self, method: str, path: str, json: Any, params: Mapping[str, str]) -> Any:
        for known, pattern, handler in self._routes:
            if known == method and (match := pattern.match(path)):
                try:
                    return handler(match[1] if match.groups() else "", json or {}, params)
                except Refusal as refusal:
                    return error(refusal.status, refusal.detail)
        raise AssertionError(path)

    def close(self) -> None:
        """There is no connection."""


class PaymentWorld:
    """A researcher, the platform and the ledger; three people have finished."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake, self.moments = WholeProlific(), Moments()
        self.fake.studies["s"] = {**STUDY, "id": "s"}
        self.persons: dict[str, Person] = {}
        self.reviews: list[tuple[str, ...]] = []
        for number, name in enumerate(NAMES):
            started = self.fake.start("s", name)
            assert started is not None
            self.fake.submissions[name] = {**self.fake.submissions.pop(started[0]), "id": name}
            self.fake.complete(name, "DONE")
            self.persons[name] = Person(number, f"p-{name}", name, "finished", "pending", "", True, 5.0)
        monkeypatch.setattr(on_prolific, "people_by_id", lambda _: dict(self.persons))
        monkeypatch.setattr(on_prolific, "failed_checks", lambda *_: {})
        monkeypatch.setattr(on_prolific, "open_batches", lambda *_: 3)
        monkeypatch.setattr(on_prolific, "free_seats", lambda *_: None)
        plan = RecruitmentPart(via="prolific", **CODES, offer=OfferPart(**OFFER))
        service: Any = SimpleNamespace(
            study=SimpleNamespace(plan=SimpleNamespace(recruitment=plan), id="mine"),
            database=SimpleNamespace(private=SimpleNamespace(sql=None)),
            researchers=SimpleNamespace(by="", review_rater=lambda *seen, **_: self.reviews.append(seen)),
        )
        monkeypatch.setattr(CLIENT, "_http", Wire(self.fake, self.moments))
        self.recruiter = ProlificRecruiter(service, CLIENT, lambda: 1.0)
        self.ledger = self.recruiter.ledger = ListLedger(self.moments)
        self.ledger.note("create", "create", "done", study="s", detail={"reward": 150, "total_available_places": 4})

    def settled(self) -> list[tuple[str, int]]:
        """Everything the platform has paid: bonuses, rewards and places."""
        rewards = [(id_, 150) for id_, times in self.fake.approvals.items() for _ in range(times)]
        places = self.fake.studies["s"]["total_available_places"] - 4
        return [*self.fake.paid, *rewards, *([("", 150 * places)] if places else [])]

    def command(
        self, request: PaymentRequest, deadly: int | None = None, fault: PlantedFault | None = None
    ) -> Paid | None:
        """Plans, confirms and carries out; what was paid meanwhile is part of what was confirmed."""
        plan = self.recruiter.plan(request)
        confirmed = Counter((line.submission, line.amount) for line in plan.lines)
        assert plan.total == sum(amount * n for (_, amount), n in confirmed.items())
        before = Counter(self.settled())
        if fault is not None:
            self.fake.faults.append(fault)
        self.moments.begin(deadly)
        result = None
        with suppress(Killed, InputError):
            result = self.recruiter.carry_out(plan)
        self.moments.begin(None)
        self.fake.faults.clear()
        paid = Counter(self.settled()) - before
        assert paid <= confirmed, f"{request} paid {paid}, but {confirmed} was confirmed"
        if result is not None and request.act in ("approve", "bonus"):
            assert result.amount == sum(amount * n for (who, amount), n in paid.items() if who in result.paid)
            assert not {who for who, _ in paid} & {*result.refused}
            assert {who for who, _ in paid} <= {*result.paid, *result.unconfirmed}
        return result

    def look(self) -> None:
        """The researcher looks at the website, where late payments show by now, and cancels what was not made."""
        self.fake.settle()
        begun = self.recruiter.state().unconfirmed
        self.recruiter.cancel(begun)
        assert self.recruiter.state().unconfirmed == ()


def bonus(name: str, resend: bool = False, **amounts: int) -> PaymentRequest:
    """A bonus of this name."""
    return PaymentRequest("bonus", amounts, name, resend)


def reject(*who: str) -> PaymentRequest:
    """A rejection."""
    return PaymentRequest("reject", dict.fromkeys(who, 0), category="OTHER", reason=REASON)


FAULTS: dict[str, PlantedFault | None] = {
    "none": None,
    "set-up refused": PlantedFault("/bonus-payments/$", 400),
    "set-up lost": PlantedFault("/submissions/bonus-payments/$", 502, after=True),
    "payment refused": PlantedFault("/pay/", 400),
    "payment not taken": PlantedFault("/pay/", 502),
    "answer lost": PlantedFault("/pay/", 502, after=True),
}
FIRST = bonus("x", ann=5000, bob=70)
SECOND: dict[str, PaymentRequest] = {
    "again": FIRST,
    "somebody else": bonus("y", cem=50),
    "fewer": bonus("x", ann=5000),
    "the same amount": bonus("y", ann=5000, cem=50),
    "another amount": bonus("x", ann=4000, bob=70),
    "approve": PaymentRequest("approve"),
}


MOMENTS: tuple[int | None, ...] = (None, *range(1, 12))
"""Writes and calls to be killed at; the last is never reached."""


def lived(
    monkeypatch: pytest.MonkeyPatch, first: int | None, fault: str, second: str, kill: int | None, *, late: bool
) -> list[str]:
    """One history, and what does not hold at its end although it must."""
    with monkeypatch.context() as patched:
        here = PaymentWorld(patched)
        here.fake.pays_late = late
        planted = FAULTS[fault]
        here.command(FIRST, first, planted and PlantedFault(planted.path, planted.status, planted.after))
        with suppress(InputError):  # the amount differs from what was sent, or could not be told from it
            here.command(SECOND[second], kill)
        here.look()
        wanted = Counter({("ann", 5000): 1, ("bob", 70): 1})
        for request in (FIRST, SECOND[second]):
            with suppress(InputError):
                here.command(request)
                here.fake.settle()
        if second in ("somebody else", "the same amount"):
            wanted += Counter(dict.fromkeys(SECOND[second].amounts.items(), 1))
        if second == "another amount" and ("ann", 4000) in here.fake.paid:
            wanted = Counter({("ann", 4000): 1, ("bob", 70): 1})  # nothing had been sent when it was edited
        state = here.recruiter.state()
        done = [one for one in here.ledger.all("bonus") if one.state == "done"]
        holds = {
            "paid as confirmed": Counter(here.fake.paid) == wanted,
            "approved once": set(here.fake.approvals.values()) <= {1},
            "nothing open": (state.unconfirmed, state.differences) == ((), ()),
            "in the ledger": Counter((one.submission, one.amount) for one in done) == wanted,
        }
        return [name for name, held in holds.items() if not held]


def test_what_was_confirmed_is_what_was_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at every moment of the first command, with every fault, followed by every other command."""
    for first, fault, second in product(MOMENTS, FAULTS, SECOND):
        assert not lived(monkeypatch, first, fault, second, None, late=False), (first, fault, second)


@pytest.mark.slow
@pytest.mark.parametrize("late", [False, True])
def test_what_was_confirmed_is_what_was_paid_with_two_kills(monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    lives = list(product(MOMENTS, FAULTS, SECOND, MOMENTS))
    # Every eleventh meets every pair of what can happen; before a release all of them are lived.
    for first, fault, second, kill in lives[:: times(1, 11)]:
        assert not lived(monkeypatch, first, fault, second, kill, late=late), (first, fault, second, kill)


ACTS = {
    "approve": PaymentRequest("approve"),
    "reject": reject("ann"),
    "top-up": PaymentRequest("top-up"),
    "publish": PaymentRequest("publish"),
}


@pytest.mark.parametrize("second", ACTS)
@pytest.mark.parametrize("first", ACTS)
def test_nobody_is_approved_twice_or_both_approved_and_rejected(
    monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    faults = [None, ("bulk-approve|transition|studies/s/$", 400, False), ("bulk-approve|transition", 502, True)]
    for deadly, fault in product([None, *range(1, 10)], faults):
        with monkeypatch.context() as patched:
            here = PaymentWorld(patched)
            here.fake.studies["s"]["status"] = "PAUSED" if "publish" in (first, second) else "ACTIVE"
            with suppress(InputError):
                here.command(ACTS[first], deadly, fault and PlantedFault(*fault))
            with suppress(InputError):
                here.command(ACTS[second])
            here.look()
            for name in (first, second):
                with suppress(InputError):  # a submission that is approved cannot be rejected, and the other way round
                    here.command(ACTS[name])
            assert set(here.fake.approvals.values()) <= {1}
            rejected = {id_ for id_, one in here.fake.submissions.items() if one["status"] == "REJECTED"}
            assert not rejected & {*here.fake.approvals}
            if "approve" in (first, second):
                assert {*here.fake.approvals} == {*NAMES} - rejected
            if "top-up" in (first, second):
                assert here.fake.studies["s"]["total_available_places"] in ({5, 6} if rejected else {6})
            if "publish" in (first, second):
                assert here.fake.studies["s"]["status"] == "ACTIVE"
            state = here.recruiter.state()
            assert (state.unconfirmed, state.differences) == ((), ())


def test_an_interrupted_bonus_is_not_paid_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    assert here.command(bonus("x", ann=5000), 2) is None  # killed after the set-up, before anything was paid
    result = here.command(bonus("y", bob=50))
    assert result is not None
    assert (result.paid, result.amount, here.fake.paid) == (("bob",), 50, [("bob", 50)])


def test_nobody_is_rejected_while_their_approval_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.command(ACTS["approve"], 2)  # killed before the call
    with pytest.raises(InputError, match="The approval of ann has started and is not confirmed yet"):
        here.command(reject("ann"))
    here.look()
    assert here.command(reject("ann")) is not None
    assert here.fake.submissions["ann"]["status"] == "REJECTED"


def test_a_researcher_who_excluded_somebody_is_not_overruled(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.persons["ann"] = replace(here.persons["ann"], verdict="excluded", why="no reasons given")
    here.persons["bob"] = replace(
        here.persons["bob"], verdict="excluded", why="returned the submission on the platform"
    )
    here.recruiter.poll()
    assert here.reviews == [("p-bob", "pending")]


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (bonus("x", ann=0), "more than 0"),
        (bonus("x", ann=-50), "more than 0"),
        (bonus(" ", ann=50), "has no name"),
        (bonus("x", eve=50), "no submission 'eve'"),
        (replace(reject("ann"), reason="x" * 99), "99 characters"),
        (replace(reject("ann"), category="BAD"), "no category 'BAD'"),
        (reject("eve"), "no submission 'eve'"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, request_: PaymentRequest, problem: str
) -> None:
    here = PaymentWorld(monkeypatch)
    with pytest.raises(InputError, match=problem):
        here.recruiter.plan(request_)


@pytest.mark.parametrize("text", ["0", "-1", "0.505", "x", "", "nan", "inf", "1e9", "1,000"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(InputError, match="is not an amount"):
        cents(text)


def test_only_what_waits_for_prolific_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    assert here.command(bonus("x", ann=50)) is not None
    again = here.command(bonus("x", resend=True, ann=50))
    assert again is not None
    assert (again.paid, again.before) == ((), ("ann",))
    here.fake.pays_late = True
    here.command(bonus("y", bob=70))
    waits = here.command(bonus("y", bob=70))
    assert waits is not None
    assert (waits.paid, waits.unconfirmed) == ((), ("bob",))
    assert here.fake.paid == [("ann", 50), ("bob", 70)]


def test_what_was_begun_ends_with_the_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.command(ACTS["approve"], 2)  # killed before the call
    assert len(here.recruiter.state().unconfirmed) == 3
    here.fake.take_back("ann")
    here.fake.time_out("bob")
    assert here.recruiter.state().unconfirmed == ("approve:cem",)
    assert here.command(ACTS["approve"]) is not None
    assert here.fake.approvals == {"cem": 1}


def test_one_refused_line_blocks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.fake.refused_bonuses = {"bob"}
    result = here.command(bonus("x", ann=50, bob=50, cem=50))
    assert result is not None
    assert (result.paid, {*result.refused}, result.amount) == (("ann", "cem"), {"bob"}, 100)
    here.fake.refused_bonuses = set()
    result = here.command(bonus("x", ann=50, bob=50, cem=50))
    assert result is not None
    assert (result.paid, result.before) == (("bob",), ("ann", "cem"))
    assert Counter(here.fake.paid) == {(name, 50): 1 for name in NAMES}


def test_what_changes_after_the_confirmation_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    plan = here.recruiter.plan(PaymentRequest("approve"))
    assert ([line.submission for line in plan.lines], plan.total) == ([*NAMES], 450)
    here.fake.take_back("ann")
    done = here.recruiter.carry_out(plan)
    assert (done.paid, done.amount, {*done.refused}) == (("bob", "cem"), 300, {"ann"})
    other = PaymentWorld(monkeypatch)
    plan = other.recruiter.plan(PaymentRequest("approve"))
    other.fake.studies["s"]["reward"] = 900  # on the website
    assert {*other.recruiter.carry_out(plan).refused} == {*NAMES}
    assert other.fake.approvals == {}
    assert other.recruiter.plan(PaymentRequest("approve")).digest != plan.digest


def test_a_payment_that_was_denied_and_came_all_the_same_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.fake.pays_late = True
    here.command(bonus("x", ann=50))
    with pytest.raises(InputError, match="There is no open payment 'bonus:y:ann'"):
        here.recruiter.cancel(["bonus:y:ann"])
    here.recruiter.cancel(["bonus:x:ann"])
    here.fake.settle()
    assert here.recruiter.state().differences == ("Prolific shows 0.50 GBP in bonuses, the ledger 0.00",)
    here.fake._become("bob", "APPROVED")
    assert "Approved, but not from here: bob" in here.recruiter.state().differences


@pytest.mark.parametrize(
    ("others", "set_up"),
    [
        ({"ann": 50, "bob": 70}, [["ann", "bob"], ["ann", "bob"]]),
        ({"ann": 50}, [["ann"], ["ann", "bob"], ["bob"]]),
    ],
)
def test_two_processes_pay_once(
    monkeypatch: pytest.MonkeyPatch, others: dict[str, int], set_up: list[list[str]]
) -> None:
    """Another process pays while this one sets up: each is paid once, and nobody else waits for it."""
    here = PaymentWorld(monkeypatch)
    mine, other = (
        here.recruiter.plan(bonus("x", ann=50, bob=70)),
        here.recruiter.plan(PaymentRequest("bonus", others, "x")),
    )
    client, done = here.recruiter.client, list[list[str]]()
    first = client.set_up_bonuses

    def noted(study: str, amounts: Mapping[str, int]) -> str:
        done.append(sorted(amounts))
        return first(study, amounts)

    def meanwhile(study: str, amounts: Mapping[str, int]) -> str:
        monkeypatch.setattr(client, "set_up_bonuses", noted)
        here.recruiter.carry_out(other)
        return noted(study, amounts)

    monkeypatch.setattr(client, "set_up_bonuses", meanwhile)
    here.recruiter.carry_out(mine)
    assert sorted(here.fake.paid) == [("ann", 50), ("bob", 70)]
    assert done == set_up


def test_what_is_sent_again_gives_up_the_first_attempt_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.command(bonus("x", ann=50))
    here.command(bonus("x", bob=70), fault=PlantedFault("/pay/", 502))  # not taken, but nobody can know
    again = here.command(bonus("x", resend=True, bob=70))
    assert again is not None
    assert (again.paid, again.amount) == (("bob",), 70)
    assert {key: [entry.state for entry in own] for key, own in here.ledger.states("bonus").items()} == {
        "bonus:x:ann": ["paying", "done"],
        "bonus:x:bob": ["paying", "failed"],
        "bonus:x:bob#2": ["paying", "done"],
    }
    assert here.fake.paid == [("ann", 50), ("bob", 70)]


def test_places_that_are_taken_are_not_paid_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.fake.studies["s"]["status"] = "PAUSED"  # with four places, three of them taken
    assert here.recruiter.plan(PaymentRequest("publish")).total == 150
    here.fake.take_back("ann")
    assert here.recruiter.plan(PaymentRequest("publish")).total == 300


def test_who_is_excluded_is_not_excluded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PaymentWorld(monkeypatch)
    here.fake.take_back("ann")
    here.recruiter.poll()
    assert here.reviews == [("p-ann", "excluded")]
    here.persons["ann"] = replace(
        here.persons["ann"], verdict="excluded", why="returned the submission on the platform"
    )
    here.recruiter.poll()
    assert len(here.reviews) == 1


def test_only_failed_checks_hold_pay_back() -> None:
    flags = {"p-ann": ("failed 1 of 2 gold items", "agrees little with others"), "p-bob": ("rule: seconds < 2",)}
    rows = [SimpleNamespace(rater=rater, flags=own) for rater, own in flags.items()]
    service: Any = SimpleNamespace(researchers=SimpleNamespace(raters=lambda now: rows if now else []))
    assert failed_checks(service) == {"p-ann": "failed 1 of 2 gold items"}
