"""Visitors from a platform: whether a link is really theirs, and new links for those who lost one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Final

from sqlalchemy import select

from vantage.collect.database import LOG
from vantage.collect.entry import platform
from vantage.collect.languages import sentence
from vantage.collect.service import StudyService
from vantage.collect.tables import participants
from vantage.collect.views import Refused
from vantage.collect.web.signing import StudySigner
from vantage.errors import InputError, VantageError
from vantage.recruit.prolific import TOKEN, Missing, prolific_client, secret
from vantage.recruit.standing import GONE

PATIENCE: Final = 5.0
"""Seconds for which a visitor waits for Prolific."""
UNKNOWN: Final = sentence("Your link does not identify you. Please open the study from the platform that sent you.")


def verify(service: StudyService, params: Mapping[str, str]) -> None:
    """Refuses a visitor whose id and session are not those of a submission that Prolific has under way.

    An id alone is no proof: anybody can write one into a link, and would keep its owner out. Without a token nobody is
    asked. Where Prolific does not answer, people are let in; whoever has no submission is listed on the dashboard.
    """
    if service.study.plan.recruitment.via != "prolific" or "invitation" in params or not secret(TOKEN):
        return
    name, _ = platform(service.study.plan.recruitment)
    session = params.get("SESSION_ID", "")
    try:
        with closing(prolific_client(timeout=PATIENCE, attempts=1)) as client:
            one = client.submission(session) if session else None
    except Missing:
        one = None
    except VantageError as error:
        LOG.warning("Prolific could not be asked about a visitor: %s", error)
        return
    if one is None or one.participant != params.get(name) or one.status in GONE:
        raise Refused(UNKNOWN)


def new_link(service: StudyService, platform_id: str, address: str) -> str:
    """A link with which the participant with this id on their platform can continue, in any browser."""
    known = [one["rater"] for one in service.database.private.identities() if one["external"] == platform_id]
    if not known:
        problem = f"The study has no participant with the id '{platform_id}'"
        raise InputError(problem, remedy="copy it from the platform")
    query = select(participants.c.id).where(participants.c.rater == known[-1])
    id_ = service.database.read(lambda connection: connection.execute(query).scalar_one())
    return f"{address.rstrip('/')}/?continue={StudySigner(service.database.secret('web')).sign_link(id_)}"
