"""The recruiter of a study, by its platform."""

from __future__ import annotations

import os
from collections.abc import Callable

from vantage.collect.service import StudyService
from vantage.recruit.base import Recruiter
from vantage.recruit.by_link import LinkRecruiter
from vantage.recruit.on_prolific import ProlificRecruiter
from vantage.recruit.prolific import ADDRESS, ProlificClient
from vantage.recruit.token import ADDRESS as ADDRESS_VARIABLE
from vantage.recruit.token import prolific_token


def forecast_of(service: StudyService) -> Callable[[], float]:
    """The minutes that a study takes: the median of a small rehearsal of careful people."""

    def minutes() -> float:
        from vantage.recruit.rehearsal.rehearse import forecast

        return forecast(service.study)

    return minutes


def prolific_recruiter(service: StudyService) -> ProlificRecruiter:
    """The recruiter of a study on Prolific, with the token of the environment or the keyring."""
    client = ProlificClient(prolific_token(), os.environ.get(ADDRESS_VARIABLE, ADDRESS))
    return ProlificRecruiter(service, client, forecast_of(service))


def recruiter(service: StudyService) -> Recruiter:
    """The recruiter that the study file names."""
    via = service.study.plan.recruitment.via
    return prolific_recruiter(service) if via == "prolific" else LinkRecruiter(service)
