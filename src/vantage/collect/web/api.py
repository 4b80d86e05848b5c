"""The dashboard for programs: JSON under `/api`, described at `/openapi.json`.

A program sends the password once and gets a token that is good for twelve hours; every other call carries it as
`Authorization: Bearer TOKEN`. The shapes below are checked on the way in and written into the description.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.responses import JSONResponse, Response

from vantage._version import __version__
from vantage.collect.views import Invitation, ItemAnswers, ItemLine, Overview, RaterRow, Refused, Verdict
from vantage.collect.web.researcher import MOST_INVITATIONS, SESSION, check_password, overview_of
from vantage.collect.web.visit import STATUS, Trouble, Visit

TOKEN_PAGE: Final = "api"  # noqa: S105 - the name of a page
Line = Annotated[str, Field(max_length=1000)]


class Strict(BaseModel):
    """A body that has exactly the keys that it should."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Password(Strict):
    """What a token costs."""

    password: Line


class Paused(Strict):
    """Whether participants have to wait."""

    paused: bool


class Invite(Strict):
    """How many invitations to make."""

    count: Annotated[int, Field(ge=1, le=MOST_INVITATIONS)]
    note: Annotated[str, Field(max_length=200)] = ""


class Judge(Strict):
    """A verdict on a rater."""

    verdict: Verdict
    note: Line = ""


class Token(BaseModel):
    """Goes into the `Authorization` header."""

    token: str
    seconds: int


class Problem(BaseModel):
    """What went wrong and what to do."""

    problem: str


class Health(BaseModel):
    """The server answers."""

    status: Literal["ok"]
    version: str


class Reliability(BaseModel):
    """One measure of one question under one condition; null with a reason where it is not defined."""

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


B = TypeVar("B", bound=Strict)


@dataclass(frozen=True)
class Call:
    """One entry of the interface: where it stands, what it takes and gives, and what it does."""

    method: Literal["GET", "POST"]
    path: str
    does: Callable[[Visit], Any]
    gives: Any
    takes: type[Strict] | None = None
    query: tuple[tuple[str, dict[str, Any]], ...] = ()
    open: bool = False
    """Whether it needs no token."""


def health(visit: Visit) -> dict[str, str]:
    """Says that the server answers, for load balancers."""
    return {"status": "ok", "version": __version__}


def token(visit: Visit) -> dict[str, Any]:
    """Gives a token for the password."""
    body = _body(visit, Password)
    if trouble := check_password(visit, body.password):
        raise trouble
    session = secrets.token_urlsafe(12)
    return {"token": f"{session}.{visit.site.seals.seal(_holder(visit, session), TOKEN_PAGE)}", "seconds": SESSION}


def overview(visit: Visit) -> Overview:
    """How the study stands: progress by condition and by stage."""
    return overview_of(visit)


def reliability(visit: Visit) -> list[dict[str, Any]]:
    """Agreement and reliability by question and condition, with 95 % intervals; a few seconds old at most."""
    rows = visit.site.recent.get("reliability", lambda: visit.site.desk.reliability().to_dicts())
    return [{name: row.get(name) for name in Reliability.model_fields} for row in rows]


def raters(visit: Visit) -> list[RaterRow]:
    """Per-rater quality, under the pseudonyms of the export."""
    return visit.site.recent.get("raters", visit.site.desk.raters)


def judge(visit: Visit) -> dict[str, str]:
    """Approves, excludes or reopens (`pending`) a rater."""
    body = _body(visit, Judge)
    visit.site.desk.judge_rater(visit.request.path_params["rater"], body.verdict, body.note)
    visit.site.recent.forget()
    return {"verdict": body.verdict, "note": body.note}


def items(visit: Visit) -> list[ItemLine]:
    """A stretch of the items, or those whose id starts with `find`."""
    query = visit.request.query_params
    find = query.get("find", "")
    if len(query.multi_items()) > len(query) or set(query) - {"start", "count", "find"} or len(find) > 200:
        raise Trouble(400, "Not as described", "Give 'start', 'count' and 'find' once each, or not; see /openapi.json.")
    numbers = []
    for name, otherwise, most in (("start", "0", 10_000_000), ("count", "50", 1000)):
        text = query.get(name, otherwise)
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
            raise Trouble(400, "Not a number", f"'{name}' is a whole number from 0 to {most}.")
        numbers.append(int(text))
    return visit.site.desk.items(numbers[0], numbers[1], find)


def item(visit: Visit) -> ItemAnswers:
    """One item with the distribution of its answers and the reasons given."""
    return visit.site.desk.item(visit.request.path_params["item"])


def invitations(visit: Visit) -> list[Invitation]:
    """The invitations made so far."""
    return visit.site.desk.invitations()


def invite(visit: Visit) -> list[Invitation]:
    """Makes invitations."""
    body = _body(visit, Invite)
    return visit.site.desk.invite(body.count, body.note)


def pause(visit: Visit) -> dict[str, bool]:
    """Pauses or resumes the study."""
    body = _body(visit, Paused)
    visit.site.desk.pause(body.paused)
    visit.site.recent.forget()
    return {"paused": body.paused}


_WHOLE: Final = {"type": "integer", "minimum": 0}
CALLS: Final = (
    Call("GET", "/api/health", health, Health, open=True),
    Call("POST", "/api/token", token, Token, takes=Password, open=True),
    Call("GET", "/api/overview", overview, Overview),
    Call("GET", "/api/reliability", reliability, list[Reliability]),
    Call("GET", "/api/raters", raters, list[RaterRow]),
    Call("POST", "/api/raters/{rater}", judge, Judge, takes=Judge),
    Call(
        "GET",
        "/api/items",
        items,
        list[ItemLine],
        query=(
            ("start", {**_WHOLE, "maximum": 10_000_000, "default": 0}),
            ("count", {**_WHOLE, "maximum": 1000, "default": 50}),
            ("find", {"type": "string", "maxLength": 200, "default": ""}),
        ),
    ),
    Call("GET", "/api/items/{item}", item, ItemAnswers),
    Call("GET", "/api/invitations", invitations, list[Invitation]),
    Call("POST", "/api/invitations", invite, list[Invitation], takes=Invite),
    Call("POST", "/api/pause", pause, Paused, takes=Paused),
)


def serve(call: Call) -> Callable[[Visit], Response]:
    """The call as a handler: it checks the token and answers in JSON, troubles included."""

    def handler(visit: Visit) -> Response:
        try:
            if not call.open:
                _authorised(visit)
            return JSONResponse(json.loads(TypeAdapter(Any).dump_json(_plain(call.does(visit)))))
        except Refused as refused:
            return JSONResponse({"problem": str(refused)}, STATUS[refused.kind])
        except Trouble as trouble:
            headers = {"www-authenticate": "Bearer"} if trouble.status == 401 else None
            return JSONResponse({"problem": " ".join(trouble.sentences)}, trouble.status, headers)

    return handler


def _authorised(visit: Visit) -> None:
    kind, _, text = visit.request.headers.get("authorization", "").partition(" ")
    session, _, seal = text.partition(".")
    known = kind.lower() == "bearer"
    found = visit.site.seals.check(seal, _holder(visit, session), max_age=SESSION) if known else None
    if found is None or found.page != TOKEN_PAGE:
        raise Trouble(401, "No token", "Send a token from /api/token as 'Authorization: Bearer TOKEN'.")


def _holder(visit: Visit, session: str) -> str:
    """For whom a token is sealed; a new password ends all sessions."""
    return f"api:{session}:{visit.site.desk.password_stamp()}"


def _body(visit: Visit, model: type[B]) -> B:
    try:
        return model.model_validate_json(visit.body)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the body'}: {e['msg']}" for e in error.errors()[:5])
        raise Trouble(400, "Not as described", f"{told}. See /openapi.json.") from None


def _plain(value: Any) -> Any:
    """Dataclasses as mappings, so that any JSON writer can take them."""
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
