"""Webhooks of Prolific: signed, recent, each taken once, and only a hint to look at what Prolific shows.

The signature is that of https://docs.prolific.com/api-reference/webhooks/verifying, over the body as it was received.
"""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

from starlette.responses import JSONResponse, Response

from vantage.collect.web.visit import LOG, Handler, Visit
from vantage.errors import VantageError
from vantage.recruit.on_prolific import ProlificRecruiter
from vantage.recruit.prolific import WEBHOOK_SECRET, Missing, prolific_client, secret

OLDEST: Final = 3 * 86400
"""Seconds after which an event is refused; Prolific repeats events that were not received."""


class Forged(Exception):  # noqa: N818 - a refusal
    """A webhook that Prolific did not send, or sent too long ago."""


def check_signature(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    """Raises `Forged` where a webhook is not signed with the secret, or is too old.

    >>> check_signature("s", {"x-prolific-request-timestamp": "1"}, b"{}")
    Traceback (most recent call last):
        ...
    vantage.recruit.webhooks.Forged: The signature is wrong.
    """
    at = headers.get("x-prolific-request-timestamp", "")
    right = base64.b64encode(hmac.digest(secret.encode(), at.encode() + body, "sha256"))
    given = headers.get("x-prolific-request-signature", "").encode()
    if not hmac.compare_digest(right, given):
        raise Forged("The signature is wrong.")
    if not at.isdecimal() or abs(time.time() - int(at)) > OLDEST:
        raise Forged("The event is too old.")


def receive(recruiter: ProlificRecruiter, headers: Mapping[str, str], body: bytes) -> bool:
    """Takes over what an event is about; false for a submission of another study. An event that was taken is skipped.

    Raises `InputError` where Prolific cannot be asked: the event is then not marked as taken and will be repeated.
    """
    try:
        event = json.loads(body)
        kind, resource = str(event["event_type"]), str(event["resource_id"])
    except (ValueError, KeyError, TypeError):
        raise Forged("This is not an event of Prolific.") from None
    key = f"event:{headers.get('x-event-id', '')}"
    if kind != "submission.status.change" or recruiter.ledger.has(key, "done"):
        return True
    try:
        known = recruiter.event(resource)
    except Missing:
        return False
    if known and key != "event:":
        recruiter.ledger.note("event", key, "done", submission=resource)
    return known


def hook(visit: Visit) -> Response:
    """A webhook of Prolific."""
    key = secret(WEBHOOK_SECRET)
    if key is None:
        return JSONResponse({"error": f"Webhooks are not set up; set {WEBHOOK_SECRET}."}, 503)
    headers = visit.request.headers
    try:
        check_signature(key, headers, visit.body)
        # Only a new draft asks for a forecast, and no event creates one.
        with closing(ProlificRecruiter(visit.site.service, prolific_client(), lambda: 0.0)) as one:
            known = receive(one, headers, visit.body)
    except Forged as forged:
        LOG.warning("a webhook was refused: %s", forged)
        return JSONResponse({"error": str(forged)}, 401)
    except VantageError as error:
        LOG.warning("a webhook could not be taken over: %s", error)
        return JSONResponse({"error": "Prolific cannot be asked now; please send the event again."}, 503)
    if not known:
        return JSONResponse({"error": "This is no submission of the study."}, 404)
    return JSONResponse({"received": True})


HOOKS: Final[Mapping[str, Mapping[str, Handler]]] = {"/hooks/prolific": {"POST": hook}}
