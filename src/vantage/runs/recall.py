"""Recalling a finished part: its replies are read as a table, in the order of the plan, without writing a prompt.

Replies are read many at a time, and what is the same is worked out once: a bare answer once for all items, any other
reply once for each item that it was given to.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from operator import ne
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.raters.conversation import ROWS, Conversations, Row
from vantage.runs.faults import store_error
from vantage.runs.finished import FinishedCalls, Layout, Numbers
from vantage.runs.keys import SIZE
from vantage.runs.plan import PlanPart
from vantage.runs.store import RunStore
from vantage.runs.tables import checksum, completion_of, with_details

BLOCK: Final = 20_000
"""Replies that are read at a time."""
_DETAILED: Final = 500
_KEY: Final = 5
"""Columns of a judgment that say what it is about, before those that say what was judged."""
_SQL: Final = "SELECT key, run, checksum, finish, reply, scores FROM calls WHERE id"


def recall(
    part: PlanPart,
    finished: FinishedCalls,
    store: RunStore,
    conversations: Conversations,
    use: Callable[[Mapping[int, int]], None],
) -> list[pl.DataFrame] | None:
    """Reads the replies of a finished part; null where not all of its calls are there any more.

    Args:
        part: What was asked.
        finished: The calls.
        store: Where they are.
        conversations: What reads the replies.
        use: Told the numbers of calls, with the run that sent each.
    """
    tables: list[pl.DataFrame] = []
    digest = blake2b(digest_size=SIZE)
    reader = _Reader(part, conversations)
    for start in range(0, len(finished.calls), BLOCK):
        numbers, places = np.unique(finished.calls[start : start + BLOCK], return_inverse=True)
        rows = _rows(store, numbers)
        if len(rows) != len(numbers):
            return None
        keys, runs, checks, *columns = zip(*rows, strict=True)
        if any(map(ne, map(checksum, keys, *columns), checks)):
            raise store_error(sqlite3.DatabaseError("a reply is malformed"), store.path)
        digest.update(np.frombuffer(b"".join(keys), dtype=f"V{SIZE}")[places].tobytes())
        use(dict(zip(numbers.tolist(), runs, strict=True)))
        tables.append(reader.table(start, places, [*columns, _details(store, keys)]))
    return tables if digest.digest() == finished.keys else None


def _details(store: RunStore, keys: Sequence[bytes]) -> list[tuple[Any, ...] | None]:
    """What only some calls have, such as thinking, for each of these calls."""
    if not store.has("details"):
        return [None] * len(keys)
    details: dict[bytes, tuple[Any, ...]] = {}
    for start in range(0, len(keys), _DETAILED):
        details |= store.details(keys[start : start + _DETAILED])
    return [details.get(key) for key in keys]


def _rows(store: RunStore, numbers: Numbers) -> list[Any]:
    """Calls in the order of their numbers, which mostly follow each other without a gap."""
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first == len(numbers) - 1:
        return store.select(f"{_SQL} BETWEEN ? AND ? ORDER BY id", (first, last))
    sql = f"{_SQL} IN (SELECT value FROM json_each(?)) ORDER BY id"  # noqa: S608
    return store.select(sql, (json.dumps(numbers.tolist()),))


class _Reader:
    """Makes judgments of stored replies."""

    def __init__(self, part: PlanPart, conversations: Conversations) -> None:
        self.part, self.conversations = part, conversations
        self.layout = Layout.of(part)
        self.groups = part.groups
        self.widest = max(len(group) for group in self.groups)
        self._schema = dict(list(ROWS.items())[_KEY:])

    def table(self, start: int, places: Numbers, columns: Sequence[Sequence[Any]]) -> pl.DataFrame:
        """The judgments of consecutive requests of the plan.

        Args:
            start: The place of the first of them in the plan.
            places: Which of the calls each has.
            columns: Finishes, replies, scores and details of the calls.
        """
        items, groups, samples = self.layout.places(start + np.arange(len(places)))
        rows, which = self._read(places, items, groups, columns)
        several = self.widest
        spread = (which[:, None] * several + np.arange(several)).ravel()
        ids = [[question.id for question in group] + [None] * (several - len(group)) for group in self.groups]
        questions = pl.Series([id_ for group in ids for id_ in group], dtype=pl.String)
        asked = (groups[:, None] * several + np.arange(several)).ravel()
        frame = pl.DataFrame(rows, schema=self._schema, orient="row").select(pl.all().gather(spread))
        about = {
            "item": self.part.corpus.items["item"].gather(np.repeat(items, several)),
            "question": questions.gather(asked),
            "rater": pl.repeat(self.part.rater.id, len(frame), dtype=pl.String, eager=True),
            "condition": pl.repeat(self.part.condition, len(frame), dtype=pl.String, eager=True),
            "sample": pl.Series(np.repeat(samples, several), dtype=ROWS["sample"]),
        }
        # Narrower groups are filled up with rows that are about nothing.
        return pl.DataFrame(about).hstack(frame).drop_nulls("question")

    def _read(
        self, places: Numbers, items: Numbers, groups: Numbers, columns: Sequence[Sequence[Any]]
    ) -> tuple[list[Row], Numbers]:
        """What different replies say, question by question, and which of these each request got."""
        # Equal replies get the number of the first of them.
        first: dict[Any, int] = {}
        same = np.array([first.setdefault(one, number) for number, one in enumerate(zip(*columns, strict=True))])
        _, met, kinds = np.unique(same[places] * len(self.groups) + groups, return_index=True, return_inverse=True)
        rows: list[Row] = []

        def read(place: int) -> tuple[int, bool]:
            finish, reply, scores, details = (column[places[place]] for column in columns)
            completion = completion_of(finish, reply, scores, 0, 0)
            completion = completion if details is None else with_details(completion, *details)
            asked, number = self.groups[groups[place]], len(rows) // self.widest
            rows.extend(self.conversations.rows(completion, asked, self._item(int(items[place]))))
            rows.extend([(None,) * len(self._schema)] * (self.widest - len(asked)))
            return number, self.conversations.is_bare(completion, asked)

        bare = np.full(len(met), -1)
        own: dict[tuple[int, int], int] = {}
        for kind, place in enumerate(met.tolist()):
            number, says_the_same = read(place)
            if says_the_same:
                bare[kind] = number
            else:
                own[kind, int(items[place])] = number
        which = bare[kinds]
        for place in np.flatnonzero(which < 0).tolist():
            about = (int(kinds[place]), int(items[place]))
            if about not in own:
                own[about], _ = read(place)
            which[place] = own[about]
        return rows, which

    def _item(self, place: int) -> Mapping[str, Any]:
        return self.part.corpus.items.row(place, named=True)
