"""One request: who is asking, what they sent, and how a page, a redirect or a trouble goes back."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from vantage.collect.views import Participant, Refused
from vantage.collect.web.seals import COOKIE_LIFE, PARTICIPANT_COOKIE, Seal
from vantage.collect.web.site import Site

LOG: Final = logging.getLogger("vantage.collect")
STATUS: Final = {"unknown": 404, "denied": 403, "conflict": 409}
MOST_FIELDS: Final = 1000

Form = Mapping[str, list[str]]


class Trouble(Exception):  # noqa: N818 - it is a page, too
    """Something that the visitor must be told: a status, a heading, and what to do."""

    def __init__(self, status: int, heading: str, *sentences: str) -> None:
        self.status, self.heading, self.sentences = status, heading, sentences
        super().__init__(f"{heading} {' '.join(sentences)}")


class Elsewhere(Exception):  # noqa: N818 - it is no error
    """The visitor belongs on another page."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


@dataclass
class Visit:
    """A request with the site that it came to."""

    site: Site
    request: Request
    form: Form = field(default_factory=dict)
    body: bytes = b""
    """What was sent to an address that takes JSON."""
    participant: Participant | None = None

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A drawn page; a known participant may withdraw from every one."""
        values = {"may_withdraw": self.participant is not None, **values}
        return HTMLResponse(self.site.draw(template, **values), status)

    def go(self, path: str) -> RedirectResponse:
        """A redirect inside the site, with GET whatever the method was."""
        return RedirectResponse(self.site.prefix + path, 303)

    def one(self, name: str) -> str:
        """What an input holds; empty where it was not sent."""
        return self.form.get(name, [""])[-1]

    def known(self) -> Participant | None:
        """The participant of the signed cookie."""
        if self.participant is None:
            self.participant = self.site.known(self.request.cookies.get(PARTICIPANT_COOKIE, ""))
        return self.participant

    def someone(self) -> Participant:
        """The participant; a visitor whom nobody knows is sent to the entrance."""
        known = self.known()
        if known is None:
            if self.request.method == "POST":
                raise Trouble(
                    403,
                    "We do not know who you are",
                    "Your browser did not send this site's cookie, so nothing was saved.",
                    "Allow cookies for this site, open the study by the link that you were given, and go on.",
                )
            raise Elsewhere("/")
        return known

    def remember(self, response: Response, participant: Participant) -> Response:
        """Sets the participant's cookie."""
        self.site.seals.write(response, self.request, PARTICIPANT_COOKIE, [participant.id], max_age=COOKIE_LIFE)
        return response

    def sealed(self, who: str, page: str) -> Seal:
        """The seal of the form that was sent, which must have been drawn for this person and page."""
        seal = self.site.seals.check(self.one("seal"), who)
        if seal is None or seal.page != page:
            raise Trouble(
                403,
                "This form cannot be used any more",
                "It was opened too long ago, or for another person, so nothing was saved.",
                "Go back to where you were and send it again from there.",
            )
        return seal


Handler = Callable[[Visit], Response]


def endpoint(site: Site, handler: Handler, *, json: bool = False) -> Callable[[Request], Awaitable[Response]]:
    """The handler as an ASGI endpoint: it runs in a thread, and whatever it raises becomes a page."""

    async def serve(request: Request) -> Response:
        visit = Visit(site, request)
        threads = site.threads.drawing
        if request.method == "POST":
            threads = site.threads.saving
            visit.body = await request.body()
            if not json:
                try:
                    visit.form = fields(visit.body, request.headers.get("content-type", ""))
                except Trouble as trouble:
                    return told(visit, trouble)
        if request.url.path.startswith(site.office):
            threads = site.threads.office
        return await to_thread.run_sync(answer, visit, handler, limiter=threads)

    return serve


def answer(visit: Visit, handler: Handler) -> Response:
    """The response of a handler, or the page that says what went wrong."""
    try:
        return handler(visit)
    except Elsewhere as place:
        return visit.go(place.path)
    except Refused as refused:
        return told(visit, Trouble(STATUS[refused.kind], "This is not possible", str(refused)))
    except Trouble as trouble:
        return told(visit, trouble)
    except Exception as error:
        # The last line of defence: a page for the visitor, a line for the operator.
        reference, path = secrets.token_hex(4), visit.request.url.path
        LOG.error("%s %s failed, reference %s: %s", visit.request.method, path, reference, _line(error))
        ours = Trouble(
            500,
            "Something went wrong on our side",
            "Answers that you saved before are safe. Go back to where you were and try again in a minute.",
            f"If it happens again, tell the researchers this reference: {reference}",
        )
        return told(visit, ours, log=False)


def told(visit: Visit, trouble: Trouble, *, log: bool = True) -> HTMLResponse:
    """The page of a trouble, and one line in the log."""
    if log:
        LOG.warning("%s %s: %d %s", visit.request.method, visit.request.url.path, trouble.status, _plain(str(trouble)))
    desk = visit.request.url.path.startswith(f"{visit.site.prefix}/desk")
    return visit.page(
        "trouble.html",
        trouble.status,
        heading=trouble.heading,
        sentences=trouble.sentences,
        back=f"{visit.site.prefix}{'/desk' if desk else '/'}",
        back_text="To the dashboard" if desk else "Back to where you were",
    )


def fields(body: bytes, kind: str) -> dict[str, list[str]]:
    """The inputs of a form as browsers send it.

    >>> fields(b"a0=1&t=x&t=y", "application/x-www-form-urlencoded")
    {'a0': ['1'], 't': ['x', 'y']}
    """
    if body and kind.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Trouble(415, "This is not a form", "Send it from the page on which it stands.")
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise Trouble(400, "This form cannot be read", "Go back, reload the page and send it again.") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _line(error: BaseException) -> str:
    """An error with its place, on one line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace is not None else ""
    return _plain(f"{type(error).__name__}: {error}{place}")


def _plain(text: str) -> str:
    """Text that stays on one line of the log, whatever was sent to us."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:500]
