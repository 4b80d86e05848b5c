"""The dashboard's page on recruiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Final

from starlette.responses import Response

from vantage.collect.web.researcher_pages import dashboard, logged_in
from vantage.collect.web.visit import Handler, PageError, Visit
from vantage.errors import InputError, VantageError
from vantage.recruit.base import Recruiter
from vantage.recruit.on_prolific import CATEGORIES
from vantage.recruit.opened import recruiter
from vantage.recruit.webhooks import HOOKS as HOOKS  # noqa: PLC0414

ACTIONS: Final[Mapping[str, tuple[str, Callable[[Recruiter], object]]]] = {
    "create": ("Create the draft", lambda one: one.create()),
    "publish": ("Publish", lambda one: one.publish()),
    "top-up": ("Offer places for open seats", lambda one: one.top_up()),
    "approve": ("Approve and pay those who finished", lambda one: one.approve()),
    "stop": ("Stop recruiting", lambda one: one.stop()),
}
"""What a button does, by the value it sends."""


@logged_in
def overview(visit: Visit) -> Response:
    """The state of recruiting, proposals, and what can be done."""
    return _page(visit)


@logged_in
def act(visit: Visit) -> Response:
    """Does what a button says, where the box that confirms it is ticked."""
    name = visit.field("act")
    if visit.field("confirmed") != "yes":
        return _page(visit, "Nothing was done. Tick the box to confirm.", 400)
    try:
        with closing(recruiter(visit.site.service)) as one:
            if name == "reject":
                one.reject([visit.field("submission")], visit.field("category"), visit.field("reason"))
            elif name == "bonus":
                one.bonus({visit.field("submission"): _cents(visit.field("amount"))}, visit.field("name"))
            elif name in ACTIONS:
                ACTIONS[name][1](one)
            else:
                raise PageError(400, "What should be done?", "Use one of the buttons of the page.")
    except VantageError as error:
        return _page(visit, str(error), 409)
    return visit.redirect("/admin/recruiting")


def _cents(amount: str) -> int:
    try:
        return round(float(amount.replace(",", ".")) * 100)
    except ValueError:
        raise InputError(f"'{amount}' is not an amount", remedy="write for example 0.50") from None


def _page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    state, proposals = None, []
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
        proposals=proposals,
        problem=problem,
        actions=[(name, text) for name, (text, _) in ACTIONS.items()],
        categories=CATEGORIES,
    )


PAGES: Final[Mapping[str, Mapping[str, Handler]]] = {"/admin/recruiting": {"GET": overview, "POST": act}}
