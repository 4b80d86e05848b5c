"""Contract of the client: each test names the page of Prolific's documentation that describes the endpoint."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.recruit.platform import PlantedFault
from tests.recruit.world import World
from vantage.errors import InputError
from vantage.recruit.prolific import Missing, ProlificClient, UncertainCall

DOCS = "https://docs.prolific.com/api-reference"


def fields(**more: object) -> dict[str, object]:
    """The fields that a draft must have."""
    return {
        "name": "A study",
        "internal_name": "mine",
        "description": "…",
        "external_study_url": "https://a.example?PROLIFIC_PID={{%PROLIFIC_PID%}}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [{"code": "DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}],
        "total_available_places": 3,
        "estimated_completion_time": 5,
        "reward": 75,
        **more,
    }


def test_drafts_are_created_listed_changed_and_deleted(here: World) -> None:
    """DOCS/studies/create-study, get-study, get-studies, update-study, delete-study."""
    client = here.recruiter.client
    made = client.create_study(fields())
    assert (made.status, made.places, made.reward) == ("UNPUBLISHED", 3, 75)
    assert client.studies() == [(made.id, "mine")]
    assert client.update_study(made.id, {"reward": 80}).reward == 80
    assert client.study(made.id).reward == 80
    client.delete_study(made.id)
    with pytest.raises(Missing):
        client.study(made.id)


def test_studies_are_published_paused_started_and_stopped(here: World) -> None:
    """DOCS/studies/publish-study: which action leads from which status to which."""
    client = here.recruiter.client
    study = client.create_study(fields()).id
    for action, status in (("PUBLISH", "ACTIVE"), ("PAUSE", "PAUSED"), ("START", "ACTIVE"), ("STOP", "COMPLETED")):
        assert client.transition_study(study, action).status == status  # type: ignore[arg-type]
    with pytest.raises(InputError, match="refused"):
        client.transition_study(study, "PAUSE")
    # DOCS/studies/update-study: places of a published study only increase, and a completed one is active again.
    with pytest.raises(InputError, match="only be increased"):
        client.update_study(study, {"total_available_places": 2})
    assert client.update_study(study, {"total_available_places": 5}).status == "ACTIVE"
    with pytest.raises(InputError, match="cannot change"):
        client.update_study(study, {"reward": 1})


def test_what_a_study_costs_has_a_currency(here: World) -> None:
    """DOCS/studies/get-study-cost: rewards and bonuses with fees and tax, so far or projected."""
    client = here.recruiter.client
    study = client.create_study(fields()).id
    assert client.cost(study).rewards == 0
    cost = client.cost(study, projected=True)
    assert (cost.rewards, cost.fees, cost.tax, cost.currency) == (225, 75, 15, "GBP")


def test_submissions_are_listed_by_the_page_and_shown_with_bonuses(here: World) -> None:
    """DOCS/submissions/get-submissions and get-submission; statuses: DOCS/submissions/submission-object."""
    client = here.recruiter.client
    study = client.create_study(fields(total_available_places=250)).id
    client.transition_study(study, "PUBLISH")
    for number in range(230):
        here.fake.start(study, f"p{number}")
    assert [one.participant for one in client.submissions(study)] == [f"p{n}" for n in range(230)]
    first = client.submissions(study)[0]
    here.fake.complete(first.id, "DONE")
    shown = client.submission(first.id)
    assert (shown.status, shown.code, shown.study, shown.bonuses) == ("AWAITING REVIEW", "DONE", study, ())


def test_approving_and_rejecting(here: World) -> None:
    """DOCS/submissions/bulk-approve-submissions and transition-submission."""
    client = here.recruiter.client
    study = client.create_study(fields()).id
    client.transition_study(study, "PUBLISH")
    first, second = (here.fake.start(study, name)[0] for name in "ab")  # type: ignore[index]
    for one in (first, second):
        here.fake.complete(one, "DONE")
    client.approve([first])
    client.approve([first])  # "if you make the same request twice, the second request will be ignored"
    assert here.fake.approvals == {first: 1}
    client.reject(second, "FAILED_CHECK", "x" * 100)
    assert [one.status for one in client.submissions(study)] == ["APPROVED", "REJECTED"]
    with pytest.raises(InputError, match="at least 100"):
        client.reject(second, "FAILED_CHECK", "too short")


def test_bonuses_are_set_up_in_units_and_paid_by_their_id(here: World) -> None:
    """DOCS/bonuses/create-bonus-payments (decimal amounts) and pay-bonus-payments (not idempotent)."""
    client = here.recruiter.client
    study = client.create_study(fields()).id
    client.transition_study(study, "PUBLISH")
    one = here.fake.start(study, "a")[0]  # type: ignore[index]
    payment = client.set_up_bonuses(study, {one: 425})
    assert here.fake.payments[payment] == {one: 425}
    assert here.fake.paid == []
    client.pay_bonuses(payment)
    assert client.submission(one).bonuses == (425,)
    with pytest.raises(InputError, match="not part of the study"):
        client.set_up_bonuses(study, {"nobody": 1})


def test_a_wrong_token_is_one_sentence_without_the_token(here: World) -> None:
    """DOCS/introduction/authentication: `Authorization: Token …`."""
    with closing(ProlificClient("s3cret-and-wrong", here.address)) as client, pytest.raises(InputError) as refused:
        client.studies()
    assert str(refused.value) == ("Prolific does not accept the token; create one at app.prolific.com, Settings.")
    assert "s3cret" not in repr(client)


def test_rate_limits_are_waited_for(here: World) -> None:
    """DOCS/introduction/rate-limits-and-api-status: 429, with how long to wait."""
    here.fake.faults += [PlantedFault("/studies/", 429, headers={"Retry-After": "7"})] * 2
    assert here.recruiter.client.studies() == []
    assert here.waits == [7.0, 7.0]
    here.fake.faults += [PlantedFault("/studies/", 429, headers={"Retry-After": "9999"})]
    with pytest.raises(InputError, match="asks to wait"):
        here.recruiter.client.studies()


def test_faults_are_tried_again_only_where_that_is_safe(here: World) -> None:
    client = here.recruiter.client
    here.fake.faults += [PlantedFault("/studies/", 502), PlantedFault("/studies/", 503)]
    assert client.studies() == []
    assert len(here.waits) == 2
    here.fake.faults += [PlantedFault("/studies/", 500)] * 5
    with pytest.raises(InputError, match="answered with an error"):
        client.studies()
    before = len(here.fake.calls)
    here.fake.faults.append(PlantedFault("/bulk-bonus-payments/", 502))
    with pytest.raises(UncertainCall):
        client.pay_bonuses("any")
    here.fake.faults.append(PlantedFault("/studies/", 502))
    with pytest.raises(UncertainCall):
        client.create_study(fields())
    assert len(here.fake.calls) == before + 2
    # A rate limit was answered before anything was done, so that even a payment is sent again.
    here.fake.faults.append(PlantedFault("/bulk-bonus-payments/", 429))
    with pytest.raises(Missing):
        client.pay_bonuses("any")


def test_nobody_answers(here: World) -> None:
    waits: list[float] = []
    with (
        closing(ProlificClient("t", "http://127.0.0.1:9", sleep=waits.append)) as client,
        pytest.raises(InputError, match="cannot be reached"),
    ):
        client.studies()
    assert len(waits) == 4
