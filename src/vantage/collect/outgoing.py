"""Outgoing webhooks: a study's events, signed and sent to other programs, with retries and without delaying a page.

The log of events is the queue. In the background, each address gets the events after the last one it accepted, in
order; those it does not accept are sent again later. An event says what happened, when, and to which pseudonym: no
answers, no platform ids.
"""

from __future__ import annotations

import hmac
import json
import time
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, func, select

from vantage.collect.database import StudyDatabase
from vantage.collect.document import WebhookPart
from vantage.collect.tables import events, read_setting, write_setting
from vantage.collect.views import WebhookState

FIRST: Final = 2.0
"""Seconds until an address that did not take an event is tried again, which double with each failure."""
PATIENCE: Final = 10.0
"""Seconds for which an address may take to answer."""
LONGEST: Final = 3600.0
"""Most seconds until it is tried again."""
TOGETHER: Final = 100


def signature(secret: bytes, at: str, body: bytes) -> str:
    """What a receiver compares with `X-Vantage-Signature`, over the time in `X-Vantage-Timestamp` and the body.

    >>> signature(b"secret", "1700000000", b"{}")[:20]
    'sha256=b8569b78799ff'
    """
    return f"sha256={hmac.digest(secret, f'{at}.'.encode() + body, 'sha256').hex()}"


def send(database: StudyDatabase) -> None:
    """Sends the events that are due to the addresses of a study."""
    for hook in database.study.plan.webhooks:
        state = database.write(lambda c, hook=hook: _state(c, hook))  # type: ignore[misc]
        while state["next"] <= time.time():
            waiting = database.read(lambda c, s=state, h=hook: _due(c, h, s["last"]))  # type: ignore[misc]
            if not waiting:
                break
            state = _sent(database, hook, waiting, state)


def _sent(database: StudyDatabase, hook: WebhookPart, waiting: list[Any], state: dict[str, Any]) -> dict[str, Any]:
    """Sends some events one after the other; the state of the address afterwards, which is stored."""
    import httpx2 as httpx

    secret = secret_of(database)
    with httpx.Client(timeout=PATIENCE, follow_redirects=False) as client:
        for event in waiting:
            at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")
            what = {"study": database.study.id, "id": event.id, "event": event.kind, "at": at}
            body, now = json.dumps(what | {"rater": event.rater}).encode(), f"{time.time():.0f}"
            signed = {"X-Vantage-Timestamp": now, "X-Vantage-Signature": signature(secret, now, body)}
            try:
                reply = client.post(hook.url, content=body, headers={"Content-Type": "application/json"} | signed)
                problem = "" if reply.is_success else f"it answered {reply.status_code}"
            except httpx.HTTPError as error:
                problem = f"it could not be reached ({type(error).__name__})"
            if problem:
                failed = state["failed"] + 1
                later = time.time() + min(FIRST * 2.0**failed, LONGEST)
                state = {**state, "failed": failed, "problem": problem, "next": later}
                break
            state = {**state, "last": event.id, "failed": 0, "problem": "", "next": 0.0}
    database.write(lambda c: write_setting(c, _key(hook), json.dumps(state)))
    return state


def secret_of(database: StudyDatabase) -> bytes:
    """The key of the signatures, as receivers know it: the letters that the dashboard shows."""
    return database.secret("webhooks").hex().encode()


def webhook_states(connection: Connection, hooks: tuple[WebhookPart, ...]) -> list[WebhookState]:
    """What each address has taken, and what waits for it."""
    known = [(hook, json.loads(read_setting(connection, _key(hook)) or "null")) for hook in hooks]
    return [
        WebhookState(hook.url, hook.events, len(_due(connection, hook, state["last"])), state["problem"])
        if state
        else WebhookState(hook.url, hook.events)
        for hook, state in known
    ]


def _key(hook: WebhookPart) -> str:
    return f"webhook:{hook.url}"


def _state(connection: Connection, hook: WebhookPart) -> dict[str, Any]:
    """What is known of an address; one that is new hears what happens from now on."""
    if (stored := read_setting(connection, _key(hook))) is not None:
        known: dict[str, Any] = json.loads(stored)
        return known
    last = connection.execute(select(func.max(events.c.id))).scalar() or 0
    state = {"last": last, "failed": 0, "problem": "", "next": 0.0}
    write_setting(connection, _key(hook), json.dumps(state))
    return state


def _due(connection: Connection, hook: WebhookPart, last: int) -> list[Any]:
    query = select(events).where(events.c.id > last, events.c.kind.in_(hook.events))
    return list(connection.execute(query.order_by(events.c.id).limit(TOGETHER)).all())
