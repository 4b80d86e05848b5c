"""A thin client of Prolific's API, for what recruiting needs (https://docs.prolific.com/api-reference).

Amounts are in the hundredth part of the currency, as in the API. Prolific has no official Python client. What may be
sent twice is tried again after a fault; what must not (paying bonuses, creating a study) is tried again only where
Prolific has certainly not done it, and otherwise raises `UncertainCall`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx2 as httpx

from vantage.errors import InputError, VantageError

ADDRESS: Final = "https://api.prolific.com"
ADDRESS_VARIABLE: Final = "PROLIFIC_URL"
"""Another address of the API, for tests."""
SERVICE: Final = "vantage"
"""The name under which the keyring holds tokens, which are read from no file and never shown."""
TOKEN: Final = "PROLIFIC_TOKEN"  # noqa: S105 - its name
ATTEMPTS: Final = 5
LONGEST_WAIT: Final = 120.0
"""Seconds that a `Retry-After` may ask for; beyond that, the call fails."""
PER_PAGE: Final = 100
PER_APPROVAL: Final = 1000
"""Submissions in one approval, as Prolific recommends."""
PER_BONUS: Final = 200
"""Bonuses in one payment, as Prolific recommends."""

Action = Literal["PUBLISH", "PAUSE", "START", "STOP"]
Category = Literal[
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
]
TAKEN: Final = ("RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED")
"""Statuses of submissions that hold one of the study's places."""


class UncertainCall(VantageError):  # noqa: N818 - not a failure: nobody knows
    """A call that must not be repeated broke off, and Prolific may or may not have done what it asked for."""


class RefusedCall(InputError):  # noqa: N818 - an answer
    """Prolific refused what a call asked for, and did nothing."""


class Missing(RefusedCall):
    """Prolific does not know what was asked about."""


@dataclass(frozen=True, slots=True)
class PlatformStudy:
    """A study as Prolific shows it."""

    id: str
    status: str
    places: int
    """How many participants it recruits."""
    reward: int
    """What a participant gets."""


@dataclass(frozen=True, slots=True)
class ProlificSubmission:
    """One participant's submission."""

    id: str
    participant: str
    status: str
    study: str = ""
    code: str | None = None
    started_at: str = ""
    completed_at: str | None = None
    bonuses: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyCost:
    """What a study costs: rewards and bonuses, fees and tax."""

    rewards: int
    bonuses: int
    fees: int
    tax: int
    currency: str


class ProlificClient:
    """Calls of Prolific's API; each method is one endpoint.

    The token is sent in a header and appears nowhere else: neither in the representation nor in errors.
    """

    def __init__(
        self,
        token: str,
        address: str = ADDRESS,
        *,
        timeout: float = 30.0,
        attempts: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx.Client(
            base_url=f"{address.rstrip('/')}/api/v1",
            headers={"Authorization": f"Token {token}"},
            timeout=timeout,
            verify=address.startswith("https:"),  # certificates are loaded only where there are any to check
        )
        self._sleep, self._attempts = sleep, ATTEMPTS if attempts is None else attempts

    def __repr__(self) -> str:
        return f"ProlificClient({str(self._http.base_url)!r})"

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def create_study(self, fields: Mapping[str, Any]) -> PlatformStudy:
        """Creates a draft, which nobody sees until it is published."""
        return _study(self._call("POST", "/studies/", fields, repeatable=False))

    def study(self, study: str) -> PlatformStudy:
        """A study as it is now."""
        return _study(self._call("GET", f"/studies/{study}/"))

    def studies(self) -> list[tuple[str, str]]:
        """The id and the internal name of each study of the account."""
        listed = self._call("GET", "/studies/")["results"]
        return [(one["id"], one.get("internal_name") or "") for one in listed]

    def update_study(self, study: str, fields: Mapping[str, Any]) -> PlatformStudy:
        """Changes fields of a study; of a published one, places may only increase."""
        return _study(self._call("PATCH", f"/studies/{study}/", fields))

    def delete_study(self, study: str) -> None:
        """Deletes a draft."""
        self._call("DELETE", f"/studies/{study}/")

    def transition_study(self, study: str, action: Action) -> PlatformStudy:
        """Publishes, pauses, starts or stops a study."""
        return _study(self._call("POST", f"/studies/{study}/transition/", {"action": action}))

    def cost(self, study: str, *, projected: bool = False) -> StudyCost:
        """What a study has cost so far, or will cost with all places filled."""
        params = {"is_projected": "true"} if projected else {}
        reply = self._call("GET", f"/studies/{study}/cost/", params=params)
        parts = [reply.get(kind) or {} for kind in ("rewards", "bonuses")]
        costs = [[part.get(name) or {} for name in ("rewards", "fees", "tax")] for part in parts]
        of_rewards, of_bonuses = ([round(float(cost.get("amount") or 0)) for cost in kind] for kind in costs)
        fees, tax = (one + other for one, other in zip(of_rewards[1:], of_bonuses[1:], strict=True))
        return StudyCost(of_rewards[0], of_bonuses[0], fees, tax, str(costs[0][0].get("currency") or ""))

    def submissions(self, study: str) -> list[ProlificSubmission]:
        """All submissions of a study."""
        every: list[ProlificSubmission] = []
        page = 1
        while True:
            params = {"study": study, "page": page, "page_size": PER_PAGE}
            listed = self._call("GET", "/submissions/", params=params)["results"]
            every += [_submission(one, study) for one in listed]
            if len(listed) < PER_PAGE:
                return every
            page += 1

    def submission(self, submission: str) -> ProlificSubmission:
        """One submission, with the bonuses that were paid for it."""
        return _submission(self._call("GET", f"/submissions/{submission}/"))

    def approve(self, submissions: Sequence[str]) -> None:
        """Approves submissions, which pays them soon afterwards; those that are approved stay so."""
        self._call("POST", "/submissions/bulk-approve/", {"submission_ids": list(submissions)})

    def reject(self, submission: str, category: Category, message: str) -> None:
        """Rejects a submission: the participant gets the message and no pay."""
        content = {"action": "REJECT", "message": message, "rejection_category": category}
        self._call("POST", f"/submissions/{submission}/transition/", content)

    def set_up_bonuses(self, study: str, amounts: Mapping[str, int]) -> str:
        """Prepares bonuses by submission, without paying them: the payment's id."""
        lines = "\n".join(f"{submission},{amount / 100:.2f}" for submission, amount in amounts.items())
        content = {"study_id": study, "csv_bonuses": lines}
        return str(self._call("POST", "/submissions/bonus-payments/", content)["id"])

    def pay_bonuses(self, payment: str) -> None:
        """Pays prepared bonuses, within minutes. Every call pays again, so this is never repeated."""
        self._call("POST", f"/bulk-bonus-payments/{payment}/pay/", {}, repeatable=False)

    def _call(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        repeatable: bool = True,
    ) -> Any:
        for attempt in range(self._attempts):
            last, wait = attempt == self._attempts - 1, 2.0**attempt
            try:
                response = self._http.request(method, path, json=content, params=params or {})
            except httpx.TransportError as error:
                unsent = isinstance(error, httpx.ConnectError)
                if not (repeatable or unsent):
                    raise UncertainCall(f"The connection broke off during {method} {path}") from error
                if last and unsent:
                    raise InputError("Prolific cannot be reached", remedy="check the connection") from error
                if last:
                    raise InputError("Prolific does not answer", remedy="try again later") from error
            else:
                status = response.status_code
                if status >= 500 and not repeatable:
                    raise UncertainCall(f"Prolific answered {status} to {method} {path}")
                if status == 429:  # refused before anything was done
                    asked = response.headers.get("retry-after", "")
                    wait = float(asked) if asked.replace(".", "", 1).isdecimal() else wait
                if last or not (status >= 500 or (status == 429 and wait <= LONGEST_WAIT)):
                    if response.is_error:
                        raise _refusal(response)
                    return response.json() if response.content else {}
            self._sleep(wait)
        raise AssertionError("unreachable")


def secret(name: str) -> str | None:
    """A secret of this name in the environment or, where the package keyring is installed, in the keyring."""
    if given := os.environ.get(name, "").strip():
        return given
    try:
        import keyring
    except ImportError:
        return None
    stored: str | None = keyring.get_password(SERVICE, name)
    return stored


def prolific_client(**options: Any) -> ProlificClient:
    """A client of Prolific's API with the token of the environment or the keyring."""
    token = secret(TOKEN)
    if not token:
        raise InputError(
            "There is no token for Prolific",
            remedy=f"set the variable {TOKEN}, or store it with: keyring set {SERVICE} {TOKEN}",
        )
    return ProlificClient(token, os.environ.get(ADDRESS_VARIABLE, ADDRESS), **options)


def _refusal(response: httpx.Response) -> InputError:
    if response.status_code == 401:
        return InputError("Prolific does not accept the token", remedy="create one at app.prolific.com, Settings")
    if response.status_code == 429:
        return InputError("Prolific asks to wait before the next call", remedy="try again in a few minutes")
    if response.status_code >= 500:
        return InputError(f"Prolific answered with an error (status {response.status_code})", remedy="try again later")
    if response.status_code == 404:
        return Missing("Prolific does not know this study or submission", remedy="check its id on the website")
    try:
        answer = response.json()
        answer = answer.get("error", answer)
        detail = answer.get("detail") or answer.get("title") or ""
    except (ValueError, AttributeError):
        detail = response.text[:200]
    if isinstance(detail, Mapping):
        detail = [
            f"{name}: {what}"
            for name, whats in detail.items()
            for what in (whats if isinstance(whats, list) else [whats])
        ]
    detail = "; ".join(map(str, detail)) if isinstance(detail, list) else detail
    return RefusedCall(f"Prolific refused this ({response.status_code}: {str(detail).rstrip('.')})")


def _study(reply: Mapping[str, Any]) -> PlatformStudy:
    places, reward = (int(reply.get(name) or 0) for name in ("total_available_places", "reward"))
    return PlatformStudy(str(reply["id"]), str(reply.get("status") or ""), places, reward)


def _submission(reply: Mapping[str, Any], study: str = "") -> ProlificSubmission:
    return ProlificSubmission(
        id=str(reply["id"]),
        participant=str(reply.get("participant_id") or reply.get("participant") or ""),
        status=str(reply.get("status") or ""),
        study=str(reply.get("study_id") or study),
        code=reply.get("study_code") or reply.get("entered_code"),
        started_at=str(reply.get("started_at") or ""),
        completed_at=reply.get("completed_at"),
        bonuses=tuple(round(float(one)) for one in reply.get("bonus_payments") or ()),
    )
