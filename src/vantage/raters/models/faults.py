"""Faults of an endpoint, whoever runs it: which field or code it names, what passes, and how long to wait.

Every client raises errors of its own; an adapter turns each into a `Fault`, and everything else follows from that:
whether to try again, which parameter to leave out, whether a content filter refused, and the sentence to show.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from vantage.documents import Document

LONGEST_WAIT: Final = 24 * 3600.0
"""Seconds; nobody waits longer than a day."""
_PASSING: Final = (408, 409, 425, 429)
_OVERLOAD: Final = (429, 503, 529)
_DOWN: Final = (503, 529)
_KNOWN: Final = Document.bundled("vantage.raters.models", "faults.yaml").data
_FINAL, _BAD_KEY, _FILTERED, _LENGTH_CODES = (
    frozenset(_KNOWN[name]) for name in ("final", "bad_key", "filtered", "too_long")
)
_TOO_LONG: Final = re.compile(
    r"maximum context length|context (?:window|size)|prompt is too long|(?:is|are) too large|too many (?:input )?tokens"
    r"|at most \d+ (?:completion |output )?tokens|exceeds? the (?:maximum|available|model|limit)",
    re.IGNORECASE,
)
_NO_ACCESS: Final = re.compile(r"\b(?:access|permission|allowed|entitled)\b.{0,30}\bmodel\b", re.IGNORECASE)
"""How endpoints say that an account may not use this model."""
_NO_CREDIT: Final = re.compile(
    r"\bcredit balance is too low|\binsufficient (?:account )?(?:balance|credits?|funds)", re.I
)
"""How endpoints say only in words that an account has no credit, as Anthropic does with status 400."""
_OF_DAY: Final = re.compile(r"\bper[ _-]?day|per_?day|\bdaily\b", re.IGNORECASE)
"""How endpoints say that the quota of a day is used up, in a message or in the name of the quota."""
LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Names of the limit on a reply's length, without which nothing is ever sent."""
_KINDS: Final = ("type", "reason", "quotaId")
"""What entries of a list of details call their kind."""
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an endpoint did not answer a request."""

    message: str
    status: int | None = None
    """The HTTP status; null where no answer came."""
    codes: frozenset[str] = frozenset()
    where: str = ""
    """The part of the request that the endpoint names, such as `response_format`."""
    category: str = ""
    """What a content filter objected to."""
    headers: Mapping[str, str] = field(default_factory=dict)
    late: bool = False
    """Whether time ran out."""

    @classmethod
    def of(cls, status: int, body: Any, headers: Mapping[str, str], message: str = "") -> Fault:
        """What an answer with an error status says, in the forms that providers document.

        >>> body = {"error": {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}}
        >>> Fault.of(400, body, {}).where
        'temperature'
        >>> body = {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs", "input": {"top_p": 1}}]}
        >>> Fault.of(422, body, {}).rejected(["seed", "top_p"])
        'seed'
        """
        if isinstance(body, (str, bytes)):
            try:
                body = json.loads(body)
            except ValueError:
                # A page of HTML says nothing that a sentence could use.
                body = {}
        error = body.get("error", body) if isinstance(body, Mapping) else body
        if isinstance(error, str):
            error = {"message": error}
        # Message, field and kind of each entry of a list of details, in the forms of FastAPI and of Google.
        entries = [
            (
                str(e.get("msg") or e.get("description") or ""),
                _where(e),
                str(next(filter(None, map(e.get, _KINDS)), "")),
            )
            for e in _entries(body)
        ]
        if not isinstance(error, Mapping):
            error = {}
        said = error.get("message") or error.get("Message") or "; ".join(m for m, _, _ in entries if m) or message
        codes = {str(error[key]) for key in ("code", "type", "status") if error.get(key)}
        inner = error.get("innererror") or error.get("inner_error") or {}
        codes |= {str(inner["code"])} if isinstance(inner, Mapping) and inner.get("code") else set()
        codes |= {kind for _, _, kind in entries if kind}
        routed = (error.get("metadata") or {}).get("headers") if isinstance(error.get("metadata"), Mapping) else None
        if isinstance(routed, Mapping):
            # A router passes on what its provider says.
            headers = {**{str(name).lower(): str(value) for name, value in routed.items()}, **headers}
        delay = next((e["retryDelay"] for e in _entries(body) if e.get("retryDelay")), "")
        if delay and not any(map(_OF_DAY.search, codes)):
            # Google says in the body how long to wait, also some seconds where the quota of the day is used up.
            headers = {"retry-after": str(delay).removesuffix("s"), **headers}
        named = str(error.get("param") or next((where for _, where, _ in entries if where), ""))
        return cls(str(said), status, frozenset(codes), named, _category(error, inner), dict(headers))

    @property
    def filtered(self) -> bool:
        """Whether a content filter of the provider refused the prompt; asking again would not help."""
        return bool(self.codes & _FILTERED) or (self.status == 403 and bool(self.category))

    @property
    def passing(self) -> bool:
        """Whether another try may succeed."""
        if self.status is None:
            return True
        verdict = self.headers.get("x-should-retry")
        if verdict == "false" or self.codes & _FINAL:
            return False
        return verdict == "true" or self.status in _PASSING or self.status >= 500

    @property
    def of_account(self) -> bool:
        """Whether the account is at fault rather than the request, so that every other request would fail too."""
        if self.filtered or self.rejected(("logprobs", "top_logprobs")):
            return False
        refused = self.status == 401 or bool(self.codes & _BAD_KEY) or self.unpaid or self.exhausted
        return refused or (self.status == 403 and not self.where)

    @property
    def unpaid(self) -> bool:
        """Whether the account has no credit left."""
        said = (self.status or 500) < 500 and _NO_CREDIT.search(self.message)
        return self.status == 402 or bool(self.codes & _FINAL or said)

    @property
    def exhausted(self) -> bool:
        """Whether the quota of a day is used up, and nothing is said of when there will be more.

        >>> Fault.of(429, {"error": {"message": "Limit exceeded: free-models-per-day"}}, {}).exhausted
        True
        """
        of_day = any(map(_OF_DAY.search, (self.message, *self.codes)))
        return self.status == 429 and of_day and retry_after(self.headers) is None

    @property
    def of_model(self) -> bool:
        """Whether the account may not use this model, or no more today, which says nothing about its others.

        >>> body = {"error": {"message": "Your project does not have access to model `m`", "code": "model_not_found"}}
        >>> Fault.of(403, body, {}).of_model, Fault.of(403, {"error": {"message": "Forbidden"}}, {}).of_model
        (True, False)
        """
        named = "model_not_found" in self.codes or bool(_NO_ACCESS.search(self.message))
        return (named and self.status == 403 and self.of_account) or self.exhausted

    @property
    def overload(self) -> bool:
        """Whether the endpoint asks for fewer requests."""
        return self.status in _OVERLOAD

    @property
    def down(self) -> bool:
        """Whether the endpoint cannot be reached or reports that it is out of service."""
        return self.status in _DOWN or (self.status is None and not self.late)

    @property
    def too_long(self) -> bool:
        """Whether the request is too long, which leaving out a parameter does not mend."""
        return bool(self.codes & _LENGTH_CODES) or bool(_TOO_LONG.search(self.message))

    def rejected(self, parameters: Sequence[str]) -> str | None:
        """Which of the parameters that were sent is refused: by the field that is named, else by the message.

        A server that repeats the whole request in its answer names no parameter thereby.
        """
        if self.status not in (400, 403, 404, 422, 501):
            return None
        path = [step for step in re.split(r"[.\[\]]+", self.where) if step and step != "body" and not step.isdigit()]
        if path:
            parameter = path[0] if path[0] in parameters else None
            return None if parameter in LIMITS and self.too_long else parameter
        if self.too_long:
            return None
        names = {name: [name, *_KNOWN["also"].get(name, name).split("|")] for name in parameters}
        at = {
            name: min(places)
            for name, words in names.items()
            if (
                places := [m.start() for word in words if (m := re.search(rf"\b{re.escape(word)}", self.message, re.I))]
            )
        }
        return min(at, key=at.__getitem__) if at else None

    def sentence(self, host: str, model: str, timeout: float, key_variable: str) -> str:
        """What went wrong, in one sentence; the endpoint's words are kept, except where they may quote the key."""
        message = " ".join(self.message.split())[:300].rstrip(".")
        if self.late:
            return f"{host} did not answer within {timeout:g} seconds."
        if self.status is None:
            return f"{host} cannot be reached; check the base URL and the network."
        if self.exhausted:
            return f"{host} has no quota left for '{model}' today ({self.status}: {message})."
        if self.of_model:
            return f"{host} does not let this account use the model '{model}' (403)."
        refused = self.status in (401, 403) or self.codes & _BAD_KEY
        if refused and not self.rejected(("logprobs", "top_logprobs")):
            # Such messages often repeat a part of the key.
            return f"{host} refuses the key ({self.status}); check {key_variable}."
        if self.unpaid:
            return f"{host} has no credit or quota left for this account ({self.status}: {message})."
        if self.status == 404:
            return f"{host} has no model '{model}' at this base URL (404: {message})."
        if self.status == 429:
            return f"{host} is at its limit (429: {message})."
        if self.status >= 500:
            return f"{host} failed ({self.status}: {message})."
        return f"{host} refuses the request ({self.status}: {message})."


class ToldError(ValueError):
    """An error that an endpoint told in the body of a success."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def of_client(error: Any) -> Fault:
    """The fault that an error of the client tells."""
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if response is not None and status is not None and status >= 400:
        body = error.body if error.body is not None else getattr(response, "text", "")
        return Fault.of(status, body, response.headers, str(error.message))
    # The aiohttp transport reports a connection that was refused or lost as one that timed out.
    late = "Timeout" in type(error).__name__ and type(error.__cause__).__name__ != "ConnectTimeout"
    return Fault(str(error), late=late)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait, from whichever header says so; null where none does.

    A date is compared with the answer's own date, so that a clock that is wrong here does no harm. Without
    `Retry-After`, the moment at which a spent rate limit is reset counts.

    >>> retry_after({"retry-after": "1.5"}), retry_after({"retry-after-ms": "20"}), retry_after({})
    (1.5, 0.02, None)
    >>> retry_after({"retry-after": "Sun, 01 Jan 2040 00:00:30 GMT", "date": "Sun, 01 Jan 2040 00:00:00 GMT"})
    30.0
    >>> retry_after({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2s"})
    62.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        seconds = _number(value) / unit if math.isfinite(_number(value)) else _until(value, headers.get("date"))
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), LONGEST_WAIT)
    waits = [
        _reset(headers[reset], headers.get("date"))
        for left, reset in _KNOWN["resets"]
        if headers.get(left) == "0" and reset in headers
    ]
    waits = [wait for wait in waits if math.isfinite(wait)]
    return min(max(*waits, 0.0), LONGEST_WAIT) if waits else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _reset(text: str, now: str | None) -> float:
    """Seconds until a rate limit is reset: a duration, a number of seconds, a moment."""
    if re.fullmatch(rf"(?:{_DURATION.pattern})+", text):
        return math.fsum(float(amount) * _SECONDS[unit] for amount, unit in _DURATION.findall(text))
    seconds = _number(text)
    if math.isfinite(seconds):
        # Some endpoints give the moment in milliseconds since 1970.
        return seconds if seconds < 1e6 else seconds / (1000 if seconds > 1e11 else 1) - time.time()
    return _until(text, now)


def _until(date: str, now: str | None) -> float:
    return _moment(date) - (_moment(now) if now else time.time())


def _moment(text: str) -> float:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(TypeError, ValueError, OverflowError):
            return read(text).timestamp()
    return math.nan


def _entries(body: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(body, Mapping):
        return
    error = body.get("error")
    inner: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    for details in (body.get("detail"), body.get("details"), inner.get("details"), body.get("message")):
        for entry in details if isinstance(details, list) else [details]:
            if isinstance(entry, Mapping):
                if isinstance(entry.get("detail"), list):
                    yield from (one for one in entry["detail"] if isinstance(one, Mapping))
                violations = entry.get("fieldViolations") or entry.get("violations")
                yield from violations if isinstance(violations, list) else [entry]


def _where(entry: Mapping[str, Any]) -> str:
    if isinstance(entry.get("loc"), list):
        return ".".join(str(step) for step in entry["loc"])
    return re.sub(r"^(?:generation_?config)\.", "", str(entry.get("field") or ""), flags=re.IGNORECASE)


def _category(error: Mapping[str, Any], inner: Any) -> str:
    """What a content filter objected to, as the provider calls it."""
    results = inner.get("content_filter_result") if isinstance(inner, Mapping) else None
    if isinstance(results, Mapping):
        return filters(results)
    metadata = error.get("metadata")
    reasons = metadata.get("reasons") if isinstance(metadata, Mapping) else None
    return ", ".join(map(str, reasons)) if isinstance(reasons, list) else ""


def filters(results: Any) -> str:
    """What content filters objected to, as Azure says it of a prompt and of a reply."""
    if not isinstance(results, Mapping):
        return ""
    return ", ".join(sorted(k for k, v in results.items() if isinstance(v, Mapping) and v.get("filtered")))
