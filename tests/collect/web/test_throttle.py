"""Guessing passwords is slow, for one address and for many, and locks nobody out who was here before."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.collect.web.studies import study_service
from vantage.collect.private import PrivateStore
from vantage.collect.service import StudyService
from vantage.collect.web.throttle import Throttle


@pytest.fixture
def store(tmp_path: Path) -> PrivateStore:
    return study_service(tmp_path).database.private


def test_an_address_waits_after_its_tries_and_may_come_back(store: PrivateStore) -> None:
    throttle = Throttle(store, tries=3, seconds=60)
    for _ in range(3):
        assert throttle.wait("a") == 0
        throttle.failed("a")
    assert 0 < throttle.wait("a") <= 61
    assert throttle.wait("b") == 0
    assert Throttle(store, tries=3, seconds=60, clock=lambda: time.time() + 61).wait("a") == 0


def test_success_forgets_the_failures(store: PrivateStore) -> None:
    throttle = Throttle(store, tries=2)
    throttle.failed("a")
    throttle.passed("a")
    throttle.failed("a")
    assert throttle.wait("a") == 0


def test_many_addresses_together_are_stopped_but_not_a_browser_that_is_known(store: PrivateStore) -> None:
    throttle = Throttle(store, tries=2, seconds=60)
    for number in range(80):
        throttle.failed(f"address {number}")
    assert throttle.wait("another") > 0
    assert throttle.wait("another", "a known browser") == 0
    for _ in range(2):
        throttle.failed("another", "a known browser")
    assert throttle.wait("another", "a known browser") > 0


def test_failures_are_counted_by_all_workers_and_a_new_password_forgets_them(
    tmp_path: Path, store: PrivateStore
) -> None:
    service = study_service(tmp_path / "again")
    other = StudyService(service.study)
    one, two = Throttle(service.database.private, tries=2), Throttle(other.database.private, tries=2)
    one.failed("a")
    two.failed("a")
    assert one.wait("a") > 0
    assert two.wait("a") > 0
    other.researchers.set_password("correct horse")
    assert one.wait("a") == 0
    other.close()
