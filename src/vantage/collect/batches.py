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
from vantage.collect.assignment import ArmAllocation
from vantage.collect.blocks import Block, spaced
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import change, pages, participants


@dataclass(frozen=True, slots=True)
class Batches:
    """Creates and renews the batches of a study."""

    study: AnnotationStudy
    arms: Sequence[ArmAllocation]
    apart: Mapping[str, int]
    """The rows of the items with known answers."""
    adapting: Adapting | None = None
    """Who gets ratings beyond the core, in an adaptive study."""

    def begin(self, connection: Connection, person: Row[Any], block: Block, now: float) -> bool:
        """Reserves a batch of a block and writes its pages; false when nothing is left for this participant.

        The caller has locked the participant's row.
        """
        assignment.sweep(connection, now)
        number, batch = person.number, person.batch + 1
        rng = Random(f"{block.seed}:{number}:{batch}")  # noqa: S311 - order, not secrecy
        state = assignment.lock_arms(connection)
        again = person.question_set is not None and person.question_set in block.sets
        chosen: int = person.question_set if again else self._set(connection, state, person, block, rng)
        arm: int | None = person.arm if again else None
        if arm is None and not block.within:
            own = block.arms_of(chosen)
            arm = assignment.most_left(state, {one: [one] for one in own}, rng) if block.repeats is None else own[0]
        if block.repeats is None:
            wanted = self._wanted(block, chosen, arm, rng)
            rows = [_seated(one) for one in self._reserve(connection, state, person, wanted)]
            if block.fixed:
                rows.sort(key=lambda row: row["row"])
            else:
                rng.shuffle(rows)
        else:
            assert arm is not None  # noqa: S101 - such a block has one condition
            rows = self._repeated(connection, number, block, arm, rng)
        if not rows:
            return False
        met = set(connection.execute(select(pages.c.row).where(pages.c.participant == number)).scalars())
        met |= {row["row"] for row in rows}
        conditions = [block.condition(arm)] if arm is not None else list(block.conditions)
        for extra in self._tests(block, chosen, conditions, met, rng):
            # Never on the first page: people should get started before they are tested.
            rows.insert(rng.randint(1, len(rows)), extra)
        for position, row in enumerate(rows, 1):
            row |= {"participant": number, "batch": batch, "position": position, "state": "open", "revision": 0}
            row["question_set"] = chosen
        connection.execute(pages.insert(), rows)
        counts = {"batch": batch, "pages": len(rows), "answered": 0}
        change(connection, number, question_set=chosen, arm=arm, lease=now + self.lease, **counts)
        return True

    def _set(
        self, connection: Connection, state: Mapping[int, Any], person: Row[Any], block: Block, rng: Random
    ) -> int:
        """The set of questions of a participant: the one with most work left, or the same as before."""
        if block.repeats is None:
            return assignment.most_left(state, {one: block.arms_of(one) for one in block.sets}, rng)
        source = next(one for one in self.study.blocks if one.id == block.repeats)
        before = select(func.max(pages.c.question_set)).where(
            pages.c.participant == person.number, pages.c.question_set.in_(source.sets)
        )
        chosen = connection.execute(before).scalar()
        return block.first_set + (0 if chosen is None else chosen - source.first_set)

    def _repeated(
        self, connection: Connection, number: int, block: Block, arm: int, rng: Random
    ) -> list[dict[str, Any]]:
        """Pages for the items that the participant has judged in an earlier block, apart as far as the block says."""
        source = next(one for one in self.study.blocks if one.id == block.repeats)
        answered = (pages.c.participant == number, pages.c.state == "answered")
        judged = connection.execute(
            select(pages.c.row, pages.c.batch)
            .where(*answered, pages.c.kind == "item", pages.c.question_set.in_(source.sets))
            .order_by(pages.c.batch, pages.c.position)
        ).all()
        if not judged:
            return []
        later = select(func.count()).where(*answered, pages.c.batch > judged[-1].batch)
        between: int = connection.execute(later).scalar_one()
        rows = [row for row, _ in judged]
        order = rows if block.fixed else spaced(rows, between, block.selection.distance, rng)
        if block.selection.sample is not None:
            kept = set(rng.sample(rows, min(block.selection.sample, len(rows))))
            order = [row for row in order if row in kept]
        seen = select(pages.c.row, func.max(pages.c.occasion)).where(pages.c.participant == number)
        last = {one[0]: one[1] for one in connection.execute(seen.group_by(pages.c.row))}
        condition = block.condition(arm)
        return [_page("item", row, condition, arm=arm, occasion=last[row] + 1) for row in order]

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
            if page.occasion or assignment.reclaim(connection, page.id, page.arm, page.row):
                connection.execute(update(pages).where(pages.c.id == page.id).values(state="open"))
            else:
                lost.append(page)
        if lost:
            self._replace(connection, person, lost)
        live = select(
            func.count().label("pages"), func.count(case((pages.c.state == "answered", 1))).label("answered")
        ).where(*own, pages.c.position > 0, pages.c.state != "lapsed")
        counts = connection.execute(live).one()
        change(connection, person.number, lease=now + self.lease, pages=counts.pages, answered=counts.answered)

    def begin_again(self, connection: Connection, person: Row[Any], block: Block, now: float) -> bool:
        """Reserves an unopened batch anew, now that the participant's traits are known."""
        assignment.release(connection, person.number, ["open"], becomes="lapsed")
        connection.execute(pages.delete().where(pages.c.participant == person.number, pages.c.batch == person.batch))
        change(connection, person.number, batch=person.batch - 1)
        again = connection.execute(select(participants).where(participants.c.number == person.number)).one()
        return self.begin(connection, again, block, now)

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
        wanted: dict[int, int] = {}
        for page in lost:
            wanted[page.arm] = wanted.get(page.arm, 0) + 1
        for page in reversed(lost):  # from the end, so that the positions of the others stay
            self.drop(connection, page)
        state = assignment.lock_arms(connection)
        reserved = self._reserve(connection, state, person, wanted)
        own = (pages.c.participant == person.number, pages.c.batch == person.batch, pages.c.position > 0)
        last = connection.execute(select(func.max(pages.c.position)).where(*own)).scalar() or 0
        if reserved:
            common = {"participant": person.number, "batch": person.batch, "state": "open", "revision": 0}
            common["question_set"] = person.question_set
            rows = [_seated(one) | common | {"position": last + n} for n, one in enumerate(reserved, 1)]
            connection.execute(pages.insert(), rows)

    def drop(self, connection: Connection, page: Row[Any]) -> None:
        """Takes a page out of its batch. It stays, so that its item is not shown to this participant again."""
        connection.execute(update(pages).where(pages.c.id == page.id).values(position=-page.id))
        own = (pages.c.participant == page.participant, pages.c.batch == page.batch)
        later = select(pages.c.id, pages.c.position).where(*own, pages.c.position > page.position)
        for id_, position in connection.execute(later.order_by(pages.c.position)).all():
            connection.execute(update(pages).where(pages.c.id == id_).values(position=position - 1))

    def _wanted(self, block: Block, question_set: int, arm: int | None, rng: Random) -> dict[int, int]:
        """Items wanted per arm: all from one, or evenly from every condition."""
        if arm is not None:
            return {arm: block.size}
        numbers = block.arms_of(question_set)
        rng.shuffle(numbers)
        share, rest = divmod(block.size, len(numbers))
        return {number: share + (i < rest) for i, number in enumerate(numbers)}

    def _tests(
        self, block: Block, question_set: int, conditions: list[str], met: set[int], rng: Random
    ) -> list[dict[str, Any]]:
        """Pages of gold items that the participant has not met, and of attention checks."""
        asked, made = block.question_sets[question_set - block.first_set], []
        if (gold := block.gold_plan) is not None:
            new = [part for part in gold.items if {*asked} & {*part.accept} and self.apart[part.item] not in met]
            for part in rng.sample(new, min(gold.per_batch, len(new))):
                condition = part.condition or rng.choice(conditions)
                made.append(_page("gold", self.apart[part.item], condition, part.item))
        known = [check.id for check in block.checks.values() if check.question in asked]
        if block.attention is not None and known:
            rng.shuffle(known)
            for number in range(block.attention.per_batch):
                row = self._borrowed(block, met, rng)
                made.append(_page("attention", row, rng.choice(conditions), known[number % len(known)]))
        return made

    def _borrowed(self, block: Block, met: set[int], rng: Random) -> int | None:
        """An item to show with an attention check that the participant does not judge.

        Participants who may judge every item see an example of the instrument instead.
        """
        rows = self.arms[block.first_arm].rows
        if self.study.plan.batch.per_participant > 1 or len(self.study.blocks) > 1 or not rows:
            return None
        for _ in range(20):
            row = rows[rng.randrange(len(rows))]
            if row not in met:
                met.add(row)
                return row
        return None


def _page(kind: str, row: int | None, condition: str, check: str = "", **of_item: int) -> dict[str, Any]:
    own = {"kind": kind, "row": row, "condition": condition, "check": check}
    return {**own, "arm": None, "seat": None, "occasion": 0, **of_item}


def _seated(one: assignment.Reserved) -> dict[str, Any]:
    return _page("item", one.row, one.condition, arm=one.arm, seat=one.seat)
