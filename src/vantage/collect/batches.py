"""A participant's batch: reserved items mixed with attention checks and gold items, in the participant's own order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from sqlalchemy import Connection, case, func, select, update
from sqlalchemy.engine import Row

from vantage.collect import assignment
from vantage.collect.adapting import Adapting
from vantage.collect.allocation import ArmAllocation
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import pages, participants


@dataclass(frozen=True, slots=True)
class Batches:
    """Creates and renews the batches of a study."""

    study: AnnotationStudy
    arms: Sequence[ArmAllocation]
    gold: Mapping[str, int]
    """The rows of the gold items."""
    adapting: Adapting | None = None
    """Who gets ratings beyond the core, in an adaptive study."""

    def begin(self, connection: Connection, person: Row[Any], now: float) -> bool:
        """Reserves a batch and writes its pages; false when nothing is left for this participant.

        The caller has locked the participant's row.
        """
        assignment.sweep(connection, now)
        number, batch = person.number, person.batch + 1
        rng = Random(f"{self.study.plan.order.seed}:{number}:{batch}")  # noqa: S311 - order, not secrecy
        state = assignment.lock_arms(connection)
        chosen = person.question_set
        if chosen is None:
            chosen = assignment.choose_set(state, rng)
        arm = person.arm
        if arm is None and not self.study.within:
            arm = assignment.choose_arm(state, chosen, rng)
        wanted = self._wanted(chosen, arm, self.study.plan.batch.size, rng)
        reserved = self._reserve(connection, state, person, wanted)
        if not reserved:
            return False
        rows = [_page(one) for one in reserved]
        if self.study.plan.order.items == "fixed":
            rows.sort(key=lambda row: row["row"])
        else:
            rng.shuffle(rows)
        met = set(connection.execute(select(pages.c.row).where(pages.c.participant == number)).scalars())
        met |= {row["row"] for row in rows}
        conditions = [self.study.condition(arm)] if arm is not None else list(self.study.conditions)
        for extra in [*self._golds(chosen, conditions, met, rng), *self._checks(chosen, conditions, met, rng)]:
            # Never on the first page: people should get started before they are tested.
            rows.insert(rng.randint(1, len(rows)), extra)
        for position, row in enumerate(rows, 1):
            row |= {"participant": number, "batch": batch, "position": position, "state": "open", "revision": 0}
        connection.execute(pages.insert(), rows)
        connection.execute(
            update(participants)
            .where(participants.c.number == number)
            .values(question_set=chosen, arm=arm, batch=batch, pages=len(rows), answered=0, lease=now + self.lease)
        )
        return True

    def renew(self, connection: Connection, person: Row[Any], now: float) -> None:
        """Reserves work again after a reservation expired: the same items where nobody else has them.

        Items that others have are replaced by new ones at the end. The caller has locked the participant's row.
        """
        own = (pages.c.participant == person.number, pages.c.batch == person.batch)
        gone = select(pages).where(*own, pages.c.state == "lapsed", pages.c.position > 0).order_by(pages.c.position)
        lapsed = connection.execute(gone).all()
        assignment.sweep(connection, now)
        lost = []
        for page in lapsed:
            if assignment.reclaim(connection, page.id, page.arm, page.row):
                connection.execute(update(pages).where(pages.c.id == page.id).values(state="open"))
            else:
                lost.append(page)
        if lost:
            self._replace(connection, person, lost)
        live = select(
            func.count().label("pages"), func.count(case((pages.c.state == "answered", 1))).label("answered")
        ).where(*own, pages.c.position > 0, pages.c.state != "lapsed")
        counts = connection.execute(live).one()
        connection.execute(
            update(participants)
            .where(participants.c.number == person.number)
            .values(lease=now + self.lease, pages=counts.pages, answered=counts.answered)
        )

    def begin_again(self, connection: Connection, person: Row[Any], now: float) -> bool:
        """Reserves an unopened batch anew, now that the participant's traits are known."""
        assignment.release(connection, person.number, ["open"], becomes="lapsed")
        connection.execute(pages.delete().where(pages.c.participant == person.number, pages.c.batch == person.batch))
        own = participants.c.number == person.number
        connection.execute(update(participants).where(own).values(batch=person.batch - 1))
        again = connection.execute(select(participants).where(own)).one()
        return self.begin(connection, again, now)

    def work_left(self, connection: Connection, now: float) -> bool:
        """Whether a new participant would get work."""
        if self.adapting is not None and self.adapting.enough(connection):
            return False
        return assignment.work_left(connection, now) or (
            self.adapting is not None and self.adapting.work_left(connection)
        )

    def _reserve(
        self,
        connection: Connection,
        state: Mapping[int, Mapping[str, Any]],
        person: Row[Any],
        wanted: Mapping[int, int],
    ) -> list[assignment.Reserved]:
        """Seats of the core, then of an adaptive study's open items."""
        if self.adapting is None:
            return assignment.reserve(connection, self.arms, state, person.number, wanted)
        if self.adapting.enough(connection):
            return []
        avoid = self.adapting.avoid(connection, person, wanted)
        reserved = assignment.reserve(connection, self.arms, state, person.number, wanted, avoid)
        return reserved + self.adapting.reserve(connection, person, wanted, reserved)

    @property
    def lease(self) -> float:
        """Seconds for which work is reserved."""
        return self.study.plan.reserve_minutes * 60

    def _replace(self, connection: Connection, person: Row[Any], lost: Sequence[Row[Any]]) -> None:
        """Replaces lost items by new ones, and closes the gaps that remain."""
        wanted: dict[int, int] = {}
        for page in lost:
            wanted[page.arm] = wanted.get(page.arm, 0) + 1
            # Lost pages stay, outside the batch, so that their items are not shown to this participant again.
            connection.execute(update(pages).where(pages.c.id == page.id).values(position=-page.id))
        state = assignment.lock_arms(connection)
        reserved = self._reserve(connection, state, person, wanted)
        own = (pages.c.participant == person.number, pages.c.batch == person.batch, pages.c.position > 0)
        last = connection.execute(select(func.max(pages.c.position)).where(*own)).scalar() or 0
        if reserved:
            common = {"participant": person.number, "batch": person.batch, "state": "open", "revision": 0}
            rows = [_page(one) | common | {"position": last + n} for n, one in enumerate(reserved, 1)]
            connection.execute(pages.insert(), rows)
        kept = connection.execute(select(pages.c.id, pages.c.position).where(*own).order_by(pages.c.position)).all()
        for position, (id_, before) in enumerate(kept, 1):
            if position != before:
                connection.execute(update(pages).where(pages.c.id == id_).values(position=position))

    def _wanted(self, question_set: int, arm: int | None, size: int, rng: Random) -> dict[int, int]:
        """Items wanted per arm: all from one, or evenly from every condition."""
        if arm is not None:
            return {arm: size}
        count = len(self.study.conditions)
        numbers = [question_set * count + i for i in range(count)]
        rng.shuffle(numbers)
        share, rest = divmod(size, count)
        return {number: share + (i < rest) for i, number in enumerate(numbers)}

    def _golds(self, question_set: int, conditions: list[str], met: set[int], rng: Random) -> list[dict[str, Any]]:
        if self.study.plan.gold is None:
            return []
        asked = set(self.study.question_sets[question_set])
        known = [part for part in self.study.plan.gold.items if asked & set(part.accept)]
        new = [part for part in known if self.gold[part.item] not in met]
        chosen = rng.sample(new, min(self.study.plan.gold.per_batch, len(new)))
        return [
            _page(None, "gold", self.gold[part.item], part.condition or rng.choice(conditions), part.item)
            for part in chosen
        ]

    def _checks(self, question_set: int, conditions: list[str], met: set[int], rng: Random) -> list[dict[str, Any]]:
        plan, asked = self.study.plan.attention, self.study.question_sets[question_set]
        known = [check.id for check in self.study.checks.values() if check.question in asked]
        if plan is None or not known:
            return []
        rng.shuffle(known)
        chosen = [known[i % len(known)] for i in range(plan.per_batch)]
        return [_page(None, "attention", self._borrowed(met, rng), rng.choice(conditions), id_) for id_ in chosen]

    def _borrowed(self, met: set[int], rng: Random) -> int | None:
        """An item to show with an attention check that the participant does not judge.

        Participants who may judge every item see an example of the instrument instead.
        """
        if self.study.plan.batch.per_participant > 1:
            return None
        gold = set(self.arms[0].gold)
        for _ in range(20):
            row = rng.randrange(self.arms[0].items)
            if row not in met and row not in gold:
                met.add(row)
                return row
        return None


def _page(
    reserved: assignment.Reserved | None,
    kind: str = "item",
    row: int | None = None,
    condition: str = "",
    check: str = "",
) -> dict[str, Any]:
    if reserved is not None:
        row, condition = reserved.row, reserved.condition
    return {
        "kind": kind,
        "row": row,
        "condition": condition,
        "check": check,
        "arm": reserved.arm if reserved else None,
        "seat": reserved.seat if reserved else None,
    }
