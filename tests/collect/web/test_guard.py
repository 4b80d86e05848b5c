"""What holds for every request: headers, limits, and the prefix of a proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collect.web.studies import Visitor, study_service
from vantage.collect.service import StudyService
from vantage.collect.web.guard import LARGEST_BODY


@pytest.fixture
def service(tmp_path: Path) -> StudyService:
    return study_service(tmp_path)


@pytest.mark.parametrize("path", ["/", "/admin/login", "/nowhere", "/api/health", "/openapi.json", "/item/1"])
def test_every_response_carries_the_security_headers(service: StudyService, path: str) -> None:
    visitor = Visitor(service)
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


def test_pages_hold_no_inline_script_or_style(service: StudyService) -> None:
    visitor = Visitor(service)
    for path in ("/", "/admin/login", "/nowhere"):
        visitor.get(path)
        assert re.findall(r"<script(?![^>]*\ssrc=)", visitor.text) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", visitor.text) == []


def test_under_tls_cookies_are_secure(service: StudyService) -> None:
    visitor = Visitor(service, base="https://study.example")
    visitor.get("/")
    assert "Secure" in visitor.headers["set-cookie"]
    assert "max-age=31536000" in visitor.headers["strict-transport-security"]


@pytest.mark.parametrize("stripped", [True, False])
def test_behind_a_proxy_with_a_prefix(service: StudyService, stripped: bool) -> None:
    """Whether or not the proxy strips the prefix, the pages lead back through it."""
    visitor = Visitor(service, prefix="/study")
    base = "" if stripped else "/study"
    visitor.get(f"{base}/")
    assert "Path=/study" in visitor.headers["set-cookie"]
    assert 'action="/study/consent"' in visitor.text
    for path in re.findall(r'(?:href|src)="(/[^"]*)"', visitor.text):
        assert path.startswith("/study/")
    style = next(path for path in re.findall(r'href="(/[^"]*css)"', visitor.text))
    assert visitor.client.get(style if not stripped else style.removeprefix("/study")).status_code == 200
    assert visitor.send("/study/consent", {"agreed": "yes"}) == "/study/guidelines"


def test_too_large_a_body_is_refused_whether_its_length_is_told_or_not(service: StudyService) -> None:
    client = Visitor(service).client
    known = client.post("/consent", content=b"a=" + b"x" * LARGEST_BODY)
    assert known.status_code == 413
    assert "shorten" in known.text

    def pieces() -> Iterator[bytes]:
        for _ in range(LARGEST_BODY // 65536 + 2):
            yield b"x" * 65536

    unknown = client.post("/consent", content=pieces())
    assert unknown.status_code == 413
    assert "content-security-policy" in unknown.headers


@pytest.mark.parametrize("length", ["-1", "many", "１"])
def test_lengths_that_are_none(service: StudyService, length: str) -> None:
    found = Visitor(service).client.post("/consent", content=b"", headers={b"content-length": length.encode()})
    assert found.status_code == 413
