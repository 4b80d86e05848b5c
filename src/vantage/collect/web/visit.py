"""One request: who is asking, what they sent, and the response: a page, a redirect or an error page."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from anyio import to_thread
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from vantage.collect.database import LOG
from vantage.collect.languages import ENGLISH, Language, preferred, sentence
from vantage.collect.researchers import ROLES, ResearcherService
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import Participant, Refused, Role
from vantage.collect.web.signing import COOKIE_LIFE, LANGUAGE_COOKIE, PARTICIPANT_COOKIE, FormToken
from vantage.collect.web.site import Site

DOWN: Final = (OperationalError, InterfaceError, PoolTimeout)
RETRY: Final = {"retry-after": "30"}
"""Sent while the database does not answer; browsers, proxies and platforms try again after so many seconds."""
STATUS: Final = {"unknown": 404, "denied": 403, "conflict": 409}
MOST_FIELDS: Final = 1000

Form = Mapping[str, list[str]]


class PageError(Exception):
    """An error page: a status, a heading, and what to do."""

    def __init__(self, status: int, heading: str, *sentences: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.heading, self.sentences, self.headers = status, heading, sentences, headers
        super().__init__(f"{heading} {' '.join(sentences)}")


class Redirect(Exception):  # noqa: N818 - not an error
    """Sends the visitor to another page, whose path it is made of."""


@dataclass
class Visit:
    """A request to a site."""

    site: Site
    request: Request
    form: Form = field(default_factory=dict)
    body: bytes = b""
    participant: Participant | None = None
    session: str = ""
    """The session of a researcher who is logged in, with their name at its end."""

    @cached_property
    def language(self) -> Language:
        """The language of the page: the one chosen, or what the browser prefers, of those that the study offers."""
        if self.request.scope["path"].startswith(self.site.researcher_paths):
            return ENGLISH
        offered = self.site.languages
        if len(offered) == 1:
            return next(iter(offered.values()))
        chosen = self.fixed_language or self.request.cookies.get(LANGUAGE_COOKIE, "")
        if chosen not in offered:
            chosen = preferred(self.request.headers.get("accept-language", ""), offered)
        return offered[chosen]

    @property
    def fixed_language(self) -> str:
        """The language that a participant has chosen for a study with content in several; they keep it."""
        known = self.known_participant() if self.site.study.plan.translations else None
        return known.language if known else ""

    @property
    def study(self) -> AnnotationStudy:
        """The study in the language of the page."""
        return self.site.study.in_language(self.language.code)

    def render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page; known participants can withdraw from every one."""
        values = {"may_withdraw": self.participant is not None, "path": self.path, **values}
        values |= {"languages": []} if self.fixed_language else {}
        return HTMLResponse(self.site.render(template, self.language, **values), status)

    @property
    def path(self) -> str:
        """The path within the site."""
        path: str = self.request.scope["path"]
        return path.removeprefix(self.site.prefix)

    @property
    def address(self) -> str:
        """The address of the study's first page, as the visitor's browser sees it."""
        url = self.request.url
        return f"{url.scheme}://{url.netloc}{self.site.prefix}/"

    def redirect(self, path: str) -> RedirectResponse:
        """A redirect within the site, always followed with GET."""
        return RedirectResponse(self.site.prefix + path, 303)

    def field(self, name: str) -> str:
        """The value of an input; empty where it was not sent."""
        return self.form.get(name, [""])[-1]

    @cached_property
    def researchers(self) -> ResearcherService:
        """What researchers can do, in the name of the one who is logged in."""
        return self.site.researchers.acting(self.session.rpartition(":")[2])

    def allow(self, session: str, role: Role) -> bool:
        """Whether a session goes on; `PageError` where its researcher may not do this."""
        if not self.site.private.has_session(session):
            return False
        self.session = session
        own = self.site.researchers.role(session.rpartition(":")[2])
        if own is not None and ROLES.index(own) < ROLES.index(role):
            raise PageError(403, "Not allowed", f"Your role is '{own}', and this needs '{role}'.")
        return own is not None

    def known_participant(self) -> Participant | None:
        """The participant of the signed cookie."""
        if self.participant is None:
            content = self.site.signer.read_cookie(self.request, PARTICIPANT_COOKIE, max_age=COOKIE_LIFE)
            self.participant = self.site.participants.find(str(content[0])) if content else None
        return self.participant

    def require_participant(self) -> Participant:
        """The participant; unknown visitors are sent to the start page."""
        known = self.known_participant()
        if known is None:
            if self.request.method == "POST":
                raise PageError(
                    403,
                    sentence("We do not know who you are"),
                    sentence("Your browser did not send this site’s cookie, so nothing was saved."),
                    sentence("Allow cookies for this site, then open the study from the link you were given."),
                )
            raise Redirect("/")
        return known

    def set_participant_cookie(self, response: Response, participant: Participant) -> Response:
        """Sets the participant's cookie."""
        self.site.signer.write_cookie(response, self.request, PARTICIPANT_COOKIE, [participant.id], max_age=COOKIE_LIFE)
        return response

    def check_form(self, who: str, page: str) -> FormToken:
        """The token of the submitted form, which must have been rendered for this person and page."""
        token = self.site.signer.check_form(self.field("form_token"), who)
        if token is None or token.page != page:
            raise PageError(
                403,
                sentence("This form has expired"),
                sentence("It was opened too long ago or by somebody else, so nothing was saved."),
                sentence("Go back to the page and send it again from there."),
            )
        return token


Handler = Callable[[Visit], Response]


def endpoint(
    site: Site, handlers: Mapping[str, Handler], *, json: bool = False, rating: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """The handlers of an address, by method, as an ASGI endpoint: run in a thread, exceptions become pages.

    Those of `rating` pages save in threads of their own. Where the site reads at once, their GET is answered without a
    thread, which costs as much as a short read from a local file.
    """

    async def serve(request: Request) -> Response:
        visit = Visit(site, request)
        handler = handlers.get(request.method) or handlers["GET"]  # HEAD is answered like GET
        threads = site.reading
        if request.method == "POST":
            threads = site.saving if rating else site.moving
            visit.body = await request.body()
            if not json:
                try:
                    visit.form = fields(visit.body, request.headers.get("content-type", ""))
                except PageError as error:
                    return error_page(visit, error)
        if request.scope["path"].startswith(site.researcher_paths):
            threads = site.measuring
        if rating and site.reads_at_once and threads is site.reading:
            return respond(visit, handler)
        return await to_thread.run_sync(respond, visit, handler, limiter=threads)

    return serve


def respond(visit: Visit, handler: Handler) -> Response:
    """The response of a handler, or an error page."""
    try:
        return handler(visit)
    except Redirect as redirect:
        return visit.redirect(str(redirect))
    except Refused as refused:
        heading = refused.heading or sentence("This is not possible")
        return error_page(visit, PageError(STATUS[refused.kind], heading, refused.sentence))
    except PageError as error:
        return error_page(visit, error)
    except Exception as error:
        # The last line of defence: an error page for the visitor, a log line for the operator.
        reference, path = secrets.token_hex(4), visit.request.url.path
        LOG.error("%s %s failed, reference %s: %s", visit.request.method, path, reference, _line(error))
        down = isinstance(error, DOWN)
        ours = PageError(
            503 if down else 500,
            sentence("Something went wrong on our side"),
            sentence("The answers you saved are safe. Go back to the page and try again in a minute."),
            sentence("If it happens again, give the researchers this reference: %(reference)s", reference=reference),
            headers=RETRY if down else None,
        )
        return error_page(visit, ours, log=False)


def error_page(visit: Visit, error: PageError, *, log: bool = True) -> Response:
    """An error page, or for a program JSON that says the same, and one line in the log."""
    if log:
        LOG.warning("%s %s: %d %s", visit.request.method, visit.request.url.path, error.status, _plain(str(error)))
    if visit.path.startswith("/api/"):
        return JSONResponse({"problem": " ".join(error.sentences)}, error.status, error.headers)
    admin = visit.path.startswith("/admin")
    say = visit.language.say
    page = visit.render(
        "error.html",
        error.status,
        heading=say(error.heading),
        sentences=[say(text) for text in error.sentences],
        back=f"{visit.site.prefix}{'/admin' if admin else '/'}",
        back_text="To the dashboard" if admin else say(sentence("Back to the study")),
    )
    page.headers.update(error.headers or {})
    return page


def fields(body: bytes, kind: str) -> dict[str, list[str]]:
    """The inputs of a form as sent by browsers.

    >>> fields(b"a0=1&t=x&t=y", "application/x-www-form-urlencoded")
    {'a0': ['1'], 't': ['x', 'y']}
    """
    if body and kind.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise PageError(415, "This is not a form", "Send the form from its page.")
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise PageError(
            400, sentence("This form cannot be read"), sentence("Go back, reload the page and send it again.")
        ) from None


def _line(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace is not None else ""
    return _plain(f"{type(error).__name__}: {error}{place}")


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:500]
