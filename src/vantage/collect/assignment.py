"""Who gets which items: seats are reserved, given back and taken up again, always inside a transaction.

A participant's row is locked before any arm, and arms in the order of their numbers, so that two workers never
wait for each other. On SQLite the transaction itself is the lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, func, select, update

from vantage.collect.seats import Seats
from vantage.collect.tables import arms, pages, participants, returned

SWEEP: Final = 50
"""How many abandoned participants are looked at in one go."""
WINDOW: Final = 500
"""How many returned seats are looked at in one go."""

_TAKEN = select(pages.c.row).where(pages.c.participant == bindparam("participant"), pages.c.row.is_not(None))
_RETURNED = (
    select(returned.c.seat, returned.c.row)
    .where(returned.c.arm == bindparam("arm"), returned.c.seat > bindparam("after"))
    .order_by(returned.c.seat)
    .limit(WINDOW)
)


@dataclass(frozen=True, slots=True)
class Reserved:
    """A seat that now belongs to somebody."""

    arm: int
    seat: int
    row: int
    condition: str


def lock_arms(connection: Connection) -> dict[int, dict[str, Any]]:
    """All arms, locked until the end of the transaction."""
    found = connection.execute(select(arms).order_by(arms.c.arm).with_for_update())
    return {row["arm"]: dict(row) for row in found.mappings()}


def choose_set(state: Mapping[int, Mapping[str, Any]], rng: Random) -> int:
    """The set of questions of which most is left to do; among equals, chance decides."""
    sets: set[int] = {arm["question_set"] for arm in state.values()}
    return max(
        sorted(sets), key=lambda one: (_left([a for a in state.values() if a["question_set"] == one]), rng.random())
    )


def choose_arm(state: Mapping[int, Mapping[str, Any]], question_set: int, rng: Random) -> int:
    """The condition of which most is left to do; among equals, chance decides."""
    mine = [arm for arm in state.values() if arm["question_set"] == question_set]
    chosen: int = max(mine, key=lambda arm: (_left([arm]), rng.random()))["arm"]
    return chosen


def _left(some: Sequence[Mapping[str, Any]]) -> float:
    total = sum(arm["seats"] for arm in some)
    return sum(arm["seats"] - arm["next_seat"] + arm["returned"] for arm in some) / total if total else 0.0


def reserve(
    connection: Connection,
    seats: Sequence[Seats],
    state: Mapping[int, Mapping[str, Any]],
    participant: int,
    wanted: Mapping[int, int],
) -> list[Reserved]:
    """Reserves so many seats in each arm; where one has too few for this person, the others make up for it."""
    taken = set(connection.execute(_TAKEN, {"participant": participant}).scalars())
    found: list[Reserved] = []
    for number, count in wanted.items():
        found += _take(connection, seats[number], state[number], taken, count)
    missing = sum(wanted.values()) - len(found)
    for number in wanted:
        if missing > 0:
            state = lock_arms(connection)
            more = _take(connection, seats[number], state[number], taken, missing)
            missing -= len(more)
            found += more
    return found


def _take(connection: Connection, seats: Seats, arm: Mapping[str, Any], taken: set[int], count: int) -> list[Reserved]:
    """Seats of one arm for somebody who has met the `taken` items: first those given back, then new ones."""
    count = min(count, seats.pool - len(taken.difference(seats.apart)))
    if count <= 0:
        return []
    found = _take_returned(connection, seats.arm, arm, taken, count)
    fresh: list[Reserved] = []
    passed: list[dict[str, int]] = []
    seat: int = arm["next_seat"]
    # Whoever has met every item finds nothing in a whole round, and nothing later either.
    end = min(arm["seats"], seat + seats.pool + count)
    while len(found) + len(fresh) < count and seat < end:
        row = seats.row(seat)
        if row in taken:
            passed.append({"arm": seats.arm, "seat": seat, "row": row})
        else:
            taken.add(row)
            fresh.append(Reserved(seats.arm, seat, row, arm["condition"]))
        seat += 1
    if not fresh:
        # Nothing was found, so nothing is passed over: the seats stay new.
        seat, passed = arm["next_seat"], []
    if passed:
        connection.execute(returned.insert(), passed)
    connection.execute(
        update(arms)
        .where(arms.c.arm == seats.arm)
        .values(next_seat=seat, returned=arms.c.returned + len(passed) - len(found))
    )
    return found + fresh


def _take_returned(
    connection: Connection, number: int, arm: Mapping[str, Any], taken: set[int], count: int
) -> list[Reserved]:
    found: list[Reserved] = []
    after, more = -1, arm["returned"] > 0
    while more and len(found) < count:
        window = connection.execute(_RETURNED, {"arm": number, "after": after}).all()
        for seat, row in window:
            if row not in taken and len(found) < count:
                taken.add(row)
                found.append(Reserved(number, seat, row, arm["condition"]))
        more = len(window) == WINDOW
        after = window[-1].seat if window else after
    if found:
        chosen = and_(returned.c.arm == number, returned.c.seat.in_([one.seat for one in found]))
        connection.execute(returned.delete().where(chosen))
    return found


def release(connection: Connection, participant: int, states: Sequence[str], *, becomes: str | None = None) -> int:
    """Gives back the seats of somebody's pages that are in one of these states; how many there were."""
    mine = and_(pages.c.participant == participant, pages.c.state.in_(states), pages.c.seat.is_not(None))
    lock_arms(connection)
    held = connection.execute(select(pages.c.arm, pages.c.seat, pages.c.row).where(mine)).all()
    if not held:
        return 0
    values: dict[str, Any] = {"seat": None} if becomes is None else {"seat": None, "state": becomes}
    connection.execute(update(pages).where(mine).values(values))
    connection.execute(returned.insert(), [{"arm": arm, "seat": seat, "row": row} for arm, seat, row in held])
    for number in sorted({arm for arm, _, _ in held}):
        count = sum(arm == number for arm, _, _ in held)
        connection.execute(update(arms).where(arms.c.arm == number).values(returned=arms.c.returned + count))
    return len(held)


def reclaim(connection: Connection, page: int, arm: int, row: int) -> bool:
    """Takes a seat for an item that a page lost; false when others have all of them by now."""
    lock_arms(connection)
    seat = connection.execute(
        select(func.min(returned.c.seat)).where(returned.c.arm == arm, returned.c.row == row)
    ).scalar()
    if seat is None:
        return False
    connection.execute(returned.delete().where(returned.c.arm == arm, returned.c.seat == seat))
    connection.execute(update(arms).where(arms.c.arm == arm).values(returned=arms.c.returned - 1))
    connection.execute(update(pages).where(pages.c.id == page).values(seat=seat))
    return True


def sweep(connection: Connection, now: float) -> int:
    """Gives to others the open work of everybody whose time has run out; how many people that were."""
    swept = 0
    while True:
        late = (
            connection.execute(
                select(participants.c.number)
                .where(participants.c.lease < now)
                .order_by(participants.c.number)
                .limit(SWEEP)
                .with_for_update(skip_locked=True)
            )
            .scalars()
            .all()
        )
        if not late:
            return swept
        for number in late:
            release(connection, number, ["open"], becomes="lapsed")
        connection.execute(update(participants).where(participants.c.number.in_(late)).values(lease=None))
        swept += len(late)


def work_left(connection: Connection, now: float) -> bool:
    """Whether a new participant would find something to do."""
    new = connection.execute(
        select(arms.c.arm).where((arms.c.next_seat < arms.c.seats) | (arms.c.returned > 0)).limit(1)
    ).first()
    if new is not None:
        return True
    held = select(pages.c.id).where(pages.c.participant == participants.c.number, pages.c.state == "open")
    late = select(participants.c.number).where(participants.c.lease < now, held.exists()).limit(1)
    return connection.execute(late).first() is not None
