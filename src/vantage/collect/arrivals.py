"""How a visitor becomes a participant: by a platform's parameters, an invitation, or a plain link."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.engine import Row

from vantage.collect.document import RecruitmentPart
from vantage.collect.pseudonyms import pseudonym, withdrawn
from vantage.collect.tables import invitations, participants
from vantage.collect.views import Refused

_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
PLATFORMS: Final = {
    "prolific": ("PROLIFIC_PID", ("STUDY_ID", "SESSION_ID")),
    "mturk": ("workerId", ("assignmentId", "hitId")),
}
"""For every platform the parameter that names the person, and those that are kept beside it."""
PREVIEW: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What Mechanical Turk sends while a worker looks at a task that is not accepted yet."""


def identified(recruitment: RecruitmentPart, params: Mapping[str, str]) -> tuple[str, str | None, dict[str, str]]:
    """Where a visitor comes from, their id there (null for a plain link), and what else the link said.

    >>> identified(RecruitmentPart(via="mturk"), {"workerId": "A1", "assignmentId": "3X"})
    ('mturk', 'A1', {'assignmentId': '3X'})
    """
    if "invitation" in params:
        return "invitation", _checked("invitation", params["invitation"]), {}
    if recruitment.via == "link":
        return "link", None, {}
    if recruitment.via == "invitation":
        raise Refused("This study is open to people with an invitation. Please use the whole link that you were sent.")
    name, others = PLATFORMS[recruitment.via]
    if params.get("assignmentId") == PREVIEW:
        raise Refused("This is a preview. Please accept the task first, then open the study again.")
    if not params.get(name):
        raise Refused("Your link does not say who you are. Please open the study from the platform that sent you.")
    kept = {other: _checked(other, params[other]) for other in others if params.get(other)}
    return recruitment.via, _checked(name, params[name]), kept


def _checked(name: str, value: str) -> str:
    if not _IDENTIFIER.fullmatch(value):
        raise Refused(f"The part '{name}' of your link is damaged. Please copy the whole link and try again.")
    return value


def enter(
    connection: Connection, secret: str, source: str, external: str | None, links: Mapping[str, str], now: float
) -> Row[Any]:
    """The participant with this identity: the one who was here before, or a new one."""
    if external is not None:
        known = _known(connection, secret, source, external)
        if known is not None:
            return known
    if source == "invitation":
        token = select(invitations.c.token).where(invitations.c.token == external)
        if connection.execute(token).first() is None:
            raise Refused("This invitation is not known. Please check the link that you were sent.", "unknown")
    id_ = secrets.token_urlsafe(24)
    connection.execute(
        participants.insert(),
        {
            "id": id_,
            "rater": pseudonym(secret, source, external if external is not None else id_),
            "source": source,
            "external": external,
            "links": json.dumps(links),
            "stage": "consent",
            "batch": 0,
            "pages": 0,
            "answered": 0,
            "attempts": 0,
            "arrived_at": now,
            "verdict": "pending",
            "note": "",
        },
    )
    return connection.execute(select(participants).where(participants.c.id == id_)).one()


def _known(connection: Connection, secret: str, source: str, external: str) -> Row[Any] | None:
    names = [external, withdrawn(secret, source, external)]
    found = select(participants).where(participants.c.source == source, participants.c.external.in_(names))
    return connection.execute(found).one_or_none()
