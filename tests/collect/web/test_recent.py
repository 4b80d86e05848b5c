"""The dashboard computes once in a while, however many look at it."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from vantage.collect.web.recent import Recent


def test_results_are_kept_for_a_while_and_forgotten_on_demand() -> None:
    now = [0.0]
    recent, calls = Recent(10, clock=lambda: now[0]), [0]

    def compute() -> int:
        calls[0] += 1
        return calls[0]

    assert [recent.get("x", compute), recent.get("x", compute)] == [1, 1]
    now[0] = 11
    assert recent.get("x", compute) == 2
    recent.forget()
    assert recent.get("x", compute) == 3


def test_while_one_computes_the_others_get_the_last_result() -> None:
    now = [0.0]
    recent = Recent(10, clock=lambda: now[0])
    recent.get("x", lambda: "old")
    now[0] = 11
    begun, go = Event(), Event()

    def slow() -> str:
        begun.set()
        go.wait(5)
        return "new"

    thread = Thread(target=recent.get, args=("x", slow))
    thread.start()
    begun.wait(5)
    assert recent.get("x", lambda: "never") == "old"
    go.set()
    thread.join(5)
    assert recent.get("x", lambda: "never") == "new"


def test_a_failure_is_told_and_not_kept() -> None:
    recent = Recent(10)
    with pytest.raises(ZeroDivisionError):
        recent.get("x", lambda: 1 // 0)
    assert recent.get("x", lambda: 7) == 7
