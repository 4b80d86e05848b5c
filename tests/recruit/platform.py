"""A Prolific with faults on request, bonuses, rejections and groups."""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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


class WholeProlific(FakeProlific):
    """The platform with faults, bonuses and rejections.

    `faults` are the next answers to calls, before or after the call has taken effect.
    """

    def __init__(self) -> None:
        super().__init__()
        self.payments: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, set[str]] = {}
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
