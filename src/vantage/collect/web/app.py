"""The ASGI application of a study: which page stands where."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vantage.collect.web import api, judging, openapi, participant, researcher
from vantage.collect.web.guard import Guard
from vantage.collect.web.site import Site
from vantage.collect.web.visit import Handler, Trouble, Visit, endpoint, told

if TYPE_CHECKING:
    from vantage.collect.desk import Desk

PAGES: Final[tuple[tuple[str, Handler | None, Handler | None], ...]] = (
    ("/", participant.entrance, None),
    ("/consent", participant.consent, participant.give_consent),
    ("/traits", participant.traits, participant.give_traits),
    ("/guidelines", participant.guidelines, participant.read_guidelines),
    ("/quiz", participant.quiz, participant.answer_quiz),
    ("/item/{position:int}", judging.item, judging.submit),
    ("/review", judging.review, judging.hand_in),
    ("/end", participant.end, None),
    ("/more", None, participant.more),
    ("/withdraw", participant.withdraw, participant.really_withdraw),
    ("/desk/login", researcher.login, researcher.log_in),
    ("/desk/logout", None, researcher.log_out),
    ("/desk", researcher.overview, None),
    ("/desk/raters", researcher.raters, researcher.judge_rater),
    ("/desk/items", researcher.items, None),
    ("/desk/item", researcher.item, None),
    ("/desk/invitations", researcher.invitations, researcher.invite),
    ("/desk/pause", None, researcher.pause),
    ("/desk/download", researcher.download, None),
)
"""Every page: its address, what draws it, and what takes its form."""


def create_app(desk: Desk, *, prefix: str = "", own: bool = False) -> Starlette:
    """The application that serves one study.

    `prefix` is the path under which a reverse proxy shows it, such as `/study`; proxies that strip the prefix and
    those that pass it on are both served. TLS is the proxy's: cookies are marked as secure where the request says
    that it came by https. With `own`, the desk is closed when the server stops.
    """
    site = Site(desk, prefix)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if own:
            desk.close()

    async def static(request: Request) -> Response:
        found = site.static.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        headers = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(found.packed, media_type=found.kind, headers={**headers, "content-encoding": "gzip"})
        return Response(found.plain, media_type=found.kind, headers=headers)

    async def described(_: Request) -> Response:
        return JSONResponse(openapi.description(site.prefix))

    async def trouble(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if request.url.path.startswith(f"{site.prefix}/api/"):
            return JSONResponse({"problem": error.detail}, error.status_code, error.headers)
        page = told(Visit(site, request), TROUBLES.get(error.status_code) or Trouble(error.status_code, error.detail))
        page.headers.update(error.headers or {})
        return page

    routes = [Route("/static/{name}", static), Route("/openapi.json", described)]
    for path, draws, takes in PAGES:
        # One route per address, so that a wrong method is told apart from a wrong address.
        methods = (["GET"] if draws else []) + (["POST"] if takes else [])
        routes.append(Route(path, endpoint(site, _either(draws, takes)), methods=methods))
    for path in dict.fromkeys(call.path for call in api.CALLS):
        calls = {call.method: call for call in api.CALLS if call.path == path}
        get, post = (api.serve(calls[m]) if m in calls else None for m in ("GET", "POST"))
        routes.append(
            Route(
                path.replace("{item}", "{item:path}"),
                endpoint(site, _either(get, post), json=True),
                methods=list(calls),
            )
        )
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, prefix=site.prefix, redirects=site.redirects)],
        exception_handlers={HTTPException: trouble},
        lifespan=lifespan,
    )


TROUBLES: Final = {
    404: Trouble(404, "There is no such page", "Check the address, or go back to where you were."),
    405: Trouble(405, "This address takes no forms", "Go back to where you were and use the buttons there."),
}


def _either(draws: Handler | None, takes: Handler | None) -> Handler:
    """One handler for both methods of an address."""

    def handler(visit: Visit) -> Response:
        chosen = takes if visit.request.method == "POST" else draws
        assert chosen is not None  # noqa: S101
        return chosen(visit)

    return handler
