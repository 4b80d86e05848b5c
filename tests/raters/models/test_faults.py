from __future__ import annotations

import math
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.raters.models.faults import LONGEST_WAIT, Fault, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "86400"}, LONGEST_WAIT),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 99 Foo"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(1000, usegmt=True), "date": formatdate(960, usegmt=True)}, 40.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "9s"}, None),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "1970-01-01T00:16:40Z",
                "date": formatdate(990, usegmt=True),
            },
            10.0,
        ),
        ({"retry-after": formatdate(900, usegmt=True), "date": formatdate(960, usegmt=True)}, 0.0),
    ],
)
def test_how_long_an_endpoint_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_without_the_answers_own_is_compared_with_the_clock() -> None:
    asked = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert asked is not None
    assert 27 <= asked <= 31


@given(st.text(max_size=40))
def test_whatever_the_header_says_the_wait_is_bounded(told: str) -> None:
    seconds = retry_after({"retry-after": told})
    assert seconds is None or (math.isfinite(seconds) and 0 <= seconds <= LONGEST_WAIT)


def test_a_key_that_google_refuses_is_a_fault_of_the_account_although_the_status_is_400() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    told = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": details}}
    fault = Fault.of(400, told, {})
    assert fault.of_account
    assert not fault.passing
    assert "refuses the key (400); check KEY" in fault.sentence("host", "m", 9, "KEY")


def test_how_long_google_asks_to_wait_stands_in_the_body() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "5400s"}]
    told = {"error": {"code": 429, "message": "Daily quota.", "status": "RESOURCE_EXHAUSTED", "details": details}}
    assert retry_after(Fault.of(429, told, {}).headers) == 5400
    assert retry_after(Fault.of(429, told["error"], {"retry-after": "7"}).headers) == 7


DAY = {
    "code": 429,
    "status": "RESOURCE_EXHAUSTED",
    "message": "You exceeded your current quota.",
    "details": [
        {"@type": "x/QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
        {"@type": "x/RetryInfo", "retryDelay": "33s"},
    ],
}


@pytest.mark.parametrize(
    ("error", "headers", "after"),
    [
        # Google names the quota and asks to wait some seconds all the same; OpenRouter may say nothing more.
        (DAY, {}, None),
        ({"message": "Rate limit exceeded: free-models-per-day. Add 10 credits", "code": 429}, {}, None),
        ({"message": "Daily limit reached."}, {}, None),
        # Where it is said when there will be more, that is waited for.
        ({"message": "Limit on tokens per day (TPD) reached."}, {"retry-after": "7200"}, 7200.0),
        ({"message": "free-models-per-day", "metadata": {"headers": {"X-RateLimit-Remaining": "0"}}}, {}, None),
    ],
)
def test_the_quota_of_a_day_ends_a_model_unless_it_is_said_when_it_is_renewed(
    error: dict[str, object], headers: dict[str, str], after: float | None
) -> None:
    fault = Fault.of(429, {"error": error}, headers)
    assert (fault.exhausted, fault.of_model, retry_after(fault.headers)) == (after is None, after is None, after)
    assert "no quota left for 'm' today" in fault.sentence("host", "m", 1.0, "KEY") or after is not None


def test_a_router_passes_on_when_a_limit_is_reset() -> None:
    reset = str(int((time.time() + 5000) * 1000))
    told = {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}}
    fault = Fault.of(429, {"error": {"message": "free-models-per-day", "code": 429, "metadata": told}}, {})
    assert retry_after(fault.headers) == pytest.approx(5000, abs=5)
    assert not fault.of_account


def test_an_account_without_credit_is_known_by_words_alone() -> None:
    body = {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}
    fault = Fault.of(400, {"error": body}, {})
    assert fault.of_account
    assert "no credit or quota left" in fault.sentence("host", "m", 1.0, "KEY")
    assert not Fault.of(500, {"error": {"message": "insufficient funds in the text"}}, {}).of_account
    assert not Fault.of(429, {"error": {"message": "Requests per minute exceeded."}}, {}).of_account
