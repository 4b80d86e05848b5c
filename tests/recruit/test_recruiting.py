"""Recruiting on Prolific from draft to payment: seats, money, edits on the website, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.collect.people import work
from tests.recruit.fake import FakeProlific
from tests.recruit.platform import PlantedFault
from tests.recruit.world import World, at_once, world
from vantage.errors import InputError
from vantage.recruit.base import PaymentRequest
from vantage.recruit.people import Person, people_by_id

REASON = "The answers to all three attention checks were wrong, and every sentence got the same answer within a second."


def people(here: World) -> list[Person]:
    """The participants in the order of their arrival."""
    return [*people_by_id(here.service).values()]


def test_a_draft_follows_from_the_study_file(here: World) -> None:
    state = here.recruiter.create()
    assert (state.status, state.places, state.reward) == ("UNPUBLISHED", 4, 150)
    shown = here.fake.studies[state.study]
    assert shown["name"] == "My study"
    assert shown["external_study_url"].startswith("https://study.example?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID=")
    assert {one["code"]: one["code_type"] for one in shown["completion_codes"]} == {
        "DONE": "COMPLETED",
        "NO": "NO_CONSENT",
        "FAILED": "FAILED_ATTENTION_CHECK",
        "OUT": "SCREENED_OUT",
        "FULL": "OTHER",
    }
    assert shown["maximum_allowed_time"] == 29  # 2 + 2·10 + 2·√10
    again = here.recruiter.create()
    assert again.study == state.study
    assert len(here.fake.studies) == 1


def test_without_minutes_the_forecast_decides_the_reward(tmp_path: Path) -> None:
    with world(tmp_path, {"minutes": None}) as made:
        assert made.recruiter.create().reward == 105  # 7 minutes at 9.00 an hour


def test_filters_exclusions_and_groups(tmp_path: Path) -> None:
    offer = {
        "filters": [{"filter_id": "fluent-languages", "selected_values": ["19"]}],
        "exclude": ["earlier1"],
        "exclude_groups": ["group1"],
        "group": "done",
        "devices": ["desktop"],
        "project": "p1",
    }
    with world(tmp_path, offer) as made:
        shown = made.fake.studies[made.recruiter.create().study]
        assert [one["filter_id"] for one in shown["filters"]] == [
            "fluent-languages",
            "previous_studies_blocklist",
            "participant_group_blocklist",
        ]
        at_once(made.recruiter, "publish")
        made.finish("ann")
        assert made.fake.groups == {"done": {"ann"}}


def test_a_created_draft_whose_answer_was_lost_is_taken_over(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = here.recruiter.client.studies

    def then_fail() -> list[tuple[str, str]]:
        here.fake.faults.append(PlantedFault(r"^/api/v1/studies/$", 502, after=True))
        monkeypatch.setattr(here.recruiter.client, "studies", listed)
        return []

    monkeypatch.setattr(here.recruiter.client, "studies", then_fail)
    state = here.recruiter.create()
    assert [*here.fake.studies] == [state.study]


def test_those_who_finished_are_paid_once(here: World) -> None:
    here.opened()
    first = here.finish("ann")
    paid = here.approve()
    assert (paid.paid, paid.amount) == ((first,), 150)
    again = here.approve()
    assert (again.paid, again.before) == ((), (first,))
    assert here.fake.approvals == {first: 1}
    state = here.recruiter.state()
    assert (state.paid, state.fees, state.submissions) == (150, 60, {"APPROVED": 1})
    assert state.hourly is not None
    assert [(one.act, one.state) for one in here.recruiter.ledger.all("approve")] == [
        ("approve", "intent"),
        ("approve", "done"),
    ]


def test_flagged_people_wait_and_nobody_is_rejected_automatically(tmp_path: Path) -> None:
    with world(tmp_path, attention={"per_batch": 2}) as here:
        here.opened()
        good = [here.finish(name) for name in ("ann", "bob", "cem")]
        bad = here.finish("dan", well=False)
        proposals = here.recruiter.proposals()
        assert [one.submission for one in proposals] == [bad]
        assert "failed 2 of 2 attention checks" in proposals[0].reason
        assert here.approve().paid == tuple(good)
        assert here.fake.submissions[bad]["status"] == "AWAITING REVIEW"
        with pytest.raises(InputError, match="100"):
            here.reject(bad, "FAILED_CHECK", "bad")
        with pytest.raises(InputError, match="did you mean 'FAILED_CHECK'"):
            here.reject(bad, "FAILED_CHEK", REASON)
        with pytest.raises(InputError, match="is approved"):
            here.reject(good[0], "FAILED_CHECK", REASON)
        assert here.fake.submissions[bad]["status"] == "AWAITING REVIEW"
        here.reject(bad, "FAILED_CHECK", REASON)
        assert here.fake.submissions[bad]["status"] == "REJECTED"
        # One whom the researcher approves on the dashboard is paid, whatever the flags.
        assert here.recruiter.proposals() == []


def test_payments_do_not_rely_on_earlier_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.collect.researchers.QUICK", 0.0)  # every result is kept for a while
    monkeypatch.setattr("vantage.collect.researchers.PATIENCE", 10**6)
    with world(tmp_path, attention={"per_batch": 2}) as here:
        here.opened()
        here.service.researchers.raters()
        bad = here.finish("dan", well=False)
        assert here.approve().paid == ()
        assert [one.submission for one in here.recruiter.proposals()] == [bad]


def test_a_flagged_rater_whom_the_researcher_approves_is_paid(tmp_path: Path) -> None:
    with world(tmp_path, attention={"per_batch": 2}) as here:
        here.opened()
        bad = here.finish("dan", well=False)
        assert here.approve().paid == ()
        rater = people(here)[0].rater
        here.service.researchers.review_rater(rater, "approved")
        assert here.approve().paid == (bad,)


def test_returned_and_timed_out_submissions_free_their_seats_at_once(here: World) -> None:
    here.opened()
    all_free = here.free()
    first, _ = here.arrive("ann")
    second, _ = here.arrive("bob")
    assert here.free() == all_free - 12
    here.fake.take_back(first)
    here.fake.time_out(second)
    here.recruiter.poll()
    assert here.free() == all_free
    here.recruiter.poll()  # nothing more happens
    assert here.free() == all_free
    ann, bob = people(here)
    assert (ann.verdict, ann.why) == ("excluded", "returned the submission on the platform")
    assert bob.verdict == "pending"
    # A researcher who takes the return back on the website lets the person in again.
    here.fake._become(first, "AWAITING REVIEW")
    here.recruiter.poll()
    assert people(here)[0].verdict == "pending"


def test_rejected_people_give_up_their_seats_and_leave_the_data(here: World) -> None:
    here.opened()
    all_free = here.free()
    one = here.finish("ann")
    assert here.free() == all_free - 6
    assert here.reject(one, "LOW_EFFORT", REASON).paid == (one,)
    (ann,) = people(here)
    assert (ann.verdict, ann.why) == ("excluded", "rejected on the platform")
    assert here.free() == all_free
    assert here.service.researchers.corpus().filter(~pl.col("excluded")).judgments.is_empty()
    assert here.recruiter.plan(PaymentRequest("approve")).lines == ()
    here.fake._become(one, "APPROVED")  # the platform overturned it
    here.recruiter.poll()
    assert people(here)[0].verdict == "pending"
    assert here.free() == all_free - 6


def test_people_with_another_code_are_listed_and_not_paid(here: World) -> None:
    here.opened()
    submission, person = here.arrive("ann")
    work(here.service, person)
    here.service.participants.finish(person)
    here.fake.complete(submission, "GUESSED")
    assert here.approve().paid == ()
    (proposal,) = here.recruiter.proposals()
    assert (proposal.submission, proposal.reason) == (submission, "finished here, but left with the code 'GUESSED'")


def test_strangers_are_listed(here: World) -> None:
    here.opened()
    here.service.participants.give_consent(
        here.service.participants.enter({"PROLIFIC_PID": "eve", "SESSION_ID": "x"}), agreed=True
    )
    free = here.free()
    (proposal,) = here.recruiter.proposals()
    assert (proposal.submission, proposal.rejectable) == ("", False)
    assert here.free() == free, "what the platform does not know has not ended"
    assert "has no submission" in proposal.reason


def test_somebody_who_returned_and_came_again_takes_part(here: World) -> None:
    here.opened()
    first, person = here.arrive("ann")
    here.fake.take_back(first)
    second, _ = here.arrive("ann")
    for _ in range(2):  # whoever looks, and however often
        here.recruiter.poll()
        assert {one.verdict for one in people(here)} == {"pending"}
    work(here.service, person)
    assert here.service.participants.finish(person).code == "DONE"
    here.fake.complete(second, "DONE")
    assert here.approve().paid == (second,)
    here.recruiter.poll()
    assert {one.verdict for one in people(here)} == {"pending"}


def test_places_are_topped_up_from_open_seats(here: World) -> None:
    study = here.opened()
    assert here.top_up() == 0
    for name in "abcd":
        submission, _ = here.arrive(name)
        if name in "ab":
            here.fake.complete(submission, "OUT")
            person = people(here)[-1]
            here.service.researchers.review_rater(person.rater, "excluded", "screened out")
    assert here.free() == 12
    assert here.top_up() == 2
    assert here.fake.studies[study]["total_available_places"] == 6
    assert here.top_up() == 0
    here.arrive("e")
    assert here.top_up() == 0


@pytest.mark.parametrize(
    ("plan", "places"),
    [
        ({"batch": {"size": 50}}, 2),  # of twelve items nobody judges fifty
        ({"flow": ["consent", {"block": {"id": "a", "batch": 3}}]}, 8),
        ({"flow": ["consent", {"block": {"id": "a"}}, {"block": {"id": "b", "condition": "plain"}}]}, 4),
        ({"flow": ["consent", {"blocks": {"people": "between", "of": [{"id": "a"}, {"id": "b"}]}}]}, 8),
    ],
)
def test_there_is_a_place_for_everybody_who_is_needed(tmp_path: Path, plan: dict[str, Any], places: int) -> None:
    with world(tmp_path, **plan) as here:
        assert here.recruiter.create().places == places


def test_what_the_website_shows_is_what_is_planned_and_confirmed(here: World) -> None:
    study = here.recruiter.create().study
    here.fake.studies[study] |= {"reward": 200, "name": "Another title"}
    assert here.recruiter.plan(PaymentRequest("publish")).total == 4 * 200
    at_once(here.recruiter, "publish")
    assert (here.recruiter.state().status, here.fake.studies[study]["name"]) == ("ACTIVE", "Another title")
    here.fake.studies[study]["total_available_places"] = 9
    assert here.top_up() == 0


def test_bonuses_have_names_and_are_paid_once(here: World) -> None:
    here.opened()
    first, second = here.finish("ann"), here.finish("bob")
    paid = here.bonus({first: 50, second: 50}, "fast")
    assert (paid.paid, paid.amount) == ((first, second), 100)
    again = here.bonus({first: 50}, "fast")
    assert (again.paid, again.before) == ((), (first,))
    with pytest.raises(InputError, match=r"is 0.50, not 0.70"):
        here.bonus({first: 70}, "fast")
    here.bonus({first: 50}, "second round")
    assert sorted(here.fake.paid) == sorted([(first, 50), (second, 50), (first, 50)])
    assert here.recruiter.state().bonuses == 150


def test_a_bonus_whose_answer_was_lost_is_not_paid_again(here: World) -> None:
    here.opened()
    one = here.finish("ann")
    here.fake.pays_late = True
    here.fake.faults.append(PlantedFault("/pay/", 502, after=True))
    assert here.bonus({one: 50}, "x").unconfirmed == (one,)
    assert here.bonus({one: 50}, "x").unconfirmed == (one,)
    with pytest.raises(InputError, match="not confirmed yet"):
        here.bonus({one: 50}, "y")
    assert here.recruiter.state().unconfirmed == (f"bonus:x:{one}",)
    here.fake.settle()
    assert here.bonus({one: 50}, "x").before == (one,)
    assert here.fake.paid == [(one, 50)]


def test_a_bonus_that_never_arrived_is_paid_when_the_researcher_says_so(here: World) -> None:
    here.opened()
    one = here.finish("ann")
    here.fake.faults.append(PlantedFault("/pay/", 502))
    assert here.bonus({one: 50}, "x").unconfirmed == (one,)
    assert here.fake.paid == []
    with pytest.raises(InputError, match=r"is 0.50, not 0.70"):
        here.bonus({one: 70}, "x", resend=True)
    assert here.bonus({one: 50}, "x", resend=True).paid == (one,)
    assert here.fake.paid == [(one, 50)]
    assert here.bonus({one: 50}, "x", resend=True).before == (one,)
    with pytest.raises(InputError, match="not waiting"):
        here.bonus({one: 50}, "y", resend=True)


def test_a_bonus_that_was_refused_can_be_tried_again(here: World) -> None:
    here.opened()
    one = here.finish("ann")
    here.fake.faults.append(PlantedFault("/pay/", 400))
    assert "planned" in here.bonus({one: 50}, "x").refused[one]
    assert here.bonus({one: 50}, "x").paid == (one,)
    assert here.fake.paid == [(one, 50)]


def test_approvals_are_ended_where_the_answer_was_lost(here: World) -> None:
    here.opened()
    one = here.finish("ann")
    here.fake.faults += [PlantedFault("/bulk-approve/", 500, after=True)] * 5
    with pytest.raises(InputError, match="answered with an error"):
        here.approve()
    assert here.recruiter.state().submissions == {"APPROVED": 1}
    assert here.approve().before == (one,)
    assert here.fake.approvals == {one: 1}


def test_an_approval_that_was_begun_keeps_no_other_out_of_the_ledger(here: World) -> None:
    here.opened()
    one = here.finish("ann")
    here.fake.faults += [PlantedFault("/bulk-approve/", 500)] * 5
    with pytest.raises(InputError, match="answered with an error"):
        here.approve()
    two = here.finish("bob")
    assert set(here.approve().paid) == {one, two}
    entries = here.recruiter.ledger.states("approve")
    assert {key: [entry.state for entry in own] for key, own in entries.items()} == {
        f"approve:{one}": ["intent", "done"],
        f"approve:{two}": ["intent", "done"],
    }
    assert not here.recruiter.state().differences


def test_stopping(here: World) -> None:
    with pytest.raises(InputError, match="no draft"):
        here.recruiter.stop()
    here.opened()
    assert here.recruiter.stop().status == "COMPLETED"
    assert here.recruiter.stop().status == "COMPLETED"


@pytest.mark.parametrize(
    ("offer", "problem"),
    [
        ({"hourly_pay": 5.0}, "under Prolific's minimum of 6.00"),
        ({"reward": 1.0}, "6.00 GBP an hour, under the hourly pay of 9.00"),
    ],
)
def test_too_little_pay_creates_nothing(tmp_path: Path, offer: dict[str, float], problem: str) -> None:
    with world(tmp_path, offer) as made:
        with pytest.raises(InputError, match=problem):
            made.recruiter.create()
        assert made.fake.studies == {}


def test_another_currency_creates_nothing(here: World) -> None:
    here.fake.currency = "USD"
    with pytest.raises(InputError, match="The account pays in USD, but the study file says GBP"):
        here.recruiter.create()
    assert here.fake.studies == {}
    here.fake.currency = "GBP"
    assert here.recruiter.create().status == "UNPUBLISHED"


def test_nothing_of_the_token_is_in_the_database(here: World, tmp_path: Path) -> None:
    here.opened()
    here.finish("ann")
    here.approve()
    here.service.close()
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert here.fake.token.encode() not in content


def test_a_fake_has_no_place_for_more_than_it_offers() -> None:
    fake = FakeProlific()
    fake.studies["s"] = {"status": "ACTIVE", "total_available_places": 1, "external_study_url": "u"}
    assert fake.start("s", "a") is not None
    assert fake.start("s", "b") is None
