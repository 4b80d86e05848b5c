from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from vantage.collect.assignment import ArmAllocation, permuted


@given(st.integers(1, 300), st.text(max_size=5))
def test_an_order_holds_every_number_once(size: int, key: str) -> None:
    assert sorted(permuted(index, size, key) for index in range(size)) == list(range(size))


def test_orders_of_two_keys_differ_and_no_place_is_preferred() -> None:
    size = 50
    firsts = Counter(permuted(0, size, f"{key}") for key in range(5000))
    assert len(firsts) == size
    # A chi-squared value with 49 degrees of freedom lies below 95 in all but one of ten thousand cases.
    assert sum((n - 100) ** 2 / 100 for n in firsts.values()) < 95


@given(
    items=st.integers(1, 60),
    raters=st.integers(1, 4),
    extra=st.integers(0, 2),
    share=st.floats(0.01, 1),
    fixed=st.booleans(),
    data=st.data(),
)
def test_seats_are_what_was_asked_for(
    items: int, raters: int, extra: int, share: float, fixed: bool, data: st.DataObject
) -> None:
    rows = sorted(data.draw(st.sets(st.integers(0, items - 1), min_size=1)))
    seats = ArmAllocation(rows, raters, seed=3, arm=1, share=share, extra=extra, fixed=fixed)
    counts = Counter(seats.row(seat) for seat in range(seats.count))
    assert set(counts) == set(rows) == {row for row in range(-1, items + 1) if seats.holds(row)}
    assert Counter(counts.values()) == Counter(
        {raters + extra: seats.subset, raters: seats.pool - seats.subset} if extra else {raters: seats.pool}
    ) - Counter({raters + extra: 0})


def test_every_round_is_balanced() -> None:
    seats = ArmAllocation(range(40), 3, seed=0, arm=0)
    for start in (0, 40, 80):
        assert len({seats.row(seat) for seat in range(start, start + 40)}) == 40
    assert [seats.row(s) for s in range(40)] != [seats.row(s) for s in range(40, 80)]


def test_the_subset_is_the_same_in_every_arm() -> None:
    first, second = (ArmAllocation(range(100), 1, seed=5, arm=arm, share=0.1, extra=1) for arm in (0, 1))
    assert {first.row(s) for s in range(10)} == {second.row(s) for s in range(10)}


def test_a_fixed_order_is_that_of_the_corpus() -> None:
    seats = ArmAllocation(range(5), 2, seed=9, arm=0, fixed=True)
    assert [seats.row(s) for s in range(10)] == [
        0,
        1,
        2,
        3,
        4,
        0,
        1,
        2,
        3,
        4,
    ]
