"""Signed cookies and form seals: who is asking, from which page view, since when.

Nothing that a browser sends is trusted but what carries our signature. A form's seal names the person, the page and
the moment at which it was drawn. It protects against forged requests (no other site can make one), tells a double
click from a second thought (each view has its own number) and times the answer without a script.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import Any, Final

from itsdangerous import BadData, Signer, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

DAY: Final = 86400
COOKIE_LIFE: Final = 180 * DAY
"""How long a participant is known again."""
PARTICIPANT_COOKIE: Final = "vantage"
RESEARCHER_COOKIE: Final = "vantage-desk"


@dataclass(frozen=True, slots=True)
class Seal:
    """What a form's hidden field says once its signature has been checked."""

    view: str
    """The number of the page view: the same form sent twice carries the same one."""
    page: str
    seconds: float
    """How long ago the page was drawn."""


class Seals:
    """Makes and checks signatures with one study's secret.

    >>> seals = Seals(b"a secret of the study")
    >>> form = seals.seal("p1", "item/3")
    >>> seals.check(form, "p1").page
    'item/3'
    >>> seals.check(form, "p2") is None
    True
    """

    def __init__(self, secret: bytes) -> None:
        # A form's seal is made and checked for every answer: plain parts under a key that is derived once.
        key = hmac.digest(secret, b"vantage.form", "sha256")
        self._forms = Signer(key, key_derivation="none", digest_method=hashlib.sha256)
        self._cookies = URLSafeSerializer(secret)

    def seal(self, who: str, page: str, view: str = "", *, age: float = 0.0) -> str:
        """The hidden field of a form that is drawn now for this person.

        `view` is the number of the page view, made up where there is none; `age` says how long ago a form was first
        drawn that is shown again.
        """
        parts = (_digest(who), page, view or secrets.token_urlsafe(9), f"{time.time() - age:.2f}")
        return self._forms.sign("~".join(parts)).decode("ascii")

    def check(self, form: str, who: str, *, max_age: float = 7 * DAY) -> Seal | None:
        """What the hidden field says, or null where it was not made for this person, or too long ago."""
        try:
            whose, page, view, drawn = self._forms.unsign(form.encode("ascii")).decode("ascii").split("~")
        except (BadData, ValueError):
            return None
        age = time.time() - float(drawn)
        if not hmac.compare_digest(whose, _digest(who)) or age > max_age:
            return None
        return Seal(view, page, max(0.0, round(age, 2)))

    def write(self, response: Response, request: Request, name: str, content: list[Any], *, max_age: int) -> None:
        """Sets a signed cookie: unreadable to scripts, not sent along from other sites, encrypted only under TLS."""
        response.set_cookie(
            name,
            _text(self._cookies.dumps([*content, round(time.time())], salt=f"vantage.cookie.{name}")),
            max_age=max_age,
            path=request.scope.get("root_path") or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )

    def read(self, request: Request, name: str, *, max_age: int) -> list[Any] | None:
        """The content of a cookie that we signed, while it is fresh."""
        return self.open(request.cookies.get(name, ""), name, max_age=max_age)

    def open(self, text: str, name: str, *, max_age: int) -> list[Any] | None:
        """The content of a cookie's text."""
        # The name is part of the signature: a participant's cookie under the researcher's name is worth nothing.
        content = _load(self._cookies, text, salt=f"vantage.cookie.{name}")
        if not (isinstance(content, list) and len(content) > 1) or time.time() - float(content[-1]) > max_age:
            return None
        return content[:-1]

    def clear(self, response: Response, request: Request, name: str) -> None:
        """Forgets a cookie."""
        response.delete_cookie(name, path=request.scope.get("root_path") or "/", httponly=True, samesite="lax")


def _digest(who: str) -> str:
    """Stands for a person in a page, where the id itself must not be read."""
    return hashlib.sha256(who.encode("utf-8")).hexdigest()[:20]


def _load(serializer: URLSafeSerializer, text: str, salt: str) -> Any:
    try:
        return serializer.loads(text, salt=salt) if text else None
    except BadData:
        return None


def _text(signed: str | bytes) -> str:
    return signed if isinstance(signed, str) else signed.decode("ascii")
