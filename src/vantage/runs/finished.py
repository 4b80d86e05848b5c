"""Finished parts: a finished part of a plan is recorded, so that its prompts need not be rebuilt.

To find out by planning that nothing is open, every prompt must be written and its call looked up. A part that has
ended leaves a fingerprint of everything that its requests are made of and the numbers of its calls in the order of
the plan. Whoever comes with the same fingerprint reads these calls; with any other, the plan is gone through.

Replies are read as tables, and what is the same is worked out once: a bare answer once for all items, any other reply
once for each item that it was given to.
"""

from __future__ import annotations

import io
import json
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from operator import ne
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage._version import __version__
from vantage.raters.conversation import ROWS, Conversations, Row
from vantage.runs.keys import FORMAT, INDIFFERENT, SIZE, Keys, described
from vantage.runs.plan import PlanPart
from vantage.runs.store import RunStore
from vantage.runs.tables import StoreError, among, checksum, completion_of, store_error

Numbers: TypeAlias = NDArray[np.int64]

_ELSEWHERE: Final = INDIFFERENT - {"window"}
"""Settings that say only where and how a model runs; the window may cut prompts."""
_SLICE: Final = 50_000
_TRIED: Final = 16
"""Items whose requests are written anew to see that they still are what was asked."""
BLOCK: Final = 20_000
"""Replies that are read at a time."""
_KEY: Final = 5
"""Columns of a judgment that say what it is about, before those that say what was judged."""
_SQL: Final = "SELECT key, run, checksum, finish, reply, scores FROM calls WHERE id"


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of a part's requests: which item, which group of questions and which sample each is about."""

    items: int
    groups: int
    samples: int
    by_group: bool
    """Whether one group comes after the other, as when options are scored, and not one item after the other."""

    @classmethod
    def of(cls, part: PlanPart) -> Layout:
        """That of the requests that a part would send if nothing were done."""
        return cls(len(part.corpus.items), len(part.groups), part.rater.repetitions, part.rater.parts.scoring)

    def places(self, orders: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Item, group and sample of the requests at these places of the plan."""
        if self.by_group:
            each = self.items * self.samples
            return orders % each // self.samples, orders // each, orders % self.samples
        each = self.groups * self.samples
        return orders // each, orders % each // self.samples, orders % self.samples


class FinishedParts:
    """The parts of plans that a store knows to be finished."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._contents: dict[int, tuple[pl.DataFrame, bytes]] = {}

    def recall(
        self, part: PlanPart, keys: Keys, conversations: Conversations, use: Callable[[Mapping[int, int]], None]
    ) -> list[pl.DataFrame] | None:
        """The judgments of a part that was finished before, unless anything has changed since.

        `use` is told the numbers of calls, with the run that sent each.
        """
        if not self._store.select("SELECT 1 FROM finished LIMIT 1") or (known := self.fingerprint(part)) is None:
            return None
        sql = "SELECT calls, keys FROM finished WHERE fingerprint = ? ORDER BY run DESC LIMIT 1"
        for stored, digest in self._store.select(sql, (known,)):
            calls = _unpacked(stored, part.size)
            if calls is not None and self._still(part, keys, conversations, calls):
                return self._read(_Reader(part, conversations), calls, digest, use)
        return None

    def _read(
        self, reader: _Reader, calls: Numbers, keys_digest: bytes, use: Callable[[Mapping[int, int]], None]
    ) -> list[pl.DataFrame] | None:
        """What the calls of a part say; null where not all of them are there any more."""
        tables: list[pl.DataFrame] = []
        digest = blake2b(digest_size=SIZE)
        for start in range(0, len(calls), BLOCK):
            numbers, places = np.unique(calls[start : start + BLOCK], return_inverse=True)
            rows = self._rows(numbers)
            if len(rows) != len(numbers):
                return None
            keys, runs, checks, *columns = zip(*rows, strict=True)
            if any(map(ne, map(checksum, keys, *columns), checks)):
                raise store_error(sqlite3.DatabaseError("a reply is malformed"), self._store.path)
            digest.update(np.frombuffer(b"".join(keys), dtype=f"V{SIZE}")[places].tobytes())
            use(dict(zip(numbers.tolist(), runs, strict=True)))
            # What only some calls have, such as thinking.
            details = self._store.details(keys)
            tables.append(reader.table(start, places, [*columns, [details.get(key) for key in keys]]))
        return tables if digest.digest() == keys_digest else None

    def _rows(self, numbers: Numbers) -> list[Any]:
        """Calls in the order of their numbers, which mostly follow each other without a gap."""
        first, last = int(numbers[0]), int(numbers[-1])
        if last - first == len(numbers) - 1:
            return self._store.select(f"{_SQL} BETWEEN ? AND ? ORDER BY id", (first, last))
        sql = f"{_SQL} IN (SELECT value FROM json_each(?)) ORDER BY id"  # noqa: S608
        return self._store.select(sql, (json.dumps(numbers.tolist()),))

    def note(self, run: int, number: int, part: PlanPart, keys: pl.Series) -> None:
        """Records that a part, by its number in the run, is finished; `keys` are in the order of the plan.

        Only answers count: where a call has failed, nothing is written.
        """
        known = self.fingerprint(part) if len(keys) == part.size else None
        calls = None if known is None else self._numbers(keys)
        if calls is None:
            return
        digest = blake2b(digest_size=SIZE)
        for start in range(0, len(keys), _SLICE):
            digest.update(b"".join(keys.slice(start, _SLICE).to_list()))
        row = (run, number, known, zlib.compress(np.diff(calls, prepend=0).tobytes(), 1), digest.digest())
        # It only saves time later; that a store cannot be written is told by what has to be written.
        with suppress(StoreError):
            self._store.change("INSERT OR REPLACE INTO finished VALUES (?, ?, ?, ?, ?)", row)

    def fingerprint(self, part: PlanPart) -> bytes | None:
        """What all requests of a part are made of; null where they depend on replies or cannot be told beforehand.

        Prompts are written from the instrument, the style, the voice, the examples and the items. A conversation of
        several turns depends on what was replied, and a history on judgments and on a function of the caller's. With a
        design, requests differ from sample to sample.
        """
        rater, style = part.rater, part.rater.parts
        turns = style.two_step or style.sampling or (style.scoring and style.reasoning)
        if (
            rater.design
            or turns
            or style.voice in ("selective-persona", "history")
            or len(set(part.asked)) < len(part.asked)
        ):
            return None
        facts: dict[str, Any] = {
            "vantage": __version__,
            "key": FORMAT,
            **described(rater),
            "settings": {name: rater.settings[name] for name in rater.settings if name not in _ELSEWHERE},
            "window": None if isinstance(rater.model, str) else rater.model.window,
            "voice": rater.prompter(part.corpus, part.used, part.condition).voice,
            "instrument": part.used.document,
            "questions": part.asked,
            "condition": part.condition,
        }
        digest = blake2b(json.dumps(facts, sort_keys=True, default=str).encode(), digest_size=SIZE)
        tables = [part.corpus.items]
        if style.shots and rater.training is not None:
            tables += [rater.training.items, rater.training.raters, rater.training.judgments]
        try:
            for table in tables:
                digest.update(self._content(table))
        except pl.exceptions.PolarsError:
            # A column of a kind that no file can hold.
            return None
        return digest.digest()

    def _still(self, part: PlanPart, keys: Keys, conversations: Conversations, calls: Numbers) -> bool:
        """Whether requests about some items, written anew, are the ones that were asked: code may change as well."""
        items, (of_item, _, _) = part.corpus.items, Layout.of(part).places(np.arange(len(calls)))
        for place in sorted({int(place) for place in np.linspace(0, len(items) - 1, _TRIED)}) if len(items) else ():
            planned = part.rater.plan(
                part.corpus, part.used, questions=part.asked, condition=part.condition, items=items[place : place + 1]
            )
            numbers = calls[of_item == place].tolist()
            stored = dict(among(self._store.select, "SELECT id, key FROM calls WHERE id IN ({})", numbers))
            asked = [keys.call(next(conversations.about(call))).key for call in planned]
            if asked != [stored.get(number) for number in numbers]:
                return False
        return True

    def _numbers(self, keys: pl.Series) -> Numbers | None:
        """The numbers of calls by their keys, unless one of them was not answered."""
        numbers = np.empty(len(keys), dtype=np.int64)
        for start in range(0, len(keys), _SLICE):
            part = keys.slice(start, _SLICE).to_list()
            known = dict(among(self._store.select, "SELECT key, id FROM calls WHERE key IN ({})", part))
            if any(key not in known for key in part):
                return None
            numbers[start : start + len(part)] = [known[key] for key in part]
        return numbers

    def _content(self, table: pl.DataFrame) -> bytes:
        """A fingerprint of a table, worked out once for all raters that judge it."""
        # The table is held along, since its number would be another's once it is gone.
        if id(table) not in self._contents:
            self._contents[id(table)] = (table, content(table))
        return self._contents[id(table)][1]


def content(table: pl.DataFrame) -> bytes:
    """A fingerprint of a table's columns and rows, the same however they lie in memory.

    >>> one = pl.DataFrame({"item": ["a", "b"]})
    >>> content(one) == content(pl.concat([one[:1], one[1:]])), content(one) == content(one[:1])
    (True, False)
    """
    digest = blake2b(json.dumps({name: str(kind) for name, kind in table.schema.items()}).encode(), digest_size=SIZE)
    for start in range(0, len(table), _SLICE):
        written = io.BytesIO()
        table.slice(start, _SLICE).rechunk().write_ipc(written, compat_level=pl.CompatLevel.oldest())
        digest.update(written.getbuffer())
    return digest.digest()


def _unpacked(stored: bytes, size: int) -> Numbers | None:
    """The numbers of so many calls, unless it is not they that are stored."""
    with suppress(zlib.error, ValueError):
        steps = np.frombuffer(zlib.decompressobj().decompress(stored, 8 * size + 8), dtype=np.int64)
        return np.cumsum(steps, dtype=np.int64) if len(steps) == size else None
    return None


class _Reader:
    def __init__(self, part: PlanPart, conversations: Conversations) -> None:
        self.part, self.conversations = part, conversations
        self.layout = Layout.of(part)
        self.groups = part.groups
        self.widest = max(len(group) for group in self.groups)
        self._schema = dict(list(ROWS.items())[_KEY:])

    def table(self, start: int, places: Numbers, columns: Sequence[Sequence[Any]]) -> pl.DataFrame:
        """The judgments of consecutive requests, the first of which has the place `start` in the plan.

        `places` says which of the calls each has; `columns` are finishes, replies, scores and details of the calls.
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
        # Equal replies have the number of the first of them.
        first: dict[Any, int] = {}
        same = [first.setdefault(one, number) for number, one in enumerate(zip(*columns, strict=True))]
        rows: list[Row] = []
        known: dict[tuple[int, ...], int] = {}
        which: list[int] = []
        for place, item, group in zip(places.tolist(), items.tolist(), groups.tolist(), strict=True):
            kind = (same[place], group)
            number = known.get(kind, known.get((*kind, item), -1))
            if number < 0:
                finish, reply, scores, details = (column[place] for column in columns)
                completion, asked = completion_of(finish, reply, scores, details=details), self.groups[group]
                number = len(rows) // self.widest
                rows.extend(self.conversations.rows(completion, asked, self.part.corpus.items.row(item, named=True)))
                rows.extend([(None,) * len(self._schema)] * (self.widest - len(asked)))
                # A bare answer says the same about every item.
                known[kind if self.conversations.is_bare(completion, asked) else (*kind, item)] = number
            which.append(number)
        return rows, np.array(which, dtype=np.int64)
