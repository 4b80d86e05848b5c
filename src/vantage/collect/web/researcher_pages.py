"""The researcher's pages under `/admin`: progress, agreement, raters to review, items with their answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Final, get_args
from urllib.parse import quote, urlencode

from starlette.responses import Response

from vantage.collect.answers import whole_number
from vantage.collect.database import LOG
from vantage.collect.outgoing import secret_of
from vantage.collect.views import Role, Verdict
from vantage.collect.web.item_view import panels
from vantage.collect.web.signing import COOKIE_LIFE, DEVICE_COOKIE, PREVIEW_PAGE, RESEARCHER_COOKIE
from vantage.collect.web.visit import Handler, PageError, Redirect, Visit

SESSION: Final = 12 * 3600
REFRESH: Final = 15
PER_PAGE: Final = 50
MOST_INVITATIONS: Final = 1000
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
ORDERS: Final = {
    "flags": lambda row: (row.verdict != "pending", -len(row.flags), row.number),
    "answered": lambda row: (-row.answered, row.number),
    "seconds": lambda row: (row.seconds is None, row.seconds or 0),
    "agreement": lambda row: (row.agreement is None, row.agreement or 0),
    "number": lambda row: row.number,
}
"""Sort orders of the raters: flagged first, most answers, fastest, least agreement, order of arrival."""


def logged_in(role: Role = "view") -> Callable[[Handler], Handler]:
    """Lets only researchers with a session and this role pass; others must log in, and forms need our token."""

    def guarded(handler: Handler) -> Handler:
        def checked(visit: Visit) -> Response:
            content = visit.site.signer.read_cookie(visit.request, RESEARCHER_COOKIE, max_age=SESSION)
            if not content or not visit.allow(str(content[0]), role):
                raise Redirect("/admin/login")
            if visit.request.method == "POST":
                visit.check_form(visit.session, "admin")
            return handler(visit)

        return checked

    return guarded


def login(visit: Visit, problem: str = "", status: int = 200) -> Response:
    """Asks for the password, and where researchers have their own for the name."""
    named = bool(visit.site.researchers.named())
    content = visit.site.signer.read_cookie(visit.request, "vantage-login", max_age=3600)
    who = str(content[0]) if content else secrets.token_urlsafe(12)
    response = visit.render(
        "admin/login.html",
        status,
        heading="Log in",
        problem=problem,
        possible=visit.site.researchers.has_password() or named,
        named=named,
        form=visit.site.signer.sign_form(f"login:{who}", "login"),
    )
    if not content:
        visit.site.signer.write_cookie(response, visit.request, "vantage-login", [who], max_age=3600)
    return response


def log_in(visit: Visit) -> Response:
    """Checks the password; after a few wrong ones an address has to wait."""
    signer = visit.site.signer
    content = signer.read_cookie(visit.request, "vantage-login", max_age=3600)
    if content is None or not signer.check_form(visit.field("form_token"), f"login:{content[0]}", max_age=3600):
        return login(visit, "This form has expired. Please try again and allow cookies.", 403)
    if error := password_error(visit, visit.field("name").strip(), visit.field("password")):
        return login(visit, error.sentences[0], error.status)
    response = visit.redirect("/admin")
    session = visit.site.private.start_session(SESSION, visit.field("name").strip())
    signer.write_cookie(response, visit.request, RESEARCHER_COOKIE, [session], max_age=SESSION)
    device = _device(visit) or secrets.token_urlsafe(12)
    signer.write_cookie(response, visit.request, DEVICE_COOKIE, [device], max_age=COOKIE_LIFE)
    return response


def password_error(visit: Visit, researcher: str, password: str) -> PageError | None:
    """Why a login is refused; null where the password is right. Attempts are counted by all workers together."""
    who = (visit.request.client.host if visit.request.client else "unknown", _device(visit))
    if seconds := visit.site.throttle.wait(*who):
        minutes = (seconds + 59) // 60
        LOG.warning("login from %s refused: too many wrong passwords", who[0])
        return PageError(429, "Too many attempts", f"Too many wrong passwords. Try again in {minutes} minutes.")
    if visit.site.researchers.role(researcher[:100], password[:1000]) is None:
        visit.site.throttle.failed(*who)
        LOG.warning("login from %s failed: wrong password", who[0])
        return PageError(403, "Wrong password", "This password is wrong. Try again.")
    visit.site.throttle.passed(*who)
    return None


def _device(visit: Visit) -> str:
    """A browser that has logged in before; empty for others."""
    content = visit.site.signer.read_cookie(visit.request, DEVICE_COOKIE, max_age=COOKIE_LIFE)
    return str(content[0]) if content else ""


@logged_in()
def log_out(visit: Visit) -> Response:
    """Ends the session, here and on the server."""
    visit.site.private.end_session(visit.session)
    response = visit.redirect("/admin/login")
    visit.site.signer.clear_cookie(response, visit.request, RESEARCHER_COOKIE)
    return response


@logged_in()
def overview(visit: Visit) -> Response:
    """Progress per condition, agreement so far, time per page."""
    progress = visit.site.researchers.overview()
    return dashboard(
        visit,
        "overview",
        heading="Overview",
        progress=progress,
        wanted=sum(arm.wanted for arm in progress.arms),
        answered=sum(arm.answered for arm in progress.arms),
        reliability=visit.site.researchers.reliability().to_dicts(),
        adaptive=visit.site.researchers.adaptive(),
        sequential=visit.site.researchers.sequential(),
        one_condition=visit.site.study.conditions == ("",),
        several_blocks=len(visit.site.study.blocks) > 1,
        refresh=REFRESH,
    )


@logged_in()
def raters(visit: Visit) -> Response:
    """Per-rater quality, flagged raters first."""
    order = visit.request.query_params.get("sort", "flags")
    order = order if order in ORDERS else "flags"
    rows = sorted(visit.site.researchers.raters(), key=ORDERS[order])
    start = min(whole_number(visit.request.query_params.get("start", "")) or 0, len(rows))
    return dashboard(
        visit,
        "raters",
        heading="Raters",
        rows=rows[start : start + PER_PAGE],
        count=len(rows),
        start=start,
        per_page=PER_PAGE,
        order=order,
        orders=tuple(ORDERS),
    )


@logged_in("review")
def review_rater(visit: Visit) -> Response:
    """Approves, excludes or reopens a rater."""
    verdict = next((v for v in VERDICTS if v == visit.field("verdict")), None)
    if verdict is None:
        raise PageError(400, "Which verdict?", "Choose to approve, exclude or reopen.")
    visit.researchers.review_rater(visit.field("rater"), verdict, visit.field("note")[:1000])
    query = urlencode({"sort": visit.field("sort") or "flags", "start": whole_number(visit.field("start")) or 0})
    return visit.redirect(f"/admin/raters?{query}")


@logged_in()
def items(visit: Visit) -> Response:
    """A page of the items, or those whose id starts with the search text."""
    find = visit.request.query_params.get("find", "")[:200]
    start = whole_number(visit.request.query_params.get("start", "")) or 0
    lines = visit.site.researchers.items(start, PER_PAGE, find)
    return dashboard(visit, "items", heading="Items", lines=lines, start=start, find=find, per_page=PER_PAGE)


@logged_in()
def item(visit: Visit) -> Response:
    """An item with the distribution of its answers and the reasons given."""
    answers = visit.site.researchers.item(visit.request.query_params.get("item", ""))
    return dashboard(
        visit,
        "item",
        here="items",
        heading=f"Item {answers.item}",
        answers=answers,
        panels=panels(visit.site.study.instrument, answers.record),
        item_lang=visit.site.item_lang(visit.language),
    )


@logged_in("manage")
def invitations(visit: Visit) -> Response:
    """The links for participants, as the researcher's browser sees the study's address."""
    return dashboard(
        visit,
        "invitations",
        heading="Links",
        via=visit.site.study.plan.recruitment.via,
        base=visit.address,
        preview_key=visit.site.signer.sign_form(PREVIEW_PAGE, PREVIEW_PAGE),
        invitations=visit.site.researchers.invitations(),
        most=MOST_INVITATIONS,
        webhooks=visit.site.researchers.webhooks(),
        secret=secret_of(visit.site.service.database).decode(),
    )


@logged_in("manage")
def invite(visit: Visit) -> Response:
    """Creates invitations."""
    count = whole_number(visit.field("count")) or 0
    if not 0 < count <= MOST_INVITATIONS:
        raise PageError(400, "How many?", f"Ask for 1 to {MOST_INVITATIONS} invitations at a time.")
    visit.researchers.invite(count, visit.field("note")[:200])
    return visit.redirect("/admin/invitations")


@logged_in("manage")
def pause(visit: Visit) -> Response:
    """Pauses or resumes the study."""
    visit.researchers.pause(visit.field("paused") == "yes")
    return visit.redirect("/admin")


@logged_in("manage")
def download(visit: Visit) -> Response:
    """The corpus so far, as a zip file."""
    name = quote(visit.site.study.id, safe="")
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return Response(visit.researchers.export_zip(), media_type="application/zip", headers=headers)


def dashboard(visit: Visit, name: str, status: int = 200, *, here: str = "", **values: Any) -> Response:
    """A page of the dashboard with its menu and a token for its forms; `here` is the menu entry, if not the page."""
    form = visit.site.signer.sign_form(visit.session, "admin")
    titles = {question.id: question.title for question in visit.site.study.questions}
    paused = visit.site.service.database.paused
    role = visit.researchers.role(visit.researchers.by)
    values |= {"here": here or name, "form": form, "titles": titles, "paused": paused, "role": role}
    return visit.render(f"admin/{name}.html", status, **values)
