"""Which item the next rating of an arm belongs to, computed instead of stored.

An arm (a condition with a set of questions) wants `raters` ratings of each of its items. Each wanted rating is a seat.
Seats are numbered: first those of the doubly annotated subset, then round after round through all items, each round in
its own order. Assigning seats in turn keeps items balanced to within one rating, and the next seat costs the same for a
thousand items as for a million. The orders are permutations by a small Feistel network (Luby and Rackoff 1988) on the
smallest square that holds the items, applied again where the result falls outside.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import ceil

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
