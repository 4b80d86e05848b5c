"""A Prolific with faults on request, bonuses, rejections, groups and subscriptions, for the tests."""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.recruit.fake import Answering, FakeProlific, Handler, Refusal, entry, error


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


class WholeProlific(FakeProlific):
    """The platform with everything that rehearsals do not need.

    `faults` are the next answers to calls, before or after the call has taken effect. Events can come late, twice, in
    another order, or with a wrong signature.
    """

    def __init__(self) -> None:
        super().__init__()
        self.secret = secrets.token_hex(16)
        self.outbox: list[Event] = []
        self.payments: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, set[str]] = {}
        self.subscriptions: dict[str, dict[str, Any]] = {}
        self.paid: list[tuple[str, int]] = []
        """Every bonus that was paid: submission and amount."""
        self.faults: deque[PlantedFault] = deque()
        self.calls: list[tuple[str, str]] = []
        self.pays_late = False
        """Whether bonuses appear only after `settle`."""
        self._late: list[tuple[str, int]] = []
        self.refused_bonuses: set[str] = set()
        """Submissions for which no bonus can be set up."""

    def complete(self, submission: str, code: str) -> None:
        """A participant enters a completion code; its actions follow."""
        super().complete(submission, code)
        one = self.submissions[submission]
        codes = {known["code"]: known for known in self.studies[one["study_id"]]["completion_codes"]}
        for action in codes.get(code, {}).get("actions", ()):
            if action["action"] == "ADD_TO_PARTICIPANT_GROUP":
                self.groups.setdefault(action["participant_group"], set()).add(one["participant"])

    def sign(self, body: bytes, at: str, secret: str | None = None) -> str:
        """The signature of a webhook (https://docs.prolific.com/api-reference/webhooks/verifying)."""
        key = (self.secret if secret is None else secret).encode()
        return base64.b64encode(hmac.digest(key, at.encode() + body, "sha256")).decode()

    def deliver(self, url: str, events: Sequence[Event] | None = None, *, secret: str | None = None) -> list[int]:
        """Sends events, by default all that wait, to an address; the statuses."""
        with self._lock:
            waiting = list(self.outbox if events is None else events)
            if events is None:
                self.outbox.clear()
        statuses: list[int] = []
        with httpx.Client(timeout=30, verify=url.startswith("https:")) as http:
            for event in waiting:
                headers = {"X-Event-ID": event.id, "X-Prolific-Request-Timestamp": event.at}
                headers["X-Prolific-Request-Signature"] = self.sign(event.body, event.at, secret)
                statuses.append(http.post(url, content=event.body, headers=headers).status_code)
        return statuses

    def start(self, study: str, participant: str) -> tuple[str, str] | None:
        """A participant takes a place."""
        if started := super().start(study, participant):
            self._changed(started[0])
        return started

    def _become(self, submission: str, status: str) -> None:
        with self._lock:
            super()._become(submission, status)
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

    def settle(self) -> None:
        """Late bonuses appear."""
        with self._lock:
            for submission, amount in self._late:
                self.submissions[submission]["bonus_payments"].append(float(amount))
            self._late.clear()

    def _handlers(self) -> dict[tuple[str, str], Handler]:
        return {
            ("POST", "/submissions/bonus-payments/"): self._set_up_bonuses,
            **super()._handlers(),
            ("POST", "/submissions/{id}/transition/"): self._transition_submission,
            ("POST", "/bulk-bonus-payments/{id}/pay/"): self._pay,
            ("POST", "/hooks/subscriptions/"): self._subscribe,
            ("POST", "/hooks/subscriptions/{id}/"): self._confirm,
        }

    def _answer(self, handler: Handler) -> Answering:
        right = super()._answer(handler)

        async def answered(request: Request) -> Response:
            self.calls.append((request.method, request.url.path))
            fault = next((one for one in self.faults if re.search(one.path, request.url.path)), None)
            if fault is None:
                return await right(request)
            self.faults.remove(fault)
            if fault.after:
                await right(request)
            return error(fault.status, "planned", fault.headers)

        return answered

    def _transition_submission(self, id_: str, content: Any, _: Mapping[str, str]) -> Response:
        one, action = entry(self.submissions, id_), content.get("action")
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
            if self.submissions.get(who, {}).get("study_id") != content["study_id"] or who in self.refused_bonuses:
                raise Refusal(400, f"These ids are not part of the study: {who}")
            amounts[who] = round(float(amount) * 100)
        id_, total = secrets.token_hex(12), sum(amounts.values())
        self.payments[id_] = amounts
        fees = round(total * self.fee)
        bonus = {"id": id_, "study": content["study_id"], "amount": total, "fees": fees, "vat": round(fees * self.vat)}
        return JSONResponse({**bonus, "total_amount": total + fees + bonus["vat"]}, 201)

    def _pay(self, id_: str, _: Any, __: Mapping[str, str]) -> Response:
        for submission, amount in entry(self.payments, id_).items():  # every call pays again, as documented
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
