"""A study on Prolific from the study file: pay from the duration, places from batches, filters and completion codes."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any, Final
from urllib.parse import urlsplit

from vantage.collect.document import OfferPart
from vantage.collect.study import AnnotationStudy
from vantage.errors import InputError

LEAST: Final = {"GBP": 6.0, "USD": 8.0}
"""What Prolific lets an hour be paid at least (https://www.prolific.com/pricing)."""
PARAMETERS: Final = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
LONGEST_NAME: Final = 120


def offer_of(study: AnnotationStudy) -> OfferPart:
    """What the study offers participants."""
    offer = study.plan.recruitment.offer
    if offer is None:
        raise InputError(
            "The study does not say what participants are offered",
            remedy="add 'offer' under 'recruitment', with url, description, hourly_pay and currency",
        )
    return offer


def reward(offer: OfferPart, minutes: float) -> int:
    """What a participant gets, in the hundredth part of the currency: rounded up, and never under the hourly pay.

    >>> offer = OfferPart(url="https://a.org", description="d", hourly_pay=9.0, currency="GBP")
    >>> reward(offer, 12.5)
    188
    >>> reward(offer.model_copy(update={"reward": 1.5}), 12.5)
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: A reward of 1.50 GBP for 12.5 minutes is 7.20 GBP an hour, under the hourly pay of 9.00;
    offer 1.88 GBP or more.
    """
    least = LEAST.get(offer.currency)
    if least is not None and offer.hourly_pay < least:
        raise InputError(
            f"The hourly pay of {offer.hourly_pay:.2f} {offer.currency} is under Prolific's minimum of {least:.2f}",
            remedy="raise 'hourly_pay'",
        )
    fair = ceil(round(minutes * offer.hourly_pay / 60 * 100, 6))
    if offer.reward is None:
        return fair
    given = round(offer.reward * 100)
    if given < fair:
        raise InputError(
            f"A reward of {offer.reward:.2f} {offer.currency} for {minutes:g} minutes is "
            f"{offer.reward / minutes * 60:.2f} {offer.currency} an hour, under the hourly pay of "
            f"{offer.hourly_pay:.2f}",
            remedy=f"offer {fair / 100:.2f} {offer.currency} or more",
        )
    return given


def longest_time(minutes: float) -> int:
    """The minutes after which Prolific may time a submission out at the earliest: 2 + 2t + 2√t.

    >>> longest_time(16)
    42
    """
    return ceil(2 + 2 * minutes + 2 * sqrt(minutes))


def study_fields(study: AnnotationStudy, name: str, minutes: float, batches: int) -> dict[str, Any]:
    """The fields of a draft (https://docs.prolific.com/api-reference/studies/create-study).

    `name` is the internal name, by which a draft is recognised when the call that created it was cut off.
    """
    offer, recruitment = offer_of(study), study.plan.recruitment
    filters = [*offer.filters]
    for kind, ids in (("previous_studies", offer.exclude), ("participant_group", offer.exclude_groups)):
        if ids:
            filters.append({"filter_id": f"{kind}_blocklist", "selected_values": [*ids]})
    joins = [{"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": offer.group}] if offer.group else []
    review, back = {"action": "MANUALLY_REVIEW"}, {"action": "REQUEST_RETURN"}
    codes: dict[str, dict[str, Any]] = {}
    for code, kind, actions in (
        (recruitment.completion_code, "COMPLETED", [review, *joins]),
        (recruitment.no_consent_code, "NO_CONSENT", [back]),
        (recruitment.failed_check_code, "FAILED_ATTENTION_CHECK", [review]),
        (recruitment.screen_out_code, "SCREENED_OUT", [back]),
        (recruitment.full_code, "OTHER", [review]),
    ):
        if code:
            codes.setdefault(code, {"code": code, "code_type": kind, "actions": actions, "actor": "participant"})
    joint = "&" if urlsplit(offer.url).query else "?"
    fields = {
        "name": study.title[:LONGEST_NAME],
        "internal_name": name,
        "description": offer.description,
        "external_study_url": f"{offer.url}{joint}{PARAMETERS}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [*codes.values()],
        "total_available_places": offer.places or batches,
        "estimated_completion_time": ceil(minutes),
        "maximum_allowed_time": longest_time(ceil(minutes)),
        "reward": reward(offer, minutes),
        "device_compatibility": [*offer.devices],
        "filters": filters,
        "study_labels": ["annotation"],
    }
    if study.warning:
        fields |= {"content_warnings": ["sensitive"], "content_warning_details": study.warning.strip()}
    return fields | ({"project": offer.project} if offer.project else {})
