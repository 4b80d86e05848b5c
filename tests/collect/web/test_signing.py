"""Nothing is believed but what carries our signature, was made for this person, and is fresh."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from vantage.collect.web.signing import StudySigner


def request(cookies: str = "", scheme: str = "http", root: str = "") -> Request:
    headers = [(b"cookie", cookies.encode("latin-1"))] if cookies else []
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": "/",
            "root_path": root,
            "query_string": b"",
            "headers": headers,
            "scheme": scheme,
            "server": ("study.example", 80),
        }
    )


def test_a_form_token_tells_page_view_and_age() -> None:
    signer = StudySigner(b"secret")
    token = signer.check_form(signer.sign_form("p1", "item/2", "view-1", age=12.5), "p1")
    assert token is not None
    assert (token.page, token.view) == ("item/2", "view-1")
    assert 12.4 <= token.seconds < 14


def test_two_views_have_two_numbers() -> None:
    signer = StudySigner(b"secret")
    first, second = (signer.check_form(signer.sign_form("p1", "item/2"), "p1") for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.view != second.view


def test_the_id_cannot_be_read_from_the_page() -> None:
    assert "the-secret-id" not in StudySigner(b"secret").sign_form("the-secret-id", "consent")


def test_tokens_of_others_old_ones_and_forged_ones_are_refused() -> None:
    signer = StudySigner(b"secret")
    form = signer.sign_form("p1", "item/2")
    assert signer.check_form(form, "p2") is None
    assert signer.check_form(StudySigner(b"another").sign_form("p1", "item/2"), "p1") is None
    assert signer.check_form(signer.sign_form("p1", "item/2", age=100), "p1", max_age=99) is None
    assert signer.check_form("", "p1") is None


@given(st.text(max_size=60))
def test_no_text_passes_as_a_token_or_a_cookie(text: str) -> None:
    signer = StudySigner(b"secret")
    assert signer.check_form(text, "p1") is None


@pytest.mark.parametrize(("scheme", "secure"), [("http", False), ("https", True)])
def test_cookies_are_closed_to_scripts_and_other_sites(scheme: str, secure: bool) -> None:
    signer, response = StudySigner(b"secret"), Response()
    signer.write_cookie(response, request(scheme=scheme, root="/study"), "vantage", ["p1"], max_age=60)
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/study" in cookie
    assert ("Secure" in cookie) == secure
    back = request(cookie.split(";")[0])
    assert signer.read_cookie(back, "vantage", max_age=60) == ["p1"]
    assert signer.read_cookie(back, "vantage", max_age=-1) is None
    # A browser sends the cookies of all studies on a host; those from before studies had names of their own still hold.
    other, second = StudySigner(b"another"), Response()
    assert other.read_cookie(back, "vantage", max_age=60) is None
    other.write_cookie(second, request(), "vantage", ["p2"], max_age=60)
    both = request(f"{cookie.split(';')[0]}; {second.headers['set-cookie'].split(';')[0]}")
    assert [one.read_cookie(both, "vantage", max_age=60) for one in (signer, other)] == [["p1"], ["p2"]]
    plain = request(f"vantage={cookie.split(';')[0].partition('=')[2]}")
    assert [one.read_cookie(plain, "vantage", max_age=60) for one in (signer, other)] == [["p1"], None]


def test_a_form_token_is_no_cookie() -> None:
    signer = StudySigner(b"secret")
    assert signer.read_cookie(request(f"vantage={signer.sign_form('p1', 'item/1')}"), "vantage", max_age=60) is None
