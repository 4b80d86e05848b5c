"""The dashboard for programs: JSON under `/api`, described at `/openapi.json`.

A program sends the password once and gets a token that is valid for twelve hours; every other call sends it as
`Authorization: Bearer TOKEN`. The models below check requests and are part of the description.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.responses import JSONResponse, Response

from vantage._version import __version__
from vantage.collect.sql import WORKERS
from vantage.collect.views import Invitation, ItemAnswers, ItemLine, Overview, RaterRow, Role, Verdict
from vantage.collect.web.researcher_pages import MOST_INVITATIONS, SESSION, password_error
from vantage.collect.web.visit import RETRY, PageError, Visit

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


class Invite(Strict):
    """Invitations to create."""

    count: Annotated[int, Field(ge=1, le=MOST_INVITATIONS)]
    note: Annotated[str, Field(max_length=200)] = ""


class ItemRange(Strict):
    """A range of the items, or those whose id starts with `find`."""

    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    count: Annotated[int, Field(ge=0, le=1000)] = 50
    find: Annotated[str, Field(max_length=200)] = ""


class Review(Strict):
    """A verdict on a rater."""

    verdict: Verdict
    note: Line = ""
    rule: Line | None = None
    """Why a rater is excluded; by default the rater's flags."""


class Token(BaseModel):
    """A token for the `Authorization` header."""

    token: str
    seconds: int


class LoggedOut(BaseModel):
    """The token is no longer valid."""

    logged_out: bool


class Problem(BaseModel):
    """What went wrong, and what to do."""

    problem: str


class Health(BaseModel):
    """Whether the server can serve."""

    status: Literal["ok", "database down"]
    version: str
    workers: int


class Reliability(BaseModel):
    """One measure of one question under one condition; null with a reason where it is undefined."""

    question: str
    condition: str
    measure: str
    estimate: float | None
    low: float | None
    high: float | None
    items: int | None
    raters: int | None
    judgments: int | None
    reason: str | None


@dataclass(frozen=True)
class ApiCall:
    """One call of the interface: its address, handler, request and response."""

    method: Literal["GET", "POST"]
    path: str
    handler: Callable[[Visit], Any]
    response: Any
    body: type[Strict] | None = None
    query: type[Strict] | None = None
    role: Role | None = "view"
    """What a researcher must be allowed to; null where no token is needed."""


def health(visit: Visit) -> Response:
    """Reports whether the server and its database are running, for load balancers; 503 where the database is not."""
    down = not visit.site.service.database.answers()
    workers = int(os.environ.get(WORKERS, "1"))
    state = Health(status="database down" if down else "ok", version=__version__, workers=workers)
    return JSONResponse(state.model_dump(), 503 if down else 200, RETRY if down else None)


def token(visit: Visit) -> dict[str, Any]:
    """Returns a token for the password."""
    body = Password.model_validate_json(visit.body)
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


def reliability(visit: Visit) -> list[dict[str, Any]]:
    """Agreement and reliability by question and condition, with 95 % intervals."""
    rows = visit.site.researchers.reliability().to_dicts()
    return [{name: row.get(name) for name in Reliability.model_fields} for row in rows]


def raters(visit: Visit) -> list[RaterRow]:
    """Per-rater quality, under the pseudonyms of the export."""
    return visit.site.researchers.raters()


def review(visit: Visit) -> dict[str, str | None]:
    """Approves, excludes or reopens (`pending`) a rater."""
    body = Review.model_validate_json(visit.body)
    visit.researchers.review_rater(visit.request.path_params["rater"], body.verdict, body.note, body.rule)
    return body.model_dump()


def items(visit: Visit) -> list[ItemLine]:
    """A range of the items, or those whose id starts with `find`."""
    query = visit.request.query_params
    if len(query.multi_items()) > len(query):
        raise PageError(400, "Not as described", "Give 'start', 'count' and 'find' at most once; see /openapi.json.")
    wanted = ItemRange.model_validate_strings(dict(query))
    return visit.site.researchers.items(wanted.start, wanted.count, wanted.find)


def item(visit: Visit) -> ItemAnswers:
    """One item with the distribution of its answers and the reasons given."""
    return visit.site.researchers.item(visit.request.path_params["item"])


def invitations(visit: Visit) -> list[Invitation]:
    """All invitations."""
    return visit.site.researchers.invitations()


def invite(visit: Visit) -> list[Invitation]:
    """Creates invitations."""
    body = Invite.model_validate_json(visit.body)
    return visit.researchers.invite(body.count, body.note)


def pause(visit: Visit) -> dict[str, bool]:
    """Pauses or resumes the study."""
    body = Paused.model_validate_json(visit.body)
    visit.researchers.pause(body.paused)
    return {"paused": body.paused}


_BRACES: Final = str.maketrans("", "", "{}")
CALLS: Final = (
    ApiCall("GET", "/health", health, Health, role=None),
    ApiCall("GET", "/api/health", health, Health, role=None),
    ApiCall("POST", "/api/logout", log_out, LoggedOut),
    ApiCall("POST", "/api/token", token, Token, body=Password, role=None),
    ApiCall("GET", "/api/overview", overview, Overview),
    ApiCall("GET", "/api/reliability", reliability, list[Reliability]),
    ApiCall("GET", "/api/raters", raters, list[RaterRow]),
    ApiCall("POST", "/api/raters/{rater}", review, Review, body=Review, role="review"),
    ApiCall("GET", "/api/items", items, list[ItemLine], query=ItemRange),
    ApiCall("GET", "/api/items/{item}", item, ItemAnswers),
    ApiCall("GET", "/api/invitations", invitations, list[Invitation], role="manage"),
    ApiCall("POST", "/api/invitations", invite, list[Invitation], body=Invite, role="manage"),
    ApiCall("POST", "/api/pause", pause, Paused, body=Paused, role="manage"),
)


def serve(call: ApiCall) -> Callable[[Visit], Response]:
    """The call as a handler: checks the token and answers in JSON."""

    def handler(visit: Visit) -> Response:
        if call.role:
            _authorised(visit, call.role)
        try:
            result = call.handler(visit)
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, e['loc'])) or 'the body'}: {e['msg']}" for e in error.errors()[:5]]
            raise PageError(400, "Not as described", f"{'; '.join(problems)}. See /openapi.json.") from None
        if isinstance(result, Response):
            return result
        return Response(TypeAdapter(Any).dump_json(result), media_type="application/json")

    return handler


@lru_cache(maxsize=4)
def description(prefix: str = "") -> dict[str, Any]:
    """The OpenAPI document of the calls."""
    shapes: dict[str, Any] = {}

    def schema(of: Any) -> dict[str, Any]:
        made = TypeAdapter(of).json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        shapes.update(made.pop("$defs", {}))
        return made

    paths: dict[str, dict[str, Any]] = {}
    problem = {"content": {"application/json": {"schema": schema(Problem)}}}
    for call in CALLS:
        named = [part[1:-1] for part in call.path.split("/") if part.startswith("{")]
        word = {"type": "string", "minLength": 1}
        parameters = [{"name": name, "in": "path", "required": True, "schema": word} for name in named]
        asked = call.query.model_json_schema()["properties"] if call.query else {}
        parameters += [{"name": name, "in": "query", "schema": shape} for name, shape in asked.items()]
        content = {"application/json": {"schema": schema(call.response)}}
        refusals = {
            "400": ("Not as described", call.body or call.query),
            "401": ("No token, or an expired one", call.role),
            "403": ("Wrong password, or not allowed", call.body is Password or call.role not in (None, "view")),
            "404": ("Not found", named),
            "409": ("No longer possible", named),
            "413": ("The body is too large", call.body),
            "429": ("Too many wrong passwords", call.body is Password),
        }
        responses = {
            status: {"description": why, **problem} for status, (why, possible) in refusals.items() if possible
        }
        responses["200"] = {"description": "Success", "content": content}
        if call.handler is health:
            responses["503"] = {"description": "The database does not answer", "content": content}
        entry: dict[str, Any] = {
            "operationId": f"{call.method.lower()}{call.path.replace('/', '_').translate(_BRACES)}",
            "summary": (call.handler.__doc__ or "").strip(),
            "parameters": parameters,
            "responses": responses,
        }
        if call.body:
            entry["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema(call.body)}}}
        if call.role:
            entry["security"] = [{"token": []}]
        paths.setdefault(call.path, {})[call.method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {"title": "Vantage collect", "version": __version__},
        "servers": [{"url": prefix or "/"}],
        "paths": paths,
        "components": {"schemas": shapes, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _authorised(visit: Visit, role: Role) -> None:
    kind, _, text = visit.request.headers.get("authorization", "").partition(" ")
    session, _, signed = text.partition(".")
    token = visit.site.signer.check_form(signed, session, max_age=SESSION)
    valid = kind.lower() == "bearer" and token is not None and token.page == TOKEN_PAGE
    if not (valid and visit.allow(session, role)):
        wanted = "Send a token from /api/token as 'Authorization: Bearer TOKEN'."
        raise PageError(401, "No token", wanted, headers={"www-authenticate": "Bearer"})
