"""Signed cookies and form tokens: who is asking, from which page view, since when.

Only signed data from a browser are trusted. A form token names the person, the page and the time at which the form was
rendered. It protects against forged requests (no other site can create one), tells a double click from a changed answer
(each view has its own number) and times the answer without a script.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from itsdangerous import BadData, Signer, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

DAY: Final = 86400
COOKIE_LIFE: Final = 180 * DAY
PARTICIPANT_COOKIE: Final = "vantage"
LANGUAGE_COOKIE: Final = "vantage-language"
RESEARCHER_COOKIE: Final = "vantage-admin"
DEVICE_COOKIE: Final = "vantage-known"
"""Tells a browser that has logged in before from a stranger's."""
PREVIEW_PAGE: Final = "preview"
"""The holder and the page of a token that opens the preview."""


@dataclass(frozen=True, slots=True)
class FormToken:
    """The content of a form token whose signature has been checked."""

    view: str
    """The number of the page view: the same when a form is sent twice."""
    page: str
    seconds: float


class StudySigner:
    """Creates and checks signatures with one study's secret.

    >>> signer = StudySigner(b"a secret of the study")
    >>> token = signer.sign_form("p1", "item/3")
    >>> signer.check_form(token, "p1").page
    'item/3'
    >>> signer.check_form(token, "p2") is None
    True
    """

    def __init__(self, secret: bytes, suffix: str = "") -> None:
        # Browsers send the cookies of a host to all its ports, and a study's to its preview, so each has its own names.
        self._suffix = suffix or f"-{hmac.digest(secret, b'vantage.cookie', 'sha256').hex()[:8]}"
        # Form tokens are created and checked for every answer: plain parts under a key that is derived once.
        key = hmac.digest(secret, b"vantage.form", "sha256")
        self._forms = Signer(key, key_derivation="none", digest_method=hashlib.sha256)
        self._cookies = URLSafeSerializer(secret)
        # A browser sends the same cookie with every request.
        self._verified = lru_cache(maxsize=4096)(self._verify)

    def sign_form(self, who: str, page: str, view: str = "", *, age: float = 0.0) -> str:
        """The token of a form that is rendered now for this person.

        `view` is the number of the page view, generated where none is given; `age` is how long ago a form that is shown
        again was first rendered.
        """
        parts = (_digest(who), page, view or secrets.token_urlsafe(9), f"{time.time() - age:.2f}")
        return self._forms.sign("~".join(parts)).decode("ascii")

    def check_form(self, token: str, who: str, *, max_age: float = 7 * DAY) -> FormToken | None:
        """The content of a token; null where it was created for somebody else, or too long ago."""
        try:
            whose, page, view, rendered = self._forms.unsign(token.encode("ascii")).decode("ascii").split("~")
        except (BadData, ValueError):
            return None
        age = time.time() - float(rendered)
        if not hmac.compare_digest(whose, _digest(who)) or age > max_age:
            return None
        return FormToken(view, page, max(0.0, round(age, 2)))

    def sign_link(self, who: str) -> str:
        """The token of a link with which a participant can continue in another browser."""
        return str(self._cookies.dumps([who, round(time.time())], salt="vantage.continue"))

    def check_link(self, token: str) -> str | None:
        """The participant of such a link, or null."""
        content = self._opened(token, "vantage.continue", COOKIE_LIFE)
        return str(content[0]) if content else None

    def write_cookie(
        self, response: Response, request: Request, name: str, content: list[Any], *, max_age: int
    ) -> None:
        """Sets a signed cookie: hidden from scripts, not sent from other sites, over TLS only where there is TLS."""
        response.set_cookie(
            name + self._suffix,
            str(self._cookies.dumps([*content, round(time.time())], salt=f"vantage.cookie.{name}")),
            max_age=max_age,
            path=request.scope.get("root_path") or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )

    def read_cookie(self, request: Request, name: str, *, max_age: int) -> list[Any] | None:
        """The content of a signed cookie of the request, or null where it is forged or too old."""
        # Participants of studies that started earlier have the plain name; what another study signed is not accepted.
        text = request.cookies.get(name + self._suffix) or request.cookies.get(name, "")
        # The name is part of the signature: a participant's cookie is worthless under the researcher's name.
        return self._opened(text, f"vantage.cookie.{name}", max_age)

    def _opened(self, text: str, salt: str, max_age: float) -> list[Any] | None:
        content = self._verified(text, salt)
        if not content or time.time() - float(content[-1]) > max_age:
            return None
        return list(content[:-1])

    def _verify(self, text: str, salt: str) -> tuple[Any, ...]:
        try:
            content = self._cookies.loads(text, salt=salt)
        except BadData:
            return ()
        return tuple(content) if isinstance(content, list) and len(content) > 1 else ()

    def clear_cookie(self, response: Response, request: Request, name: str) -> None:
        """Deletes a cookie."""
        path = request.scope.get("root_path") or "/"
        response.delete_cookie(name + self._suffix, path=path, httponly=True, samesite="lax")


def _digest(who: str) -> str:
    """Represents a person on a page, where the id itself must not appear."""
    return hashlib.sha256(who.encode("utf-8")).hexdigest()[:20]
