"""The dashboard's page on recruiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Final

from starlette.responses import Response

from vantage.collect.database import LOG
from vantage.collect.progress import by_time
from vantage.collect.service import StudyService
from vantage.collect.web.researcher_pages import dashboard, logged_in
from vantage.collect.web.visit import Handler, PageError, Visit
from vantage.errors import VantageError
from vantage.recruit.base import Paid, PaidAct, PaymentRequest, cents
from vantage.recruit.ledger import RecruitmentLedger
from vantage.recruit.on_prolific import CATEGORIES, ProlificRecruiter, recruiter
from vantage.recruit.prolific import TOKEN, secret
from vantage.recruit.visitors import verify

PLANNED: Final[Mapping[PaidAct, str]] = {
    "publish": "Publish",
    "top-up": "Offer places for open seats",
    "approve": "Approve and pay those who finished",
    "bonus": "Pay a bonus",
    "reject": "Reject",
}
"""What decides about money: each is shown as a list with a total before it is done."""
PLAIN: Final[Mapping[str, Callable[[ProlificRecruiter, Visit], object]]] = {
    "create": lambda one, _: one.create(),
    "stop": lambda one, _: one.stop(),
    "cancel": lambda one, visit: one.cancel([visit.field("key")]),
}
"""What is done at once, where the box that confirms it is ticked."""
POLLED: Final = 120.0
"""Seconds between two looks at what became of submissions."""
FIELDS: Final = ("act", "submission", "amount", "name", "resend", "category", "reason")


@logged_in()
def overview(visit: Visit) -> Response:
    """The state of recruiting, whom to look at, and what can be done."""
    return _page(visit)


@logged_in("manage")
def act(visit: Visit) -> Response:
    """Shows what a button would pay; does it where exactly that list was confirmed."""
    name = visit.field("act")
    try:
        with closing(recruiter(visit.site.service.acting(visit.researchers.by))) as one:
            if name in PLAIN:
                if visit.field("confirmed") != "yes":
                    return _page(visit, "Nothing was done. Tick the box to confirm.", 400)
                PLAIN[name](one, visit)
                return visit.redirect("/admin/recruiting")
            plan = one.plan(_request(visit))
            if visit.field("confirmed") == plan.digest:
                return _page(visit, done=one.carry_out(plan))
    except VantageError as error:
        return _page(visit, str(error), 409)
    changed = "The list has changed since you looked at it. Nothing was done." if visit.field("confirmed") else ""
    sent = {name: visit.field(name) for name in FIELDS}
    return dashboard(
        visit,
        "recruiting_plan",
        409 if changed else 200,
        heading=PLANNED[plan.request.act],
        plan=plan,
        sent=sent,
        problem=changed,
        here="recruiting",
    )


def _request(visit: Visit) -> PaymentRequest:
    act = next((one for one in PLANNED if one == visit.field("act")), None)
    if act is None:
        raise PageError(400, "What should be done?", "Use one of the buttons of the page.")
    named = visit.field("submission").split()
    amount = cents(visit.field("amount")) if act == "bonus" else 0
    return PaymentRequest(
        act,
        dict.fromkeys(named, amount) if act in ("bonus", "reject") else {},
        visit.field("name").strip() if act == "bonus" else "",
        visit.field("resend") == "yes",
        visit.field("category") if act == "reject" else "",
        visit.field("reason").replace("\r\n", "\n") if act == "reject" else "",
    )


def _page(visit: Visit, problem: str = "", status: int = 200, done: Paid | None = None) -> Response:
    state, proposals = None, []
    entries = RecruitmentLedger(visit.site.service.database.private.sql).all("approve", "bonus")
    spent = by_time((one.at, one.amount / 100) for one in entries if one.state == "done")
    try:
        with closing(recruiter(visit.site.service)) as one:
            state = one.state()
            proposals = one.proposals() if state.study else []
    except VantageError as error:
        problem, status = problem or str(error), max(status, 409)
    return dashboard(
        visit,
        "recruiting",
        status,
        heading="Recruiting",
        state=state,
        spent=spent,
        proposals=proposals,
        problem=problem,
        done=done,
        planned=[(name, text) for name, text in PLANNED.items() if name not in ("bonus", "reject")],
        categories=CATEGORIES,
    )


def poll(service: StudyService) -> None:
    """Takes over what became of submissions, so that seats of people who left go to others soon."""
    asks = service.study.plan.recruitment.via == "prolific" and secret(TOKEN)
    if not asks or RecruitmentLedger(service.database.private.sql).last("publish") is None:
        return
    try:
        with closing(recruiter(service)) as one:
            one.poll()
    except VantageError as error:
        LOG.warning("Prolific could not be asked about submissions: %s", error)


EVERY: Final = ((POLLED, poll),)
VERIFY: Final = verify
PAGES: Final[Mapping[str, Mapping[str, Handler]]] = {"/admin/recruiting": {"GET": overview, "POST": act}}
