"""The researcher's pages: how the study stands, how well people agree, whom to look at, what was said about an item."""

from __future__ import annotations

import secrets
from typing import Any, Final, get_args
from urllib.parse import quote, urlencode

from starlette.responses import Response

from vantage.collect.views import Overview, RaterRow, Verdict
from vantage.collect.web.exhibit import panels
from vantage.collect.web.seals import RESEARCHER_COOKIE
from vantage.collect.web.visit import LOG, Elsewhere, Trouble, Visit

SESSION: Final = 12 * 3600
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
"""How the raters may be sorted: those to look at first, the busiest, the fastest, the least agreeing, as they came."""


def address(visit: Visit) -> str:
    """Whose tries are counted: the address that the server (or the trusted proxy before it) tells."""
    return visit.request.client.host if visit.request.client else "unknown"


def session(visit: Visit) -> str:
    """The session of a researcher who has logged in; everybody else is sent to the log-in."""
    content = visit.site.seals.read(visit.request, RESEARCHER_COOKIE, max_age=SESSION)
    if not content or content[1] != visit.site.desk.password_stamp():
        raise Elsewhere("/desk/login")
    return f"desk:{content[0]}"


def page(visit: Visit, template: str, here: str, **values: Any) -> Response:
    """A page of the dashboard, with its menu and a seal for its forms."""
    form = visit.site.seals.seal(session(visit), "desk")
    return visit.page(template, here=here, form=form, paused=overview_of(visit).paused, **values)


def changed(visit: Visit) -> None:
    """Checks that a form of the dashboard was sent by the researcher from our own page."""
    who = session(visit)
    visit.sealed(who, "desk")
    visit.site.recent.forget()


def overview_of(visit: Visit) -> Overview:
    """How the study stands, a few seconds old at most."""
    return visit.site.recent.get("overview", visit.site.desk.overview)


def login(visit: Visit) -> Response:
    """Asks for the password."""
    return _login(visit)


def _login(visit: Visit, problem: str = "", status: int = 200) -> Response:
    content = visit.site.seals.read(visit.request, "vantage-login", max_age=3600)
    who = str(content[0]) if content else secrets.token_urlsafe(12)
    response = visit.page(
        "desk/login.html",
        status,
        heading="Log in",
        problem=problem,
        possible=visit.site.desk.has_password(),
        form=visit.site.seals.seal(f"login:{who}", "login"),
    )
    if not content:
        visit.site.seals.write(response, visit.request, "vantage-login", [who], max_age=3600)
    return response


def log_in(visit: Visit) -> Response:
    """Checks the password; after a few wrong ones an address has to wait."""
    content = visit.site.seals.read(visit.request, "vantage-login", max_age=3600)
    if content is None or visit.site.seals.check(visit.one("seal"), f"login:{content[0]}", max_age=3600) is None:
        return _login(visit, "This form was too old. Please try again; cookies must be allowed.", 403)
    trouble = check_password(visit, visit.one("password"))
    if trouble:
        return _login(visit, trouble.sentences[0], trouble.status)
    response = visit.go("/desk")
    content = [secrets.token_urlsafe(12), visit.site.desk.password_stamp()]
    visit.site.seals.write(response, visit.request, RESEARCHER_COOKIE, content, max_age=SESSION)
    return response


def check_password(visit: Visit, password: str) -> Trouble | None:
    """What speaks against letting somebody in; null where the password is right."""
    who = address(visit)
    if seconds := visit.site.throttle.wait(who):
        minutes = (seconds + 59) // 60
        LOG.warning("log-in from %s refused: too many wrong passwords", who)
        return Trouble(429, "Too many tries", f"Too many wrong passwords. Try again in {minutes} minutes.")
    if not visit.site.desk.password_matches(password[:1000]):
        visit.site.throttle.failed(who)
        LOG.warning("log-in from %s failed: wrong password", who)
        return Trouble(403, "Wrong password", "This is not the password. Try again.")
    visit.site.throttle.passed(who)
    return None


def log_out(visit: Visit) -> Response:
    """Ends the session."""
    changed(visit)
    response = visit.go("/desk/login")
    visit.site.seals.clear(response, visit.request, RESEARCHER_COOKIE)
    return response


def overview(visit: Visit) -> Response:
    """Progress per condition, live agreement, time."""
    session(visit)
    seen = overview_of(visit)
    wanted, answered = sum(arm.wanted for arm in seen.arms), sum(arm.answered for arm in seen.arms)
    reliability = visit.site.recent.get("reliability", lambda: visit.site.desk.reliability().to_dicts())
    titles = {question.id: question.title for question in visit.site.study.instrument.questions}
    return page(
        visit,
        "desk/overview.html",
        "overview",
        heading="Overview",
        seen=seen,
        wanted=wanted,
        answered=answered,
        reliability=reliability,
        titles=titles,
        one_condition=visit.site.study.conditions == ("",),
    )


def raters(visit: Visit) -> Response:
    """Per-rater quality, those to look at first."""
    session(visit)
    order = visit.request.query_params.get("sort", "flags")
    rows: list[RaterRow] = visit.site.recent.get("raters", visit.site.desk.raters)
    rows = sorted(rows, key=ORDERS.get(order, ORDERS["flags"]))
    start = _number(visit.request.query_params.get("start", ""), most=len(rows))
    return page(
        visit,
        "desk/raters.html",
        "raters",
        heading="Raters",
        rows=rows[start : start + PER_PAGE],
        count=len(rows),
        start=start,
        per_page=PER_PAGE,
        order=order if order in ORDERS else "flags",
        orders=tuple(ORDERS),
    )


def judge_rater(visit: Visit) -> Response:
    """Approves, excludes or reopens a rater."""
    changed(visit)
    verdict = next((v for v in VERDICTS if v == visit.one("verdict")), None)
    if verdict is None:
        raise Trouble(400, "Which verdict?", "Choose to approve, exclude or reopen.")
    visit.site.desk.judge_rater(visit.one("rater"), verdict, visit.one("note")[:1000])
    query = urlencode({"sort": visit.one("sort") or "flags", "start": _number(visit.one("start"))})
    return visit.go(f"/desk/raters?{query}")


def items(visit: Visit) -> Response:
    """A stretch of the items, or those whose id starts as asked."""
    session(visit)
    find = visit.request.query_params.get("find", "")[:200]
    start = _number(visit.request.query_params.get("start", ""))
    lines = visit.site.desk.items(start, PER_PAGE, find)
    return page(
        visit,
        "desk/items.html",
        "items",
        heading="Items",
        lines=lines,
        start=start,
        find=find,
        per_page=PER_PAGE,
    )


def item(visit: Visit) -> Response:
    """An item with the distribution of its answers and the reasons given."""
    session(visit)
    answers = visit.site.desk.item(visit.request.query_params.get("item", ""))
    instrument = visit.site.study.instrument
    titles = {question.id: question.title for question in instrument.questions}
    return page(
        visit,
        "desk/item.html",
        "items",
        heading=f"Item {answers.item}",
        answers=answers,
        panels=panels(instrument, answers.record),
        titles=titles,
        item_lang=visit.site.item_lang,
    )


def invitations(visit: Visit) -> Response:
    """The links that bring participants here."""
    session(visit)
    return page(
        visit,
        "desk/invitations.html",
        "invitations",
        heading="Links",
        via=visit.site.study.recruitment.via,
        base=base(visit),
        invitations=visit.site.desk.invitations(),
        most=MOST_INVITATIONS,
    )


def base(visit: Visit) -> str:
    """The study's address as the researcher's browser sees it."""
    url = visit.request.url
    return f"{url.scheme}://{url.netloc}{visit.site.prefix}/"


def invite(visit: Visit) -> Response:
    """Makes invitations."""
    changed(visit)
    count = _number(visit.one("count"), most=MOST_INVITATIONS)
    if count < 1:
        raise Trouble(400, "How many?", f"Ask for 1 to {MOST_INVITATIONS} invitations at a time.")
    visit.site.desk.invite(count, visit.one("note")[:200])
    return visit.go("/desk/invitations")


def pause(visit: Visit) -> Response:
    """Pauses or resumes the study."""
    changed(visit)
    visit.site.desk.pause(visit.one("paused") == "yes")
    return visit.go("/desk")


def download(visit: Visit) -> Response:
    """The corpus so far, as a zip file."""
    session(visit)
    content = visit.site.desk.export_zip()
    name = quote(visit.site.study.id, safe="")
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return Response(content, media_type="application/zip", headers=headers)


def _number(text: str, most: int = 10_000_000) -> int:
    """A whole number from a link or a form; 0 for anything else, at most `most`."""
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 10 else 0
