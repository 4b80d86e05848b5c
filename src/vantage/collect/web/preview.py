"""The preview of a study under `/preview`: the same pages over a throw-away database.

A researcher's signed link opens it. Nothing is stored in the study's database, so that nobody's seat is taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from vantage.collect.document import RecruitmentPart
from vantage.collect.flow_document import PhasePart
from vantage.collect.private import state_folder
from vantage.collect.service import StudyService
from vantage.collect.web.signing import DAY, PARTICIPANT_COOKIE, PREVIEW_PAGE
from vantage.collect.web.site import PREVIEW_SUFFIX, Site


class PreviewApp:
    """The ASGI application of a study's preview; opened at the first request."""

    def __init__(self, site: Site, create: Callable[[StudyService, str], Starlette]) -> None:
        self.site, self._create = site, create
        self._service: StudyService | None = None
        self._app: Starlette | None = None
        self._lock = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        request, signer = Request(scope), self.site.signer
        home = f"{self.site.prefix}/preview/"
        if key := request.query_params.get("key"):
            token = signer.check_form(key, PREVIEW_PAGE, max_age=30 * DAY)
            response: Response = PlainTextResponse("This preview link has expired. Ask for a new one.\n", 403)
            if token is not None and token.page == PREVIEW_PAGE:
                # Everybody who opens the link starts anew.
                response = RedirectResponse(home, 303)
                signer.write_cookie(response, request, PREVIEW_PAGE, ["yes"], max_age=DAY)
                response.delete_cookie(PARTICIPANT_COOKIE + PREVIEW_SUFFIX, path=home.rstrip("/"))
        elif signer.read_cookie(request, PREVIEW_PAGE, max_age=DAY) is None:
            response = PlainTextResponse("Open the preview with the link from the dashboard.\n", 403)
        else:
            await (await to_thread.run_sync(self._opened))(scope, receive, send)
            return
        await response(scope, receive, send)

    def close(self) -> None:
        """Closes the preview's database."""
        if self._service is not None:
            self._service.close()

    def _opened(self) -> Starlette:
        with self._lock:
            if self._app is None:
                study = self.site.study
                seats = {"recruitment": RecruitmentPart(), "raters": 1000, "double": None, "quotas": {}}
                flow = tuple(unlimited(phase) for phase in study.plan.flow)
                tried = replace(study, plan=study.plan.model_copy(update={**seats, "flow": flow}))
                file = preview_file(self.site.service)
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._service = StudyService(tried, str(file), apart=False)
                self._app = self._create(self._service, f"{self.site.prefix}/preview")
            return self._app


def unlimited(phase: PhasePart) -> PhasePart:
    """A phase whose blocks have places for everybody."""
    several = {"raters": 1000}
    if phase.block:
        return phase.model_copy(update={"block": phase.block.model_copy(update=several)})
    if phase.blocks:
        of = tuple(part.model_copy(update=several) for part in phase.blocks.of)
        return phase.model_copy(update={"blocks": phase.blocks.model_copy(update={"of": of})})
    return phase


def preview_file(service: StudyService) -> Path:
    """The database of a study's preview, which all workers share."""
    name = hashlib.sha256(service.database.key.encode()).hexdigest()[:16]
    return state_folder() / f"preview-{service.study.id}-{name}.sqlite"


def discard_preview(service: StudyService) -> None:
    """Deletes what previews left."""
    file = preview_file(service)
    for part in ("", "-wal", "-shm", "-lock"):
        file.with_name(file.name + part).unlink(missing_ok=True)
