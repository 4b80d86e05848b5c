"""Faults of an endpoint: what they are in words, which may be gone at the next try, and how long it asks to wait."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Final

import openai

from vantage.raters.models.base import Passing

LONGEST_WAIT: Final = 300.0
"""Seconds; an endpoint that asks for more is asked again after this."""
_PASSING: Final = (408, 409, 429)
_OVERLOAD: Final = (429, 503, 529)
_FINAL: Final = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of a 429 that waiting does not help."""


def raise_if_passing(error: openai.OpenAIError, sentence: str) -> None:
    """Raises `Passing` with a sentence for what may go better at the next try; other errors are left alone."""
    if isinstance(error, openai.APIResponseValidationError):
        raise Passing(sentence) from None
    if isinstance(error, openai.APIConnectionError):
        raise Passing(sentence) from None
    if not isinstance(error, openai.APIStatusError):
        return
    headers, status = error.response.headers, error.status_code
    verdict = headers.get("x-should-retry")
    if verdict == "false" or error.code in _FINAL:
        return
    if verdict == "true" or status in _PASSING or status >= 500:
        raise Passing(sentence, overload=status in _OVERLOAD, after=retry_after(headers)) from None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait, from whichever header says so; null where none does.

    A date is compared with the answer's own date, so that a clock that is wrong here does no harm.

    >>> retry_after({"retry-after": "1.5"}), retry_after({"retry-after-ms": "20"}), retry_after({})
    (1.5, 0.02, None)
    >>> retry_after({"retry-after": "Sun, 01 Jan 2040 00:00:30 GMT", "date": "Sun, 01 Jan 2040 00:00:00 GMT"})
    30.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        told = headers.get(name)
        if told is None:
            continue
        try:
            seconds = float(told) / unit
        except ValueError:
            seconds = _until(told, headers.get("date"))
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), LONGEST_WAIT)
    return None


def _until(date: str, now: str | None) -> float:
    try:
        then = parsedate_to_datetime(date).timestamp()
        return then - (parsedate_to_datetime(now).timestamp() if now else time.time())
    except (TypeError, ValueError):
        return math.nan


def sentence(error: openai.OpenAIError, host: str, model: str, timeout: float, key_variable: str, tries: int) -> str:
    """What went wrong, in one sentence; the endpoint's own words are kept, except where they may quote the key."""
    told = " ".join(_told(error).split())[:300].rstrip(".")
    after = "" if tries == 1 else f" after {tries} tries"
    match error:
        # The aiohttp transport tells a connection that was refused or lost as one that timed out.
        case openai.APITimeoutError() if type(error.__cause__).__name__ != "ConnectTimeout":
            return f"{host} did not answer within {timeout:g} seconds{after}."
        case openai.APIConnectionError():
            return f"{host} cannot be reached{after}; check the base URL and the network."
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            # Such messages often repeat a part of the key.
            return f"{host} refuses the key ({error.status_code}); check the environment variable {key_variable}."
        case openai.NotFoundError():
            return f"{host} has no model '{model}' at this base URL (404: {told})."
        case openai.RateLimitError():
            return f"{host} is at its limit{after} (429: {told})."
        case openai.APIStatusError() if error.status_code >= 500:
            return f"{host} failed{after} ({error.status_code}: {told})."
        case openai.APIStatusError():
            return f"{host} refuses the request ({error.status_code}: {told})."
        case _:
            return f"{host} did not answer with a chat completion ({told})."


def _told(error: openai.OpenAIError) -> str:
    """What the endpoint itself said, where it said something."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    return str(said or getattr(error, "message", error))


def named(error: openai.OpenAIError, parameters: Sequence[str]) -> str | None:
    """The first of these parameters that a refusal names."""
    if not isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError)):
        return None
    return named_in(f"{error.param or ''} {error.message} {error.body}", parameters)


def named_in(told: str, parameters: Sequence[str]) -> str | None:
    """The first of these parameters that a text names."""
    found = {name: m.start() for name in parameters if (m := re.search(rf"\b{name}\b", told))}
    return min(found, key=found.__getitem__) if found else None
