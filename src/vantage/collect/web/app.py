"""The ASGI application of a study: which address leads to which page."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from vantage.collect.background import Background, Job
from vantage.collect.languages import sentence
from vantage.collect.outgoing import send
from vantage.collect.web import api, rating_pages
from vantage.collect.web import participant_pages as participant
from vantage.collect.web import researcher_pages as researcher
from vantage.collect.web.form_pages import form_pages
from vantage.collect.web.guard import Guard
from vantage.collect.web.preview import PreviewApp
from vantage.collect.web.site import Site, Verify
from vantage.collect.web.visit import Handler, PageError, Visit, endpoint, error_page

if TYPE_CHECKING:
    from vantage.collect.service import StudyService

PAGES: Final[Mapping[str, Mapping[str, Handler]]] = {
    "/item/{position:int}": {"GET": rating_pages.item, "POST": rating_pages.submit},
    "/": {"GET": participant.start},
    "/consent": {"GET": participant.consent, "POST": participant.give_consent},
    "/screener": form_pages("screener", "traits"),
    "/traits": form_pages("screener", "traits"),
    "/guidelines": {"GET": participant.guidelines, "POST": form_pages("guidelines")["POST"]},
    "/training": form_pages("training"),
    "/quiz": form_pages("quiz"),
    "/draft": {"POST": rating_pages.draft},
    "/review": form_pages("review"),
    "/debriefing": form_pages("debriefing"),
    "/end": {"GET": participant.end},
    "/more": {"POST": participant.more},
    "/withdraw": {"GET": participant.withdraw, "POST": participant.confirm_withdrawal},
    "/language/{code}": {"GET": participant.choose_language},
    "/admin/login": {"GET": researcher.login, "POST": researcher.log_in},
    "/admin/logout": {"POST": researcher.log_out},
    "/admin": {"GET": researcher.overview},
    "/admin/raters": {"GET": researcher.raters, "POST": researcher.review_rater},
    "/admin/items": {"GET": researcher.items},
    "/admin/item": {"GET": researcher.item},
    "/admin/invitations": {"GET": researcher.invitations, "POST": researcher.invite},
    "/admin/pause": {"POST": researcher.pause},
    "/admin/download": {"GET": researcher.download},
}
"""The handlers of every page, by address and method; the most frequent first."""


def create_app(
    service: StudyService,
    *,
    prefix: str = "",
    own: bool = False,
    preview: bool = False,
    pages: Mapping[str, Mapping[str, Handler]] | None = None,
    every: Sequence[tuple[float, Callable[[StudyService], None]]] = (),
    verify: Verify | None = None,
) -> Starlette:
    """The application that serves one study.

    `prefix` is its path behind a reverse proxy, such as `/study`; the proxy may strip the prefix or pass it on. TLS is
    the proxy's task: cookies are marked as secure where the request came by https. With `own`, the service is closed
    when the server stops. A `preview` has no dashboard. `pages` are further pages, and `every` what is done in the
    background, with the seconds in between. `verify` refuses visitors who are not those whom their link names.
    """
    site = Site(service, prefix, preview=preview, verify=verify)
    tried = PreviewApp(site, lambda throwaway, path: create_app(throwaway, prefix=path, preview=True))

    jobs: list[tuple[float, Job]] = [(interval, partial(job, service)) for interval, job in every]
    if service.study.plan.webhooks:
        jobs.append((0.0, partial(send, service.database)))
    background = Background(service.database, [] if preview else jobs)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        background.start()
        yield
        background.stop()
        tried.close()
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
        return JSONResponse(api.description(site.prefix))

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if request.url.path.startswith(f"{site.prefix}/api/"):
            return JSONResponse({"problem": error.detail}, error.status_code, error.headers)
        shown = ERRORS.get(error.status_code) or PageError(error.status_code, error.detail)
        page = error_page(Visit(site, request), shown)
        page.headers.update(error.headers or {})
        return page

    files: list[BaseRoute] = [Route("/static/{name}", static), Route("/openapi.json", described)]
    if preview:
        shown = {path: page for path, page in PAGES.items() if not path.startswith("/admin")}
        routes = [*_pages(site, shown), *files]
    else:
        routes = [*_pages(site, {**PAGES, **(pages or {})}), *files, Mount("/preview", tried)]
        calls: dict[str, dict[str, Handler]] = {}
        for call in api.CALLS:
            calls.setdefault(call.path.replace("{item}", "{item:path}"), {})[call.method] = api.serve(call)
        routes += _pages(site, calls, json=True)
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, prefix=site.prefix, redirects=site.redirects)],
        exception_handlers={HTTPException: failed},
        lifespan=lifespan,
    )


def _pages(site: Site, addresses: Mapping[str, Mapping[str, Handler]], *, json: bool = False) -> list[BaseRoute]:
    """One route per address, so that a wrong method is not reported as a wrong address."""
    routes: list[BaseRoute] = []
    for path, by_method in addresses.items():
        rating = by_method.get("POST") is rating_pages.submit
        routes.append(Route(path, endpoint(site, by_method, json=json, rating=rating), methods=list(by_method)))
    return routes


ERRORS: Final = {
    status: PageError(status, sentence("Page not found"), sentence("Check the address, or go back to the study."))
    for status in (404, 405)
}
