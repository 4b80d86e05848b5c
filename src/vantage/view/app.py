"""Serves the explorer: on this machine only, read-only, and only with the one-time token."""

from __future__ import annotations

import secrets
from importlib import resources
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from vantage.errors import VantageError
from vantage.report import EXPLORER, as_json
from vantage.view.explorer import LARGEST, VIEWS, Explorer

COOKIE: Final = "vantage-view-{port}"
"""The name of the cookie, for browsers send those of a host to all its ports."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
TYPES: Final = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
LAST: Final = 2**31
"""Numbers in addresses end here."""
LISTS: Final = ("only", "among")
NUMBERS: Final = ("page", "size", "run", "sample", "start", "end")


def asset(name: str) -> str:
    """A file of the page."""
    return (resources.files("vantage.view") / "static" / name).read_text("utf-8")


class Server:
    """The application of one explorer; `token` opens it once, after which a cookie does."""

    def __init__(self, explorer: Explorer, port: int) -> None:
        self.explorer, self.port, self.cookie = explorer, port, COOKIE.format(port=port)
        self.token, self._session, self._used = secrets.token_urlsafe(24), secrets.token_urlsafe(24), False

    @property
    def address(self) -> str:
        """Where to look, with the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def app(self) -> Starlette:
        """The application."""
        routes = [
            Route("/", self.index),
            Route("/view.{kind}", self.static),
            Route("/report/{number:int}", self.report),
            # Numbers of a report lead to the explorer beside it, which is this one.
            Route(f"/report/{EXPLORER}", lambda _: RedirectResponse("/", 303, headers=HEADERS)),
            Route("/api/{view}", self.api),
        ]
        return Starlette(routes=routes)

    async def index(self, request: Request) -> Response:
        """The page; the token in the address is exchanged for a cookie and leaves the address."""
        given = request.query_params.get("token")
        if given is not None and not self._used and _same(given, self.token):
            self._used = True
            response: Response = RedirectResponse("/", 303, headers=HEADERS)
            response.set_cookie(self.cookie, self._session, httponly=True, samesite="strict")
            return response
        if refusal := self._refused(request):
            return refusal
        return Response(asset("view.html"), media_type="text/html", headers=HEADERS)

    async def static(self, request: Request) -> Response:
        """The script and the style sheet."""
        kind = request.path_params["kind"]
        if kind not in TYPES:
            return PlainTextResponse("There is no such file.", 404, headers=HEADERS)
        return Response(asset(f"view.{kind}"), media_type=TYPES[kind], headers=HEADERS)

    async def report(self, request: Request) -> Response:
        """The report of a study, where one was opened; it has a policy of its own."""
        if refusal := self._refused(request):
            return refusal
        number, opened = request.path_params["number"], self.explorer.opened
        page = opened[number].report if number < len(opened) else None
        if page is None:
            return PlainTextResponse("There is no report.", 404, headers=HEADERS)
        # Its numbers wait for the explorer that serves it.
        text = page.read_text("utf-8").replace('<a data-door="#', '<a href="/#')
        return Response(text, media_type="text/html", headers={"x-content-type-options": "nosniff"})

    async def api(self, request: Request) -> Response:
        """One view as JSON."""
        view = request.path_params["view"]
        if view not in VIEWS:
            return _json({"problem": "There is no such view."}, 404)
        if refusal := self._refused(request):
            return refusal
        try:
            given = parameters(parse_qsl(request.url.query, keep_blank_values=True))
            return _json(await run_in_threadpool(lambda: getattr(self.explorer, view)(**given)))
        except VantageError as error:
            return _json({"problem": str(error)}, 400)
        except (TypeError, ValueError) as error:
            return _json({"problem": f"The request cannot be read ({error})."}, 400)

    def _refused(self, request: Request) -> Response | None:
        """Other hosts, other sites and those without the cookie get nothing."""
        host = request.headers.get("host", "")
        if host not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return PlainTextResponse("This address is not served.", 403, headers=HEADERS)
        if not _same(request.cookies.get(self.cookie, ""), self._session):
            said = "The link works once and only in the browser that opened it. Run vantage view again for a new one."
            return PlainTextResponse(said, 403, headers=HEADERS)
        return None


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(errors="surrogateescape"), secret.encode())


def parameters(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """The query of an address as keyword arguments; empty ones are left out.

    >>> parameters([("search", "tea"), ("page", "2"), ("where.topic", "law"), ("descending", "false")])
    {'search': 'tea', 'page': 2, 'descending': False, 'where': {'topic': 'law'}}
    """
    given: dict[str, Any] = {}
    nested: dict[str, dict[str, str]] = {}
    for name, value in pairs:
        group, dot, inner = name.partition(".")
        if dot:
            nested.setdefault(group, {})[inner] = value
        elif name in NUMBERS:
            low, high = (1, LARGEST) if name == "size" else (0, LAST)
            given[name] = min(max(int(value), low), high)
        elif name == "descending":
            given[name] = value != "false"
        elif name in LISTS:
            given.setdefault(name, []).append(value)
        elif value or name == "condition":
            given[name] = value
    return given | nested


def _json(data: Any, status: int = 200) -> Response:
    return Response(as_json(data), status, media_type="application/json", headers=HEADERS)
