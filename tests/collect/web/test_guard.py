"""What holds for every request: headers, limits, and the prefix of a proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collect.web.studies import Visitor, desk
from vantage.collect.desk import Desk
from vantage.collect.web.guard import LARGEST_BODY


@pytest.fixture
def opened(tmp_path: Path) -> Desk:
    return desk(tmp_path)


@pytest.mark.parametrize("path", ["/", "/desk/login", "/nowhere", "/api/health", "/openapi.json", "/item/1"])
def test_every_response_carries_the_security_headers(opened: Desk, path: str) -> None:
    visitor = Visitor(opened)
    visitor.get(path)
    policy = visitor.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "frame-ancestors 'none'" in policy
    assert visitor.headers["x-content-type-options"] == "nosniff"
    assert visitor.headers["x-frame-options"] == "DENY"
    assert visitor.headers["referrer-policy"] == "no-referrer"
    assert visitor.headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in visitor.headers


def test_pages_hold_no_inline_script_or_style(opened: Desk) -> None:
    visitor = Visitor(opened)
    for path in ("/", "/desk/login", "/nowhere"):
        visitor.get(path)
        assert re.findall(r"<script(?![^>]*\ssrc=)", visitor.text) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", visitor.text) == []


def test_under_tls_cookies_are_secure(opened: Desk) -> None:
    visitor = Visitor(opened, base="https://study.example")
    visitor.get("/")
    assert "Secure" in visitor.headers["set-cookie"]
    assert "max-age=31536000" in visitor.headers["strict-transport-security"]


@pytest.mark.parametrize("stripped", [True, False])
def test_behind_a_proxy_with_a_prefix(opened: Desk, stripped: bool) -> None:
    """Whether or not the proxy strips the prefix, the pages lead back through it."""
    visitor = Visitor(opened, prefix="/study")
    base = "" if stripped else "/study"
    visitor.get(f"{base}/")
    assert "Path=/study" in visitor.headers["set-cookie"]
    assert 'action="/study/consent"' in visitor.text
    for path in re.findall(r'(?:href|src)="(/[^"]*)"', visitor.text):
        assert path.startswith("/study/")
    style = next(path for path in re.findall(r'href="(/[^"]*css)"', visitor.text))
    assert visitor.client.get(style if not stripped else style.removeprefix("/study")).status_code == 200
    assert visitor.send("/study/consent", {"agreed": "yes"}) == "/study/guidelines"


def test_too_large_a_body_is_refused_whether_its_length_is_told_or_not(opened: Desk) -> None:
    client = Visitor(opened).client
    told = client.post("/consent", content=b"a=" + b"x" * LARGEST_BODY)
    assert told.status_code == 413
    assert "shorten" in told.text

    def pieces() -> Iterator[bytes]:
        for _ in range(LARGEST_BODY // 65536 + 2):
            yield b"x" * 65536

    untold = client.post("/consent", content=pieces())
    assert untold.status_code == 413
    assert "content-security-policy" in untold.headers


@pytest.mark.parametrize("length", ["-1", "many", "１"])
def test_lengths_that_are_none(opened: Desk, length: str) -> None:
    found = Visitor(opened).client.post("/consent", content=b"", headers={b"content-length": length.encode()})
    assert found.status_code == 413
