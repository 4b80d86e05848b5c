"""A Prolific for tests and rehearsals: the documented endpoints over real HTTP, and faults on request.

Participants are moved by calling methods (`start`, `complete`, `take_back`, `time_out`), as the website would. Events
wait in `outbox` until `deliver` sends them, so that they can come late, twice, in another order, or with a wrong
signature. `faults` are the next answers to calls, before or after the call has taken effect.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import httpx2 as httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

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
FREES: Final = ("RETURNED", "TIMED-OUT", "REJECTED")


class Refusal(Exception):  # noqa: N818 - an answer
    """An error as Prolific reports it."""

    def __init__(self, status: int, detail: object) -> None:
        self.status, self.detail = status, detail
        super().__init__(status)


@dataclass
class PlantedFault:
    """An answer in place of the right one to calls of a path; with `after`, once the call has taken effect."""

    path: str
    status: int = 502
    after: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """A webhook that waits to be delivered."""

    id: str
    at: str
    body: bytes


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
        self.secret = secrets.token_hex(16)
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, dict[str, Any]] = {}
        self.payments: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, set[str]] = {}
        self.subscriptions: dict[str, dict[str, Any]] = {}
        self.paid: list[tuple[str, int]] = []
        """Every bonus that was paid: submission and amount."""
        self.approvals: Counter[str] = Counter()
        self.outbox: list[Event] = []
        self.faults: deque[PlantedFault] = deque()
        self.calls: list[tuple[str, str]] = []
        self.pays_late = False
        """Whether bonuses appear only after `settle`."""
        self._late: list[tuple[str, int]] = []
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
                "return_requested": None,
            }
            self._changed(id_)
        url = shown["external_study_url"]
        for name, value in (("PROLIFIC_PID", participant), ("STUDY_ID", study), ("SESSION_ID", id_)):
            url = url.replace("{{%" + name + "%}}", value)
        return id_, url

    def complete(self, submission: str, code: str) -> None:
        """A participant enters a completion code; its actions follow."""
        with self._lock:
            one = self.submissions[submission]
            codes = {known["code"]: known for known in self.studies[one["study_id"]]["completion_codes"]}
            one |= {"entered_code": code, "completed_at": self._time()}
            self._become(submission, "AWAITING REVIEW")
            for action in codes.get(code, {}).get("actions", ()):
                if action["action"] == "REQUEST_RETURN":
                    one["return_requested"] = self._time()
                elif action["action"] == "ADD_TO_PARTICIPANT_GROUP":
                    self.groups.setdefault(action["participant_group"], set()).add(one["participant"])

    def take_back(self, submission: str) -> None:
        """A participant returns a submission."""
        self._become(submission, "RETURNED")

    def time_out(self, submission: str) -> None:
        """A submission takes too long."""
        self._become(submission, "TIMED-OUT")

    def settle(self) -> None:
        """Late bonuses appear."""
        with self._lock:
            for submission, amount in self._late:
                self.submissions[submission]["bonus_payments"].append(float(amount))
            self._late.clear()

    # Webhooks.

    def sign(self, body: bytes, at: str, secret: str | None = None) -> str:
        """The signature of a webhook (https://docs.prolific.com/api-reference/webhooks/verifying)."""
        key = (self.secret if secret is None else secret).encode()
        return base64.b64encode(hmac.digest(key, at.encode() + body, "sha256")).decode()

    def deliver(self, url: str = "", events: Sequence[Event] | None = None, *, secret: str | None = None) -> list[int]:
        """Sends events, by default all that wait, to an address or to those who subscribed; the statuses."""
        with self._lock:
            waiting = list(self.outbox if events is None else events)
            if events is None:
                self.outbox.clear()
        targets = [url] if url else [one["target_url"] for one in self.subscriptions.values() if one["is_enabled"]]
        statuses: list[int] = []
        with httpx.Client(timeout=30, verify=any(one.startswith("https:") for one in targets)) as http:
            for event in waiting:
                headers = {"X-Event-ID": event.id, "X-Prolific-Request-Timestamp": event.at}
                headers["X-Prolific-Request-Signature"] = self.sign(event.body, event.at, secret)
                statuses += [http.post(one, content=event.body, headers=headers).status_code for one in targets]
        return statuses

    # The API.

    def app(self) -> Starlette:
        """The application that answers calls."""
        routes = [
            Route(f"/api/v1{path}", self._answer(handler), methods=[method])
            for method, path, handler in (
                ("GET", "/studies/", self._list_studies),
                ("POST", "/studies/", self._create_study),
                ("GET", "/studies/{id}/", self._get_study),
                ("PATCH", "/studies/{id}/", self._update_study),
                ("DELETE", "/studies/{id}/", self._delete_study),
                ("POST", "/studies/{id}/transition/", self._transition_study),
                ("GET", "/studies/{id}/cost/", self._cost),
                ("GET", "/submissions/", self._list_submissions),
                ("POST", "/submissions/bulk-approve/", self._bulk_approve),
                ("POST", "/submissions/bonus-payments/", self._set_up_bonuses),
                ("GET", "/submissions/{id}/", self._get_submission),
                ("POST", "/submissions/{id}/transition/", self._transition_submission),
                ("POST", "/bulk-bonus-payments/{id}/pay/", self._pay),
                ("POST", "/hooks/subscriptions/", self._subscribe),
                ("POST", "/hooks/subscriptions/{id}/", self._confirm),
            )
        ]
        return Starlette(routes=routes)

    def _answer(self, handler: Callable[[str, Any, Mapping[str, str]], Response]) -> Any:
        async def answered(request: Request) -> Response:
            body = await request.body()
            with self._lock:
                self.calls.append((request.method, request.url.path))
                if request.headers.get("authorization") != f"Token {self.token}":
                    return _error(401, "Authentication credentials were not provided or are invalid.")
                fault = next((one for one in self.faults if re.search(one.path, request.url.path)), None)
                if fault is not None:
                    self.faults.remove(fault)
                if fault is not None and not fault.after:
                    return _error(fault.status, "planned", fault.headers)
                try:
                    content = json.loads(body) if body else {}
                    response = handler(request.path_params.get("id", ""), content, request.query_params)
                except Refusal as refusal:
                    response = _error(refusal.status, refusal.detail)
                return response if fault is None else _error(fault.status, "planned", fault.headers)

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

    def _get_study(self, id_: str, _: Any, __: Mapping[str, str]) -> Response:
        return JSONResponse(self._study(id_))

    def _update_study(self, id_: str, content: Any, _: Mapping[str, str]) -> Response:
        study = self._study(id_)
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
        if self._study(id_)["status"] != "UNPUBLISHED":
            raise Refusal(400, "Only drafts can be deleted.")
        del self.studies[id_]
        return Response(status_code=204)

    def _transition_study(self, id_: str, content: Any, _: Mapping[str, str]) -> Response:
        study = self._study(id_)
        after = ACTIONS.get((study["status"], content.get("action")))
        if after is None:
            raise Refusal(400, f"A study that is {study['status']} cannot {content.get('action')}.")
        study["status"] = after
        return JSONResponse(study)

    def _cost(self, id_: str, _: Any, params: Mapping[str, str]) -> Response:
        study = self._study(id_)
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
                **{name: one[name] for name in ("id", "status", "started_at", "completed_at", "return_requested")},
                "participant_id": one["participant"],
                "has_siblings": False,
                "study_code": one["entered_code"],
            }
            for one in own[(page - 1) * size : page * size]
        ]
        return JSONResponse({"results": submissions})

    def _get_submission(self, id_: str, _: Any, __: Mapping[str, str]) -> Response:
        return JSONResponse(self._submission(id_))

    def _bulk_approve(self, _: str, content: Any, __: Mapping[str, str]) -> Response:
        known = [self._submission(id_) for id_ in content["submission_ids"]]
        for one in known:
            if one["status"] != "APPROVED":  # a second approval pays nothing
                self.approvals[one["id"]] += 1
                self._become(one["id"], "APPROVED")
        return JSONResponse("The request to bulk approve has been made successfully.")

    def _transition_submission(self, id_: str, content: Any, _: Mapping[str, str]) -> Response:
        one, action = self._submission(id_), content.get("action")
        if action != "REJECT":
            raise Refusal(400, {"action": ["This action is not possible."]})
        if len(content.get("message") or "") < 100 or not content.get("rejection_category"):
            raise Refusal(400, {"message": ["The message must be at least 100 characters long."]})
        if one["status"] not in ("AWAITING REVIEW", "REJECTED"):
            raise Refusal(400, f"A submission that is {one['status']} cannot be rejected.")
        self._become(id_, "REJECTED")
        return JSONResponse(one)

    def _set_up_bonuses(self, _: str, content: Any, __: Mapping[str, str]) -> Response:
        amounts = {}
        for line in content["csv_bonuses"].splitlines():
            who, _, amount = line.partition(",")
            if self.submissions.get(who, {}).get("study_id") != content["study_id"]:
                raise Refusal(400, f"These ids are not part of the study: {who}")
            amounts[who] = round(float(amount) * 100)
        id_, total = secrets.token_hex(12), sum(amounts.values())
        self.payments[id_] = amounts
        fees = round(total * self.fee)
        bonus = {"id": id_, "study": content["study_id"], "amount": total, "fees": fees, "vat": round(fees * self.vat)}
        return JSONResponse({**bonus, "total_amount": total + fees + bonus["vat"]}, 201)

    def _pay(self, id_: str, _: Any, __: Mapping[str, str]) -> Response:
        for submission, amount in _entry(self.payments, id_).items():  # every call pays again, as documented
            self.paid.append((submission, amount))
            self._late.append((submission, amount))
        if not self.pays_late:
            self.settle()
        return JSONResponse("Bonuses will be paid.", 202)

    def _subscribe(self, _: str, content: Any, __: Mapping[str, str]) -> Response:
        id_, secret = secrets.token_hex(12), secrets.token_hex(8)
        self.subscriptions[id_] = {**content, "id": id_, "is_enabled": False, "secret": secret}
        shown = {name: value for name, value in self.subscriptions[id_].items() if name != "secret"}
        return JSONResponse(shown, 201, headers={"X-Hook-Secret": secret})

    def _confirm(self, id_: str, content: Any, _: Mapping[str, str]) -> Response:
        one = self.subscriptions.get(id_)
        if one is None or content.get("secret") != one["secret"]:
            raise Refusal(400, "The secret is not that of the subscription.")
        one["is_enabled"] = True
        return JSONResponse({name: value for name, value in one.items() if name != "secret"})

    def _study(self, id_: str) -> dict[str, Any]:
        return _entry(self.studies, id_)

    def _submission(self, id_: str) -> dict[str, Any]:
        return _entry(self.submissions, id_)

    def _become(self, submission: str, status: str) -> None:
        with self._lock:
            self.submissions[submission]["status"] = status
            self._changed(submission)

    def _changed(self, submission: str) -> None:
        one = self.submissions[submission]
        event = {
            "resource_id": submission,
            "event_type": "submission.status.change",
            "participant_id": one["participant"],
            "status": one["status"],
        }
        at = f"{self._now():.0f}"
        self.outbox.append(Event(secrets.token_hex(12), at, json.dumps(event).encode()))

    def _time(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).isoformat()


def _entry(table: Mapping[str, dict[str, Any]], id_: str) -> dict[str, Any]:
    if id_ not in table:
        raise Refusal(404, "Not found.")
    return table[id_]


def _error(status: int, detail: object, headers: Mapping[str, str] | None = None) -> Response:
    problem = {"status": status, "error_code": 140000 + status, "title": "Error", "detail": detail}
    return JSONResponse({"error": problem}, status, headers=dict(headers or {}))
