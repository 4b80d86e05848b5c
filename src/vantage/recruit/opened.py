"""The recruiter of a study, by its platform."""

from __future__ import annotations

from vantage.collect.service import StudyService
from vantage.recruit.base import Recruiter
from vantage.recruit.by_link import LinkRecruiter
from vantage.recruit.draft import offer_of
from vantage.recruit.on_prolific import ProlificRecruiter
from vantage.recruit.prolific import prolific_client


def recruiter(service: StudyService) -> Recruiter:
    """The recruiter that the study file names; where it gives no duration, a small rehearsal forecasts it."""

    def forecast() -> float:
        from vantage.recruit.rehearsal.rehearse import forecast

        return forecast(service.study)

    if service.study.plan.recruitment.via != "prolific":
        return LinkRecruiter(service)
    offer_of(service.study)
    return ProlificRecruiter(service, prolific_client(), forecast)
