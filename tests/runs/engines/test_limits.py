from __future__ import annotations

import asyncio
import random
import time

from hypothesis import given
from hypothesis import strategies as st

from vantage.runs.engines.local import LONGEST_WAIT, AdaptiveLimiter, PerMinute, back_off


@given(st.integers(1, 1000), st.integers())
def test_waits_are_bounded_and_grow(tries: int, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    assert 0 <= back_off(tries, draw) <= min(LONGEST_WAIT, 0.5 * 2 ** min(tries - 1, 30))


def test_waits_are_spread_over_the_whole_range() -> None:
    draw = random.Random(3)  # noqa: S311
    waits = [back_off(3, draw) for _ in range(2000)]
    assert min(waits) < 0.05
    assert max(waits) > 1.95
    assert abs(sum(waits) / 2000 - 1.0) < 0.05


def test_no_more_than_the_limit_are_inside() -> None:
    async def cross() -> int:
        limiter, inside, most = AdaptiveLimiter(3), 0, 0

        async def one() -> None:
            nonlocal inside, most
            await limiter.enter()
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1
            limiter.leave()

        await asyncio.gather(*(one() for _ in range(30)))
        return most

    assert asyncio.run(cross()) == 3


def test_an_overload_halves_the_limit_once_and_success_brings_it_back() -> None:
    limiter = AdaptiveLimiter(16)
    since = time.monotonic()
    for _ in range(5):
        limiter.overloaded(since, None)
    assert limiter.limit == 8
    limiter.overloaded(time.monotonic() + 1, None)
    assert limiter.limit == 4
    rounds = 0
    while limiter.limit < 16:
        limiter.went_well()
        rounds += 1
    # One more place for every round of as many requests as there are places: 4 + 5 + … + 15.
    assert 100 < rounds < 140
    for n in range(20):
        limiter.overloaded(time.monotonic() + 2 + n, None)
    assert limiter.limit == 1


def test_the_gate_stays_closed_for_as_long_as_the_server_asks() -> None:
    async def cross() -> float:
        limiter = AdaptiveLimiter(2)
        start = time.monotonic()
        limiter.overloaded(start, 0.2)
        await limiter.enter()
        return time.monotonic() - start

    assert asyncio.run(cross()) >= 0.19


def test_a_minute_is_shared_out_evenly() -> None:
    async def spend() -> float:
        limited, start = PerMinute(6000), time.monotonic()
        await asyncio.gather(*(limited.spend(1) for _ in range(130)))
        return time.monotonic() - start

    # A second's worth, a hundred, may come at once.
    assert 0.2 < asyncio.run(spend()) < 2.0


def test_without_a_limit_nothing_waits() -> None:
    start = time.monotonic()
    asyncio.run(PerMinute(None).spend(1e9))
    assert time.monotonic() - start < 1
