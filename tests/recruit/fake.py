"""A Prolific for rehearsals: the documented endpoints over real HTTP.

Participants are moved by calling methods (`start`, `complete`, `take_back`, `time_out`), as the website would. The
tests add faults, bonuses, rejections and webhooks.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

ACTIONS: Final = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}
EDITABLE: Final = {"internal_name", "total_available_places", "submissions_config"}
"""Fields of a published study that may change."""
REQUIRED: Final = (
    *("name", "description", "external_study_url", "prolific_id_option", "completion_codes"),
    *("total_available_places", "estimated_completion_time", "reward"),
)
Handler = Callable[[str, Any, Mapping[str, str]], Response]
"""Answers a call, from the id in its path, its content and its parameters."""
Answering = Callable[[Request], Awaitable[Response]]
FREES: Final = ("RETURNED", "TIMED-OUT", "REJECTED")


class Refusal(Exception):  # noqa: N818 - an answer
    """An error as Prolific reports it."""

    def __init__(self, status: int, detail: object) -> None:
        self.status, self.detail = status, detail
        super().__init__(status)


class FakeProlific:
    """The platform: studies, submissions, bonuses, groups and hooks of one account."""

    def __init__(
        self,
        token: str = "t0ken",  # noqa: S107 - of no account
        *,
        currency: str = "GBP",
        fee: float = 1 / 3,
        vat: float = 0.2,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.token, self.currency, self.fee, self.vat, self._now = token, currency, fee, vat, now
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, dict[str, Any]] = {}
        self.approvals: Counter[str] = Counter()
        self._lock = threading.RLock()

    # What participants do.

    def start(self, study: str, participant: str) -> tuple[str, str] | None:
        """A participant takes a place: the submission and the address of the study; null where no place is left."""
        with self._lock:
            shown = self.studies[study]
            taken = sum(one["study_id"] == study and one["status"] not in FREES for one in self.submissions.values())
            if shown["status"] != "ACTIVE" or taken >= shown["total_available_places"]:
                return None
            id_ = secrets.token_hex(12)
            self.submissions[id_] = {
                "id": id_,
                "participant": participant,
                "study_id": study,
                "status": "ACTIVE",
                "started_at": self._time(),
                "completed_at": None,
                "entered_code": None,
                "bonus_payments": [],
            }
        url = shown["external_study_url"]
        for name, value in (("PROLIFIC_PID", participant), ("STUDY_ID", study), ("SESSION_ID", id_)):
            url = url.replace("{{%" + name + "%}}", value)
        return id_, url

    def complete(self, submission: str, code: str) -> None:
        """A participant enters a completion code."""
        with self._lock:
            self.submissions[submission] |= {"entered_code": code, "completed_at": self._time()}
            self._become(submission, "AWAITING REVIEW")

    def take_back(self, submission: str) -> None:
        """A participant returns a submission."""
        self._become(submission, "RETURNED")

    def time_out(self, submission: str) -> None:
        """A submission takes too long."""
        self._become(submission, "TIMED-OUT")

    # The API.

    def app(self) -> Starlette:
        """The application that answers calls."""
        routes = [
            Route(f"/api/v1{path}", self._answer(handler), methods=[method])
            for (method, path), handler in self._handlers().items()
        ]
        return Starlette(routes=routes)

    def _handlers(self) -> dict[tuple[str, str], Handler]:
        """What answers calls, by method and path."""
        return {
            ("GET", "/studies/"): self._list_studies,
            ("POST", "/studies/"): self._create_study,
            ("GET", "/studies/{id}/"): lambda id_, *_: JSONResponse(entry(self.studies, id_)),
            ("PATCH", "/studies/{id}/"): self._update_study,
            ("DELETE", "/studies/{id}/"): self._delete_study,
            ("POST", "/studies/{id}/transition/"): self._transition_study,
            ("GET", "/studies/{id}/cost/"): self._cost,
            ("GET", "/submissions/"): self._list_submissions,
            ("POST", "/submissions/bulk-approve/"): self._bulk_approve,
            ("GET", "/submissions/{id}/"): lambda id_, *_: JSONResponse(entry(self.submissions, id_)),
        }

    def _answer(self, handler: Handler) -> Answering:
        async def answered(request: Request) -> Response:
            body = await request.body()
            if request.headers.get("authorization") != f"Token {self.token}":
                return error(401, "Authentication credentials were not provided or are invalid.")
            try:
                with self._lock:
                    content = json.loads(body) if body else {}
                    return handler(request.path_params.get("id", ""), content, request.query_params)
            except Refusal as refusal:
                return error(refusal.status, refusal.detail)

        return answered

    def _list_studies(self, _: str, __: Any, ___: Mapping[str, str]) -> Response:
        short = ("id", "name", "internal_name", "status", "total_available_places", "reward")
        return JSONResponse({"results": [{name: one.get(name) for name in short} for one in self.studies.values()]})

    def _create_study(self, _: str, content: Any, __: Mapping[str, str]) -> Response:
        if missing := {name: ["This field is required."] for name in REQUIRED if not content.get(name)}:
            raise Refusal(400, missing)
        codes = [one["code"] for one in content["completion_codes"]]
        if len({*codes}) < len(codes):
            raise Refusal(400, {"completion_codes": ["Each code must be unique within a study."]})
        made = {**content, "id": secrets.token_hex(12), "status": "UNPUBLISHED", "is_ready_to_publish": True}
        self.studies[made["id"]] = made
        return JSONResponse(made, 201)

    def _update_study(self, id_: str, content: Any, _: Mapping[str, str]) -> Response:
        study = entry(self.studies, id_)
        if study["status"] != "UNPUBLISHED":
            if {*content} - EDITABLE:
                raise Refusal(400, f"These fields of a published study cannot change: {sorted({*content} - EDITABLE)}")
            if content.get("total_available_places", study["total_available_places"]) < study["total_available_places"]:
                raise Refusal(400, {"total_available_places": ["Places can only be increased."]})
            if study["status"] == "COMPLETED" and "total_available_places" in content:
                study["status"] = "ACTIVE"
        study |= content
        return JSONResponse(study)

    def _delete_study(self, id_: str, _: Any, __: Mapping[str, str]) -> Response:
        if entry(self.studies, id_)["status"] != "UNPUBLISHED":
            raise Refusal(400, "Only drafts can be deleted.")
        del self.studies[id_]
        return Response(status_code=204)

    def _transition_study(self, id_: str, content: Any, _: Mapping[str, str]) -> Response:
        study = entry(self.studies, id_)
        after = ACTIONS.get((study["status"], content.get("action")))
        if after is None:
            raise Refusal(400, f"A study that is {study['status']} cannot {content.get('action')}.")
        study["status"] = after
        return JSONResponse(study)

    def _cost(self, id_: str, _: Any, params: Mapping[str, str]) -> Response:
        study = entry(self.studies, id_)
        own = [one for one in self.submissions.values() if one["study_id"] == id_]
        paid = sum(one["status"] == "APPROVED" for one in own)
        if params.get("is_projected") == "true":
            paid = study["total_available_places"]
        bonuses = sum(sum(one["bonus_payments"]) for one in own)
        return JSONResponse(
            {"rewards": self._breakdown(paid * study["reward"]), "bonuses": self._breakdown(bonuses), "_links": {}}
        )

    def _breakdown(self, amount: float) -> dict[str, Any]:
        fees = round(amount * self.fee)
        parts = {"rewards": amount, "fees": fees, "tax": round(fees * self.vat)}
        return {name: {"amount": value, "currency": self.currency} for name, value in parts.items()}

    def _list_submissions(self, _: str, __: Any, params: Mapping[str, str]) -> Response:
        own = [one for one in self.submissions.values() if one["study_id"] == params.get("study")]
        size, page = int(params.get("page_size", 20)), int(params.get("page", 1))
        submissions = [
            {
                **{name: one[name] for name in ("id", "status", "started_at", "completed_at")},
                "participant_id": one["participant"],
                "study_code": one["entered_code"],
            }
            for one in own[(page - 1) * size : page * size]
        ]
        return JSONResponse({"results": submissions})

    def _bulk_approve(self, _: str, content: Any, __: Mapping[str, str]) -> Response:
        known = [entry(self.submissions, id_) for id_ in content["submission_ids"]]
        for one in known:
            if one["status"] != "APPROVED":  # a second approval pays nothing
                self.approvals[one["id"]] += 1
                self._become(one["id"], "APPROVED")
        return JSONResponse("The request to bulk approve has been made successfully.")

    def _become(self, submission: str, status: str) -> None:
        with self._lock:
            self.submissions[submission]["status"] = status

    def _time(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).isoformat()


def entry(table: Mapping[str, dict[str, Any]], id_: str) -> dict[str, Any]:
    """What a table has under an id; refused where there is nothing."""
    if id_ not in table:
        raise Refusal(404, "Not found.")
    return table[id_]


def error(status: int, detail: object, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that reports an error as Prolific does."""
    problem = {"status": status, "error_code": 140000 + status, "title": "Error", "detail": detail}
    return JSONResponse({"error": problem}, status, headers=dict(headers or {}))


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serves an application on the loopback address; gives the address."""
    # Without a configuration of its own: setting one up would close every log handler of this process.
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
