"""Who gets which items: seats are computed, and reserved, returned and reclaimed, always inside a transaction.

An arm (a condition with a set of questions) wants `raters` ratings of each of its items. Each wanted rating is a seat.
Seats are numbered: first those of the doubly annotated subset, then round after round through all items, each round in
its own order. Assigning seats in turn keeps items balanced to within one rating, and the next seat costs the same for a
thousand items as for a million. The orders are permutations by a small Feistel network (Luby and Rackoff 1988) on the
smallest square that holds the items, applied again where the result falls outside.

A participant's row is locked before any arm, and arms in the order of their numbers, so that workers cannot deadlock.
On SQLite the transaction itself is the lock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import ceil
from random import Random
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, func, or_, select, update

from vantage.collect.tables import arms, pages, participants, quota_places, returned

ROUNDS = 6
_MASK = (1 << 64) - 1


def permuted(index: int, size: int, key: str) -> int:
    """The position of a number below `size` in the order given by the key.

    >>> sorted(permuted(i, 5, "a") for i in range(5))
    [0, 1, 2, 3, 4]
    """
    if size < 2:
        return index
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    keys = _keys(key)
    while True:
        left, right = index >> half, index & mask
        for one in keys:
            left, right = right, left ^ (_mixed(right ^ one) & mask)
        index = left << half | right
        if index < size:
            return index


@lru_cache(maxsize=4096)
def _keys(key: str) -> tuple[int, ...]:
    digest = blake2b(key.encode(), digest_size=8 * ROUNDS).digest()
    return tuple(int.from_bytes(digest[i : i + 8], "little") for i in range(0, 8 * ROUNDS, 8))


def _mixed(x: int) -> int:
    """A 64-bit finaliser (Stafford 2011, variant 13): every input bit affects every output bit."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


@dataclass(frozen=True, slots=True)
class ArmAllocation:
    """The seats of one arm.

    >>> arm = ArmAllocation(rows=range(4), raters=2, seed=7, arm=0)
    >>> arm.count, sorted(arm.row(seat) for seat in range(arm.count))
    (8, [0, 0, 1, 1, 2, 2, 3, 3])
    """

    rows: Sequence[int]
    """The rows of the items that are assigned, ascending."""
    raters: int
    seed: int
    arm: int
    share: float = 0.0
    """Size of the doubly annotated subset, as a share of the items."""
    extra: int = 0
    """Additional raters for each item of the subset."""
    fixed: bool = False
    """Whether rounds follow the order of the corpus."""

    @property
    def pool(self) -> int:
        """Number of items that are assigned."""
        return len(self.rows)

    @property
    def subset(self) -> int:
        """Number of items annotated by more raters."""
        return min(self.pool, ceil(self.share * self.pool - 1e-9)) if self.extra else 0

    @property
    def count(self) -> int:
        """Number of seats."""
        return self.subset * self.extra + self.pool * self.raters

    def row(self, seat: int) -> int:
        """The row of a seat's item."""
        first = self.subset * self.extra
        if seat < first:
            turn, index = divmod(seat, self.subset)
            index = index if self.fixed else permuted(index, self.subset, f"{self.seed}:{self.arm}:double:{turn}")
            # Every arm has the same subset, so that conditions can be compared on it.
            return self.rows[permuted(index, self.pool, f"{self.seed}:subset")]
        turn, index = divmod(seat - first, self.pool)
        return self.rows[index if self.fixed else permuted(index, self.pool, f"{self.seed}:{self.arm}:{turn}")]

    def holds(self, row: int) -> bool:
        """Whether the arm has the item in a row."""
        if isinstance(self.rows, range):
            return row in self.rows
        place = bisect_left(self.rows, row)
        return place < len(self.rows) and self.rows[place] == row


SWEEP: Final = 50
"""Expired reservations handled at a time."""
WINDOW: Final = 500
"""Returned seats read at a time."""

_TAKEN = select(pages.c.row).where(pages.c.participant == bindparam("participant"), pages.c.row.is_not(None))
_RETURNED = (
    select(returned.c.seat, returned.c.row)
    .where(
        returned.c.arm == bindparam("arm"),
        returned.c.seat > bindparam("after"),
        returned.c.seat < bindparam("core"),
    )
    .order_by(returned.c.seat)
    .limit(WINDOW)
)


@dataclass(frozen=True, slots=True)
class Reserved:
    """A seat reserved for a participant."""

    arm: int
    seat: int
    row: int
    condition: str


def lock_arms(connection: Connection) -> dict[int, dict[str, Any]]:
    """All arms, locked until the end of the transaction."""
    rows = connection.execute(select(arms).order_by(arms.c.arm).with_for_update())
    return {row["arm"]: dict(row) for row in rows.mappings()}


def most_left(state: Mapping[int, Mapping[str, Any]], choices: Mapping[int, Sequence[int]], rng: Random) -> int:
    """The choice whose arms have most work left; ties are broken at random."""
    return max(choices, key=lambda one: (left([state[arm] for arm in choices[one]]), rng.random()))


def left(some: Sequence[Mapping[str, Any]]) -> float:
    """The share of the seats of some arms that nobody holds."""
    total = sum(arm["seats"] for arm in some)
    return sum(arm["seats"] - arm["next_seat"] + arm["returned"] for arm in some) / total if total else 0.0


def reserve(
    connection: Connection,
    allocations: Sequence[ArmAllocation],
    state: Mapping[int, Mapping[str, Any]],
    participant: int,
    wanted: Mapping[int, int],
    avoid: Set[int] = frozenset(),
) -> list[Reserved]:
    """Reserves the wanted number of seats per arm; where an arm has too few, the others fill up.

    Items to `avoid` are reserved only where there are not enough others.
    """
    taken = set(connection.execute(_TAKEN, {"participant": participant}).scalars())
    reserved: list[Reserved] = []
    if avoid:
        for number, count in wanted.items():
            reserved += _take(connection, allocations[number], state[number], taken | avoid, count)
            taken.update(one.row for one in reserved)
        state = lock_arms(connection)
    for number, count in wanted.items():
        missing = count - sum(one.arm == number for one in reserved)
        reserved += _take(connection, allocations[number], state[number], taken, missing)
    for number in wanted:
        if (missing := sum(wanted.values()) - len(reserved)) > 0:
            arm = lock_arms(connection)[number]
            reserved += _take(connection, allocations[number], arm, taken, missing)
    return reserved


def _take(
    connection: Connection, allocation: ArmAllocation, arm: Mapping[str, Any], taken: set[int], count: int
) -> list[Reserved]:
    """Seats of one arm for a participant who has seen the `taken` items: returned seats first, then new ones."""
    count = min(count, allocation.pool - sum(map(allocation.holds, taken)))
    if count <= 0:
        return []
    reused = _take_returned(connection, allocation.arm, arm, taken, count)
    fresh: list[Reserved] = []
    skipped: list[dict[str, int]] = []
    seat: int = arm["next_seat"]
    # A participant who has seen every item finds nothing in a whole round, nor in later ones.
    end = min(arm["seats"], seat + allocation.pool + count)
    while len(reused) + len(fresh) < count and seat < end:
        row = allocation.row(seat)
        if row in taken:
            skipped.append({"arm": allocation.arm, "seat": seat, "row": row})
        else:
            taken.add(row)
            fresh.append(Reserved(allocation.arm, seat, row, arm["condition"]))
        seat += 1
    if not fresh:
        # Nothing was reserved, so nothing counts as skipped: the seats stay new.
        seat, skipped = arm["next_seat"], []
    if skipped:
        connection.execute(returned.insert(), skipped)
    connection.execute(
        update(arms)
        .where(arms.c.arm == allocation.arm)
        .values(next_seat=seat, returned=arms.c.returned + len(skipped) - len(reused))
    )
    return reused + fresh


def _take_returned(
    connection: Connection, number: int, arm: Mapping[str, Any], taken: set[int], count: int
) -> list[Reserved]:
    reserved: list[Reserved] = []
    after, more = -1, arm["returned"] > 0
    while more and len(reserved) < count:
        window = connection.execute(_RETURNED, {"arm": number, "after": after, "core": arm["seats"]}).all()
        for seat, row in window:
            if row not in taken and len(reserved) < count:
                taken.add(row)
                reserved.append(Reserved(number, seat, row, arm["condition"]))
        more = len(window) == WINDOW
        after = window[-1].seat if window else after
    if reserved:
        chosen = and_(returned.c.arm == number, returned.c.seat.in_([one.seat for one in reserved]))
        connection.execute(returned.delete().where(chosen))
    return reserved


def release(
    connection: Connection,
    participant: int,
    states: Sequence[str],
    *,
    becomes: str | None = None,
    page: int | None = None,
) -> int:
    """Returns the seats of a participant's pages in the given states, or of one page; their number."""
    mine = and_(pages.c.participant == participant, pages.c.state.in_(states), pages.c.kind == "item")
    mine = mine if page is None else and_(mine, pages.c.id == page)
    own = and_(mine, pages.c.seat.is_not(None))
    state = lock_arms(connection)
    held = connection.execute(select(pages.c.arm, pages.c.seat, pages.c.row).where(own)).all()
    # Items that are judged once more have no seat of their own.
    changed, values = (own, {}) if becomes is None else (or_(own, and_(mine, pages.c.occasion > 0)), {"state": becomes})
    connection.execute(update(pages).where(changed).values({"seat": None, **values}))
    if not held:
        return 0
    connection.execute(returned.insert(), [{"arm": one.arm, "seat": one.seat, "row": one.row} for one in held])
    for number in sorted({one.arm for one in held}):
        # Seats beyond the core are handed out by need (see `adapting`); here they only wait to be reclaimed.
        count = sum(one.arm == number and one.seat < state[number]["seats"] for one in held)
        connection.execute(update(arms).where(arms.c.arm == number).values(returned=arms.c.returned + count))
    return len(held)


def reclaim(connection: Connection, page: int, arm: int, row: int) -> bool:
    """Reserves a seat for the item of a page that lost its own; false when others have all of them."""
    state = lock_arms(connection)
    first = select(func.min(returned.c.seat)).where(returned.c.arm == arm, returned.c.row == row)
    seat = connection.execute(first).scalar()
    if seat is None:
        return False
    connection.execute(returned.delete().where(returned.c.arm == arm, returned.c.seat == seat))
    connection.execute(
        update(arms).where(arms.c.arm == arm).values(returned=arms.c.returned - int(seat < state[arm]["seats"]))
    )
    connection.execute(update(pages).where(pages.c.id == page).values(seat=seat))
    return True


def sweep(connection: Connection, now: float) -> int:
    """Releases the open work of all expired reservations; the number of participants affected."""
    expired = select(participants.c.number).where(participants.c.lease < now).order_by(participants.c.number)
    some, swept = expired.limit(SWEEP).with_for_update(skip_locked=True), 0
    while late := connection.execute(some).scalars().all():
        for number in late:
            release(connection, number, ["open"], becomes="lapsed")
        connection.execute(update(participants).where(participants.c.number.in_(late)).values(lease=None))
        free_quotas(connection, late)
        swept += len(late)
    return swept


def take_quotas(
    connection: Connection, quotas: Mapping[str, Mapping[str, int]], participant: int, traits: Mapping[str, Any]
) -> bool:
    """Gives a participant a place in every quota that concerns them; false where one is full.

    The arms are locked first, as for every assignment, so that no quota is exceeded.
    """
    lock_arms(connection)
    own = select(quota_places.c.trait).where(quota_places.c.participant == participant)
    held = set(connection.execute(own).scalars())
    for trait, limits in quotas.items():
        value = traits.get(trait)
        if trait in held or not isinstance(value, str) or value not in limits:
            continue
        taken = select(func.count()).where(quota_places.c.trait == trait, quota_places.c.value == value)
        if connection.execute(taken).scalar_one() >= limits[value]:
            free_quotas(connection, [participant])
            return False
        connection.execute(quota_places.insert(), {"participant": participant, "trait": trait, "value": value})
    return True


def free_quotas(connection: Connection, people: Sequence[int]) -> None:
    """Frees the places in quotas of participants who left."""
    connection.execute(quota_places.delete().where(quota_places.c.participant.in_(people)))


def work_left(connection: Connection, now: float) -> bool:
    """Whether a new participant would get work."""
    free = select(arms.c.arm).where((arms.c.next_seat < arms.c.seats) | (arms.c.returned > 0)).limit(1)
    if connection.execute(free).first() is not None:
        return True
    own = (pages.c.participant == participants.c.number, pages.c.state == "open", pages.c.seat.is_not(None))
    held = select(pages.c.id).where(*own)
    late = select(participants.c.number).where(participants.c.lease < now, held.exists()).limit(1)
    return connection.execute(late).first() is not None
