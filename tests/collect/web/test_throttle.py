"""Guessing passwords is slow, for one address and for many."""

from __future__ import annotations

from vantage.collect.web.throttle import Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_address_waits_after_its_tries_and_may_come_back() -> None:
    clock = Clock()
    throttle = Throttle(tries=3, seconds=60, clock=clock)
    for _ in range(3):
        assert throttle.wait("a") == 0
        throttle.failed("a")
    assert 0 < throttle.wait("a") <= 61
    assert throttle.wait("b") == 0
    clock.now += 61
    assert throttle.wait("a") == 0


def test_success_forgets_the_failures() -> None:
    throttle = Throttle(tries=2)
    throttle.failed("a")
    throttle.passed("a")
    throttle.failed("a")
    assert throttle.wait("a") == 0


def test_many_addresses_together_are_stopped_and_do_not_fill_the_memory() -> None:
    throttle = Throttle(tries=2, seconds=60, addresses=10)
    for number in range(80):
        throttle.failed(f"address {number}")
    assert throttle.wait("another") > 0
    assert len(throttle._failures) == 10
