"""Whatever goes wrong ends in a page for the visitor and one line for the operator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tests.collect.web.studies import Visitor, study_service
from vantage.collect.web.visit import PageError, fields


@given(st.binary(max_size=60))
def test_any_body_is_a_form_or_a_trouble(body: bytes) -> None:
    try:
        found = fields(body, "application/x-www-form-urlencoded")
    except PageError as trouble:
        assert trouble.status == 400
    else:
        assert all(values for values in found.values())


@settings(max_examples=5)
@given(st.sampled_from(["multipart/form-data; boundary=x", "application/json", ""]))
def test_other_kinds_of_content_are_refused(kind: str) -> None:
    with pytest.raises(PageError) as error:
        fields(b"a=1", kind)
    assert error.value.status == 415


def test_too_many_fields() -> None:
    with pytest.raises(PageError):
        fields(b"&".join(b"a=1" for _ in range(1001)), "application/x-www-form-urlencoded")


def test_a_failure_has_a_reference_on_the_page_and_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = study_service(tmp_path)
    ann = Visitor(service)
    ann.begin()

    def broken(*_: object, **__: object) -> object:
        raise OSError("disk\nfull\x1b[31m")

    monkeypatch.setattr(service.participants, "submit", broken)
    ann.answer()
    assert ann.status == 500
    assert "The answers you saved are safe" in ann.text
    assert "disk" not in ann.text
    (line,) = caplog.messages
    assert "\n" not in line
    assert "\x1b" not in line
    assert "OSError: disk full" in line
    assert line.split("reference ")[1][:8] in ann.text


def test_unknown_addresses_and_methods(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ann = Visitor(study_service(tmp_path))
    ann.get("/nowhere/<script>")
    assert ann.status == 404
    assert "Page not found" in ann.text
    assert "<script>" not in ann.text
    ann.send("/end")
    assert ann.status == 405
    ann.get("/more")
    assert ann.status == 405
    assert len(caplog.messages) == 3
    found = ann.client.post("/consent", json={"agreed": "yes"})
    assert found.status_code == 415


@pytest.mark.parametrize("error", [OperationalError("", {}, Exception()), PoolTimeout()])
def test_a_database_that_is_down_is_said_with_when_to_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    service = study_service(tmp_path)
    ann = Visitor(service)
    ann.begin()

    def down(*_: object) -> None:
        raise error

    monkeypatch.setattr(service.participants, "step", down)
    response = ann.client.get("/guidelines")
    assert (response.status_code, response.headers["retry-after"]) == (503, "30")
    assert "The answers you saved are safe." in response.text
