"""The ASGI application of a study: which address leads to which page."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from vantage.collect.web import api, openapi, rating_pages
from vantage.collect.web import participant_pages as participant
from vantage.collect.web import researcher_pages as researcher
from vantage.collect.web.guard import Guard
from vantage.collect.web.site import Site
from vantage.collect.web.visit import Handler, PageError, Visit, endpoint, error_page

if TYPE_CHECKING:
    from vantage.collect.service import StudyService

PAGES: Final[tuple[tuple[str, Handler | None, Handler | None], ...]] = (
    ("/", participant.start, None),
    ("/consent", participant.consent, participant.give_consent),
    ("/traits", participant.traits, participant.give_traits),
    ("/guidelines", participant.guidelines, participant.confirm_guidelines),
    ("/quiz", participant.quiz, participant.answer_quiz),
    ("/item/{position:int}", rating_pages.item, rating_pages.submit),
    ("/review", rating_pages.review, rating_pages.finish),
    ("/end", participant.end, None),
    ("/more", None, participant.more),
    ("/withdraw", participant.withdraw, participant.confirm_withdrawal),
    ("/admin/login", researcher.login, researcher.log_in),
    ("/admin/logout", None, researcher.log_out),
    ("/admin", researcher.overview, None),
    ("/admin/raters", researcher.raters, researcher.review_rater),
    ("/admin/items", researcher.items, None),
    ("/admin/item", researcher.item, None),
    ("/admin/invitations", researcher.invitations, researcher.invite),
    ("/admin/pause", None, researcher.pause),
    ("/admin/download", researcher.download, None),
)
"""Every page: its address, the handler that shows it, and the handler that accepts its form."""


def create_app(service: StudyService, *, prefix: str = "", own: bool = False) -> Starlette:
    """The application that serves one study.

    `prefix` is its path behind a reverse proxy, such as `/study`; the proxy may strip the prefix or pass it on. TLS is
    the proxy's task: cookies are marked as secure where the request came by https. With `own`, the service is closed
    when the server stops.
    """
    site = Site(service, prefix)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if own:
            service.close()

    async def static(request: Request) -> Response:
        file = site.static.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        headers = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(file.packed, media_type=file.kind, headers={**headers, "content-encoding": "gzip"})
        return Response(file.plain, media_type=file.kind, headers=headers)

    async def described(_: Request) -> Response:
        return JSONResponse(openapi.description(site.prefix))

    async def moved(request: Request) -> Response:
        # The dashboard's address before it was called /admin.
        rest, query = request.path_params.get("rest", ""), request.url.query
        path = f"{site.prefix}/admin{rest and '/'}{rest}{query and '?'}{query}"
        return RedirectResponse(path, 308)

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if request.url.path.startswith(f"{site.prefix}/api/"):
            return JSONResponse({"problem": error.detail}, error.status_code, error.headers)
        shown = ERRORS.get(error.status_code) or PageError(error.status_code, error.detail)
        page = error_page(Visit(site, request), shown)
        page.headers.update(error.headers or {})
        return page

    routes = [Route("/static/{name}", static), Route("/openapi.json", described)]
    routes += [Route(path, moved, methods=["GET", "POST"]) for path in ("/desk", "/desk/{rest:path}")]
    for path, shows, accepts in PAGES:
        # One route per address, so that a wrong method is not reported as a wrong address.
        methods = (["GET"] if shows else []) + (["POST"] if accepts else [])
        routes.append(Route(path, endpoint(site, _either(shows, accepts)), methods=methods))
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
        exception_handlers={HTTPException: failed},
        lifespan=lifespan,
    )


ERRORS: Final = {
    404: PageError(404, "Page not found", "Check the address, or go back to the study."),
    405: PageError(405, "This address accepts no forms", "Go back to the page and use its buttons."),
}


def _either(shows: Handler | None, accepts: Handler | None) -> Handler:
    """One handler for both methods of an address."""

    def handler(visit: Visit) -> Response:
        chosen = accepts if visit.request.method == "POST" else shows
        assert chosen is not None  # noqa: S101
        return chosen(visit)

    return handler
