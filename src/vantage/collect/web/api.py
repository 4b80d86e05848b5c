"""The dashboard for programs: JSON under `/api`.

A program sends the password once and gets a token that is valid for twelve hours; every other call sends it as
`Authorization: Bearer TOKEN`. The models below check requests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from sqlalchemy.exc import DBAPIError
from starlette.responses import JSONResponse, Response

from vantage._version import __version__
from vantage.collect.sql import WORKERS
from vantage.collect.views import Overview, RaterRow, Refused, Role, Verdict
from vantage.collect.web.researcher_pages import SESSION, password_error
from vantage.collect.web.visit import LOG, RETRY, STATUS, PageError, Visit

TOKEN_PAGE: Final = "api"  # noqa: S105 - the name of a page
Line = Annotated[str, Field(max_length=1000)]


class Strict(BaseModel):
    """A body with exactly the described keys."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Password(Strict):
    """The dashboard's password, or that of a researcher with a name."""

    password: Line
    name: Line = ""


class Paused(Strict):
    """Whether the study is paused."""

    paused: bool


class Review(Strict):
    """A verdict on a rater."""

    verdict: Verdict
    note: Line = ""
    rule: Line | None = None
    """Why a rater is excluded; by default the rater's flags."""


B = TypeVar("B", bound=Strict)


@dataclass(frozen=True)
class ApiCall:
    """One call of the interface: its address, handler and request."""

    method: Literal["GET", "POST"]
    path: str
    handler: Callable[[Visit], Any]
    body: type[Strict] | None = None
    role: Role | None = "view"
    """What a researcher must be allowed to; null where no token is needed."""


def health(visit: Visit) -> Response:
    """Reports whether the server and its database are running, for load balancers; 503 where the database is not."""
    down = not visit.site.service.database.answers()
    state = {"status": "database down" if down else "ok", "version": __version__}
    workers = int(os.environ.get(WORKERS, "1"))  # processes that serve the study on this machine
    return JSONResponse({**state, "workers": workers}, 503 if down else 200, RETRY if down else None)


def token(visit: Visit) -> dict[str, Any]:
    """Returns a token for the password."""
    body = _body(visit, Password)
    if error := password_error(visit, body.name, body.password):
        raise error
    session = visit.site.private.start_session(SESSION, body.name)
    return {"token": f"{session}.{visit.site.signer.sign_form(session, TOKEN_PAGE)}", "seconds": SESSION}


def log_out(visit: Visit) -> dict[str, bool]:
    """Ends the token."""
    visit.site.private.end_session(visit.session)
    return {"logged_out": True}


def overview(visit: Visit) -> Overview:
    """Progress by condition and by stage."""
    return visit.site.researchers.overview()


def raters(visit: Visit) -> list[RaterRow]:
    """Per-rater quality, under the pseudonyms of the export."""
    return visit.site.researchers.raters()


def review(visit: Visit) -> dict[str, str | None]:
    """Approves, excludes or reopens (`pending`) a rater."""
    body = _body(visit, Review)
    visit.researchers.review_rater(visit.request.path_params["rater"], body.verdict, body.note, body.rule)
    return body.model_dump()


def pause(visit: Visit) -> dict[str, bool]:
    """Pauses or resumes the study."""
    body = _body(visit, Paused)
    visit.researchers.pause(body.paused)
    return {"paused": body.paused}


CALLS: Final = (
    ApiCall("GET", "/health", health, role=None),
    ApiCall("POST", "/api/logout", log_out),
    ApiCall("POST", "/api/token", token, body=Password, role=None),
    ApiCall("GET", "/api/overview", overview),
    ApiCall("GET", "/api/raters", raters),
    ApiCall("POST", "/api/raters/{rater}", review, body=Review, role="review"),
    ApiCall("POST", "/api/pause", pause, body=Paused, role="manage"),
)


def serve(call: ApiCall) -> Callable[[Visit], Response]:
    """The call as a handler: checks the token and answers in JSON, errors included."""

    def handler(visit: Visit) -> Response:
        try:
            if call.role:
                _authorised(visit, call.role)
            result = call.handler(visit)
            if isinstance(result, Response):
                return result
            return Response(TypeAdapter(Any).dump_json(result), media_type="application/json")
        except Refused as refused:
            return JSONResponse({"problem": str(refused)}, STATUS[refused.kind])
        except DBAPIError:
            LOG.exception("%s %s failed", visit.request.method, visit.request.url.path)
            return JSONResponse({"problem": "The database does not answer. Try again in a minute."}, 503, RETRY)
        except PageError as error:
            headers = {"www-authenticate": "Bearer"} if error.status == 401 else None
            return JSONResponse({"problem": " ".join(error.sentences)}, error.status, headers)

    return handler


def _authorised(visit: Visit, role: Role) -> None:
    kind, _, text = visit.request.headers.get("authorization", "").partition(" ")
    session, _, signed = text.partition(".")
    token = visit.site.signer.check_form(signed, session, max_age=SESSION)
    valid = kind.lower() == "bearer" and token is not None and token.page == TOKEN_PAGE
    if not (valid and visit.allow(session, role)):
        raise PageError(401, "No token", "Send a token from /api/token as 'Authorization: Bearer TOKEN'.")


def _body(visit: Visit, model: type[B]) -> B:
    try:
        return model.model_validate_json(visit.body)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the body'}: {e['msg']}" for e in error.errors()[:5])
        raise PageError(400, "Not as described", f"{problems}. See docs/collect.md.") from None
