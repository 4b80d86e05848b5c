"""How a visitor becomes a participant: through a platform's parameters, an invitation, or a plain link."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.engine import Row

from vantage.collect.document import RecruitmentPart
from vantage.collect.languages import sentence
from vantage.collect.private import pseudonym
from vantage.collect.tables import invitations, participants, record
from vantage.collect.views import Refused

_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
PLATFORMS: Final = {
    "prolific": ("PROLIFIC_PID", ("STUDY_ID", "SESSION_ID")),
    "mturk": ("workerId", ("assignmentId", "hitId")),
}
"""For each platform the parameter that identifies the person, and further parameters to keep."""
PREVIEW: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What Mechanical Turk sends while a worker previews a task they have not accepted."""


def identify(recruitment: RecruitmentPart, params: Mapping[str, str]) -> tuple[str, str | None, dict[str, str]]:
    """Where a visitor comes from, their id there (for a plain link the consent form's number), and the rest.

    >>> identify(RecruitmentPart(via="mturk"), {"workerId": "A1", "assignmentId": "3X"})
    ('mturk', 'A1', {'assignmentId': '3X'})
    """
    if "invitation" in params:
        return "invitation", _checked("invitation", params["invitation"]), {}
    if recruitment.via == "link":
        return "link", _checked("form", params["form"]) if "form" in params else None, {}
    if recruitment.via == "invitation":
        raise Refused(sentence("This study is open by invitation only. Please use the complete link you were sent."))
    name, others = platform(recruitment)
    if params.get("assignmentId") == PREVIEW:
        raise Refused(sentence("This is a preview. Please accept the task first, then open the study again."))
    if not params.get(name):
        raise Refused(
            sentence("Your link does not identify you. Please open the study from the platform that sent you.")
        )
    kept = {other: _checked(other, params[other]) for other in others if params.get(other)}
    return recruitment.via, _checked(name, params[name]), kept


def platform(recruitment: RecruitmentPart) -> tuple[str, tuple[str, ...]]:
    """The parameter that identifies a person, empty where none does, and further parameters to keep."""
    if recruitment.via == "panel":
        return recruitment.parameter, ()
    return PLATFORMS.get(recruitment.via, ("", ()))


def _checked(name: str, value: str) -> str:
    if not _IDENTIFIER.fullmatch(value):
        raise Refused(
            sentence(
                "The “%(part)s” part of your link is damaged. Please copy the complete link and try again.", part=name
            )
        )
    return value


def known(connection: Connection, secret: str, source: str, external: str) -> Row[Any] | None:
    """The participant with this identity, or null; an invitation that was never made is refused."""
    if source == "invitation":
        token = select(invitations.c.token).where(invitations.c.token == external)
        if connection.execute(token).first() is None:
            raise Refused(sentence("This invitation is unknown. Please check the link you were sent."), "unknown")
    rater = pseudonym(secret, source, external)
    return connection.execute(select(participants).where(participants.c.rater == rater)).one_or_none()


def find_or_create(connection: Connection, secret: str, source: str, external: str | None, now: float) -> Row[Any]:
    """The participant with this identity, created on the first visit."""
    if external is not None and (row := known(connection, secret, source, external)) is not None:
        return row
    id_ = secrets.token_urlsafe(24)
    rater = pseudonym(secret, source, external if external is not None else id_)
    new = {"id": id_, "rater": rater, "source": source, "links": "{}", "stage": "consent", "verdict": "pending"}
    counts = dict.fromkeys(("batch", "pages", "answered", "attempts"), 0)
    connection.execute(participants.insert(), {**new, **counts, "arrived_at": now, "note": ""})
    record(connection, "entered", rater, source=source)
    return connection.execute(select(participants).where(participants.c.id == id_)).one()
